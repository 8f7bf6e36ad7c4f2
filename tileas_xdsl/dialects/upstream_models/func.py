"""Named functions and calls, of `func` and of the two other dialects of xDSL that have them."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import func
from xdsl.ir import Operation, Region

from tileas_xdsl.dialects.upstream_models import accesses, touches_anything
from tileas_xdsl.interfaces import CallOpInterface, FunctionOpInterface

KERNEL_MARKS = ("nvvm.kernel", "rocdl.kernel", "gpu.kernel", "kernel")
"""Attributes by which functions of `llvm` and `gpu` say that they are launched as grids."""


class NamedFunction(FunctionOpInterface):
    """A function with a symbol and one region. Any may be the entry of a grid."""

    def __init__(self, op: Any) -> None:
        self.op = op

    @property
    def function_name(self) -> str:
        return self.op.sym_name.data

    @property
    def function_body(self) -> Region:
        return self.op.body


def is_marked_kernel(function: Operation) -> bool:
    """Whether `function` is marked as one that is launched as a grid."""
    return any(mark in function.attributes or mark in function.properties for mark in KERNEL_MARKS)


class MarkedFunction(NamedFunction):
    """A function of a dialect that marks those which are launched as grids."""

    @property
    def is_entry(self) -> bool:
        return is_marked_kernel(self.op)


class Call(CallOpInterface):
    """A call by symbol, or of a value."""

    def __init__(self, op: Any) -> None:
        self.op = op

    @property
    def callee_name(self) -> str:
        callee = self.op.callee
        return "" if callee is None else callee.string_value()


CallOpInterface.model_for(func.CallOp)(Call)
FunctionOpInterface.model_for(func.FuncOp)(NamedFunction)

accesses(func.CallOp)(touches_anything)
