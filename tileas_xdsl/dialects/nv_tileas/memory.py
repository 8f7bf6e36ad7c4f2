"""
Loads, stores, atomics and their asynchronous forms.

    %v = nv_tileas.tiled_load %view[%i, %j] : (!nv_tileas.tiled_view<8x8xf16, gmem>, index, index) -> tensor<8x8xf16>
    %t1 = nv_tileas.tiled_store %view[%i, %j], %v token(%t0) : (...) -> !nv_tileaa.mem_token
    %t = nv_tileas.async.copy %a, %b : (tensor<8xf16>, tensor<8xf16>) -> !nv_tileas.token

An effect may take a token and then returns one: the order of memory effects is a chain of tokens. An asynchronous op
names its destination and returns the token of its completion. `atom` is the instruction that moves the data; it is
optional until lowering. Groups that hold at most one value are variadic, so that a second one is reported with TileAS's
text.

Copies within registers and within shared memory are legal; they are moves that later passes remove.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
    var_successor_def,
)
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa import types as nv_tileaa
from tileas_xdsl.dialects.nv_tileas.attributes import (
    AtomAttr,
    AtomFamily,
    CacheModifierAttr,
    EvictionPolicyAttr,
    MemScopeAttr,
    MemSemanticAttr,
    PaddingValueAttr,
    RmwModeAttr,
)
from tileas_xdsl.dialects.nv_tileas.structure import verify_copy
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType, TiledViewType, TmaDescriptorType
from tileas_xdsl.dialects.nv_tileas.verification import BOOL_ARRAY, ORDERING_TOKEN, TENSOR, expect_count
from tileas_xdsl.dialects.tiles.access import (
    OrderedAccessOp,
    TiledAccess,
    verify_in_bounds,
    verify_optional_operands,
    verify_optional_results,
    verify_padding_value,
    verify_plain_op,
    verify_rmw_mode,
    verify_store_padding,
    verify_tiled_access,
    verify_token_pair,
)
from tileas_xdsl.dialects.tiles.policies import (
    PaddingValue,
    verify_atomic_semantics,
    verify_load_semantics,
    verify_store_semantics,
)
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import Accesses, MemoryConsistency, OwnStorage
from tileas_xdsl.dialects.tiles.types import element_type_of, shape_of

LOAD_FAMILIES = (AtomFamily.LDGSTS, AtomFamily.TMA_LOAD, AtomFamily.LDG, AtomFamily.UNKNOWN_COPY)
LOAD_ATOM = "expect a ldgsts, tma_load, ldg or unknown_copy atom type"
STORE_FAMILIES = (AtomFamily.STG, AtomFamily.TMA_STORE, AtomFamily.UNKNOWN_COPY)
STORE_ATOM = "expect a stg, tma_store or unknown_copy atom type"

PADDING = BaseAttr(PaddingValueAttr) | BaseAttr(IntegerAttr) | BaseAttr(FloatAttr)
OFFSET = IndexType | IntegerType


def verify_atom(atom: Attribute | None, families: Collection[AtomFamily], text: str, *, required: bool = False) -> None:
    """An atom of this dialect belongs to one of `families`; atoms of other dialects are not checked."""
    if atom is None and required:
        raise VerifyException(text)
    if isinstance(atom, AtomAttr) and atom.family not in families:
        raise VerifyException(text)


class MemoryOp(OrderedAccessOp, ABC):
    """An access to memory: no regions, no successors, an atom, and a place in the order of memory effects."""

    bodies = var_region_def()
    targets = var_successor_def()
    atom = opt_prop_def()
    mem_semantic = opt_prop_def(MemSemanticAttr)
    mem_scope = opt_prop_def(MemScopeAttr)
    cache_modifier = opt_prop_def(CacheModifierAttr)
    eviction_policy = opt_prop_def(EvictionPolicyAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_groups(self, results: Sequence[SSAValue], *groups: Sequence[SSAValue]) -> None:
        """At most one token result, and at most one value in each of the operand groups, which come last."""
        verify_plain_op(self)
        verify_optional_results(len(self.results) - len(results), results)
        start = len(self.operands) - sum(map(len, groups))
        for group in groups:
            verify_optional_operands(start, group)
            start += len(group)


def is_accessible(type_: Attribute) -> bool:
    """Whether a value of `type_` holds tiles: a tiled view, an array, or a descriptor of one."""
    views = TiledViewType | nv_tileaa.TiledViewType | TmaDescriptorType
    return isinstance(type_, views | MemRefType | nv_tileaa.ArrayType)


def tiled_access(view: SSAValue, tile: Attribute, coords: Sequence[SSAValue], leading: bool) -> TiledAccess:
    """The tile and the view of a tiled op. Raises `VerifyException` when `view` holds no tiles."""
    type_ = view.type
    if not is_accessible(type_):
        raise VerifyException(f"expects a tiled view, an array or a TMA descriptor, but got {type_}")
    tiled = isinstance(type_, TiledViewType | nv_tileaa.TiledViewType)
    return TiledAccess(type_, tile, coords, tiled, int(leading))


def verify_mask(masks: Sequence[SSAValue], tile: Attribute) -> None:
    """A mask has one i1 for each element of the tile."""
    for mask in masks:
        if element_type_of(mask.type) != i1 or shape_of(mask.type) != shape_of(tile):
            raise VerifyException(f"expects a mask of i1 elements shaped like {tile}, but got {mask.type}")


def special_padding(padding: Attribute | None) -> PaddingValue | None:
    """The special value that `padding` names, or None for numbers and for none."""
    return padding.data if isinstance(padding, PaddingValueAttr) else None


# Tiled accesses ----------------------------------------------------------------------------------


class TiledOp(MemoryOp, ABC):
    """Base of the accesses to one tile of a view, at tile coordinates."""

    SUBSCRIPTS: ClassVar[str | None] = "coords"
    SUBSCRIPTED: ClassVar[str | None] = "view"

    in_bounds = opt_prop_def(BOOL_ARRAY)
    padding_value = opt_prop_def(PADDING)
    leading_offset = opt_prop_def(UnitAttr)
    """The view's descriptor has a leading offset: the access has one coordinate more than the view has axes."""


