"""The ops of a function, read by the rows of `cuda_tile`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, LocationAttr, UnitAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileas_xdsl.dialects.cuda_tile.base import SEGMENTS
from tileas_xdsl.dialects.cuda_tile.enumerations import ENUMERATIONS
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.rows import Part, Row
from tileas_xdsl.dialects.cuda_tile.table import BY_OPCODE
from tileas_xdsl.readers.tile_ir import sections
from tileas_xdsl.readers.tile_ir.cursor import Cursor
from tileas_xdsl.readers.tile_ir.names import name_results, name_values
from tileas_xdsl.readers.tile_ir.tables import Tables

DEEPEST_REGIONS = 64


@dataclass
class Code:
    """The ops of a function, in order."""

    tables: Tables
    cursor: Cursor
    places: list[LocationAttr] | None
    values: list[SSAValue]
    arguments: int
    """The number of the next argument of a loop, for its name."""

    def place(self) -> LocationAttr:
        """The place of what comes next."""
        if self.places is None:
            return UNKNOWN_LOC
        if not self.places:
            raise self.cursor.fail("an op has no place in the debug information")
        return self.places.pop()

    def op(self, depth: int) -> Operation:
        """The next op, `depth` regions deep."""
        cursor = self.cursor
        start = cursor.pos
        opcode = cursor.varint()
        row = BY_OPCODE.get(opcode)
        if row is None:
            raise cursor.fail(f"opcode {opcode} is unknown", start)
        version = self.tables.version
        if row.since > version:
            since, ours = sections.version_text(row.since), sections.version_text(version)
            raise cursor.fail(f"opcode {opcode} ('{row.name}') is of {since}, and the file of {ours}", start)
        location = self.place()
        kinds = self._result_types(row, start)
        flags = self._flags(row)
        properties = self._properties(row, flags, kinds)
        operands, sizes = self._operands(row, flags)
        if row.has_segments:
            properties[SEGMENTS] = DenseArrayBase.from_list(i32, sizes)
        regions = self._regions(row, depth) if row.regions else []
        op = OPS[row.name].create(operands=operands, result_types=kinds, properties=properties, regions=regions)
        op.location = location
        self.values += op.results
        name_results(op)
        return op

    def _result_types(self, row: Row, start: int) -> list[Attribute]:
        parts = [part for part in row.results if part.since <= self.tables.version]
        if not row.counts_results:
            return [self.tables.type_at(self.cursor) for _ in parts]
        count = self.cursor.count("results")
        is_list = any(part.many == "*" for part in parts)
        if (count != len(parts) and not is_list) or (row.name == "print_tko" and count != len(parts)):
            raise self.cursor.fail(f"'{row.name}' has {len(parts)} results, not {count}", start)
        return [self.tables.type_at(self.cursor) for _ in range(count)]

    def _flags(self, row: Row) -> set[str]:
        """The names of the flags that are set."""
        version = self.tables.version
        if not row.flags or version < min(flag.since for flag in row.flags):
            return set()
        start = self.cursor.pos
        bits = self.cursor.varint()
        known = [flag.name for flag in row.flags]
        if bits >> len(known):
            raise self.cursor.fail(f"of the flags {bits:#x} of '{row.name}' {len(known)} bits are known", start)
        return {name for place, name in enumerate(known) if bits >> place & 1}

    def _properties(self, row: Row, flags: set[str], kinds: Sequence[Attribute]) -> dict[str, Attribute]:
        properties: dict[str, Attribute] = {name: UnitAttr() for name in row.units if name in flags}
        for part in row.attributes:
            if part.many == "?" and part.name not in flags:
                continue
            if part.since > self.tables.version:
                if part.default:
                    properties[part.name] = ENUMERATIONS[part.kind](part.default)
                continue
            found = self.tables.attribute(self.cursor, part, kinds)
            properties[part.name] = found
        return properties

    def _operands(self, row: Row, flags: set[str]) -> tuple[list[SSAValue], list[int]]:
        parts = row.operands
        if row.counts_each_group:
            sizes: list[int] = []
            operands: list[SSAValue] = []
            for part in parts:
                size = self._group_size(part, flags)
                operands += [self._value() for _ in range(size)]
                sizes.append(size)
            return operands, sizes
        count = len(parts)
        if row.counts_all_operands:
            start = self.cursor.pos
            count = self.cursor.count("operands")
            single = sum(not part.many for part in parts)
            most = single + 1 if any(part.many == "?" for part in parts) else None
            if count < single or (most is not None and count > most):
                raise self.cursor.fail(f"'{row.name}' does not have {count} operands", start)
        return [self._value() for _ in range(count)], []

    def _group_size(self, part: Part, flags: set[str]) -> int:
        if part.many == "*":
            return self.cursor.count(f"operands '{part.name}'")
        return int(part.name in flags) if part.many == "?" else 1

    def _value(self) -> SSAValue:
        start = self.cursor.pos
        number = self.cursor.varint()
        if number >= len(self.values):
            raise self.cursor.fail(f"value {number} is none of the {len(self.values)} values so far", start)
        return self.values[number]

    def _regions(self, row: Row, depth: int) -> list[Region]:
        start = self.cursor.pos
        if depth >= DEEPEST_REGIONS:
            raise self.cursor.fail(f"regions are more than {DEEPEST_REGIONS} deep")
        count = self.cursor.varint()
        if count != row.regions:
            raise self.cursor.fail(f"'{row.name}' has {row.regions} regions, not {count}", start)
        return [self._region(row, depth + 1) for _ in range(count)]

    def _region(self, row: Row, depth: int) -> Region:
        region = Region()
        for _ in range(self.cursor.count("blocks", 2)):
            kinds = [self.tables.type_at(self.cursor) for _ in range(self.cursor.count("arguments"))]
            block = Block(arg_types=kinds)
            before = len(self.values)
            self.values += block.args
            self.arguments = name_values(block.args, row.name, self.arguments)
            region.add_block(block)
            for _ in range(self.cursor.count("ops")):
                block.add_op(self.op(depth))
            del self.values[before:]
        return region
