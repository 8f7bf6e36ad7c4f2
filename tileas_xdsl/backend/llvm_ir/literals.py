"""
Constants and names in LLVM's words. Numbers that are not integers are written by their bits, so that none is rounded:
`0xH3C00` is 1.0 in half precision, `0xR3F80` in bfloat16; f32 and f64 are both written as the bits of an f64.

Source: LLVM's language reference, "Simple Constants" and "Complex Constants".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import copysign, inf
from typing import Any, cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
)
from xdsl.dialects.llvm import LLVMArrayType
from xdsl.ir import Attribute, Operation

from tileas_xdsl.backend.llvm_ir.types import type_text
from tileas_xdsl.diagnostics import refuse


def constant(value: Attribute, type_: Attribute, op: Operation) -> str:
    """The literal for `value` as a `type_`, without the type."""
    match value:
        case IntegerAttr():
            return number(value.value.data, type_, op)
        case FloatAttr():
            return number(value.value.data, type_, op)
        case DenseIntOrFPElementsAttr():
            return _elements(value, type_, op)
        case StringAttr():
            return f"c{quoted(value.data)}"
        case _:
            refuse(op, f"is the constant '{value}', which LLVM IR has no text for", "use numbers")


def number(value: float, type_: Attribute, op: Operation) -> str:
    """The literal for one number, or for a vector that holds it everywhere; a float that is too large is infinite."""
    match type_:
        case IntegerType(width=width):
            return ("true" if int(value) & 1 else "false") if width.data == 1 else str(int(value))
        case Float16Type():
            return f"0xH{struct.unpack('<H', _packed(value, '<e'))[0]:04X}"
        case BFloat16Type():
            return f"0xR{_bfloat16(value):04X}"
        case Float32Type():
            return _double(struct.unpack("<f", _packed(value, "<f"))[0])
        case Float64Type():
            return _double(float(value))
        case VectorType():
            vector = cast("VectorType[Any]", type_)
            return _aggregate([value] * vector.get_shape()[0], vector.element_type, "<>", op)
        case _:
            refuse(op, f"is a number of type '{type_}', which LLVM IR has no text for", "use integers or floats")


def _packed(value: float, code: str) -> bytes:
    """The bytes of `value` rounded to a narrower float; what is too large for it is infinite."""
    try:
        return struct.pack(code, value)
    except OverflowError:
        return struct.pack(code, copysign(inf, value))


def _bfloat16(value: float) -> int:
    import ml_dtypes  # numpy comes with it, which few modules need
    import numpy as np

    with np.errstate(over="ignore"):
        return int(np.asarray(value, ml_dtypes.bfloat16).view(np.uint16))


def _double(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _elements(value: DenseIntOrFPElementsAttr[Any], type_: Attribute, op: Operation) -> str:
    numbers = [float(n) if isinstance(n, float) else int(n) for n in cast("Sequence[Any]", value.get_values())]
    match type_:
        case VectorType():
            return _aggregate(numbers, cast("VectorType[Any]", type_).element_type, "<>", op)
        case LLVMArrayType() if _length(type_) == len(numbers):
            return _array(numbers, type_, op)
        case _:
            refuse(op, f"is a constant of type '{type_}', which LLVM IR has no text for", "use vectors or arrays")


def _length(type_: Attribute) -> int:
    """How many numbers an array holds, those of its arrays counted."""
    return type_.size.data * _length(type_.type) if isinstance(type_, LLVMArrayType) else 1


def _array(numbers: Sequence[float], type_: LLVMArrayType, op: Operation) -> str:
    element = type_.type
    if not isinstance(element, LLVMArrayType):
        return _aggregate(numbers, element, "[]", op)
    step = _length(element)
    parts = [numbers[start : start + step] for start in range(0, len(numbers), step)]
    return f"[{', '.join(f'{type_text(element, op)} {_array(part, element, op)}' for part in parts)}]"


def _aggregate(numbers: Sequence[float], element: Attribute, brackets: str, op: Operation) -> str:
    word = type_text(element, op)
    inner = ", ".join(f"{word} {number(value, element, op)}" for value in numbers)
    return f"{brackets[0]}{inner}{brackets[1]}"


def quoted(text: str) -> str:
    """A string literal: what is not plain ASCII is written as two hexadecimal digits."""
    plain = (chr(code) if 32 <= code < 127 and chr(code) not in '"\\' else f"\\{code:02X}" for code in text.encode())
    return f'"{"".join(plain)}"'


def symbol(name: str) -> str:
    """A global's name, in quotes where LLVM needs them."""
    plain = name.replace(".", "").replace("_", "").replace("$", "").replace("-", "")
    return f"@{name}" if plain.isascii() and plain.isalnum() and not name[0].isdigit() else f"@{quoted(name)}"
