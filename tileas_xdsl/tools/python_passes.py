"""Passes that are written in a Python file of the user's own: `pass_in(file)` finds the one in it."""

from __future__ import annotations

import runpy
from pathlib import Path

from xdsl.passes import ModulePass

from tileas_xdsl.tools.errors import InputError


def pass_in(path: Path) -> ModulePass:
    """
    The pass that the file `path` defines, with its default options. The file is executed.

    Raises `InputError` for a file that does not run, and for one that defines no pass or several; `OSError` for one
    that cannot be read.
    """
    path.read_bytes()
    try:
        names = runpy.run_path(str(path), run_name="exercise")
    except SyntaxError as error:
        raise InputError([f"{path}:{error.lineno}:{error.offset}: error: {error.msg}"]) from None
    except Exception as error:
        raise InputError([f"{path}: error: it raises {type(error).__name__}: {error}"]) from None
    found = [
        value
        for value in names.values()
        if isinstance(value, type) and issubclass(value, ModulePass) and value.__module__ == "exercise"
    ]
    if len(found) != 1:
        raise InputError([f"{path}: error: it defines {len(found)} passes; one is demanded"])
    return found[0]()
