"""Ops of `gpu`: functions, asynchronous ops, numbers of threads and blocks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import gpu
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.dialects.upstream_models import accesses, touches_anything, touches_nothing
from tileas_xdsl.dialects.upstream_models.func import MarkedFunction
from tileas_xdsl.interfaces import AsyncOpInterface, DiffersBetweenThreads, FunctionOpInterface

GpuAsyncOp = gpu.AllocOp | gpu.DeallocOp | gpu.MemcpyOp | gpu.LaunchOp | gpu.LaunchFuncOp | gpu.WaitOp

FunctionOpInterface.model_for(gpu.FuncOp)(MarkedFunction)

accesses(
    gpu.BlockDimOp,
    gpu.BlockIdOp,
    gpu.GridDimOp,
    gpu.LaneIdOp,
    gpu.NumSubgroupsOp,
    gpu.SubgroupIdOp,
    gpu.SubgroupSizeOp,
    gpu.ThreadIdOp,
)(touches_nothing)
accesses(
    gpu.AllocOp,
    gpu.AllReduceOp,
    gpu.BarrierOp,
    gpu.DeallocOp,
    gpu.LaunchFuncOp,
    gpu.LaunchOp,
    gpu.MemcpyOp,
    gpu.WaitOp,
)(touches_anything)


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


@DiffersBetweenThreads.model_for(gpu.ThreadIdOp, gpu.GlobalIdOp, gpu.LaneIdOp, gpu.SubgroupIdOp)
class NumberOfThread(DiffersBetweenThreads):
    """The number of a thread, of its lane or of its warp."""

    def __init__(self, op: Operation) -> None:
        self.op = op
