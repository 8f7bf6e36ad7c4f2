"""
Memory: arrays, pointers, tokens, loads and stores.

    %view = nv_tileaa.block_tile %a attributes {...} : (memref<256x256xf16>) -> !nv_tileaa.tiled_view<...>
    %x, %t1 = nv_tileaa.tiled_load %view[%i, %k] token(%t0) : (...) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %t2 = nv_tileaa.tiled_store %view[%i, %k], %x token(%t1) : (...) -> !nv_tileaa.mem_token

A memory token comes out of an access exactly when one goes in: it says what the access waits for and
who waits for the access. An access without tokens is ordered as the program is written.

The base of an access is an array (`memref`, of this dialect or builtin), a pointer, a tile of pointers
or, for the tiled forms, a view made by `block_tile`. The indices of a plain access count elements:
they name one element, or the first element of a tile. The coordinates of a tiled access count tiles
of the size of the value; a tiled access to an array means the access to the `block_tile` view of that
array with the value's shape.

Synchronous accesses of one agent are ordered by the program, with memory tokens and without. CUDA Tile IR, from which
the tokens come, orders accesses of one tile block by tokens alone ("Memory Model"); there a load behind a store to the
same place may see the old value. Here tokens are optional, the accesses of plain memrefs stand among those of tiles,
and every pass of ours keeps the order of accesses that may meet. So a program that comes from Tile IR has to bring its
tokens along where another compiler goes on with it.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyTensorTypeConstr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    i1,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
    var_successor_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa.attributes import (
    CacheModifierAttr,
    EvictionPolicyAttr,
    MemScopeAttr,
    MemSemanticAttr,
)
from tileas_xdsl.dialects.nv_tileaa.regions import CanonicalizedOp
from tileas_xdsl.dialects.nv_tileaa.types import (
    ArrayType,
    MemTokenType,
    PointerType,
    TiledViewType,
    element_type_of,
    is_integer_like,
)
from tileas_xdsl.dialects.tiles.access import (
    OrderedAccessOp,
    TiledAccess,
    verify_in_bounds,
    verify_optional_operands,
    verify_optional_results,
    verify_plain_op,
    verify_tiled_access,
    verify_token_pair,
)
from tileas_xdsl.dialects.tiles.policies import verify_load_semantics, verify_store_semantics
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import Accesses, LeadsToOperand, OwnStorage
from tileas_xdsl.dialects.tiles.types import extents

# What a base is made of ---------------------------------------------------------------------------


def addressed_element(base: Attribute) -> Attribute | None:
    """The element type behind a base: of an array or view its own, of pointers the pointee."""
    element = element_type_of(base)
    if isinstance(element, PointerType):
        return element.pointee
    return element if is_array(base) or isinstance(base, TiledViewType) else None


def is_array(type_: Attribute) -> bool:
    """Whether `type_` is an array in memory, of this dialect or builtin."""
    return isinstance(type_, MemRefType | ArrayType)


def verify_base(base: Attribute, value: Attribute) -> None:
    """`base` can be accessed and holds elements like those of `value`."""
    element = addressed_element(base)
    if element is None:
        raise VerifyException(f"expects a pointer, an array or a view as base, but got {base}")
    if element != element_type_of(value):
        raise VerifyException(f"expects elements of type {element}, as the base has, but got {element_type_of(value)}")


def verify_plain_indices(base: Attribute, value: Attribute, indices: Sequence[SSAValue]) -> None:
    """One element index for each axis of an array; pointers already say where."""
    if isinstance(base, TiledViewType):
        raise VerifyException("expects a tiled view to be accessed by the tiled form of the op")
    if is_array(base):
        rank = len(extents(base))
        if len(indices) != rank:
            raise VerifyException(f"expects {rank} indices, but got {len(indices)}")
        if len(extents(value)) not in (0, rank):
            raise VerifyException(f"expects a scalar or a tile of rank {rank}, but got {value}")
        return
    if indices:
        raise VerifyException(f"expects no indices behind a pointer, but got {len(indices)}")
    if extents(base) != extents(value):
        raise VerifyException(f"expects one pointer for each element of {value}, but got {base}")


def verify_lane_mask(mask: SSAValue | None, value: Attribute) -> None:
    """A mask has one i1 for each lane of the value."""
    if mask is None:
        return
    if element_type_of(mask.type) != i1 or extents(mask.type) != extents(value):
        raise VerifyException(f"expects a mask of i1 shaped like {value}, but got {mask.type}")


# Accesses -----------------------------------------------------------------------------------------


class AccessOp(OrderedAccessOp, CanonicalizedOp, ABC):
    """
    An access to memory. Its token groups are variadic, so that a second token is reported with TileAS's text.

    The operand groups differ from op to op, and stand in the order of the op's custom form.
    """

    mem_semantic = opt_prop_def(MemSemanticAttr)
    mem_scope = opt_prop_def(MemScopeAttr)
    bodies = var_region_def()
    successor = var_successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_tokens(self, tokens: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
        """No regions and no successors; then at most one token each way, and one out exactly if one goes in."""
        verify_plain_op(self)
        verify_optional_results(len(self.results) - len(results), results)
        verify_optional_operands(len(self.operands) - len(tokens), tokens)
        verify_token_pair(tokens, results)


class ReadOp(AccessOp, ABC):
    """`base[indices] mask(m) other(o) token(t)` to a value and, with a token, a token."""

    SUBSCRIPTS: ClassVar[str | None] = "indices"

    base = operand_def()
    indices = var_operand_def(IndexType)
    mask = opt_operand_def()
    other = opt_operand_def()
    token = var_operand_def(MemTokenType)
    value = result_def()
    token_result = var_result_def(MemTokenType)
    cache_modifier = opt_prop_def(CacheModifierAttr)
    eviction_policy = opt_prop_def(EvictionPolicyAttr)
    in_bounds = opt_prop_def(DenseArrayBase.constr(i1))

    traits = traits_def(Accesses(reads=(0,)))

    def verify_lanes(self) -> None:
        """Mask and fallback fit the value; a fallback needs a mask."""
        verify_lane_mask(self.mask, self.value.type)
        if self.other is None:
            return
        if self.mask is None:
            raise VerifyException("expects a mask where there is a fallback value")
        if self.other.type != self.value.type:
            raise VerifyException(f"expects a fallback value of type {self.value.type}, but got {self.other.type}")


@irdl_op_definition
class LoadOp(ReadOp):
    """
    Load an element, a tile at an element, or what a tile of pointers points to.

    `%v, %t1 = nv_tileaa.load %a[%i, %j] token(%t0) : (memref<8x8xf32>, index, index,
    !nv_tileaa.mem_token) -> (f32, !nv_tileaa.mem_token)`
    """

    name = "nv_tileaa.load"

    traits = traits_def(OwnStorage())

    def verify_contract(self) -> None:
        self.verify_tokens(self.token, self.token_result)
        verify_in_bounds(self.in_bounds, len(self.indices))
        verify_base(self.base.type, self.value.type)
        verify_plain_indices(self.base.type, self.value.type, self.indices)
        self.verify_lanes()
        verify_load_semantics(self.semantic, self.scope)


@irdl_op_definition
class TiledLoadOp(ReadOp):
    """
    Load the tile at tile coordinates.

    `%v = nv_tileaa.tiled_load %a[%i, %k] : (memref<256x256xf16>, index, index) -> tensor<128x64xf16>`
    """

    name = "nv_tileaa.tiled_load"

    traits = traits_def(OwnStorage())

    def verify_contract(self) -> None:
        self.verify_tokens(self.token, self.token_result)
        verify_in_bounds(self.in_bounds, len(self.indices))
        verify_tile(self.base.type, self.value.type, self.indices)
        self.verify_lanes()
        verify_load_semantics(self.semantic, self.scope)


def verify_tile(base: Attribute, tile: Attribute, coordinates: Sequence[SSAValue]) -> None:
    """The value is a tensor whose element type, size and number of coordinates fit the base."""
    if addressed_element(base) is None:
        raise VerifyException(f"expects a pointer, an array or a view as base, but got {base}")
    if not AnyTensorTypeConstr.verifies(tile):
        raise VerifyException(f"expects a tile, but got {tile}")
    verify_tiled_access(TiledAccess(base, tile, coordinates, isinstance(base, TiledViewType)))
    verify_base(base, tile)


class WriteOp(AccessOp, ABC):
    """`base[indices], value mask(m) token(t)` to nothing or, with a token, a token."""

    SUBSCRIPTS: ClassVar[str | None] = "indices"
    SUBSCRIPTED: ClassVar[str | None] = "base"

    base = operand_def()
    value = operand_def()
    indices = var_operand_def(IndexType)
    mask = opt_operand_def()
    token = var_operand_def(MemTokenType)
    token_result = var_result_def(MemTokenType)
    cache_modifier = opt_prop_def(CacheModifierAttr)
    eviction_policy = opt_prop_def(EvictionPolicyAttr)

    traits = traits_def(Accesses(writes=(0,)))


@irdl_op_definition
class StoreOp(WriteOp):
    """
    Store an element, a tile at an element, or one element behind each of a tile of pointers.

    `nv_tileaa.store %a[%i, %j], %v : (memref<8x8xf32>, f32, index, index) -> ()`
    """

    name = "nv_tileaa.store"

    def verify_contract(self) -> None:
        self.verify_tokens(self.token, self.token_result)
        verify_base(self.base.type, self.value.type)
        verify_plain_indices(self.base.type, self.value.type, self.indices)
        verify_lane_mask(self.mask, self.value.type)
        verify_store_semantics(self.semantic, self.scope)


@irdl_op_definition
class TiledStoreOp(WriteOp):
    """
    Store the tile at tile coordinates.

    `nv_tileaa.tiled_store %c[%i, %j], %v : (memref<256x256xf32>, tensor<128x128xf32>, index, index)
    -> ()`
    """

    name = "nv_tileaa.tiled_store"

    in_bounds = opt_prop_def(DenseArrayBase.constr(i1))

    def verify_contract(self) -> None:
        self.verify_tokens(self.token, self.token_result)
        verify_in_bounds(self.in_bounds, len(self.indices))
        verify_tile(self.base.type, self.value.type, self.indices)
        verify_lane_mask(self.mask, self.value.type)
        verify_store_semantics(self.semantic, self.scope)


# Addresses ----------------------------------------------------------------------------------------


@irdl_op_definition
class AddPtrOp(CanonicalizedOp):
    """
    Move a pointer, or each of a tile of pointers, by a number of elements.

    `%q = nv_tileaa.addptr %p, %i : (!nv_tileaa.ptr<f16, 1>, index) -> !nv_tileaa.ptr<f16, 1>`
    """

    name = "nv_tileaa.addptr"

    base = operand_def()
    offset = operand_def()
    result = result_def()

    traits = traits_def(Pure(), LeadsToOperand())

    def verify_contract(self) -> None:
        if not isinstance(element_type_of(self.base.type), PointerType):
            raise VerifyException(f"expects a pointer as base, but got {self.base.type}")
        if self.result.type != self.base.type:
            raise VerifyException(
                f"expects the result to be of the type of the base, {self.base.type}, but got {self.result.type}"
            )
        if not is_integer_like(self.offset.type):
            raise VerifyException(f"expects an offset in elements, but got {self.offset.type}")
        if extents(self.offset.type) not in ((), extents(self.base.type)):
            raise VerifyException(f"expects a scalar offset or one for each pointer, but got {self.offset.type}")


@irdl_op_definition
class MakeMemrefOp(TileOp):
    """
    Make an array of the memory behind a pointer.

    `%a = nv_tileaa.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f16, 1>, index)
    -> !nv_tileaa.memref<?x64xf16, 1>`

    There is one size for each `?` of the shape and one stride for each `?` of the strides. The offset
    is in elements.
    """

    name = "nv_tileaa.make_memref"

    base = operand_def(PointerType)
    offset = opt_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    result = result_def(ArrayType)
    alias_scope = opt_prop_def(IntegerAttr.constr(i32))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure(), LeadsToOperand())

    def verify_contract(self) -> None:
        array = self.result.type
        pointer = self.base.type
        if pointer != PointerType(array.element_type, array.address_space):
            raise VerifyException(f"expects elements and address space of the base, {pointer}, but got {array}")
        sizes = array.get_shape().count(DYNAMIC_INDEX)
        if len(self.sizes) != sizes:
            raise VerifyException(f"expects {sizes} dynamic sizes, but got {len(self.sizes)}")
        strides = (array.get_strides() or ()).count(DYNAMIC_INDEX)
        if len(self.strides) != strides:
            raise VerifyException(f"expects {strides} dynamic strides, but got {len(self.strides)}")


# Tokens -------------------------------------------------------------------------------------------


@irdl_op_definition
class CreateMemTokenOp(TileOp):
    """`%t = nv_tileaa.create_mem_token : () -> !nv_tileaa.mem_token`: a token that waits for nothing."""

    name = "nv_tileaa.create_mem_token"

    token = result_def(MemTokenType)

    traits = traits_def(Pure())


@irdl_op_definition
class JoinMemTokenOp(CanonicalizedOp):
    """`%t = nv_tileaa.join_mem_token %t0, %t1 : (...) -> !nv_tileaa.mem_token`: waits for all."""

    name = "nv_tileaa.join_mem_token"

    tokens = var_operand_def(MemTokenType)
    token = result_def(MemTokenType)

    traits = traits_def(Pure())

    def verify_contract(self) -> None:
        if not self.tokens:
            raise VerifyException("expects at least one token")
