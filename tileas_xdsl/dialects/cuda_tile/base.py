"""The class of all ops of `cuda_tile` that are rows, and what makes one out of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i32
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    MemoryAllocEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    OpTrait,
    Pure,
    RecursiveMemoryEffect,
    ReturnLike,
)

from tileas_xdsl.dialects.cuda_tile.enumerations import ENUMERATIONS, WordAttr
from tileas_xdsl.dialects.cuda_tile.rows import Part, Row
from tileas_xdsl.dialects.cuda_tile.types import TileType

OPERANDS: Mapping[str, Callable[[], Any]] = {"": operand_def, "?": opt_operand_def, "*": var_operand_def}
RESULTS: Mapping[str, Callable[[], Any]] = {"": result_def, "*": var_result_def}
TRAITS: Mapping[str, Callable[[], tuple[OpTrait, ...]]] = {
    "pure": lambda: (Pure(),),
    "regions": lambda: (RecursiveMemoryEffect(),),
    "terminator": lambda: (IsTerminator(), ReturnLike(), Pure()),
    "reads": lambda: (MemoryReadEffect(),),
    "writes": lambda: (MemoryWriteEffect(),),
    "memory": lambda: (MemoryReadEffect(), MemoryWriteEffect()),
    "allocates": lambda: (MemoryAllocEffect(),),
}
SEGMENTS = "operandSegmentSizes"


class TileIROp(IRDLOperation):
    """An op of `cuda_tile`: groups of operands and attributes are asked for by the names of its row."""

    ROW: ClassVar[Row]
    VERIFY: ClassVar[Callable[[TileIROp], None]]

    def verify_(self) -> None:
        type(self).VERIFY(self)

    def group(self, name: str) -> Sequence[SSAValue]:
        """The operands of the group `name`."""
        return _group(self.ROW.operands, name, self.operands, self._sizes)

    def operand(self, name: str) -> SSAValue:
        """The only operand of the group `name`."""
        return self.group(name)[0]

    def optional(self, name: str) -> SSAValue | None:
        """The operand of the group `name`, or None where it is missing."""
        return next(iter(self.group(name)), None)

    def result_group(self, name: str) -> Sequence[SSAValue]:
        """The results of the group `name`."""
        return _group(self.ROW.results, name, self.results, None)

    def word(self, name: str) -> str:
        """The word of an enumeration, or its default; `` where neither is there."""
        found = self.properties.get(name)
        return found.data if isinstance(found, WordAttr) else self.ROW.defaults.get(name, "")

    def flag(self, name: str) -> bool:
        """Whether the unit attribute `name` is there."""
        return name in self.properties

    @property
    def _sizes(self) -> Sequence[int] | None:
        sizes = self.properties.get(SEGMENTS)
        return cast("DenseArrayBase[Any]", sizes).get_values() if isinstance(sizes, DenseArrayBase) else None


def _group(
    parts: Sequence[Part], name: str, values: Sequence[SSAValue], sizes: Sequence[int] | None
) -> Sequence[SSAValue]:
    if sizes is None:
        lists = sum(bool(part.many) for part in parts)
        rest = len(values) - (len(parts) - lists)
        sizes = [rest if part.many else 1 for part in parts]
    start = 0
    for part, size in zip(parts, sizes, strict=True):
        if part.name == name:
            return values[start : start + size]
        start += size
    raise KeyError(name)


class WrittenOp(TileIROp):
    """An op that has a text of its own."""

    PARSE: ClassVar[Callable[[Parser, type[TileIROp]], TileIROp]]
    PRINT: ClassVar[Callable[[Printer, TileIROp], None]]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cast("Self", cls.PARSE(parser, cls))

    def print(self, printer: Printer) -> None:
        type(self).PRINT(printer, self)


def tile_of(value: SSAValue) -> TileType:
    """The type of a value that is a tile."""
    return cast(TileType, value.type)


def build(
    op: type[TileIROp],
    groups: Mapping[str, Sequence[SSAValue]],
    results: Sequence[Attribute],
    properties: Mapping[str, Attribute],
    *,
    attributes: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] = (),
) -> TileIROp:
    """An op of class `op` with these groups of operands; attributes with a default that are not given get it."""
    row = op.ROW
    known: dict[str, Attribute] = {
        name: ENUMERATIONS[_kind(row, name)](word) for name, word in row.defaults.items() if name not in properties
    }
    known |= properties
    if row.has_segments:
        known[SEGMENTS] = DenseArrayBase.from_list(i32, [len(groups.get(part.name, ())) for part in row.operands])
    return op.create(
        operands=[value for part in row.operands for value in groups.get(part.name, ())],
        result_types=results,
        properties=known,
        attributes=dict(attributes or {}),
        regions=regions,
    )


def _kind(row: Row, name: str) -> str:
    return next(part.kind for part in row.attributes if part.name == name)


UNIT = UnitAttr()


Written = tuple[Callable[[Parser, type[TileIROp]], TileIROp], Callable[[Printer, TileIROp], None]]
"""What reads the text of an op, and what prints it."""


def op_of(row: Row, verify: Callable[[TileIROp], None], written: Written | None) -> type[TileIROp]:
    """The class of a row; without `written` the op has the generic text only."""
    fields: dict[str, Any] = {_field("operand", part.name): OPERANDS[part.many]() for part in row.operands}
    fields |= {_field("result", part.name): RESULTS[part.many]() for part in row.results}
    fields |= {
        _field("property", name): opt_prop_def(prop_name=name)
        for name in (*(part.name for part in row.attributes), *row.units)
    }
    fields |= {_field("region", str(place)): region_def() for place in range(row.regions)}
    if row.has_segments:
        fields["irdl_options"] = (AttrSizedOperandSegments(as_property=True),)
    fields |= {"name": f"cuda_tile.{row.name}", "traits": traits_def(*TRAITS[row.effects]())}
    fields |= {"ROW": row, "VERIFY": staticmethod(verify)}
    if written is not None:
        fields |= {"PARSE": staticmethod(written[0]), "PRINT": staticmethod(written[1])}
    fields["__doc__"] = f"`cuda_tile.{row.name}`: {row.encoding}"
    fields["__annotations__"] = dict.fromkeys(("ROW", "VERIFY", "PARSE", "PRINT"), ClassVar)
    title = "".join(word.capitalize() for word in row.name.split("_"))
    base: type[TileIROp] = TileIROp if written is None else WrittenOp
    return irdl_op_definition(cast("type[TileIROp]", type(f"{title}Op", (base,), fields)))


def _field(group: str, name: str) -> str:
    """The name of the Python field: the ops ask by name of the row, which may be a word that xDSL's ops have."""
    return f"{group}_{name}"
