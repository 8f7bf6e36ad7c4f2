"""
The values that ops compute with: element types as numpy dtypes, integers that wrap, and the value of which nothing is
known.

Numbers are numpy's (`ml_dtypes` for bf16, fp8, fp4), so a program computes here what its types say. A type narrower
than a byte takes one byte in the machine's memory. When only synchronisation is checked, tile data is `UNKNOWN`: it
may be moved about, but a branch or an address that depends on it makes the verdict undecided.

Unknown numbers. `ub.poison` and fresh memory are unknown when checking. When running, poison is zero and fresh memory
is zero: deterministic, and a program whose result depends on either is wrong anyway. Division by zero is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute

from tileas_xdsl.dialects.scalars import small_float


class Unknown:
    """The one value of which nothing is known."""

    _instance: Any = None

    def __new__(cls) -> Self:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class ElementType:
    """An element type: its IR attribute, its numpy dtype, and the bytes that one element takes in memory."""

    attribute: Attribute
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        return self.dtype.itemsize

    @property
    def is_float(self) -> bool:
        return not isinstance(self.attribute, IntegerType | IndexType)

    def __str__(self) -> str:
        return str(self.attribute)


def _float_dtype(name: str) -> np.dtype[Any]:
    """The dtype of a float that numpy lacks, by its name in `ml_dtypes`."""
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


@cache
def element_type(attribute: Attribute) -> ElementType | None:
    """The element type of a scalar type attribute, or None when the machine has no numbers for it."""
    match attribute:
        case IndexType():
            return ElementType(attribute, np.dtype(np.int64))
        case IntegerType():
            return _integer_type(attribute)
        case Float16Type():
            return ElementType(attribute, np.dtype(np.float16))
        case Float32Type():
            return ElementType(attribute, np.dtype(np.float32))
        case Float64Type():
            return ElementType(attribute, np.dtype(np.float64))
        case BFloat16Type():
            return ElementType(attribute, _float_dtype("bfloat16"))
        case _:
            name = small_float(attribute)
            return None if name is None else ElementType(attribute, _float_dtype(name))


def _integer_type(attribute: IntegerType) -> ElementType | None:
    width = attribute.width.data
    if width == 1:
        return ElementType(attribute, np.dtype(np.bool_))
    if width > 64:
        return None
    storage = next(bits for bits in (8, 16, 32, 64) if bits >= width)
    prefix = "uint" if attribute.signedness.data is Signedness.UNSIGNED else "int"
    return ElementType(attribute, np.dtype(f"{prefix}{storage}"))


def bit_width(attribute: Attribute) -> int:
    """Bits of an integer type; 64 for `index`."""
    return attribute.bitwidth if isinstance(attribute, IntegerType) else 64


def wrap(value: int, attribute: Attribute) -> int:
    """`value` modulo the width of an integer or index type, as a signed number (i1 as 0 or 1)."""
    width = bit_width(attribute)
    value &= (1 << width) - 1
    if width > 1 and value >> (width - 1):
        value -= 1 << width
    return value


def unsigned(value: int, attribute: Attribute) -> int:
    """The bits of `value` read as an unsigned number of the type's width."""
    return value & ((1 << bit_width(attribute)) - 1)
