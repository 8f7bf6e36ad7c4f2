"""
The attributes of `cuda_tile` that are no enumerations: constants, facts of `assume`, hints. (`debug.py` has others.)

    div_by<16, every 4 along 0>      bounded<0, ?>      same_elements<[1, 4]>
    <default = {}, sm_90 = {occupancy = 2}>
    <f32: [1.000000e+00, 0xFF800000]> : tile<2xf32>

Source: public definitions of CUDA Tile IR, release 13.3 (NVIDIA/cuda-tile).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DictionaryAttr,
    IntAttr,
    IntegerAttr,
    NoneAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.cuda_tile.debug import DEBUG
from tileas_xdsl.dialects.cuda_tile.elements import (
    bytes_per_element,
    element_from_text,
    element_text,
    packed_elements,
    unpacked_elements,
)
from tileas_xdsl.dialects.cuda_tile.types import TileType, is_number, numbers, parse_type, plain, short

# Facts ----------------------------------------------------------------------------------------------------------------


@irdl_attr_definition
class DivByAttr(ParametrizedAttribute):
    """`div_by<16, every 4 along 0>`: the divisor of all elements, or of the first of each 4 along axis 0."""

    name = "cuda_tile.div_by"

    divisor: IntAttr
    every: Attribute
    along: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        every: Attribute = NoneAttr()
        along: Attribute = NoneAttr()
        with parser.in_angle_brackets():
            divisor = parser.parse_integer(allow_boolean=False, allow_negative=False)
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("every")
                every = IntAttr(parser.parse_integer())
                if parser.parse_optional_keyword("along") is not None:
                    along = IntAttr(parser.parse_integer())
        return [IntAttr(divisor), every, along]

    def print_parameters(self, printer: Printer) -> None:
        every = f", every {_bound_text(self.every)}" if self.every != NoneAttr() else ""
        along = f" along {_bound_text(self.along)}" if self.along != NoneAttr() else ""
        printer.print_string(f"<{self.divisor.data}{every}{along}>")

    def verify(self) -> None:
        divisor = self.divisor.data
        if divisor <= 0 or divisor & (divisor - 1) or divisor > 2**62:
            raise VerifyException(f"a divisor is a power of two up to 2^62, not {divisor}")


@irdl_attr_definition
class SameElementsAttr(ParametrizedAttribute):
    """`same_elements<[1, 4]>`: groups of so many elements along each axis are equal."""

    name = "cuda_tile.same_elements"

    groups: ArrayAttr[IntAttr]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [numbers(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{list(plain(self.groups))}>")


@irdl_attr_definition
class BoundedAttr(ParametrizedAttribute):
    """`bounded<0, ?>`: the least and the largest value, signed, both inclusive; `?` where there is none."""

    name = "cuda_tile.bounded"

    lower: Attribute
    upper: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            lower = _parse_bound(parser)
            parser.parse_punctuation(",")
            return [lower, _parse_bound(parser)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{_bound_text(self.lower)}, {_bound_text(self.upper)}>")


def _parse_bound(parser: AttrParser) -> Attribute:
    return NoneAttr() if parser.parse_optional_punctuation("?") is not None else IntAttr(parser.parse_integer())


def _bound_text(bound: Attribute) -> str:
    match bound:
        case IntAttr():
            return str(bound.data)
        case _:
            return "?"


FACTS = {"div_by": DivByAttr, "same_elements": SameElementsAttr, "bounded": BoundedAttr}


def parse_fact(parser: AttrParser) -> Attribute:
    """What `assume` takes for granted, without the prefix or with it."""
    for word, kind in FACTS.items():
        if parser.parse_optional_keyword(word) is not None:
            return kind.new(kind.parse_parameters(parser))
    start = parser.pos
    fact = parser.parse_optional_attribute()
    if not isinstance(fact, DivByAttr | SameElementsAttr | BoundedAttr):
        parser.raise_error(f"expected one of {', '.join(FACTS)}", start, parser.pos)
    return fact


# Hints ----------------------------------------------------------------------------------------------------------------


@irdl_attr_definition
class HintsAttr(ParametrizedAttribute):
    """`<default = {}, sm_90 = {occupancy = 2}>`: wishes by target."""

    name = "cuda_tile.optimization_hints"

    targets: DictionaryAttr

    def for_target(self, target: str) -> dict[str, int]:
        """The numbers that are wished for a chip (`sm_90a`): its own, and `default` ones where it has none."""
        found: dict[str, int] = {}
        for key in ("default", target.rstrip("af")):
            wishes = self.targets.data.get(key)
            for name, value in wishes.data.items() if isinstance(wishes, DictionaryAttr) else ():
                if isinstance(value, IntegerAttr):
                    found[name] = value.value.data
        return found

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        entries = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, lambda: _parse_target(parser))
        return [DictionaryAttr(dict(entries))]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{', '.join(f'{key} = {_hint_text(hint)}' for key, hint in self.targets.data.items())}>")


def _parse_target(parser: AttrParser) -> tuple[str, Attribute]:
    key = parser.parse_identifier()
    parser.parse_punctuation("=")
    entries = parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: _parse_hint(parser))
    return key, DictionaryAttr(dict(entries))


def _parse_hint(parser: AttrParser) -> tuple[str, Attribute]:
    key = parser.parse_identifier()
    parser.parse_punctuation("=")
    if (truth := parser.parse_optional_boolean()) is not None:
        return key, IntegerAttr(int(truth), i1)
    if (number := parser.parse_optional_integer(allow_boolean=False)) is not None:
        return key, IntegerAttr(number, i32)
    return key, parser.parse_attribute()


def _hint_text(hint: Attribute) -> str:
    match hint:
        case DictionaryAttr():
            return f"{{{', '.join(f'{key} = {_hint_text(value)}' for key, value in hint.data.items())}}}"
        case IntegerAttr() if hint.type == i1:
            return "true" if hint.value.data else "false"
        case IntegerAttr() if hint.type == i32:
            return str(hint.value.data)
        case _:
            return str(hint)


# Constants ------------------------------------------------------------------------------------------------------------


@irdl_attr_definition
class ConstantAttr(ParametrizedAttribute):
    """
    `<i32: [1, 2]> : tile<2xi32>`: the numbers of a tile, in row-major order.

    `data` holds them as the bytecode does: little-endian, one element where all are equal; tiles of i1 that are not all
    equal are packed, lowest bit first.
    """

    name = "cuda_tile.constant_value"

    type: TileType
    data: BytesAttr

    @property
    def is_uniform(self) -> bool:
        """Whether one element stands for all."""
        if self.type.element_type == i1:
            return self.data.data in (b"\xff", b"\x00")
        return len(self.data.data) == bytes_per_element(self.type.element_type)

    def elements(self) -> list[int]:
        """The bits of each element, in row-major order; one where all are equal."""
        if self.is_uniform:
            width = 1 if self.type.element_type == i1 else None
            bits = int.from_bytes(self.data.data, "little")
            return [bits & 1 if width else bits]
        return unpacked_elements(self.type.element_type, self.data.data, _size(self.type))

    @classmethod
    def of(cls, kind: TileType, elements: Sequence[int]) -> ConstantAttr:
        """The constant with these bits; one element, or equal elements, stand for all."""
        return cls(kind, BytesAttr(packed_elements(kind.element_type, elements)))

    @classmethod
    def parse_body(cls, parser: AttrParser) -> ConstantAttr:
        """Read `<i32: [1, 2]> : tile<2xi32>`."""
        start = parser.pos
        with parser.in_angle_brackets():
            element = parse_type(parser)
            parser.parse_punctuation(":")
            literal = _parse_nested(parser, element)
        parser.parse_punctuation(":")
        kind = parse_type(parser)
        if not isinstance(kind, TileType):
            parser.raise_error(f"a constant is a tile, not {short(kind)}", start, parser.pos)
        if kind.element_type != element:
            message = f"the elements are {short(element)}, and the tile holds {short(kind.element_type)}"
            parser.raise_error(message, start, parser.pos)
        if isinstance(literal, int):
            return cls.of(kind, [literal])
        shape = _shape_of(literal, parser, start)
        if shape != kind.get_shape():
            parser.raise_error(f"the numbers have extents {list(shape)}, not {list(kind.get_shape())}", start)
        return cls.of(kind, _flat(literal))

    def body_text(self) -> str:
        """`<i32: [1, 2]> : tile<2xi32>`"""
        element = self.type.element_type
        texts = [element_text(element, bits) for bits in self.elements()]
        literal = texts[0] if self.is_uniform else _nested_text(texts, self.type.get_shape())
        return f"<{short(element)}: {literal}> : {short(self.type)}"

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return cls.parse_body(parser).parameters

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.body_text()}>")

    def verify(self) -> None:
        if not is_number(self.type.element_type):
            raise VerifyException(f"a constant is a tile of numbers, not {short(self.type)}")
        if self.is_uniform:
            return
        needed = len(packed_elements(self.type.element_type, [0, 1] * _size(self.type))) // 2
        if self.type.element_type == i1:
            needed = (_size(self.type) + 7) // 8
        if len(self.data.data) != needed:
            raise VerifyException(f"{len(self.data.data)} bytes are no constant of {short(self.type)}")


def _size(kind: TileType) -> int:
    size = 1
    for extent in kind.get_shape():
        size *= extent
    return size


def _parse_nested(parser: AttrParser, element: Attribute) -> int | list[object]:
    rows = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_nested(parser, element))
    return element_from_text(parser, element) if rows is None else list(rows)


def _shape_of(literal: object, parser: AttrParser, start: int) -> tuple[int, ...]:
    if not isinstance(literal, list):
        return ()
    rows = cast("list[object]", literal)
    shapes = {_shape_of(row, parser, start) for row in rows}
    if len(shapes) != 1:
        parser.raise_error("a constant has rows, all of the same extents", start)
    return len(rows), *shapes.pop()


def _flat(literal: object) -> list[int]:
    if isinstance(literal, list):
        return [number for row in cast("list[object]", literal) for number in _flat(row)]
    return [cast(int, literal)]


def _nested_text(texts: Sequence[str], shape: Sequence[int]) -> str:
    if not shape:
        return texts[0]
    step = len(texts) // shape[0]
    rows = (texts[start : start + step] for start in range(0, len(texts), step))
    return f"[{', '.join(_nested_text(row, shape[1:]) for row in rows)}]"


ATTRIBUTES = [DivByAttr, SameElementsAttr, BoundedAttr, HintsAttr, ConstantAttr, *DEBUG]
