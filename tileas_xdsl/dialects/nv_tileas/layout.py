"""
The layout of a tile, as the encoding of its type.

    #nv_tileas.layout<smem>                                                 where the tile lies
    #nv_tileas.layout<smem, "swizzled">                                     and how, in words that passes share
    #nv_tileas.layout<smem, swizzle<128>, order = [1, 0]>                   and how, to the bit: see layouts/forms.py
    #nv_tileas.layout<rmem, mma<m64n128k16, operand = acc, warps = 4>>

The quoted spelling `#nv_tileas.layout<"smem", "">` is read too. `order` may stand behind a memory layout as well as in
it; it is printed behind it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    FixedBitwidthType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    IndexType,
    IntegerType,
    NoneAttr,
    ShapedType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Data, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.tiles.types import RESIDENCIES, element_type_of
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.exchange import exchange
from tileas_xdsl.layouts.forms import DataPath, LayoutForm, Swizzled, read_form
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.terms import Term, Value, printed

COPY_WIDTH = re.compile(r'"selp (\d+) bytes"')
"""How the atom of a copy between registers says its width."""
SIX_BIT_FLOATS = (Float6E2M3FNType, Float6E3M2FNType)
BYTE_BITS = 8
INDEX_BITS = 64
"""Of a number that counts elements of arrays: addresses of GPUs have as many."""
PACKED_BYTES = 4
"""The width of a copy between registers of elements that share a byte: a register. Packing fixes it."""


@irdl_attr_definition
class LayoutFormAttr(Data[LayoutForm]):
    """The part of a layout that says which bits; it is only ever printed within `LayoutAttr`."""

    name = "nv_tileas.layout_form"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> LayoutForm:
        with parser.in_angle_brackets():
            return _parse_form(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))


@irdl_attr_definition
class LayoutAttr(ParametrizedAttribute):
    """
    The encoding of a tile.

    `space` is one of `RESIDENCIES`. `tag` is free text, empty where it says nothing. `form` says the layout to the
    bit, or is `NoneAttr`; a layout has a tag or a form, not both.
    """

    name = "nv_tileas.layout"

    space: StringAttr
    tag: StringAttr
    form: Attribute

    @staticmethod
    def of(space: str, tag: str = "", form: LayoutForm | None = None) -> LayoutAttr:
        """The layout in memory `space`, in words or to the bit."""
        return LayoutAttr(StringAttr(space), StringAttr(tag), NoneAttr() if form is None else LayoutFormAttr(form))

    @property
    def bits(self) -> LayoutForm | None:
        """The layout to the bit, None where words are all there is."""
        return self.form.data if isinstance(self.form, LayoutFormAttr) else None

    def verify(self) -> None:
        if self.space.data not in RESIDENCIES:
            raise VerifyException(f"a layout lives in one of {', '.join(RESIDENCIES)}, not in '{self.space.data}'")
        if self.bits is None:
            return
        if self.tag.data:
            raise VerifyException("a layout is said in words or to the bit, not both")
        if self.bits.in_registers != (self.space.data == "rmem"):
            where = "registers" if self.bits.in_registers else "memory"
            raise VerifyException(f"{self.bits} is a layout of {where}, not of {self.space.data}")
        if isinstance(self.bits, DataPath) and self.space.data != "tmem":
            raise VerifyException(f"{self.bits} is a layout of tensor memory, not of {self.space.data}")

    def verify_tile(self, tile: Attribute) -> None:
        """Raises `VerifyException` where the layout does not give every element of `tile` a place of its own."""
        try:
            linear_layout(tile)
        except LayoutError as error:
            raise VerifyException(f"has a tile {tile} whose layout does not fit: {error}") from None

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        tag, form = "", None
        with parser.in_angle_brackets():
            space = parser.parse_identifier_or_str_literal(" for the memory space of a layout")
            if parser.parse_optional_punctuation(",") is not None:
                tag = parser.parse_optional_str_literal()
                form = _parse_form(parser) if tag is None else None
        attribute = NoneAttr() if form is None else LayoutFormAttr(form)
        return (StringAttr(space), StringAttr(tag or ""), attribute)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.space.data)
            if self.tag.data:
                printer.print_string(", ")
                printer.print_string_literal(self.tag.data)
            if self.bits is not None:
                printer.print_string(f", {_printed_form(self.bits)}")


def _printed_form(form: LayoutForm) -> str:
    """As `forms.py` writes it; the order of a memory layout stands behind it."""
    if not isinstance(form, Swizzled) or form.order is None:
        return str(form)
    return f"{Swizzled(form.width)}, order = {printed(form.order)}"


def _parse_form(parser: AttrParser) -> LayoutForm:
    start = parser.pos
    term = _parse_term(parser)
    behind: list[tuple[str, Value]] = []
    while parser.parse_optional_punctuation(",") is not None:
        key = parser.parse_identifier(" for what is said of a layout")
        parser.parse_punctuation("=")
        behind.append((key, _parse_value(parser)))
    try:
        return read_form(Term(term.name, term.positional, (*term.named, *behind)))
    except LayoutError as error:
        parser.raise_error(str(error), start)


def _parse_term(parser: AttrParser) -> Term:
    name = parser.parse_identifier(" for the name of a layout")
    return _parse_arguments(parser, name)


def _parse_arguments(parser: AttrParser, name: str) -> Term:
    positional: list[Value] = []
    named: list[tuple[str, Value]] = []
    if parser.parse_optional_punctuation("<") is None:
        return Term(name)
    while parser.parse_optional_punctuation(">") is None:
        if positional or named:
            parser.parse_punctuation(",")
        key = parser.parse_optional_identifier()
        if key is None:
            positional.append(_parse_value(parser))
        elif parser.parse_optional_punctuation("=") is not None:
            named.append((key, _parse_value(parser)))
        else:
            positional.append(_parse_arguments(parser, key))
    return Term(name, tuple(positional), tuple(named))


def _parse_value(parser: AttrParser) -> Value:
    text = parser.parse_optional_str_literal()
    if text is not None:
        return text
    integer = parser.parse_optional_integer(allow_boolean=False)
    if integer is not None:
        return integer
    entries = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_value(parser))
    return tuple(entries) if entries is not None else _parse_term(parser)


# Tiles ----------------------------------------------------------------------------------------------------------------


def layout_of(type_: Attribute) -> LayoutAttr | None:
    """The layout of a tile, or None where the type does not say."""
    encoding = type_.encoding if isinstance(type_, TensorType) else None
    return encoding if isinstance(encoding, LayoutAttr) else None


def form_of(type_: Attribute) -> LayoutForm | None:
    """The layout of a tile type to the bit, None where it has none or has one in words."""
    layout = layout_of(type_)
    return None if layout is None else layout.bits


def element_bits(type_: Attribute) -> int | None:
    """
    The bits that an element takes where it is held, or None where that depends on the target. A float of 6 bits takes a
    byte, as in the registers that the tensor core reads (PTX ISA, "mma", `.kind::f8f6f4`).
    """
    if has_six_bit_floats(type_):
        return BYTE_BITS
    element = element_type_of(type_)
    if isinstance(element, IndexType):
        return INDEX_BITS
    return element.bitwidth if isinstance(element, FixedBitwidthType | IntegerType) else None


def has_six_bit_floats(type_: Attribute) -> bool:
    """
    Whether the elements are floats of 6 bits. TMA and the products that read shared memory want them otherwise than one
    a byte there: 16 of them in 12 bytes, and 4 that are left empty (PTX ISA, `.b6x16_p32`).
    """
    return isinstance(element_type_of(type_), SIX_BIT_FLOATS)


def linear_layout(type_: Attribute) -> LinearLayout | None:
    """The bits of a tile type, None where it does not say them. Raises `LayoutError` where they do not fit the tile."""
    form, bits = form_of(type_), element_bits(type_)
    if form is None or bits is None:
        return None
    return _linear(form, cast(ShapedType, type_).get_shape(), bits)


def verify_within_warps(source: Attribute, result: Attribute) -> None:
    """Raises `VerifyException` where a conversion between registers has to take elements to another warp."""
    before, after, bits = linear_layout(source), linear_layout(result), element_bits(source)
    if before is None or after is None or bits is None:
        return
    try:
        exchange(before, after, bits)
    except LayoutError as error:
        raise VerifyException(f"expects an atom plan of tag 0 to stay in registers, but {error}") from None


def verify_packed_width(tile: Attribute, atom: Attribute | None) -> None:
    """Raises `VerifyException` where an atom copies elements that share a byte by less than a register."""
    bits, said = element_bits(tile), COPY_WIDTH.search(str(atom))
    if said is None or bits is None or bits >= BYTE_BITS:
        return
    if int(said[1]) < PACKED_BYTES:
        raise VerifyException(
            f"copies elements of {bits} bits by {said[1]} bytes, and packing fixes the width of such copies: "
            f"{PACKED_BYTES} bytes"
        )


@lru_cache(maxsize=1024)
def _linear(form: LayoutForm, shape: tuple[int, ...], bits: int) -> LinearLayout:
    return form.linear(shape, bits)
