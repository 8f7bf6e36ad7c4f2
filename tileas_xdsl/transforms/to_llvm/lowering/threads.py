"""Threads: the ids of `gpu`, its barrier, and what is at the level of `nvvm` and `llvm` already."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import gpu, llvm
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.dialects.nvvm import registers
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op
from tileas_xdsl.transforms.to_llvm.lowering.state import Lowering, rule

IDS: dict[tuple[type[Operation], str], Callable[[], Operation]] = {
    (gpu.ThreadIdOp, "x"): registers.ThreadIdXOp,
    (gpu.ThreadIdOp, "y"): registers.ThreadIdYOp,
    (gpu.ThreadIdOp, "z"): registers.ThreadIdZOp,
    (gpu.BlockDimOp, "x"): registers.BlockDimXOp,
    (gpu.BlockDimOp, "y"): registers.BlockDimYOp,
    (gpu.BlockDimOp, "z"): registers.BlockDimZOp,
    (gpu.BlockIdOp, "x"): registers.BlockIdXOp,
    (gpu.BlockIdOp, "y"): registers.BlockIdYOp,
    (gpu.BlockIdOp, "z"): registers.BlockIdZOp,
    (gpu.GridDimOp, "x"): registers.GridDimXOp,
    (gpu.GridDimOp, "y"): registers.GridDimYOp,
    (gpu.GridDimOp, "z"): registers.GridDimZOp,
}
"""The special register of each id."""


@rule(gpu.ThreadIdOp, gpu.BlockDimOp, gpu.BlockIdOp, gpu.GridDimOp)
def _id(op: gpu.ThreadIdOp | gpu.BlockDimOp | gpu.BlockIdOp | gpu.GridDimOp, low: Lowering) -> None:
    register = IDS[type(op), str(op.dimension.data)]()
    low.give(op.results[0], low.result(llvm.ZExtOp(low.result(register), i64)))


@rule(gpu.LaneIdOp)
def _lane(op: gpu.LaneIdOp, low: Lowering) -> None:
    low.give(op.results[0], low.result(llvm.ZExtOp(low.result(registers.LaneIdOp()), i64)))


@rule(gpu.BarrierOp)
def _barrier(_op: gpu.BarrierOp, low: Lowering) -> None:
    low.insert(Barrier0Op())


def copied(op: Operation, low: Lowering) -> None:
    """An op of `nvvm` or `llvm` stays what it is, on the values that stand for its operands."""
    mapped: dict[SSAValue, SSAValue] = {value: low.of(value) for value in op.operands}
    copy = low.insert(op.clone(mapped))
    for result, found in zip(op.results, copy.results, strict=True):
        low.give(result, found)
