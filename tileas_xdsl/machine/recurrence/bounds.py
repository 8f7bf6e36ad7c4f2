"""
Whether what moves on stays inside its array, where it is known how far it goes (a long loop of constant length).

Executions of a few turns reach the first elements of an array only. Arrays whose extents are made up are as large as
need be; others end. What cannot be followed is refused: then the loop is executed as it stands, and looked at there.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation

from tileas_xdsl.machine.happens_before import Access
from tileas_xdsl.machine.recurrence.shifts import Growth, IrregularError, Moving

FIRST_INDEX = {"memref.load": 1, "memref.store": 2}
"""Ops that look at each index by itself, and the number of the operand that is the first of them."""


def access_stays_inside(access: Access, shift: int, growth: Growth) -> None:
    """Raises `IrregularError` unless an access that moves on by `shift` bytes a round stays in its object."""
    base = access.region.base
    if growth.target is None or not shift or base.is_open:
        return
    if not base.strides or shift % base.strides[0]:
        raise IrregularError(access.op, f"walks along an inner axis of '{base.name}', which ends")
    moved = shift * growth.rounds_to_target
    if access.region.start + moved < 0 or access.region.stop + moved > base.size:
        raise IrregularError(access.op, f"reaches outside '{base.name}' before turn {growth.target}")


def index_stays_inside(op: Operation, number: int, value: Moving, growth: Growth) -> None:
    """Raises `IrregularError` unless operand `number`, if it is an index of a fixed extent, stays below that."""
    first = FIRST_INDEX.get(op.name)
    if growth.target is None or first is None or number < first:
        return
    array = op.operands[first - 1].type
    assert isinstance(array, MemRefType)
    extent = array.get_shape()[number - first]
    ends = [value.value + shift * growth.rounds_to_target for shift in value.shifts]
    if extent != DYNAMIC_INDEX and not all(0 <= end < extent for end in ends):
        raise IrregularError(op, f"takes an index of an axis of {extent} that goes on to {max(ends, key=abs)}")
