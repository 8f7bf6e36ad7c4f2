"""
The text of an op of `cuda_tile`: a line of text a row, which one parser and one printer interpret.

    $lhs, $rhs( rounding<$rounding_mode>)?( $flush_to_zero)?{} : type(lhs rhs result)

- `$x` is an operand, a list of operands, an attribute, or the name of a unit attribute;
- `type(a b)` is the one type of `a` and of `b`; of a list it is all types; `each(a)` is one type where all are equal;
- `{}` is the dictionary of all other attributes, with a blank before it;
- `(...)?` is there where the first thing that it names is there, and has not its default;
- everything else stands for itself. Types are written without their prefix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from tileas_xdsl.dialects.cuda_tile.attributes import (
    ConstantAttr,
    HintsAttr,
    parse_fact,
)
from tileas_xdsl.dialects.cuda_tile.base import UNIT, TileIROp, build
from tileas_xdsl.dialects.cuda_tile.elements import bits_of, element_from_text, element_text, number_of
from tileas_xdsl.dialects.cuda_tile.enumerations import ENUMERATIONS, WordAttr
from tileas_xdsl.dialects.cuda_tile.rows import Part, Row
from tileas_xdsl.dialects.cuda_tile.types import TOKEN, TileType, TileViewType, parse_type, short
from tileas_xdsl.dialects.form_elements import Element, read_elements

TOKENS = re.compile(
    r"""(?P<group>\()(?=[^?]*?\)\?) | (?P<end>\)\?) | (?P<call>type|each)\((?P<names>[^)]*)\)
      | \$(?P<name>\w+) | (?P<attributes>\{\}) | (?P<word>[A-Za-z_]+) | (?P<sign>->|[^\s\w]) | (?P<blank>\s)""",
    re.VERBOSE,
)


@cache
def elements_of(form: str) -> tuple[Element, ...]:
    """The elements of a form, in order."""
    return read_elements(form, TOKENS, _element)


def _element(match: re.Match[str]) -> Element:
    if match["call"]:
        return Element(match["call"], match["names"])
    assert match.lastgroup is not None
    return Element(match.lastgroup, match[match.lastgroup])


def subject_of(elements: Sequence[Element]) -> Element:
    """The first element that names something."""
    return next(element for element in elements if element.kind in ("name", "type", "each"))


def part_of(parts: Sequence[Part], name: str) -> Part | None:
    """The part of that name, or None."""
    return next((part for part in parts if part.name == name), None)


# Reading --------------------------------------------------------------------------------------------------------------


def parse_op(parser: Parser, op: type[TileIROp]) -> TileIROp:
    """Read what stands behind the name of an op. Raises `ParseError`."""
    reading = _Reading(parser, op.ROW)
    start = parser.pos
    reading.elements(elements_of(op.ROW.form))
    return reading.built(op, start)


@dataclass
class _Reading:
    parser: Parser
    row: Row
    operands: dict[str, list[UnresolvedOperand]] = field(default_factory=dict[str, "list[UnresolvedOperand]"])
    types: dict[str, list[Attribute]] = field(default_factory=dict[str, "list[Attribute]"])
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])

    def elements(self, elements: Sequence[Element]) -> None:
        for element in elements:
            if element.kind != "blank":
                getattr(self, f"_{element.kind}")(element)

    def built(self, op: type[TileIROp], start: int) -> TileIROp:
        groups = {part.name: self._resolved(part, start) for part in self.row.operands}
        results = [kind for part in self.row.results for kind in self._result_types(part, start)]
        return build(op, groups, results, self.properties, attributes=self.attributes)

    def _resolved(self, part: Part, start: int) -> list[Any]:
        unresolved = self.operands.get(part.name, [])
        kinds = self.types.get(part.name)
        if kinds is None:
            kinds = self._implied(part) if unresolved else []
        if len(kinds) == 1:
            kinds = kinds * len(unresolved)
        if len(kinds) != len(unresolved):
            self.parser.raise_error(f"{len(unresolved)} operands and {len(kinds)} types for '{part.name}'", start)
        return [self.parser.resolve_operand(one, kind) for one, kind in zip(unresolved, kinds, strict=True)]

    def _result_types(self, part: Part, start: int) -> Sequence[Attribute]:
        if part.name in self.types:
            return self.types[part.name]
        constant = self.properties.get("value")
        if isinstance(constant, ConstantAttr):
            return [constant.type]
        self.parser.raise_error(f"the type of '{part.name}' is missing", start)

    def _implied(self, part: Part) -> list[Attribute]:
        """The type of operands whose type is not written: tokens, scalars of i32, the array of a view."""
        if part.kind == "token":
            return [TOKEN]
        if part.kind == "int32":
            return [TileType.of(i32)]
        (result,) = self.types["result"]
        if not isinstance(result, TileViewType):
            self.parser.raise_error(f"expected a view of tiles, got {short(result)}")
        return [result.tensor_view]

    def _word(self, element: Element) -> None:
        self.parser.parse_keyword(element.text)

    def _sign(self, element: Element) -> None:
        self.parser.parse_punctuation(cast("Any", element.text))

    def _attributes(self, _: Element) -> None:
        for name, attribute in self.parser.parse_optional_attr_dict().items():
            known = part_of(self.row.attributes, name) is not None or name in self.row.units
            (self.properties if known else self.attributes)[name] = attribute

    def _name(self, element: Element) -> None:
        name = element.text
        if name in self.row.units:
            self.parser.parse_keyword(name)
            self.properties[name] = UNIT
        elif (part := part_of(self.row.operands, name)) is None:
            attribute = part_of(self.row.attributes, name)
            assert attribute is not None, name
            self.properties[name] = read_attribute(self.parser, attribute.kind)
        elif part.many == "*":
            self.operands[name] = self._list()
        else:
            self.operands[name] = [self.parser.parse_unresolved_operand()]

    def _list(self) -> list[UnresolvedOperand]:
        if (first := self.parser.parse_optional_unresolved_operand()) is None:
            return []
        found = [first]
        while self.parser.parse_optional_punctuation(",") is not None:
            found.append(self.parser.parse_unresolved_operand())
        return found

    def _type(self, element: Element) -> None:
        names = element.text.split()
        part = part_of(self.row.operands, names[0])
        found: list[Attribute] = [parse_type(self.parser)]
        if part is not None and part.many == "*":
            while self.parser.parse_optional_punctuation(",") is not None:
                found.append(parse_type(self.parser))
        self.types |= dict.fromkeys(names, found)

    def _each(self, element: Element) -> None:
        found: list[Attribute] = [parse_type(self.parser)]
        while self.parser.parse_optional_punctuation(",") is not None:
            found.append(parse_type(self.parser))
        self.types[element.text] = found

    def _optional(self, element: Element) -> None:
        if self._is_there(element.inside):
            self.elements(element.inside)

    def _is_there(self, inside: Sequence[Element]) -> bool:
        subject = subject_of(inside)
        if subject.kind != "name":
            return subject.text in self.operands
        first = next(element for element in inside if element.kind != "blank")
        start = self.parser.pos
        if first.kind in ("word", "sign") or first.text in self.row.units:
            found = self._optional_text(first.text)
        elif (attribute := part_of(self.row.attributes, first.text)) is not None:
            found = any(self._optional_text(word) for word in ENUMERATIONS[attribute.kind].WORDS)
        else:
            found = self.parser.parse_optional_unresolved_operand() is not None
        if found:
            self.parser._resume_from(start)  # pyright: ignore[reportPrivateUsage]
        return found

    def _optional_text(self, text: str) -> bool:
        if text[0].isalpha():
            return self.parser.parse_optional_keyword(text) is not None
        return self.parser.parse_optional_punctuation(cast("Any", text)) is not None


def read_attribute(parser: Parser, kind: str) -> Attribute:
    """Read an attribute of a kind of `rows.KINDS`."""
    match kind:
        case "i32" | "i64":
            return IntegerAttr(parser.parse_integer(allow_boolean=False), i32 if kind == "i32" else i64)
        case "bool":
            return IntegerAttr(int(parser.parse_boolean()), i1)
        case "str":
            return StringAttr(parser.parse_str_literal())
        case "symbol":
            return SymbolRefAttr(parser.parse_symbol_name())
        case "i32s":
            numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            return DenseArrayBase.from_list(i32, numbers)
        case "bools":
            truths = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_boolean)
            return DenseArrayBase.from_list(i1, [int(truth) for truth in truths])
        case "constant":
            return ConstantAttr.parse_body(parser)
        case "fact":
            return parse_fact(parser)
        case "hints":
            return HintsAttr.new(HintsAttr.parse_parameters(parser))
        case "array":
            return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _number(parser)))
        case _:
            enumeration = ENUMERATIONS[kind]
            return enumeration(enumeration.parse_word(parser))


def _number(parser: Parser) -> Attribute:
    """An element of an array: `0xFF800000 : f32`, `4 : i32`, or any attribute."""
    text = parser._current_token.text  # pyright: ignore[reportPrivateUsage]
    if not (text[:1].isdigit() or text == "-"):
        return parser.parse_attribute()
    start = parser.pos
    parser.parse_number()
    parser.parse_punctuation(":")
    kind = parser.parse_type()
    end = parser.pos
    parser._resume_from(start)  # pyright: ignore[reportPrivateUsage]
    bits = element_from_text(parser, kind)
    parser._resume_from(end)  # pyright: ignore[reportPrivateUsage]
    return number_attribute(kind, bits)


def number_attribute(kind: Attribute, bits: int) -> Attribute:
    """The builtin attribute of a number."""
    number = number_of(kind, bits)
    if isinstance(number, int):
        return IntegerAttr(number, cast("Any", kind))
    return FloatAttr(number, cast("Any", kind))


# Printing -------------------------------------------------------------------------------------------------------------


def print_op(printer: Printer, op: TileIROp) -> None:
    """Print what stands behind the name of an op."""
    elements = elements_of(op.ROW.form)
    if elements[0].kind not in ("attributes", "optional"):
        printer.print_string(" ")
    _Writing(printer, op).elements(elements)


@dataclass
class _Writing:
    printer: Printer
    op: TileIROp

    def elements(self, elements: Sequence[Element]) -> None:
        for element in elements:
            getattr(self, f"_{element.kind}")(element)

    def _put(self, text: str) -> None:
        if text:
            self.printer.print_string(text)

    def _blank(self, _: Element) -> None:
        self._put(" ")

    def _word(self, element: Element) -> None:
        self._put(element.text)

    def _sign(self, element: Element) -> None:
        self._put(element.text)

    def _attributes(self, _: Element) -> None:
        if self.op.attributes:
            self.printer.print_op_attributes(self.op.attributes)

    def _name(self, element: Element) -> None:
        name = element.text
        if name in self.op.ROW.units:
            self._put(name)
        elif part_of(self.op.ROW.operands, name) is not None:
            self.printer.print_list(self.op.group(name), self.printer.print_ssa_value)
        else:
            self._put(attribute_text(self.op.properties[name]))

    def _type(self, element: Element) -> None:
        self._put(", ".join(map(short, self._types(element.text.split()[0]))))

    def _types(self, name: str) -> Sequence[Attribute]:
        row = self.op.ROW
        group = self.op.group(name) if part_of(row.operands, name) is not None else self.op.result_group(name)
        return [value.type for value in group]

    def _each(self, element: Element) -> None:
        kinds = self._types(element.text)
        self._put(", ".join(map(short, kinds[:1] if len(set(kinds)) == 1 else kinds)))

    def _optional(self, element: Element) -> None:
        name = subject_of(element.inside).text.split()[0]
        if part_of(self.op.ROW.operands, name) is not None:
            there = bool(self.op.group(name))
        else:
            attribute = self.op.properties.get(name)
            default = self.op.ROW.defaults.get(name)
            there = attribute is not None and not (isinstance(attribute, WordAttr) and attribute.data == default)
        if there:
            self.elements(element.inside)


def attribute_text(attribute: Attribute) -> str:
    """An attribute of a row as its text shows it."""
    match attribute:
        case WordAttr():
            return attribute.data
        case ConstantAttr():
            return attribute.body_text()
        case IntegerAttr() if attribute.type == i1:
            return "true" if attribute.value.data else "false"
        case IntegerAttr():
            return str(attribute.value.data)
        case SymbolRefAttr():
            return f"@{attribute.string_value()}"
        case DenseArrayBase():
            values = cast("Sequence[int]", cast("DenseArrayBase[Any]", attribute).get_values())
            if attribute.elt_type == i1:
                return f"[{', '.join('true' if value else 'false' for value in values)}]"
            return str(list(values))
        case ArrayAttr():
            return f"[{', '.join(map(_item_text, attribute.data))}]"
        case _:
            return str(attribute).removeprefix("#cuda_tile.").removeprefix("optimization_hints")


def _item_text(item: Attribute) -> str:
    match item:
        case IntegerAttr() if item.type != i1:
            return f"{item.value.data} : {item.type}"
        case FloatAttr():
            bits = bits_of(item.type, item.value.data)
            return f"{element_text(item.type, bits)} : {item.type}"
        case _:
            return str(item)
