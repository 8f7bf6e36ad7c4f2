"""
Matrices of a warp: `ldmatrix` and `stmatrix`, which move them between shared memory and registers, and `mma.sync`,
which multiplies at once.

    %w = nvvm.ldmatrix %row {.., num = 4 : i32, ..} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3]  B[%b0, %b1]  C[%c0, %c1, %c2, %c3]  {..} : (..) -> !llvm.struct<..>

All lanes of the warp execute them together. Which element a lane holds is said by the fragments of the PTX ISA ("Matrix
Fragments for mma.m16n8k16", "ldmatrix"). Of `mma.sync` the shapes with M = 16 are here and m8n8k4 of f64, of the
matrices that are moved those of 8 x 8 elements of 16 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntAttr, IntegerAttr, VectorType, f16, f32, f64, i32
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nvvm.matrix_attributes import (
    LdStMatrixElement,
    LdStMatrixElementAttr,
    LdStMatrixShapeAttr,
    MMAIntOverflow,
    MMAIntOverflowAttr,
    MMALayout,
    MMALayoutAttr,
    MMAShapeAttr,
    MMAType,
    MMATypeAttr,
)
from tileas_xdsl.dialects.upstream import (
    ANY_STRUCT,
    I32,
    ClassProperty,
    EffectfulOp,
    Value,
    any_type_of,
    integer,
    pointer,
)

HALVES = VectorType(f16, [2])
"""Two numbers in a register."""

# Moving ---------------------------------------------------------------------------------------------------------------


def _wrong_matrix(shape: LdStMatrixShapeAttr, element: LdStMatrixElement, count: int) -> str | None:
    if (shape.m.data, shape.n.data) != (8, 8):
        return f"moves matrices of {shape.m.data} x {shape.n.data}; those of 8 x 8 are known here"
    if element is not LdStMatrixElement.B16:
        return "expected element type to be b16 for 8x8 matrix"
    return None if count in (1, 2, 4) else "expected num attribute to be 1, 2 or 4 for 8x8 matrix"


def registers_type(count: int, register: Attribute = i32) -> Attribute:
    """The type of so many registers: one alone, or a struct of them."""
    return register if count == 1 else LLVMStructType.from_type_list([register] * count)


@irdl_op_definition
class LdMatrixOp(EffectfulOp):
    """
    Load 1, 2 or 4 matrices of 8 rows of 16 bytes: lane i gives the address of row i % 8 of matrix i / 8.

    `%w = nvvm.ldmatrix %row {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 1 : i32,
    shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32`

    Each lane gets two neighbouring elements of a row of each matrix; with the layout `col`, of a column.
    """

    name = "nvvm.ldmatrix"

    ptr = operand_def(pointer(3))
    num = prop_def(integer(i32))
    layout = prop_def(ClassProperty(MMALayoutAttr))
    shape = prop_def(ClassProperty(LdStMatrixShapeAttr))
    elt_type = prop_def(ClassProperty(LdStMatrixElementAttr), prop_name="eltType")
    res = result_def(any_type_of(I32, ANY_STRUCT))

    assembly_format = "$ptr attr-dict `:` functional-type(operands, results)"

    def __init__(self, ptr: Value, num: int, *, transposed: bool = False) -> None:
        super().__init__(
            operands=[ptr],
            result_types=[registers_type(num)],
            properties={
                "num": IntegerAttr(num, i32),
                "layout": MMALayoutAttr(MMALayout.COL if transposed else MMALayout.ROW),
                "shape": LdStMatrixShapeAttr(IntAttr(8), IntAttr(8)),
                "eltType": LdStMatrixElementAttr(LdStMatrixElement.B16),
            },
        )

    def verify_(self) -> None:
        count = self.num.value.data
        problem = _wrong_matrix(self.shape, self.elt_type.data, count)
        if problem is None and self.res.type != registers_type(count):
            wanted = "i32" if count == 1 else f"a structure of {count} elements of type i32"
            problem = f"expected destination type is {wanted}"
        if problem is not None:
            raise VerifyException(f"'{self.name}' op {problem}")


@irdl_op_definition
class StMatrixOp(EffectfulOp):
    """
    Store 1, 2 or 4 matrices, a register of each lane for each: the converse of `nvvm.ldmatrix` (sm_90).

    `nvvm.stmatrix %row, %w {eltType = .., layout = .., shape = ..} : !llvm.ptr<3>, i32`
    """

    name = "nvvm.stmatrix"

    ptr = operand_def(pointer(3))
    sources = var_operand_def(I32)
    layout = prop_def(ClassProperty(MMALayoutAttr))
    shape = prop_def(ClassProperty(LdStMatrixShapeAttr))
    elt_type = prop_def(ClassProperty(LdStMatrixElementAttr), prop_name="eltType")

    assembly_format = "$ptr `,` $sources attr-dict `:` type(operands)"

    def __init__(self, ptr: Value, sources: Sequence[SSAValue], *, transposed: bool = False) -> None:
        super().__init__(
            operands=[ptr, sources],
            properties={
                "layout": MMALayoutAttr(MMALayout.COL if transposed else MMALayout.ROW),
                "shape": LdStMatrixShapeAttr(IntAttr(8), IntAttr(8)),
                "eltType": LdStMatrixElementAttr(LdStMatrixElement.B16),
            },
        )

    def verify_(self) -> None:
        count = len(self.sources)
        problem = _wrong_matrix(self.shape, self.elt_type.data, 1)
        if problem is None and count not in (1, 2, 4):
            problem = "expected num attribute to be 1, 2 or 4"
        if problem is not None:
            raise VerifyException(f"'{self.name}' op {problem}")


# Multiplying ----------------------------------------------------------------------------------------------------------

DEPTHS: dict[MMAType, int] = {
    MMAType.TF32: 4,
    MMAType.BF16: 8,
    MMAType.F16: 8,
    MMAType.S8: 16,
    MMAType.U8: 16,
    MMAType.S4: 32,
    MMAType.U4: 32,
    MMAType.B1: 128,
}
"""Element type -> columns of A in 16 bytes; K is that or twice that (PTX ISA, mma)."""
INTEGERS = (MMAType.S8, MMAType.U8, MMAType.S4, MMAType.U4, MMAType.B1)
F64_EXTENTS = (8, 8, 4)
"""M, N and K of the products of f64; M of all others is 16, and N 8."""
FLOAT_SUMS: list[list[Attribute]] = [[HALVES] * 2, [f32] * 4]
SUMS: dict[MMAType, list[list[Attribute]]] = {
    **{kind: [[i32] * 4] for kind in INTEGERS},
    MMAType.F64: [[f64] * 2],
}
"""Element type -> the registers that C may have, where they are not those of floats."""
PARTS = ("A", "B", "C")


def _factors(kind: MMAType, k: int) -> tuple[list[list[Attribute]], list[list[Attribute]]]:
    """The registers that A and B may have."""
    if kind is MMAType.F64:
        return [[f64]], [[f64]]
    register, depth = HALVES if kind is MMAType.F16 else i32, k // DEPTHS[kind]
    return [[register] * (2 * depth)], [[register] * depth]


def inferred_type(register: Attribute, *, is_accumulator: bool) -> MMAType | None:
    """The element type that a register type says by itself; None where an attribute has to."""
    if register in (f16, HALVES):
        return MMAType.F16
    if register == f64:
        return MMAType.F64
    if register == f32 and is_accumulator:
        return MMAType.F32
    return MMAType.S32 if register == i32 and is_accumulator else None


@irdl_op_definition
class MmaSyncOp(EffectfulOp):
    """
    D = A * B + C by a warp: A is 16 x K (of f64 8 x 4), B is K x 8, each lane holds its fragments.

    `%d = nvvm.mma.sync A[%a0, %a1, %a2, %a3]  B[%b0, %b1]  C[%c0, %c1, %c2, %c3]  {layoutA = #nvvm.mma_layout<row>,
    layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32)
    -> !llvm.struct<(f32, f32, f32, f32)>`

    Where the registers do not say the element type, `multiplicandAPtxType` and `multiplicandBPtxType` do.
    """

    name = "nvvm.mma.sync"

    a = var_operand_def()
    b = var_operand_def()
    c = var_operand_def()
    shape = prop_def(ClassProperty(MMAShapeAttr))
    layout_a = prop_def(ClassProperty(MMALayoutAttr), prop_name="layoutA")
    layout_b = prop_def(ClassProperty(MMALayoutAttr), prop_name="layoutB")
    type_a = prop_def(ClassProperty(MMATypeAttr), prop_name="multiplicandAPtxType")
    type_b = prop_def(ClassProperty(MMATypeAttr), prop_name="multiplicandBPtxType")
    overflow = opt_prop_def(ClassProperty(MMAIntOverflowAttr), prop_name="intOverflowBehavior")
    res = result_def()

    irdl_options = (ParsePropInAttrDict(), AttrSizedOperandSegments(as_property=True))

    def __init__(
        self,
        a: Sequence[SSAValue],
        b: Sequence[SSAValue],
        c: Sequence[SSAValue],
        shape: tuple[int, int, int],
        types: tuple[MMAType, MMAType],
        *,
        overflow: MMAIntOverflow | None = None,
    ) -> None:
        """`types` are those of A and B; the result has the registers of `c`."""
        super().__init__(
            operands=[a, b, c],
            result_types=[LLVMStructType.from_type_list([value.type for value in c])],
            properties={
                "shape": MMAShapeAttr(*map(IntAttr, shape)),
                "layoutA": MMALayoutAttr(MMALayout.ROW),
                "layoutB": MMALayoutAttr(MMALayout.COL),
                "multiplicandAPtxType": MMATypeAttr(types[0]),
                "multiplicandBPtxType": MMATypeAttr(types[1]),
                "intOverflowBehavior": None if overflow is None else MMAIntOverflowAttr(overflow),
            },
        )

    # Text -------------------------------------------------------------------------------------------------------------

    @classmethod
    def parse(cls, parser: Parser) -> MmaSyncOp:
        parts: list[list[UnresolvedOperand]] = []
        for part in PARTS:
            parser.parse_keyword(part)
            delimiter = parser.Delimiter.SQUARE
            parts.append(parser.parse_comma_separated_list(delimiter, parser.parse_unresolved_operand))
        properties = dict(parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        if len(types) != len(PARTS):
            parser.raise_error("expected one type for each operand segment but got " + str(len(types)))
        parser.parse_punctuation("->")
        result = parser.parse_type()
        for name, type_ in zip(("multiplicandAPtxType", "multiplicandBPtxType"), types, strict=False):
            inferred = inferred_type(type_, is_accumulator=False)
            if name not in properties and inferred is not None:
                properties[name] = MMATypeAttr(inferred)
        pos = parser.pos
        operands = [parser.resolve_operands(p, [t] * len(p), pos) for p, t in zip(parts, types, strict=True)]
        own = cls.get_irdl_definition().properties
        return cls.create(
            operands=[value for part in operands for value in part],
            result_types=[result],
            properties={
                "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(part) for part in parts]),
                **{name: value for name, value in properties.items() if name in own},
            },
            attributes={name: value for name, value in properties.items() if name not in own},
        )

    def print(self, printer: Printer) -> None:
        parts = (self.a, self.b, self.c)
        for part, values in zip(PARTS, parts, strict=True):
            printer.print_string(f" {part}[" if part == "A" else f"  {part}[")
            printer.print_list(values, printer.print_ssa_value)
            printer.print_string("]")
        elided = {"operandSegmentSizes"}
        for name, values in zip(("multiplicandAPtxType", "multiplicandBPtxType"), parts, strict=False):
            known = self.properties.get(name)
            inferred = inferred_type(values[0].type, is_accumulator=False) if values else None
            if inferred is not None and known == MMATypeAttr(inferred):
                elided.add(name)
        printer.print_string(" ")
        printer.print_op_attributes(
            dict(sorted({**self.attributes, **self.properties}.items())), reserved_attr_names=elided
        )
        printer.print_string(" : (")
        printer.print_list([values[0].type for values in parts if values], printer.print_attribute)
        printer.print_string(") -> ")
        printer.print_attribute(self.res.type)

    # Rules ------------------------------------------------------------------------------------------------------------

    def verify_(self) -> None:
        problem = self._wrong_shape() or self._wrong_operands() or self._wrong_layout() or self._wrong_overflow()
        if problem is not None:
            raise VerifyException(f"'{self.name}' op {problem}")

    @property
    def extents(self) -> tuple[int, int, int]:
        """M, N and K."""
        return self.shape.m.data, self.shape.n.data, self.shape.k.data

    def _wrong_shape(self) -> str | None:
        kind = self.type_a.data
        if kind not in (*DEPTHS, MMAType.F64):
            return f"invalid shape or multiplicand type: {kind.value}"
        shapes = [F64_EXTENTS] if kind is MMAType.F64 else [(16, 8, times * DEPTHS[kind]) for times in (1, 2)]
        if self.extents not in shapes:
            m, n, k = self.extents
            return f"unimplemented variant for MMA shape <{m}, {n}, {k}>"
        return None

    def _wrong_operands(self) -> str | None:
        kind = self.type_a.data
        factors = _factors(kind, self.shape.k.data)
        sums = SUMS.get(kind, FLOAT_SUMS)
        for part, values, wanted in zip(PARTS, (self.a, self.b, self.c), (*factors, sums), strict=True):
            found = [value.type for value in values]
            if found not in wanted:
                given = ", ".join(map(str, found))
                expected = " ".join(f"{len(types)}x{types[0]}" for types in wanted)
                return f"Could not match types for the {part} operands; expected one of {expected} but got {given}"
        results = sums if kind in (MMAType.F16, *SUMS) else [[f32] * 4]
        if self.res.type not in [LLVMStructType.from_type_list(types) for types in results]:
            return f"Could not match allowed types for the result; got {self.res.type}"
        if self.res.type != LLVMStructType.from_type_list([value.type for value in self.c]):
            return "ctype does not match dtype"
        return None

    def _wrong_layout(self) -> str | None:
        if (self.layout_a.data, self.layout_b.data) == (MMALayout.ROW, MMALayout.COL):
            return None
        return "requires layoutA = #nvvm.mma_layout<row> and layoutB = #nvvm.mma_layout<col> for shapes with M = 16"

    def _wrong_overflow(self) -> str | None:
        kind = self.type_a.data
        if kind in INTEGERS and kind is not MMAType.B1 and self.overflow is None:
            return "requires intOverflowBehavior attribute"
        if kind is MMAType.B1:
            return "multiplies single bits, which is not read here"
        return None


WARP_MATRIX_OPS: tuple[type[Operation], ...] = (LdMatrixOp, StMatrixOp, MmaSyncOp)
