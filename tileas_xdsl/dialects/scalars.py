"""
How large numbers are, by their types: in memory, and as hardware packs them. Nothing here computes with them.

A type narrower than a byte takes one byte in memory. A type that holds no numbers (a token, an address) has no size.

MLIR and xDSL lack one four-bit float of block-scaled arithmetic, which is defined here:

    tensor<128x64x!nv_tileas.f4E0M3>

E0M3 has a sign and three bits of magnitude, without exponent. The rules of block-scaled multiplication
(`nv_tileas/block_scaled.py`) speak of families: two FP4 types, two FP8 types, two types of scale factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    ComplexType,
    ContainerType,
    FixedBitwidthType,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition


@irdl_attr_definition
class Float4E0M3Type(ParametrizedAttribute, FixedBitwidthType):
    """`!nv_tileas.f4E0M3`: four bits, a sign and a magnitude of three bits."""

    name = "nv_tileas.f4E0M3"

    @property
    def bitwidth(self) -> int:
        return 4

    @property
    def compile_time_size(self) -> int:
        return self.size


def is_fp4(type_: Attribute) -> bool:
    """Whether `type_` is one of the two four-bit floats."""
    return isinstance(type_, Float4E2M1FNType | Float4E0M3Type)


def is_fp8(type_: Attribute) -> bool:
    """Whether `type_` is one of the two eight-bit floats that matrix multiplication takes."""
    return isinstance(type_, Float8E5M2Type | Float8E4M3FNType)


def is_float(type_: Attribute) -> bool:
    """Whether `type_` is a floating-point type, E0M3 included."""
    return isinstance(type_, AnyFloat | Float4E0M3Type)


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
