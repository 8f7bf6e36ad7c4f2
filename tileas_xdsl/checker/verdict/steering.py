"""
What numbers decide in kernels of Triton: what runs, and predicates, slots, parities and counts.

Tiles decide nothing that a check follows: where a number comes out of one, it is unknown, and the check says so. And a
branch that only computes and accesses global memory decides nothing either, whichever side runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.checker.proof.moving_operands import positions_that_may_move
from tileas_xdsl.dialects.triton.partitions import WarpSpecializePartitionsOp
from tileas_xdsl.machine.core.handles import synchronises
from tileas_xdsl.machine.core.meaning import Kind, facts_of, meaning_of

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
            for reached in _reached(use):
                if reached not in seen and _is_number(reached):
                    seen.add(reached)
                    stack.append(reached)
    return False


def _decides(use: Use) -> bool:
    op = use.operation
    if use.index < facts_of(op).deciding:
        return True
    if (
        op.name.partition(".")[0] in IDLE
        or isinstance(op, WarpSpecializePartitionsOp)
        or not _is_number(op.operands[use.index])
    ):
        return False
    return use.index not in positions_that_may_move(op)


def _reached(use: Use) -> Iterator[SSAValue]:
    """The values that are computed from an operand, or are what it is handed on as."""
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


def _is_number(value: SSAValue) -> bool:
    return isinstance(value.type, IntegerType | IndexType)


# Branches that decide nothing -----------------------------------------------------------------------------------------


def idle_branches(function: Operation) -> Iterator[scf.IfOp]:
    """The branches that only compute, and access global memory: whichever side runs, nobody can tell."""
    return (op for op in function.walk() if isinstance(op, scf.IfOp) and not _is_constant(op.cond) and _is_idle(op))


def take_idle_branches(function: Operation) -> None:
    """Let the first side of idle branches run."""
    for op in list(idle_branches(function)):
        always = arith.ConstantOp.from_int_and_width(1, 1)
        Rewriter.insert_op(always, InsertPoint.before(op))
        op.operands[0] = always.result


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, arith.ConstantOp)


def _is_idle(branch: scf.IfOp) -> bool:
    if any(_is_number(result) for result in branch.results):
        return False
    inside = (op for region in branch.regions for op in region.walk())
    return all(_is_quiet(op) and not synchronises(op) and not facts_of(op).calls for op in inside)


def _is_quiet(op: Operation) -> bool:
    meaning = meaning_of(op)
    return op.name.partition(".")[0] in IDLE or (meaning is not None and meaning.kind is Kind.PURE)
