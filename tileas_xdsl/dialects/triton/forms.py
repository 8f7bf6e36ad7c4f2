"""
The custom forms of Triton's ops: a line of text an op, which one parser and one printer interpret.

    $alloc, $phase(, $pred)?( deps $deps)? {} : type($alloc)(, type($deps))?

A form is written as the op prints, blanks included; the parser skips blanks. In it

- `$x` is an operand, a list of operands, or an attribute;
- `$x<axis>` is an attribute that is an enumeration, by the word for its number (`WORDS`); `$x<unit>` one that is
  there where the word before it is;
- `type($x)` is the type of an operand, a result, or a list of them; `short($x)` the same without its name;
- `signature` is the type of the op as a function, `operands` the list of the types of its operands;
- `{}` is the dictionary of all other attributes, with a blank before it, or nothing where there are none;
- `(...)?` is there where what it names is;
- `token($dep, $token)` is `[%dep]`, `[]` where there is a result without an operand, or nothing;
- `barriers($bars, $preds)` is a list of `, %bar[%pred]`;
- `numbers($x)` is an array of integers of 32 bits as `0, 16`, and `longs($x)` one of 64 bits;
- `~` is nothing, between two that would run together;
- everything else stands for itself.

Types that the text leaves out follow from others: `TritonOp.IMPLIED`.

Where an enumeration has a place of its own in the text, Triton prints the word (`tt.get_program_id x`); in a dictionary
of attributes it prints the number (`{inputPrecision = 0 : i32}`). Words of a set of bits are joined by `|`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, FunctionType, IntegerAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    OptionalDef,
    VariadicDef,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

from tileas_xdsl.dialects.form_elements import Element, read_elements
from tileas_xdsl.dialects.triton.types import MemDescType


def _from(first: int, words: str) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), first)}


WORDS: dict[str, dict[str, int]] = {
    "axis": _from(0, "x y z"),
    "semantic": _from(1, "relaxed acquire release acq_rel"),
    "scope": _from(1, "gpu cta sys"),
    "atomic": _from(1, "and or xor add fadd max min umax umin exch"),
    "reduce": _from(1, "add min max inc dec and or xor"),
    "rounding": _from(0, "rtz rtne"),
    "nan": {"none": 0, "all": 0xFFFF},
    "precision": _from(0, "tf32 tf32x3 ieee bf16x3 bf16x6"),
    "scaled": _from(0, "e4m3 e5m2 e2m3 e3m2 e2m1 bf16 fp16"),
    "cache": _from(1, "none ca cg wb cs wt cv"),
    "eviction": _from(1, "evict_normal evict_first evict_last"),
    "tmem_wait": _from(0, "load store"),
    "packed": _from(1, "add sub mul fma min max"),
    "spaces": {
        "none": 0,
        "local": 1,
        "global_read": 2,
        "global_write": 4,
        "tensor_read": 8,
        "tensor_write": 16,
        "all": 31,
    },
}


Types = Mapping[str, Sequence[Attribute]]
Rule = Callable[[Types], Sequence[Attribute]]
Implied = Attribute | Rule
"""A type, or what follows from the types that are known: name of a group -> its types."""

TOKEN = re.compile(
    r"""(?P<group>\()(?=[^()]*(?:\([^()]*\)[^()]*)*\)\?) | (?P<end>\)\?)
      | (?P<call>type|short|token|barriers|numbers|longs)\(\$(?P<first>\w+)(?:,\s\$(?P<second>\w+))?\)
      | \$(?P<name>\w+)(?:<(?P<enum>\w+)>)? | (?P<attributes>\{\}) | (?P<signature>signature) | (?P<operands>operands\b)
      | (?P<word>[A-Za-z_]+) | (?P<nothing>~) | (?P<sign>->|[^\s\w]) | (?P<blank>\s)""",
    re.VERBOSE,
)

UNIT = "unit"
OPERAND_SEGMENTS, RESULT_SEGMENTS = "operandSegmentSizes", "resultSegmentSizes"


@cache
def elements_of(form: str) -> tuple[Element, ...]:
    """The elements of a form, in order."""
    return read_elements(form, TOKEN, _element)


def _element(match: re.Match[str]) -> Element:
    if match["call"]:
        return Element(match["call"], match["first"], match["second"] or "")
    if match["name"]:
        return Element("enum" if match["enum"] else "name", match["name"], match["enum"] or "")
    assert match.lastgroup is not None
    return Element(match.lastgroup, match[0])


class TritonOp(IRDLOperation):
    """Base of the ops that are read and printed by a form."""

    FORM: ClassVar[str] = ""
    IMPLIED: ClassVar[Mapping[str, Implied]] = {}
    """Group of operands or results -> its types, where the text leaves them out."""
    SHORT: ClassVar[Mapping[str, type[ParametrizedAttribute]]] = {}
    """The types that `short` stands for, where they are others than views of memory."""
    DEFAULTS: ClassVar[Mapping[str, Attribute]] = {}
    """Attributes that the text leaves out where they have this value."""
    FORMERLY: ClassVar[Mapping[str, str]] = {}
    """Names that attributes had in earlier releases of Triton -> their names now."""
    FORMER_FORMS: ClassVar[Sequence[str]] = ()
    """Forms of other releases, which are read where `FORM` does not fit."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        refusals: list[ParseError] = []
        for form in (cls.FORM, *cls.FORMER_FORMS):
            reading = _Reading(parser, cls)
            try:
                reading.read_text(form)
                return cast("Self", reading.built(start))
            except ParseError as error:
                refusals.append(error)
                parser._resume_from(start)  # pyright: ignore[reportPrivateUsage]
        raise max(refusals, key=lambda error: error.span.start)

    def print(self, printer: Printer) -> None:
        _Writing(printer, self).write()


