"""
Between which numbers an integer value lies, whatever the run: constants, loop variables, choices, sums.

    scf.for %e = %c0 to %c3 step %c1        %e: 0..2
    %n = arith.subi %c2, %e                 %n: 0..2
    %m = arith.select %last, %c0, %n        %m: 0..2

Index arithmetic is taken not to wrap around, as in every analysis here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from xdsl.dialects import arith, scf
from xdsl.ir import BlockArgument, SSAValue

from tileas_xdsl.analysis.induction import constant_integer, static_trip_count

DEEPEST = 64
"""So many ops behind each other are looked at."""


@dataclass(frozen=True)
class Bounds:
    """All numbers from `low` to `high`; infinite where nothing is known."""

    low: float = -inf
    high: float = inf

    def around(self, other: Bounds) -> Bounds:
        return Bounds(min(self.low, other.low), max(self.high, other.high))


UNKNOWN = Bounds()


def bounds_of(value: SSAValue, depth: int = DEEPEST) -> Bounds:
    """The bounds of `value`; those of what it is made of where that is simple arithmetic."""
    if (number := constant_integer(value)) is not None:
        return Bounds(number, number)
    if isinstance(value, BlockArgument):
        return _induction_bounds(value, depth)
    owner = value.owner
    if depth == 0 or not isinstance(owner, _MADE_OF_BOUNDS):
        return UNKNOWN
    *_, a, b = (UNKNOWN, *(bounds_of(operand, depth - 1) for operand in owner.operands))
    match owner:
        case arith.SelectOp():
            return a.around(b)
        case arith.AddiOp():
            return Bounds(a.low + b.low, a.high + b.high)
        case arith.SubiOp():
            return Bounds(a.low - b.high, a.high - b.low)
        case arith.MaxSIOp():
            return Bounds(max(a.low, b.low), max(a.high, b.high))
        case arith.MinSIOp():
            return Bounds(min(a.low, b.low), min(a.high, b.high))
        case _:
            return b


_MADE_OF_BOUNDS = (arith.SelectOp, arith.AddiOp, arith.SubiOp, arith.MaxSIOp, arith.MinSIOp, arith.IndexCastOp)


def _induction_bounds(argument: BlockArgument, depth: int) -> Bounds:
    loop = argument.block.parent_op()
    if not isinstance(loop, scf.ForOp) or argument.index != 0 or depth == 0:
        return UNKNOWN
    lower, step = bounds_of(loop.lb, depth - 1), constant_integer(loop.step)
    trips = static_trip_count(loop)
    if trips and step is not None:
        return Bounds(lower.low, lower.high + (trips - 1) * step)
    return Bounds(lower.low, bounds_of(loop.ub, depth - 1).high - 1)
