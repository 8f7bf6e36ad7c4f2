"""
Accesses through pointers, and accesses with separate coordinates for each lane.

    %v = nv_tileas.load %p mask(%m) other(%o) : (tensor<8x!nv_tileaa.ptr<f16, 1>>, ...) -> tensor<8xf16>
    %w = nv_tileas.gather_load %array[%i, %j] : (memref<?x?xf16>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xf16>
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa import types as nv_tileaa
from tileas_xdsl.dialects.nv_tileas.memory import (
    LOAD_ATOM,
    LOAD_FAMILIES,
    PADDING,
    STORE_ATOM,
    STORE_FAMILIES,
    MemoryOp,
    special_padding,
    verify_atom,
    verify_mask,
)
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType
from tileas_xdsl.dialects.nv_tileas.verification import ORDERING_TOKEN, TENSOR, static_shape
from tileas_xdsl.dialects.tiles.access import verify_padding_value, verify_token_pair
from tileas_xdsl.dialects.tiles.policies import verify_load_semantics, verify_store_semantics
from tileas_xdsl.dialects.tiles.traits import Accesses, MemoryConsistency, OwnStorage
from tileas_xdsl.dialects.tiles.types import element_type_of, shape_of


def verify_pointers(pointers: Attribute, tile: Attribute) -> None:
    """One pointer for each element of the tile, each to such an element."""
    element = element_type_of(pointers) or pointers
    if not isinstance(element, nv_tileaa.PointerType):
        raise VerifyException(f"expects a pointer or a tile of pointers, but got {pointers}")
    loaded = element_type_of(tile) or tile
    if element.pointee != loaded:
        raise VerifyException(f"expects pointers to {loaded}, but got {pointers}")
    if pointers is not element and shape_of(pointers) != shape_of(tile):
        raise VerifyException(f"expects one pointer for each element of {tile}, but got {pointers}")


@irdl_op_definition
class LoadOp(MemoryOp):
    """`%v = nv_tileas.load %p mask(%m) other(%o) : (tensor<8x!nv_tileaa.ptr<f16, 1>>, ...) -> tensor<8xf16>`"""

    name = "nv_tileas.load"

    pointer = operand_def()
    mask = var_operand_def(TENSOR)
    other = var_operand_def()
    token = var_operand_def(ORDERING_TOKEN)
    value = result_def()
    done = var_result_def(ORDERING_TOKEN)

    traits = traits_def(Accesses(reads=(0,)), OwnStorage())

    def verify_contract(self) -> None:
        self.verify_groups(self.done, self.mask, self.other, self.token)
        verify_token_pair(self.token, self.done)
        verify_atom(self.atom, LOAD_FAMILIES, LOAD_ATOM)
        verify_pointers(self.pointer.type, self.value.type)
        verify_mask(self.mask, self.value.type)
        verify_fallback(self.other, self.value.type)
        verify_load_semantics(self.semantic, self.scope)


def verify_fallback(others: Sequence[SSAValue], tile: Attribute) -> None:
    """What masked lanes read is a tile like the one that is loaded."""
    for other in others:
        if other.type != tile:
            raise VerifyException(f"expects a fallback of type {tile}, but got {other.type}")


@irdl_op_definition
class StoreOp(MemoryOp):
    """`nv_tileas.store %p, %v mask(%m) : (tensor<8x!nv_tileaa.ptr<f16, 1>>, tensor<8xf16>, tensor<8xi1>) -> ()`"""

    name = "nv_tileas.store"

    pointer = operand_def()
    value = operand_def()
    mask = var_operand_def(TENSOR)
    token = var_operand_def(ORDERING_TOKEN)
    done = var_result_def(ORDERING_TOKEN)

    traits = traits_def(Accesses(writes=(0,)))

    def verify_contract(self) -> None:
        self.verify_groups(self.done, self.mask, self.token)
        verify_token_pair(self.token, self.done)
        verify_atom(self.atom, STORE_FAMILIES, STORE_ATOM)
        verify_pointers(self.pointer.type, self.value.type)
        verify_mask(self.mask, self.value.type)
        verify_store_semantics(self.semantic, self.scope)


@irdl_op_definition
class AsyncLoadOp(MemoryOp):
    """`%t = nv_tileas.async.load %p, %buffer mask(%m) : (...) -> !nv_tileas.token`: fills a destination."""

    name = "nv_tileas.async.load"

    pointer = operand_def()
    destination = operand_def(TENSOR)
    mask = var_operand_def(TENSOR)
    other = var_operand_def()
    token = var_operand_def(ORDERING_TOKEN)
    done = result_def(AsyncTokenType)

    traits = traits_def(Accesses(reads=(0,), writes=(1,)), MemoryConsistency())

    def verify_contract(self) -> None:
        self.verify_groups((), self.mask, self.other, self.token)
        verify_atom(self.atom, LOAD_FAMILIES, LOAD_ATOM)
        verify_pointers(self.pointer.type, self.destination.type)
        verify_mask(self.mask, self.destination.type)
        verify_load_semantics(self.semantic, self.scope)


@irdl_op_definition
class AsyncStoreOp(MemoryOp):
    """`%t = nv_tileas.async.store %p, %v : (...) -> !nv_tileas.token`"""

    name = "nv_tileas.async.store"

    pointer = operand_def()
    value = operand_def(TENSOR)
    mask = var_operand_def(TENSOR)
    token = var_operand_def(ORDERING_TOKEN)
    done = result_def(AsyncTokenType)

    traits = traits_def(Accesses(reads=(1,), writes=(0,)), MemoryConsistency())

    def verify_contract(self) -> None:
        self.verify_groups((), self.mask, self.token)
        verify_atom(self.atom, STORE_FAMILIES, STORE_ATOM)
        verify_pointers(self.pointer.type, self.value.type)
        verify_mask(self.mask, self.value.type)
        verify_store_semantics(self.semantic, self.scope)


# Gather and scatter -------------------------------------------------------------------------------


class LaneOp(MemoryOp, ABC):
    """An access in which every lane has coordinates of its own: one tile of integers for each axis of the base."""

    SUBSCRIPTS: ClassVar[str | None] = "coords"
    SUBSCRIPTED: ClassVar[str | None] = "base"

    def verify_lanes(self, base: Attribute, tile: Attribute, coords: Sequence[SSAValue]) -> None:
        """As many coordinate tiles as axes, each shaped like the tile; elements as in the base."""
        axes, lanes = static_rank(base), static_shape(tile)
        if axes is not None and len(coords) != axes:
            raise VerifyException(f"expects {axes} coordinates, but got {len(coords)}")
        for coordinate in coords:
            if not isinstance(element_type_of(coordinate.type), IntegerType | IndexType):
                raise VerifyException(f"expects coordinate tiles of integers, but got {coordinate.type}")
            if static_shape(coordinate.type) != lanes:
                raise VerifyException(f"expects coordinate tiles shaped like {tile}, but got {coordinate.type}")
        element = base.pointee if isinstance(base, nv_tileaa.PointerType) else element_type_of(base)
        if element is not None and element != element_type_of(tile):
            raise VerifyException(
                f"view elementType not equal with tensor element type: {element} != {element_type_of(tile)}"
            )


def static_rank(type_: Attribute) -> int | None:
    """The number of axes of an array or view; a pointer has one; None for anything else."""
    if isinstance(type_, nv_tileaa.PointerType):
        return 1
    shape = shape_of(type_)
    return None if shape is None else len(shape)


@irdl_op_definition
class GatherLoadOp(LaneOp):
    """`%v = nv_tileas.gather_load %a[%i, %j] mask(%m) : (memref<?x?xf16>, tensor<8xi32>, ...) -> tensor<8xf16>`"""

    name = "nv_tileas.gather_load"

    base = operand_def()
    coords = var_operand_def(TENSOR)
    mask = var_operand_def(TENSOR)
    other = var_operand_def(TENSOR)
    token = var_operand_def(ORDERING_TOKEN)
    tile = result_def(TENSOR)
    done = var_result_def(ORDERING_TOKEN)
    padding_value = opt_prop_def(PADDING)

    traits = traits_def(Accesses(reads=(0,)))

    def verify_contract(self) -> None:
        self.verify_groups(self.done, self.mask, self.other, self.token)
        verify_token_pair(self.token, self.done)
        self.verify_lanes(self.base.type, self.tile.type, self.coords)
        verify_mask(self.mask, self.tile.type)
        verify_fallback(self.other, self.tile.type)
        verify_load_semantics(self.semantic, self.scope)
        verify_padding_value(special_padding(self.padding_value), self.tile.type)


@irdl_op_definition
class ScatterStoreOp(LaneOp):
    """`nv_tileas.scatter_store %a[%i, %j], %v : (memref<?x?xf16>, tensor<8xf16>, tensor<8xi32>, ...) -> ()`"""

    name = "nv_tileas.scatter_store"

    base = operand_def()
    value = operand_def(TENSOR)
    coords = var_operand_def(TENSOR)
    mask = var_operand_def(TENSOR)
    token = var_operand_def(ORDERING_TOKEN)
    done = var_result_def(ORDERING_TOKEN)

    traits = traits_def(Accesses(writes=(0,)))

    def verify_contract(self) -> None:
        self.verify_groups(self.done, self.mask, self.token)
        verify_token_pair(self.token, self.done)
        self.verify_lanes(self.base.type, self.value.type, self.coords)
        verify_mask(self.mask, self.value.type)
        verify_store_semantics(self.semantic, self.scope)


POINTER_OPS = (LoadOp, StoreOp, AsyncLoadOp, AsyncStoreOp, GatherLoadOp, ScatterStoreOp)
