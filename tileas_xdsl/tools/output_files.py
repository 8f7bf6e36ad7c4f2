"""
Writing files so that each is either whole or as it was: beside its place first, and then moved there.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_text(file: str, text: str) -> None:
    """Write `text` to `file`. Raises `OSError`, which names the file, where that cannot be done."""
    write_files({file: lambda stream: stream.write(text.encode())})


def write_files(files: Mapping[str, Callable[[BinaryIO], object]]) -> None:
    """
    Fill each file by its function; all files or none. A pipe or a device is written to as it is.

    Raises `OSError`, which names the file, for a place that cannot be written.
    """
    drafts: list[tuple[Path, Path]] = []
    try:
        for number, (file, write) in enumerate(files.items()):
            target = Path(file).resolve()
            with _blaming(file):
                if target.exists():
                    _require_writable(target)
                _require_folder(Path(file).parent)
                draft = target.with_name(f".tileas-{os.getpid()}-{number}")
                if target.exists() and not target.is_file():
                    draft = target
                else:
                    drafts.append((target, draft))
                with draft.open("wb") as stream:
                    write(stream)
        for target, draft in drafts:
            with _blaming(str(target)):
                if target.exists():
                    shutil.copymode(target, draft)
                draft.replace(target)
    finally:
        for _, draft in drafts:
            draft.unlink(missing_ok=True)


def _require_writable(target: Path) -> None:
    """Raises `OSError` for a folder, and for a file that may not be changed: moving a draft there would replace it."""
    if target.is_dir():
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def _require_folder(folder: Path) -> None:
    """Raises `OSError` where `folder` is not there: a reader of the course has none to write to at first."""
    if not folder.exists():
        raise OSError(errno.ENOENT, f"there is no folder '{folder}'; mkdir -p makes it")


@contextmanager
def _blaming(file: str) -> Generator[None]:
    """Errors name the file that the user named, not the draft."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, file) from None
