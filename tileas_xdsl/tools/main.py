"""
The `tileas` command. (Stock `xdsl-opt` finds our passes as well; `tileas opt` says more where something is wrong.)

    tileas cache             compiled kernels that are kept
    tileas check FILE        races and deadlocks, or a proof that there are none
    tileas compile FILE      the TileAS family on it, and what was decided
    tileas course check N    the exercises of the course, judged
    tileas explain FILE      what each pass does to it, as one page
    tileas explain-error T   the cause of a mistake: a wrong program, a right one, the source
    tileas gui FILE          xDSL's view of it behind each pass, in the terminal
    tileas layout LAYOUT     who holds which element of a tile
    tileas new KIND NAME     a package of your own, with a test that fails
    tileas opt FILE -p P     passes on it, with errors that say where
    tileas passes            what there is to put behind `xdsl-opt -p`
    tileas play FILE         a page on which it is edited, and what each pass makes of it
    tileas run FILE          a function on numbers
    tileas schedule FILE     when each op of its loops runs, and why
    tileas timeline FILE     a picture of what agents and engines do, in simulated time
    tileas try -p P FILES    whether verdicts and numbers of programs stay behind passes
    tileas tune FILE         the fastest of many ways to compile it
    tileas waits FILE        a picture of its tokens

Each subcommand is a module beside this one with `add_arguments(parser)` and `run(arguments) -> int`, named in
`SUBCOMMANDS` and imported only when it is called. The exit status is what `run` returns; 2 is kept for input that is
wrong, on the command line as in a file.

An exception that we did not foresee is our defect, and says so (`this is a defect of tileas`), with status 2.

Where the reader of the output goes away, the status is the verdict if there is one, else 141, as shells have it: never
a 0 that nobody has found.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import NoReturn

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "cache": ("kernel.cache", "show where compiled kernels are kept, or remove them"),
    "check": ("check", "find races and deadlocks, each with a witness, or prove that there are none"),
    "compile": ("compile", "run the TileAS family on a program, and say what was decided"),
    "course": ("course", "start an exercise of the course, and judge what became of it"),
    "explain": ("explain", "show what each pass does to a program, as one page"),
    "explain-error": ("check.explain_error", "show the cause of a mistake: a wrong program, a right one, the source"),
    "gui": ("gui", "show a program behind each pass in the terminal, with the viewer of xDSL"),
    "layout": ("layout", "show who holds which element of a tile, and what leads from one layout to another"),
    "new": ("new", "begin a package of your own: an op, an asynchronous op or a pass, with a test that fails"),
    "opt": ("opt", "run passes on a program, as xdsl-opt does, with errors that say where"),
    "passes": ("passes", "list the passes, their options, defaults and descriptions"),
    "play": ("play", "edit a program in a browser, and see what each pass makes of it"),
    "run": ("run", "run a function on numbers"),
    "schedule": ("schedule", "show when each op of a loop runs, what binds, and what it takes"),
    "timeline": ("timeline", "draw what agents and engines do, in simulated time"),
    "try": ("trying", "run passes on programs, and say whether verdicts and numbers stay"),
    "tune": ("kernel.tune", "find the fastest of many ways to compile a program, for one launch"),
    "waits": ("waits", "draw who waits for whom: the tokens of a function, for Graphviz or as a picture"),
}
"""Name -> (module below `tileas_xdsl.tools`, one line of help)."""
YOUNG = 50_000
"""
Objects after which Python's collector looks at the youngest. With Python's 700 it looks at all that a check has made
once that is over, when the command is about to end.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (of the process, when None) and return the exit status."""
    _open_what_is_closed()
    given = sys.argv[1:] if arguments is None else list(arguments)
    chosen = next((argument for argument in given if not argument.startswith("-")), None)
    if chosen is not None and chosen not in SUBCOMMANDS:
        _refuse_subcommand(chosen)
    if arguments is None:
        _keep_everything_at_exit()
    try:
        if arguments is None and chosen in SUBCOMMANDS:
            from tileas_xdsl.tools.start import hasten

            hasten()
            gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
        with without_collector():
            parser = build_parser(chosen)
    except KeyboardInterrupt:  # while modules are imported, before anything is begun
        from tileas_xdsl.tools.errors import INTERRUPTED

        return INTERRUPTED
    parsed, unknown = parser.parse_known_args(given)
    if unknown:
        parsed.parser.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(parsed.parser, unknown)}")
    if parsed.subcommand is None and not parsed.version:
        parser.print_help(sys.stderr)
        return 2

    from tileas_xdsl.tools.errors import reporting_errors

    return reporting_errors(_print_version if parsed.version else lambda: parsed.run(parsed))


@contextmanager
def without_collector() -> Generator[None]:
    """
    Python's collector of cycles would walk over all modules and ops again and again, and they stay in use: a tenth of
    the time that a kernel takes. Afterwards they count as old, or it would begin with them all.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()
        if was_on:
            gc.enable()


@cache
def _keep_everything_at_exit() -> None:
    """
    Nor shall it look for cycles when the process ends, and its memory goes back at once. Triton, where a file asked for
    it, counts the objects that are left, and lists them: what it says then is not for the user of this command.
    """
    atexit.register(lambda: say_no_more() if "triton" in sys.modules else gc.freeze())


def say_no_more() -> None:
    """Close standard error for what is written after all of Python has ended."""
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _open_what_is_closed() -> None:
    """
    Replace standard streams that the shell has closed (`>&-`), which Python has as None: input is then empty, and
    output goes nowhere.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - for as long as the process lives


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """The parser of the whole command line; only the `chosen` subcommand is imported and brings its arguments."""
    parser = argparse.ArgumentParser(
        prog="tileas",
        description="Read, run, check and prototype asynchronous tile pipelines.",
        epilog="Stock xdsl-opt runs our passes, too: xdsl-opt FILE -p PASS,PASS{option=value}.",
    )
    parser.set_defaults(parser=parser)
    parser.add_argument("--version", action="store_true", help="print the versions, and exit")
    subparsers = parser.add_subparsers(dest="subcommand", metavar="SUBCOMMAND", title="subcommands")
    for name, (module_name, summary) in SUBCOMMANDS.items():
        description = f"{summary[0].upper()}{summary[1:]}."
        subparser = subparsers.add_parser(name, help=summary, description=description, allow_abbrev=False)
        if name == chosen:
            module = import_module(f"tileas_xdsl.tools.{module_name}")
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run, parser=subparser)
    return parser


def _refuse_subcommand(name: str) -> NoReturn:
    """End with the error of an argument that is wrong, and with the subcommand that may have been meant."""
    from tileas_xdsl.diagnostics import did_you_mean

    guess = did_you_mean(name, SUBCOMMANDS) or f"; there are: {', '.join(SUBCOMMANDS)}"
    print(f"error: there is no subcommand '{name}'{guess}", file=sys.stderr)
    sys.exit(2)


def _meant(parser: argparse.ArgumentParser, unknown: Sequence[str]) -> str:
    """The option that the first of the `unknown` arguments may have been meant to be."""
    from tileas_xdsl.diagnostics import did_you_mean

    options = re.findall(r"--[\w-]+", parser.format_usage())
    return did_you_mean(unknown[0].partition("=")[0], dict.fromkeys(options))


def _print_version() -> int:
    """Print the versions of tileas-xdsl and of xDSL."""
    from importlib.metadata import version

    print(f"tileas-xdsl {version('tileas-xdsl')} on xdsl {version('xdsl')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
