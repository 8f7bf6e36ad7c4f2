"""
Diagnostics for people, and the status bit by which one pass tells another of a failure.

A *refusal* stops a pass before it rewrites anything: it names the op, the reason and the way out. A *remark* or a
*warning* is printed and the pass goes on. A *soft failure* is a remark or an error that a later pass must know of: the
diagnostic is emitted first, then bit 2 of the pass's entry in the function's status word is set. `mark_soft_failure`
does both, so that the order cannot be inverted.

The severities are the numbers of the TileAS compiler: 259 is an error, 3 a remark.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import NoReturn, TextIO, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    DictionaryAttr,
    FileLineColLoc,
    FusedLoc,
    IntegerAttr,
    NameLoc,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import PassFailedException

Function = TypeVar("Function", bound=Operation)

PASS_STATUS = "nv_tileas.pass_status"
"""The status word: a discardable dictionary on the function, pass name -> i32. Entries that are zero are left out."""

CHECKOUT = Path(__file__).parents[1]
"""The folder of this package, which has a `pyproject.toml` where it is a checkout."""


def how_to_install(extra: str) -> str:
    """
    The command that installs an extra of this package: into a checkout in place, so that it stays what is imported.
    """
    if not (CHECKOUT / "pyproject.toml").is_file():
        return f"pip install 'tileas-xdsl[{extra}]'"
    return f"pip install -e '{'.' if Path.cwd() == CHECKOUT else CHECKOUT}[{extra}]'"


SOFT_FAILURE = 4
"""Bit 2 of a pass's status entry: the pass left something undone that a later pass must not rely on."""


ASSUMED = "tileas.assumed"
"""A discardable array of clauses on a module: what its reader took for granted, and each verdict rests on."""


class Error(Exception):
    """What is raised where a program, an argument, an option or this machine does not allow what was asked for."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'num_stages'?`, with the nearest of the names that are `known`; nothing where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


class Severity(IntEnum):
    """The severity of a diagnostic. A remark and an error have the numbers of TileAS's diagnostic engine."""

    WARNING = 2
    REMARK = 3
    ERROR = 259

    @property
    def label(self) -> str:
        return self.name.lower()


LIBRARIES = ("triton/language/", "triton/experimental/")
"""Parts of the names of files whose functions are inlined everywhere: a place there says nothing to a user."""


def place_in(location: Attribute) -> FileLineColLoc | None:
    """
    The place in a file that `location` stands for, under whatever names and calls; None where it is unknown.

    Of a call that was inlined it is the innermost one that is not in a library.
    """
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            return place_in(location.location)
        case FusedLoc():
            parts = map(place_in, cast("ArrayAttr[Attribute]", location.locations).data)
            return next((place for place in parts if place is not None), None)
        case CallSiteLoc():
            callee, caller = place_in(location.callee), place_in(location.caller)
            if callee is None or (caller is not None and any(part in callee.filename.data for part in LIBRARIES)):
                return caller
            return callee
        case _:
            return None


def state_assumptions(module: Operation, clauses: Iterable[str]) -> None:
    """Say in `module` what was taken for granted where it was made."""
    stated = [StringAttr(clause) for clause in clauses]
    if stated:
        module.attributes[ASSUMED] = ArrayAttr(stated)


def stated_assumptions(module: Operation) -> list[str]:
    """What `module` says was taken for granted where it was made."""
    stated = module.attributes.get(ASSUMED)
    clauses: list[Attribute] = list(cast("ArrayAttr[Attribute]", stated)) if isinstance(stated, ArrayAttr) else []
    return [clause.data for clause in clauses if isinstance(clause, StringAttr)]


def location_of(op: Operation) -> str | None:
    """`file:line:col` of `op`, or None where the location is unknown."""
    place = place_in(op.location)
    return None if place is None else f"{place.filename.data}:{place.line.data}:{place.column.data}"


def op_name(op: Operation) -> str:
    """The name of `op` as the program spells it, also where the op is unregistered."""
    name = op.attributes.get("op_name__")
    return getattr(name, "data", op.name)


PICTURED = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
"""Control characters, each with the picture that Unicode has of it; those of ISO 6429 from 0x80 on have none."""
HARMLESS = PICTURED | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


