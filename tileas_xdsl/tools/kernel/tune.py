"""
`tileas tune FILE --space num-stages=2,3,4 blocks=1,2 --arg a=8192x8192:zeros`: the fastest way to compile a program.

The space varies options of `tileas compile`. Arguments are written as for `tileas run`; arrays need sizes, since the
grid follows from them, or `--grid` says it. All points are estimated from their schedules. The best ones are
compiled, and run on the model of a multiprocessor. Where there is a GPU, they are measured there, if their numbers are
right. The threads of the winner are checked. The table is printed, the fastest first; `OUT` gets it as `.json`, or what
was foretold and measured as a picture, `.svg`. What is found is kept in the cache, so an interrupted tuning goes on
where it was. Exit status 0: tuned. 2: the input is wrong, or no candidate is left.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX

from tileas_xdsl.kernels.tuning.result import Tuning
from tileas_xdsl.kernels.tuning.tuning import COMPILED, HowTuned, MissingArguments, tune
from tileas_xdsl.machine.arguments import ArgumentError, argument_names, find_function, is_shaped, name_of
from tileas_xdsl.tools.argument_values import argument_values
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import read_module
from tileas_xdsl.tools.output_files import write_text
from tileas_xdsl.tools.progress import bar

FLAGS = ("no_check", "no_measure", "no_cache")
MANY, TURNS = 1024, 16
"""The extent of an array, and the number, in the line that is to be completed."""
WRITERS: dict[str, Callable[[Tuning], str]] = {
    ".json": lambda found: f"{json.dumps(found.to_dict(), indent=2)}\n",
    ".svg": lambda found: f"{found.plot()}\n",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the program")
    parser.add_argument(
        "--space", nargs="+", required=True, metavar="OPTION=V,V", help="options of `tileas compile`, and their values"
    )
    parser.add_argument(
        "--arg", action="append", default=[], metavar="NAME=V", help="an argument of the launch, as for `tileas run`"
    )
    parser.add_argument("--grid", metavar="X,Y,Z", help="the blocks of the launch (default: from the arrays)")
    parser.add_argument("--function", metavar="NAME", help="which kernel, if there are several")
    parser.add_argument("--target", metavar="T", help="compute capability (default: as for `tileas compile`)")
    parser.add_argument(
        "--compiled", type=int, default=COMPILED, metavar="N", help=f"candidates to compile (default: {COMPILED})"
    )
    parser.add_argument("--no-check", action="store_true", help="do not check the threads of the winner")
    parser.add_argument("--no-measure", action="store_true", help="do not measure, even if there is a GPU")
    parser.add_argument("--no-cache", action="store_true", help="do not use the cache of results")
    parser.add_argument("-o", "--out", metavar="OUT", help="write the result: something.json or .svg")


def run(arguments: argparse.Namespace) -> int:
    try:
        return _tune(arguments)
    except MissingArguments as error:
        raise InputError([f"error: {error}; type this, with your sizes:", f"  {_whole(arguments, error)}"]) from None
    except ArgumentError as error:
        raise InputError([f"error: {error}"]) from None


def _tune(arguments: argparse.Namespace) -> int:
    write = _writer(arguments.out)
    space = dict(_values(entry) for entry in arguments.space)
    module = read_module(arguments.file)
    _, body = find_function(module, arguments.function)
    names = argument_names(body)
    values = argument_values(body, [_split(entry) for entry in arguments.arg])
    with bar() as tell:
        how = HowTuned(
            target=arguments.target,
            function=arguments.function,
            grid=_grid(arguments.grid),
            compiled=max(arguments.compiled, 1),
            check=not arguments.no_check,
            measure=not arguments.no_measure,
            cache=not arguments.no_cache,
            tell=tell,
        )
        given = {names[int(number)]: value for number, value in values.items() if number.isdecimal()}
        found = tune(Path(arguments.file), space, given, how)
    if write is not None:
        write_text(arguments.out, write(found))
    print(found)
    print(repr(found))
    return 0


def _whole(arguments: argparse.Namespace, missing: MissingArguments) -> str:
    """The command with a value for each argument that is missing: 1,024 elements along each axis, 16 turns."""
    given = [each for entry in arguments.arg for each in ("--arg", entry)]
    for argument in missing.arguments:
        value = str(TURNS)
        if is_shaped(argument.type):
            extents = argument.type.get_shape()
            value = f"{'x'.join(str(MANY if extent == DYNAMIC_INDEX else extent) for extent in extents)}:zeros"
        given += ["--arg", f"{name_of(argument)}={value}"]
    named = {
        "--grid": arguments.grid,
        "--target": arguments.target,
        "--function": arguments.function,
        "-o": arguments.out,
    }
    options = [each for option, value in named.items() if value is not None for each in (option, value)]
    if arguments.compiled != COMPILED:
        options += ["--compiled", str(arguments.compiled)]
    options += [f"--{flag.replace('_', '-')}" for flag in FLAGS if getattr(arguments, flag)]
    return shlex.join(["tileas", "tune", arguments.file, "--space", *arguments.space, *given, *options])


def _values(entry: str) -> tuple[str, Sequence[Any]]:
    name, values = _split(entry)
    return name.replace("-", "_"), [_value(value) for value in values.split(",")]


def _split(entry: str) -> tuple[str, str]:
    name, equals, value = entry.partition("=")
    if not equals or not value:
        raise InputError([f"error: '{entry}' is not NAME=VALUE"])
    return name, value


def _value(text: str) -> Any:
    words: dict[str, Any] = {"true": True, "false": False}
    return int(text) if text.isdecimal() else words.get(text, text)


def _grid(text: str | None) -> Sequence[int] | None:
    if text is None:
        return None
    extents = text.split(",")
    if not 1 <= len(extents) <= 3 or not all(extent.isdecimal() for extent in extents):
        raise InputError([f"error: --grid {text}: a grid has 1 to 3 extents, as in 4,8"])
    return [int(extent) for extent in extents]


def _writer(out: str | None) -> Callable[[Tuning], str] | None:
    if out is None:
        return None
    found = WRITERS.get(Path(out).suffix)
    if found is None:
        raise InputError([f"{out}: error: the name of a result ends with one of {', '.join(WRITERS)}"])
    return found