@dataclass
class _Reading:
    """Reads an op of class `op` by its form."""

    parser: Parser
    op: type[TritonOp]
    operands: dict[str, list[UnresolvedOperand]] = field(default_factory=dict[str, "list[UnresolvedOperand]"])
    types: dict[str, list[Attribute]] = field(default_factory=dict[str, "list[Attribute]"])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    signature: FunctionType | None = None

    def read_text(self, form: str) -> None:
        """Read what `form` shows, up to its end. No value is looked up before that."""
        self._elements(elements_of(form))

    def built(self, start: int) -> TritonOp:
        """The op that was read; its text begins at `start`."""
        definition = self.op.get_irdl_definition()
        operands = [(name, self.operands.get(name, [])) for name, _ in definition.operands]
        if self.signature is not None:
            self._take_signature(operands, [name for name, _ in definition.results], start)
        resolved: list[SSAValue] = []
        for name, unresolved in operands:
            kinds = self._types_of(name, len(unresolved))
            if len(kinds) != len(unresolved):
                self.parser.raise_error(f"{len(unresolved)} operands and {len(kinds)} types for '{name}'", start)
            self.types[name] = list(kinds)
            resolved += map(self.parser.resolve_operand, unresolved, kinds)
        results = [(name, self._types_of(name, None)) for name, _ in definition.results]
        properties = {**self.op.DEFAULTS}
        discardable: dict[str, Attribute] = {}
        for spelled, attribute in self.attributes.items():
            name = self.op.FORMERLY.get(spelled, spelled)
            (properties if name in definition.properties else discardable)[name] = attribute
        for option in definition.options:
            if isinstance(option, AttrSizedOperandSegments):
                properties[OPERAND_SEGMENTS] = DenseArrayBase.from_list(i32, [len(group) for _, group in operands])
            elif isinstance(option, AttrSizedResultSegments):
                properties[RESULT_SEGMENTS] = DenseArrayBase.from_list(i32, [len(group) for _, group in results])
        return self.op.create(
            operands=resolved,
            result_types=[kind for _, group in results for kind in group],
            properties=properties,
            attributes=discardable,
        )

    def _types_of(self, name: str, count: int | None) -> Sequence[Attribute]:
        """The types of the group `name`, of `count` operands if it is one of operands."""
        if name in self.types or count == 0:
            return self.types.get(name, [])
        implied = self.op.IMPLIED.get(name, [])
        if isinstance(implied, Attribute):
            return [implied] * (1 if count is None else count)
        return implied(self.types) if callable(implied) else implied

    def _take_signature(
        self, operands: Iterable[tuple[str, list[UnresolvedOperand]]], results: Sequence[str], start: int
    ) -> None:
        """Share out the types of a signature: the last group of results takes all that is left."""
        assert self.signature is not None
        inputs, outputs = list(self.signature.inputs.data), list(self.signature.outputs.data)
        for name, group in operands:
            if name not in self.op.IMPLIED:
                self.types[name], inputs = inputs[: len(group)], inputs[len(group) :]
        if inputs:
            self.parser.raise_error(f"{len(inputs)} types too many for the operands", start)
        for name in results[:-1]:
            self.types[name], outputs = outputs[:1], outputs[1:]
        if results:
            self.types[results[-1]] = outputs

    def _elements(self, elements: Sequence[Element]) -> None:
        for element in elements:
            if element.kind not in ("blank", "nothing"):
                getattr(self, f"_{element.kind}")(element)

    def _word(self, element: Element) -> None:
        self.parser.parse_keyword(element.text)

    def _sign(self, element: Element) -> None:
        self.parser.parse_punctuation(cast("Any", element.text))

    def _name(self, element: Element) -> None:
        definition = self.op.get_irdl_definition()
        kinds = dict(definition.operands)
        if element.text not in kinds:
            self.attributes[element.text] = _attribute(self.parser)
        elif isinstance(kinds[element.text], VariadicDef) and not isinstance(kinds[element.text], OptionalDef):
            self.operands[element.text] = self._list(self.parser.parse_unresolved_operand)
        else:
            self.operands[element.text] = [self.parser.parse_unresolved_operand()]

    def _list(self, parse: Callable[[], UnresolvedOperand]) -> list[UnresolvedOperand]:
        if (first := self.parser.parse_optional_unresolved_operand()) is None:
            return []
        found = [first]
        while self.parser.parse_optional_punctuation(",") is not None:
            found.append(parse())
        return found

    def _enum(self, element: Element) -> None:
        if element.second == UNIT:
            self.attributes[element.text] = UnitAttr()
            return
        words = WORDS[element.second]
        start = self.parser.pos
        bits = 0
        while True:
            word = self.parser.parse_identifier()
            if word not in words:
                self.parser.raise_error(f"'{word}' is none of {', '.join(words)}", start)
            bits |= words[word]
            if self.parser.parse_optional_punctuation("|") is None:
                break
        self.attributes[element.text] = IntegerAttr(bits, i32)

    def _type(self, element: Element) -> None:
        found: list[Attribute] = [self.parser.parse_type()]
        definition = self.op.get_irdl_definition()
        kind = dict([*definition.operands, *definition.results])[element.text]
        if isinstance(kind, VariadicDef) and not isinstance(kind, OptionalDef):
            while self.parser.parse_optional_punctuation(",") is not None:
                found.append(self.parser.parse_type())
        self.types[element.text] = found

    def _short(self, element: Element) -> None:
        if (full := self.parser.parse_optional_type()) is not None:
            self.types[element.text] = [full]
        else:
            kind = self.op.SHORT.get(element.text, MemDescType)
            self.types[element.text] = [kind.new(kind.parse_parameters(self.parser))]

    def _signature(self, _element: Element) -> None:
        self.signature = self.parser.parse_function_type()

    def _operands(self, _element: Element) -> None:
        types = self.parser.parse_comma_separated_list(self.parser.Delimiter.NONE, self.parser.parse_type)
        self.signature = FunctionType.from_lists(types, [])

    def _attributes(self, _element: Element) -> None:
        self.attributes |= self.parser.parse_optional_attr_dict()

    def _numbers(self, element: Element) -> None:
        self.attributes[element.text] = DenseArrayBase.from_list(i32, self._integers())

    def _longs(self, element: Element) -> None:
        self.attributes[element.text] = DenseArrayBase.from_list(i64, self._integers())

    def _integers(self) -> list[int]:
        numbers: list[int] = []
        if (first := self.parser.parse_optional_integer(allow_boolean=False)) is not None:
            numbers.append(first)
            while self.parser.parse_optional_punctuation(",") is not None:
                numbers.append(self.parser.parse_integer(allow_boolean=False))
        return numbers

    def _token(self, element: Element) -> None:
        if self.parser.parse_optional_punctuation("[") is None:
            self.types[element.second] = []
            return
        dependency = self.parser.parse_optional_unresolved_operand()
        self.operands[element.text] = [] if dependency is None else [dependency]
        self.parser.parse_punctuation("]")

    def _barriers(self, element: Element) -> None:
        barriers, predicates = self.operands.setdefault(element.text, []), self.operands.setdefault(element.second, [])
        while self.parser.parse_optional_punctuation(",") is not None:
            barriers.append(self.parser.parse_unresolved_operand())
            self.parser.parse_punctuation("[")
            predicates.append(self.parser.parse_unresolved_operand())
            self.parser.parse_punctuation("]")

    def _optional(self, element: Element) -> None:
        inside = [each for each in element.inside if each.kind not in ("blank", "nothing")]
        first = inside[0]
        if first.kind == "word":
            present = self.parser.parse_optional_keyword(first.text) is not None
        elif first.kind == "sign":
            present = self.parser.parse_optional_punctuation(cast("Any", first.text)) is not None
        elif first.kind == "type":
            kind = self.parser.parse_optional_type()
            self.types[first.text] = [] if kind is None else [kind]
            present = kind is not None
        else:
            operand = self.parser.parse_optional_unresolved_operand()
            if operand is not None:
                self.operands[first.text] = [operand]
                while self.parser.parse_optional_punctuation(",") is not None:
                    self.operands[first.text].append(self.parser.parse_unresolved_operand())
            present = operand is not None
        if present:
            self._elements(inside[1:])


