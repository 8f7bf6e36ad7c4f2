"""Modules of `cuda_tile` out, as bytecode."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from tileas_xdsl.readers.tile_ir import NotWritableError, write
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.output_files import write_files


def write_bytecode(file: str, modules: Sequence[ModuleOp]) -> None:
    """Write the one module as bytecode. Raises `InputError` where there are several, or the format lacks something."""
    if len(modules) != 1:
        raise InputError([f"{file}: error: a file of bytecode holds one program, not {len(modules)}"])
    try:
        data = write(modules[0])
    except NotWritableError as error:
        raise InputError([f"{file}: error: {error}"]) from None
    write_files({file: lambda stream: stream.write(data)})
