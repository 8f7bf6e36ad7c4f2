"""
Matrix products, tiling, reductions and convolution.

    %d = nv_tileaa.dot %a, %b, %c : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %v = nv_tileaa.block_tile %m attributes {tileSizes = array<i64: 128, 64>,
           dimGroups = [array<i64: 0>, array<i64: 1>]} : (memref<256x256xf16>) -> !nv_tileaa.tiled_view<128x64xf16>
    %s = nv_tileaa.reduce %t attributes {axis = 1 : i32} {
      ^bb0(%x: f32, %y: f32): ... nv_tileaa.yield %sum : (f32) -> ()
    } : (tensor<4x8xf32>) -> tensor<4xf32>

Arithmetic, `dot` and reductions are pure on values and read memory on views.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AnyTensorTypeConstr,
    ArrayAttr,
    DenseArrayBase,
    Float4E2M1FNType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa.attributes import (
    ActivationLayoutAttr,
    ConvParamsAttr,
    PaddingValueAttr,
    SignednessAttr,
)
from tileas_xdsl.dialects.nv_tileaa.memory import is_array
from tileas_xdsl.dialects.nv_tileaa.regions import CanonicalizedOp, verify_yield
from tileas_xdsl.dialects.nv_tileaa.structure import spelled
from tileas_xdsl.dialects.nv_tileaa.types import TiledViewType, bit_width, element_type_of, is_float, is_integer
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import LeadsToOperand, ReadsViews
from tileas_xdsl.dialects.tiles.types import extents

# Matrix products ----------------------------------------------------------------------------------


@irdl_op_definition
class DotOp(CanonicalizedOp):
    """
    D = A * B + C: A is MxK, B is KxN, C and D are MxN; with a leading batch axis, once for each of its entries.

    `%d = nv_tileaa.dot %a, %b, %c : (tensor<8x4xf16>, tensor<4x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>`

    `sfa(%x) sfb(%y)` are scale factors, both or none. Integer operands say how their bits are read:
    `signedness_a`, `signedness_b`.
    """

    name = "nv_tileaa.dot"

    a = operand_def(AnyTensorTypeConstr)
    b = operand_def(AnyTensorTypeConstr)
    c = operand_def(AnyTensorTypeConstr)
    sfa = opt_operand_def(AnyTensorTypeConstr)
    sfb = opt_operand_def(AnyTensorTypeConstr)
    d = result_def(AnyTensorTypeConstr)
    signedness_a = opt_prop_def(SignednessAttr)
    signedness_b = opt_prop_def(SignednessAttr)
    propagate_nan = opt_prop_def(IntegerAttr.constr(i1))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(ReadsViews())

    def verify_contract(self) -> None:
        self._verify_elements()
        self._verify_shapes()
        if (self.sfa is None) != (self.sfb is None):
            raise VerifyException("expects both SFA and SFB to be present")
        if self.d.type != self.c.type:
            raise VerifyException(f"expects the result to be of the type of #C, {self.c.type}, but got {self.d.type}")

    def _verify_elements(self) -> None:
        elements = [element_type_of(value.type) for value in (self.a, self.b, self.c, self.d)]
        if all(map(is_integer, elements)):
            self._verify_integers()
        elif all(map(is_float, elements)):
            verify_accumulator(element_type_of(self.a.type), element_type_of(self.c.type))
        else:
            raise VerifyException(
                "expected the element types of A, B, C, and D to be either all integers or all floats."
            )

    def _verify_integers(self) -> None:
        width_a, width_b = (bit_width(value.type) for value in (self.a, self.b))
        if width_a != width_b:
            raise VerifyException(f"expects #A and #B have same bit width but got {width_a} vs {width_b}")
        if self.signedness_a is None:
            raise VerifyException("expect signedness attribute for operand A")
        if self.signedness_b is None:
            raise VerifyException("expect signedness attribute for operand B")

    def _verify_shapes(self) -> None:
        a, b, c, d = (extents(value.type) for value in (self.a, self.b, self.c, self.d))
        if len(d) not in (2, 3):
            raise VerifyException(f"expects rank-2 or rank-3 tensor for result, but got ({len(d)})")
        if len(a) != len(d) or len(b) != len(d) or a[:-2] != b[:-2] or a[-1] != b[-2]:
            raise VerifyException("expects the shape of operand #A and #B to be compatible")
        if c != (*a[:-1], b[-1]):
            raise VerifyException("expects the shape of operand #C is compatible with operands #A and #B")


def verify_accumulator(a: Attribute, c: Attribute) -> None:
    """Floats accumulate in f32, FP4 also in f16, and f64 in f64."""
    if isinstance(a, Float4E2M1FNType):
        if not isinstance(c, Float16Type | Float32Type):
            raise VerifyException(f"expects #C element type to be either f32 or f16, but got {c}")
    elif not isinstance(c, Float64Type if isinstance(a, Float64Type) else Float32Type):
        wanted = "f64" if isinstance(a, Float64Type) else "f32"
        raise VerifyException(f"expects #C element type to be {wanted}, but got {c}")


# Tiling -------------------------------------------------------------------------------------------


@irdl_op_definition
class BlockTileOp(TileOp):
    """
    View an array as a grid of tiles of equal size.

    Axis i of a tile walks through the axes `dimGroups[i]` of the array, taken together, `tileSizes[i]` elements
    long. The coordinates of an access to the view count tiles. Elements beyond the array are not read or written.
    """

    name = "nv_tileaa.block_tile"

    source = operand_def()
    result = result_def(TiledViewType)
    tileSizes = opt_prop_def(DenseArrayBase.constr(i64))
    dimGroups = opt_prop_def(ArrayAttr[DenseArrayBase[IntegerType]])

    traits = traits_def(Pure(), LeadsToOperand())

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        """The extents of a tile."""
        return () if self.tileSizes is None else self.tileSizes.get_values()

    @property
    def dim_groups(self) -> tuple[tuple[int, ...], ...]:
        """For each axis of a tile, the axes of the array that it walks through."""
        return dim_groups_of(self.dimGroups)

    def verify_contract(self) -> None:
        verify_tiling(self.tile_sizes, self.dim_groups)
        if not is_array(self.source.type):
            raise VerifyException(f"expects an array to tile, but got {self.source.type}")
        rank = len(extents(self.source.type))
        axes = sorted(axis for group in self.dim_groups for axis in group)
        if axes != list(range(rank)):
            raise VerifyException(f"expects dimGroups to cover the {rank} axes of the array, but got {axes}")
        expected = TiledViewType.of(self.tile_sizes, element_type_of(self.source.type), self.result.type.layout)
        if self.result.type != expected:
            raise VerifyException(f"expects a result of type {expected}, but got {self.result.type}")


def dim_groups_of(groups: ArrayAttr[DenseArrayBase[IntegerType]] | None) -> tuple[tuple[int, ...], ...]:
    """The groups of axes as numbers."""
    return () if groups is None else tuple(group.get_values() for group in groups)


def verify_tiling(tile_sizes: Sequence[int], dim_groups: Sequence[Sequence[int]]) -> None:
    """The checks of `block_tile`. A program with several errors reports the first one that TileAS checks."""
    if not tile_sizes:
        raise VerifyException("expects non-empty tileSizes")
    if not dim_groups:
        raise VerifyException("expects non-empty dimGroups")
    if len(tile_sizes) != len(dim_groups):
        raise VerifyException(
            f"expects rank of tileSizes be equal to rank of dimGroups, but got {len(tile_sizes)} vs {len(dim_groups)}"
        )
    if min(tile_sizes) <= 0:
        raise VerifyException("expects all tile size bigger than zero")
    seen: list[int] = []
    for axis in (axis for group in dim_groups for axis in group):
        if axis in seen:
            raise VerifyException(f"expects dim is being tiled only one time, but got {axis}")
        seen.append(axis)


# Reductions ---------------------------------------------------------------------------------------


class CombiningOp(TileOp, ABC):
    """
    Base of the ops that combine the elements along an axis by a region over two elements, of several tiles together by
    a region over two elements of each: what each tile has so far, then an element of each.
    """

    source = operand_def(AnyTensorTypeConstr)
    others = var_operand_def(AnyTensorTypeConstr)
    result = result_def()
    other_results = var_result_def()
    combiner = region_def()
    axis = prop_def(IntegerAttr.constr(i32))

    traits = traits_def(NoTerminator(), ReadsViews())

    @property
    def sources(self) -> Sequence[SSAValue]:
        """The tiles that are combined together."""
        return (self.source, *self.others)

    def verify_combiner(self) -> tuple[int, ...]:
        """Check axis, tiles and combiner; return the shape of the sources without the axis."""
        shape, axis = extents(self.source.type), self.axis.value.data
        if not 0 <= axis < len(shape):
            raise VerifyException(f"expects an axis below {len(shape)}, but got {axis}")
        for other in self.others:
            if extents(other.type) != shape:
                raise VerifyException(f"expects tiles of shape {spelled(shape)}, but got {other.type}")
        if len(self.results) != len(self.sources):
            raise VerifyException(f"expects {len(self.sources)} results, but got {len(self.results)}")
        block = self.combiner.first_block
        if block is None:
            raise VerifyException("expects a combiner")
        kinds = [element_type_of(source.type) for source in self.sources]
        words = ", ".join(map(str, kinds))
        arguments = list(block.arg_types)
        if arguments != [*kinds, *kinds]:
            raise VerifyException(f"expects a combiner of two {words}, but got ({', '.join(map(str, arguments))})")
        yielded = list(verify_yield(self.combiner))
        if yielded != kinds:
            raise VerifyException(f"expects the combiner to yield {words}, but got ({', '.join(map(str, yielded))})")
        return (*shape[:axis], *shape[axis + 1 :])


@irdl_op_definition
class ReduceOp(CombiningOp):
    """
    Combine all elements along an axis, which disappears.

    `%s = nv_tileaa.reduce %t attributes {axis = 1 : i32} {...} : (tensor<4x8xf32>) -> tensor<4xf32>`

    The combiner is associative and commutative; its first arguments are what has been combined so far.
    """

    name = "nv_tileaa.reduce"

    def verify_contract(self) -> None:
        expected = self.verify_combiner()
        for source, result in zip(self.sources, self.results, strict=True):
            element = element_type_of(source.type)
            if element_type_of(result.type) != element or extents(result.type) != expected:
                raise VerifyException(f"expects a result of {spelled(expected)} {element}, but got {result.type}")


@irdl_op_definition
class ScanOp(CombiningOp):
    """
    Combine the elements up to each one along an axis, itself included unless `inclusive = false`; with `reverse` those
    from the last one back to it.

    `%s = nv_tileaa.scan %t attributes {axis = 0 : i32, inclusive = true} {...} : (T) -> T`
    """

    name = "nv_tileaa.scan"

    inclusive = opt_prop_def(IntegerAttr.constr(i1))
    reverse = opt_prop_def(UnitAttr)

    def verify_contract(self) -> None:
        self.verify_combiner()
        for source, result in zip(self.sources, self.results, strict=True):
            if result.type != source.type:
                raise VerifyException(f"expects a result of type {source.type}, but got {result.type}")


# Convolution --------------------------------------------------------------------------------------


@irdl_op_definition
class ConvTileOp(TileOp):
    """
    View an activation as the tiles that a convolution reads.

    `filterSizes` are the filter's extents, `channelAxis` is the axis of the channels, `conv_params` holds lists with
    one entry a spatial axis (stride, dilation, padding, ...).
    """

    name = "nv_tileaa.conv_tile"

    source = operand_def()
    result = result_def(TiledViewType)
    tileSizes = prop_def(DenseArrayBase.constr(i64))
    dimGroups = prop_def(ArrayAttr[DenseArrayBase[IntegerType]])
    filterSizes = prop_def(DenseArrayBase.constr(i64))
    channelAxis = prop_def(IntegerAttr.constr(i64))
    conv_params = prop_def(ConvParamsAttr)
    activation_layout = opt_prop_def(ActivationLayoutAttr)
    padding_value = opt_prop_def(PaddingValueAttr)

    traits = traits_def(Pure(), LeadsToOperand())

    def verify_contract(self) -> None:
        if not is_array(self.source.type):
            raise VerifyException(f"expects an array to tile, but got {self.source.type}")
        for size in self.filterSizes.get_values():
            if not 1 <= size <= 3:
                raise VerifyException("expects filter size must be in range 1 to 3")
        if len(set(self.conv_params.sizes)) > 1:
            raise VerifyException("expects conv params size matched with each other")
        channel = self.channelAxis.value.data
        group = next((group for group in dim_groups_of(self.dimGroups) if channel in group), None)
        if group is None:
            raise VerifyException("expects channel must be a dimGroup")
        if len(group) > 1:
            raise VerifyException("expects channel dimGroup should contain only channel")


@irdl_op_definition
class ConvDotOp(TileOp):
    """
    The product of a convolution: activation times filter, added to an accumulator.

    `%d = nv_tileaa.conv_dot %x, %f, %c : (tensor<...>, tensor<...>, tensor<...>) -> tensor<...>`
    """

    name = "nv_tileaa.conv_dot"

    activation = operand_def(AnyTensorTypeConstr)
    filter = operand_def(AnyTensorTypeConstr)
    accumulator = operand_def(AnyTensorTypeConstr)
    result = result_def(AnyTensorTypeConstr)
    conv_params = opt_prop_def(ConvParamsAttr)
    activation_layout = opt_prop_def(ActivationLayoutAttr)
    padding_value = opt_prop_def(PaddingValueAttr)

    traits = traits_def(ReadsViews())

    def verify_contract(self) -> None:
        operands = (self.activation, self.filter, self.accumulator)
        integers = [is_integer(element_type_of(value.type)) for value in operands]
        if any(integers) and not all(integers):
            raise VerifyException("expects activation, filter and accumulator to be all integers or all floats")
        if self.result.type != self.accumulator.type:
            raise VerifyException(f"expects a result of type {self.accumulator.type}, but got {self.result.type}")
        if self.conv_params is not None and len(set(self.conv_params.sizes)) > 1:
            raise VerifyException("expects conv params size matched with each other")
