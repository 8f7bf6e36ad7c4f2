"""
Functions of integers that steps compute: what each gives for numbers, and the op of `arith` that is it.

Numbers are unsigned here, modulo 2^bits. A quotient by zero, which PTX leaves open, has no number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.readers.ptx.steps import Constant, Operand, Register, Step, Value

COMPARISONS: Mapping[str, tuple[str, Callable[[int, int], bool]]] = {
    "eq": ("eq", int.__eq__),
    "ne": ("ne", int.__ne__),
    "lt": ("slt", int.__lt__),
    "le": ("sle", int.__le__),
    "gt": ("sgt", int.__gt__),
    "ge": ("sge", int.__ge__),
    "lo": ("ult", int.__lt__),
    "ls": ("ule", int.__le__),
    "hi": ("ugt", int.__gt__),
    "hs": ("uge", int.__ge__),
}
"""Comparison of PTX -> the predicate of `arith.cmpi`, and what it says of numbers."""
UNSIGNED = {"lt": "lo", "le": "ls", "gt": "hi", "ge": "hs"}
"""Comparison of signed numbers -> the one of unsigned numbers."""


def signed(value: int, bits: int) -> int:
    """The number of `bits` bits that `value` is, with a sign."""
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def _truncated_quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@dataclass(frozen=True)
class Meaning:
    """A function of two integers."""

    op: Callable[[SSAValue, SSAValue], Operation]
    of: Callable[[int, int], int]
    is_signed: bool = False
    is_division: bool = False


MEANINGS: Mapping[str, Meaning] = {
    "add": Meaning(arith.AddiOp, int.__add__),
    "sub": Meaning(arith.SubiOp, int.__sub__),
    "mul": Meaning(arith.MuliOp, int.__mul__),
    "and": Meaning(arith.AndIOp, int.__and__),
    "or": Meaning(arith.OrIOp, int.__or__),
    "xor": Meaning(arith.XOrIOp, int.__xor__),
    "shl": Meaning(arith.ShLIOp, int.__lshift__),
    "shr.u": Meaning(arith.ShRUIOp, int.__rshift__),
    "shr.s": Meaning(arith.ShRSIOp, lambda a, b: a >> b if b >= 0 else 0, is_signed=True),
    "div.u": Meaning(arith.DivUIOp, int.__floordiv__, is_division=True),
    "div.s": Meaning(arith.DivSIOp, _truncated_quotient, is_signed=True, is_division=True),
    "div.floor": Meaning(arith.FloorDivSIOp, int.__floordiv__, is_signed=True, is_division=True),
    "rem.u": Meaning(arith.RemUIOp, int.__mod__, is_division=True),
    "rem.s": Meaning(arith.RemSIOp, lambda a, b: a - _truncated_quotient(a, b) * b, is_signed=True, is_division=True),
    "min.u": Meaning(arith.MinUIOp, min),
    "max.u": Meaning(arith.MaxUIOp, max),
    "min.s": Meaning(arith.MinSIOp, min, is_signed=True),
    "max.s": Meaning(arith.MaxSIOp, max, is_signed=True),
}


def evaluated(step: Step, values: list[int]) -> int | None:
    """What `step` computes from `values`, unsigned; None where that has no number."""
    bits = step.results[0].bits
    what = step.what
    if what == "select":
        return values[1] if values[0] else values[2]
    of = step.operands[0].bits
    if what in ("zext", "trunc"):
        return values[0] & ((1 << bits) - 1)
    if what == "sext":
        return signed(values[0], of) & ((1 << bits) - 1)
    if what == "cmp":
        numbers = values if step.detail in ("lo", "ls", "hi", "hs") else [signed(value, of) for value in values]
        return int(COMPARISONS[step.detail][1](*numbers))
    meaning = MEANINGS.get(what)
    if meaning is None:
        return None
    if (meaning.is_division and not values[1]) or (what.startswith("sh") and values[1] >= bits):
        return None
    numbers = [signed(value, bits) for value in values] if meaning.is_signed else values
    return meaning.of(*numbers) & ((1 << bits) - 1)


def is_number(operand: Operand, known: dict[Operand, bool] | None = None) -> bool:
    """Whether `operand` is computed from constants, addresses, parameters and special registers alone."""
    known = {} if known is None else known
    if isinstance(operand, Constant):
        return True
    if isinstance(operand, Register):
        return False
    if operand not in known:
        known[operand] = True  # what a loop carries is a number if all else is
        known[operand] = _is_number(operand, known)
    return known[operand]


def _is_number(value: Value, known: dict[Operand, bool]) -> bool:
    step = value.step
    if step is None or step.kind in ("unknown", "act", "ask"):
        return step is not None and step.kind == "ask" and step.what != "load"
    return all(is_number(operand, known) for operand in step.operands)
