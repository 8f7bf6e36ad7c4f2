"""
What numbers decide in kernels of Triton: what runs, and predicates, slots, parities and counts.

Tiles decide nothing that a check follows: where a number comes out of one, it is unknown, and the check says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Operation, SSAValue, Use

from tileas_xdsl.checker.proof.moving_operands import positions_that_may_move
from tileas_xdsl.dialects.triton.partitions import WarpSpecializePartitionsOp
from tileas_xdsl.dialects.triton.types import MemDescType
from tileas_xdsl.machine.core.meaning import facts_of

IDLE = frozenset({"arith", "math", "tt", "scf"})
"""Dialects whose ops touch neither shared nor tensor memory."""
BOUNDS = 3
"""The first operands of a loop: its bounds and its step."""


def steers(
    value: SSAValue, loops: frozenset[Operation] = frozenset(), told: frozenset[Operation] = frozenset()
) -> bool:
    """
    Whether anything but bounds of `loops` and the ops `told` depends on `value`, or on numbers that are computed from
    it.
    """
    stack, seen = [value], {value}
    while stack:
        for use in stack.pop().uses:
            if use.operation in told or (use.operation in loops and use.index < BOUNDS):
                continue
            if _decides(use):
                return True
            for reached in numbers_reached(use):
                if reached not in seen:
                    seen.add(reached)
                    stack.append(reached)
    return False


def steers_through(use: Use) -> bool:
    """Whether anything depends on the value of `use` by way of that use."""
    return _decides(use) or any(map(steers, numbers_reached(use)))


def _decides(use: Use) -> bool:
    op = use.operation
    if use.index < facts_of(op).deciding:
        return True
    if isinstance(op, arith.SelectOp) and isinstance(op.result.type, MemDescType):
        return use.index == 0  # It picks the memory that is used.
    if (
        op.name.partition(".")[0] in IDLE
        or isinstance(op, WarpSpecializePartitionsOp)
        or not is_number(op.operands[use.index])
    ):
        return False
    return use.index not in positions_that_may_move(op)


def numbers_reached(use: Use) -> Iterator[SSAValue]:
    """The numbers that are computed from an operand, or are what it is handed on as."""
    return filter(is_number, _reached(use))


def _reached(use: Use) -> Iterator[SSAValue]:
    op, index = use.operation, use.index
    around = op.parent_op()
    if isinstance(op, scf.ForOp):
        yield from (
            (op.body.block.args[index - BOUNDS + 1], op.results[index - BOUNDS]) if index >= BOUNDS else op.results
        )
    elif isinstance(op, scf.YieldOp) and isinstance(around, scf.ForOp):
        yield from (around.body.block.args[index + 1], around.results[index])
    elif isinstance(op, scf.YieldOp) and isinstance(around, scf.IfOp):
        yield around.results[index]
    elif isinstance(op, WarpSpecializePartitionsOp):
        yield from (region.blocks[0].args[index] for region in op.regions)
    else:
        yield from op.results


def is_number(value: SSAValue) -> bool:
    """Whether `value` is one integer."""
    return isinstance(value.type, IntegerType | IndexType)
