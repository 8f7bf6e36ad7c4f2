"""
Tile structure: ops that change the shape of a tile, and no element.

    %v = nv_tileaa.view %t : (tensor<128x64xf16>) -> tensor<2x64x64xf16>
    %e = nv_tileaa.extract %t[%i] : (tensor<4x8xf32>, index) -> tensor<8xf32>
    %s = nv_tileaa.extract_slice %t[%i, %j] : (tensor<4x8xf32>, index, index) -> tensor<2x8xf32>
    %b = nv_tileaa.broadcast %t : (tensor<1x8xf32>) -> tensor<4x8xf32>

`view`, `expand_dims` and `extract_slice` name what is there already; the others compute. Layouts (tensor encodings) may
differ between operand and result.

`extract_slice` has all its offsets as operands or all as constants. Rounding modes and predicates are spelled as in
CUDA Tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyTensorTypeConstr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block
from xdsl.irdl import (
    AttrSizedOperandSegments,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import (
    NoTerminator,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa.regions import CanonicalizedOp, is_element, verify_yield
from tileas_xdsl.dialects.nv_tileaa.types import TiledViewType, element_type_of
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import ReadsViews, ViewInMemory, ViewOfOperand
from tileas_xdsl.dialects.tiles.types import extents


def spelled(shape: Sequence[int]) -> str:
    """A shape in diagnostics: `4x8`, or `scalar`."""
    return "x".join(map(str, shape)) or "scalar"


def verify_same_elements(source: Attribute, result: Attribute) -> None:
    """Source and result have the same element type."""
    if element_type_of(source) != element_type_of(result):
        raise VerifyException(
            f"expects source and result elements to be equal, "
            f"but got {element_type_of(source)} and {element_type_of(result)}"
        )


@irdl_op_definition
class ViewOp(CanonicalizedOp):
    """
    Read the elements of a tile or view, in row-major order, as another shape.

    `%v = nv_tileaa.view %t : (tensor<128x64xf16>) -> tensor<2x64x64xf16>`
    """

    name = "nv_tileaa.view"

    source = operand_def(AnyTensorTypeConstr | base(TiledViewType))
    result = result_def(AnyTensorTypeConstr | base(TiledViewType))

    traits = traits_def(Pure(), ViewOfOperand())

    def verify_contract(self) -> None:
        verify_same_elements(self.source.type, self.result.type)
        before, after = element_count(self.source.type), element_count(self.result.type)
        if before != after:
            raise VerifyException(f"expects the element count to stay, but got {before} vs {after}")


def element_count(type_: Attribute) -> int:
    """How many elements a tile or view has."""
    count = 1
    for extent in extents(type_):
        count *= extent
    return count


@irdl_op_definition
class SplatOp(CanonicalizedOp):
    """`%t = nv_tileaa.splat %x : (f32) -> tensor<8xf32>`: a tile of which every element is x."""

    name = "nv_tileaa.splat"

    source = operand_def()
    result = result_def(AnyTensorTypeConstr)

    traits = traits_def(Pure())

    def verify_contract(self) -> None:
        if not is_element(self.source.type, self.result.type.element_type):
            raise VerifyException(
                f"expects a scalar of type {self.result.type.element_type}, but got {self.source.type}"
            )


@irdl_op_definition
class BroadcastOp(CanonicalizedOp):
    """`%b = nv_tileaa.broadcast %t : (tensor<1x8xf32>) -> tensor<4x8xf32>`: repeat unit axes."""

    name = "nv_tileaa.broadcast"

    source = operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)

    traits = traits_def(ReadsViews())

    def verify_contract(self) -> None:
        verify_same_elements(self.source.type, self.result.type)
        source, result = extents(self.source.type), extents(self.result.type)
        widens = len(source) == len(result) and all(
            before in (1, after) for before, after in zip(source, result, strict=True)
        )
        if not widens:
            raise VerifyException(f"expects only unit axes to grow, but got {spelled(source)} to {spelled(result)}")


@irdl_op_definition
class ExpandDimsOp(CanonicalizedOp):
    """
    Insert unit axes; the two shapes say where.

    `%e = nv_tileaa.expand_dims %t : (tensor<8xf32>) -> tensor<1x8xf32>`
    """

    name = "nv_tileaa.expand_dims"

    source = operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)

    traits = traits_def(Pure(), ViewOfOperand())

    def verify_contract(self) -> None:
        verify_same_elements(self.source.type, self.result.type)
        source, result = extents(self.source.type), extents(self.result.type)
        if len(result) <= len(source) or not inserts_unit_axes(source, result):
            raise VerifyException(f"expects unit axes to be inserted, but got {spelled(source)} to {spelled(result)}")


def inserts_unit_axes(source: Sequence[int], result: Sequence[int]) -> bool:
    """Whether `result` is `source` with axes of extent 1 in between."""
    remaining = list(source)
    for extent in result:
        if remaining and remaining[0] == extent:
            remaining.pop(0)
        elif extent != 1:
            return False
    return not remaining


@irdl_op_definition
class PermuteOp(TileOp):
    """
    Reorder the axes: axis i of the result is axis `permutation[i]` of the source. Of a tile in shared memory that stays
    there the result names the same bytes.

    `%p = nv_tileaa.permute %t attributes {permutation = array<i64: 1, 0>} : (...) -> ...`
    """

    name = "nv_tileaa.permute"

    source = operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)
    permutation = prop_def(DenseArrayBase.constr(i64))

    traits = traits_def(ReadsViews(), ViewInMemory())

    def verify_contract(self) -> None:
        verify_same_elements(self.source.type, self.result.type)
        source, result = extents(self.source.type), extents(self.result.type)
        axes = self.permutation.get_values()
        if sorted(axes) != list(range(len(source))):
            raise VerifyException(f"expects a permutation of {len(source)} axes, but got {list(axes)}")
        permuted = tuple(source[axis] for axis in axes)
        if permuted != result:
            raise VerifyException(f"expects a result of shape {spelled(permuted)}, but got {spelled(result)}")


@irdl_op_definition
class CatOp(TileOp):
    """
    Put tiles behind one another along an axis.

    `%c = nv_tileaa.cat %a, %b attributes {axis = 0 : i32} : (tensor<4x8xf32>, tensor<4x8xf32>)
    -> tensor<8x8xf32>`
    """

    name = "nv_tileaa.cat"

    sources = var_operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)
    axis = prop_def(IntegerAttr.constr(i32))

    traits = traits_def(ReadsViews())

    def verify_contract(self) -> None:
        result = extents(self.result.type)
        axis = self.axis.value.data
        if not 0 <= axis < len(result):
            raise VerifyException(f"expects an axis of the result, but got {axis}")
        if not self.sources:
            raise VerifyException("expects at least one tile")
        total = 0
        for source in self.sources:
            verify_same_elements(source.type, self.result.type)
            shape = extents(source.type)
            if len(shape) != len(result) or _without(shape, axis) != _without(result, axis):
                raise VerifyException(
                    f"expects tiles that differ along axis {axis} only, but got {spelled(shape)} in {spelled(result)}"
                )
            total += shape[axis]
        if total != result[axis]:
            raise VerifyException(f"expects extents along axis {axis} to add up to {result[axis]}, but got {total}")


def _without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


@irdl_op_definition
class ExtractOp(CanonicalizedOp):
    """
    Take the sub-tile at an index: each index removes a leading axis.

    `%e = nv_tileaa.extract %t[%i] : (tensor<4x8xf32>, index) -> tensor<8xf32>`
    `%x = nv_tileaa.extract %t[%i, %j] : (tensor<4x8xf32>, index, index) -> f32`
    """

    name = "nv_tileaa.extract"

    SUBSCRIPTS: ClassVar[str | None] = "indices"

    source = operand_def(AnyTensorTypeConstr)
    indices = var_operand_def(IndexType)
    result = result_def()

    traits = traits_def(ReadsViews())

    def verify_contract(self) -> None:
        verify_same_elements(self.source.type, self.result.type)
        shape, count = extents(self.source.type), len(self.indices)
        if not 1 <= count <= len(shape):
            raise VerifyException(f"expects 1 to {len(shape)} indices, but got {count}")
        result = extents(self.result.type)
        if shape[count:] != result:
            raise VerifyException(f"expects a result of shape {spelled(shape[count:])}, but got {spelled(result)}")


@irdl_op_definition
class ExtractSliceOp(TileOp):
    """
    Take a block of a tile, of the same rank.

    `%s = nv_tileaa.extract_slice %t[%i, %j] : (tensor<4x8xf32>, index, index) -> tensor<2x8xf32>`
    `%s = nv_tileaa.extract_slice %t attributes {static_offsets = array<i64: 2, 0>} : ...`

    Offsets, sizes and strides are each either `index` operands or a static array. Without sizes the
    result says them; without strides they are 1.
    """

    name = "nv_tileaa.extract_slice"

    SUBSCRIPTS: ClassVar[str | None] = "offsets"

    source = operand_def(AnyTensorTypeConstr)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    result = result_def(AnyTensorTypeConstr)
    static_offsets = opt_prop_def(DenseArrayBase.constr(i64))
    static_sizes = opt_prop_def(DenseArrayBase.constr(i64))
    static_strides = opt_prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure(), ViewOfOperand())

    def verify_contract(self) -> None:
        verify_same_elements(self.source.type, self.result.type)
        source, result = extents(self.source.type), extents(self.result.type)
        if len(source) != len(result):
            raise VerifyException(f"expects source and result of one rank, but got {len(source)} and {len(result)}")
        rank = len(source)
        offsets = _static(self.static_offsets)
        sizes = _static(self.static_sizes)
        strides = _static(self.static_strides)
        _verify_given("offsets", len(self.offsets), offsets, rank, required=True)
        _verify_given("sizes", len(self.sizes), sizes, rank)
        _verify_given("strides", len(self.strides), strides, rank)
        if sizes is not None and tuple(sizes) != result:
            raise VerifyException(f"expects a result of shape {spelled(sizes)}, but got {spelled(result)}")
        steps = strides if strides is not None else [1] * rank
        if offsets is None or self.strides:
            return
        for axis in range(rank):
            last = offsets[axis] + (result[axis] - 1) * steps[axis]
            if not 0 <= offsets[axis] < source[axis] or not 0 <= last < source[axis]:
                raise VerifyException(
                    f"expects the slice to lie inside the source, but along axis {axis} it spans "
                    f"{offsets[axis]} to {last} of {source[axis]}"
                )


def _static(entries: DenseArrayBase[IntegerType] | None) -> list[int] | None:
    return None if entries is None else [int(entry) for entry in entries.get_values()]


def _verify_given(what: str, operands: int, static: list[int] | None, rank: int, *, required: bool = False) -> None:
    """Operands or a static array, not both, one entry for each axis."""
    if operands and static is not None:
        raise VerifyException(f"expects {what} as operands or static, but got both")
    given = operands if static is None else len(static)
    if given != rank and (required or given):
        raise VerifyException(f"expects {rank} {what}, but got {given}")


@irdl_op_definition
class GenerateOp(TileOp):
    """
    Make a tile by computing each element from its coordinates.

    `%t = nv_tileaa.generate { ^bb0(%i: tensor<i32>, %j: tensor<i32>): ... nv_tileaa.yield %x ... }
    : () -> tensor<4x8xi32>`
    """

    name = "nv_tileaa.generate"

    result = result_def(AnyTensorTypeConstr)
    body = region_def()

    traits = traits_def(NoTerminator(), ReadsViews())

    def verify_contract(self) -> None:
        block = self.body.first_block
        if block is None:
            raise VerifyException("expects a body")
        result: TensorType[Attribute] = self.result.type
        self._verify_arguments(block, len(result.get_shape()))
        yielded = verify_yield(self.body)
        if len(yielded) != 1:
            raise VerifyException("expects exactly 1 yielded value from the region")
        if not is_element(yielded[0], result.element_type):
            raise VerifyException(f"expects the region to yield {result.element_type}, but got {yielded[0]}")

    def _verify_arguments(self, block: Block, rank: int) -> None:
        if len(block.args) != rank:
            raise VerifyException(f"expects {rank} arguments in the body, but got {len(block.args)}")
        if not all(is_element(argument.type, i32) for argument in block.args):
            raise VerifyException("expects all arg types to be 0-rank tile of i32")
