"""
Elements of constants: bits of each number, as text and as the bytes of the bytecode.

A float is written as `%.6e` where that is exact for its type, with more digits else, and as hexadecimal bits where it
is no finite number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import cast

from xdsl.dialects.builtin import FixedBitwidthType, PackableType, i1
from xdsl.ir import Attribute
from xdsl.parser import AttrParser

from tileas_xdsl.dialects.cuda_tile.types import Float8E5M3FNUType, integer_width, short

DIGITS = range(6, 18)
"""Digits behind the point that are tried until the number is exact."""


@cache
def bits_per_element(element: Attribute) -> int:
    """The width of a number; a `tf32` has 19 bits."""
    if (width := integer_width(element)) is not None:
        return width
    assert isinstance(element, FixedBitwidthType)
    return element.bitwidth


@cache
def bytes_per_element(element: Attribute) -> int:
    """The bytes that one number takes in a constant."""
    return (bits_per_element(element) + 7) // 8


def packed_elements(element: Attribute, elements: Sequence[int]) -> bytes:
    """The bytes of a constant with these bits; one element where all are equal."""
    uniform = all(bits == elements[0] for bits in elements)
    if element == i1:
        if uniform:
            return b"\xff" if elements[0] else b"\x00"
        packed = sum(bits << place for place, bits in enumerate(elements))
        return packed.to_bytes((len(elements) + 7) // 8, "little")
    size = bytes_per_element(element)
    return b"".join(bits.to_bytes(size, "little") for bits in (elements[:1] if uniform else elements))


def unpacked_elements(element: Attribute, data: bytes, count: int) -> list[int]:
    """The bits of `count` elements that are not all equal."""
    if element == i1:
        packed = int.from_bytes(data, "little")
        return [packed >> place & 1 for place in range(count)]
    size = bytes_per_element(element)
    return [int.from_bytes(data[start : start + size], "little") for start in range(0, count * size, size)]


def number_of(element: Attribute, bits: int) -> int | float:
    """The number that `bits` stand for: a signed integer, a float, or of i1 0 or 1."""
    if (width := integer_width(element)) is not None:
        return bits - (1 << width) if width > 1 and bits >> (width - 1) else bits
    if isinstance(element, Float8E5M3FNUType):
        return bits
    packable = cast("PackableType[float]", element)
    return packable.unpack(bits.to_bytes(packable.compile_time_size, "little"), 1)[0]


def bits_of(element: Attribute, number: float) -> int:
    """
    The bits of the nearest number of the type, which may be an infinity. Raises `OverflowError` for an integer that
    does not fit.
    """
    if (width := integer_width(element)) is not None:
        whole = int(number)
        if not -(1 << (width - 1)) <= whole < 1 << width:
            raise OverflowError(f"{whole} does not fit {short(element)}")
        return whole & ((1 << width) - 1)
    if isinstance(element, Float8E5M3FNUType):
        return int(number)
    packable = cast("PackableType[float]", element)
    try:
        packed = packable.pack([float(number)])
    except OverflowError:
        packed = packable.pack([math.copysign(math.inf, number)])
    return int.from_bytes(packed, "little") & ((1 << bits_per_element(element)) - 1)


def _is_whole(element: Attribute) -> bool:
    """Whether numbers of the type are written as whole numbers: integers, and the float that xDSL does not know."""
    return integer_width(element) is not None or isinstance(element, Float8E5M3FNUType)


def element_text(element: Attribute, bits: int) -> str:
    """The number as MLIR writes it."""
    if element == i1:
        return "true" if bits else "false"
    if _is_whole(element):
        return str(number_of(element, bits))
    number = number_of(element, bits)
    if not math.isfinite(number):
        return f"0x{bits:0{2 * bytes_per_element(element)}X}"
    for digits in DIGITS:
        text = f"{number:.{digits}e}"
        if bits_of(element, float(text)) == bits:
            return text
    return f"0x{bits:0{2 * bytes_per_element(element)}X}"


def element_from_text(parser: AttrParser, element: Attribute) -> int:
    """Read a number; its bits. Raises `ParseError` where it does not fit the type."""
    start = parser.pos
    if element == i1:
        if (truth := parser.parse_optional_boolean()) is not None:
            return int(truth)
    hexadecimal = parser._current_token.text.startswith("0x")  # pyright: ignore[reportPrivateUsage]
    number = parser.parse_number(allow_boolean=False)
    if _is_whole(element):
        if isinstance(number, float):
            parser.raise_error(f"{number} is no whole number", start, parser.pos)
    elif hexadecimal:
        if int(number) >> bits_per_element(element):
            parser.raise_error(f"{short(element)} has {bits_per_element(element)} bits", start, parser.pos)
        return int(number)
    try:
        return bits_of(element, number)
    except (OverflowError, ValueError):
        parser.raise_error(f"{number} does not fit {short(element)}", start, parser.pos)
