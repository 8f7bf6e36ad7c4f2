"""
How xDSL's own ops answer our interfaces: models by class, since those ops cannot inherit from us.

    FunctionOpInterface    func.func, gpu.func, llvm.func
    LoopLikeOpInterface    scf.for
    AsyncOpInterface       the ops of gpu that may take and give a token

`Interface.of` imports this file when the first op that is none of ours is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, gpu, llvm, scf
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tileas_xdsl.interfaces import AsyncOpInterface, FunctionOpInterface, LoopLikeOpInterface

NamedFunctionOp = func.FuncOp | gpu.FuncOp | llvm.FuncOp
GpuAsyncOp = gpu.AllocOp | gpu.DeallocOp | gpu.MemcpyOp | gpu.LaunchOp | gpu.LaunchFuncOp | gpu.WaitOp


@FunctionOpInterface.model_for(func.FuncOp, gpu.FuncOp, llvm.FuncOp)
class _NamedFunction(FunctionOpInterface):
    def __init__(self, op: NamedFunctionOp) -> None:
        self.op = op

    @property
    def function_name(self) -> str:
        return self.op.sym_name.data

    @property
    def function_body(self) -> Region:
        return self.op.body

    @property
    def is_entry(self) -> bool:
        return isinstance(self.op, func.FuncOp) or any(
            mark in self.op.attributes or mark in self.op.properties for mark in KERNEL_MARKS
        )


KERNEL_MARKS = ("nvvm.kernel", "rocdl.kernel", "gpu.kernel", "kernel")
"""Attributes by which functions of `llvm` and `gpu` say that they are launched as grids."""


@LoopLikeOpInterface.model_for(scf.ForOp)
class _ForLoop(LoopLikeOpInterface):
    def __init__(self, op: scf.ForOp) -> None:
        self.op = op

    @property
    def loop_body(self) -> Region:
        return self.op.body

    @property
    def init_values(self) -> Sequence[SSAValue]:
        return self.op.iter_args

    @property
    def carried_arguments(self) -> Sequence[BlockArgument]:
        return self.op.body.block.args[1:]

    @property
    def yielded_values(self) -> Sequence[SSAValue]:
        last = self.op.body.block.last_op
        assert last is not None
        return last.operands


@AsyncOpInterface.model_for(gpu.AllocOp, gpu.DeallocOp, gpu.MemcpyOp, gpu.LaunchOp, gpu.LaunchFuncOp, gpu.WaitOp)
class _GpuAsyncOp(AsyncOpInterface):
    def __init__(self, op: GpuAsyncOp) -> None:
        self.op = op

    @property
    def async_dependencies(self) -> Sequence[SSAValue]:
        return self.op.asyncDependencies

    @property
    def async_token(self) -> SSAValue | None:
        return self.op.asyncToken

    def add_async_dependency(self, token: SSAValue) -> None:
        tokens = len(self.op.asyncDependencies)
        operands = list(self.op.operands)
        self.op.operands = [*operands[:tokens], token, *operands[tokens:]]
        _resize_first_segment(self.op, 1)

    def remove_async_dependency(self, token: SSAValue) -> bool:
        tokens = list(self.op.asyncDependencies)
        if token not in tokens:
            return False
        operands = list(self.op.operands)
        del operands[tokens.index(token)]
        self.op.operands = operands
        _resize_first_segment(self.op, -1)
        return True

    @property
    def only_waits(self) -> bool:
        return isinstance(self.op, gpu.WaitOp) and self.op.asyncToken is None


def _resize_first_segment(op: Operation, by: int) -> None:
    """Count `by` operands more in the first segment of an op that sizes its segments by attribute."""
    for entries in (op.properties, op.attributes):
        sizes = entries.get("operandSegmentSizes")
        if isinstance(sizes, DenseArrayBase):
            first, *rest = sizes.get_values()
            entries["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [int(first) + by, *map(int, rest)])
