"""
What the command says when something is wrong: `file:line:col: error: text` on standard error, status 2, no traceback.

Every subcommand runs inside `reporting_errors`. Set `TILEAS_TRACEBACK=1` to see where an error comes from.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from xdsl.ir import Operation
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Span

from tileas_xdsl.diagnostics import Diagnostic, Error, RefusedError, location_of, printable

INPUT_ERROR = 2
"""Exit status for whatever the command cannot read or do."""

OUT_OF_TIME = 3
"""Exit status where the time that `--timeout` allows was up before there was an answer."""

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""

NOBODY_READS = 141
"""Exit status, as in shells, where the reader of our output went away before there was a verdict."""


TOO_DEEP = "operations or calls nest too deeply: more than about 160 loops, or a function that calls itself for ever"
"""The error message for a program that exceeds Python's recursion limit."""


class InputError(Error):
    """The input is wrong; holds complete messages, `file:line:col: error: text` each."""

    messages: tuple[str, ...]
    status = INPUT_ERROR
    """The exit status that it leads to."""

    def __init__(self, messages: Sequence[str]) -> None:
        self.messages = tuple(messages)
        super().__init__("\n".join(messages))


class UnsafeCodeError(InputError):
    """What would be written is unsafe, or computes other numbers; the messages hold the witness."""

    status = 1


class MissingFileError(InputError, FileNotFoundError):
    """There is no such file."""


class OutOfTimeError(InputError):
    """The time was up; the messages say where the program stood."""

    status = OUT_OF_TIME


def reporting_errors(run: Callable[[], int]) -> int:
    """The exit status of `run`; where it raises, the message on standard error and status 2 (3: the time was up)."""
    status = NOBODY_READS
    try:
        status = run()
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Nothing is wrong, and Python must not complain about it at exit; but no verdict may be made up.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return status
    except (Exception, ArgSpecParseError) as error:
        if os.environ.get("TILEAS_TRACEBACK") == "1":
            raise
        print(printable(explain(error)), file=sys.stderr)
        return error.status if isinstance(error, InputError) else INPUT_ERROR


@contextmanager
def collected(complaints: list[InputError], *, stops: bool) -> Generator[None]:
    """What cannot be read or checked is told, and the others go on, unless it is all that there is."""
    try:
        yield
    except InputError as error:
        if stops:
            raise
        complaints.append(error)
        sys.stdout.flush()
        print(error, file=sys.stderr)


def explain(error: BaseException) -> str:
    """The message of `error`, with a location where one is known."""
    match error:
        case InputError():
            return "\n".join(error.messages)
        case ParseError():
            return explain_parse_error(error)
        case RefusedError():
            return "\n".join(map(located, error.diagnostics))
        case RecursionError():
            return f"error: {TOO_DEEP}"
        case MemoryError():
            return f"error: the program needs more memory than there is: {reason(error)}"
        case OSError() if error.strerror is not None:
            place = f"{error.filename}: " if error.filename is not None else ""
            return f"{place}error: {error.strerror[0].lower()}{error.strerror[1:]}"
        case DiagnosticException() | ArgSpecParseError():
            return f"error: {error}"
        case _:
            return (
                f"error: {type(error).__name__}: {error}\n"
                "  help: this is a defect of tileas; TILEAS_TRACEBACK=1 shows where it comes from"
            )


def explain_parse_error(error: ParseError) -> str:
    """The message, the line it is about, and a caret under the column."""
    text = f"{error.span.get_location()}: error: {_sentence(error)}{_excerpt(error.span)}"
    if not isinstance(error, MultipleSpansParseError):
        return text
    notes = [
        f"{span.get_location()}: note: {note or error.ref_text or 'here'}{_excerpt(span)}" for span, note in error.refs
    ]
    return "\n".join([text, *notes])


def place_of(op: Operation) -> str | None:
    """`file:line:col` of `op`, or of the nearest op around it that has one."""
    node: Operation | None = op
    while node is not None:
        if (place := location_of(node)) is not None:
            return place
        node = node.parent_op()
    return None


def located(diagnostic: Diagnostic) -> str:
    """`diagnostic` with the place of the op around where the op itself has none."""
    nearest = place_of(diagnostic.op) if location_of(diagnostic.op) is None else None
    return f"{nearest}: {diagnostic}" if nearest is not None else str(diagnostic)


def reason(error: Exception) -> str:
    """The text of an error without a position; the name of its class where the text is empty."""
    return str(error) or type(error).__name__


def _sentence(error: ParseError) -> str:
    """xDSL's message as a sentence: some begin with a capital, some hold only the place (" in block definition")."""
    message = error.msg.replace("{first_char}", f"'{error.span.text}'")  # xDSL forgets to fill this in
    if message.startswith(" "):
        found = error.span.text
        return f"unexpected {repr(found) if found else 'end of file'}{message}"
    first, second = message[:1], message[1:2]
    return first.lower() + message[1:] if first.isupper() and second.islower() else message


def _excerpt(span: Span[str] | Span[bytes]) -> str:
    """The source line at the beginning of `span` and a caret under its column; nothing for a blank line."""
    start = span.input.get_start_of_line(span.start)
    line = span.input.content[start : span.input.get_end_of_line(span.start)]
    shown = line if isinstance(line, str) else line.decode("utf-8", "replace")
    if not shown.strip():
        return ""
    # Tabs stay tabs, so that the caret stands where the terminal puts the character.
    margin = "".join("\t" if char == "\t" else " " for char in shown[: span.start - start])
    return f"\n{shown}\n{margin}^"
