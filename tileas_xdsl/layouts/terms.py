"""
The notation of layouts: terms such as `mma<m64n128k16, operand = acc, warps = 4>`.

A term is a name with arguments, some of them named: numbers, quoted text, lists, terms. What it means is the business
of `forms.py`; how it is read, that of the dialect whose attribute it stands in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from tileas_xdsl.layouts.errors import LayoutError

Value: TypeAlias = "int | str | tuple[Value, ...] | Term"
"""A number, quoted text, a list, or a term. A bare word is a term without arguments."""


@dataclass(frozen=True)
class Term:
    """`name<positional, key = named>`."""

    name: str
    positional: tuple[Value, ...] = ()
    named: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        arguments = [*map(printed, self.positional), *(f"{key} = {printed(value)}" for key, value in self.named)]
        return f"{self.name}<{', '.join(arguments)}>" if arguments else self.name

    def reader(self) -> Arguments:
        return Arguments(self.name, list(self.positional), dict(self.named))


def printed(value: Value) -> str:
    """A value as it is written."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(printed, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


@dataclass
class Arguments:
    """The arguments of a term, taken one after the other; `LayoutError` for one that is missing, wrong or left over."""

    owner: str
    positional: list[Value]
    named: dict[str, Value]

    def next(self, what: str) -> Value:
        if not self.positional:
            raise LayoutError(f"{self.owner} needs {what}")
        return self.positional.pop(0)

    def take(self, key: str, default: Value | None = None) -> Value:
        """The argument `key`; None as a default means that it must be there."""
        value = self.named.pop(key, default)
        if value is None:
            raise LayoutError(f"{self.owner} needs '{key} = ...'")
        return value

    def done(self) -> None:
        left = [*map(printed, self.positional), *self.named]
        if left:
            raise LayoutError(f"{self.owner} does not know what '{left[0]}' is")


def number(value: Value, what: str) -> int:
    """`value` as a number."""
    if not isinstance(value, int):
        raise LayoutError(f"{what} is a number, not {printed(value)}")
    return value


def word(value: Value, what: str) -> str:
    """`value` as a bare word."""
    if not isinstance(value, Term) or value.positional or value.named:
        raise LayoutError(f"{what} is a word, not {printed(value)}")
    return value.name


def numbers(value: Value, what: str) -> tuple[int, ...]:
    """`value` as a list of numbers."""
    if not _is_numbers(value):
        raise LayoutError(f"{what} is a list of numbers such as [1, 0], not {printed(value)}")
    return value


def _is_numbers(value: Value) -> TypeGuard[tuple[int, ...]]:
    return isinstance(value, tuple) and all(isinstance(entry, int) for entry in value)


def bases(value: Value, what: str) -> tuple[tuple[int, ...], ...]:
    """`value` as a list of bases, each a list of coordinates."""
    if not isinstance(value, tuple):
        raise LayoutError(f"{what} is a list of bases such as [[0, 1], [0, 2]], not {printed(value)}")
    return tuple(numbers(entry, f"a basis of {what}") for entry in value)


def frozen(named: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    """Named arguments as a term keeps them."""
    return tuple(named.items())
