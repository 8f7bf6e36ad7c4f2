"""
What the ops of `async_region` share: a type, constraints beside those of `async`, and pieces of custom syntax, of which
each `parse_` is the inverse of its `print_`.

    [%token, %promise: !async.value<T> as %region_token]     dependencies; without a type, a token
    (%value as %argument: T)                                 what is passed to the body
    on %resource
    -> (!async.token, T) attributes {...} { ... }            results but for token 0, and the body
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import base, irdl_attr_definition
from xdsl.parser import Parser
from xdsl.printer import Printer

from tileas_xdsl.dialects.async_ import TokenType
from tileas_xdsl.dialects.async_.support import Described, parse_arrow_types, resolve_operand
from tileas_xdsl.dialects.async_.tasks import parse_unwrapping, print_arrow_types, print_unwrapping
from tileas_xdsl.dialects.async_.types import unwrapped
from tileas_xdsl.interfaces import HandleType


@irdl_attr_definition
class ResourceType(ParametrizedAttribute, HandleType):
    """A device, a DMA engine or the like: it runs one operation at a time."""

    name = "async_region.resource"


RESOURCE = Described(base(ResourceType), "resource type")
BUFFER = Described(base(MemRefType), "memref type")


def print_dependencies(
    printer: Printer, dependencies: Sequence[SSAValue], region_token: BlockArgument | None = None
) -> None:
    """` [%a, %p: !async.value<T> as %t]`, or nothing."""
    if not dependencies and region_token is None:
        return
    printer.print_string(" ")
    print_list_of_dependencies(printer, dependencies, region_token)


def print_list_of_dependencies(
    printer: Printer, dependencies: Sequence[SSAValue], region_token: BlockArgument | None = None
) -> None:
    def print_one(dependency: SSAValue) -> None:
        printer.print_ssa_value(dependency)
        if not isinstance(dependency.type, TokenType):
            printer.print_string(": ")
            printer.print_attribute(dependency.type)

    with printer.in_square_brackets():
        printer.print_list(dependencies, print_one)
        if region_token is not None:
            printer.print_string(" as " if dependencies else "as ")
            printer.print_block_argument(region_token, print_type=False)


def parse_dependencies(
    parser: Parser, *, takes_token: bool = False
) -> tuple[list[SSAValue], Parser.UnresolvedArgument | None]:
    """The inverse of `print_dependencies`."""
    if not takes_token:
        listed = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_dependency(parser))
        return list(listed or ()), None
    if parser.parse_optional_punctuation("[") is None:
        return [], None
    dependencies: list[SSAValue] = []
    token = parser.parse_argument(expect_type=False) if parser.parse_optional_keyword("as") else None
    if token is None and parser.parse_optional_punctuation("]") is not None:
        return [], None
    if token is None:
        dependencies = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _parse_dependency(parser))
        token = parser.parse_argument(expect_type=False) if parser.parse_optional_keyword("as") else None
    parser.parse_punctuation("]")
    return dependencies, token


def parse_list_of_dependencies(parser: Parser) -> list[SSAValue]:
    """`[%a, %b]`, which must be there."""
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_dependency(parser))


def _parse_dependency(parser: Parser) -> SSAValue:
    """`%token` or `%promise: !async.value<T>`."""
    operand = parser.parse_unresolved_operand()
    typed = parser.parse_optional_punctuation(":") is not None
    return resolve_operand(parser, operand, parser.parse_type() if typed else TokenType())


def print_arguments(printer: Printer, passed: Sequence[SSAValue], body: Region) -> None:
    """` (%value as %argument: T, ...)`, or nothing."""
    if not passed:
        return
    printer.print_string(" ")
    with printer.in_parens():
        pairs = zip(passed, body.block.args, strict=True)
        printer.print_list(pairs, lambda pair: print_unwrapping(printer, *pair))


def parse_arguments(parser: Parser) -> tuple[list[SSAValue], list[Parser.Argument]]:
    pairs = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_unwrapping(parser))
    passed = [resolve_operand(parser, operand, argument.type) for operand, argument in pairs or ()]
    arguments = [Parser.Argument(argument.name, unwrapped(argument.type)) for _, argument in pairs or ()]
    return passed, arguments


def print_resource(printer: Printer, resource: SSAValue | None) -> None:
    """` on %resource`, or nothing."""
    if resource is not None:
        printer.print_string(" on ")
        printer.print_ssa_value(resource)


def parse_resource(parser: Parser) -> list[SSAValue]:
    if parser.parse_optional_keyword("on") is None:
        return []
    return [resolve_operand(parser, parser.parse_unresolved_operand(), ResourceType())]


def print_outputs_and_body(printer: Printer, op: Operation, outputs: Sequence[SSAValue]) -> None:
    """` -> types attributes {...} { ... }`; token 0 is not written."""
    if outputs:
        print_arrow_types(printer, [output.type for output in outputs])
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" ")
    printer.print_region(op.regions[0], print_entry_block_args=False)


def parse_outputs_and_body(
    parser: Parser, arguments: Sequence[Parser.Argument]
) -> tuple[list[Attribute], dict[str, Attribute], Region]:
    outputs = parse_arrow_types(parser)
    attributes = parser.parse_optional_attr_dict_with_keyword()
    body = parser.parse_region(arguments or None)
    return outputs, dict(attributes.data) if attributes is not None else {}, body
