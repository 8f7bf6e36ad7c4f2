"""Functions, calls and accesses of `llvm`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm

from tileas_xdsl.dialects.upstream_models import ALLOCATIONS, accesses, touches_anything, touches_nothing
from tileas_xdsl.dialects.upstream_models.func import Call, MarkedFunction
from tileas_xdsl.interfaces import CallOpInterface, Effect, FunctionOpInterface

CallOpInterface.model_for(llvm.CallOp)(Call)
FunctionOpInterface.model_for(llvm.FuncOp)(MarkedFunction)

ALLOCATIONS.add(llvm.AllocaOp)

accesses(llvm.AllocaOp)(touches_nothing)
accesses(llvm.CallOp, llvm.CallIntrinsicOp, llvm.InlineAsmOp)(touches_anything)


@accesses(llvm.LoadOp)
def _(op: llvm.LoadOp) -> Sequence[Effect] | None:
    return (Effect(False, op.ptr),) if op.ordering.value.data == 0 and "volatile_" not in op.properties else None


@accesses(llvm.StoreOp)
def _(op: llvm.StoreOp) -> Sequence[Effect] | None:
    is_ordered = op.ordering is not None and op.ordering.value.data != 0
    return None if is_ordered or op.volatile_ is not None else (Effect(True, op.ptr),)
