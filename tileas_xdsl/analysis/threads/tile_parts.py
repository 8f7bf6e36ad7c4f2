"""
Layouts of tiles that are put together or taken apart without moving an element from thread to thread.

    %c = cat %a, %b along an axis         the bit that says whether an element is of %b is the last one of the register
    %s = extract_slice %t, number k       the bits that number the slices are the last ones of the register, so that
                                          a thread holds the elements of slice 0, then those of slice 1, ..
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase

from tileas_xdsl.dialects.nv_tileaa.structure import ExtractSliceOp
from tileas_xdsl.dialects.tiles.types import extents
from tileas_xdsl.layouts.distributed import PLACES, REGISTER
from tileas_xdsl.layouts.linear import LinearLayout, dims


def joined_layout(axis: int, parts: Sequence[LinearLayout], shape: Sequence[int]) -> LinearLayout | None:
    """The layout of tiles put together along an axis into `shape`; None where they differ."""
    first = parts[0]
    if any(part != first for part in parts) or len(parts) & (len(parts) - 1):
        return None
    return cut_layout(first, shape) if _grows_along(axis, first.shape, shape) else None


def _grows_along(axis: int, part: Sequence[int], whole: Sequence[int]) -> bool:
    return all(one == other for n, (one, other) in enumerate(zip(part, whole, strict=True)) if n != axis)


def cut_layout(part: LinearLayout, shape: Sequence[int]) -> LinearLayout | None:
    """The layout of a tile of `shape` whose slices each have the layout `part`; None where they do not divide it."""
    bases = {place: list(part.bases(place)) for place in part.input_names}
    registers = bases.setdefault(REGISTER, [])
    for axis in reversed(range(len(shape))):
        step = part.shape[axis]
        if step & (step - 1) or shape[axis] % step:
            return None
        while step < shape[axis]:
            registers.append(tuple(step if n == axis else 0 for n in range(len(shape))))
            step *= 2
    return LinearLayout.of({place: bases.get(place, []) for place in PLACES}, dims(shape))


def slice_number(op: ExtractSliceOp) -> int | None:
    """The number of a slice among equal ones, in row-major order; None where it begins elsewhere, or has steps."""
    given = op.static_offsets
    if given is None or op.static_strides is not None or op.strides:
        return None
    offsets = [int(offset) for offset in cast("DenseArrayBase[Any]", given).get_values()]
    source, result = extents(op.source.type), extents(op.result.type)
    number = 0
    for offset, whole, part in zip(offsets, source, result, strict=True):
        if offset % part or whole % part:
            return None
        number = number * (whole // part) + offset // part
    return number
