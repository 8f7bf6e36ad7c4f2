"""
Debug information of `cuda_tile`: which function or block of the source an op was made of.

    #file = #cuda_tile.di_file<"kernels.py" in "/home/me">
    #unit = #cuda_tile.di_compile_unit<file = #file>
    #of = #cuda_tile.di_subprogram<file = #file, line = 3, name = "k", linkageName = "k", compileUnit = #unit,
      scopeLine = 4>
    return loc(#cuda_tile.di_loc<loc("kernels.py":9:4) in #of>)

A place in a scope is a fused location here, `loc(fused<#of>["kernels.py":9:4])`. Ops are of the function that their
entry is of: of a call site the caller counts. Source: public definitions of CUDA Tile IR, release 13.3
(NVIDIA/cuda-tile).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FusedLoc, IntAttr, LocationAttr, NameLoc, StringAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


def _text(parser: AttrParser) -> Attribute:
    return StringAttr(parser.parse_str_literal())


def _number(parser: AttrParser) -> Attribute:
    return IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))


def _attribute(parser: AttrParser) -> Attribute:
    return parser.parse_attribute()


Read = Callable[[AttrParser], Attribute]


class FieldsAttr(ParametrizedAttribute):
    """An attribute whose parameters are written with their names: `<line = 3, column = 4>`."""

    FIELDS: ClassVar[Mapping[str, Read]]
    """The name of each parameter, in order, and how it is read."""
    MAY_LACK: ClassVar[Mapping[str, Attribute]] = {}
    """What those are that are left out."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        found: dict[str, Attribute] = {}

        def field() -> None:
            word = parser.parse_identifier("the name of a parameter")
            if word not in cls.FIELDS or word in found:
                parser.raise_error(f"'{word}' is no parameter of {cls.name}, or one twice")
            parser.parse_punctuation("=")
            found[word] = cls.FIELDS[word](parser)

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, field)
        found = {**cls.MAY_LACK, **found}
        missing = [name for name in cls.FIELDS if name not in found]
        if missing:
            parser.raise_error(f"{cls.name} lacks '{missing[0]}'")
        return [found[name] for name in cls.FIELDS]

    def print_parameters(self, printer: Printer) -> None:
        values = cast("Sequence[Attribute]", self.parameters)
        said = [pair for pair in zip(self.FIELDS, values, strict=True) if self.MAY_LACK.get(pair[0]) != pair[1]]
        with printer.in_angle_brackets():
            printer.print_list(said, lambda pair: _print_field(printer, *pair))


def _print_field(printer: Printer, name: str, value: Attribute) -> None:
    printer.print_string(f"{name} = ")
    if isinstance(value, IntAttr):
        printer.print_string(str(cast("IntAttr", value).data))
    else:
        printer.print_attribute(value)


@irdl_attr_definition
class DIFileAttr(ParametrizedAttribute):
    """A source file and its folder."""

    name = "cuda_tile.di_file"

    file: StringAttr
    folder: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            file = _text(parser)
            parser.parse_keyword("in")
            return [file, _text(parser)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.file)
            printer.print_string(" in ")
            printer.print_attribute(self.folder)


@irdl_attr_definition
class DICompileUnitAttr(FieldsAttr):
    """What was compiled together."""

    name = "cuda_tile.di_compile_unit"

    file: Attribute

    FIELDS = {"file": _attribute}


@irdl_attr_definition
class DISubprogramAttr(FieldsAttr):
    """A function of the source; `flags` since 13.5."""

    name = "cuda_tile.di_subprogram"

    file: Attribute
    line: IntAttr
    function: StringAttr
    linkage: StringAttr
    unit: Attribute
    scope_line: IntAttr
    flags: IntAttr

    FIELDS = {
        "file": _attribute,
        "line": _number,
        "name": _text,
        "linkageName": _text,
        "compileUnit": _attribute,
        "scopeLine": _number,
        "flags": _number,
    }
    MAY_LACK = {"flags": IntAttr(0)}


@irdl_attr_definition
class DILexicalBlockAttr(FieldsAttr):
    """A block of the source within a function; columns count from 0."""

    name = "cuda_tile.di_lexical_block"

    scope: Attribute
    file: Attribute
    line: IntAttr
    column: IntAttr

    FIELDS = {"scope": _attribute, "file": _attribute, "line": _number, "column": _number}


@irdl_attr_definition
class DILocAttr(ParametrizedAttribute):
    """How a place in a scope is written: `di_loc<loc("kernels.py":9:4) in #of>`, which is a fused location."""

    name = "cuda_tile.di_loc"

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            # Behind `loc` in brackets, or an alias of one.
            place = parser.parse_optional_location() or parser._parse_location()  # pyright: ignore[reportPrivateUsage]
            parser.parse_keyword("in")
            return [place, parser.parse_attribute()]

    @classmethod
    def new(cls, params: Sequence[Attribute]) -> Any:
        place, scope = params
        return FusedLoc((cast("Any", place),), scope)


DEBUG = [DIFileAttr, DICompileUnitAttr, DISubprogramAttr, DILexicalBlockAttr, DILocAttr]


# Rules ----------------------------------------------------------------------------------------------------------------


def scope_of(location: Attribute | None) -> Attribute | None:
    """The function or block of the source that a location is in; None where none is said."""
    match location:
        case FusedLoc() if isinstance(location.metadata, DISubprogramAttr | DILexicalBlockAttr):
            return location.metadata
        case FusedLoc():
            parts = cast("ArrayAttr[Attribute]", location.locations).data
            return next((scope for part in parts if (scope := scope_of(part)) is not None), None)
        case CallSiteLoc():
            return scope_of(location.caller)
        case NameLoc():
            return scope_of(location.location)
        case _:
            return None


def _function_of(scope: Attribute | None) -> Attribute | None:
    while isinstance(scope, DILexicalBlockAttr):
        scope = scope.scope
    return scope


def verify_scopes(entry: Operation, name: str) -> None:
    """An entry is of the function that is linked under its name, and its ops are of that one, too."""
    own = scope_of(entry.location)
    if own is not None and not isinstance(own, DISubprogramAttr):
        raise VerifyException("an entry is of a function of the source, not of a block of it")
    if own is not None and own.linkage.data != name:
        raise VerifyException(f"the function that the entry is of is linked as '{own.linkage.data}', not '{name}'")
    for op in entry.walk():
        scope = _function_of(scope_of(op.location))
        if op is not entry and scope is not None and scope != own:
            of = "no function of the source" if own is None else "another function of the source"
            raise VerifyException(f"'{op.name}' has a scope, and the entry is of {of}")


def verify_without_scope(location: LocationAttr) -> None:
    """What stands in a module beside the entries is of no function of the source."""
    if scope_of(location) is not None:
        raise VerifyException("what stands beside the entries of a module has no scope")
