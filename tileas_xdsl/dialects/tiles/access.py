"""
The checks of a memory access that the verifiers of `nv_tileaa` and `nv_tileas` share.

The texts are those of the TileAS compiler, byte for byte, and so is the order: regions, successors, segments,
attributes, tile size against tensor, coordinates, element type, dimensions, semantics.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.scalars import is_float
from tileas_xdsl.dialects.tiles.policies import (
    AnyMemScope,
    AnyMemSemantic,
    MemScope,
    MemSemantic,
    PaddingValue,
    RmwMode,
)
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.types import element_type_of, shape_of

MAXIMUM_TILE_ELEMENTS = 0x1000000
"""The largest tile, in elements."""


# Order ------------------------------------------------------------------------------------------


class OrderedAccessOp(TileOp, ABC):
    """An access with memory-ordering semantics, given by its properties `mem_semantic` and `mem_scope`."""

    @property
    def semantic(self) -> MemSemantic | None:
        """How the access orders others; None means weak."""
        semantic = self.properties.get("mem_semantic")
        return semantic.data if isinstance(semantic, AnyMemSemantic) else None

    @property
    def scope(self) -> MemScope | None:
        """The threads among which the access orders; None for a weak access."""
        scope = self.properties.get("mem_scope")
        return scope.data if isinstance(scope, AnyMemScope) else None


# Structure ----------------------------------------------------------------------------------------


def verify_plain_op(op: Operation) -> None:
    """No regions, no successors. The op declares both as variadic so that TileAS's texts can be reported."""
    if op.regions:
        raise VerifyException("requires zero regions")
    if op.successors:
        raise VerifyException(f"requires 0 successors but found {len(op.successors)}")


def verify_optional_operands(start: int, values: Sequence[SSAValue]) -> None:
    """The operand group that starts at operand `start` holds at most one value."""
    if len(values) > 1:
        raise VerifyException(f"operand group starting at #{start} requires 0 or 1 element, but found {len(values)}")


def verify_optional_results(start: int, values: Sequence[SSAValue]) -> None:
    """The result group that starts at result `start` holds at most one value."""
    if len(values) > 1:
        raise VerifyException(f"result group starting at #{start} requires 0 or 1 element, but found {len(values)}")


