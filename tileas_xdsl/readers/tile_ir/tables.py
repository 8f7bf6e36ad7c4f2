"""
The tables of a file: strings, types, constants, debug information; and attributes, which name their rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.cuda_tile.attributes import (
    BoundedAttr,
    ConstantAttr,
    DivByAttr,
    HintsAttr,
    SameElementsAttr,
)
from tileas_xdsl.dialects.cuda_tile.elements import bits_per_element
from tileas_xdsl.dialects.cuda_tile.enumerations import ENUMERATIONS, PaddingAttr
from tileas_xdsl.dialects.cuda_tile.forms import number_attribute
from tileas_xdsl.dialects.cuda_tile.rows import Part, Version
from tileas_xdsl.dialects.cuda_tile.table import V3, V4
from tileas_xdsl.dialects.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    integer_width,
    is_number,
    numbers,
    short,
)
from tileas_xdsl.readers.tile_ir import sections, tags
from tileas_xdsl.readers.tile_ir.cursor import BytecodeError, Cursor
from tileas_xdsl.readers.tile_ir.debug import DebugTable
from tileas_xdsl.readers.tile_ir.sections import Layout

DEEPEST = 32
"""Types and attributes in each other."""


@dataclass
class Tables:
    """The tables of a file, and what reads types and attributes by their numbers."""

    layout: Layout
    found: dict[int, Cursor]
    strings: list[str] = field(default_factory=list[str])
    type_rows: list[Cursor] = field(default_factory=list[Cursor])
    types: dict[int, Attribute] = field(default_factory=dict[int, Attribute])
    constants: list[bytes] = field(default_factory=list[bytes])
    debug: DebugTable | None = None

    @property
    def version(self) -> Version:
        return self.layout.version

    def _table(self, number: int, width: int) -> list[Cursor]:
        part = self.found.get(number)
        return [] if part is None else part.again().table(width, sections.NAMES[number])

    def load(self) -> None:
        """Read all tables to their ends. Raises `BytecodeError`."""
        for row in self._table(sections.STRING, 4):
            raw = row.take(row.end - row.pos)
            try:
                self.strings.append(raw.decode())
            except UnicodeDecodeError:
                raise row.fail("a string is no UTF-8", row.end - len(raw)) from None
        self.type_rows = self._table(sections.TYPE, 4)
        for number in range(len(self.type_rows)):
            self._type_number(number, 0, 0)
        for row in self._table(sections.CONSTANT, 8):
            length = row.varint()
            self.constants.append(row.take(length))
            row.finish("a constant")
        if sections.DEBUG in self.found:
            self.debug = DebugTable.read(self.found[sections.DEBUG].again(), self.strings, self.version)

    # Tables -----------------------------------------------------------------------------------------------------------

    def string(self, cursor: Cursor) -> str:
        """The string whose number comes next."""
        start = cursor.pos
        number = cursor.varint()
        if number >= len(self.strings):
            raise cursor.fail(f"string {number} is none of {len(self.strings)}", start)
        return self.strings[number]

    def type_at(self, cursor: Cursor, depth: int = 0) -> Attribute:
        """The type whose number comes next."""
        start = cursor.pos
        return self._type_number(cursor.varint(), start, depth)

    def _type_number(self, number: int, at: int, depth: int) -> Attribute:
        if number in self.types:
            return self.types[number]
        if number >= len(self.type_rows):
            raise BytecodeError(at, f"type {number} is none of {len(self.type_rows)}")
        row = self.type_rows[number]
        if depth > DEEPEST:
            raise row.fail(f"type {number} is more than {DEEPEST} types deep")
        start = row.pos
        cursor = row.again()
        try:
            kind = self._type_of(cursor, depth + 1)
        except VerifyException as error:
            raise BytecodeError(start, f"type {number}: {error}") from None
        cursor.finish(f"type {number}")
        self.types[number] = kind
        return kind

    def _type_of(self, cursor: Cursor, depth: int) -> Attribute:
        start = cursor.pos
        tag = cursor.varint()
        if (simple := tags.SIMPLE.get(tag)) is not None:
            return simple
        match tag:
            case tags.POINTER:
                flags = self._flags(cursor, 1, V4)
                return PointerType(self.type_at(cursor, depth), self._space(cursor, flags))
            case tags.TILE:
                element = self.type_at(cursor, depth)
                return TileType.of(element, cursor.numbers(8))
            case tags.TENSOR_VIEW:
                flags = self._flags(cursor, 1, V4)
                element = self.type_at(cursor, depth)
                shape, strides = numbers(cursor.numbers(8)), numbers(cursor.numbers(8))
                return TensorViewType(element, shape, strides, self._space(cursor, flags))
            case tags.PARTITION_VIEW:
                flags = self._flags(cursor, 1, V3)
                tile, array = numbers(cursor.numbers(4)), self._array(cursor, depth)
                dim_map = numbers(cursor.numbers(4))
                if self.version < V3:
                    flags = int(cursor.flag())
                return PartitionViewType(tile, array, self._padding(cursor, flags), dim_map)
            case tags.FUNCTION:
                inputs = [self.type_at(cursor, depth) for _ in range(cursor.count("types"))]
                outputs = [self.type_at(cursor, depth) for _ in range(cursor.count("types"))]
                return FunctionType.from_lists(inputs, outputs)
            case tags.GATHER_SCATTER_VIEW:
                flags = self._flags(cursor, 1, V3)
                tile, array = numbers(cursor.numbers(4)), self._array(cursor, depth)
                sparse = IntAttr(cursor.varint())
                return GatherScatterViewType(tile, array, self._padding(cursor, flags), sparse)
            case tags.STRIDED_VIEW:
                flags = self._flags(cursor, 1, V3)
                tile, steps = numbers(cursor.numbers(4)), numbers(cursor.numbers(4))
                array, dim_map = self._array(cursor, depth), numbers(cursor.numbers(4))
                return StridedViewType(tile, array, self._padding(cursor, flags), steps, dim_map)
            case _:
                raise cursor.fail(f"a type of tag {tag} is unknown", start)

    def _flags(self, cursor: Cursor, bits: int, since: Version) -> int:
        if self.version < since:
            return 0
        start = cursor.pos
        flags = cursor.varint()
        if flags >> bits:
            raise cursor.fail(f"of the flags {flags:#x} only {bits} bits are known", start)
        return flags

    def _space(self, cursor: Cursor, flags: int) -> Attribute:
        if not flags:
            return NoneAttr()
        start = cursor.pos
        if (space := cursor.varint()) != 0:
            raise cursor.fail(f"memory {space} of a pointer is unknown; 0 (default) is known", start)
        return IntAttr(space)

    def _padding(self, cursor: Cursor, flags: int) -> Attribute:
        return self.word(cursor, PaddingAttr) if flags else NoneAttr()

    def _array(self, cursor: Cursor, depth: int) -> TensorViewType:
        start = cursor.pos
        array = self.type_at(cursor, depth)
        if not isinstance(array, TensorViewType):
            raise cursor.fail(f"a view is of a tensor view, not of {short(array)}", start)
        return array

    def word(self, cursor: Cursor, kind: type[Any]) -> Attribute:
        """A word of an enumeration, by its number."""
        start = cursor.pos
        number = cursor.varint()
        if number >= len(kind.WORDS):
            raise cursor.fail(f"{kind.name} {number} is unknown; 0 to {len(kind.WORDS) - 1} are known", start)
        return kind(kind.WORDS[number])

    # Attributes -------------------------------------------------------------------------------------------------------

    def tagged(self, cursor: Cursor, depth: int = 0) -> Attribute:
        """An attribute behind its tag."""
        start = cursor.pos
        if depth > DEEPEST:
            raise cursor.fail(f"an attribute is more than {DEEPEST} attributes deep")
        tag = cursor.varint()
        match tag:
            case tags.INTEGER:
                return self._integer(cursor)
            case tags.FLOAT:
                return self._float(cursor)
            case tags.BOOL:
                return IntegerAttr(int(cursor.flag()), i1)
            case tags.TYPE:
                return self.type_at(cursor)
            case tags.STRING:
                return StringAttr(self.string(cursor))
            case tags.ARRAY:
                return self.array_of(cursor, depth + 1)
            case tags.DENSE:
                return self.constant(cursor, self.type_at(cursor))
            case tags.DIV_BY:
                divisor = IntAttr(cursor.varint())
                return DivByAttr(divisor, *self._two(cursor))
            case tags.SAME_ELEMENTS:
                return SameElementsAttr(numbers(cursor.numbers(8)))
            case tags.DICTIONARY:
                return self._dictionary(cursor, depth + 1)
            case tags.HINTS:
                return HintsAttr(self._dictionary(cursor, depth + 1))
            case tags.BOUNDED:
                return BoundedAttr(*self._two(cursor))
            case _:
                raise cursor.fail(f"an attribute of tag {tag} is unknown; 1 to 12 are known", start)

    def _integer(self, cursor: Cursor) -> Attribute:
        start = cursor.pos
        kind = self.type_at(cursor)
        width = integer_width(kind)
        if width is None:
            raise cursor.fail(f"an integer is no {short(kind)}", start)
        bits = cursor.varint()
        if bits >> width:
            raise cursor.fail(f"{bits} does not fit {kind}", start)
        if kind == i1:
            self.layout.truths_are_integers = True
        return number_attribute(kind, bits)

    def _float(self, cursor: Cursor) -> Attribute:
        start = cursor.pos
        kind = self.type_at(cursor)
        if kind not in tags.FLOATS:
            raise cursor.fail(f"a float is no {short(kind)}", start)
        width = bits_per_element(kind)
        bits = cursor.byte() if width <= 8 else cursor.zigzag() & ((1 << width) - 1)
        return number_attribute(kind, bits)

    def _two(self, cursor: Cursor) -> tuple[Attribute, Attribute]:
        start = cursor.pos
        flags = cursor.byte()
        if flags > 3:
            raise cursor.fail(f"of the flags {flags:#x} only 2 bits are known", start)
        first = IntAttr(cursor.zigzag()) if flags & 1 else NoneAttr()
        return first, IntAttr(cursor.zigzag()) if flags & 2 else NoneAttr()

    def array_of(self, cursor: Cursor, depth: int = 0) -> ArrayAttr[Attribute]:
        return ArrayAttr(self.tagged(cursor, depth) for _ in range(cursor.count("attributes")))

    def _dictionary(self, cursor: Cursor, depth: int = 0) -> DictionaryAttr:
        entries: dict[str, Attribute] = {}
        for _ in range(cursor.count("entries", 2)):
            start = cursor.pos
            key = self.string(cursor)
            if key in entries:
                raise cursor.fail(f"the key '{key}' is there twice", start)
            entries[key] = self.tagged(cursor, depth)
        return DictionaryAttr(entries)

    def constant(self, cursor: Cursor, kind: Attribute) -> ConstantAttr:
        """The constant of type `kind` whose number comes next."""
        start = cursor.pos
        number = cursor.varint()
        if number >= len(self.constants):
            raise cursor.fail(f"constant {number} is none of {len(self.constants)}", start)
        if not isinstance(kind, TileType) or not is_number(kind.element_type):
            raise cursor.fail(f"a constant is a tile of numbers, not {short(kind)}", start)
        try:
            return ConstantAttr(kind, BytesAttr(self.constants[number]))
        except VerifyException as error:
            raise cursor.fail(f"constant {number}: {error}", start) from None

    def attribute(self, cursor: Cursor, part: Part, results: Sequence[Attribute]) -> Attribute:
        """An attribute of a row, of an op with these types of results."""
        match part.kind:
            case "i32" | "i64":
                width = 32 if part.kind == "i32" else 64
                start = cursor.pos
                value = cursor.varint()
                if value >> width:
                    raise cursor.fail(f"{value} does not fit {part.kind}", start)
                signed = value - (1 << width) if value >> (width - 1) else value
                return IntegerAttr(signed, i32 if width == 32 else i64)
            case "bool":
                return IntegerAttr(int(cursor.flag()), i1)
            case "str":
                return StringAttr(self.string(cursor))
            case "symbol":
                return SymbolRefAttr(self.string(cursor))
            case "i32s":
                return DenseArrayBase.from_list(i32, cursor.numbers(4))
            case "bools":
                return DenseArrayBase.from_list(i1, [int(cursor.flag()) for _ in range(cursor.count("truths"))])
            case "constant":
                return self.constant(cursor, results[0])
            case "fact":
                return self.tagged(cursor)
            case "array":
                return self.array_of(cursor)
            case "hints":
                return HintsAttr(self._dictionary(cursor))
            case _:
                return self.word(cursor, ENUMERATIONS[part.kind])
