"""
Files of bytecode of Tile IR: every command reads one as it reads a file of MLIR, as text, and `opt` writes them.

Each op says its place in Python, `loc("kernels.py":247:5)`, and so do remarks, refusals and findings about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from xdsl.dialects.builtin import UNKNOWN_LOC, CallSiteLoc, LocationAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.printer import Printer

from tileas_xdsl.diagnostics import place_in
from tileas_xdsl.readers.tile_ir import BytecodeError, NotWritableError, read, write
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.output_files import write_files


def text_of_bytecode(data: bytes, name: str) -> str:
    """The text of the module in `data`. Raises `InputError`, in one line that names the byte."""
    try:
        module = read(data)
    except BytecodeError as error:
        raise InputError([f"{name}: error: {error}"]) from None
    for op in module.walk():
        op.location = with_places(op.location)
    text = StringIO()
    Printer(stream=text, print_debuginfo=True).print_op(module)
    return f"{text.getvalue()}\n"


def with_places(location: Attribute) -> LocationAttr:
    """The location without the scopes of debug information, which text does without."""
    if isinstance(location, CallSiteLoc):
        return CallSiteLoc(with_places(location.callee), with_places(location.caller))
    return place_in(location) or UNKNOWN_LOC


def write_bytecode(file: str, modules: Sequence[ModuleOp]) -> None:
    """Write the one module as bytecode. Raises `InputError` where there are several, or the format lacks something."""
    if len(modules) != 1:
        raise InputError([f"{file}: error: a file of bytecode holds one program, not {len(modules)}"])
    try:
        data = write(modules[0])
    except NotWritableError as error:
        raise InputError([f"{file}: error: {error}"]) from None
    write_files({file: lambda stream: stream.write(data)})
