"""
Tiles of narrow floats as tiles of bytes: `tensor<64x64xf4E2M1FN>` as `tensor<64x32xi8>`, with the layout of its
bytes.

A layout is one of bytes where the elements that share a byte, neighbours in the last dimension, lie together: in one
thread, as its first registers, or at neighbouring offsets.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import AnyFloat, TensorType, i8
from xdsl.ir import Attribute

from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, element_bits, layout_of, linear_layout
from tileas_xdsl.dialects.tiles.types import element_type_of
from tileas_xdsl.layouts.distributed import REGISTER
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.forms import LinearBases
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.memory import OFFSET
from tileas_xdsl.layouts.moves import is_memory


def is_narrow_float(type_: Attribute) -> bool:
    """Whether the elements of a tile are floats of at most 8 bits."""
    bits = element_bits(type_)
    return isinstance(element_type_of(type_), AnyFloat) and bits is not None and bits <= 8


def check_width(type_: Attribute) -> None:
    """
    Raises `LayoutError` for elements whose width is no power of two: those of 6 bits straddle bytes. The tensor core
    takes them one a byte (PTX ISA, "mma", `.kind::f8f6f4`).
    """
    bits = element_bits(type_)
    if bits is not None and bits & (bits - 1):
        raise LayoutError(
            f"elements of {bits} bits straddle bytes, and layouts over bits have no place for them; "
            "hold each in a byte, as i8, which is how the tensor core takes them"
        )


def as_bytes(type_: Attribute) -> TensorType[Attribute]:
    """The tile of bytes. Raises `LayoutError` where elements that share a byte are apart."""
    tile = cast(TensorType[Attribute], type_)
    layout, bits, encoding = linear_layout(tile), element_bits(tile), layout_of(tile)
    if layout is None or bits is None or encoding is None:
        raise LayoutError("a tile without bits cannot be seen as bytes")
    if bits == 8:
        return TensorType(i8, tile.get_shape(), encoding)
    shape = tile.get_shape()
    last, place = f"dim{len(shape) - 1}", OFFSET if is_memory(layout) else REGISTER
    packed = layout.divided_by(LinearLayout.identity(place, last, 8 // bits))
    if packed is None:
        raise LayoutError(f"elements of {bits} bits that share a byte do not lie together in {encoding}")
    bytes_shape = [*shape[:-1], shape[-1] * bits // 8]
    return TensorType(i8, bytes_shape, LayoutAttr.of(encoding.space.data, form=LinearBases.of(packed)))
