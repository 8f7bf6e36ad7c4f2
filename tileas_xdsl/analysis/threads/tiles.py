"""What the type of a tile says, where its layout is known to the bit."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
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

from tileas_xdsl.dialects.nv_tileaa.structure import PermuteOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.layout import element_bits, form_of, layout_of, linear_layout
from tileas_xdsl.layouts.descriptors import PATTERN
from tileas_xdsl.layouts.distributed import REGISTER, permuted, reshaped
from tileas_xdsl.layouts.forms import ScaleFactors, Swizzled
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.memory import OFFSET
from tileas_xdsl.layouts.scale_factors import SCALE_ALIGNMENT, scales_of

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
