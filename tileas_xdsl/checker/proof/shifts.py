"""
How far numbers that move on may go: no integer may overflow up to the largest trip count that a proof covers.

The rules by which the results of operations move on are in `machine.core.moving_numbers`.

Overflow. An integer that moves on overflows its type at some trip count. Where that is below `FARTHEST`, there is no
proof. Else the proof holds below the least of these trip counts, and the verdict says so (`BELOW_OVERFLOW`), unless no
call comes so far. Integers narrower than 32 bits may not move on at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from xdsl.ir import Attribute, Operation

from tileas_xdsl.machine.core.moving_numbers import LEAST_WIDTH, IrregularError, Moving
from tileas_xdsl.machine.core.values import bit_width

FARTHEST = 1 << 20
"""The trip count up to which, at least, no number may overflow."""
MOST_TURNS = 1 << 48
"""More turns than any loop makes: of a nanosecond each, they take more than three days."""


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


def overflows_at(op: Operation, value: Moving, type_: Attribute, growth: Growth) -> float:
    """
    The trip count from which on `value`, of type `type_`, may overflow that type; infinity if it never does.

    Raises `IrregularError` if it moves on and does so before `growth.farthest`. Fewer than `LEAST_WIDTH` bits are
    always too narrow.
    """
    if value.stays:
        return inf
    width = bit_width(type_)
    if width < LEAST_WIDTH:
        raise IrregularError(op, f"counts in {width} bits, which overflow")
    rounds = ((1 << (width - 1)) - 1 - abs(value.value)) // sum(map(abs, value.shifts))
    if rounds < growth.rounds:
        raise IrregularError(op, f"overflows {width} bits before trip count {growth.farthest}")
    return growth.trip_count + rounds * growth.by + 1


NEAR = 64
"""So far below a power of two a number is written as a difference from it."""


def near_power(number: int) -> str:
    """`2^21`, `2^31 - 2`, or the power of two below `number`: a bound that people read at a glance."""
    above = (number - 1).bit_length()
    below = (1 << above) - number
    if below > NEAR:
        return f"2^{above - 1}"
    return f"2^{above} - {below}" if below else f"2^{above}"
