"""Tags of types, attributes and debug information in the bytecode."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatTF32Type,
    IntegerType,
)
from xdsl.ir import Attribute

from tileas_xdsl.dialects.cuda_tile.rows import Version
from tileas_xdsl.dialects.cuda_tile.types import FLOATS as FLOAT_CLASSES
from tileas_xdsl.dialects.cuda_tile.types import TOKEN, Float8E5M3FNUType

SIMPLE: Mapping[int, Attribute] = {
    0: IntegerType(1),
    1: IntegerType(8),
    2: IntegerType(16),
    3: IntegerType(32),
    4: IntegerType(64),
    5: Float16Type(),
    6: BFloat16Type(),
    7: Float32Type(),
    8: FloatTF32Type(),
    9: Float64Type(),
    10: Float8E4M3FNType(),
    11: Float8E5M2Type(),
    17: TOKEN,
    18: Float8E8M0FNUType(),
    19: Float4E2M1FNType(),
    22: IntegerType(4),
    130: Float8E5M3FNUType(),
}
"""Tag -> the type that has no payload."""
TAG_OF: Mapping[Attribute, int] = {kind: tag for tag, kind in SIMPLE.items()}
SINCE: Mapping[int, Version] = {18: (13, 2), 19: (13, 3), 20: (13, 3), 21: (13, 3), 22: (13, 3), 130: (13, 4)}
"""Tag of a type -> the first version that has it; the others are of 13.1."""
FLOATS = tuple(kind for kind in SIMPLE.values() if isinstance(kind, FLOAT_CLASSES))

POINTER, TILE, TENSOR_VIEW, PARTITION_VIEW, FUNCTION = range(12, 17)
GATHER_SCATTER_VIEW, STRIDED_VIEW = 20, 21

INTEGER, FLOAT, BOOL, TYPE, STRING, ARRAY, DENSE, DIV_BY, SAME_ELEMENTS, DICTIONARY, HINTS, BOUNDED = range(1, 13)

COMPILE_UNIT, FILE, LEXICAL_BLOCK, PLACE, SUBPROGRAM, CALL_SITE = range(1, 7)