def verify_token_pair(operands: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
    """A token comes out exactly when one goes in."""
    if len(operands) != len(results):
        raise VerifyException(
            "expects a token result exactly when there is a token operand, "
            f"but got {len(operands)} token operands and {len(results)} token results"
        )


# Tiles, views, coordinates ------------------------------------------------------------------------


@dataclass(frozen=True)
class TiledAccess:
    """A tile that is read from or written to a view at coordinates."""

    view: Attribute
    """The type of the view: any shaped type, or an opaque descriptor."""
    tile: Attribute
    """The type of the value that is loaded or stored."""
    coordinates: Sequence[SSAValue]
    view_is_tiled: bool
    """Whether the view's shape is that of one tile (a `tiled_view`) or of the whole array."""
    extra_coordinates: int = 0
    """How many coordinates beyond the rank of the view; 1 for descriptors with a leading offset."""


def verify_tiled_access(access: TiledAccess) -> None:
    """Tile size against tensor, coordinates, element type, dimensions; in this order."""
    if access.view_is_tiled:
        verify_same_tile(access.view, access.tile)
    shape = shape_of(access.view)
    if shape is not None:
        verify_coordinates(access.coordinates, len(shape) + access.extra_coordinates)
    verify_element_types(access.view, access.tile)
    verify_tile_dimensions(access.tile)


def verify_same_tile(view: Attribute, tile: Attribute) -> None:
    """A tiled view and the tensor that it gives or takes have one shape."""
    view_shape, tile_shape = shape_of(view), shape_of(tile)
    if view_shape is None or tile_shape is None:
        return
    if prod(view_shape) != prod(tile_shape):
        raise VerifyException("requires the same size for tileSize and tensor")
    if view_shape != tile_shape:
        raise VerifyException("requires the same shape for tileSize and tensor value")


def verify_coordinates(coordinates: Sequence[SSAValue], expected: int) -> None:
    """`expected` coordinates, each of type `index`."""
    if len(coordinates) != expected:
        raise VerifyException(f"expects {expected} coordinates, but got {len(coordinates)}")
    verify_coordinate_types(coordinates)


def verify_coordinate_types(coordinates: Sequence[SSAValue]) -> None:
    for coordinate in coordinates:
        if not isinstance(coordinate.type, IndexType):
            raise VerifyException(f"expects CoordType is same as memref index type, but got {coordinate.type}")


def verify_element_types(view: Attribute, tile: Attribute) -> None:
    """View and tile hold the same elements."""
    of_view, of_tile = element_type_of(view), element_type_of(tile)
    if of_view is None or of_tile is None or of_view == of_tile:
        return
    raise VerifyException(f"view elementType not equal with tensor element type: {of_view} != {of_tile}")


def verify_tile_dimensions(tile: Attribute) -> None:
    """Every extent is a positive power of two, and the tile has at most 16777216 elements."""
    shape = shape_of(tile)
    if shape is None:
        return
    for extent in shape:
        if extent <= 0:
            written = "?" if extent == DYNAMIC_INDEX else extent
            raise VerifyException(f"all dimensions must be positive constants, got {written}")
    for extent in shape:
        if extent & (extent - 1):
            raise VerifyException(f"all dimensions must be powers of two, got {extent}")
    if prod(shape) > MAXIMUM_TILE_ELEMENTS:
        raise VerifyException(f"tile would exceed the maximum of {MAXIMUM_TILE_ELEMENTS}")


# Bounds and padding -------------------------------------------------------------------------------

SPECIAL_PADDING = (
    PaddingValue.NAN,
    PaddingValue.POS_INF,
    PaddingValue.NEG_INF,
    PaddingValue.NEG_ZERO,
)


def verify_in_bounds(in_bounds: DenseArrayBase[IntegerType] | None, rank: int) -> None:
    """`in_bounds`, where given, has one entry for each axis."""
    if in_bounds is not None and len(in_bounds) != rank:
        raise VerifyException(f"incorrect number of in_bounds elements: expected {rank}, but found {len(in_bounds)}")


def verify_store_padding(in_bounds: DenseArrayBase[IntegerType] | None, padding: Attribute | None) -> None:
    """A store either stays in bounds or names a padding value, never both. Without `in_bounds` it stays in bounds."""
    inside = in_bounds is None or all(in_bounds.get_values())
    if padding is None and not inside:
        raise VerifyException("inbounds must be true when paddingValue is not set")
    if padding is not None and inside:
        raise VerifyException("inbounds must be false when paddingValue is set")


def verify_padding_value(padding: PaddingValue | None, tile: Attribute) -> None:
    """NaN, the infinities and minus zero exist only among floats."""
    element = element_type_of(tile)
    if padding in SPECIAL_PADDING and element is not None and not is_float(element):
        raise VerifyException(
            "special padding values (nan, pos_inf, neg_inf, neg_zero) only for float-like element types"
        )


# Atomics ------------------------------------------------------------------------------------------


def verify_rmw_mode(mode: RmwMode, tile: Attribute) -> None:
    """
    Raises `VerifyException` where TileAS has no read-modify-write `mode` for elements of `tile`.

    None exists for 8-bit elements and for 16-bit integers; 16-bit floats have add, max and min only.
    """
    element = element_type_of(tile)
    width = element.bitwidth if isinstance(element, IntegerType | AnyFloat) else None
    if width == 8:
        raise VerifyException("tiled_atomic_rmw not supported for 8-bit types")
    if width == 16 and isinstance(element, IntegerType):
        raise VerifyException("tiled_atomic_rmw not supported for 16-bit integer")
    if isinstance(element, Float16Type | BFloat16Type):
        if mode not in (RmwMode.ADD, RmwMode.MAX, RmwMode.MIN):
            raise VerifyException("tiled_atomic_rmw for 16-bit float only supports add, max, min operations")
    if mode is RmwMode.ADDF:
        raise VerifyException(
            "tiled_atomic_rmw op cannot use fadd operation, please use add instead for both int and float types"
        )
    if mode in (RmwMode.XCHG, RmwMode.CMPXCHG):
        raise VerifyException(f"tiled_atomic_rmw op cannot use {mode.value} operation")
