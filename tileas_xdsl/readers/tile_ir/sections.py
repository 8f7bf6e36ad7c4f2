"""
The sections of a file, and what a module keeps so that they can be written in the same way.

What cuTile writes needs nothing but its version. Files of other making differ in the order of sections, in alignments,
in a pad behind the functions, and in the numbering of rows: the attribute `cuda_tile.layout` of a module keeps that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute

from tileas_xdsl.dialects.cuda_tile.rows import NEWEST, VERSIONS, Version
from tileas_xdsl.readers.tile_ir.cursor import BytecodeError, Cursor

MAGIC = b"\x7fTileIR\x00"
STRING, FUNCTION, DEBUG, CONSTANT, TYPE, GLOBAL, PRODUCER = range(1, 8)
NAMES: Mapping[int, str] = {
    STRING: "String",
    FUNCTION: "Func",
    DEBUG: "Debug",
    CONSTANT: "Constant",
    TYPE: "Type",
    GLOBAL: "Global",
    PRODUCER: "Producer",
}
NUMBERS = {name: number for number, name in NAMES.items()}
ALIGNMENTS: Mapping[int, int] = {STRING: 4, FUNCTION: 8, DEBUG: 8, CONSTANT: 8, TYPE: 4, GLOBAL: 1, PRODUCER: 1}
CUTILE_ORDER = (FUNCTION, GLOBAL, CONSTANT, DEBUG, TYPE, STRING)
"""The order in which cuTile writes; Global only where there is one."""
DEFAULT_VERSION: Version = (13, 3)
ALIGNED = 0x80

VERSION_NAME, LAYOUT_NAME = "cuda_tile.version", "cuda_tile.layout"


@dataclass
class Layout:
    """How a file is laid out, beyond what it says."""

    version: Version = DEFAULT_VERSION
    tag: int = 0
    order: tuple[int, ...] = CUTILE_ORDER
    """The sections that are there, or where they would be."""
    alignments: dict[int, int] = field(default_factory=dict[int, int])
    """Alignments that are not those of `ALIGNMENTS`."""
    pads_functions: bool = False
    """Whether a pad up to 8 bytes stands behind the last function."""
    truths_are_integers: bool = False
    """Whether an i1 in an array is written as an integer."""
    without_debug: bool = False
    """Whether functions name no debug information, rather than one without places."""
    rows: dict[int, list[bytes]] = field(default_factory=dict[int, "list[bytes]"])
    """Section -> its rows, where they are not numbered as they are first needed."""

    def attributes(self) -> dict[str, Attribute]:
        """The attributes of the module that keep this."""
        kept: dict[str, Attribute] = {}
        if self.version != DEFAULT_VERSION:
            kept[VERSION_NAME] = StringAttr(version_text(self.version))
        entries: dict[str, Attribute] = {}
        if self.tag:
            entries["tag"] = IntegerAttr(self.tag, i64)
        if self.order != CUTILE_ORDER:
            entries["order"] = ArrayAttr(StringAttr(NAMES[number]) for number in self.order)
        if self.alignments:
            aligned = {NAMES[number]: IntegerAttr(value, i64) for number, value in self.alignments.items()}
            entries["alignments"] = DictionaryAttr(dict[str, Attribute](aligned))
        if self.pads_functions:
            entries["pads_functions"] = UnitAttr()
        if self.truths_are_integers:
            entries["truths_are_integers"] = UnitAttr()
        if self.without_debug:
            entries["without_debug"] = UnitAttr()
        if self.rows:
            texts = {NAMES[number]: [StringAttr(row.hex()) for row in rows] for number, rows in self.rows.items()}
            entries["rows"] = DictionaryAttr({name: ArrayAttr(group) for name, group in texts.items()})
        if entries:
            kept[LAYOUT_NAME] = DictionaryAttr(entries)
        return kept

    @classmethod
    def of(cls, attributes: Mapping[str, Attribute]) -> Layout:
        """What the attributes of a module keep. Raises `ValueError` for what they cannot say."""
        layout = cls()
        if (text := attributes.get(VERSION_NAME)) is not None:
            layout.version = version_of(cast(StringAttr, text).data)
        kept = attributes.get(LAYOUT_NAME)
        if not isinstance(kept, DictionaryAttr):
            return layout
        entries = kept.data
        if (tag := entries.get("tag")) is not None:
            layout.tag = cast(IntegerAttr, tag).value.data
        if (order := entries.get("order")) is not None:
            layout.order = tuple(NUMBERS[name.data] for name in cast(ArrayAttr[StringAttr], order).data)
        if (alignments := entries.get("alignments")) is not None:
            for name, value in cast(DictionaryAttr, alignments).data.items():
                layout.alignments[NUMBERS[name]] = cast(IntegerAttr, value).value.data
        layout.pads_functions = "pads_functions" in entries
        layout.truths_are_integers = "truths_are_integers" in entries
        layout.without_debug = "without_debug" in entries
        if (rows := entries.get("rows")) is not None:
            for name, texts in cast(DictionaryAttr, rows).data.items():
                texts_of = cast(ArrayAttr[StringAttr], texts).data
                layout.rows[NUMBERS[name]] = [bytes.fromhex(text.data) for text in texts_of]
        return layout


def version_text(version: Version) -> str:
    """`13.3`"""
    return f"{version[0]}.{version[1]}"


def version_of(text: str) -> Version:
    """The version that `text` names. Raises `ValueError` for another one."""
    for version in VERSIONS:
        if version_text(version) == text:
            return version
    raise ValueError(f"'{text}' is not a version from 13.1 to {version_text(NEWEST)}")


def sections_of(data: bytes) -> tuple[Layout, dict[int, Cursor]]:
    """The header and the payload of each section. Raises `BytecodeError`."""
    if not data.startswith(MAGIC):
        raise BytecodeError(0, "this is no Tile IR: the file does not begin with 7f 54 69 6c 65 49 52 00")
    cursor = Cursor(data, len(MAGIC), len(data))
    version = cursor.byte(), cursor.byte()
    if version not in VERSIONS:
        raise BytecodeError(len(MAGIC), f"version {version_text(version)} is unknown; 13.1 to 13.5 are known")
    layout = Layout(version, cursor.fixed(2), ())
    found: dict[int, Cursor] = {}
    while True:
        start = cursor.pos
        head = cursor.byte()
        if head == 0:
            break
        number = head & ~ALIGNED
        if number not in NAMES:
            raise BytecodeError(start, f"section {number} is unknown; 1 to 7 are known")
        if number in found:
            raise BytecodeError(start, f"section {number} ({NAMES[number]}) is there twice")
        length = cursor.varint()
        alignment = 1
        if head & ALIGNED:
            at = cursor.pos
            alignment = cursor.varint()
            if alignment < 2 or alignment & (alignment - 1) or alignment > 4096:
                raise BytecodeError(at, f"an alignment is a power of two from 2 to 4096, not {alignment}")
            cursor.pad(alignment)
        if alignment % ALIGNMENTS[number]:
            raise BytecodeError(start, f"section {number} ({NAMES[number]}) is aligned to {alignment} bytes")
        if alignment != ALIGNMENTS[number]:
            layout.alignments[number] = alignment
        if length > cursor.end - cursor.pos:
            left = cursor.end - cursor.pos
            raise BytecodeError(start, f"section {number} ({NAMES[number]}) has {length} bytes, and {left} are left")
        found[number] = cursor.part(length)
    cursor.finish("the end of the file")
    for number in (STRING, FUNCTION):
        if number not in found:
            raise BytecodeError(cursor.pos, f"section {number} ({NAMES[number]}) is missing")
    layout.order = _order(tuple(found))
    return layout, found


def _order(found: tuple[int, ...]) -> tuple[int, ...]:
    """`found`, or cuTile's order where that is what was found."""
    usual = tuple(number for number in CUTILE_ORDER if number in (*found, *MANDATORY))
    return CUTILE_ORDER if found == usual else found


MANDATORY = (FUNCTION, CONSTANT, DEBUG, TYPE, STRING)
"""What cuTile always writes."""
