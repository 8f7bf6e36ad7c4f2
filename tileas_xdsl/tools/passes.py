"""
`tileas passes [NAME] [--all] [--format text|json]`: the passes and their options, spelled as for `xdsl-opt -p`.

A pass says about itself: its name, its fields (the options, spelled with hyphens on the command line), and the first
paragraph of its docstring, unless it has a class constant `DESCRIPTION`: that of TileAS, word for word, or a shorter
one.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from xdsl.universe import Universe

from tileas_xdsl.tabular import Tabular
from tileas_xdsl.tools.pass_pipelines import unknown_pass
from tileas_xdsl.transforms.rewriting.choices import choices_of
from tileas_xdsl.universe import TILEAS

PassFactory = Callable[[], type[Any]]

PLAIN_TYPES: dict[object, str] = {int: "int", bool: "bool", float: "float", str: "string", NoneType: "none"}


@dataclasses.dataclass(frozen=True)
class OptionRow:
    """One option of a pass, as on the command line."""

    name: str
    type: str
    choices: tuple[str, ...]
    required: bool
    default: object
    """A JSON value; meaningless where `required`."""
    help: str
    """What the option is for; empty where the pass's own description says it."""

    @property
    def allowed(self) -> str:
        """The choices, or else the type."""
        return "|".join(self.choices) or self.type

    @property
    def ending(self) -> str:
        """How the option reads in the list: its default, or that it is required."""
        return ", required" if self.required else f" = {written(self.default)}"


@dataclasses.dataclass(frozen=True)
class PassRow:
    """One pass: its name, description and options."""

    name: str
    description: str
    options: tuple[OptionRow, ...]


@dataclasses.dataclass(frozen=True, repr=False)
class PassList(Tabular):
    """Passes, with what they say about themselves."""

    passes: tuple[PassRow, ...]

    def __repr__(self) -> str:
        return f"PassList({len(self.passes)} passes)"

    def __str__(self) -> str:
        return "\n\n".join(as_text(row) for row in self.passes)

    def __iter__(self) -> Iterator[PassRow]:
        return iter(self.passes)

    def __len__(self) -> int:
        return len(self.passes)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each pass."""
        return [
            {"pass": row.name, "options": "; ".join(map(described, row.options)), "what it does": row.description}
            for row in self.passes
        ]

    def to_dict(self) -> dict[str, Any]:
        """What `tileas passes --format json` writes."""
        return {"passes": [dataclasses.asdict(row) for row in self.passes]}


def passes_of(name: str | None, everything: bool) -> PassList:
    """The pass called `name`, or all of ours, or `everything` that xDSL finds. Raises `InputError` for no such pass."""
    wanted = sorted(_wanted(name, everything).items())
    return PassList(tuple(describe(each, factory) for each, factory in wanted))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this pass")
    parser.add_argument("--all", action="store_true", help="also the passes of xDSL")
    parser.add_argument("--format", choices=["text", "json"], default="text", help="text (the default) or json")


def run(arguments: argparse.Namespace) -> int:
    found = passes_of(arguments.name, arguments.all)
    if arguments.format == "json":
        print(json.dumps(found.to_dict(), indent=2))
    elif sys.stdout.isatty():
        print_table(found.passes)
    else:
        print(found)
    return 0


def _wanted(name: str | None, everything: bool) -> Mapping[str, PassFactory]:
    """
    The pass called `name`, ours or not; without a name all of ours, or all that xDSL finds. Raises `InputError` for a
    name that does not exist.
    """
    if name is None and not everything:
        return TILEAS.all_passes
    known = Universe.get_multiverse().all_passes
    if name is None:
        return known
    if name not in known:
        raise unknown_pass(name)
    return {name: known[name]}


# What a pass says about itself ----------------------------------------------------------------------------------------


def describe(name: str, factory: PassFactory) -> PassRow:
    """What the pass class behind `factory` tells; a pass of another project may fail to load, and then says so."""
    try:
        pass_type = factory()
    except ImportError as error:
        return PassRow(name, f"(cannot be loaded: {error})", ())
    hints = get_type_hints(pass_type)
    fields = [field for field in dataclasses.fields(pass_type) if field.init]
    return PassRow(name, description_of(pass_type), tuple(_option(field, hints[field.name]) for field in fields))


def description_of(pass_type: type[Any]) -> str:
    """`DESCRIPTION` as it stands, else the first paragraph of the class's own docstring on one line, else nothing."""
    quoted = getattr(pass_type, "DESCRIPTION", None)
    if isinstance(quoted, str):
        return quoted
    own = pass_type.__dict__.get("__doc__") or ""
    if own.startswith(f"{pass_type.__name__}("):  # what `dataclass` writes where there is no docstring
        return ""
    paragraph = inspect.cleandoc(own).split("\n\n")[0]
    return " ".join(paragraph.split())


def _option(field: dataclasses.Field[Any], hint: object) -> OptionRow:
    missing = dataclasses.MISSING
    default = field.default_factory() if field.default_factory is not missing else field.default
    required = default is missing
    return OptionRow(
        name=field.name.replace("_", "-"),
        type=type_name(hint),
        choices=tuple(map(written, choices_of(hint))),
        required=required,
        default=None if required else default,
        help=field.metadata.get("help", ""),
    )


def type_name(hint: object) -> str:
    """The type of an option in words: int, bool, float, string, "list of int"; alternatives are joined by "or"."""
    if hint in PLAIN_TYPES:
        return PLAIN_TYPES[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return PLAIN_TYPES[type(arguments[0])]
    if origin is tuple:
        return f"list of {type_name(arguments[0])}" if arguments else "list"
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(type_name(part) for part in arguments if part is not NoneType))
    return str(hint)


def written(value: object) -> str:
    """A value as one writes it in `PASS{option=value}`; "unset" for None, which means that the option is left out."""
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return ",".join(written(part) for part in cast(Sequence[object], value)) or "unset"
    return str(value) or '""'


# What people see ------------------------------------------------------------------------------------------------------


def as_text(row: PassRow) -> str:
    """One pass as plain lines, the same in every terminal and in a pipe."""
    lines = [row.name]
    lines += [f"  {line}" for line in row.description.splitlines()]
    lines += [f"  {described(option)}" for option in row.options]
    return "\n".join(lines)


def described(option: OptionRow) -> str:
    """One option on one line."""
    meaning = f"  ({option.help})" if option.help else ""
    return f"{option.name}: {option.allowed}{option.ending}{meaning}"


def print_table(rows: Sequence[PassRow]) -> None:
    """All passes as a table, for a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_lines=True)
    table.add_column("pass", style="bold", no_wrap=True)
    table.add_column("options")
    table.add_column("what it does", ratio=1)
    for row in rows:
        options = [f"{option.name}: {option.allowed}{option.ending}" for option in row.options]
        table.add_row(row.name, Text("\n".join(options)), Text(row.description))
    Console().print(table)
