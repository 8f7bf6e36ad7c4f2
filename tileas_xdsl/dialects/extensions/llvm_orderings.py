"""The orderings and scopes of atomic accesses of `llvm` (LLVM LangRef, "Atomic Memory Ordering Constraints")."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

ORDERINGS = {
    "not_atomic": 0,
    "unordered": 1,
    "monotonic": 2,
    "acquire": 4,
    "release": 5,
    "acq_rel": 6,
    "seq_cst": 7,
}
"""The orderings of LLVM, by their numbers."""
NAME_OF_ORDERING = {number: name for name, number in ORDERINGS.items()}


def parse_ordering(parser: Parser) -> IntegerAttr:
    start = parser.pos
    word = parser.parse_identifier()
    if word not in ORDERINGS:
        parser.raise_error(f"expected one of {', '.join(ORDERINGS)}, got '{word}'", start)
    return IntegerAttr(ORDERINGS[word], i64)


def parse_scope(parser: Parser) -> dict[str, Attribute]:
    """The property `syncscope`, where it is written."""
    if parser.parse_optional_keyword("syncscope") is None:
        return {}
    with parser.in_parens():
        return {"syncscope": StringAttr(parser.parse_str_literal())}


def print_scope(printer: Printer, scope: Attribute | None) -> None:
    if isinstance(scope, StringAttr):
        printer.print_string(f' syncscope("{scope.data}")')


def parse_unit(parser: Parser, word: str, name: str) -> dict[str, Attribute]:
    """The property `name`, where `word` is written."""
    return {name: UnitAttr()} if parser.parse_optional_keyword(word) is not None else {}
