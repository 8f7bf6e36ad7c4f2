"""
Ops that arrange tiles: storage, views, slices, copies and layouts.

    %t = nv_tileas.alloc_tensor : () -> tensor<128x64xf16, #nv_tileas.layout<smem>>
    %s = nv_tileas.view %buffer[%stage] : (tensor<3x8xf16>, index) -> tensor<8xf16>
    nv_tileas.copy %s, %t : (tensor<8xf16>, tensor<8xf16>) -> ()
    %f = nv_tileas.convert_layout %t : (tensor<8xf16, #smem>) -> tensor<8xf16, #rmem>
    %p = nv_tileas.extract_slice %a[%i, %j] : (tensor<8x8xf16>, index, index) -> tensor<4x4xf16>

Views and slices name the bytes of their source; conversion to registers gives a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileas.attributes import AtomPlanAttr
from tileas_xdsl.dialects.nv_tileas.control import YieldOp
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, verify_packed_width, verify_within_warps
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType
from tileas_xdsl.dialects.nv_tileas.verification import (
    I32,
    TENSOR,
    TENSOR_OR_VIEW,
    drops_to,
    expect_count,
    expect_same_bits,
    expect_same_elements,
    is_tile,
    layout_of,
    size_in_bits,
    space_of,
    static_shape,
    type_list,
    types_of,
)
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import (
    AllocatesResults,
    CopiesIntoDestination,
    MemoryConsistency,
    ReadsViews,
    TileStructure,
    ViewOfOperand,
)
from tileas_xdsl.dialects.tiles.types import element_type_of, extents
from tileas_xdsl.interfaces import AllocationOpInterface

LEGAL_COPIES = frozenset(
    {
        ("gmem", "rmem"),
        ("gmem", "smem"),
        ("rmem", "gmem"),
        ("rmem", "rmem"),
        ("rmem", "smem"),
        ("rmem", "tmem"),
        ("smem", "gmem"),
        ("smem", "rmem"),
        ("smem", "smem"),
        ("smem", "tmem"),
        ("tmem", "rmem"),
    }
)
"""
(source, destination) memory spaces that a copy may have. Copies within registers or within shared memory are moves.
"""

THROUGH_REGISTERS = frozenset({("tmem", "smem")})
"""What the threads alone can copy, and wait for: no engine does it behind their backs."""


# Storage and views -------------------------------------------------------------------------------


@irdl_op_definition
class AllocTensorOp(TileOp, AllocationOpInterface):
    """
    Fresh storage for a tile, or for `stages` of them.

    `%t = nv_tileas.alloc_tensor : () -> tensor<128x64xf16, #nv_tileas.layout<smem>>`
    """

    name = "nv_tileas.alloc_tensor"

    tensor = result_def(TENSOR)
    stages = opt_prop_def(I32)

    traits = traits_def(AllocatesResults(), TileStructure())

    def __init__(
        self, type_: Attribute, stages: int | None = None, *, attributes: Mapping[str, Attribute] | None = None
    ) -> None:
        super().__init__(
            result_types=[type_],
            properties={"stages": None if stages is None else IntegerAttr(stages, i32)},
            attributes=dict(attributes or {}),
        )

    @property
    def allocated_values(self) -> Sequence[SSAValue]:
        return self.results

    def verify_contract(self) -> None:
        if self.stages is not None and self.stages.value.data < 1:
            raise VerifyException(f"expects stages to be at least 1, but got {self.stages.value.data}")


@irdl_op_definition
class ViewOp(TileOp):
    """
    View the bytes of the source with another type, or view one slot of a buffer.

    `%s = nv_tileas.view %buffer[%i] : (tensor<3x8xf16>, index) -> tensor<8xf16>`

    Each subscript selects along one leading axis. The size in bits stays; so the element count stays unless the view
    reinterprets the bytes.
    """

    name = "nv_tileas.view"

    SUBSCRIPTS: ClassVar[str | None] = "indices"

    source = operand_def()
    indices = var_operand_def(IndexType | PipelineIteratorType)
    result = result_def(TENSOR_OR_VIEW)

    traits = traits_def(Pure(), ViewOfOperand(), TileStructure())

    def __init__(
        self,
        source: SSAValue,
        indices: Sequence[SSAValue],
        result_type: Attribute,
        *,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(operands=[source, indices], result_types=[result_type], attributes=dict(attributes or {}))

    def verify_contract(self) -> None:
        source, result = self.source.type, self.result.type
        shape, bits, result_bits = static_shape(source), size_in_bits(source), size_in_bits(result)
        if shape is None or bits is None or result_bits is None:
            return
        if len(self.indices) > len(shape):
            raise VerifyException(f"expects at most {len(shape)} subscripts, but got {len(self.indices)}")
        for extent in shape[: len(self.indices)]:
            bits //= max(extent, 1)
        if bits != result_bits:
            raise VerifyException(
                f"expects a result as large as what is viewed ({bits} bits of {source}), but got {result}"
            )


@irdl_op_definition
class ReinterpretOp(TileOp):
    """`%b = nv_tileas.reinterpret %a : (tensor<8xf16>) -> tensor<16xi8>`: the same bytes as other elements."""

    name = "nv_tileas.reinterpret"

    source = operand_def(TENSOR)
    result = result_def(TENSOR)

    traits = traits_def(Pure(), ViewOfOperand())

    def verify_contract(self) -> None:
        expect_same_bits(self.source.type, self.result.type)


@irdl_op_definition
class ExpandDimsOp(TileOp):
    """`%b = nv_tileas.expand_dims %a : (tensor<8x4xf16>) -> tensor<8x1x4xf16>`: inserts axes of extent 1."""

    name = "nv_tileas.expand_dims"

    source = operand_def(TENSOR)
    result = result_def(TENSOR)

    traits = traits_def(Pure(), ViewOfOperand())

    def verify_contract(self) -> None:
        expect_same_elements(self.source.type, self.result.type)
        source, result = extents(self.source.type), extents(self.result.type)
        if len(result) <= len(source) or not drops_to(result, source):
            raise VerifyException(
                f"expects a result with unit axes inserted, but got {self.source.type} and {self.result.type}"
            )


# Copies and layouts ------------------------------------------------------------------------------


@irdl_op_definition
class CopyOp(TileOp):
    """
    Copy a tile into a destination, or into a value.

    `nv_tileas.copy %a, %b : (tensor<8xf16>, tensor<8xf16>) -> ()`
    `%b = nv_tileas.copy %a : (tensor<8xf16>) -> tensor<8xf16>`
    """

    name = "nv_tileas.copy"

    source = operand_def()
    destinations = var_operand_def()
    outputs = var_result_def(TENSOR)
    atom = opt_prop_def()
    atom_descriptor = opt_prop_def()

    traits = traits_def(CopiesIntoDestination(), MemoryConsistency())

    def __init__(
        self,
        source: SSAValue,
        destination: SSAValue | None = None,
        *,
        result_type: Attribute | None = None,
        atom: Attribute | None = None,
        atom_descriptor: Attribute | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[source, [] if destination is None else [destination]],
            result_types=[[] if result_type is None else [result_type]],
            properties={"atom": atom, "atom_descriptor": atom_descriptor},
            attributes=dict(attributes or {}),
        )

    @property
    def destination(self) -> SSAValue | None:
        """The tile that is written, or None when the copy gives a value."""
        return self.destinations[0] if self.destinations else None

    def verify_contract(self) -> None:
        expect_count("destination operand", len(self.destinations), 0, 1)
        if len(self.outputs) + len(self.destinations) != 1:
            raise VerifyException(
                "expects a destination operand and no result, or one result and no destination, "
                f"but got {len(self.destinations)} destinations and {len(self.outputs)} results"
            )
        target = (*self.destinations, *self.outputs)[0].type
        verify_copy(self.source.type, target, LEGAL_COPIES | THROUGH_REGISTERS)


def verify_copy(source: Attribute, target: Attribute, legal: frozenset[tuple[str, str]] = LEGAL_COPIES) -> None:
    """Source and target have equal sizes, and their memory spaces are a legal pair."""
    if is_tile(source) and is_tile(target):
        expect_same_bits(source, target)
    pair = space_of(source), space_of(target)
    if None not in pair and pair not in legal:
        raise VerifyException(f"expects a legal pair of memory spaces, but got a copy from {pair[0]} to {pair[1]}")


@irdl_op_definition
class ConvertLayoutOp(TileOp):
    """
    Convert the tile into another layout; its elements stay.

    `%f = nv_tileas.convert_layout %a : (tensor<8xf16, #smem>) -> tensor<8xf16, #rmem>`

    `atom_plan` says how, once MaterializeConvertLayout has decided: a plan of tag 1 names the shared-memory layout of
    its operand, which lies there; a plan of tag 0 names none, and stays within the registers of a warp. A plan that no
    longer fits the tiles of its op is rejected.
    """

    name = "nv_tileas.convert_layout"

    source = operand_def(TENSOR)
    result = result_def(TENSOR)
    atom_plan = opt_prop_def(AtomPlanAttr)
    reinterpret_byte = opt_prop_def(UnitAttr)

    traits = traits_def(ReadsViews())

    def __init__(
        self,
        source: SSAValue,
        result_type: Attribute,
        *,
        atom_plan: AtomPlanAttr | None = None,
        reinterpret_byte: bool = False,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[source],
            result_types=[result_type],
            properties={"atom_plan": atom_plan, "reinterpret_byte": UnitAttr() if reinterpret_byte else None},
            attributes=dict(attributes or {}),
        )

    def verify_contract(self) -> None:
        expect_same_elements(self.source.type, self.result.type)
        if self.atom_plan is None:
            return
        wanted, result = self.atom_plan.atom_layout, layout_of(self.result.type)
        if isinstance(wanted, LayoutAttr) and result is not None and wanted != result:
            raise VerifyException(f"expects an atom plan for the result's layout {result}, but got one for {wanted}")
        if self.atom_plan.tag.data == 0:
            self._verify_between_registers(self.atom_plan)
        else:
            self._verify_from_shared_memory(self.atom_plan)

    def _verify_between_registers(self, plan: AtomPlanAttr) -> None:
        if plan.smem_layout is not None:
            raise VerifyException(f"expects no smem layout in an atom plan of tag 0, but got {plan.smem_layout}")
        for type_ in (self.source.type, self.result.type):
            if space_of(type_) not in (None, "rmem"):
                raise VerifyException(f"expects an atom plan of tag 0 to lead between registers, but got {type_}")
        verify_within_warps(self.source.type, self.result.type)
        verify_packed_width(self.result.type, plan.atom_descriptor)

    def _verify_from_shared_memory(self, plan: AtomPlanAttr) -> None:
        smem = plan.smem_layout
        if smem is None or smem != layout_of(self.source.type):
            raise VerifyException(
                "expects an atom plan of tag 1 to name the operand's layout as smem, "
                f"but got {smem if smem is not None else 'none'}"
            )
        for type_, space in ((self.source.type, "smem"), (self.result.type, "rmem")):
            if space_of(type_) not in (None, space):
                raise VerifyException(
                    f"expects an atom plan of tag 1 to lead from shared memory to registers, but got {type_}"
                )


@irdl_op_definition
class ShuffleOp(TileOp):
    """
    Exchange elements between lanes, by a permutation or by an atom.

    `%b = nv_tileas.shuffle %a, %permutation : (tensor<8xf16>, tensor<8xi32>) -> tensor<8xf16>`
    """

    name = "nv_tileas.shuffle"

    source = operand_def(TENSOR)
    permutations = var_operand_def(TENSOR)
    result = result_def(TENSOR)
    atom_descriptor = opt_prop_def()

    traits = traits_def(ReadsViews())

    def __init__(
        self,
        source: SSAValue,
        permutation: SSAValue | None = None,
        *,
        result_type: Attribute | None = None,
        atom_descriptor: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[source, [] if permutation is None else [permutation]],
            result_types=[source.type if result_type is None else result_type],
            properties={"atom_descriptor": atom_descriptor},
        )

    def verify_contract(self) -> None:
        expect_count("permutation operand", len(self.permutations), 0, 1)
        expect_same_elements(self.source.type, self.result.type)
        for permutation in self.permutations:
            if not isinstance(element_type_of(permutation.type), IntegerType | IndexType):
                raise VerifyException(f"expects a permutation of integers, but got {permutation.type}")


# Generation --------------------------------------------------------------------------------------


@irdl_op_definition
class GenerateOp(TileOp):
    """
    A tile whose elements the body computes from their coordinates.

    `%t = nv_tileas.generate { ^bb0(%i : tensor<i32>): ... nv_tileas.yield %x : (f32) -> () } : () -> tensor<8xf32>`

    One argument, an i32 tile of rank 0, for each axis; one yielded element, bare or as a tile of rank 0.
    """

    name = "nv_tileas.generate"

    result = result_def(TENSOR)
    body = region_def()

    traits = traits_def(ReadsViews(), NoTerminator())

    def verify_contract(self) -> None:
        block = self.body.first_block
        if block is None or not isinstance(yield_op := block.last_op, YieldOp):
            raise VerifyException("expects a body that ends in 'nv_tileas.yield'")
        rank, coordinate = len(extents(self.result.type)), TensorType(i32, [])
        if types_of(block.args) != (coordinate,) * rank:
            raise VerifyException(
                f"expects {rank} arguments of type {coordinate}, but got {type_list(types_of(block.args))}"
            )
        element = element_type_of(self.result.type)
        yielded = types_of(yield_op.operands)
        bare = tuple(element_type_of(type_) if extents(type_) == () else type_ for type_ in yielded)
        if yielded != (element,) and bare != (element,):
            raise VerifyException(f"expects one yielded element of type {element}, but got {type_list(yielded)}")


STRUCTURE_OPS = (
    AllocTensorOp,
    ViewOp,
    ReinterpretOp,
    ExpandDimsOp,
    CopyOp,
    ConvertLayoutOp,
    ShuffleOp,
    GenerateOp,
)
