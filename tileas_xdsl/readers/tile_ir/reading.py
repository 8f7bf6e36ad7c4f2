"""Bytecode in: the sections of a file, its globals and its kernels."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerAttr, LocationAttr, StringAttr, UnitAttr, i64
from xdsl.dialects.builtin import ModuleOp as BuiltinModuleOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.cuda_tile.attributes import HintsAttr
from tileas_xdsl.dialects.cuda_tile.enumerations import VisibilityAttr
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp, GlobalOp, ModuleOp
from tileas_xdsl.dialects.cuda_tile.table import V3, V5
from tileas_xdsl.dialects.cuda_tile.types import short
from tileas_xdsl.readers.tile_ir import sections
from tileas_xdsl.readers.tile_ir.code import Code
from tileas_xdsl.readers.tile_ir.cursor import BytecodeError, Cursor
from tileas_xdsl.readers.tile_ir.debug import DebugTable
from tileas_xdsl.readers.tile_ir.names import name_values
from tileas_xdsl.readers.tile_ir.sections import sections_of
from tileas_xdsl.readers.tile_ir.tables import Tables
from tileas_xdsl.readers.tile_ir.writing import write

PRIVATE, KERNEL, HAS_HINTS = 1, 2, 4
"""The flags of a function."""


def read(data: bytes, name: str = "kernels") -> BuiltinModuleOp:
    """
    The module of `cuda_tile` in the bytes of a file, inside a builtin module; `name` becomes its symbol.

    Raises `BytecodeError` for bytes that are no Tile IR of a known version; what an op demands is not verified.
    """
    layout, found = sections_of(data)
    try:
        tables = Tables(layout, found)
        tables.load()
        module = _Reader(tables).module(name)
    except VerifyException as error:
        raise BytecodeError(0, str(error)) from None
    module.attributes.update(layout.attributes())
    whole = BuiltinModuleOp([module])
    if write(whole) != data:
        layout.rows = _rows_of(found)
        module.attributes.update(layout.attributes())
        _require_equal(write(whole), data)
    return whole


def _require_equal(written: bytes, data: bytes) -> None:
    """Raises `BytecodeError` at the first byte that a module does not keep."""
    if written != data:
        ends = min(len(written), len(data))
        offset = next((place for place in range(ends) if written[place] != data[place]), ends)
        raise BytecodeError(offset, "what stands here is not what any module is written as")


def _rows_of(found: dict[int, Cursor]) -> dict[int, list[bytes]]:
    """The rows of each table, as they are numbered."""
    rows: dict[int, list[bytes]] = {}
    for number, width in ((sections.STRING, 4), (sections.TYPE, 4), (sections.CONSTANT, 8)):
        if number in found:
            table = found[number].again().table(width, sections.NAMES[number])
            rows[number] = [row.data[row.pos : row.end] for row in table]
    if sections.DEBUG in found:
        rows[sections.DEBUG] = DebugTable.rows_of(found[sections.DEBUG].again())
    return rows


@dataclass
class _Reader:
    tables: Tables

    def module(self, name: str) -> ModuleOp:
        module = ModuleOp.of(name, [*self._globals(), *self._functions()])
        if sections.PRODUCER in self.tables.found:
            cursor = self.tables.found[sections.PRODUCER].again()
            module.properties["producer"] = StringAttr(self.tables.string(cursor))
            cursor.finish("the producer")
        return module

    def _globals(self) -> list[Operation]:
        if sections.GLOBAL not in self.tables.found:
            return []
        cursor = self.tables.found[sections.GLOBAL].again()
        made: list[Operation] = []
        for _ in range(cursor.count("globals", 4)):
            properties: dict[str, Attribute] = {"sym_name": StringAttr(self.tables.string(cursor))}
            properties["value"] = self.tables.constant(cursor, self.tables.type_at(cursor))
            if alignment := cursor.varint():
                properties["alignment"] = IntegerAttr(alignment, i64)
            if self.tables.version >= V3:
                visibility = self.tables.word(cursor, VisibilityAttr)
                if visibility != VisibilityAttr("public"):
                    properties["symbol_visibility"] = visibility
                if cursor.flag():
                    properties["constant"] = UnitAttr()
            made.append(GlobalOp.create(properties=properties))
        cursor.finish("the globals")
        return made

    def _functions(self) -> list[Operation]:
        cursor = self.tables.found[sections.FUNCTION].again()
        made = [self._function(cursor) for _ in range(cursor.count("functions", 5))]
        if cursor.pos != cursor.end and cursor.end % 8 == 0 and cursor.end - cursor.pos < 8:
            cursor.pad(8)
            self.tables.layout.pads_functions = True
        cursor.finish("the functions")
        return made

    def _function(self, cursor: Cursor) -> Operation:
        start = cursor.pos
        name = self.tables.string(cursor)
        at = cursor.pos
        signature = self.tables.type_at(cursor)
        if not isinstance(signature, FunctionType):
            raise cursor.fail(f"the signature of '{name}' is {short(signature)}", at)
        flags = cursor.byte()
        if flags & ~(PRIVATE | KERNEL | HAS_HINTS):
            raise cursor.fail(f"of the flags {flags:#x} of '{name}' only 3 bits are known", cursor.pos - 1)
        if not flags & KERNEL:
            raise cursor.fail(f"'{name}' is a function and no kernel; only kernels are read", start)
        properties: dict[str, Attribute] = {"sym_name": StringAttr(name), "function_type": signature}
        places = self._places(cursor)
        if flags & HAS_HINTS or self.tables.version >= V5:
            hints = self.tables.tagged(cursor)
            if not isinstance(hints, HintsAttr):
                raise cursor.fail(f"the hints of '{name}' are another attribute")
            properties["optimization_hints"] = hints
        if self.tables.version >= V5:
            arguments = self.tables.tagged(cursor)
            if arguments != ArrayAttr([]):
                properties["arg_attrs"] = arguments
        body = cursor.part(cursor.varint())
        block = Block(arg_types=list(signature.inputs.data))
        name_values(block.args, "arg", 0)
        code = Code(self.tables, body, places, list(block.args), len(block.args))
        location = code.place()
        while body.pos != body.end:
            block.add_op(code.op(0))
        if code.places is not None and code.places:
            raise body.fail(f"'{name}' has {len(code.places)} places more than ops")
        entry = EntryOp.create(properties=properties, regions=[Region(block)])
        entry.location = location
        if flags & PRIVATE:
            entry.attributes["private"] = UnitAttr()
        return entry

    def _places(self, cursor: Cursor) -> list[LocationAttr] | None:
        """The places of the function and of its ops, the last first; None where there are none."""
        start = cursor.pos
        number = cursor.varint()
        if number == 0:
            self.tables.layout.without_debug = True
            return None
        if self.tables.debug is None or number > len(self.tables.debug.functions):
            raise cursor.fail(f"function {number} of the debug information is missing", start)
        return list(reversed(self.tables.debug.functions[number - 1]))
