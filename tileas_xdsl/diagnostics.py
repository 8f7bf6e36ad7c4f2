"""
What the project says to people, and the one bit that passes say to each other.

A *refusal* stops a pass before it rewrites anything: it names the op, the reason and the way out. A *remark* or a
*warning* tells and goes on. A *soft failure* is a remark or error that a later pass must know of: the diagnostic
comes first, then bit 2 of the pass's entry in the function's status word; `mark_soft_failure` does both, so the order
cannot be inverted.

Severities are the numbers of TileAS (seed 004): 259 an error, 3 a remark.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NoReturn, TextIO

from xdsl.dialects.builtin import DictionaryAttr, FileLineColLoc, IntegerAttr, i32
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

PASS_STATUS = "nv_tileas.pass_status"
"""The status word: a discardable dictionary on the function, pass name -> i32, present while an entry is non-zero."""

SOFT_FAILURE = 4
"""Bit 2 of a pass's status entry: the pass left something undone that a later pass must not rely on."""


class Severity(IntEnum):
    """How bad it is. The values are those of TileAS's diagnostic engine."""

    WARNING = 2
    REMARK = 3
    ERROR = 259

    @property
    def label(self) -> str:
        return self.name.lower()


def location_of(op: Operation) -> str | None:
    """`file:line:col` of `op` where it is known, else None."""
    location = op.location
    if not isinstance(location, FileLineColLoc):
        return None
    return f"{location.filename.data}:{location.line.data}:{location.column.data}"


def op_name(op: Operation) -> str:
    """The name of `op` as people know it, also where the op is unregistered."""
    name = op.attributes.get("op_name__")
    return getattr(name, "data", op.name)


@dataclass(frozen=True)
class Diagnostic:
    """One sentence about one op, and what to do about it."""

    severity: Severity
    op: Operation
    message: str
    way_out: str | None = None
    verbatim: bool = False
    """True for texts quoted from TileAS: they stand alone, without the op's name in front."""

    def __str__(self) -> str:
        location = location_of(self.op)
        prefix = f"{location}: " if location is not None else ""
        subject = "" if self.verbatim else f"'{op_name(self.op)}' op "
        help_line = f"\n  help: {self.way_out}" if self.way_out is not None else ""
        return f"{prefix}{self.severity.label}: {subject}{self.message}{help_line}"


class RefusedError(PassFailedException):
    """A pass said no, before it touched anything. Holds one diagnostic or more."""

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))


def refuse(op: Operation, reason: str, way_out: str, *, verbatim: bool = False) -> NoReturn:
    """
    Stop the pass on account of `op`.

    `reason` completes the sentence "'the.op' op ..."; `way_out` says what the user can do. Raises `RefusedError`.
    """
    raise RefusedError([Diagnostic(Severity.ERROR, op, reason, way_out, verbatim)])


@dataclass(eq=False)
class Sink:
    """Where remarks and warnings go. Tests and reports put a list in place of the stream."""

    stream: TextIO | None = None
    """None means whatever `sys.stderr` is at the time of writing."""
    records: list[Diagnostic] = field(default_factory=list[Diagnostic])
    recording: bool = False

    def emit(self, diagnostic: Diagnostic) -> None:
        if self.recording:
            self.records.append(diagnostic)
            return
        print(diagnostic, file=self.stream if self.stream is not None else sys.stderr)


_sinks = [Sink()]


@contextmanager
def recorded_diagnostics() -> Generator[list[Diagnostic]]:
    """Collect remarks and warnings in the list that is yielded, in place of printing them."""
    sink = Sink(recording=True)
    _sinks.append(sink)
    try:
        yield sink.records
    finally:
        _sinks.remove(sink)


def emit(diagnostic: Diagnostic) -> None:
    """Hand a diagnostic to whoever listens: standard error, or the innermost `recorded_diagnostics`."""
    _sinks[-1].emit(diagnostic)


def remark(op: Operation, message: str, way_out: str | None = None, *, verbatim: bool = False) -> None:
    """Say something worth knowing about `op`; nothing is wrong."""
    emit(Diagnostic(Severity.REMARK, op, message, way_out, verbatim))


def warn(op: Operation, message: str, way_out: str | None = None) -> None:
    """Say that `op` is probably not what its author meant."""
    emit(Diagnostic(Severity.WARNING, op, message, way_out))


@dataclass
class ErrorCollector:
    """Errors of one walk, raised together when it is over (spec/tileas-passes.md section 1)."""

    errors: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def add(self, diagnostic: Diagnostic) -> None:
        self.errors.append(diagnostic)

    def raise_if_any(self) -> None:
        """Raises `RefusedError` with every collected error, in the order in which they were found."""
        if self.errors:
            raise RefusedError(self.errors)


# The status word ----------------------------------------------------------------------------------------------------


def pass_status(function: Operation, pass_name: str) -> int:
    """The status entry that `pass_name` left on `function`; 0 when there is none."""
    status = function.attributes.get(PASS_STATUS)
    if not isinstance(status, DictionaryAttr):
        return 0
    entry = status.data.get(pass_name)
    return entry.value.data if isinstance(entry, IntegerAttr) else 0


def failed_softly(function: Operation, pass_name: str) -> bool:
    """Whether bit 2 of `pass_name` is set on `function`."""
    return bool(pass_status(function, pass_name) & SOFT_FAILURE)


def _write_status(function: Operation, pass_name: str, value: int) -> None:
    status = function.attributes.get(PASS_STATUS)
    entries = dict(status.data) if isinstance(status, DictionaryAttr) else {}
    entries.pop(pass_name, None)
    if value:
        entries[pass_name] = IntegerAttr(value, i32)
    if entries:
        function.attributes[PASS_STATUS] = DictionaryAttr(dict(sorted(entries.items())))
    else:
        function.attributes.pop(PASS_STATUS, None)


def clear_status(function: Operation, pass_name: str) -> None:
    """A pass clears its own entry when it starts on a function."""
    _write_status(function, pass_name, 0)


def mark_soft_failure(
    function: Operation,
    pass_name: str,
    diagnostic: Diagnostic | None,
    errors: ErrorCollector | None = None,
) -> None:
    """
    Emit `diagnostic`, then set bit 2 of `pass_name` on `function`.

    `diagnostic` is None only for the paths that the sources call silent. An error is not printed but kept in
    `errors`, to be raised when the walk is over. The word is OR-only while the pass runs.
    """
    if diagnostic is not None:
        if diagnostic.severity is Severity.ERROR and errors is not None:
            errors.add(diagnostic)
        else:
            emit(diagnostic)
    _write_status(function, pass_name, pass_status(function, pass_name) | SOFT_FAILURE)


def sentence(op: Operation, text: str) -> str:
    """`ring.mlir:4:5: 'scf.for' does this`, where `text` is the rest of a sentence that begins with the op."""
    place = location_of(op)
    return f"{f'{place}: ' if place else ''}'{op_name(op)}' {text}"
