"""
Location aliases that stand anywhere: `#loc7 = loc("kernel.py":12:26)`.

MLIR prints those of a module behind it, and uses them inside. xDSL's parser knows an alias only after its definition.
So the definitions are taken out of the text first, blanked so that every other character keeps its place, and read by
need.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)

DEFINITION = re.compile(r"^(#loc\w*) = loc\((.*)\)[ \t]*$", re.MULTILINE)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|#\w+|\w+|[():,\[\]]')


class UnreadableLocationError(Exception):
    """A location that is none of those that MLIR prints."""


class LocationAliases:
    """The aliases of a text."""

    def __init__(self, text: str) -> None:
        self._bodies = {match[1]: match[2] for match in DEFINITION.finditer(text)}
        self._known: dict[str, LocationAttr] = {}
        self.text = DEFINITION.sub(lambda match: " " * len(match[0]), text) if self._bodies else text
        """The text without their definitions."""

    def __contains__(self, name: str) -> bool:
        return name in self._bodies

    def of(self, name: str) -> LocationAttr:
        """What `#loc7` stands for; unknown where it is not readable, or stands for itself."""
        if name not in self._known:
            self._known[name] = UNKNOWN_LOC
            try:
                self._known[name] = self._read(iter(TOKEN.findall(self._bodies.get(name, "unknown"))))
            except (StopIteration, ValueError, UnreadableLocationError):
                return UNKNOWN_LOC
        return self._known[name]

    def _read(self, tokens: Iterator[str]) -> LocationAttr:
        match next(tokens):
            case "unknown":
                return UNKNOWN_LOC
            case alias if alias.startswith("#"):
                return self.of(alias)
            case "callsite":
                _expect(tokens, "(")
                callee = self._read(tokens)
                _expect(tokens, "at")
                caller = self._read(tokens)
                _expect(tokens, ")")
                return CallSiteLoc(callee, caller)
            case "fused":
                return self._read_fused(tokens)
            case text if text.startswith('"'):
                return self._read_named(text[1:-1], tokens)
            case other:
                raise UnreadableLocationError(other)

    def _read_fused(self, tokens: Iterator[str]) -> LocationAttr:
        _expect(tokens, "[")
        parts = [self._read(tokens)]
        while (sign := next(tokens)) == ",":
            parts.append(self._read(tokens))
        if sign != "]":
            raise UnreadableLocationError(sign)
        return FusedLoc(tuple(parts), NoneAttr())

    def _read_named(self, text: str, tokens: Iterator[str]) -> LocationAttr:
        """`"file":12:26`, `"name"(...)` or `"name"`."""
        sign = next(tokens, "")
        if sign == ":":
            line = int(next(tokens))
            _expect(tokens, ":")
            return FileLineColLoc(StringAttr(text), IntAttr(line), IntAttr(int(next(tokens))))
        if sign != "(":
            return NameLoc(StringAttr(text), NoneAttr())
        inner = self._read(tokens)
        _expect(tokens, ")")
        return NameLoc(StringAttr(text), inner)


def _expect(tokens: Iterator[str], text: str) -> None:
    found = next(tokens)
    if found != text:
        raise UnreadableLocationError(found)
