"""
The custom form that every op of `nv_tileaa` and `nv_tileas` shares.

    %c = nv_tileas.dot %a, %b, %acc attributes {atom = ...} : (tensor<...>, tensor<...>, tensor<...>) -> tensor<...>
    %v = nv_tileaa.queue.get %q[%i] : (!nv_tileaa.queue<...>, index) -> tensor<...>
    %t = nv_tileas.tiled_load %view[%i, %j] token(%dep) : (...) -> (...)
    nv_tileas.async.pipeline.consume_one %t attributes {...} { ... } : (...) -> (...)

In order: operands, `attributes {...}`, regions, `: (operand types) -> (result types)`. Mandatory operands come first,
by commas. A variadic or optional group that is not empty follows as `name(...)`, `name` being the field's name; the
group that an op names in `SUBSCRIPTS` stands in brackets instead, behind the operand that `SUBSCRIPTED` names or,
without it, behind the last one. Properties and discardable attributes share one dictionary: a name that the op declares
as a property is one. A region without a block (the abstract form) is left out, unless the op has a variable number of
regions. The generic form remains what MLIR reads; both forms parse, and each prints back as itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import ClassVar, Literal, Protocol, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i32
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OperandDef,
    OptOperandDef,
    VarOperandDef,
    VarRegionDef,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

SEGMENTS = "operandSegmentSizes"


class EncodingOfTiles(Protocol):
    """The encoding of a tile type that can tell whether it fits the tile."""

    def verify_tile(self, tile: Attribute) -> None:
        """Raises `VerifyException` where it does not."""
        ...


def verify_encodings(op: IRDLOperation) -> None:
    """Raises `VerifyException` where the layout of an operand or result does not fit its tile."""
    for tile in dict.fromkeys(value.type for value in (*op.operands, *op.results)):
        encoding = getattr(tile, "encoding", None)
        if hasattr(encoding, "verify_tile"):
            cast(EncodingOfTiles, encoding).verify_tile(tile)


class TileOp(IRDLOperation):
    """
    Base of the tile ops: gives each the shared custom form, derived from its operand definitions.

    Every verifier message reads `'nv_tileas.the.op' op <what is wrong>`, as MLIR prints it.
    """

    SUBSCRIPTS: ClassVar[str | None] = None
    """The variadic or optional operand group written in brackets."""

    SUBSCRIPTED: ClassVar[str | None] = None
    """The mandatory operand that the brackets stand behind; None means the last one before the named groups."""

    def verify_(self) -> None:
        try:
            self.verify_contract()
            verify_encodings(self)
        except VerifyException as error:
            raise VerifyException(f"'{self.name}' op {error}") from error

    def verify_contract(self) -> None:
        """The checks that the declarations of the op do not cover. Raises `VerifyException`."""

    def print(self, printer: Printer) -> None:
        self.print_operand_groups(printer)
        _print_attributes(self, printer)
        _print_regions(self, printer)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    def print_operand_groups(self, printer: Printer) -> None:
        """Print the operands. An op with another syntax overrides this and `parse_operand_groups`."""
        groups = _operand_groups(self)
        plain = [(name, value) for name, values, single in groups if single for value in values]
        subscripts = next((values for name, values, _ in groups if name == self.SUBSCRIPTS), ())
        behind = self.SUBSCRIPTED or (plain[-1][0] if plain else None)
        for index, (name, value) in enumerate(plain):
            printer.print_string(", " if index else " ")
            printer.print_ssa_value(value)
            if subscripts and name == behind:
                with printer.in_square_brackets():
                    printer.print_list(subscripts, printer.print_ssa_value)
        for name, values, single in groups:
            if single or not values or name == self.SUBSCRIPTS:
                continue
            printer.print_string(f" {name}(")
            printer.print_list(values, printer.print_ssa_value)
            printer.print_string(")")

    @classmethod
    def parse_operand_groups(cls, parser: Parser) -> list[list[UnresolvedOperand]]:
        """Parse what `print_operand_groups` prints: the operands, one list for each definition."""
        return _parse_operands(cls, parser)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        groups = cls.parse_operand_groups(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword((SEGMENTS,))
        regions = _parse_regions(cls, parser)
        parser.parse_punctuation(":", " before the type of the operation")
        position = parser.pos
        signature = parser.parse_function_type()
        unresolved = [operand for group in groups for operand in group]
        operands = parser.resolve_operands(unresolved, signature.inputs.data, position)

        entries = dict(attributes.data) if attributes is not None else {}
        declared = cls.get_irdl_definition().properties
        properties = {name: value for name, value in entries.items() if name in declared}
        discardable = {name: value for name, value in entries.items() if name not in declared}
        if _sizes_segments(cls):
            properties[SEGMENTS] = _segments(tuple(map(len, groups)))
        return cls.create(
            operands=operands,
            result_types=signature.outputs.data,
            properties=properties,
            attributes=discardable,
            regions=regions,
        )


@cache
def _segments(sizes: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i32, sizes)


def _sizes_segments(op_type: type[IRDLOperation]) -> bool:
    return any(isinstance(o, AttrSizedOperandSegments) for o in op_type.get_irdl_definition().options)


def _is_group(definition: OperandDef) -> bool:
    return isinstance(definition, VarOperandDef | OptOperandDef)


def _operand_groups(op: TileOp) -> list[tuple[str, Sequence[SSAValue], bool]]:
    """The operands by definition: field name, values, and whether the definition stands for exactly one."""
    groups: list[tuple[str, Sequence[SSAValue], bool]] = []
    definitions = op.get_irdl_definition().operands
    if not any(_is_group(definition) for _, definition in definitions):
        return [(name, (value,), True) for (name, _), value in zip(definitions, op.operands, strict=True)]
    lone_group = sum(_is_group(definition) for _, definition in definitions) == 1
    for name, definition in definitions:
        field = getattr(op, name)
        values = _values_of(field)
        plain = not _is_group(definition) or (
            lone_group and name != op.SUBSCRIPTS and isinstance(definition, VarOperandDef)
        )
        groups.append((name, values, plain))
    return groups


def _values_of(field: SSAValue | Sequence[SSAValue] | None) -> Sequence[SSAValue]:
    """The values of one operand field as a sequence, whatever its definition."""
    if field is None:
        return ()
    return (field,) if isinstance(field, SSAValue) else field


def _parse_operands(op_type: type[TileOp], parser: Parser) -> list[list[UnresolvedOperand]]:
    definitions = op_type.get_irdl_definition().operands
    lone_group = sum(_is_group(definition) for _, definition in definitions) == 1
    plain: list[UnresolvedOperand] = []
    named: dict[str, list[UnresolvedOperand]] = {}
    while (operand := parser.parse_optional_unresolved_operand()) is not None:
        plain.append(operand)
        if op_type.SUBSCRIPTS is not None and parser.parse_optional_punctuation("[") is not None:
            named[op_type.SUBSCRIPTS] = _parse_operands_until(parser, "]")
        if parser.parse_optional_punctuation(",") is None:
            break
    for name, definition in definitions:
        if name == op_type.SUBSCRIPTS or not _is_group(definition):
            continue
        if parser.parse_optional_keyword(name) is not None:
            parser.parse_punctuation("(")
            named[name] = _parse_operands_until(parser, ")")

    singles = [name for name, definition in definitions if not _is_group(definition)]
    spare = len(plain) - len(singles)
    groups: list[list[UnresolvedOperand]] = []
    for name, definition in definitions:
        if not _is_group(definition):
            groups.append([plain.pop(0)] if plain else [])
        elif lone_group and name not in named and name != op_type.SUBSCRIPTS and spare > 0:
            groups.append([plain.pop(0) for _ in range(spare)])
        else:
            groups.append(named.get(name, []))
    if plain:
        parser.raise_error(f"{op_type.name} takes {len(singles)} plain operands, found {len(plain)} more")
    return groups


def _parse_operands_until(parser: Parser, closing: Literal["]", ")"]) -> list[UnresolvedOperand]:
    operands: list[UnresolvedOperand] = []
    while (operand := parser.parse_optional_unresolved_operand()) is not None:
        operands.append(operand)
        if parser.parse_optional_punctuation(",") is None:
            break
    parser.parse_punctuation(closing)
    return operands


def _print_attributes(op: IRDLOperation, printer: Printer) -> None:
    definition = op.get_irdl_definition()
    entries: dict[str, Attribute] = {}
    for name, value in op.properties.items():
        declared = definition.properties.get(name)
        if name == SEGMENTS or (declared is not None and declared.default_value == value):
            continue
        entries[name] = value
    entries |= op.attributes
    if entries:
        printer.print_string(" attributes ")
        printer.print_attr_dict(entries)


def _print_regions(op: IRDLOperation, printer: Printer) -> None:
    """All regions of an op that has any number of them, the regions with blocks of any other."""
    variadic = any(isinstance(definition, VarRegionDef) for _, definition in op.get_irdl_definition().regions)
    written = [region for region in op.regions if variadic or region.blocks.first is not None]
    if written:
        printer.print_string(" ")
        printer.print_list(written, lambda region: printer.print_region(region, print_empty_block=True))


def _parse_regions(op_type: type[IRDLOperation], parser: Parser) -> list[Region]:
    regions: list[Region] = []
    while (region := parser.parse_optional_region()) is not None:
        regions.append(region)
        if parser.parse_optional_punctuation(",") is None:
            break
    declared = op_type.get_irdl_definition().regions
    missing = sum(not isinstance(definition, VarRegionDef) for _, definition in declared) - len(regions)
    return [*regions, *(Region() for _ in range(missing))]
