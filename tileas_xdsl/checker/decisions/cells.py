"""
Cells: how places in an array lie that numbers of programs lead to.

    %top = 64 * %row                     64 row
    %box = %c[%top + 16, %col]           rows 64 row + 16 .., in the cells of 64 rows that %row makes

Along each axis such numbers are multiples of some number, so they cut the axis into *cells* of that length. What stays
in its cell meets what stays in another one only if the two cells are the same, and then at the same places as if both
numbers were 0.
"""

from __future__ import annotations

from math import gcd

from tileas_xdsl.machine.core.memory import ByteRegion, MemoryObject
from tileas_xdsl.machine.core.opaque_numbers import Made, SumOfIds


def differs_between_programs(base: MemoryObject) -> bool:
    """Whether `base` is the part of an array that numbers of programs lead to."""
    return base.array is not None and isinstance(base.form, SumOfIds) and base.form.is_of_program


def lies_in_its_cell(region: ByteRegion) -> bool:
    """Whether `region`, in a part of an array, stays in one cell along each axis. May say no where it does."""
    base = region.base
    assert isinstance(base.form, SumOfIds)
    cell = _cell_of(base.form, base)
    if cell is None or region.box is None:
        return region.is_empty
    sides = zip(cell, region.box, strict=True)
    return all(not length or (low >= base.zero and high <= base.zero + length) for length, (low, high) in sides)


def _cell_of(form: SumOfIds, base: MemoryObject) -> list[int] | None:
    """How long the cells are along each axis of `base`, 0 where there are none; None where it is not known."""
    cell = [0] * len(base.shape)
    for atom, factor in form.terms:
        axes = (axis for axis, stride in enumerate(base.strides) if stride <= abs(factor))
        axis = next(axes, None)
        if isinstance(atom, Made) or axis is None or factor % base.strides[axis]:
            return None
        cell[axis] = gcd(cell[axis], factor // base.strides[axis])
    return cell
