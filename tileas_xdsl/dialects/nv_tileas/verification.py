"""
Checks and field types that the ops of `nv_tileas` share.

The sources disagree on diagnostics' prefixes; ours read `'op' op text`, as MLIR's do.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ShapedType,
    StringAttr,
    TensorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyOf, BaseAttr
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa import types as nv_tileaa
from tileas_xdsl.dialects.nv_tileas.layout import element_bits, layout_of
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType, TiledViewType
from tileas_xdsl.dialects.tiles.types import element_type_of

I32 = IntegerAttr.constr(i32)
I32_ARRAY = DenseArrayBase.constr(i32)
I64_ARRAY = DenseArrayBase.constr(i64)
BOOL = IntegerAttr.constr(i1)
BOOL_ARRAY = DenseArrayBase.constr(i1)
TENSOR = BaseAttr(TensorType)
TENSOR_OR_VIEW = AnyOf((BaseAttr(TensorType), BaseAttr(TiledViewType)))
ORDERING_TOKEN = AnyOf((BaseAttr(AsyncTokenType), BaseAttr(nv_tileaa.MemTokenType)))
"""The tokens that order memory effects: the memory token, or the completion of asynchronous work."""


# Counting ----------------------------------------------------------------------------------------


def expect_count(what: str, found: int, least: int, most: int | None) -> None:
    """
    Raises `VerifyException` unless `found` is `least` to `most`; `what` names the things counted, None means no limit.
    """
    if found >= least and (most is None or found <= most):
        return
    if least == most:
        bound = f"exactly {least}"
    elif found < least:
        bound = f"at least {least}"
    else:
        bound = f"at most {most}"
    raise VerifyException(f"expects {bound} {what}{'' if bound.endswith(' 1') else 's'}, but got {found}")


def integers_of(array: Attribute | None) -> tuple[int, ...] | None:
    """The integers of a dense array, or None for anything else."""
    if not isinstance(array, DenseArrayBase):
        return None
    return tuple(int(entry) for entry in cast(DenseArrayBase[IntegerType], array).get_values())


def types_of(values: Sequence[SSAValue]) -> tuple[Attribute, ...]:
    return tuple(value.type for value in values)


def type_list(types: Sequence[Attribute]) -> str:
    """Types as diagnostics list them: `[f32, index]`."""
    return f"[{', '.join(map(str, types))}]"


# Tiles -------------------------------------------------------------------------------------------


def is_tile(type_: Attribute) -> bool:
    """Whether `type_` has the shape of one tile: a tensor or a tiled view."""
    return isinstance(type_, TensorType | TiledViewType | nv_tileaa.TiledViewType)


def space_of(type_: Attribute) -> str | None:
    """The memory space of a tile, view or array: rmem, smem, tmem or gmem; None where the type does not say."""
    layout = layout_of(type_)
    if layout is not None:
        return layout.space.data
    if isinstance(type_, TiledViewType):
        return type_.residency.data if isinstance(type_.residency, StringAttr) else None
    if isinstance(type_, nv_tileaa.TiledViewType):
        layout = type_.layout
        return layout.data if isinstance(layout, StringAttr) else None
    if isinstance(type_, MemRefType | nv_tileaa.ArrayType | nv_tileaa.PointerType):
        return "gmem"
    return None


def static_shape(type_: Attribute) -> tuple[int, ...] | None:
    """The shape of a shaped type whose extents are all known, else None."""
    if not isinstance(type_, ShapedType):
        return None
    shape = type_.get_shape()
    return None if DYNAMIC_INDEX in shape else shape


def size_in_bits(type_: Attribute) -> int | None:
    """The size of a tile in bits, or None when it is not known."""
    shape, bits = static_shape(type_), element_bits(type_)
    return None if shape is None or bits is None else prod(shape) * bits


def expect_same_elements(source: Attribute, result: Attribute) -> None:
    """Both tiles hold the same kind and number of elements."""
    if element_type_of(source) != element_type_of(result):
        raise VerifyException(f"expects source and result of one element type, but got {source} and {result}")
    expect_same_count(source, result)


def expect_same_count(source: Attribute, result: Attribute) -> None:
    """Both tiles hold the same number of elements."""
    before, after = static_shape(source), static_shape(result)
    if before is not None and after is not None and prod(before) != prod(after):
        raise VerifyException(f"expects source and result of the same element count, but got {source} and {result}")


def expect_same_bits(source: Attribute, result: Attribute) -> None:
    """Both tiles have the same size in bits."""
    before, after = size_in_bits(source), size_in_bits(result)
    if before is not None and after is not None and before != after:
        raise VerifyException(f"expects source and result of the same size, but got {source} and {result}")


def drops_to(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether dropping some extents of 1 turns `shape` into `target`."""
    position = 0
    for extent in shape:
        if position < len(target) and target[position] == extent:
            position += 1
        elif extent != 1:
            return False
    return position == len(target)
