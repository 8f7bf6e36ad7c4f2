"""
How large numbers are, by their types: in memory, and as hardware packs them. Nothing here computes with them.

A type narrower than a byte takes one byte in memory. A type that holds no numbers (a token, an address) has no size.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    ComplexType,
    ContainerType,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute

SMALL_FLOATS: Mapping[str, str] = {
    "f8E5M2": "float8_e5m2",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E4M3": "float8_e4m3",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E3M4": "float8_e3m4",
    "f8E8M0FNU": "float8_e8m0fnu",
    "f6E2M3FN": "float6_e2m3fn",
    "f6E3M2FN": "float6_e3m2fn",
    "f4E2M1FN": "float4_e2m1fn",
}
"""Floats of at most a byte, by MLIR's keyword: their names in `ml_dtypes`."""
WIDEST_INTEGER = 64
OPAQUE_BITS = 32
"""An element of a type without numbers counts as this many bits."""


def scalar_of(attribute: Attribute) -> Attribute:
    """The element type of a tensor, vector, tile or memref type; a scalar type itself."""
    if isinstance(attribute, ContainerType) and not isinstance(attribute, ComplexType):
        return cast(ContainerType[Attribute], attribute).get_element_type()
    return attribute


def small_float(attribute: Attribute) -> str | None:
    """The name in `ml_dtypes` of a float of at most a byte; None for any other type."""
    return SMALL_FLOATS.get(str(attribute).rpartition(".")[2].lstrip("!"))


@cache
def scalar_bytes(attribute: Attribute) -> int | None:
    """The bytes that one number of a scalar type takes in memory, or None where the type holds no numbers."""
    match attribute:
        case IntegerType():
            return _integer_bytes(attribute.width.data)
        case Float16Type() | BFloat16Type():
            return 2
        case Float32Type():
            return 4
        case Float64Type() | IndexType():
            return 8
        case _:
            return 1 if small_float(attribute) is not None else None


def _integer_bytes(width: int) -> int | None:
    return next((bits // 8 for bits in (8, 16, 32, WIDEST_INTEGER) if bits >= width), None)


def is_number(attribute: Attribute) -> bool:
    """Whether values of the type are numbers, or tiles of numbers, rather than tokens and addresses."""
    return scalar_bytes(scalar_of(attribute)) is not None


def packed_bits(attribute: Attribute) -> int:
    """Bits of an element of a shaped type, or of a scalar: less than a byte where the type says so."""
    scalar = scalar_of(attribute)
    if isinstance(scalar, FixedBitwidthType):
        return scalar.bitwidth
    size = scalar_bytes(scalar)
    return 8 * size if size is not None else OPAQUE_BITS
