"""
The numbers of a warp while it runs: what addresses, phases and counters are, for all its lanes.

A number that all lanes share is a Python integer, one that differs an array of 32. It is as wide as its register, and
signed. `None` is a number that nobody computes: floats, and what is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tileas_xdsl.targets.warps import WARP

Known = Any
"""An int, or an array of int64, one for each lane."""
Numbers = Known | None


class UnknownNumberError(Exception):
    """An address or a count that is not known."""


LANES = np.arange(WARP, dtype=np.int64)
ALL_LANES = (1 << WARP) - 1


def width_of(type_: str) -> int:
    """The bits of a type such as `u32`."""
    return 1 if type_ == "pred" else int(type_.lstrip("busf") or 32)


def signed(value: Known, bits: int) -> Known:
    """`value` cut to `bits` bits, as a signed number; of one bit 0 or 1."""
    if bits == 1:
        return value & 1
    if isinstance(value, int):
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> (bits - 1) else value
    if bits >= 64:
        return value
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def unsigned(value: Known, bits: int) -> Known:
    """`value` as an unsigned number; arrays of 64 bits stay as they are."""
    return value & ((1 << bits) - 1) if isinstance(value, int) or bits < 64 else value


def _choose(predicate: Known, yes: Numbers, no: Numbers) -> Numbers:
    if isinstance(predicate, int):
        return yes if predicate else no
    if yes is None or no is None:
        return None
    return np.where(np.asarray(predicate) != 0, np.asarray(yes), np.asarray(no))


def _quotient(a: Known, b: Known) -> Known:
    """Towards zero, as PTX divides."""
    return abs(a) // abs(b) * np.where((a < 0) == (b < 0), 1, -1)


COMPARISONS: Mapping[str, Callable[[Known, Known], Known]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}

UNARY: Mapping[str, Callable[[Known], Known]] = {
    "not": lambda a: ~a,
    "neg": lambda a: -a,
    "abs": lambda a: abs(a),
    "mov": lambda a: a,
    "cvt": lambda a: a,
    "cvta": lambda a: a,
}

BINARY: Mapping[str, Callable[[Known, Known], Known]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "max": lambda a, b: np.maximum(a, b),
    "min": lambda a, b: np.minimum(a, b),
    "div": _quotient,
    "rem": lambda a, b: a - _quotient(a, b) * b,
}

TERNARY: Mapping[str, Callable[[Known, Known, Known], Known]] = {
    "mad": lambda a, b, c: a * b + c,
    "bfe": lambda a, start, length: (a >> start) & ((1 << length) - 1),
}

CARES_FOR_SIGNS = frozenset({"shr", "bfe", "div", "rem", "max", "min"})


def compute(words: Sequence[str], values: Sequence[Numbers]) -> Numbers:
    """What an instruction on integers computes; None for floats, for others, and from what is unknown."""
    operation, type_ = words[0], words[-1]
    if operation == "selp":
        yes, no, predicate = values
        return None if predicate is None else _choose(predicate, yes, no)
    if any(value is None for value in values):
        return None
    if operation == "setp":
        return _compare(words, values)
    if type_.startswith(("f", "bf")) or (operation == "cvt" and words[-2].startswith(("f", "bf"))):
        return None
    if operation == "mul" and words[1] == "hi":
        return _upper_half(values, width_of(type_), without_sign=type_[0] == "u")
    return _arithmetic(words, values)


def _arithmetic(words: Sequence[str], values: Sequence[Known]) -> Numbers:
    operation, type_ = words[0], words[-1]
    bits = width_of(type_)
    wide = operation in ("mul", "mad") and words[1] == "wide"
    without_sign = type_[0] == "u" or (operation == "shr" and type_[0] == "b")
    if without_sign and (wide or operation in CARES_FOR_SIGNS or operation == "cvt"):
        values = [unsigned(values[0], bits), *(unsigned(v, bits) for v in values[1:])]
    if any(not isinstance(value, int) for value in values):
        values = [signed(value, 64) for value in values]
    if operation in ("div", "rem") and not np.all(values[1]):
        return None
    found = _applied(operation, values)
    result_bits = width_of(words[-2]) if operation == "cvt" else bits * 2 if wide else bits
    return None if found is None else signed(_plain(found), result_bits)


def _applied(operation: str, values: Sequence[Known]) -> Numbers:
    match values:
        case [a] if operation in UNARY:
            return UNARY[operation](a)
        case [a, b] if operation in BINARY:
            return BINARY[operation](a, b)
        case [a, b, c] if operation in TERNARY:
            return TERNARY[operation](a, b, c)
        case _:
            return None


def _plain(value: Known) -> Known:
    """A number that all lanes share as an int."""
    return int(value) if np.ndim(value) == 0 else value


def _upper_half(values: Sequence[Known], bits: int, *, without_sign: bool) -> Numbers:
    """The upper half of a product of numbers that all lanes share; None for others."""
    if not all(isinstance(value, int) for value in values):
        return None
    a, b = (unsigned(value, bits) if without_sign else value for value in values)
    return signed(a * b >> bits, bits)


def _compare(words: Sequence[str], values: Sequence[Known]) -> Numbers:
    type_ = words[-1]
    if type_[0] == "f" or words[1] not in COMPARISONS:
        return None
    bits = width_of(type_)
    a, b = (unsigned(value, bits) if type_[0] == "u" else value for value in values[:2])
    if not (isinstance(a, int) and isinstance(b, int)):
        a, b = signed(a, 64), signed(b, 64)
    found = _plain(np.asarray(COMPARISONS[words[1]](a, b)).astype(np.int64))
    return COMPARISONS[words[2]](found, values[2]) if len(values) > 2 else found


def lanes_where(value: Numbers, mask: int) -> int:
    """The lanes of `mask` in which a predicate holds; of an unknown one none."""
    if value is None:
        return 0
    if isinstance(value, int):
        return mask if value else 0
    return int(np.packbits((value != 0).astype(np.uint8), bitorder="little").view("<u4")[0]) & mask


def of_all(value: Numbers) -> int:
    """The number of the first lane, of an address or count that all lanes share. Raises `UnknownNumberError`."""
    if value is None:
        raise UnknownNumberError("an address or a count follows from numbers that are not computed")
    return value if isinstance(value, int) else int(value[0])
