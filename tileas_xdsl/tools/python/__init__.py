"""
Python files as input of a subcommand: the kernels that they launch, as Triton compiles them or as cuTile exports them,
and what is told of them.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from tileas_xdsl.tools.errors import InputError

SUFFIX = ".py"
DEFAULT = "sm_90"
"""What is compiled for unless a target is named."""


@dataclass(frozen=True)
class PythonKernel:
    """The text of a kernel, or why there is none."""

    title: str
    """`matmul for sm_90`."""
    ttgir: str | None
    complaint: InputError | None
    preconditions: tuple[str, ...] = ()
    """What the source of the kernel states."""
    tile_ir: ModuleOp | None = None
    """What it was before, in cuTile Python."""
    origin: PythonFile | None = None
    """Where it is from, if the file may be changed and compiled anew."""


@dataclass(frozen=True)
class PythonFile:
    """A Python file with Triton's kernels, and which of the kernels that it launches is meant."""

    path: str
    target: str
    call: str | None
    number: int

    def read(self) -> str | None:
        """The text of the file; None if an edit of it cannot be tried, as it is imported by another one."""
        other = (self.call or "").rpartition("::")[0]
        if other and not os.path.samefile(other, self.path):
            return None
        try:
            return Path(self.path).read_text(encoding="utf-8")
        except ValueError:
            return None

    def one_with(self, text: str) -> PythonKernel:
        """The kernel that it would be if `text` stood in the file. Raises `InputError` where it is not there."""
        from tileas_xdsl.triton.python_files import kernels_of

        kernels = kernels_of(self.path, self.target, self.call, text=text, only=self.number).kernels
        if self.number >= len(kernels):
            raise InputError([f"{self.path}: error: with the edit the file launches fewer kernels"])
        each = kernels[self.number]
        return PythonKernel(each.name, each.ttgir, each.complaint, each.preconditions)


def is_python(path: str) -> bool:
    return path.endswith(SUFFIX)


def add_python(parser: argparse.ArgumentParser) -> None:
    """Add the options of Python files."""
    group = parser.add_argument_group("options of Python files")
    group.add_argument(
        "--target",
        metavar="T",
        action="append",
        default=[],
        help=f"target for Triton, such as sm_100 or gfx950; may be repeated (default: {DEFAULT})",
    )
    group.add_argument(
        "--call",
        metavar="TEST",
        help="call this test instead of running the file: tests/test_softmax.py::test_rows, or test_rows of the file",
    )
    add_launches(parser)


def add_launches(parser: argparse.ArgumentParser) -> None:
    """Add the option that takes the launches of a file."""
    parser.set_defaults(launched=None)
    parser.add_argument(
        "--launches",
        action="store_true",
        help="for 'file.py:kernel' in cuTile Python, take each of its launches in the file; the file computes nothing",
    )


Command = Callable[[argparse.Namespace], int]


def of_each_launch(command: Command) -> Command:
    """
    Decorator of a command on one FILE: with `--launches` it takes each launch that the file makes. The files that it
    writes are numbered where there are several, and a grid and arguments are those of the launch.
    """

    @wraps(command)
    def run(arguments: argparse.Namespace) -> int:
        if not arguments.launches:
            return command(arguments)
        from tileas_xdsl.tools.python.cutile import paths_of_launches

        launches, worst = paths_of_launches(arguments.file), 0
        for number, (path, launch) in enumerate(launches, 1):
            print(f"{path.partition('.py:')[0]}.py: note: {launch}", file=sys.stderr)
            given = argparse.Namespace(**vars(arguments))
            given.file, given.launched = path, launch
            if len(launches) > 1:
                given.out = _numbered(arguments.out, number)
            worst = max(worst, command(given))
        return worst

    return run


def _numbered(out: Any, number: int) -> Any:
    """`out-2.ptx` for `out.ptx`, one or several."""
    if isinstance(out, str):
        return re.sub(r"(\.\w+)?$", rf"-{number}\1", out, count=1)
    return [_numbered(each, number) for each in cast("list[str]", out)] if isinstance(out, list) else out


def asks_for_launches(path: str, arguments: argparse.Namespace) -> bool:
    """Whether the launches of a Python file are asked for: all of them, or those of one kernel."""
    return is_python(path) or (".py:" in path and getattr(arguments, "launches", False))


def kernels_of_python(path: str, targets: Sequence[str], call: str | None) -> list[PythonKernel]:
    """
    What `path` launches, for each of `targets`. Notes about it go to standard error.

    Raises `InputError` where nothing is launched, and `OSError` where the file cannot be read.
    """
    from tileas_xdsl.tools.python.cutile import is_script

    if not is_python(path) or is_script(path):
        return _kernels_of_cutile(path)
    from tileas_xdsl.triton.python_files import kernels_of, titles

    kernels: list[PythonKernel] = []
    for target in targets or (DEFAULT,):
        found = kernels_of(path, target, call)
        for note in found.notes:
            print(note, file=sys.stderr)
        for number, (title, each) in enumerate(zip(titles(found.kernels), found.kernels, strict=True)):
            origin = PythonFile(path, target, call, number)
            kernels.append(PythonKernel(title, each.ttgir, each.complaint, each.preconditions, origin=origin))
    return kernels


def launched_program(path: str, kernel: str | None, target: str | None) -> tuple[str, str] | None:
    """
    Title and text of the only kernel that the file launches, or of that `kernel`; of several forms the first, which a
    note on standard error says. None where cuTile's `kernel` is exported by its types or its first launch.

    Raises `InputError` where there is not one, or where it does not compile.
    """
    from tileas_xdsl.tools.python.cutile import is_script

    if kernel is not None and is_script(path):
        return None
    launched = kernels_of_python(path, [target] if target else (), None)
    names = list(dict.fromkeys(map(_name_of, launched)))
    if kernel is None and len(names) > 1:
        choice = ", ".join(f"{path}:{name}" for name in names)
        raise InputError([f"{path}: error: this file launches several kernels; name one: {choice}"])
    forms = [each for each in launched if kernel in (None, _name_of(each))]
    if not forms:
        raise InputError([f"{path}: error: this file launches no '{kernel}'; it launches: {', '.join(names)}"])
    first = forms[0]
    if first.complaint is not None:
        raise first.complaint
    if len(forms) > 1:
        print(f"{path}: note: the first of {len(forms)} forms of a kernel: {first.title}", file=sys.stderr)
    return f"<{first.title}>", first.ttgir or ""


def _name_of(kernel: PythonKernel) -> str:
    return re.split(r"\W", kernel.title, maxsplit=1)[0]


def _kernels_of_cutile(path: str) -> list[PythonKernel]:
    """What a script in cuTile Python launches."""
    from tileas_xdsl.tools.python.cutile import exported_launches

    launches, notes = exported_launches(path)
    for note in notes:
        print(note, file=sys.stderr)
    if not launches:
        raise InputError([f"{path}: error: no kernel was launched: name one, as in '{path}:name(f16:?x?)'"])
    return [
        PythonKernel(launch.call, None, made)
        if isinstance(made, InputError)
        else PythonKernel(launch.call, made.text, None, tile_ir=made.tile_ir)
        for launch, made in launches
    ]
