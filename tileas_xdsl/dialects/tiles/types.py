"""
What the types of tiles, arrays and views say: the memory space, the extents, the element type.

    tensor<8x8xf16, #nv_tileas.layout<smem>>     a tile in shared memory
    !nv_tileaa.memref<8x8xf16, 1>                an array in memory
    !nv_tileas.tiled_view<8x8xf16, gmem>         an array, seen tile by tile
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ContainerType, IntAttr, MemRefType, ShapedType, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.printer import Printer

RESIDENCIES = ("rmem", "smem", "tmem", "gmem")
"""The memory spaces of a tile: registers, shared, tensor and global memory."""


class MemoryType(ParametrizedAttribute, TypeAttribute, ShapedType, ContainerType[Attribute]):
    """Base of the types whose values refer to memory and are not the data itself: arrays, and views of arrays."""

    shape: ArrayAttr[IntAttr]
    element_type: Attribute

    def get_element_type(self) -> Attribute:
        return self.element_type

    def get_num_dims(self) -> int:
        return len(self.shape.data)

    def get_shape(self) -> tuple[int, ...]:
        return tuple(size.data for size in self.shape.data)

    def print_shape(self, printer: Printer) -> None:
        """Print `8x?xf16`."""
        shape = self.get_shape()
        printer.print_dimension_list(shape)
        if shape:
            printer.print_string("x")
        printer.print_attribute(self.element_type)


def residency_of(type_: Attribute) -> str | None:
    """
    The memory space in the layout of a tile: `rmem`, `smem`, `tmem` or `gmem`; None without a layout that says so.

    Any encoding with a parameter `space` counts as a layout, whichever dialect it belongs to.
    """
    space = getattr(getattr(type_, "encoding", None), "space", None)
    return space.data if isinstance(space, StringAttr) else None


def denotes_memory(type_: Attribute) -> bool:
    """Whether a value of `type_` names bytes: an array, a view, or a tile that does not lie in registers."""
    return isinstance(type_, MemoryType | MemRefType) or residency_of(type_) in ("smem", "tmem")


def shape_of(type_: Attribute) -> tuple[int, ...] | None:
    """The shape of a shaped type, else None."""
    return type_.get_shape() if isinstance(type_, ShapedType) else None


def extents(type_: Attribute) -> tuple[int, ...]:
    """The extents of a tile, array or view along its axes; a scalar has none."""
    return type_.get_shape() if isinstance(type_, ShapedType) else ()


def element_type_of(type_: Attribute) -> Attribute | None:
    """The element type of a tile, view or array, else None."""
    if isinstance(type_, ContainerType):
        return cast(ContainerType[Attribute], type_).get_element_type()
    element_type = getattr(type_, "element_type", None)
    return element_type if isinstance(element_type, Attribute) else None
