"""
`tileas gui [FILE] [-p PASSES]`: xDSL's viewer in the terminal, with our dialects and passes.

`xdsl-gui` shows the passes of xDSL alone; here are those of every plug-in. The viewer comes with the extra `gui`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from xdsl.universe import Universe

from tileas_xdsl.diagnostics import how_to_install, recorded_diagnostics
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import read_text
from tileas_xdsl.tools.pass_pipelines import passes_named

NEEDED = ("textual", "pyclip")
"""The packages of xDSL's extra `gui`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="the program that is shown first")
    parser.add_argument("-p", "--passes", metavar="PASSES", default="", help="PASS,PASS{option=value}: run these first")


def run(arguments: argparse.Namespace) -> int:
    app = viewer(arguments.file, arguments.passes)
    with recorded_diagnostics():  # remarks of passes would be written across the screen
        app.run()
    return 0


def viewer(file: str | None, pipeline: str) -> Any:
    """
    The viewer of xDSL on the program in `file`, behind `pipeline`.

    Raises `InputError` where the extra is not installed, and `OSError` where the file cannot be read.
    """
    passes = tuple(passes_named(pipeline))
    text = None if file is None else read_text(file)
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError([f"error: the viewer of xDSL needs {' and '.join(missing)}\n  help: {how_to_install('gui')}"])
    from xdsl.interactive.app import InputApp

    everything = Universe.get_multiverse()
    return InputApp(tuple(everything.all_dialects.items()), _loaded(everything.all_passes), file, text, passes)


def _loaded(factories: dict[str, Callable[[], Any]]) -> tuple[tuple[str, Any], ...]:
    """The passes that can be imported here: some of xDSL's need extras of their own."""
    found: list[tuple[str, Any]] = []
    for name, factory in sorted(factories.items()):
        with suppress(ImportError):
            found.append((name, factory()))
    return tuple(found)
