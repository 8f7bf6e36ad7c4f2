"""
Bytecode out: rows of strings, types, constants and debug attributes get their numbers as they are first needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    DenseArrayBase,
    DictionaryAttr,
    FileLineColLoc,
    FloatAttr,
    FunctionType,
    FusedLoc,
    IntAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    i1,
)
from xdsl.dialects.builtin import ModuleOp as BuiltinModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue, TypeAttribute

from tileas_xdsl.dialects.cuda_tile.attributes import (
    BoundedAttr,
    ConstantAttr,
    DivByAttr,
    HintsAttr,
    SameElementsAttr,
)
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.debug import (
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DISubprogramAttr,
)
from tileas_xdsl.dialects.cuda_tile.elements import bits_of, bits_per_element
from tileas_xdsl.dialects.cuda_tile.enumerations import PaddingAttr, VisibilityAttr, WordAttr
from tileas_xdsl.dialects.cuda_tile.rows import Part, Row, Version
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp, GlobalOp, ModuleOp
from tileas_xdsl.dialects.cuda_tile.table import V3, V4, V5
from tileas_xdsl.dialects.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
    plain,
    short,
)
from tileas_xdsl.readers.tile_ir import sections, tags
from tileas_xdsl.readers.tile_ir.cursor import Buffer
from tileas_xdsl.readers.tile_ir.debug import attribute_of
from tileas_xdsl.readers.tile_ir.sections import ALIGNED, ALIGNMENTS, MAGIC, Layout, version_text


class NotWritableError(Exception):
    """What a module holds has no bytecode of the wanted version."""


def write(module: BuiltinModuleOp | ModuleOp, version: Version | None = None) -> bytes:
    """
    The bytecode of the one module of `cuda_tile` in `module`, in `version` or that which the module says.

    Raises `NotWritableError` for what the format does not have.
    """
    inner = module if isinstance(module, ModuleOp) else _only_module(module)
    layout = Layout.of(inner.attributes)
    if version is not None and version != layout.version:
        layout = Layout(version)
    return _Writer(layout).file(inner)


def _only_module(module: BuiltinModuleOp) -> ModuleOp:
    found = [op for op in module.body.block.ops if isinstance(op, ModuleOp)]
    if len(found) != 1 or len(found) != len(list(module.body.block.ops)):
        raise NotWritableError(f"the file holds {len(found)} modules of cuda_tile, and bytecode holds one alone")
    return found[0]


@dataclass
class _Rows:
    """A table that is being filled: equal rows are one."""

    first: int = 0
    numbers: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def number(self, row: bytes) -> int:
        return self.numbers.setdefault(row, len(self.numbers) + self.first)

    def fill(self, rows: Iterable[bytes]) -> None:
        for row in rows:
            self.number(row)


class _Writer:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.version = layout.version
        self.tables = {number: _Rows() for number in (sections.STRING, sections.TYPE, sections.CONSTANT)}
        self.tables[sections.DEBUG] = _Rows(first=1)
        for number, rows in layout.rows.items():
            self.tables[number].fill(rows)
        if sections.TYPE not in layout.rows:
            self.tables[sections.TYPE].fill([b"\x00", b"\x03"])
        self.types: dict[Attribute, int] = {}
        self.places: list[list[int]] = []

    # The file ---------------------------------------------------------------------------------------------------------

    def file(self, module: ModuleOp) -> bytes:
        ops = list(module.body.block.ops)
        payloads = {sections.FUNCTION: self._functions([op for op in ops if isinstance(op, EntryOp)])}
        if made := [op for op in ops if isinstance(op, GlobalOp)]:
            payloads[sections.GLOBAL] = self._globals(made)
        if module.producer is not None:
            producer = Buffer()
            producer.varint(self.string(module.producer.data))
            payloads[sections.PRODUCER] = bytes(producer.data)
        payloads[sections.CONSTANT] = self._table(sections.CONSTANT, 8)
        payloads[sections.DEBUG] = self._debug()
        payloads[sections.TYPE] = self._table(sections.TYPE, 4)
        payloads[sections.STRING] = self._table(sections.STRING, 4)
        return self._assembled(payloads)

    def _assembled(self, payloads: dict[int, bytes]) -> bytes:
        out = Buffer(bytearray(MAGIC))
        out.data += bytes(self.version)
        out.fixed(self.layout.tag, 2)
        order = [number for number in self.layout.order if number in payloads]
        order += [number for number in (sections.GLOBAL, sections.PRODUCER) if number in payloads.keys() - set(order)]
        for number in order:
            alignment = self.layout.alignments.get(number, ALIGNMENTS[number])
            out.data.append(number | (ALIGNED if alignment > 1 else 0))
            out.varint(len(payloads[number]))
            if alignment > 1:
                out.varint(alignment)
                out.pad(alignment)
            out.data += payloads[number]
        out.data.append(0)
        return bytes(out.data)

    def _table(self, number: int, width: int) -> bytes:
        out = Buffer()
        out.table(list(self.tables[number].numbers), width)
        return bytes(out.data)

    def _debug(self) -> bytes:
        out = Buffer()
        out.varint(len(self.places))
        out.pad(4)
        total = 0
        for places in self.places:
            out.fixed(total, 4)
            total += len(places)
        out.varint(total)
        out.pad(8)
        for places in self.places:
            for place in places:
                out.fixed(place, 8)
        out.table(list(self.tables[sections.DEBUG].numbers) or [b"\x00"], 4)
        return bytes(out.data)

    def _globals(self, made: Sequence[GlobalOp]) -> bytes:
        out = Buffer()
        out.varint(len(made))
        for one in made:
            out.varint(self.string(one.sym_name.data))
            out.varint(self.type(one.value.type))
            out.varint(self.constant(one.value))
            out.varint(one.alignment_bytes)
            if self.version >= V3:
                visibility = one.symbol_visibility or VisibilityAttr("public")
                out.varint(visibility.number)
                out.varint(int(one.constant is not None))
            elif one.constant is not None or one.symbol_visibility not in (None, VisibilityAttr("public")):
                raise NotWritableError("what a global is beyond its value is of 13.3")
        return bytes(out.data)

    # Functions --------------------------------------------------------------------------------------------------------

    def _functions(self, entries: Sequence[EntryOp]) -> bytes:
        out = Buffer()
        out.varint(len(entries))
        for entry in entries:
            self._function(entry, out)
        if self.layout.pads_functions:
            out.pad(8)
        return bytes(out.data)

    def _function(self, entry: EntryOp, out: Buffer) -> None:
        places = [self.place(entry.location)]
        out.varint(self.string(entry.sym_name.data))
        out.varint(self.type(entry.function_type))
        hints = entry.optimization_hints
        has_flag = hints is not None and self.version < V5
        out.data.append(2 | ("private" in entry.attributes) | (4 if has_flag else 0))
        if not self.layout.without_debug:
            self.places.append(places)
        out.varint(len(self.places))
        if hints is not None or self.version >= V5:
            self.tagged(hints or HintsAttr(DictionaryAttr({})), out)
        if self.version >= V5:
            self.tagged(cast("Attribute", entry.arg_attrs) or ArrayAttr([]), out)
        body = Buffer()
        code = _Code(self, body, places)
        code.define(entry.body.block.args)
        for op in entry.body.block.ops:
            code.op(op)
        out.varint(len(body.data))
        out.data += body.data

    # Rows -------------------------------------------------------------------------------------------------------------

    def string(self, text: str) -> int:
        return self.tables[sections.STRING].number(text.encode())

    def constant(self, value: ConstantAttr) -> int:
        row = Buffer()
        row.varint(len(value.data.data))
        row.data += value.data.data
        return self.tables[sections.CONSTANT].number(bytes(row.data))

    def type(self, kind: Attribute) -> int:
        if kind not in self.types:
            row = Buffer()
            self._type_row(kind, row)
            self.types[kind] = self.tables[sections.TYPE].number(bytes(row.data))
        return self.types[kind]

    def _since(self, tag: int, kind: Attribute) -> None:
        since = tags.SINCE.get(tag)
        if since is not None and since > self.version:
            wanted = version_text(self.version)
            raise NotWritableError(f"{short(kind)} is of {version_text(since)}, and the bytecode of {wanted}")

    def _type_row(self, kind: Attribute, row: Buffer) -> None:
        if (tag := tags.TAG_OF.get(kind)) is not None:
            self._since(tag, kind)
            row.varint(tag)
            return
        match kind:
            case PointerType():
                row.varint(tags.POINTER)
                self._flags(row, kind.space, V4)
                row.varint(self.type(kind.pointee))
                self._optional(row, kind.space)
            case TileType():
                row.varint(tags.TILE)
                row.varint(self.type(kind.element_type))
                row.numbers(kind.get_shape(), 8)
            case TensorViewType():
                row.varint(tags.TENSOR_VIEW)
                self._flags(row, kind.space, V4)
                row.varint(self.type(kind.element_type))
                row.numbers(kind.get_shape(), 8)
                row.numbers(kind.get_strides(), 8)
                self._optional(row, kind.space)
            case FunctionType():
                row.varint(tags.FUNCTION)
                for group in (kind.inputs.data, kind.outputs.data):
                    row.varint(len(group))
                    for one in group:
                        row.varint(self.type(one))
            case TileViewType():
                self._view_row(kind, row)
            case _:
                raise NotWritableError(f"the type {short(kind)} has no bytecode")

    def _view_row(self, kind: TileViewType, row: Buffer) -> None:
        tag = VIEWS[type(kind)]
        self._since(tag, kind)
        row.varint(tag)
        if self.version >= V3:
            row.varint(int(isinstance(kind.padding, PaddingAttr)))
        row.numbers(kind.get_tile_shape(), 4)
        if isinstance(kind, StridedViewType):
            row.numbers(plain(kind.steps), 4)
        row.varint(self.type(kind.tensor_view))
        if isinstance(kind, GatherScatterViewType):
            row.varint(kind.sparse_dim.data)
        else:
            row.numbers(kind.get_dim_map(), 4)
        if self.version < V3:
            row.varint(int(isinstance(kind.padding, PaddingAttr)))
        self._optional(row, kind.padding)

    def _flags(self, row: Buffer, optional: Attribute, since: Version) -> None:
        if self.version >= since:
            row.varint(int(not isinstance(optional, NoneAttr)))
        elif not isinstance(optional, NoneAttr):
            raise NotWritableError(f"the memory of a pointer is of {version_text(since)}")

    def _optional(self, row: Buffer, optional: Attribute) -> None:
        match optional:
            case IntAttr():
                row.varint(optional.data)
            case PaddingAttr():
                row.varint(optional.number)
            case _:
                pass

    # Debug information ------------------------------------------------------------------------------------------------

    def place(self, location: Attribute) -> int:
        attribute = attribute_of(location)
        return 0 if attribute is None else self._debug_number(attribute)

    def _debug_number(self, attribute: Attribute) -> int:
        if attribute in self.types:
            return self.types[attribute]
        row = Buffer()
        self._debug_row(attribute, row)
        number = self.types[attribute] = self.tables[sections.DEBUG].number(bytes(row.data))
        return number

    def _debug_row(self, attribute: Attribute, row: Buffer) -> None:
        match attribute:
            case DICompileUnitAttr():
                fields: tuple[int, ...] = tags.COMPILE_UNIT, self._debug_number(attribute.file)
            case DIFileAttr():
                fields = tags.FILE, self.string(attribute.file.data), self.string(attribute.folder.data)
            case DILexicalBlockAttr():
                scope, file = self._debug_number(attribute.scope), self._debug_number(attribute.file)
                fields = tags.LEXICAL_BLOCK, scope, file, attribute.line.data, attribute.column.data
            case DISubprogramAttr():
                file, unit = self._debug_number(attribute.file), self._debug_number(attribute.unit)
                names = self.string(attribute.function.data), self.string(attribute.linkage.data)
                fields = tags.SUBPROGRAM, file, attribute.line.data, *names, unit, attribute.scope_line.data
                if self.version >= V5:
                    fields = *fields, attribute.flags.data
            case FusedLoc():
                (place,) = cast("ArrayAttr[FileLineColLoc]", attribute.locations).data
                scope = self._debug_number(attribute.metadata)
                file = self.string(place.filename.data)
                fields = tags.PLACE, scope, file, place.line.data, max(place.column.data - 1, 0)
            case CallSiteLoc():
                callee = self._debug_number(attribute.callee)
                fields = tags.CALL_SITE, callee, self._debug_number(attribute.caller)
            case _:
                raise NotWritableError(f"{attribute} is no debug information")
        for number in fields:
            row.varint(number)

    # Attributes -------------------------------------------------------------------------------------------------------

    def tagged(self, attribute: Attribute, out: Buffer, *, in_array: bool = False) -> None:
        match attribute:
            case IntegerAttr() if attribute.type == i1 and not (in_array and self.layout.truths_are_integers):
                out.varint(tags.BOOL)
                out.data.append(attribute.value.data & 1)
            case IntegerAttr():
                width = cast(IntegerType, attribute.type).width.data
                out.varint(tags.INTEGER)
                out.varint(self.type(attribute.type))
                out.varint(attribute.value.data & ((1 << width) - 1))
            case FloatAttr():
                out.varint(tags.FLOAT)
                out.varint(self.type(attribute.type))
                bits = bits_of(attribute.type, attribute.value.data)
                if bits_per_element(attribute.type) <= 8:
                    out.data.append(bits)
                else:
                    signed = bits - (1 << 64) if bits >> 63 else bits
                    out.zigzag(signed)
            case StringAttr():
                out.varint(tags.STRING)
                out.varint(self.string(attribute.data))
            case ArrayAttr():
                out.varint(tags.ARRAY)
                self.items(attribute.data, out)
            case ConstantAttr():
                out.varint(tags.DENSE)
                out.varint(self.type(attribute.type))
                out.varint(self.constant(attribute))
            case DivByAttr():
                out.varint(tags.DIV_BY)
                out.varint(attribute.divisor.data)
                self._two(attribute.every, attribute.along, out)
            case SameElementsAttr():
                out.varint(tags.SAME_ELEMENTS)
                out.numbers(plain(attribute.groups), 8)
            case BoundedAttr():
                out.varint(tags.BOUNDED)
                self._two(attribute.lower, attribute.upper, out)
            case DictionaryAttr():
                out.varint(tags.DICTIONARY)
                self.dictionary(attribute, out)
            case HintsAttr():
                out.varint(tags.HINTS)
                self.dictionary(attribute.targets, out)
            case TypeAttribute():
                out.varint(tags.TYPE)
                out.varint(self.type(attribute))
            case _:
                raise NotWritableError(f"the attribute {attribute} has no bytecode")

    def items(self, items: Sequence[Attribute], out: Buffer) -> None:
        out.varint(len(items))
        for item in items:
            self.tagged(item, out, in_array=True)

    def dictionary(self, entries: DictionaryAttr, out: Buffer) -> None:
        out.varint(len(entries.data))
        for key, value in entries.data.items():
            out.varint(self.string(key))
            self.tagged(value, out)

    def _two(self, first: Attribute, second: Attribute, out: Buffer) -> None:
        out.data.append(int(isinstance(first, IntAttr)) | int(isinstance(second, IntAttr)) << 1)
        for one in (first, second):
            match one:
                case IntAttr():
                    out.zigzag(one.data)
                case _:
                    pass

    def attribute(self, attribute: Attribute, part: Part, out: Buffer) -> None:
        match attribute:
            case WordAttr():
                out.varint(attribute.number)
            case ConstantAttr():
                out.varint(self.constant(attribute))
            case IntegerAttr() if part.kind == "bool":
                out.data.append(attribute.value.data & 1)
            case IntegerAttr():
                width = cast(IntegerType, attribute.type).width.data
                out.varint(attribute.value.data & ((1 << width) - 1))
            case StringAttr():
                out.varint(self.string(attribute.data))
            case SymbolRefAttr():
                out.varint(self.string(attribute.string_value()))
            case DenseArrayBase():
                values = cast("Sequence[int]", cast("DenseArrayBase[Any]", attribute).get_values())
                if part.kind == "bools":
                    out.numbers([int(bool(value)) for value in values], 1)
                else:
                    out.numbers(values, 4)
            case HintsAttr():
                self.dictionary(attribute.targets, out)
            case ArrayAttr():
                self.items(attribute.data, out)
            case _:
                self.tagged(attribute, out)


VIEWS: dict[type[TileViewType], int] = {
    PartitionViewType: tags.PARTITION_VIEW,
    GatherScatterViewType: tags.GATHER_SCATTER_VIEW,
    StridedViewType: tags.STRIDED_VIEW,
}


@dataclass
class _Code:
    """The ops of a function that is being written."""

    writer: _Writer
    out: Buffer
    places: list[int]
    numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    next: int = 0

    def define(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            self.numbers[value] = self.next
            self.next += 1

    def op(self, op: Operation) -> None:
        if not isinstance(op, TileIROp):
            raise NotWritableError(f"'{op.name}' has no opcode")
        row, writer, out = op.ROW, self.writer, self.out
        if row.since > writer.version:
            wanted = version_text(writer.version)
            raise NotWritableError(f"'{op.name}' is of {version_text(row.since)}, and the bytecode of {wanted}")
        self.places.append(writer.place(op.location))
        out.varint(row.opcode)
        if row.counts_results:
            out.varint(len(op.results))
        for result in op.results:
            out.varint(writer.type(result.type))
        self._flags(op, row)
        self._attributes(op, row)
        self._operands(op, row)
        if row.regions:
            self._regions(op)
        self.define(op.results)

    def _flags(self, op: TileIROp, row: Row) -> None:
        if not row.flags:
            return
        bits = 0
        for place, flag in enumerate(row.flags):
            is_operand = any(part.name == flag.name for part in row.operands)
            there = bool(op.group(flag.name)) if is_operand else flag.name in op.properties
            if there and flag.since > self.writer.version:
                raise NotWritableError(f"'{flag.name}' of '{op.name}' is of {version_text(flag.since)}")
            bits |= there << place
        if self.writer.version >= min(flag.since for flag in row.flags):
            self.out.varint(bits)

    def _attributes(self, op: TileIROp, row: Row) -> None:
        for part in row.attributes:
            attribute = op.properties.get(part.name)
            if part.since > self.writer.version:
                if attribute is not None and not _says_nothing(attribute, part):
                    raise NotWritableError(f"'{part.name}' of '{op.name}' is of {version_text(part.since)}")
            elif attribute is not None:
                self.writer.attribute(attribute, part, self.out)
            elif part.kind == "bools":
                self.out.numbers([0] * len(op.group("index")), 1)
            elif part.many != "?":
                raise NotWritableError(f"'{part.name}' of '{op.name}' is missing")

    def _operands(self, op: TileIROp, row: Row) -> None:
        if row.counts_all_operands:
            self.out.varint(len(op.operands))
        for part in row.operands:
            group = op.group(part.name)
            if row.counts_each_group and part.many == "*":
                self.out.varint(len(group))
            for value in group:
                self.out.varint(self.numbers[value])

    def _regions(self, op: TileIROp) -> None:
        self.out.varint(len(op.regions))
        for region in op.regions:
            self.out.varint(len(region.blocks))
            for block in region.blocks:
                self._block(block)

    def _block(self, block: Block) -> None:
        before = self.next
        self.out.varint(len(block.args))
        for argument in block.args:
            self.out.varint(self.writer.type(argument.type))
        self.define(block.args)
        self.out.varint(len(list(block.ops)))
        for op in block.ops:
            self.op(op)
        self.next = before


def _says_nothing(attribute: Attribute, part: Part) -> bool:
    """Whether an attribute that the version lacks says what it would be without it."""
    if isinstance(attribute, DenseArrayBase):
        return not any(cast("DenseArrayBase[Any]", attribute).get_values())
    return isinstance(attribute, WordAttr) and attribute.data == part.default
