"""
Atomics, and accesses with separate coordinates for each lane.

    %old, %t1 = nv_tileaa.atomic_rmw %a[%i], %v token(%t0) attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : ...
    %v = nv_tileaa.gather_load %a[%rows] : (memref<64xf32>, tensor<8xindex>) -> tensor<8xf32>

An atomic returns the value that the memory held before.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    BaseAttr,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa.attributes import (
    CacheModifierAttr,
    EvictionPolicyAttr,
    PaddingValueAttr,
    RmwModeAttr,
)
from tileas_xdsl.dialects.nv_tileaa.memory import (
    AccessOp,
    is_array,
    verify_base,
    verify_lane_mask,
    verify_plain_indices,
    verify_tile,
)
from tileas_xdsl.dialects.nv_tileaa.types import MemTokenType, element_type_of, is_float
from tileas_xdsl.dialects.tiles.access import verify_padding_value, verify_rmw_mode
from tileas_xdsl.dialects.tiles.policies import (
    RmwMode,
    verify_atomic_semantics,
    verify_load_semantics,
    verify_store_semantics,
)
from tileas_xdsl.dialects.tiles.traits import Accesses
from tileas_xdsl.dialects.tiles.types import extents

BITWISE = (RmwMode.AND, RmwMode.OR, RmwMode.XOR)
UNSIGNED = (RmwMode.UMIN, RmwMode.UMAX)


class RmwOp(AccessOp, ABC):
    """`base[indices], value mask(m) token(t)` to the old value and, with a token, a token."""

    SUBSCRIPTS: ClassVar[str | None] = "indices"
    SUBSCRIPTED: ClassVar[str | None] = "base"

    base = operand_def()
    value = operand_def()
    indices = var_operand_def(BaseAttr(IndexType) | BaseAttr(TensorType))
    mask = opt_operand_def()
    token = var_operand_def(MemTokenType)
    old = result_def()
    token_result = var_result_def(MemTokenType)
    rmw_mode = opt_prop_def(RmwModeAttr)

    traits = traits_def(Accesses(reads=(0,), writes=(0,)))

    def required_mode(self) -> RmwMode:
        """The mode; raises `VerifyException` without one."""
        if self.rmw_mode is None:
            raise VerifyException("requires attribute 'rmw_mode'")
        return self.rmw_mode.data

    def verify_old(self) -> None:
        """What comes out is like what goes in."""
        if self.old.type != self.value.type:
            raise VerifyException(f"expects an old value of type {self.value.type}, but got {self.old.type}")
        verify_lane_mask(self.mask, self.value.type)
        verify_atomic_semantics(self.semantic, self.scope)


@irdl_op_definition
class AtomicRmwOp(RmwOp):
    """
    Read, combine and write back in one step: an element, a tile, lanes that have coordinates each, or the targets
    of pointers. Lanes outside the array do nothing; lanes at one place come one after the other.

    `%old = nv_tileaa.atomic_rmw %a[%i], %v attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : (memref<8xf32>, f32,
    index) -> f32`
    """

    name = "nv_tileaa.atomic_rmw"

    @property
    def is_scattered(self) -> bool:
        """Whether each lane has coordinates of its own."""
        return any(isinstance(index.type, TensorType) for index in self.indices)

    def verify_contract(self) -> None:
        mode = self.required_mode()
        self.verify_tokens(self.token, self.token_result)
        verify_base(self.base.type, self.value.type)
        verify = verify_lane_indices if self.is_scattered else verify_plain_indices
        verify(self.base.type, self.value.type, self.indices)
        verify_mode_of_elements(mode, element_type_of(self.value.type))
        self.verify_old()


def verify_mode_of_elements(mode: RmwMode, element: Attribute) -> None:
    """Bitwise and unsigned modes are for integers, `addf` is for floats, comparing has an op of its own."""
    if mode is RmwMode.CMPXCHG:
        raise VerifyException("expects 'nv_tileaa.atomic_cas' where values are compared")
    if is_float(element) and mode in (*BITWISE, *UNSIGNED):
        raise VerifyException(f"expects integer elements for rmw_mode {mode.value}, but got {element}")
    if not is_float(element) and mode is RmwMode.ADDF:
        raise VerifyException(f"expects float elements for rmw_mode addf, but got {element}")


@irdl_op_definition
class TiledAtomicRmwOp(RmwOp):
    """
    Read, combine and write back the tile at tile coordinates; each element in one step.

    `%old = nv_tileaa.tiled_atomic_rmw %view[%i], %v attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : (...) -> ...`
    """

    name = "nv_tileaa.tiled_atomic_rmw"

    def verify_contract(self) -> None:
        for index in self.indices:
            if not isinstance(index.type, IndexType):
                raise VerifyException(f"expects a number of tiles along each axis, but got {index.type}")
        mode = self.required_mode()
        self.verify_tokens(self.token, self.token_result)
        verify_rmw_mode(mode, self.value.type)
        verify_tile(self.base.type, self.value.type, self.indices)
        self.verify_old()


@irdl_op_definition
class AtomicCasOp(AccessOp):
    """
    Write `replacement` where `compare` stands, in one step.

    `%old = nv_tileaa.atomic_cas %a[%i], %compare, %replacement : (memref<8xi32>, i32, i32, index) -> i32`
    """

    name = "nv_tileaa.atomic_cas"

    SUBSCRIPTS: ClassVar[str | None] = "indices"
    SUBSCRIPTED: ClassVar[str | None] = "base"

    base = operand_def()
    compare = operand_def()
    replacement = operand_def()
    indices = var_operand_def(IndexType)
    mask = opt_operand_def()
    token = var_operand_def(MemTokenType)
    old = result_def()
    token_result = var_result_def(MemTokenType)

    traits = traits_def(Accesses(reads=(0,), writes=(0,)))

    def verify_contract(self) -> None:
        self.verify_tokens(self.token, self.token_result)
        value = self.compare.type
        for other in (self.replacement, self.old):
            if other.type != value:
                raise VerifyException(
                    f"expects compared, replacing and old value to be of one type, but got {value} and {other.type}"
                )
        verify_base(self.base.type, value)
        verify_plain_indices(self.base.type, value, self.indices)
        verify_lane_mask(self.mask, value)
        verify_atomic_semantics(self.semantic, self.scope)


# Coordinates for every lane -----------------------------------------------------------------------


def verify_lane_indices(base: Attribute, value: Attribute, indices: Sequence[SSAValue]) -> None:
    """One tile of indices, shaped like the value, for each axis of an array."""
    verify_base(base, value)
    if not is_array(base):
        raise VerifyException(f"expects an array as base, but got {base}")
    rank = len(extents(base))
    if len(indices) != rank:
        raise VerifyException(f"expects {rank} indices, but got {len(indices)}")
    for index in indices:
        if not isinstance(element_type_of(index.type), IndexType) or extents(index.type) != extents(value):
            raise VerifyException(f"expects an index for each lane of {value}, but got {index.type}")


@irdl_op_definition
class GatherLoadOp(AccessOp):
    """
    Load from an array at coordinates given for every lane.

    `%v = nv_tileaa.gather_load %a[%rows] : (memref<64xf32>, tensor<8xindex>) -> tensor<8xf32>`

    A lane whose coordinates lie outside the array reads `padding_value`.
    """

    name = "nv_tileaa.gather_load"

    SUBSCRIPTS: ClassVar[str | None] = "indices"

    base = operand_def()
    indices = var_operand_def()
    mask = opt_operand_def()
    other = opt_operand_def()
    token = var_operand_def(MemTokenType)
    value = result_def()
    token_result = var_result_def(MemTokenType)
    padding_value = opt_prop_def(PaddingValueAttr)
    cache_modifier = opt_prop_def(CacheModifierAttr)
    eviction_policy = opt_prop_def(EvictionPolicyAttr)

    traits = traits_def(Accesses(reads=(0,)))

    def verify_contract(self) -> None:
        self.verify_tokens(self.token, self.token_result)
        verify_lane_indices(self.base.type, self.value.type, self.indices)
        verify_lane_mask(self.mask, self.value.type)
        if self.other is not None and self.other.type != self.value.type:
            raise VerifyException(f"expects a fallback value of type {self.value.type}, but got {self.other.type}")
        if self.padding_value is not None:
            verify_padding_value(self.padding_value.data, self.value.type)
        verify_load_semantics(self.semantic, self.scope)


@irdl_op_definition
class ScatterStoreOp(AccessOp):
    """
    Store to an array at coordinates given for every lane; lanes outside the array store nothing.

    `nv_tileaa.scatter_store %a[%rows], %v : (memref<64xf32>, tensor<8xf32>, tensor<8xindex>) -> ()`
    """

    name = "nv_tileaa.scatter_store"

    SUBSCRIPTS: ClassVar[str | None] = "indices"
    SUBSCRIPTED: ClassVar[str | None] = "base"

    base = operand_def()
    value = operand_def()
    indices = var_operand_def()
    mask = opt_operand_def()
    token = var_operand_def(MemTokenType)
    token_result = var_result_def(MemTokenType)
    cache_modifier = opt_prop_def(CacheModifierAttr)
    eviction_policy = opt_prop_def(EvictionPolicyAttr)

    traits = traits_def(Accesses(writes=(0,)))

    def verify_contract(self) -> None:
        self.verify_tokens(self.token, self.token_result)
        if "padding_value" in self.attributes:
            raise VerifyException("expects no padding_value on a store")
        verify_lane_indices(self.base.type, self.value.type, self.indices)
        verify_lane_mask(self.mask, self.value.type)
        verify_store_semantics(self.semantic, self.scope)
