"""
How far numbers that move on may go: no integer may overflow up to the largest trip count that a proof covers.

The rules by which the results of operations move on are in `machine.core.moving_numbers`.

Overflow. Integers of 32 bits and more are taken not to overflow beyond trip count 2^20; up to there it is checked.
Narrower ones may not move on at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute, Operation

from tileas_xdsl.machine.core.moving_numbers import LEAST_WIDTH, IrregularError, Moving
from tileas_xdsl.machine.core.values import bit_width

FARTHEST = 1 << 20
"""The trip count up to which, at least, no number may overflow."""


@dataclass(frozen=True)
class Growth:
    """The trip counts of two executions that are compared, and how far the comparison is to be extended."""

    trip_count: int
    by: int
    """By how much the other trip count is larger; each further round adds as much."""
    target: int | None = None
    """The one trip count that matters, where it is known: that of a long loop with constant bounds."""

    @property
    def farthest(self) -> int:
        """The trip count up to which no number may overflow."""
        return max(FARTHEST, self.target or 0)

    @property
    def rounds(self) -> int:
        """The number of rounds from `trip_count` to `farthest`, rounded up."""
        return max(0, -(-(self.farthest - self.trip_count) // self.by))

    @property
    def rounds_to_target(self) -> int:
        """The number of whole rounds from `trip_count` to the target, which must be known."""
        assert self.target is not None
        return max(0, (self.target - self.trip_count) // self.by)


def check_moves(op: Operation, value: Moving, type_: Attribute, growth: Growth) -> None:
    """
    Raises `IrregularError` if `value`, of type `type_`, moves on and that type is too narrow for it.

    Fewer than `LEAST_WIDTH` bits are always too narrow; wider ones must not overflow before `growth.farthest`.
    """
    if value.stays:
        return
    width = bit_width(type_)
    if width < LEAST_WIDTH:
        raise IrregularError(op, f"counts in {width} bits, which overflow")
    farthest = abs(value.value) + growth.rounds * sum(map(abs, value.shifts))
    if farthest >= 1 << (width - 1):
        raise IrregularError(op, f"overflows {width} bits before trip count {growth.farthest}")
