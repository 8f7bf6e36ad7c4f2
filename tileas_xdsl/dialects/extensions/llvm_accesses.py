"""
Loads, stores and fences of MLIR's `llvm` dialect, with all that they may say.

    %x = llvm.load volatile %p atomic syncscope("workgroup") acquire {alignment = 4 : i64} : !llvm.ptr -> i32
    llvm.store volatile %x, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr
    llvm.fence syncscope("agent") release

xDSL's two forms know an ordering and an alignment, or `volatile`; the rest are properties as in MLIR, which the generic
form has as well. LLVM's language reference lists the orderings and scopes ("Atomic Memory Ordering Constraints").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IntAttr, IntegerAttr, IntegerType, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import (
    AttrConstraint,
    BaseAttr,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.extensions import give_check, give_form, give_properties

ORDERINGS = {
    "not_atomic": 0,
    "unordered": 1,
    "monotonic": 2,
    "acquire": 4,
    "release": 5,
    "acq_rel": 6,
    "seq_cst": 7,
}
"""The orderings of LLVM, by their numbers."""
NAME_OF_ORDERING = {number: name for name, number in ORDERINGS.items()}


def parse_ordering(parser: Parser) -> IntegerAttr:
    start = parser.pos
    word = parser.parse_identifier()
    if word not in ORDERINGS:
        parser.raise_error(f"expected one of {', '.join(ORDERINGS)}, got '{word}'", start)
    return IntegerAttr(ORDERINGS[word], i64)


def parse_scope(parser: Parser) -> dict[str, Attribute]:
    """The property `syncscope`, where it is written."""
    if parser.parse_optional_keyword("syncscope") is None:
        return {}
    with parser.in_parens():
        return {"syncscope": StringAttr(parser.parse_str_literal())}


def print_scope(printer: Printer, scope: Attribute | None) -> None:
    if isinstance(scope, StringAttr):
        printer.print_string(f' syncscope("{scope.data}")')


def parse_unit(parser: Parser, word: str, name: str) -> dict[str, Attribute]:
    """The property `name`, where `word` is written."""
    return {name: UnitAttr()} if parser.parse_optional_keyword(word) is not None else {}


IN_DICTIONARY = ("access_groups", "alias_scopes", "alignment", "noalias_scopes", "nontemporal", "tbaa")
"""The properties that the custom forms have in their dictionary."""
INVARIANT = {"invariant": "invariant", "invariant_group": "invariantGroup"}
"""Words behind the ordering, and the properties that they stand for; a store has the last one only."""


ATOMIC_INTEGERS = [IntegerType(width) for width in (8, 16, 32, 64, 128)]
PROPERTIES: dict[str, AttrConstraint] = {
    "syncscope": BaseAttr(StringAttr),
    **{name: BaseAttr(UnitAttr) for name in ("volatile_", "nontemporal", *INVARIANT.values())},
    **{name: BaseAttr(ArrayAttr) for name in ("access_groups", "alias_scopes", "noalias_scopes", "tbaa")},
}


@irdl_attr_definition
class DereferenceableAttr(ParametrizedAttribute):
    """`#llvm.dereferenceable<bytes = 8, mayBeNull = true>`: behind the pointer that is loaded are that many bytes."""

    name = "llvm.dereferenceable"

    bytes_: IntAttr
    may_be_null: BoolAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("bytes")
            parser.parse_punctuation("=")
            size, is_null = parser.parse_integer(), False
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("mayBeNull")
                parser.parse_punctuation("=")
                is_null = parser.parse_boolean()
        return [IntAttr(size), BoolAttr.from_bool(is_null)]

    def print_parameters(self, printer: Printer) -> None:
        null = ", mayBeNull = true" if self.may_be_null.value.data else ""
        printer.print_string(f"<bytes = {self.bytes_.data}{null}>")


def _parse_load(cls: type[Any], parser: Parser) -> Operation:
    properties = parse_unit(parser, "volatile", "volatile_")
    pointer = parser.parse_unresolved_operand()
    properties |= _parse_atomic(parser)
    for word, name in INVARIANT.items():
        properties |= parse_unit(parser, word, name)
    if parser.parse_optional_keyword("dereferenceable") is not None:
        properties["dereferenceable"] = DereferenceableAttr.new(DereferenceableAttr.parse_parameters(parser))
    more, attributes = _parse_dictionary(parser)
    parser.parse_punctuation(":")
    pointer_type = parser.parse_type()
    parser.parse_punctuation("->")
    return cls.create(
        operands=[parser.resolve_operand(pointer, pointer_type)],
        result_types=[parser.parse_type()],
        properties={**properties, **more},
        attributes=attributes,
    )


def _print_load(op: llvm.LoadOp, printer: Printer) -> None:
    printer.print_string(" volatile " if "volatile_" in op.properties else " ")
    printer.print_ssa_value(op.ptr)
    _print_rest(op, printer)
    printer.print_attribute(op.ptr.type)
    printer.print_string(" -> ")
    printer.print_attribute(op.dereferenced_value.type)


def _parse_store(cls: type[Any], parser: Parser) -> Operation:
    properties = parse_unit(parser, "volatile", "volatile_")
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    pointer = parser.parse_unresolved_operand()
    properties |= _parse_atomic(parser)
    properties |= parse_unit(parser, "invariant_group", "invariantGroup")
    more, attributes = _parse_dictionary(parser)
    parser.parse_punctuation(":")
    value_type = parser.parse_type()
    parser.parse_punctuation(",")
    pointer_type = parser.parse_type()
    return cls.create(
        operands=[parser.resolve_operand(value, value_type), parser.resolve_operand(pointer, pointer_type)],
        properties={**properties, **more},
        attributes=attributes,
    )


def _print_store(op: llvm.StoreOp, printer: Printer) -> None:
    printer.print_string(" volatile " if op.volatile_ is not None else " ")
    printer.print_list([op.value, op.ptr], printer.print_ssa_value)
    _print_rest(op, printer)
    printer.print_list([op.value.type, op.ptr.type], printer.print_attribute)


def _parse_atomic(parser: Parser) -> dict[str, Attribute]:
    """Scope and ordering of an access, which is not atomic if nothing says so."""
    if parser.parse_optional_keyword("atomic") is None:
        return {"ordering": IntegerAttr(0, i64)}
    return {**parse_scope(parser), "ordering": parse_ordering(parser)}


def _parse_dictionary(parser: Parser) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """The properties and the attributes in the dictionary."""
    written = parser.parse_optional_attr_dict()
    properties = {name: value for name, value in written.items() if name in IN_DICTIONARY}
    return properties, {name: value for name, value in written.items() if name not in IN_DICTIONARY}


def _print_rest(op: Operation, printer: Printer) -> None:
    """What stands behind the operands of an access, up to its types."""
    if ordering := ordering_of(op):
        printer.print_string(" atomic")
        print_scope(printer, op.properties.get("syncscope"))
        printer.print_string(f" {NAME_OF_ORDERING[ordering]}")
    for word, name in INVARIANT.items():
        printer.print_string(f" {word}" if name in op.properties else "")
    behind = op.properties.get("dereferenceable")
    if isinstance(behind, DereferenceableAttr):
        printer.print_string(" dereferenceable")
        behind.print_parameters(printer)
    written = {name: op.properties[name] for name in IN_DICTIONARY if name in op.properties}
    printer.print_op_attributes(dict(sorted({**op.attributes, **written}.items())))
    printer.print_string(" : ")


def ordering_of(op: Operation) -> int:
    """The number of the ordering of an access; 0 for one that is not atomic."""
    given = op.properties.get("ordering")
    return given.value.data if isinstance(given, IntegerAttr) else 0


def _verify_load(op: llvm.LoadOp) -> None:
    _verify_atomic(op, op.dereferenced_value.type, ("release", "acq_rel"))


def _verify_store(op: llvm.StoreOp) -> None:
    _verify_atomic(op, op.value.type, ("acquire", "acq_rel"))


def _verify_atomic(op: Operation, type_: Attribute, unsupported: Sequence[str]) -> None:
    """What MLIR asks of an access that is atomic."""
    ordering = ordering_of(op)
    if ordering not in NAME_OF_ORDERING:
        raise VerifyException(f"'{op.name}' op has ordering number {ordering}, which there is not")
    if not ordering:
        if "syncscope" in op.properties:
            raise VerifyException(f"'{op.name}' op expected syncscope to be null for non-atomic access")
        return
    if isinstance(type_, IntegerType) and type_ not in ATOMIC_INTEGERS:
        raise VerifyException(f"'{op.name}' op unsupported type '{type_}' for atomic access")
    if type_.name in ("vector", "llvm.array", "llvm.struct"):
        raise VerifyException(f"'{op.name}' op unsupported type '{type_}' for atomic access")
    if NAME_OF_ORDERING[ordering] in unsupported:
        raise VerifyException(f"'{op.name}' op unsupported ordering '{NAME_OF_ORDERING[ordering]}'")
    if "alignment" not in op.properties:
        raise VerifyException(f"'{op.name}' op expected alignment for atomic access")


@irdl_op_definition
class FenceOp(IRDLOperation):
    """`llvm.fence syncscope("agent") release`: orders what stands before it with atomic accesses behind it, or both."""

    name = "llvm.fence"

    ordering = prop_def(IntegerAttr.constr(i64))
    syncscope = opt_prop_def(StringAttr)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> FenceOp:
        properties = parse_scope(parser)
        properties["ordering"] = parse_ordering(parser)
        return cls.create(properties=properties, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        print_scope(printer, self.syncscope)
        printer.print_string(f" {NAME_OF_ORDERING[ordering_of(self)]}")
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        if ordering_of(self) < ORDERINGS["acquire"]:
            orderings = "acquire, release, acq_rel, and seq_cst"
            raise VerifyException(f"'{self.name}' op can be given only {orderings} orderings")


def give_forms() -> None:
    """Give xDSL's loads and stores the properties, the forms and the checks of MLIR."""
    give_properties(llvm.LoadOp, {**PROPERTIES, "dereferenceable": BaseAttr(DereferenceableAttr)})
    give_properties(llvm.StoreOp, PROPERTIES)
    give_form(llvm.LoadOp, _parse_load, _print_load)
    give_form(llvm.StoreOp, _parse_store, _print_store)
    give_check(llvm.LoadOp, _verify_load)
    give_check(llvm.StoreOp, _verify_store)
