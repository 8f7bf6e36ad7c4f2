"""Several files and folders in one call, and files that are watched."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import STDIN
from tileas_xdsl.tools.python import SUFFIX

PROGRAMS = (".mlir", ".ttgir", ".ptx", ".tileirbc")
EVERY = 0.3
"""Seconds between two looks at the files."""


def programs_in(paths: Sequence[str], *, with_ptx: bool = False) -> list[str]:
    """
    The files in `paths`; of a folder those below it that hold programs, in the order of their names. PTX beside its
    TTGIR, as Triton's cache has it, is one of them `with_ptx` only.

    Raises `InputError` for a folder in which there is none.
    """
    found: list[str] = []
    for path in paths:
        folder = Path(path)
        if path == STDIN or not folder.is_dir():
            found.append(path)
            continue
        files = sorted(folder.rglob("*"), key=_place)
        inside = [str(file) for file in files if _is_program(file) and (with_ptx or not _is_below(file))]
        if not inside:
            raise InputError([f"{path}: error: there is no program in this folder"])
        found += inside
    return list(dict.fromkeys(found))


def _place(file: Path) -> tuple[Path, bool]:
    """By name, and what is made of a text behind it."""
    return file.with_suffix(""), _is_below(file)


def _is_below(file: Path) -> bool:
    """Whether it is what Triton makes of a text beside it."""
    return file.suffix == ".ptx" and file.with_suffix(".ttgir").is_file()


def _is_program(file: Path) -> bool:
    from tileas_xdsl.triton.python_files import has_kernels

    return file.suffix in PROGRAMS or (file.suffix == SUFFIX and has_kernels(file))


def watch(files: Sequence[str], action: Callable[[], int]) -> int:
    """
    Do something now, and again whenever one of the files has changed, until it is interrupted.

    An error of the input is told, and the next change tries again. The status is that of the last time.
    """
    if STDIN in files:
        raise InputError(["error: --watch: standard input does not change; name a file"])
    status = _tried(action)
    try:
        while True:
            before = _times(files)
            while _times(files) == before:
                time.sleep(EVERY)
            print(f"\n{time.strftime('%H:%M:%S')}", flush=True)
            status = _tried(action)
    except KeyboardInterrupt:
        return status


def _tried(action: Callable[[], int]) -> int:
    try:
        return action()
    except (InputError, OSError) as error:
        print(error, file=sys.stderr, flush=True)
        return 2


def _times(files: Sequence[str]) -> list[int]:
    return [Path(file).stat().st_mtime_ns if Path(file).exists() else 0 for file in files]
