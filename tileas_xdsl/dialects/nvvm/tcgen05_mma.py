"""
Products of the tensor core with its own memory (`tcgen05.mma`, sm_100a): D = A * B + D with D in tensor memory.

One thread starts a product for the whole CTA; B lies in shared memory, A there or in tensor memory, and `%shape` (the
instruction descriptor) says how many rows and columns D has. The products of a thread on one D are made in order.

    nvvm.tcgen05.mma %d, %a, %b, %shape, %adds {ctaGroup = #nvvm.cta_group<cta_1>,
                                                kind = #nvvm.tcgen05_mma_kind<f16>} : (..)

Variants: `.sp` with a sparse A, whose metadata lie in tensor memory, `.block_scale` with factors for blocks of
elements, `.ws` with B kept in the tensor core. (PTX ISA, "tcgen05.mma".)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import UnitAttr, VectorType, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    OptionalOperandVariable,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nvvm.attributes import CTAGroup, CTAGroupAttr
from tileas_xdsl.dialects.nvvm.matrix_attributes import (
    BlockScaleKind,
    BlockScaleKindAttr,
    Tcgen05BlockScale,
    Tcgen05BlockScaleAttr,
    Tcgen05CollectorB,
    Tcgen05CollectorBAttr,
    Tcgen05CollectorOp,
    Tcgen05CollectorOpAttr,
    Tcgen05MMAKind,
    Tcgen05MMAKindAttr,
)
from tileas_xdsl.dialects.upstream import (
    I1,
    I32,
    I64,
    Bare,
    ClassProperty,
    EffectfulOp,
    TypeConstraint,
    Value,
    any_type_of,
    pointer,
)

IN_TENSOR_MEMORY = pointer(6)


@irdl_custom_directive
class GivenTypes(CustomDirective):
    """`custom<GivenTypes>(type($a), type($b))`: `, T` for each of two optional operands that is there."""

    first: TypeDirective
    second: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        for written in (self.first, self.second):
            assert isinstance(written.inner, OptionalOperandVariable)
            if not state.operands[written.inner.index]:
                written.set(state, ())
                continue
            parser.parse_punctuation(",")
            written.set(state, (parser.parse_type(),))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        for type_ in (*self.first.get(op), *self.second.get(op)):
            printer.print_string(", ")
            printer.print_attribute(type_)


A_MATRIX = any_type_of(IN_TENSOR_MEMORY, I64)
DISCARD = Tcgen05CollectorOpAttr(Tcgen05CollectorOp.DISCARD)

Operands = tuple[Value, Value, Value, Value, Value]
"""D, A, B, the instruction descriptor, and whether D is added to."""


def _is_lane_mask(type_: Attribute) -> bool:
    if not isinstance(type_, VectorType):
        return False
    vector = cast("VectorType[Any]", type_)
    return vector.element_type == i32 and vector.get_shape() in ((4,), (8,))


LANE_MASK = TypeConstraint("fixed-length vector of 32-bit signless integer values of length 4/8", _is_lane_mask)


class ProductOp(EffectfulOp):
    """Base of all products."""

    IS_SPARSE: ClassVar = False
    """Whether A holds 2 of each 4 elements along K, so that B has twice as many rows."""

    collector_op = prop_def(ClassProperty(Tcgen05CollectorOpAttr), prop_name="collectorOp", default_value=DISCARD)

    @property
    def reads(self) -> Sequence[int]:
        """The numbers of the operands beside A that lie in tensor memory: metadata and scale factors."""
        return range(5, len(self.operands))


# Plain ----------------------------------------------------------------------------------------------------------------


class PlainProductOp(ProductOp):
    """Base of the products of one kind of elements, by one CTA or a pair, with some lanes of D left out."""

    kind = prop_def(ClassProperty(Tcgen05MMAKindAttr))
    cta_group = prop_def(ClassProperty(CTAGroupAttr), prop_name="ctaGroup")
    a_shift = opt_prop_def(ClassProperty(UnitAttr), prop_name="aShift")

    def _verify_plain(self, mask: Attribute | None) -> None:
        lanes = {CTAGroup.CTA_1: 4, CTAGroup.CTA_2: 8}[self.cta_group.data]
        if isinstance(mask, VectorType) and (length := mask.get_shape()[0]) != lanes:
            raise VerifyException(f"Disable Output Lane of length {length} is incompatible with CtaGroupAttr")
        if self.a_shift is None:
            return
        if not IN_TENSOR_MEMORY.accepts(self.operands[1].type):
            raise VerifyException("A-shift can be applied only when matrix A is in tensor memory")
        if self.collector_op.data in (Tcgen05CollectorOp.FILL, Tcgen05CollectorOp.USE):
            raise VerifyException("Cannot use collector buffer operation fill or use with ashift")


def _plain_properties(
    kind: Tcgen05MMAKind, group: CTAGroup, collector: Tcgen05CollectorOp, a_shift: bool
) -> dict[str, Attribute | None]:
    return {
        "kind": Tcgen05MMAKindAttr(kind),
        "ctaGroup": CTAGroupAttr(group),
        "collectorOp": Tcgen05CollectorOpAttr(collector),
        "aShift": UnitAttr() if a_shift else None,
    }


@irdl_op_definition
class Tcgen05MMAOp(PlainProductOp):
    """
    Start D = A * B + D, or D = A * B where `%adds` is false.

    `nvvm.tcgen05.mma %d, %a, %b, %shape, %adds {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>}
    : (!llvm.ptr<6>, i64, i64, i32, i1)`

    `scale = %s` scales D by a power of 2 (a constant), `mask = %m` leaves lanes of D out.
    """

    name = "nvvm.tcgen05.mma"

    matrix_d = operand_def(IN_TENSOR_MEMORY)
    matrix_a = operand_def(A_MATRIX)
    matrix_b = operand_def(I64)
    idesc = operand_def(I32)
    enable_input_d = operand_def(I1)
    scale_input_d = opt_operand_def(I64)
    disable_output_lane = opt_operand_def(LANE_MASK)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (GivenTypes, Bare)

    assembly_format = (
        "$matrix_d `,` $matrix_a `,` $matrix_b `,` $idesc `,` $enable_input_d (`scale` `=` $scale_input_d^)?"
        " (`mask` `=` $disable_output_lane^)? attr-dict `:` `(` type($matrix_d) `,` type($matrix_a) `,`"
        " type($matrix_b) `,` type($idesc) `,` type($enable_input_d)"
        " custom<GivenTypes>(type($scale_input_d), type($disable_output_lane)) `)`"
    )

    def __init__(
        self,
        operands: Operands,
        kind: Tcgen05MMAKind,
        *,
        scale: Value | None = None,
        mask: Value | None = None,
        group: CTAGroup = CTAGroup.CTA_1,
        collector: Tcgen05CollectorOp = Tcgen05CollectorOp.DISCARD,
        a_shift: bool = False,
    ) -> None:
        super().__init__(
            operands=[*operands, scale, mask], properties=_plain_properties(kind, group, collector, a_shift)
        )

    @property
    def reads(self) -> Sequence[int]:
        return ()

    def verify_(self) -> None:
        self._verify_plain(None if self.disable_output_lane is None else self.disable_output_lane.type)


@irdl_op_definition
class Tcgen05MMASparseOp(PlainProductOp):
    """
    The same with a sparse A: of each 4 elements along K it holds 2, and `%metadata`, in tensor memory, says which.

    `nvvm.tcgen05.mma.sp %d, %a, %b, %shape, %adds, %metadata {ctaGroup = #nvvm.cta_group<cta_1>,
    kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>)`
    """

    name = "nvvm.tcgen05.mma.sp"
    IS_SPARSE: ClassVar = True

    matrix_d = operand_def(IN_TENSOR_MEMORY)
    matrix_a = operand_def(A_MATRIX)
    matrix_b = operand_def(I64)
    idesc = operand_def(I32)
    enable_input_d = operand_def(I1)
    sparse_metadata = operand_def(IN_TENSOR_MEMORY)
    scale_input_d = opt_operand_def(I64)
    disable_output_lane = opt_operand_def(LANE_MASK)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (GivenTypes, Bare)

    assembly_format = (
        "$matrix_d `,` $matrix_a `,` $matrix_b `,` $idesc `,` $enable_input_d `,` $sparse_metadata"
        " (`scale` `=` $scale_input_d^)? (`mask` `=` $disable_output_lane^)? attr-dict `:` `(` type($matrix_d) `,`"
        " type($matrix_a) `,` type($matrix_b) `,` type($idesc) `,` type($enable_input_d) `,` type($sparse_metadata)"
        " custom<GivenTypes>(type($scale_input_d), type($disable_output_lane)) `)`"
    )

    @property
    def reads(self) -> Sequence[int]:
        return (5,)

    def verify_(self) -> None:
        self._verify_plain(None if self.disable_output_lane is None else self.disable_output_lane.type)


# With scale factors ---------------------------------------------------------------------------------------------------


class ScaledProductOp(ProductOp):
    """Base of the products whose inputs have scale factors, in tensor memory."""

    kind = prop_def(ClassProperty(BlockScaleKindAttr))
    cta_group = prop_def(ClassProperty(CTAGroupAttr), prop_name="ctaGroup")
    block_scale = prop_def(
        ClassProperty(Tcgen05BlockScaleAttr),
        prop_name="blockScale",
        default_value=Tcgen05BlockScaleAttr(Tcgen05BlockScale.DEFAULT),
    )

    def verify_(self) -> None:
        kind, scale = self.kind.data, self.block_scale.data
        if kind is BlockScaleKind.MXF4NVF4 and scale is Tcgen05BlockScale.DEFAULT:
            raise VerifyException("mxf4nvf4 requires block scale attribute")
        if kind is not BlockScaleKind.MXF4NVF4 and scale is Tcgen05BlockScale.BLOCK16:
            raise VerifyException(f"{kind} kind does not support block16 attribute")


@irdl_op_definition
class Tcgen05MMABlockScaleOp(ScaledProductOp):
    """
    Start D = (A * factors) * (B * factors) + D; the factors lie in tensor memory.

    `nvvm.tcgen05.mma.block_scale %d, %a, %b, %shape, %adds, %fa, %fb {ctaGroup = #nvvm.cta_group<cta_1>,
    kind = #nvvm.block_scale_kind<mxf8f6f4>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)`
    """

    name = "nvvm.tcgen05.mma.block_scale"

    matrix_d = operand_def(IN_TENSOR_MEMORY)
    matrix_a = operand_def(A_MATRIX)
    matrix_b = operand_def(I64)
    idesc = operand_def(I32)
    enable_input_d = operand_def(I1)
    scale_a = operand_def(IN_TENSOR_MEMORY)
    scale_b = operand_def(IN_TENSOR_MEMORY)

    assembly_format = (
        "$matrix_d `,` $matrix_a `,` $matrix_b `,` $idesc `,` $enable_input_d `,` $scale_a `,` $scale_b"
        " attr-dict `:` `(` type(operands) `)`"
    )

    def __init__(
        self,
        operands: Operands,
        scales: tuple[Value, Value],
        kind: BlockScaleKind,
        block_scale: Tcgen05BlockScale = Tcgen05BlockScale.DEFAULT,
        *,
        group: CTAGroup = CTAGroup.CTA_1,
    ) -> None:
        super().__init__(
            operands=[*operands, *scales],
            properties={
                "kind": BlockScaleKindAttr(kind),
                "ctaGroup": CTAGroupAttr(group),
                "blockScale": Tcgen05BlockScaleAttr(block_scale),
                "collectorOp": DISCARD,
            },
        )


@irdl_op_definition
class Tcgen05MMASparseBlockScaleOp(ScaledProductOp):
    """
    The same with a sparse A.

    `nvvm.tcgen05.mma.sp.block_scale %d, %a, %b, %shape, %adds, %metadata, %fa, %fb
    {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf4>}
    : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>, !llvm.ptr<6>)`
    """

    name = "nvvm.tcgen05.mma.sp.block_scale"
    IS_SPARSE: ClassVar = True

    matrix_d = operand_def(IN_TENSOR_MEMORY)
    matrix_a = operand_def(A_MATRIX)
    matrix_b = operand_def(I64)
    idesc = operand_def(I32)
    enable_input_d = operand_def(I1)
    sparse_metadata = operand_def(IN_TENSOR_MEMORY)
    scale_a = operand_def(IN_TENSOR_MEMORY)
    scale_b = operand_def(IN_TENSOR_MEMORY)

    assembly_format = (
        "$matrix_d `,` $matrix_a `,` $matrix_b `,` $idesc `,` $enable_input_d `,` $sparse_metadata `,`"
        " $scale_a `,` $scale_b attr-dict `:` `(` type(operands) `)`"
    )


# With B kept in the tensor core ---------------------------------------------------------------------------------------


class WeightStationaryOp(ProductOp):
    """Base of the products that keep B in a buffer."""

    kind = prop_def(ClassProperty(Tcgen05MMAKindAttr))
    collector_b_buffer = prop_def(
        ClassProperty(Tcgen05CollectorBAttr),
        prop_name="collectorBBuffer",
        default_value=Tcgen05CollectorBAttr(Tcgen05CollectorB.B0),
    )


@irdl_op_definition
class Tcgen05MMAWsOp(WeightStationaryOp):
    """
    Start D = A * B + D with 32, 64 or 128 rows; a last operand says which columns of B are taken for zero.

    `nvvm.tcgen05.mma.ws %d, %a, %b, %shape, %adds {kind = #nvvm.tcgen05_mma_kind<f16>}
    : (!llvm.ptr<6>, i64, i64, i32, i1)`
    """

    name = "nvvm.tcgen05.mma.ws"

    matrix_d = operand_def(IN_TENSOR_MEMORY)
    matrix_a = operand_def(A_MATRIX)
    matrix_b = operand_def(I64)
    idesc = operand_def(I32)
    enable_input_d = operand_def(I1)
    zero_col_mask = opt_operand_def(I64)

    assembly_format = (
        "$matrix_d `,` $matrix_a `,` $matrix_b `,` $idesc `,` $enable_input_d (`,` $zero_col_mask^)?"
        " attr-dict `:` `(` type(operands) `)`"
    )

    @property
    def reads(self) -> Sequence[int]:
        return ()


@irdl_op_definition
class Tcgen05MMAWsSparseOp(WeightStationaryOp):
    """
    The same with a sparse A.

    `nvvm.tcgen05.mma.ws.sp %d, %a, %b, %shape, %adds, %metadata {kind = #nvvm.tcgen05_mma_kind<f16>}
    : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>)`
    """

    name = "nvvm.tcgen05.mma.ws.sp"
    IS_SPARSE: ClassVar = True

    matrix_d = operand_def(IN_TENSOR_MEMORY)
    matrix_a = operand_def(A_MATRIX)
    matrix_b = operand_def(I64)
    idesc = operand_def(I32)
    enable_input_d = operand_def(I1)
    sparse_metadata = operand_def(IN_TENSOR_MEMORY)
    zero_col_mask = opt_operand_def(I64)

    assembly_format = (
        "$matrix_d `,` $matrix_a `,` $matrix_b `,` $idesc `,` $enable_input_d `,` $sparse_metadata"
        " (`,` $zero_col_mask^)? attr-dict `:` `(` type(operands) `)`"
    )

    @property
    def reads(self) -> Sequence[int]:
        return (5,)


TCGEN05_MMA_OPS: tuple[type[Operation], ...] = (
    Tcgen05MMAOp,
    Tcgen05MMASparseOp,
    Tcgen05MMABlockScaleOp,
    Tcgen05MMASparseBlockScaleOp,
    Tcgen05MMAWsOp,
    Tcgen05MMAWsSparseOp,
)
