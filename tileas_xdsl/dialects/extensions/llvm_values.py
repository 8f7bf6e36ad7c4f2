"""
Ops on values of MLIR's `llvm` dialect: conversions of numbers, maximum and minimum, elements of vectors, poison.

    %f = llvm.uitofp %i : i32 to f32
    %m = llvm.intr.maximum(%a, %b) : (f32, f32) -> f32
    %x = llvm.extractelement %v[%i : i32] : vector<4xf32>
    %p = llvm.mlir.poison : f32

[MLIR's page of the dialect](https://mlir.llvm.org/docs/Dialects/LLVM/) has the ops, LLVM's language reference what they
do ("llvm.maximum", "poison values").

A product of the tensor core gives a struct, so kernels have thousands of ops that take a member out of one: they are
made without asking the definition of the op in which order it has its operands.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    ArrayAttr,
    DenseArrayBase,
    IntegerType,
    SignlessIntegerConstraint,
    StringAttr,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.dialects.llvm import FastMathAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

INTEGERS = SignlessIntegerConstraint | VectorType.constr(SignlessIntegerConstraint)
FLOATS = AnyFloatConstr | VectorType.constr(AnyFloatConstr)


class ConversionOp(IRDLOperation):
    """Base of the conversions between floats and integers."""

    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"

    def __init__(self, arg: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[arg], result_types=[result_type])


@irdl_op_definition
class UIToFPOp(ConversionOp):
    """The float next to an unsigned integer."""

    name = "llvm.uitofp"

    arg = operand_def(INTEGERS)
    res = result_def(FLOATS)


class FloatToIntegerOp(ConversionOp):
    """Base of the conversions that round towards zero; where the integer does not fit, the result is poison."""

    arg = operand_def(FLOATS)
    res = result_def(INTEGERS)


@irdl_op_definition
class FPToSIOp(FloatToIntegerOp):
    """The signed integer next to a float, towards zero."""

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(FloatToIntegerOp):
    """The unsigned integer next to a float, towards zero."""

    name = "llvm.fptoui"


class ExtremeOp(IRDLOperation):
    """Base of maximum and minimum that give NaN where an operand is NaN, and know that -0 is less than +0."""

    a = operand_def(FLOATS)
    b = operand_def(FLOATS)
    res = result_def(FLOATS)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "`(` operands `)` attr-dict `:` functional-type(operands, results)"

    def __init__(self, a: SSAValue, b: SSAValue) -> None:
        super().__init__(operands=[a, b], result_types=[a.type])

    def verify_(self) -> None:
        if not self.a.type == self.b.type == self.res.type:
            raise VerifyException(f"'{self.name}' op failed to verify that all of {{a, b, res}} have same type")


@irdl_op_definition
class MaximumOp(ExtremeOp):
    """The larger of two floats."""

    name = "llvm.intr.maximum"


@irdl_op_definition
class MinimumOp(ExtremeOp):
    """The smaller of two floats."""

    name = "llvm.intr.minimum"


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """A value that nobody may look at."""

    name = "llvm.mlir.poison"

    res = result_def()

    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, result_type: Attribute) -> None:
        super().__init__(result_types=[result_type])


@irdl_op_definition
class AssumeOp(IRDLOperation):
    """
    A promise that `cond` holds, and what the bundles say of their operands: `llvm.intr.assume %c : i1`,
    `llvm.intr.assume %c ["align"(%p, %n : !llvm.ptr, i64)] : i1`.
    """

    name = "llvm.intr.assume"

    cond = operand_def(i1)
    bundled = var_operand_def()
    sizes = opt_prop_def(DenseArrayBase, prop_name="op_bundle_sizes")
    tags = opt_prop_def(ArrayAttr[StringAttr], prop_name="op_bundle_tags")

    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> AssumeOp:
        condition = parser.parse_unresolved_operand()
        tags: list[StringAttr] = []
        operands: list[list[SSAValue]] = []

        def parse_bundle() -> None:
            tags.append(StringAttr(parser.parse_str_literal()))
            with parser.in_parens():
                start = parser.pos
                values = parser.parse_optional_undelimited_comma_separated_list(
                    parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
                )
                types: list[Attribute] = []
                if values:
                    parser.parse_punctuation(":")
                    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
                operands.append(list(parser.resolve_operands(values or [], types, start)))

        parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parse_bundle)
        parser.parse_punctuation(":")
        cond = parser.resolve_operand(condition, parser.parse_type())
        attributes = parser.parse_optional_attr_dict()
        properties: dict[str, Attribute] = {
            "op_bundle_sizes": DenseArrayBase.from_list(i32, [len(o) for o in operands])
        }
        if tags:
            properties["op_bundle_tags"] = ArrayAttr(tags)
        return cls.create(
            operands=[cond, *(value for group in operands for value in group)],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.cond)
        if self.tags is not None:
            printer.print_string(" ")
            with printer.in_square_brackets():
                printer.print_list(self._bundles(), lambda bundle: _print_bundle(printer, *bundle))
        printer.print_string(" : ")
        printer.print_attribute(self.cond.type)
        printer.print_op_attributes(self.attributes)

    def _bundles(self) -> list[tuple[str, list[SSAValue]]]:
        assert self.tags is not None
        sizes = (
            [] if self.sizes is None else [int(size) for size in cast("DenseArrayBase[Any]", self.sizes).get_values()]
        )
        rest = list(self.bundled)
        bundles: list[tuple[str, list[SSAValue]]] = []
        for tag, size in zip(self.tags, sizes, strict=True):
            bundles.append((tag.data, rest[:size]))
            del rest[:size]
        return bundles


def _print_bundle(printer: Printer, tag: str, values: list[SSAValue]) -> None:
    printer.print_string_literal(tag)
    with printer.in_parens():
        printer.print_list(values, printer.print_ssa_value)
        if values:
            printer.print_string(" : ")
            printer.print_list([value.type for value in values], printer.print_attribute)


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """An element of a vector, by its number."""

    name = "llvm.extractelement"

    vector = operand_def(VectorType)
    position = operand_def(SignlessIntegerConstraint)
    res = result_def()

    traits = traits_def(Pure())

    def __init__(self, vector: SSAValue, position: SSAValue) -> None:
        super().__init__(operands=[vector, position], result_types=[_element(vector.type)])

    @classmethod
    def parse(cls, parser: Parser) -> ExtractElementOp:
        vector = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            position = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            position_type = parser.parse_type()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        vector_type = parser.parse_type()
        if not isinstance(vector_type, VectorType):
            parser.raise_error(f"expected a vector type, got '{vector_type}'", start)
        type_ = cast("VectorType[Any]", vector_type)
        operands: list[SSAValue] = [
            parser.resolve_operand(vector, type_),
            parser.resolve_operand(position, position_type),
        ]
        return cls.create(operands=operands, result_types=[_element(type_)], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.vector)
        with printer.in_square_brackets():
            printer.print_ssa_value(self.position)
            printer.print_string(" : ")
            printer.print_attribute(self.position.type)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.vector.type)

    def verify_(self) -> None:
        if self.res.type != _element(self.vector.type):
            raise VerifyException(f"'{self.name}' op failed to verify that the result is an element of the vector")


def _element(type_: Attribute) -> Attribute:
    return cast("VectorType[Any]", type_).element_type if isinstance(type_, VectorType) else IntegerType(1)


VALUE_OPS: tuple[type[Operation], ...] = (
    UIToFPOp,
    FPToSIOp,
    FPToUIOp,
    MaximumOp,
    MinimumOp,
    PoisonOp,
    AssumeOp,
    ExtractElementOp,
)


@cache
def place_in_struct(position: int) -> DenseArrayBase:
    """The attribute that names the member at `position`: thousands of ops share a few."""
    return DenseArrayBase.from_list(i64, [position])


def member_of(struct: SSAValue, position: int, type_: Attribute) -> llvm.ExtractValueOp:
    """The op that takes the member at `position`, which is of the type `type_`, out of a struct."""
    return llvm.ExtractValueOp.create(
        operands=[struct], result_types=[type_], properties={"position": place_in_struct(position)}
    )


def with_member(struct: SSAValue, position: int, value: SSAValue) -> llvm.InsertValueOp:
    """The op that gives the struct with another member at `position`."""
    return llvm.InsertValueOp.create(
        operands=[struct, value], result_types=[struct.type], properties={"position": place_in_struct(position)}
    )