def printable(text: str) -> str:
    """`text` with control characters drawn, one character for each: no input can steer a terminal."""
    return text.translate(HARMLESS)


@dataclass(frozen=True)
class Diagnostic:
    """A message about one op: one sentence, and what the user can do about it."""

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


class RefusedError(PassFailedException, Error):
    """A pass refused to run, before it changed anything. Holds one or more diagnostics."""

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))


def refuse(op: Operation, reason: str, way_out: str, *, verbatim: bool = False) -> NoReturn:
    """
    Stop the pass because of `op`.

    `reason` completes the sentence "'the.op' op ..."; `way_out` says what the user can do. Raises `RefusedError`.
    """
    raise RefusedError([Diagnostic(Severity.ERROR, op, reason, way_out, verbatim)])


@dataclass(eq=False)
class Sink:
    """Where remarks and warnings are written. Tests and reports put a list in place of the stream."""

    stream: TextIO | None = None
    """None means whatever `sys.stderr` is at the time of writing."""
    records: list[Diagnostic] = field(default_factory=list[Diagnostic])
    recording: bool = False

    def emit(self, diagnostic: Diagnostic) -> None:
        if self.recording:
            self.records.append(diagnostic)
            return
        print(printable(str(diagnostic)), file=self.stream if self.stream is not None else sys.stderr)


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
    """Write a diagnostic to standard error, or append it to the list of the innermost `recorded_diagnostics`."""
    _sinks[-1].emit(diagnostic)


def remark(op: Operation, message: str, way_out: str | None = None, *, verbatim: bool = False) -> None:
    """Emit a remark about `op`: information, nothing is wrong."""
    emit(Diagnostic(Severity.REMARK, op, message, way_out, verbatim))


def warn(op: Operation, message: str, way_out: str | None = None) -> None:
    """Emit a warning about `op`: probably not what its author meant."""
    emit(Diagnostic(Severity.WARNING, op, message, way_out))


@dataclass
class ErrorCollector:
    """
    The errors of one walk. An error makes the op fail and the walk goes on; all errors are raised together at its end.
    """

    errors: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def add(self, diagnostic: Diagnostic) -> None:
        self.errors.append(diagnostic)

    def raise_if_any(self) -> None:
        """Raises `RefusedError` with every collected error, in the order in which they were found."""
        if self.errors:
            raise RefusedError(self.errors)


# The status word ----------------------------------------------------------------------------------------------------


def pass_status(function: Operation, pass_name: str) -> int:
    """The status entry of `pass_name` on `function`; 0 where there is none."""
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
    """Clear the entry of `pass_name` on `function`; a pass does so when it starts on the function."""
    _write_status(function, pass_name, 0)


def mark_soft_failure(
    function: Operation,
    pass_name: str,
    diagnostic: Diagnostic | None,
    errors: ErrorCollector | None = None,
) -> None:
    """
    Emit `diagnostic`, then set bit 2 of `pass_name` on `function`.

    `diagnostic` is None only where TileAS fails without a diagnostic. An error is not printed but kept in `errors`, to
    be raised when the walk is over. While the pass runs, bits of the word are only ever set.
    """
    if diagnostic is not None:
        if diagnostic.severity is Severity.ERROR and errors is not None:
            errors.add(diagnostic)
        else:
            emit(diagnostic)
    _write_status(function, pass_name, pass_status(function, pass_name) | SOFT_FAILURE)


def rewrite_each(
    functions: Iterable[Function],
    pass_name: str,
    problems: Callable[[Function], Iterable[Diagnostic]],
    rewrite: Callable[[Function], None],
) -> None:
    """
    Rewrite the `functions` that have no `problems`. The others stay as they are and get bit 2 of `pass_name`; their
    errors are raised together when the walk is over.
    """
    errors = ErrorCollector()
    for function in functions:
        clear_status(function, pass_name)
        wrong = list(problems(function))
        for diagnostic in wrong:
            mark_soft_failure(function, pass_name, diagnostic, errors)
        if not wrong:
            rewrite(function)
    errors.raise_if_any()


def sentence(op: Operation, text: str) -> str:
    """`ring.mlir:4:5: 'scf.for' does this`, where `text` completes a sentence whose subject is the op."""
    place = location_of(op)
    return f"{f'{place}: ' if place else ''}'{op_name(op)}' {text}"
