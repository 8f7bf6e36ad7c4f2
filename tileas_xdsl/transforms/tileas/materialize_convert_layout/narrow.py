"""
Tiles of narrow floats as tiles of bytes: `tensor<64x64xf4E2M1FN>` as `tensor<64x32xi8>`, with the layout of its
bytes. Floats of 6 and 8 bits have a byte each, so only the element type changes.

A layout is one of bytes where the elements that share a byte, neighbours in the last dimension, lie together: in one
thread, as its first registers, or at neighbouring offsets.

An end that is seen as bytes already, by a `view`, needs no view of its own.
"""

from __future__ import annotations

from typing import TypeGuard, cast

from xdsl.dialects.builtin import AnyFloat, TensorType, i8
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, element_bits, layout_of, linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import ViewOp
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
    """Raises `LayoutError` for elements whose width is no power of two: those straddle bytes."""
    bits = element_bits(type_)
    if bits is not None and bits & (bits - 1):
        raise LayoutError(
            f"elements of {bits} bits straddle bytes, and layouts over bits have no place for them; "
            "hold each in an integer whose width is a power of two"
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


def bytes_of(value: SSAValue, wanted: Attribute) -> SSAValue | None:
    """The tile of bytes, of type `wanted`, of which `value` is a view; None where it is none."""
    view = value.owner
    return view.source if _is_plain_view(view) and view.source.type == wanted else None


def views_as_bytes(value: SSAValue, wanted: Attribute) -> list[ViewOp]:
    """The ops that see `value` as the tile of bytes of type `wanted`, in order."""
    users = [use.operation for use in value.uses]
    return [user for user in users if _is_plain_view(user) and user.result.type == wanted]


def _is_plain_view(op: Operation | Block | None) -> TypeGuard[ViewOp]:
    return isinstance(op, ViewOp) and not op.indices
