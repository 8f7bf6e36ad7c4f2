"""
Python's `dataclass` writes the methods of each class as a text and compiles it. What comes out is kept here, in a file
beside the bytecode of this module, under the rules of bytecode: written where it may be, for one version of Python, and
made again where it cannot be read.
"""

from __future__ import annotations

import atexit
import builtins
import dataclasses
import marshal
import os
import sys
from contextlib import suppress
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

MOST_TEXTS = 20_000
"""Texts in a file: it begins anew beyond that, for those of earlier versions of a class are never asked for again."""


def keep_code_of_dataclasses() -> None:
    """Let `dataclass` find the code of its methods in a file."""
    kept = KeptCode(Path(cache_from_source(__file__)).with_suffix(".methods"))
    setattr(dataclasses, "exec", kept.execute)  # noqa: B010 - found before the function of that name
    atexit.register(kept.write)


class KeptCode:
    """Code of functions by their texts, in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._code = _read(file)
        self._known = len(self._code)

    def execute(self, text: str, space: dict[str, Any], names: dict[str, Any]) -> None:
        """Do what `exec` does with a text that defines functions."""
        code = self._code.get(text)
        if code is None:
            code = self._code[text] = _only_function(text)
        if code is None:
            builtins.exec(text, space, names)
        else:
            names[code.co_name] = FunctionType(code, space)

    def write(self) -> None:
        """Write the file again if there is something new, and Python may write bytecode."""
        if len(self._code) == self._known or sys.dont_write_bytecode:
            return
        draft = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        with suppress(OSError):
            draft.parent.mkdir(exist_ok=True)
            draft.write_bytes(MAGIC_NUMBER + marshal.dumps(self._code))
            draft.replace(self._file)


def _read(file: Path) -> dict[str, CodeType | None]:
    try:
        data = file.read_bytes()
        if not data.startswith(MAGIC_NUMBER):
            return {}
        found: dict[str, CodeType | None] = marshal.loads(data[len(MAGIC_NUMBER) :])
    except (OSError, EOFError, ValueError, TypeError):
        return {}
    return found if len(found) <= MOST_TEXTS else {}


def _only_function(text: str) -> CodeType | None:
    """The code of the function that `text` consists of; None where it is something else."""
    found = [each for each in compile(text, "<string>", "exec", dont_inherit=True).co_consts if type(each) is CodeType]
    return found[0] if len(found) == 1 and text.startswith(f"def {found[0].co_name}(") else None
