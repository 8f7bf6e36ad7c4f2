"""
Rectangular parts of tiles.

    %p = nv_tileas.extract_slice %a[%i, %j] : (tensor<8x8xf16>, index, index) -> tensor<4x4xf16>
    %d1 = nv_tileas.insert_slice %p, %d[%i, %j] : (tensor<4x4xf16>, tensor<8x8xf16>, index, index) -> tensor<8x8xf16>

A slice of storage names its bytes. The asynchronous forms take the token that their source waits for.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, IntegerType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType
from tileas_xdsl.dialects.nv_tileas.verification import I64_ARRAY, TENSOR, drops_to
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import Accesses, TileStructure, UpdatesDestination, ViewOfOperand
from tileas_xdsl.dialects.tiles.types import element_type_of, extents


class SliceOp(TileOp, ABC):
    """
    A rectangular part of a tile: offset, size and stride along each axis.

    What is static stands in `static_offsets`, `static_sizes`, `static_strides`, with `DYNAMIC_INDEX` where the next
    operand of that group takes its place. A group with operands only is all dynamic. Sizes left out are those of the
    part's type, strides left out are 1.
    """

    SUBSCRIPTS: ClassVar[str | None] = "offsets"

    static_offsets = opt_prop_def(I64_ARRAY)
    static_sizes = opt_prop_def(I64_ARRAY)
    static_strides = opt_prop_def(I64_ARRAY)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_slice(
        self,
        whole: Attribute,
        part: Attribute,
        offsets: Sequence[SSAValue],
        sizes: Sequence[SSAValue],
        strides: Sequence[SSAValue],
    ) -> None:
        """The groups fit the rank of `whole`; the part has the sizes and lies inside, where both are static."""
        whole_shape, part_shape = extents(whole), extents(part)
        rank = len(whole_shape)
        if element_type_of(whole) != element_type_of(part):
            raise VerifyException(f"expects whole and part of one element type, but got {whole} and {part}")
        starts = _slice_group("offsets", rank, self.static_offsets, offsets)
        if starts is None:
            raise VerifyException(f"expects {rank} offsets, but got 0")
        extent = _slice_group("sizes", rank, self.static_sizes, sizes)
        steps = _slice_group("strides", rank, self.static_strides, strides) or (1,) * rank
        if len(part_shape) > rank:
            raise VerifyException(f"expects a part of at most rank {rank}, but got {part}")
        if extent is None:
            extent = (1,) * (rank - len(part_shape)) + part_shape
        elif DYNAMIC_INDEX not in extent and not drops_to(extent, part_shape):
            raise VerifyException(f"expects a part of sizes {list(extent)}, but got {part}")
        for axis, (start, size, step) in enumerate(zip(starts, extent, steps, strict=True)):
            _verify_inside(axis, start, size, step, whole_shape[axis])


def _slice_group(
    name: str, rank: int, static: DenseArrayBase[IntegerType] | None, dynamic: Sequence[SSAValue]
) -> tuple[int, ...] | None:
    """One number for each axis, `DYNAMIC_INDEX` for those that operands give; None when the group is left out."""
    if static is None and not dynamic:
        return None
    numbers = (DYNAMIC_INDEX,) * len(dynamic) if static is None else tuple(map(int, static.get_values()))
    if len(numbers) != rank:
        raise VerifyException(f"expects {rank} {name}, but got {len(numbers)}")
    if numbers.count(DYNAMIC_INDEX) != len(dynamic):
        raise VerifyException(
            f"expects {numbers.count(DYNAMIC_INDEX)} operands for dynamic {name}, but got {len(dynamic)}"
        )
    return numbers


def _verify_inside(axis: int, start: int, size: int, step: int, extent: int) -> None:
    if start != DYNAMIC_INDEX and start < 0:
        raise VerifyException(f"expects offsets of at least 0, but got {start} on axis {axis}")
    if DYNAMIC_INDEX in (start, size, step, extent):
        return
    last = start + (size - 1) * step
    if size < 1 or not 0 <= last < extent:
        raise VerifyException(f"expects the part to lie inside: axis {axis} reaches {last} of extent {extent}")


@irdl_op_definition
class ExtractSliceOp(SliceOp):
    """`%p = nv_tileas.extract_slice %a[%i, %j] : (tensor<8x8xf16>, index, index) -> tensor<4x4xf16>`"""

    name = "nv_tileas.extract_slice"

    source = operand_def(TENSOR)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    result = result_def(TENSOR)

    traits = traits_def(Pure(), ViewOfOperand(), TileStructure())

    def __init__(
        self,
        source: SSAValue,
        offsets: Sequence[SSAValue],
        result_type: Attribute,
        *,
        sizes: Sequence[SSAValue] = (),
        strides: Sequence[SSAValue] = (),
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[source, offsets, sizes, strides], result_types=[result_type], properties=dict(properties or {})
        )

    def verify_contract(self) -> None:
        self.verify_slice(self.source.type, self.result.type, self.offsets, self.sizes, self.strides)


@irdl_op_definition
class InsertSliceOp(SliceOp):
    """`%d1 = nv_tileas.insert_slice %p, %d[%i, %j] : (tensor<4x4xf16>, tensor<8x8xf16>, ...) -> tensor<8x8xf16>`"""

    name = "nv_tileas.insert_slice"

    source = operand_def(TENSOR)
    destination = operand_def(TENSOR)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    result = result_def(TENSOR)

    traits = traits_def(UpdatesDestination(), TileStructure())

    def __init__(
        self,
        source: SSAValue,
        destination: SSAValue,
        offsets: Sequence[SSAValue],
        *,
        sizes: Sequence[SSAValue] = (),
        strides: Sequence[SSAValue] = (),
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[source, destination, offsets, sizes, strides],
            result_types=[destination.type],
            properties=dict(properties or {}),
        )

    def verify_contract(self) -> None:
        expect_destination_type(self.result.type, self.destination.type)
        self.verify_slice(self.destination.type, self.source.type, self.offsets, self.sizes, self.strides)


def expect_destination_type(result: Attribute, destination: Attribute) -> None:
    if result != destination:
        raise VerifyException(f"expects a result of the destination's type {destination}, but got {result}")


@irdl_op_definition
class AsyncExtractSliceOp(SliceOp):
    """`%p, %t1 = nv_tileas.async.extract_slice %a[%i], %t : (...) -> (tensor<4xf16>, !nv_tileas.token)`"""

    name = "nv_tileas.async.extract_slice"

    SUBSCRIPTED: ClassVar[str | None] = "source"

    source = operand_def(TENSOR)
    token = operand_def(AsyncTokenType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    result = result_def(TENSOR)
    done = result_def(AsyncTokenType)

    traits = traits_def(Pure(), ViewOfOperand())

    def __init__(
        self,
        source: SSAValue,
        token: SSAValue,
        offsets: Sequence[SSAValue],
        result_type: Attribute,
        *,
        sizes: Sequence[SSAValue] = (),
        strides: Sequence[SSAValue] = (),
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[source, token, offsets, sizes, strides],
            result_types=[result_type, AsyncTokenType()],
            properties=dict(properties or {}),
        )

    def verify_contract(self) -> None:
        self.verify_slice(self.source.type, self.result.type, self.offsets, self.sizes, self.strides)


@irdl_op_definition
class AsyncInsertSliceOp(SliceOp):
    """`%d1, %t1 = nv_tileas.async.insert_slice %p, %d[%i], %t : (...) -> (tensor<8xf16>, !nv_tileas.token)`"""

    name = "nv_tileas.async.insert_slice"

    SUBSCRIPTED: ClassVar[str | None] = "destination"

    source = operand_def(TENSOR)
    destination = operand_def(TENSOR)
    token = operand_def(AsyncTokenType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    result = result_def(TENSOR)
    done = result_def(AsyncTokenType)

    traits = traits_def(Accesses(reads=(0,), writes=(1,)))

    def verify_contract(self) -> None:
        expect_destination_type(self.result.type, self.destination.type)
        self.verify_slice(self.destination.type, self.source.type, self.offsets, self.sizes, self.strides)


SLICE_OPS = (ExtractSliceOp, InsertSliceOp, AsyncExtractSliceOp, AsyncInsertSliceOp)
