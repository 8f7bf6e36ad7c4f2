"""
Custom forms of `memref`.

    %old = memref.atomic_rmw addf %v, %m[%i] : (f32, memref<8xf32>) -> f32
    memref.copy %a, %b : memref<8xf32> to memref<8xf32>
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.ir import Dialect, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from tileas_xdsl.dialects.extensions import give_form

ATOMIC_KINDS = (
    *("addf", "addi", "andi", "assign", "maximumf", "maxnumf", "maxs", "maxu"),
    *("minimumf", "minnumf", "mins", "minu", "mulf", "muli", "ori", "xori"),
)
"""The kinds that arith has for atomic ops (`AtomicRMWKind`), by number."""


def _parse_atomic(cls: type[Any], parser: Parser) -> Operation:
    start = parser.pos
    word = parser.parse_identifier()
    if word not in ATOMIC_KINDS:
        parser.raise_error(f"expected one of {', '.join(ATOMIC_KINDS)}, got '{word}'", start)
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    buffer = parser.parse_unresolved_operand()
    indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    with parser.in_parens():
        value_type = parser.parse_type()
        parser.parse_punctuation(",")
        buffer_type = parser.parse_type()
    parser.parse_punctuation("->")
    result_type = parser.parse_type()
    operands = [parser.resolve_operand(value, value_type), parser.resolve_operand(buffer, buffer_type)]
    operands += [parser.resolve_operand(index, IndexType()) for index in indices]
    return cls.create(
        operands=operands,
        result_types=[result_type],
        properties={"kind": IntegerAttr(ATOMIC_KINDS.index(word), i64)},
        attributes=attributes,
    )


def _print_atomic(op: memref.AtomicRMWOp, printer: Printer) -> None:
    printer.print_string(f" {ATOMIC_KINDS[op.kind.value.data]} ")
    printer.print_list([op.value, op.memref], printer.print_ssa_value)
    with printer.in_square_brackets():
        printer.print_list(op.indices, printer.print_ssa_value)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : (")
    printer.print_list([op.value.type, op.memref.type], printer.print_attribute)
    printer.print_string(") -> ")
    printer.print_attribute(op.result.type)


def _parse_copy(cls: type[Any], parser: Parser) -> Operation:
    source = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    target = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    source_type = parser.parse_type()
    parser.parse_keyword("to")
    operands = [parser.resolve_operand(source, source_type), parser.resolve_operand(target, parser.parse_type())]
    return cls.create(operands=operands, attributes=attributes)


def _print_copy(op: memref.CopyOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_list([op.source, op.destination], printer.print_ssa_value)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(op.source.type)
    printer.print_string(" to ")
    printer.print_attribute(op.destination.type)


def extended(dialect: Dialect) -> Dialect:
    """xDSL's `memref`, with these forms."""
    give_form(memref.AtomicRMWOp, _parse_atomic, _print_atomic)
    give_form(memref.CopyOp, _parse_copy, _print_copy)
    return dialect
