"""
How far numbers move on: by so much in each round, up to the farthest trip count that is spoken of.

What operations make of numbers that move on, rule by rule, stands with the machine (`moving_numbers`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute, Operation

from tileas_xdsl.machine.core.moving_numbers import LEAST_WIDTH, IrregularError, Moving
from tileas_xdsl.machine.core.values import bit_width

FAREST = 1 << 20
"""Up to this trip count at least no number may overflow."""


@dataclass(frozen=True)
class Growth:
    """An execution is compared with one whose trip count is larger, and what is found is to go on like that."""

    trip_count: int
    by: int
    """How much larger the other one is: what is added in each round."""
    target: int | None = None
    """The one trip count that matters, where it is known: that of a long loop as it stands."""

    @property
    def farthest(self) -> int:
        """Up to which trip count it is to go on at least without overflow."""
        return max(FAREST, self.target or 0)

    @property
    def rounds(self) -> int:
        """How often it goes on until then."""
        return max(0, -(-(self.farthest - self.trip_count) // self.by))

    @property
    def rounds_to_target(self) -> int:
        """How often it goes on until the target at most."""
        assert self.target is not None
        return max(0, (self.target - self.trip_count) // self.by)


def check_moves(op: Operation, value: Moving, type_: Attribute, growth: Growth) -> None:
    """
    Raises `IrregularError` where a number of that type cannot move on as it does: it is too narrow, or overflows before
    the farthest trip count.
    """
    if value.stays:
        return
    width = bit_width(type_)
    if width < LEAST_WIDTH:
        raise IrregularError(op, f"counts in {width} bits, which overflow")
    farthest = abs(value.value) + growth.rounds * sum(map(abs, value.shifts))
    if farthest >= 1 << (width - 1):
        raise IrregularError(op, f"overflows {width} bits before trip count {growth.farthest}")
