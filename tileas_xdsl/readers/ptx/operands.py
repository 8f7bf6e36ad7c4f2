"""
The operands of an instruction (PTX ISA, "Instruction Operands").

    %r1   7   0f3F800000   name        a register, numbers, an address or a label
    [%rd1+8]   [map, {%r1, %r2}]       a place in memory; a place and coordinates
    {%r1, %r2, _}                      a vector; `_` is a part that is dropped
    %r1|%p1   !%p1   (%r1, %r2)        two results, a predicate that is negated, arguments of a call
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tileas_xdsl.readers.ptx.syntax import Instruction, PtxError, Register, Scope


@dataclass(frozen=True, slots=True)
class Number:
    """A literal, as an integer; of a float its bits."""

    value: int


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, a function, a label, or (with `%` in front) a special register."""

    name: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """`_`"""


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset, coordinates]`"""

    base: Register | Name | Number
    offset: int
    coordinates: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b}`"""

    parts: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`a|b`"""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Negated:
    """`!a`"""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Group:
    """`(a, b)`"""

    parts: tuple[Operand, ...]


Operand = Register | Number | Name | Dropped | Address | Vector | Pair | Negated | Group


def both(operand: Operand) -> tuple[Operand, Operand | None]:
    """`a` and `b` of `a|b`; `a` alone where there is no second one."""
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, None)


def parts_of(operand: Operand) -> tuple[Operand, ...]:
    """The parts of a vector; else the operand alone."""
    return operand.parts if isinstance(operand, Vector) else (operand,)


TOKEN = re.compile(r'\s*(?:([%$\w.][\w$.]*(?:::\w+)*)|("[^"]*")|(\S))')
FLOAT = re.compile(r"\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+")


def operands_of(instruction: Instruction) -> tuple[Operand, ...]:
    """The operands in order. Raises `PtxError`."""
    return _Reader(instruction).all()


@cache
def number_of(text: str) -> int | None:
    """The number that `text` spells (PTX ISA, "Constants"); None where it spells none."""
    lower = text.lower()
    try:
        if lower.startswith(("0f", "0d")) and len(lower) in (10, 18):
            return int(lower[2:], 16)
        if FLOAT.fullmatch(lower):
            return int.from_bytes(struct.pack(">d", float(lower)), "big")
        digits = lower.rstrip("u")
        if digits[:1] == "0" and digits[1:].isdecimal():
            return int(digits, 8)
        return int(digits, 0)
    except ValueError:
        return None


class _Reader:
    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.scope: Scope = instruction.scope
        self.tokens: Sequence[str] = [a or b or c for a, b, c in TOKEN.findall(instruction.text)]
        self.at = 0

    def error(self, message: str) -> PtxError:
        return PtxError(self.instruction.line, message)

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        found = self.take()
        if found != token:
            written = " ".join(self.instruction.text.split())
            where = f"'{found}'" if found else "the end"
            raise self.error(f"expected '{token}' and got {where} in the operands '{written[:60]}'")

    def all(self) -> tuple[Operand, ...]:
        if not self.tokens:
            return ()
        found = [self.operand()]
        while self.at < len(self.tokens):
            self.expect(",")
            found.append(self.operand())
        return tuple(found)

    def list_until(self, end: str) -> tuple[Operand, ...]:
        found: list[Operand] = []
        while self.peek() != end:
            if found:
                self.expect(",")
            found.append(self.operand())
        self.take()
        return tuple(found)

    def operand(self) -> Operand:
        first = self.simple()
        if self.peek() != "|":
            return first
        self.take()
        return Pair(first, self.simple())

    def simple(self) -> Operand:
        token = self.peek()
        if token == "[":
            self.take()
            return self.address()
        if token in ("{", "("):
            self.take()
            parts = self.list_until("}" if token == "{" else ")")
            return Vector(parts) if token == "{" else Group(parts)
        if token == "!":
            self.take()
            return Negated(self.simple())
        if token == "_":
            self.take()
            return Dropped()
        return self.atom()

    def atom(self) -> Register | Name | Number:
        sign = 1
        while self.peek() in ("-", "+"):
            sign = -sign if self.take() == "-" else sign
        token = self.take()
        if not token or not re.match(r"[%$\w.]", token):
            written = " ".join(self.instruction.text.split())
            raise self.error(
                f"'{written[:60]}' are no operands: '{token}' is in the way"
                if token
                else f"an operand is missing in '{self.instruction.name} {written[:60]}'"
            )
        if token[0].isdigit():
            number = number_of(token)
            if number is None:
                raise self.error(f"'{token}' is no number")
            return Number(sign * number)
        return self.scope.register(token) or Name(token)

    def address(self) -> Address:
        base, offset = self.atom(), 0
        if not isinstance(base, Number) and self.peek() in ("+", "-"):
            distance = self.atom()
            if not isinstance(distance, Number):
                raise self.error("an address is a register, or a name, and a number")
            offset = distance.value
        coordinates: tuple[Operand, ...] = ()
        if self.peek() == ",":
            self.take()
            part = self.operand()
            coordinates = part.parts if isinstance(part, Vector) else (part,)
            while self.peek() == ",":  # im2col offsets, rows of gather4
                self.take()
                self.operand()
        self.expect("]")
        return Address(base, offset, coordinates)
