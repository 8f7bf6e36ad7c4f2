"""
`tileas waits FILE`: who waits for whom, as a graph for Graphviz or as a picture.

Exit status 0: drawn. 2: the input cannot be read, or there is nothing to draw in the file that was named.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from xdsl.ir import Operation

from tileas_xdsl.interfaces import AsyncOpInterface
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.machine_input import asked_function, machine_errors, read_input
from tileas_xdsl.tools.output_files import write_text
from tileas_xdsl.views.dependences import dependence_dot, dependence_svg

FORMATS = {"dot": dependence_dot, "svg": dependence_svg}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the program; - is standard input")
    parser.add_argument("--function", metavar="F", help="which function; may be left out if there is only one")
    parser.add_argument("--format", choices=list(FORMATS), help="dot or svg (default: by the ending of OUT, else dot)")
    parser.add_argument("-o", "--output", metavar="OUT", help="the file to write (default: standard output)")


def run(arguments: argparse.Namespace) -> int:
    given = read_input(arguments.file)
    chosen = arguments.format or _format_of(arguments.output)
    with machine_errors(given.source):
        function, _ = find_function(given.module, asked_function(arguments))
    _refuse_nothing(function, given.source.name)
    drawn = FORMATS[chosen](function)
    if arguments.output is None:
        sys.stdout.write(drawn)
    else:
        write_text(arguments.output, drawn)
    return 0


def _format_of(output: str | None) -> str:
    """What the name of the file asks for. Raises `InputError` for a name that ends otherwise."""
    if output is None:
        return "dot"
    suffix = Path(output).suffix.removeprefix(".")
    if suffix not in FORMATS:
        known = " or ".join(f".{name}" for name in FORMATS)
        raise InputError([f"error: -o {output}: the name does not end in {known}\n  help: or say which with --format"])
    return suffix


def _refuse_nothing(function: Operation, source: str) -> None:
    if not any(AsyncOpInterface.of(op) is not None for op in function.walk()):
        raise InputError(
            [
                f"{source}: error: nothing in the function waits for a token\n"
                "  help: this draws tokens ('async', 'async_region', 'gpu'); `tileas check` judges all models"
            ]
        )
