"""
The ops inside a region: memory, transfers, and the resources that launches and transfers run on.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.async_ import TokenType
from tileas_xdsl.dialects.async_.support import (
    AllocatesResultEffect,
    AsyncOp,
    IssuingOp,
    resolve_operand,
    segments,
)
from tileas_xdsl.dialects.async_.types import INDEX, TOKEN, TOKEN_OR_VALUE
from tileas_xdsl.dialects.async_region.syntax import (
    BUFFER,
    RESOURCE,
    ResourceType,
    parse_dependencies,
    parse_resource,
    print_dependencies,
    print_resource,
)
from tileas_xdsl.interfaces import AllocationOpInterface


@irdl_op_definition
class CreateResourceOp(AsyncOp):
    """
    Make a resource, which is free at first.

    `%dma = async_region.create_resource "dma"`; the name appears in diagnostics only.

    Two ops make two resources, even under one name: work on one may overlap work on the other.
    """

    name = "async_region.create_resource"

    resource = result_def(RESOURCE)
    label = opt_prop_def(StringAttr)

    traits = traits_def(AllocatesResultEffect())

    def __init__(self, label: str | None = None) -> None:
        super().__init__(
            result_types=[ResourceType()], properties={"label": StringAttr(label) if label is not None else None}
        )

    def print(self, printer: Printer) -> None:
        if self.label is not None:
            printer.print_string(" ")
            printer.print_string_literal(self.label.data)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> CreateResourceOp:
        op = CreateResourceOp(parser.parse_optional_str_literal())
        op.attributes |= parser.parse_optional_attr_dict()
        return op


@irdl_op_definition
class AllocOp(IssuingOp, AllocationOpInterface):
    """
    Reserve memory.

    `%buffer, %token = async_region.alloc [%deps] (%n) : memref<?xf32, 3>`

    *Issue*: at once; `buffer` names the memory from then on. *Performed* when all dependencies are complete;
    *complete* when the memory is there. Only operations performed after `token` may touch it; its contents are
    undefined.
    """

    name = "async_region.alloc"

    dependencies = var_operand_def(TOKEN_OR_VALUE)
    dynamic_sizes = var_operand_def(INDEX)
    buffer = result_def(BUFFER)
    token = result_def(TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(AllocatesResultEffect())

    def __init__(
        self,
        dependencies: Sequence[SSAValue],
        buffer_type: MemRefType[Attribute],
        dynamic_sizes: Sequence[SSAValue] = (),
    ) -> None:
        super().__init__(operands=[dependencies, dynamic_sizes], result_types=[buffer_type, TokenType()])

    @property
    def allocated_values(self) -> Sequence[SSAValue]:
        return (self.buffer,)

    def verify_(self) -> None:
        buffer_type = _memref_type(self.buffer)
        expected = sum(size == DYNAMIC_INDEX for size in buffer_type.get_shape())
        if len(self.dynamic_sizes) != expected:
            raise VerifyException(
                f"'async_region.alloc' op '{buffer_type}' needs {expected} dynamic sizes, but has "
                f"{len(self.dynamic_sizes)}"
            )

    def print(self, printer: Printer) -> None:
        print_dependencies(printer, self.dependencies)
        if self.dynamic_sizes:
            printer.print_string(" ")
            with printer.in_parens():
                printer.print_list(self.dynamic_sizes, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)

    @classmethod
    def parse(cls, parser: Parser) -> AllocOp:
        dependencies, _ = parse_dependencies(parser)
        sizes = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        resolved = [resolve_operand(parser, size, IndexType()) for size in sizes or ()]
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(
            operands=[*dependencies, *resolved],
            result_types=[parser.parse_type(), TokenType()],
            properties=segments(len(dependencies), len(resolved)),
            attributes=attributes,
        )


class _CopyEffects(MemoryEffect):
    """Reads the source and writes the destination."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        assert isinstance(op, CopyOp)
        return frozenset(
            (
                EffectInstance(MemoryEffectKind.READ, op.source),
                EffectInstance(MemoryEffectKind.WRITE, op.destination),
            )
        )


@irdl_op_definition
class CopyOp(IssuingOp):
    """
    Move the contents of one buffer into another, between memories or within one.

    `%token = async_region.copy [%deps] %source to %destination on %dma : memref<4xf32> to memref<4xf32, 3>`

    *Issue*: at once. *Performed* when all dependencies are complete and the resource, if there is one, is free; it
    holds the resource while it moves. *Complete* when every byte has been read from the source and written to the
    destination; in between, the source may not be written and the destination not be touched.
    """

    name = "async_region.copy"

    dependencies = var_operand_def(TOKEN_OR_VALUE)
    source = operand_def(BUFFER)
    destination = operand_def(BUFFER)
    resource = opt_operand_def(RESOURCE)
    token = result_def(TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(_CopyEffects())

    def __init__(
        self,
        dependencies: Sequence[SSAValue],
        source: SSAValue,
        destination: SSAValue,
        resource: SSAValue | None = None,
    ) -> None:
        super().__init__(operands=[dependencies, source, destination, resource], result_types=[TokenType()])

    def verify_(self) -> None:
        if self.source is self.destination:
            raise VerifyException("'async_region.copy' op source and destination are the same buffer")
        source, destination = _memref_type(self.source), _memref_type(self.destination)
        if source.element_type != destination.element_type or not _may_agree(
            source.get_shape(), destination.get_shape()
        ):
            raise VerifyException(
                f"'async_region.copy' op cannot copy '{source}' to '{destination}': shapes and element types must agree"
            )

    def print(self, printer: Printer) -> None:
        print_dependencies(printer, self.dependencies)
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" to ")
        printer.print_ssa_value(self.destination)
        print_resource(printer, self.resource)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" to ")
        printer.print_attribute(self.destination.type)

    @classmethod
    def parse(cls, parser: Parser) -> CopyOp:
        dependencies, _ = parse_dependencies(parser)
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("to")
        destination = parser.parse_unresolved_operand()
        resource = parse_resource(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        buffers = [resolve_operand(parser, source, parser.parse_type())]
        parser.parse_keyword("to")
        buffers.append(resolve_operand(parser, destination, parser.parse_type()))
        return cls.create(
            operands=[*dependencies, *buffers, *resource],
            result_types=[TokenType()],
            properties=segments(len(dependencies), 1, 1, len(resource)),
            attributes=attributes,
        )


def _memref_type(buffer: SSAValue) -> MemRefType[Attribute]:
    """The type of a value that the constraint `BUFFER` has admitted."""
    return cast("MemRefType[Attribute]", buffer.type)


def _may_agree(source: Sequence[int], destination: Sequence[int]) -> bool:
    """Whether two shapes may be equal; a dynamic size may be any."""
    return len(source) == len(destination) and all(
        DYNAMIC_INDEX in (a, b) or a == b for a, b in zip(source, destination, strict=True)
    )
