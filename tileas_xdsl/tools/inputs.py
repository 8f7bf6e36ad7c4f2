"""
Reading modules: a file is read, parsed with locations, verified op by op, and checked for dominance.

Every failure is an `InputError` whose messages carry file, line and column.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.universe import Universe
from xdsl.utils.exceptions import ParseError, VerifyException

from tileas_xdsl.analysis.dominance import dominance_violations
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.tools.errors import TOO_DEEP, InputError, explain_parse_error, place_of, reason
from tileas_xdsl.tools.located_parser import LocatedParser

STDIN = "-"
"""The file name that stands for standard input."""

MOST_MESSAGES = 10
"""The number of errors of one kind that are reported at once."""


def full_context(*, allow_unregistered: bool = False) -> Context:
    """A context with every dialect that stock `xdsl-opt` knows, each loaded on first use."""
    context = Context(allow_unregistered=allow_unregistered)
    for name, factory in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, factory)
    return context


def read_module(path: str, *, allow_unregistered: bool = False) -> ModuleOp:
    """
    The verified module in the file `path` (`-`: standard input); every op knows its file, line and column.

    Raises `InputError` for text that does not parse or verify or uses a value before its definition, and `OSError`
    where the file cannot be read.
    """
    name = "<stdin>" if path == STDIN else path
    return parse_module(read_text(path), name, full_context(allow_unregistered=allow_unregistered))


def read_text(path: str) -> str:
    """The text of `path`. Raises `OSError`, and `InputError` for what is not UTF-8."""
    data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
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
