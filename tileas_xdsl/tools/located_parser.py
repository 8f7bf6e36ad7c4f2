"""
A parser that gives every op a location: file, line and column.

xDSL keeps a location that is written (`loc("a.mlir":3:5)`) and gives every other op `loc(unknown)`. Here an op without
one gets the file, line and column of its name, as in MLIR; a terminator that a custom form leaves out gets the place of
the op that it ends. Whatever is wrong with the text becomes a `ParseError`, also where xDSL raises something without a
position (a type that does not verify) or with a useless one (an undefined value, reported at the end of the file).

Programs write the same few types again and again, and reading one takes as long as the rest of its op. So a type that
is written as one before it is that one.

Location aliases that stand anywhere: `#loc7 = loc("kernel.py":12:26)`.

MLIR prints those of a module behind it, and uses them inside. xDSL's parser knows an alias only after its definition.
So the definitions are taken out of the text first, blanked so that every other character keeps its place, and read by
need.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnregisteredOp,
)
from xdsl.ir import AttributeInvT, Operation, SSAValue, TypeAttribute
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span

from tileas_xdsl.tools.errors import reason

DEFINITION = re.compile(r"^(#loc\w*) = loc\((.*)\)[ \t]*$", re.MULTILINE)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|#\w+|\w+|[():,\[\]]')


class UnreadableLocationError(Exception):
    """A location that is none of those that MLIR prints."""


class LocationAliases:
    """The aliases of a text."""

    def __init__(self, text: str) -> None:
        self._bodies = {match[1]: match[2] for match in DEFINITION.finditer(text)}
        self._known: dict[str, LocationAttr] = {}
        self.text = DEFINITION.sub(lambda match: " " * len(match[0]), text) if self._bodies else text
        """The text without their definitions."""

    def __contains__(self, name: str) -> bool:
        return name in self._bodies

    def of(self, name: str) -> LocationAttr:
        """What `#loc7` stands for; unknown where it is not readable, or stands for itself."""
        if name not in self._known:
            self._known[name] = UNKNOWN_LOC
            try:
                self._known[name] = self._read(iter(TOKEN.findall(self._bodies.get(name, "unknown"))))
            except (StopIteration, ValueError, UnreadableLocationError):
                return UNKNOWN_LOC
        return self._known[name]

    def _read(self, tokens: Iterator[str]) -> LocationAttr:
        match next(tokens):
            case "unknown":
                return UNKNOWN_LOC
            case alias if alias.startswith("#"):
                return self.of(alias)
            case "callsite":
                _expect(tokens, "(")
                callee = self._read(tokens)
                _expect(tokens, "at")
                caller = self._read(tokens)
                _expect(tokens, ")")
                return CallSiteLoc(callee, caller)
            case "fused":
                return self._read_fused(tokens)
            case text if text.startswith('"'):
                return self._read_named(text[1:-1], tokens)
            case other:
                raise UnreadableLocationError(other)

    def _read_fused(self, tokens: Iterator[str]) -> LocationAttr:
        _expect(tokens, "[")
        parts = [self._read(tokens)]
        while (sign := next(tokens)) == ",":
            parts.append(self._read(tokens))
        if sign != "]":
            raise UnreadableLocationError(sign)
        return FusedLoc(tuple(parts), NoneAttr())

    def _read_named(self, text: str, tokens: Iterator[str]) -> LocationAttr:
        """`"file":12:26`, `"name"(...)` or `"name"`."""
        sign = next(tokens, "")
        if sign == ":":
            line = int(next(tokens))
            _expect(tokens, ":")
            return FileLineColLoc(StringAttr(text), IntAttr(line), IntAttr(int(next(tokens))))
        if sign != "(":
            return NameLoc(StringAttr(text), NoneAttr())
        inner = self._read(tokens)
        _expect(tokens, ")")
        return NameLoc(StringAttr(text), inner)


def _expect(tokens: Iterator[str], text: str) -> None:
    found = next(tokens)
    if found != text:
        raise UnreadableLocationError(found)


RESULTS = re.compile(r"(?:%[\w$.-]+\s*(?::\s*\d+\s*)?(?:,\s*)?)+=\s*")
"""Matches the result list in front of the name of an op."""

TYPE = re.compile(r"!?[A-Za-z_][\w.$]*(?:<(?:[^<>\"/]|<[^<>\"/]*>)*>)?(?![\w.$<])")
"""Matches a type up to two brackets deep, without names in quotes or comments; what comes next cannot belong to it."""

NAME = re.compile(r"[\w.$]+")
"""Matches the name of an op."""

WITH_SCOPE = re.compile(r"fused\s*<")
"""Matches a location with an attribute, which xDSL does not read."""

ALIAS = re.compile(r"#\w+")
"""Matches the name of an alias."""

NOT_REGISTERED = " is not registered"
"""How xDSL ends its complaint about a name that no dialect has; of an op it begins with `Operation`."""

UNKNOWN_OP = ": there is no such operation in any dialect that is installed here"
ALIKE = 0.8
"""From which ratio on (`difflib`) one name is taken for another one, misspelt."""

UNKNOWN_TYPE = ": there is no such type or attribute in any dialect that is installed here"

NO_CUSTOM_FORM = " does not have a custom format."
"""How xDSL ends its complaint about an op that it reads in generic form only."""


class LocatedParser(Parser):
    """Parser of MLIR text in which every op knows its place; lines and columns count from 1."""

    def __init__(self, ctx: Context, text: str, name: str) -> None:
        self._aliases = LocationAliases(text)
        super().__init__(ctx, self._aliases.text, name)
        self._text = text
        self._file = StringAttr(name)
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._first_uses: dict[str, Span] = {}
        self._types: dict[str, TypeAttribute] = {}

    def location_at(self, position: int) -> FileLineColLoc:
        """The place of the character at `position`, an index into the text."""
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        return FileLineColLoc(self._file, IntAttr(line), IntAttr(column))

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """The whole text as one module. Raises `ParseError`, or `RecursionError` where ops nest too deeply for xDSL."""
        start = self.pos
        if start >= len(self._text):
            self.raise_error("there is no operation in this file")
        try:
            module = super().parse_module(allow_implicit_module)
        except ParseError as error:
            if error.msg.startswith("values used but not defined"):
                self._blame_first_use()
            raise
        except RecursionError:
            raise
        except Exception as error:
            self.raise_error(reason(error))
        if module.location == UNKNOWN_LOC:
            module.location = self.location_at(start)
        return module

    def parse_operation(self) -> Operation:
        start = self.pos
        results = RESULTS.match(self._text, start)
        name = start if results is None else results.end()
        try:
            op = super().parse_operation()
        except ParseError as error:
            complaint = error.msg.removeprefix("Operation ")
            if error.msg != complaint and complaint.endswith(NOT_REGISTERED):
                written = complaint.removesuffix(NOT_REGISTERED)
                self.raise_error(f"{written}{UNKNOWN_OP}{self._nearest(written)}", name)
            if complaint.endswith(NO_CUSTOM_FORM):
                op_name = complaint.removesuffix(NO_CUSTOM_FORM)
                if op_name == UnregisteredOp.name:  # Its own name is what stands in the text.
                    written = NAME.match(self._text, name)
                    unknown = written[0] if written else op_name
                    self.raise_error(f"{unknown}{UNKNOWN_OP}{self._nearest(unknown)}", name)
                way_out = f'write "{op_name}"(...), or let mlir-opt -mlir-print-op-generic write it'
                self.raise_error(f"xDSL reads '{op_name}' in generic form only: {way_out}", name)
            if complaint.endswith(NOT_REGISTERED):
                self.raise_error(complaint.removesuffix(NOT_REGISTERED) + UNKNOWN_TYPE, error.span.start)
            raise
        except RecursionError:
            raise
        except Exception as error:
            self.raise_error(reason(error), name)
        if op.location == UNKNOWN_LOC:
            op.location = self.location_at(name)
        if op.regions:
            _locate_implicit_terminators(op)
        return op

    def _nearest(self, written: str) -> str:
        """A question for an op that no dialect has: whether the nearest one of a dialect so called is meant."""
        from difflib import get_close_matches

        dialect, _, rest = written.partition(".")
        for name in get_close_matches(dialect, list(self.ctx.registered_dialect_names), cutoff=ALIKE):
            known = self.ctx.get_optional_dialect(name)
            ops = [op.name for op in known.operations] if known is not None else []
            near = get_close_matches(f"{name}.{rest}", ops, n=1, cutoff=ALIKE)
            if near:
                return f"; did you mean {near[0]}?"
        return ""

    def parse_optional_type(self) -> TypeAttribute | None:
        written = TYPE.match(self._text, self.pos)
        if written is None:
            return super().parse_optional_type()
        known = self._types.get(written[0])
        if known is not None:
            self._resume_from(written.end())
            return known
        read = super().parse_optional_type()
        if read is not None and not self._text[written.end() : self.pos].strip():  # the type ends where it seemed to
            self._types[written[0]] = read
        return read

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        name = operand.operand_name
        if name not in self.ssa_values and name not in self.forward_ssa_references:
            self._first_uses[name] = operand.span
        return super().resolve_operand(operand, type)

    def _parse_location(self) -> LocationAttr:
        """What stands in `loc(...)`, where an alias may be defined anywhere in the text."""
        alias = ALIAS.match(self._text, self.pos)
        if alias is not None and alias[0] in self._aliases:
            self._resume_from(alias.end())
            return self._aliases.of(alias[0])
        if WITH_SCOPE.match(self._text, self.pos) is None:
            return super()._parse_location()
        self.parse_keyword("fused")
        with self.in_angle_brackets():
            scope = self.parse_attribute()
        return FusedLoc(tuple(self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)), scope)

    def _blame_first_use(self) -> None:
        """Raise at the first use of the first value that is never defined."""
        uses = [span for name in self.forward_ssa_references if (span := self._first_uses.get(name)) is not None]
        if uses:
            first = min(uses, key=lambda span: span.start)
            self.raise_error(f"{first.text} is used and never defined", first)


def _locate_implicit_terminators(op: Operation) -> None:
    """
    Locate terminators that a custom form adds: each stands last in its block, and gets the place of the op it ends.
    """
    for region in op.regions:
        for block in region.blocks:
            last = block.last_op
            if last is not None and last.location == UNKNOWN_LOC:
                last.location = op.location
