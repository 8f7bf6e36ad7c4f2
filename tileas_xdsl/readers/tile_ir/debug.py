"""
Debug information: places in files become locations of ops.

A place is a fused location: `loc(fused<#scope>["kernels.py":247:24])`; its scope is a function or a block of the
source. What a helper computes is a call site. Columns of the bytecode count from 0, ours from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    StringAttr,
)
from xdsl.ir import Attribute

from tileas_xdsl.dialects.cuda_tile.debug import (
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DISubprogramAttr,
)
from tileas_xdsl.dialects.cuda_tile.rows import Version
from tileas_xdsl.dialects.cuda_tile.table import V5
from tileas_xdsl.readers.tile_ir import tags
from tileas_xdsl.readers.tile_ir.cursor import Cursor

DEEPEST = 200
"""Call sites in each other."""


def location_of(attribute: Attribute) -> LocationAttr:
    """The location of an op whose debug attribute is `attribute`."""
    if isinstance(attribute, FusedLoc | CallSiteLoc):
        return attribute
    return FusedLoc((), attribute)


def attribute_of(location: Attribute) -> Attribute | None:
    """The debug attribute that `location` is, or None where the bytecode has none for it."""
    match location:
        case FusedLoc() if not cast("ArrayAttr[Attribute]", location.locations).data:
            return location.metadata
        case FusedLoc() if isinstance(location.metadata, DISubprogramAttr | DILexicalBlockAttr):
            return location
        case CallSiteLoc() if attribute_of(location.callee) and attribute_of(location.caller):
            return location
        case _:
            return None


@dataclass
class DebugTable:
    """The places of the ops of each function."""

    rows: list[Cursor]
    strings: Sequence[str]
    version: Version
    functions: list[list[LocationAttr]] = field(default_factory=list[list[LocationAttr]])
    known: dict[int, Attribute] = field(default_factory=dict[int, Attribute])

    @classmethod
    def read(cls, cursor: Cursor, strings: Sequence[str], version: Version) -> DebugTable:
        """Read the section. Raises `BytecodeError`."""
        indices, rows = _parts(cursor)
        table = cls(rows, strings, version)
        if not _is_empty(rows):
            for number in range(1, len(rows) + 1):
                table.attribute(number, 0, 0)
        for function in indices:
            table.functions.append([table._location(number, at) for number, at in function])
        return table

    @classmethod
    def rows_of(cls, cursor: Cursor) -> list[bytes]:
        """The rows of the table of attributes."""
        _, rows = _parts(cursor)
        return [] if _is_empty(rows) else [row.data[row.pos : row.end] for row in rows]

    def _location(self, number: int, at: int) -> LocationAttr:
        return UNKNOWN_LOC if number == 0 else location_of(self.attribute(number, at, 0))

    def attribute(self, number: int, at: int, depth: int) -> Attribute:
        """The attribute of that number, which byte `at` names."""
        if number in self.known:
            return self.known[number]
        if not 0 < number <= len(self.rows) or depth > DEEPEST:
            place = Cursor(b"", at, at)
            if depth > DEEPEST:
                raise place.fail(f"debug attributes are more than {DEEPEST} deep")
            raise place.fail(f"debug attribute {number} is none of {len(self.rows)}")
        cursor = self.rows[number - 1].again()
        found = self._read(cursor, depth + 1)
        cursor.finish(f"debug attribute {number}")
        self.known[number] = found
        return found

    def _read(self, cursor: Cursor, depth: int) -> Attribute:
        def other() -> Attribute:
            at = cursor.pos
            return self.attribute(cursor.varint(), at, depth)

        def text() -> StringAttr:
            at = cursor.pos
            number = cursor.varint()
            if number >= len(self.strings):
                raise cursor.fail(f"string {number} is none of {len(self.strings)}", at)
            return StringAttr(self.strings[number])

        def whole() -> IntAttr:
            return IntAttr(cursor.varint())

        start = cursor.pos
        match cursor.varint():
            case tags.COMPILE_UNIT:
                return DICompileUnitAttr(other())
            case tags.FILE:
                return DIFileAttr(text(), text())
            case tags.LEXICAL_BLOCK:
                return DILexicalBlockAttr(other(), other(), whole(), whole())
            case tags.PLACE:
                scope = other()
                place = FileLineColLoc(text(), whole(), IntAttr(cursor.varint() + 1))
                return FusedLoc((place,), scope)
            case tags.SUBPROGRAM:
                return DISubprogramAttr(
                    other(), whole(), text(), text(), other(), whole(), whole() if self.version >= V5 else IntAttr(0)
                )
            case tags.CALL_SITE:
                callee, caller = other(), other()
                for location in (callee, caller):
                    if not isinstance(location, FusedLoc | CallSiteLoc):
                        raise cursor.fail("a call site is between places", start)
                return CallSiteLoc(callee, caller)
            case tag:
                raise cursor.fail(f"a debug attribute of tag {tag} is unknown; 1 to 6 are known", start)


def _is_empty(rows: Sequence[Cursor]) -> bool:
    """Whether the table is the one row of a zero that stands for none."""
    return len(rows) == 1 and rows[0].data[rows[0].pos : rows[0].end] == b"\x00"


def _parts(cursor: Cursor) -> tuple[list[list[tuple[int, int]]], list[Cursor]]:
    """For each function the numbers of the attributes of its ops with their offsets; the rows of the attributes."""
    count = cursor.count("functions", 4)
    cursor.pad(4)
    offsets = [cursor.fixed(4) for _ in range(count)]
    total = cursor.count("indices", 8)
    cursor.pad(8)
    numbers = [(cursor.fixed(8), cursor.pos - 8) for _ in range(total)]
    bounds = [*offsets, total]
    if offsets[:1] not in ([], [0]) or any(first > second for first, second in pairwise(bounds)):
        raise cursor.fail("the functions of the debug information are not in order")
    functions = [numbers[first:second] for first, second in pairwise(bounds)]
    return functions, cursor.table(4, "debug attributes")
