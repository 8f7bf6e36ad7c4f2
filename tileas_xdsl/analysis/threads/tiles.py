"""What the type of a tile says, where its layout is known to the bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
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
from tileas_xdsl.layouts.forms import Swizzled
from tileas_xdsl.layouts.linear import LinearLayout

REGISTER_BITS = 32
SMALL_FLOATS = (Float8E4M3FNType, Float8E5M2Type)
"""Threads have them as bytes."""
NUMBERS = (BFloat16Type, Float16Type, Float32Type, Float64Type, IndexType, IntegerType, *SMALL_FLOATS)


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
        return i8 if isinstance(self.element, SMALL_FLOATS) else self.element

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
        """Of the whole tile in memory."""
        return max(1, (self.bits << self.layout.output_bits) // 8)

    @property
    def period(self) -> int:
        """After how many bytes of memory the pattern of its swizzle begins again; 1 where there is none."""
        form = form_of(self.type)
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
