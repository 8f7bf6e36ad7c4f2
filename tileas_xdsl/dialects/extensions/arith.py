"""
Casts, comparisons and selections of `arith` element by element, on tensors and vectors; what xDSL lacks of the casts.

    %r = arith.sitofp %a : tensor<4xi8> to tensor<4xf16>
    %m = arith.cmpi slt, %a, %b : tensor<4xi8, #layout>        a tensor of i1 with the same layout
    %s = arith.select %mask, %a, %b : tensor<4xi1>, tensor<4xf32>

xDSL has them for single numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.arith import FloatingPointLikeBinaryOperation
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    IndexType,
    IntegerType,
    SignlessIntegerConstraint,
    TensorType,
    VectorType,
    container_of,
    i1,
)
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import (
    AttrConstraint,
    IRDLOperation,
    OperandDef,
    OptPropertyDef,
    base,
    eq,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.extensions import give_form, replace_check, with_ops
from tileas_xdsl.dialects.extensions.literals import read_bits_of_floats

INTEGERS = container_of(SignlessIntegerConstraint)
INTEGERS_AND_INDICES = container_of(SignlessIntegerConstraint | base(IndexType))
FLOATS = container_of(AnyFloatConstr)
MASKS = container_of(eq(i1))
QUOTIENT_BY_ZERO_IS_OPEN = "tileas.quotient_by_zero_is_open"
"""
A discardable attribute of a division: by zero it gives some number, as PTX has it (PTX ISA, "Integer Arithmetic
Instructions: div"), where MLIR leaves the behaviour of the program undefined.
"""

CASTS: dict[type[IRDLOperation], tuple[AttrConstraint, AttrConstraint]] = {
    arith.SIToFPOp: (INTEGERS, FLOATS),
    arith.UIToFPOp: (INTEGERS, FLOATS),
    arith.FPToSIOp: (FLOATS, INTEGERS),
    arith.FPToUIOp: (FLOATS, INTEGERS),
    arith.ExtSIOp: (INTEGERS, INTEGERS),
    arith.ExtUIOp: (INTEGERS, INTEGERS),
    arith.TruncIOp: (INTEGERS, INTEGERS),
    arith.IndexCastOp: (INTEGERS_AND_INDICES, INTEGERS_AND_INDICES),
}
"""What each takes and gives."""

OVERFLOW = "overflowFlags"


@irdl_op_definition
class IndexCastUIOp(IRDLOperation):
    """
    Make an index of an integer, extended by zeros where it is wider, or an integer of an index.

    `%i = arith.index_castui %x : i32 to index`
    """

    name = "arith.index_castui"

    input = operand_def(INTEGERS_AND_INDICES)
    result = result_def(INTEGERS_AND_INDICES)

    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        _check_cast(self)


@irdl_op_definition
class RemFOp(FloatingPointLikeBinaryOperation):
    """The remainder of a division, with the sign of the dividend: `%r = arith.remf %a, %b : f32`."""

    name = "arith.remf"

    traits = traits_def(Pure())


def _element(type_: Attribute) -> Attribute:
    return cast("VectorType[Any] | TensorType[Any]", type_).element_type if _is_shaped(type_) else type_


def _is_shaped(type_: Attribute) -> bool:
    return isinstance(type_, VectorType | TensorType)


def _shape(type_: Attribute) -> tuple[object, ...]:
    """What two types have in common that have the same elements but for their type."""
    if not _is_shaped(type_):
        return ()
    shaped = cast("VectorType[Any] | TensorType[Any]", type_)
    return (type(shaped), *shaped.get_shape())


# Casts ----------------------------------------------------------------------------------------------------------------


def _check_cast(op: Operation) -> None:
    source, target = op.operands[0].type, op.results[0].type
    if _shape(source) != _shape(target):
        raise VerifyException(f"'{op.name}' op failed to verify that input and output have the same tensor dimensions")
    if not _is_cast(op, _element(source), _element(target)):
        raise VerifyException(
            f"'{op.name}' op operand type '{source}' and result type '{target}' are cast incompatible"
        )


def _is_cast(op: Operation, source: Attribute, target: Attribute) -> bool:
    """Whether `op` makes numbers of type `target` of those of type `source`, of the kinds that it takes and gives."""
    if isinstance(op, arith.IndexCastOp | IndexCastUIOp):
        return isinstance(source, IndexType) != isinstance(target, IndexType)
    if not isinstance(source, IntegerType) or not isinstance(target, IntegerType):
        return True
    if isinstance(op, arith.TruncIOp):
        return target.bitwidth < source.bitwidth
    return target.bitwidth > source.bitwidth


def _let_take(op: type[IRDLOperation], constraints: Sequence[AttrConstraint], *, results: bool = False) -> None:
    """Let the leading operands (or results) of `op`, a class of xDSL's, have the types of `constraints`."""
    definition = op.get_irdl_definition()
    declared = definition.results if results else definition.operands
    for (_, each), constraint in zip(declared, constraints, strict=False):
        each.constr = OperandDef(constraint).constr


# Truncation: what is known of the bits that it drops ------------------------------------------------------------------


def _parse_truncation(cls: type[Any], parser: Parser) -> Operation:
    value = parser.parse_unresolved_operand()
    flags = None
    if parser.parse_optional_keyword("overflow") is not None:
        flags = arith.IntegerOverflowAttr(arith.IntegerOverflowAttr.parse_parameter(parser))
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    source = parser.parse_type()
    parser.parse_keyword("to")
    target = parser.parse_type()
    properties = {} if flags is None else {OVERFLOW: flags}
    operands = [parser.resolve_operand(value, source)]
    return cls.create(operands=operands, result_types=[target], attributes=attributes, properties=properties)


def _print_truncation(op: arith.TruncIOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_ssa_value(op.input)
    flags = op.properties.get(OVERFLOW)
    if isinstance(flags, arith.IntegerOverflowAttr) and flags.data:
        printer.print_string(" overflow")
        flags.print_parameter(printer)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(op.input.type)
    printer.print_string(" to ")
    printer.print_attribute(op.result.type)


# Comparison -----------------------------------------------------------------------------------------------------------


def with_booleans(kind: Attribute) -> Attribute:
    """The type that comparing values of type `kind` gives."""
    if isinstance(kind, TensorType):
        return TensorType(i1, kind.get_shape(), cast("TensorType[Attribute]", kind).encoding)
    if isinstance(kind, VectorType):
        return VectorType(i1, kind.get_shape(), kind.scalable_dims)
    return i1


def _parse_comparison(cls: type[Any], parser: Parser) -> Operation:
    """`slt, %a, %b fastmath<fast> {..} : i32`; the predicate may stand in quotes, as older texts have it."""
    predicate = parser.parse_optional_str_literal() or parser.parse_identifier()
    parser.parse_punctuation(",")
    compared = [parser.parse_unresolved_operand()]
    parser.parse_punctuation(",")
    compared.append(parser.parse_unresolved_operand())
    flags = arith.FastMathFlagsAttr("none")
    if cls is arith.CmpfOp and parser.parse_optional_keyword("fastmath") is not None:
        flags = arith.FastMathFlagsAttr(arith.FastMathFlagsAttr.parse_parameter(parser))
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    kind = parser.parse_type()
    values = [parser.resolve_operand(value, kind) for value in compared]
    make: Any = cls
    op: Operation = make(*values, predicate, *([flags] if cls is arith.CmpfOp else []))
    made = cls.create(
        operands=values, result_types=[with_booleans(kind)], properties=op.properties, attributes=attributes
    )
    op.erase()
    return made


def _print_comparison(op: arith.CmpiOp | arith.CmpfOp, printer: Printer) -> None:
    words = arith.CMPI_COMPARISON_OPERATIONS if isinstance(op, arith.CmpiOp) else arith.CMPF_COMPARISON_OPERATIONS
    printer.print_string(f" {words[op.predicate.value.data]}, ")
    printer.print_list(op.operands, printer.print_ssa_value)
    if isinstance(op, arith.CmpfOp) and op.fastmath.data:
        printer.print_string(" fastmath")
        op.fastmath.print_parameter(printer)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(op.lhs.type)


def _check_comparison(op: Operation) -> None:
    if op.results[0].type != with_booleans(op.operands[0].type):
        raise VerifyException(f"'{op.name}' op failed to verify that result type has i1 element type and same shape")


# Selection ------------------------------------------------------------------------------------------------------------


def _parse_select(cls: type[Any], parser: Parser) -> Operation:
    condition = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    chosen = [parser.parse_unresolved_operand()]
    parser.parse_punctuation(",")
    chosen.append(parser.parse_unresolved_operand())
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    types = [parser.parse_type()]
    if parser.parse_optional_punctuation(",") is not None:
        types.append(parser.parse_type())
    condition_type, chosen_type = (types[0] if len(types) == 2 else i1), types[-1]
    operands = [
        parser.resolve_operand(condition, condition_type),
        *(parser.resolve_operand(value, chosen_type) for value in chosen),
    ]
    return cls.create(operands=operands, result_types=[chosen_type], attributes=attributes)


def _print_select(op: arith.SelectOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_ssa_value)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    if op.cond.type != i1:
        printer.print_attribute(op.cond.type)
        printer.print_string(", ")
    printer.print_attribute(op.result.type)


def _check_select(op: Operation) -> None:
    assert isinstance(op, arith.SelectOp)
    if _is_shaped(op.cond.type) and _shape(op.cond.type) != _shape(op.result.type):
        raise VerifyException(f"'{op.name}' op all non-scalar operands/results must have the same shape and base type")


# Both -----------------------------------------------------------------------------------------------------------------


def extended(dialect: Dialect) -> Dialect:
    """xDSL's `arith` with the types and forms of this file."""
    read_bits_of_floats()
    for op, (source, target) in CASTS.items():
        _let_take(op, [source])
        _let_take(op, [target], results=True)
        replace_check(op, _check_cast)
    arith.TruncIOp.get_irdl_definition().properties[OVERFLOW] = OptPropertyDef(base(arith.IntegerOverflowAttr))
    give_form(arith.TruncIOp, _parse_truncation, _print_truncation)
    for op in (arith.CmpiOp, arith.CmpfOp):
        give_form(op, _parse_comparison, _print_comparison)
        _let_take(op, [MASKS], results=True)
        replace_check(op, _check_comparison)
    _let_take(arith.SelectOp, [MASKS])
    give_form(arith.SelectOp, _parse_select, _print_select)
    replace_check(arith.SelectOp, _check_select)
    return with_ops(dialect, [IndexCastUIOp, RemFOp])
