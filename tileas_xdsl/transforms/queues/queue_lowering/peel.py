"""
First turns of a loop on their own, where counts of waits are constants then.

    scf.for %i = %c0 to %c16 step %c1 {            ... async_queue.wait 0, 0        // turn 0
      ...                                          ... async_queue.wait 0, 1        // turn 1
      %n = arith.minsi %i, %c2                ->   scf.for %i = %c2 to %c16 step %c1 {
      async_queue.wait 0, %n                         ...
    }                                                async_queue.wait 0, 2
                                                   }

While a pipeline fills, fewer groups may stay unfinished than later on. Where one wait serves all turns, its count is
computed, and a target whose counts are immediates would have to take the least. A loop of constant bounds is peeled
where that makes the count of a wait in it a constant in each peeled turn, and one constant in all others. At most as
many turns are peeled as groups may stay unfinished at that wait, and never more than `MOST_TURNS`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.hints import isa

from tileas_xdsl.analysis.induction import constant_integer, static_trip_count
from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.analysis.value_range import Range, ValueRanges
from tileas_xdsl.dialects.async_queue import WaitOp

MOST_TURNS = 16
"""The number of turns that are peeled at most: code grows with each, and pipelines are not deeper than that."""


@dataclass(frozen=True)
class Peeling:
    """The first `turns` of `loop` are to be run on their own."""

    loop: scf.ForOp
    turns: int


def find_peeling(module: Operation) -> Peeling | None:
    """The first loop of `module` that is worth it, outer ones before inner ones."""
    for loop in module.walk():
        if isinstance(loop, scf.ForOp):
            turns = max((_turns_for(wait, loop) for wait in _computed_waits(loop)), default=0)
            if turns:
                return Peeling(loop, turns)
    return None


def _computed_waits(loop: scf.ForOp) -> list[SSAValue]:
    """The counts of the waits in `loop` that are not known to be one number."""
    counts = [op.count for op in loop.walk() if isinstance(op, WaitOp)]
    return [count for count in counts if isinstance(count, SSAValue) and ValueRanges().of(count).as_constant is None]


def _turns_for(count: SSAValue, loop: scf.ForOp) -> int:
    """How many turns have to be peeled to make `count` a constant in each of them and behind them; 0 for none."""
    trips, first, step = static_trip_count(loop), constant_integer(loop.lb), constant_integer(loop.step)
    if trips is None or first is None or step is None:
        return 0
    window = ValueRanges().of(count).high
    last = first + (trips - 1) * step
    for turns in range(1, min(window, trips - 1, MOST_TURNS) + 1):
        here = first + turns * step
        if not _is_constant(count, loop, Range(here - step, here - step)):
            return 0
        if _is_constant(count, loop, Range(here, last)):
            return turns
    return 0


def _is_constant(count: SSAValue, loop: scf.ForOp, turns: Range) -> bool:
    """Whether `count` is one number where the induction variable of `loop` lies in a range."""
    return ValueRanges({loop.body.block.args[0]: turns}).of(count).as_constant is not None


def peel(peeling: Peeling) -> None:
    """Put the first turns in front of the loop, which begins behind them."""
    loop = peeling.loop
    variable, *arguments = loop.body.block.args
    first, step = constant_integer(loop.lb), constant_integer(loop.step)
    assert first is not None
    assert step is not None
    carried = list(loop.iter_args)
    for turn in range(peeling.turns):
        copies: dict[SSAValue, SSAValue] = dict(zip(arguments, carried, strict=True))
        copies[variable] = _constant(first + turn * step, loop)
        for op in loop.body.block.ops:
            if hands_on(op):
                carried = [copies.get(value, value) for value in op.operands]
                continue
            copy = op.clone(copies)
            Rewriter.insert_op(copy, InsertPoint.before(loop))
    lower = _constant(first + peeling.turns * step, loop)
    loop.operands = [lower, loop.ub, loop.step, *carried]


def _constant(number: int, loop: scf.ForOp) -> SSAValue:
    kind = loop.lb.type
    assert isa(kind, IndexType | IntegerType)
    op = arith.ConstantOp.from_int_and_width(number, kind)
    op.location = loop.location
    Rewriter.insert_op(op, InsertPoint.before(loop))
    return op.result
