"""
The four-bit float of block-scaled arithmetic that MLIR and xDSL lack, and the families of block-scaled types.

    tensor<128x64x!nv_tileas.f4E0M3>

E0M3 has a sign and three bits of magnitude, without exponent. The rules of block-scaled multiplication
(`nv_tileas/block_scaled.py`) speak of families: two FP4 types, two FP8 types, two types of scale factors.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    AnyFloat,
    FixedBitwidthType,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
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
