"""
Reading modules: a file is read, parsed with locations, verified op by op, and checked for dominance.

Every failure is an `InputError` whose messages carry file, line and column.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute
from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.exceptions import ParseError, VerifyException

from tileas_xdsl.analysis.dominance import dominance_violations
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.tools.errors import TOO_DEEP, InputError, explain_parse_error, place_of, reason
from tileas_xdsl.tools.located_parser import LocatedParser
from tileas_xdsl.universe import TILEAS

ProgramLike = ModuleOp | str | Path
"""A module, or the file or the text of one."""

STDIN = "-"
"""The file name that stands for standard input."""

TILE_IR = b"\x7fTileIR"
"""How a file of bytecode begins."""

MACHINE_CODE = (b"\x7fELF", b"\x50\xed\x55\xba")
"""What cubins and fatbins begin with."""

KERNEL = re.compile(r"(?P<file>.+\.py):(?P<name>\w+)(?:\((?P<made>[^()]*)\)(?=\())?(?:\((?P<words>.*)\))?$", re.DOTALL)
"""A file, a kernel in cuTile Python or a function that makes one, what that is called with, and the words."""

MOST_MESSAGES = 10
"""The number of errors of one kind that are reported at once."""


@dataclass
class FullContext(Context):
    """
    Every dialect that stock `xdsl-opt` knows, each loaded on first use.

    Those of xDSL and ours are known at once. Other plug-ins are looked for when a name belongs to none of these: that
    reads what all installed packages say of themselves, which takes longer than reading a program.
    """

    _others_are_known: bool = False

    def __post_init__(self) -> None:
        if not self._registered_dialects:
            self._register(XDSL_UNIVERSE.all_dialects | TILEAS.all_dialects)

    def _register(self, dialects: dict[str, Callable[[], Dialect]]) -> None:
        known = set(super().registered_dialect_names)
        for name, factory in dialects.items():
            if name not in known:
                self.register_dialect(name, factory)

    def _look_for(self, name: str) -> None:
        """Look for other plug-ins, once, if `name` (`dialect.name`) is of a dialect that is not known."""
        if "." in name and name.partition(".")[0] not in super().registered_dialect_names:
            self._look_for_others()

    def _look_for_others(self) -> None:
        if not self._others_are_known:
            self._others_are_known = True
            self._register(Universe.get_multiverse().all_dialects)

    @property
    def registered_dialect_names(self) -> Iterable[str]:
        self._look_for_others()
        return super().registered_dialect_names

    def clone(self) -> Context:
        self._look_for_others()
        return super().clone()

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        self._look_for(name)
        return super().get_optional_op(name, dialect_stack=dialect_stack)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        self._look_for(name)
        return super().get_optional_type(name)

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        self._look_for(name)
        return super().get_optional_attr(name)

    def get_optional_dialect(self, name: str) -> Dialect | None:
        self._look_for(f"{name}.")
        return super().get_optional_dialect(name)


def full_context(*, allow_unregistered: bool = False) -> Context:
    """A context with every dialect that stock `xdsl-opt` knows, each loaded on first use."""
    return FullContext(allow_unregistered=allow_unregistered)


def read_module(path: str, *, allow_unregistered: bool = False) -> ModuleOp:
    """
    The verified module in the file `path` (`-`: standard input); every op knows its file, line and column.

    Raises `InputError` for text that does not parse or verify or uses a value before its definition, and `OSError`
    where the file cannot be read.
    """
    name, text = read_program(path)
    return parse_module(text, name, full_context(allow_unregistered=allow_unregistered))


def read_program(path: str, target: str | None = None) -> tuple[str, str]:
    """
    What errors call a program, and its text: that of the file; of a Python file (`kernel.py`, or `kernel.py:gemm` where
    it launches several kernels) what the kernel becomes that it launches, in Triton's compiler for `target`.

    Raises as `read_text`, and `InputError` where the file does not launch one such kernel.
    """
    found = KERNEL.fullmatch(path)
    if path.endswith(".py") or (found is not None and found["words"] is None and is_kernel(path)):
        from tileas_xdsl.tools.python import launched_program

        launched = launched_program(found["file"] if found else path, found["name"] if found else None, target)
        if launched is not None:
            return launched
    return "<stdin>" if path == STDIN else path, read_text(path)


def is_kernel(path: str) -> bool:
    """Whether `path` names a kernel of a Python file: `kernel.py:gemm`, with or without its types."""
    found = KERNEL.fullmatch(path)
    return found is not None and Path(found["file"]).is_file()


def read_text(path: str) -> str:
    """
    The text of `path`; of bytecode of Tile IR its text, in which each op says its place in Python, and of a kernel in
    cuTile Python (`kernel.py:gemm(f16:?x?, 128)`) the function that it becomes.

    Raises `OSError`, and `InputError` for machine code, and for what is neither UTF-8 nor such bytecode.
    """
    if is_kernel(path):
        from tileas_xdsl.tools.python.cutile import exported_kernel

        return exported_kernel(path).text
    data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    if data.startswith(TILE_IR):
        from tileas_xdsl.tools.bytecode import text_of_bytecode

        return text_of_bytecode(data, path)
    if data.startswith(MACHINE_CODE):
        raise InputError([f"{path}: error: this is machine code; its PTX, if it has any, is shown by cuobjdump -ptx"])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        byte = data[error.start]
        raise InputError([f"{path}:{line}:{column}: error: byte 0x{byte:02x} is not UTF-8 text"]) from None


def parse_module(text: str, name: str, context: Context) -> ModuleOp:
    """Parse and verify `text`; `name` is the file in every location. Raises `InputError`."""
    try:
        module = LocatedParser(context, text, name).parse_module()
        verify_module(module)
    except ParseError as error:
        raise InputError([explain_parse_error(error)]) from None
    except RecursionError:
        raise InputError([f"{name}: error: {TOO_DEEP}"]) from None
    return module


def verify_module(module: ModuleOp) -> None:
    """Raises `InputError` that names the first op that does not verify, else the first uses before a definition."""
    for op in _innermost_first(module):
        if (complaint := _complaint(op)) is not None:
            raise InputError([_message(op, complaint)])
    messages: list[str] = []
    for violation in dominance_violations(module):
        value = violation.value
        name = f"%{value.name_hint}" if value.name_hint else f"operand #{violation.operand_index}"
        messages.append(_message(violation.user, f"{name} is used where its definition does not reach"))
        if len(messages) == MOST_MESSAGES:
            break
    if messages:
        raise InputError(messages)


def _innermost_first(op: Operation) -> Iterator[Operation]:
    """`op` and everything in it, in the order in which xDSL verifies: what an op contains comes before the op."""
    for region in op.regions:
        for block in region.blocks:
            for nested in block.ops:
                yield from _innermost_first(nested)
    yield op


def _complaint(op: Operation) -> str | None:
    """The reason why `op`, without the ops inside it, does not verify; None where it does."""
    try:
        op.verify(verify_nested_ops=False)
        for region in op.regions:
            for block in region.blocks:
                if block.first_op is None:
                    block.verify()
    except RecursionError:
        raise
    except Exception as error:
        return reason(_verdict(error))
    return None


def _verdict(error: Exception) -> Exception:
    """
    The message of the verifier. xDSL prints the module into its error; where printing fails, the message is the context
    of that exception.
    """
    context = error.__context__
    if not isinstance(error, VerifyException) and isinstance(context, VerifyException):
        return context
    return error


def _message(op: Operation, complaint: str) -> str:
    """`file:line:col: error: 'name' op complaint`, further lines indented."""
    place = place_of(op)
    name = op_name(op)
    subject = "" if complaint.startswith((f"'{name}'", f"Operation {name}")) else f"'{name}' op "
    text = complaint.strip().replace("\n", "\n  ")
    return f"{place + ': ' if place is not None else ''}error: {subject}{text}"
