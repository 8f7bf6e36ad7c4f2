"""
What the type of a tile says, where its layout is known to the bit.

Tiles are put together or taken apart without moving an element from thread to thread:

    %c = cat %a, %b along an axis         the bit that says whether an element is of %b is the last one of the register
    %s = extract_slice %t, number k       the bits that number the slices are the last ones of the register, so that
                                          a thread holds the elements of slice 0, then those of slice 1, ..
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    TensorType,
    VectorType,
    i8,
)
from xdsl.ir import Attribute

from tileas_xdsl.dialects.nv_tileaa.structure import ExtractSliceOp, PermuteOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.layout import element_bits, form_of, layout_of, linear_layout
from tileas_xdsl.dialects.tiles.types import extents
from tileas_xdsl.layouts.descriptors import PATTERN
from tileas_xdsl.layouts.distributed import PLACES, REGISTER, permuted, reshaped
from tileas_xdsl.layouts.forms import ScaleFactors, Swizzled
from tileas_xdsl.layouts.linear import LinearLayout, dims
from tileas_xdsl.layouts.memory import OFFSET
from tileas_xdsl.layouts.scale_factors import SCALE_ALIGNMENT, scales_of


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


REGISTER_BITS = 32
SMALL_FLOATS = (Float8E4M3FNType, Float8E5M2Type)
BYTES = (*SMALL_FLOATS, Float8E8M0FNUType)
"""Threads have them as bytes."""
NUMBERS = (BFloat16Type, Float16Type, Float32Type, Float64Type, IndexType, IntegerType, *BYTES)


@dataclass(frozen=True)
class Tile:
    """What a type says of a tile whose layout is known to the bit."""

    type: TensorType[Attribute]
    layout: LinearLayout
    bits: int
    """Of an element."""
    in_registers: bool

    @property
    def element(self) -> Attribute:
        return self.type.element_type

    @property
    def number(self) -> Attribute:
        """What a thread has of an element: itself, or of a small float its bits."""
        return i8 if isinstance(self.element, BYTES) else self.element

    @property
    def count(self) -> int:
        """How many elements a thread holds; copies count."""
        return self.layout.input_size(REGISTER)

    @property
    def packed(self) -> int:
        """How many elements share a register."""
        return min(self.count, max(1, REGISTER_BITS // self.bits)) if self.bits > 1 else 1

    @property
    def register(self) -> Attribute:
        """The type of one register."""
        return self.number if self.packed == 1 else VectorType(self.number, [self.packed])

    @property
    def bytes(self) -> int:
        """Of the whole tile in memory; what its layout leaves empty counts."""
        places = self.layout.output_bits if self.in_registers else len(self.layout.images(OFFSET))
        return max(1, (self.bits << places) // 8)

    @property
    def repeats(self) -> tuple[int, ...]:
        """How far behind its bytes in memory it lies again, in bytes; 0 is the first."""
        form, shape = form_of(self.type), self.layout.shape
        if isinstance(form, ScaleFactors):
            return scales_of(shape, 0).repeats if form.axis == 0 else (0,)
        if not isinstance(form, Swizzled) or form.times == 1:
            return (0,)
        box = prod(shape[:-1]) * form.width
        return tuple(box * number for number in range(form.times))

    @property
    def period(self) -> int:
        """After how many bytes of memory its pattern begins again: of a swizzle, or of scale factors; 1 without one."""
        form = form_of(self.type)
        if isinstance(form, ScaleFactors):
            return SCALE_ALIGNMENT
        return PATTERN.get(form.width, 1) if isinstance(form, Swizzled) else 1


def tile_of(type_: Attribute) -> Tile | None:
    """The tile, where `type_` is one of numbers with a layout to the bit in registers or shared memory; else None."""
    layout, bits = layout_of(type_), element_bits(type_)
    if layout is None or bits is None or layout.space.data not in ("rmem", "smem"):
        return None
    linear = linear_layout(type_)
    tile = cast("TensorType[Attribute]", type_)
    if linear is None or not isinstance(tile.element_type, NUMBERS):
        return None
    return Tile(tile, linear, bits, layout.space.data == "rmem")


def rearranged(op: PermuteOp | ViewOp, layout: LinearLayout) -> LinearLayout:
    """
    The layout of the result, where `layout` is that of the operand, and nothing moves. Raises `LayoutError` for views
    of more elements or less.
    """
    if isinstance(op, PermuteOp):
        return permuted(layout, [int(axis) for axis in op.permutation.get_values()])
    return reshaped(layout, cast("TensorType[Attribute]", op.result.type).get_shape())