def _attribute(parser: Parser) -> Attribute:
    """An attribute that stands in the text: a number is an i32, as all such numbers are."""
    number = parser.parse_optional_integer(allow_boolean=False)
    return IntegerAttr(number, i32) if number is not None else parser.parse_attribute()


class _Writing:
    """Prints `op` by its form."""

    def __init__(self, printer: Printer, op: TritonOp) -> None:
        self.printer = printer
        self.op = op
        self.definition = op.get_irdl_definition()
        self.groups = {name: _group(op, name) for name, _ in (*self.definition.operands, *self.definition.results)}
        self.shown = set[str]()

    def write(self) -> None:
        elements = elements_of(self.op.FORM)
        self.shown = set(_attributes_in(elements)) | {OPERAND_SEGMENTS, RESULT_SEGMENTS}
        if elements and elements[0].kind not in ("optional", "attributes"):
            self.printer.print_string(" ")
        self._elements(elements)

    def _elements(self, elements: Sequence[Element]) -> None:
        for number, element in enumerate(elements):
            follows_nothing = number + 1 < len(elements) and elements[number + 1].kind == "attributes"
            if element.kind != "blank" or not follows_nothing:
                getattr(self, f"_{element.kind}")(element)

    def _blank(self, _element: Element) -> None:
        self.printer.print_string(" ")

    def _word(self, element: Element) -> None:
        self.printer.print_string(element.text)

    _sign = _word

    def _nothing(self, _element: Element) -> None:
        """Nothing."""

    def _name(self, element: Element) -> None:
        if element.text in self.groups:
            self.printer.print_list(self.groups[element.text], self.printer.print_operand)
            return
        attribute = self.op.properties[element.text]
        if isinstance(attribute, IntegerAttr):
            self.printer.print_string(str(attribute.value.data))
        else:
            self.printer.print_attribute(attribute)

    def _enum(self, element: Element) -> None:
        if element.second == UNIT:
            return
        number = cast("IntegerAttr[Any]", self.op.properties[element.text]).value.data
        words = WORDS[element.second]
        alone = [word for word, value in words.items() if value == number]
        self.printer.print_string(
            alone[0] if alone else "|".join(word for word, bits in words.items() if bits and bits & number == bits)
        )

    def _type(self, element: Element) -> None:
        self.printer.print_list(self.groups[element.text], lambda value: self.printer.print_attribute(value.type))

    def _short(self, element: Element) -> None:
        (value,) = self.groups[element.text]
        if isinstance(value.type, self.op.SHORT.get(element.text, MemDescType)):
            value.type.print_parameters(self.printer)
        else:
            self.printer.print_attribute(value.type)

    def _operands(self, _element: Element) -> None:
        self.printer.print_list(self.op.operand_types, self.printer.print_attribute)

    def _signature(self, _element: Element) -> None:
        implied = self.op.IMPLIED
        inputs = [
            value.type for name, _ in self.definition.operands if name not in implied for value in self.groups[name]
        ]
        outputs = list(self.op.result_types)
        self.printer.print_string("(")
        self.printer.print_list(inputs, self.printer.print_attribute)
        self.printer.print_string(") -> " if len(outputs) == 1 else ") -> (")
        self.printer.print_list(outputs, self.printer.print_attribute)
        self.printer.print_string("" if len(outputs) == 1 else ")")

    def _attributes(self, _element: Element) -> None:
        rest = {name: value for name, value in self.op.properties.items() if name not in self.shown}
        defaults = self.op.DEFAULTS
        rest = {name: value for name, value in rest.items() if defaults.get(name) != value} | self.op.attributes
        if rest:
            self.printer.print_string(" ")
            self.printer.print_attr_dict(dict(sorted(rest.items())))

    def _numbers(self, element: Element) -> None:
        array = cast("DenseArrayBase[Any]", self.op.properties[element.text])
        self.printer.print_string(", ".join(str(number) for number in array.get_values()))

    _longs = _numbers

    def _token(self, element: Element) -> None:
        if self.groups[element.second]:
            self.printer.print_string("[")
            self.printer.print_list(self.groups[element.text], self.printer.print_operand)
            self.printer.print_string("]")

    def _barriers(self, element: Element) -> None:
        for barrier, predicate in zip(self.groups[element.text], self.groups[element.second], strict=True):
            self.printer.print_string(", ")
            self.printer.print_operand(barrier)
            self.printer.print_string("[")
            self.printer.print_operand(predicate)
            self.printer.print_string("]")

    def _optional(self, element: Element) -> None:
        named = next(each.text for each in element.inside if each.kind in ("name", "enum", "type", "numbers", "longs"))
        said = self.op.properties.get(named)
        if self.groups.get(named) or (said is not None and said != self.op.DEFAULTS.get(named)):
            self._elements(element.inside)


def _attributes_in(elements: Iterable[Element]) -> Iterable[str]:
    """The names that a form gives a place of their own."""
    for element in elements:
        if element.kind in ("name", "enum", "numbers", "longs"):
            yield element.text
        yield from _attributes_in(element.inside)


def _group(op: Operation, name: str) -> Sequence[SSAValue]:
    """The values of a group of operands or results."""
    found: Any = getattr(op, name)
    if found is None:
        return ()
    return cast("Sequence[SSAValue]", [found] if isinstance(found, SSAValue) else list(found))


def same(name: str) -> Rule:
    """The types of the group `name`."""
    return lambda types: types[name]
