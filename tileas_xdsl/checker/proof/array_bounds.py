"""
How far what moves on stays inside its array.

Executions of a few turns reach the first elements of an array only. Arrays whose extents are made up are as large as
need be; others end, and then so does what a proof says. Where it is known how far a loop goes (a long loop of constant
length) it must not end before, and what cannot be followed is refused: that loop is executed as it stands, and looked
at there.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation

from tileas_xdsl.checker.proof.outcomes import End
from tileas_xdsl.checker.proof.shifts import Growth
from tileas_xdsl.machine.core.happens_before import Access
from tileas_xdsl.machine.core.meaning import facts_of
from tileas_xdsl.machine.core.moving_numbers import IrregularError, Moving


@dataclass
class Room:
    """What two executions that differ by `growth` leave of the arrays that they walk."""

    growth: Growth
    end: End | None = None
    """Where the first array ends, if any does; nothing of it where it is known that the loop goes no farther."""

    def access(self, access: Access, shift: int) -> None:
        """Note an access that moves on by `shift` bytes a round. Raises `IrregularError` if it goes too far."""
        region, base = access.region, access.region.base
        if not shift or base.is_open or region.is_empty:
            return
        if self.growth.target is not None and (not base.strides or shift % base.strides[0]):
            raise IrregularError(access.op, f"walks along an inner axis of '{base.name}', which ends")
        left = base.size - region.stop if shift > 0 else region.start
        self._note(left // abs(shift), access.op, f"reaches outside '{base.name}'")

    def index(self, op: Operation, number: int, value: Moving) -> None:
        """The same for operand `number`, if it is an index of a fixed extent."""
        first = facts_of(op).first_index
        if first is None or number < first:
            return
        array = op.operands[first - 1].type
        assert isinstance(array, MemRefType)
        extent = array.get_shape()[number - first]
        for shift in value.shifts:
            if shift and extent != DYNAMIC_INDEX:
                left = extent - 1 - value.value if shift > 0 else value.value
                self._note(left // abs(shift), op, f"takes an index beyond an axis of {extent}")

    def _note(self, rounds: int, op: Operation, what: str) -> None:
        """What `op` does after more than `rounds` rounds."""
        outside = self.growth.trip_count + (rounds + 1) * self.growth.by
        if self.growth.target is not None:
            if outside <= self.growth.target:
                raise IrregularError(op, f"{what} before turn {self.growth.target}")
        elif self.end is None or outside < self.end.trip_count:
            self.end = End(outside, op, what)
