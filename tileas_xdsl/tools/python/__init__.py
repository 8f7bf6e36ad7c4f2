"""
Python files as input of a subcommand: the kernels that they launch, as Triton compiles them or as cuTile exports them,
and what is told of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from tileas_xdsl.tools.errors import InputError

SUFFIX = ".py"
DEFAULT = "sm_90"
"""What is compiled for where nobody says another target."""


@dataclass(frozen=True)
class PythonKernel:
    """The text of a kernel, or why there is none."""

    title: str
    """`matmul for sm_90`."""
    ttgir: str | None
    complaint: InputError | None
    preconditions: tuple[str, ...] = ()
    """What the source of the kernel states."""


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
    group.add_argument(
        "--launches",
        action="store_true",
        help="for 'file.py:kernel' in cuTile Python, check each of its launches in the file; nothing is computed",
    )


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
        for title, each in zip(titles(found.kernels), found.kernels, strict=True):
            kernels.append(PythonKernel(title, each.ttgir, each.complaint, each.preconditions))
    return kernels


def _kernels_of_cutile(path: str) -> list[PythonKernel]:
    """What a script in cuTile Python launches."""
    from tileas_xdsl.tools.python.cutile import texts_of_script

    texts, notes = texts_of_script(path)
    for note in notes:
        print(note, file=sys.stderr)
    if not texts:
        raise InputError([f"{path}: error: no kernel was launched: name one, as in '{path}:name(f16:?x?)'"])
    return [
        PythonKernel(call, text if isinstance(text, str) else None, None if isinstance(text, str) else text)
        for call, text in texts
    ]
