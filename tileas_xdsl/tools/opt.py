"""
`tileas opt FILE -p PASSES`: passes on a program, as `xdsl-opt` runs them, with errors that say where.

    ring.mlir:9:7: error: 'async_queue.wait' op has a count that is computed
        9 |       async_queue.wait 0, %n
          |       ^~~~~~~~~~~~~~~~
      help: make it a constant

Every op knows its file, line and column, so remarks and refusals of passes name them, and so does the report of
`check-async`; there is no traceback. Exit status 0: the program is printed. 1: `check-async` found a mistake. 2: the
input is wrong, or a pass refused it. 3: `check-async` could not decide. But for 0, nothing is printed or written.

A FILE of bytecode of Tile IR is read as its text; an OUT that ends with `.tileirbc` is written as bytecode.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from tileas_xdsl.diagnostics import Diagnostic, RefusedError, recorded_diagnostics
from tileas_xdsl.tools.errors import INPUT_ERROR
from tileas_xdsl.tools.inputs import STDIN, full_context, parse_module, read_program
from tileas_xdsl.tools.output_files import write_text
from tileas_xdsl.tools.pass_pipelines import apply_passes, passes_named
from tileas_xdsl.tools.rendering import Source, diagnostic_lines, report_lines, text_of, write_lines
from tileas_xdsl.transforms.checking.check_async import UnsafeError

BYTECODE = ".tileirbc"
"""How the name of a file of bytecode of Tile IR ends."""

SEPARATOR = "// -----"
"""The line between programs of one file, as in MLIR's tools."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", default=STDIN, help="the program (default: standard input)")
    parser.add_argument("-p", "--passes", metavar="PASSES", default="", help="PASS,PASS{option=value}: run these")
    parser.add_argument("-o", "--out", metavar="OUT", help="the file to write (default: standard output)")
    parser.add_argument("--print-op-generic", action="store_true", help="print every op in generic form")
    parser.add_argument("--split-input-file", action="store_true", help=f"the file holds programs between {SEPARATOR}")
    parser.add_argument("--allow-unregistered-dialect", action="store_true", help="accept ops that no dialect defines")


def run(arguments: argparse.Namespace) -> int:
    passes = passes_named(arguments.passes)
    source = Source(*read_program(arguments.file))
    printed: list[str] = []
    modules: list[ModuleOp] = []
    for piece in _pieces(source.text) if arguments.split_input_file else [source.text]:
        context = full_context(allow_unregistered=arguments.allow_unregistered_dialect)
        module = parse_module(piece, source.name, context)
        status = _apply(passes, module, context, source)
        if status:
            return status
        modules.append(module)
        printed.append(_printed(module, generic=arguments.print_op_generic))
    whole = f"{SEPARATOR}\n".join(printed)
    if arguments.out is None:
        sys.stdout.write(whole)
    elif arguments.out.endswith(BYTECODE):
        from tileas_xdsl.tools.bytecode import write_bytecode

        write_bytecode(arguments.out, modules)
    else:
        write_text(arguments.out, whole)
    return 0


def _pieces(text: str) -> Iterator[str]:
    """The programs of a file, each behind as many empty lines as stand before it, so that lines keep their numbers."""
    begun = 0
    for piece in text.split(f"{SEPARATOR}\n"):
        yield "\n" * begun + piece
        begun += piece.count("\n") + 1


def _apply(passes: Sequence[ModulePass], module: ModuleOp, context: Context, source: Source) -> int:
    """Run the passes; what they remark, and why one stopped, goes to standard error, a report to standard output."""
    said: list[Diagnostic] = []
    try:
        with recorded_diagnostics() as said:
            apply_passes(passes, module, context)
    except UnsafeError as error:
        write_lines(report_lines(error.report, source))
        return error.report.verdict.exit_status
    except RefusedError as error:
        said = [*said, *error.diagnostics]
        return INPUT_ERROR
    finally:
        for diagnostic in said:
            print(text_of(diagnostic_lines(diagnostic, source)), file=sys.stderr)
    return 0


def _printed(module: ModuleOp, *, generic: bool) -> str:
    text = StringIO()
    Printer(stream=text, print_generic_format=generic).print_op(module)
    return f"{text.getvalue()}\n"