@irdl_op_definition
class TiledLoadOp(TiledOp):
    """
    Load the tile at the coordinates.

    `%v, %t1 = nv_tileas.tiled_load %view[%i, %j] token(%t0)
    : (!nv_tileas.tiled_view<8x8xf16>, index, index, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)`
    """

    name = "nv_tileas.tiled_load"

    view = operand_def()
    coords = var_operand_def()
    offsets = var_operand_def(OFFSET)
    token = var_operand_def(ORDERING_TOKEN)
    mask = var_operand_def(TENSOR)
    tile = result_def(TENSOR)
    done = var_result_def(ORDERING_TOKEN)

    traits = traits_def(Accesses(reads=(0,)), OwnStorage())

    def __init__(
        self,
        view: SSAValue,
        coords: Sequence[SSAValue],
        tile_type: Attribute,
        *,
        token: SSAValue | None = None,
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        tokens = [] if token is None else [token]
        super().__init__(
            operands=[view, coords, [], tokens, []],
            result_types=[tile_type, [value.type for value in tokens]],
            properties=dict(properties or {}),
            regions=[[]],
            successors=[[]],
        )

    def verify_contract(self) -> None:
        self.verify_groups(self.done, self.token, self.mask)
        verify_token_pair(self.token, self.done)
        verify_atom(self.atom, LOAD_FAMILIES, LOAD_ATOM)
        verify_tiled_access(tiled_access(self.view, self.tile.type, self.coords, self.leading_offset is not None))
        verify_load_semantics(self.semantic, self.scope)
        verify_in_bounds(self.in_bounds, len(shape_of(self.tile.type) or ()))
        verify_padding_value(special_padding(self.padding_value), self.tile.type)
        verify_mask(self.mask, self.tile.type)


@irdl_op_definition
class TiledStoreOp(TiledOp):
    """
    Store a tile at the coordinates.

    `nv_tileas.tiled_store %view[%i, %j], %v
    : (!nv_tileas.tiled_view<8x8xf16>, tensor<8x8xf16>, index, index) -> ()`
    """

    name = "nv_tileas.tiled_store"

    view = operand_def()
    value = operand_def(TENSOR)
    coords = var_operand_def()
    offsets = var_operand_def(OFFSET)
    token = var_operand_def(ORDERING_TOKEN)
    mask = var_operand_def(TENSOR)
    done = var_result_def(ORDERING_TOKEN)

    traits = traits_def(Accesses(writes=(0,)))

    def __init__(
        self,
        view: SSAValue,
        value: SSAValue,
        coords: Sequence[SSAValue],
        *,
        token: SSAValue | None = None,
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        tokens = [] if token is None else [token]
        super().__init__(
            operands=[view, value, coords, [], tokens, []],
            result_types=[[value.type for value in tokens]],
            properties=dict(properties or {}),
            regions=[[]],
            successors=[[]],
        )

    def verify_contract(self) -> None:
        tile = self.value.type
        self.verify_groups(self.done, self.token, self.mask)
        verify_token_pair(self.token, self.done)
        verify_atom(self.atom, STORE_FAMILIES, STORE_ATOM)
        verify_tiled_access(tiled_access(self.view, tile, self.coords, self.leading_offset is not None))
        verify_store_semantics(self.semantic, self.scope)
        verify_in_bounds(self.in_bounds, len(shape_of(tile) or ()))
        verify_store_padding(self.in_bounds, self.padding_value)
        verify_padding_value(special_padding(self.padding_value), tile)
        verify_mask(self.mask, tile)


class AtomicOp(TiledOp, ABC):
    """Base of the ops that read, modify and write a tile in one step."""

    rmw_mode = opt_prop_def(RmwModeAttr)

    def verify_atomic(self, view: SSAValue, tile: Attribute, coords: Sequence[SSAValue]) -> None:
        """The checks of a tiled access, then those of the read-modify-write."""
        verify_tiled_access(tiled_access(view, tile, coords, self.leading_offset is not None))
        verify_atomic_semantics(self.semantic, self.scope)
        verify_in_bounds(self.in_bounds, len(shape_of(tile) or ()))
        if self.rmw_mode is not None:
            verify_rmw_mode(self.rmw_mode.data, tile)

    def verify_mode(self) -> None:
        if self.rmw_mode is None:
            raise VerifyException("requires attribute 'rmw_mode'")


@irdl_op_definition
class TiledAtomicRmwOp(AtomicOp):
    """
    Combine a tile into memory; the result is the tile before.

    `%old = nv_tileas.tiled_atomic_rmw %view[%i], %v attributes {rmw_mode = #nv_tileas<rmw_mode add>}
    : (!nv_tileas.tiled_view<8xf32>, tensor<8xf32>, index) -> tensor<8xf32>`
    """

    name = "nv_tileas.tiled_atomic_rmw"

    view = operand_def()
    value = operand_def(TENSOR)
    coords = var_operand_def()
    token = var_operand_def(ORDERING_TOKEN)
    old = result_def(TENSOR)
    done = var_result_def(ORDERING_TOKEN)

    traits = traits_def(Accesses(reads=(0,), writes=(0,)))

    def verify_contract(self) -> None:
        self.verify_groups(self.done, self.token)
        self.verify_mode()
        verify_token_pair(self.token, self.done)
        if self.old.type != self.value.type:
            raise VerifyException(f"expects a result of the value's type {self.value.type}, but got {self.old.type}")
        self.verify_atomic(self.view, self.value.type, self.coords)


@irdl_op_definition
class AsyncTiledLoadOp(TiledOp):
    """`%t = nv_tileas.async.tiled_load %view[%i], %buffer : (...) -> !nv_tileas.token`: fills a destination."""

    name = "nv_tileas.async.tiled_load"

    view = operand_def()
    destination = operand_def(TENSOR)
    coords = var_operand_def()
    offsets = var_operand_def(OFFSET)
    token = var_operand_def(ORDERING_TOKEN)
    mask = var_operand_def(TENSOR)
    done = result_def(AsyncTokenType)

    traits = traits_def(Accesses(reads=(0,), writes=(1,)), MemoryConsistency())

    def __init__(
        self,
        view: SSAValue,
        destination: SSAValue,
        coords: Sequence[SSAValue],
        *,
        token: SSAValue | None = None,
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[view, destination, coords, [], [] if token is None else [token], []],
            result_types=[AsyncTokenType()],
            properties=dict(properties or {}),
            regions=[[]],
            successors=[[]],
        )

    def verify_contract(self) -> None:
        tile = self.destination.type
        self.verify_groups((), self.token, self.mask)
        verify_atom(self.atom, LOAD_FAMILIES, LOAD_ATOM)
        verify_tiled_access(tiled_access(self.view, tile, self.coords, self.leading_offset is not None))
        verify_load_semantics(self.semantic, self.scope)
        verify_in_bounds(self.in_bounds, len(shape_of(tile) or ()))
        verify_padding_value(special_padding(self.padding_value), tile)
        verify_mask(self.mask, tile)


@irdl_op_definition
class AsyncTiledAtomicRmwOp(AtomicOp):
    """`%t = nv_tileas.async.tiled_atomic_rmw %view[%i], %v ... : (...) -> !nv_tileas.token`: a TMA reduction."""

    name = "nv_tileas.async.tiled_atomic_rmw"

    view = operand_def()
    value = operand_def(TENSOR)
    coords = var_operand_def()
    token = var_operand_def(ORDERING_TOKEN)
    done = result_def(AsyncTokenType)

    traits = traits_def(Accesses(reads=(0, 1), writes=(0,)), MemoryConsistency())

    def verify_contract(self) -> None:
        self.verify_groups((), self.token)
        self.verify_mode()
        verify_atom(self.atom, (AtomFamily.TMA_REDG,), "expect a tma_redg atom type", required=True)
        if isinstance(self.atom, AtomAttr) and (self.atom.mode or "").lower() == "scatter4":
            raise VerifyException("TmaReduceOp do not support SCATTER4 mode")
        self.verify_atomic(self.view, self.value.type, self.coords)


# Copies ---


@irdl_op_definition
class AsyncCopyOp(TileOp):
    """`%t = nv_tileas.async.copy %a, %b : (tensor<8xf16>, tensor<8xf16>) -> !nv_tileas.token`: from %a to %b."""

    name = "nv_tileas.async.copy"

    source = operand_def()
    destination = operand_def()
    tokens = var_operand_def(ORDERING_TOKEN)
    done = result_def(AsyncTokenType)
    atom = opt_prop_def()
    atom_descriptor = opt_prop_def()

    traits = traits_def(Accesses(reads=(0,), writes=(1,)), MemoryConsistency())

    def verify_contract(self) -> None:
        expect_count("token operand", len(self.tokens), 0, 1)
        verify_copy(self.source.type, self.destination.type)


MEMORY_OPS = (
    TiledLoadOp,
    TiledStoreOp,
    TiledAtomicRmwOp,
    AsyncTiledLoadOp,
    AsyncTiledAtomicRmwOp,
    AsyncCopyOp,
)
