"""
How many rounds accesses and indices that move on stay inside their arrays.

Executions of a few turns reach only the first elements of an array. An open extent counts as large enough; an array of
a fixed extent ends, and a proof holds up to that trip count only. For a long loop with constant bounds the last turn is
known: there the array must not end before it, and an access that cannot be followed is refused. Such a loop is then
executed as it stands.
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
class ArrayRoom:
    """How much room two executions that differ by `growth` leave in the arrays that they walk."""

    growth: Growth
    end: End | None = None
    """Where the first array ends. None if none does, and where `growth` has a target: then it is an error instead."""

    def access(self, access: Access, shift: int) -> None:
        """
        Note an access that moves on by `shift` bytes a round.

        Raises `IrregularError` if it leaves its array before the target, or cannot be followed up to there.
        """
        region, base = access.region, access.region.base
        if not shift or base.is_open or region.is_empty:
            return
        if self.growth.target is not None and (not base.strides or shift % base.strides[0]):
            raise IrregularError(access.op, f"walks along an inner axis of '{base.name}', which ends")
        left = base.size - region.stop if shift > 0 else region.start
        self._note(left // abs(shift), access.op, f"reaches outside '{base.name}'")

    def index(self, op: Operation, number: int, value: Moving) -> None:
        """
        Note `value`, operand `number` of `op`, if it is an index along an axis of a fixed extent.

        Raises `IrregularError` if it leaves the axis before the target.
        """
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
        """Note that `op` does `what` after more than `rounds` rounds."""
        outside = self.growth.trip_count + (rounds + 1) * self.growth.by
        if self.growth.target is not None:
            if outside <= self.growth.target:
                raise IrregularError(op, f"{what} before iteration {self.growth.target}")
        elif self.end is None or outside < self.end.trip_count:
            self.end = End(outside, op, what)
