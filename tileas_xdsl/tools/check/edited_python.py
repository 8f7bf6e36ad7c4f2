"""
Edits of the Python file that a kernel was compiled from. For `tileas check` the file is executed as if it held the
edited text, and the kernel that it launches then is the one that is checked; `tileas_xdsl.triton.check`, which gets a
kernel and no file, executes only the definitions of kernels (`triton.edited_kernel`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tileas_xdsl.checker.verdict.mistakes import SourceEdit
from tileas_xdsl.checker.verdict.repairing import Attempt, Check, Effort, Lines, checked, repair
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.diagnostics import place_in
from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.machine_input import Input, of_python
from tileas_xdsl.tools.python import PythonFile

MOST_EDITS = 60
"""How many edits are tried: for each the kernel is compiled."""
EFFORT = Effort(least=200_000, one_call=5_000)
"""As long as it takes to compile a kernel so often."""


@dataclass(frozen=True)
class KernelSource:
    """The Python file of a kernel, and what the kernel becomes with another text of the file."""

    path: str
    text: str
    compiled: Callable[[str], ModuleOp | None]
    """None for a text with which the kernel does not compile. May raise `InputError` instead."""
    holds_for_others: Callable[[str], bool] = lambda _: True
    """Whether the other kernels of the file are safe with a text."""


def edit_of_python(
    given: Input, report: Report, forms: Sequence[Input], check_for: Callable[[Input], Check], fixed: Mapping[str, int]
) -> SourceEdit | None:
    """
    What repairs the only mistake that `report` shows of the kernel `given`, so that all `forms` of the file are safe;
    None if no edit was found. `check_for` checks a module as a form was checked, with the arguments `fixed`.
    """
    origin = given.origin
    text = None if origin is None else origin.read()
    if origin is None or text is None:
        return None
    others = [form for form in forms if form is not given and form.complaint is None]

    def holds_for_others(text: str) -> bool:
        return all(_is_safe(form, text, check_for(form)) for form in others)

    source = KernelSource(origin.path, text, partial(_launched, origin), holds_for_others)
    return edit_of_kernel(source, report, check_for(given), fixed)


def edit_of_kernel(source: KernelSource, report: Report, check: Check, fixed: Mapping[str, int]) -> SourceEdit | None:
    """
    What repairs the only mistake that `report` shows of a kernel; None if no edit was found. `check` checks a module as
    the kernel was checked, with the arguments `fixed`.
    """
    edit = repair(report, _attempts(source, report), check, fixed, EFFORT)
    return None if edit is None else replace(edit, file=source.path)


def _is_safe(form: Input, text: str, check: Check) -> bool:
    """Whether a kernel that the file launches is safe if `text` stands in the file."""
    module = None if form.origin is None else _compiled(partial(_launched, form.origin), text)
    report = None if module is None else checked(check, module)
    return report is not None and report.verdict is Verdict.SAFE


def _attempts(source: KernelSource, report: Report) -> Iterator[Attempt]:
    """Changes of the file that may repair the first mistake of `report`, which is about one of its kernels."""
    from tileas_xdsl.triton.python_edits import Party, edits

    first, also = report.mistakes[0].first, report.mistakes[0].also
    parties = [
        Party(line, type(party.op)) for party in first.violation.parties if (line := _line(source.path, party.op))
    ]
    steps = first.witness.steps if first.witness is not None else ()
    ops = [step.op for step in steps if isinstance(step, Happening)]
    ops += [party.op for finding in also for party in finding.violation.parties]
    about = [line for op in ops if (line := _line(source.path, op))]
    holds = source.holds_for_others
    for lines in islice(edits(source.text, first.violation, parties, about), MOST_EDITS):
        edited = with_lines(source.text, lines)
        module = _compiled(source.compiled, edited)
        yield Attempt(module, lambda lines=lines, edited=edited: lines if holds(edited) else None)


def _line(path: str, op: Operation) -> int | None:
    """The line of the file `path` on which `op` stands."""
    place = place_in(op.location)
    if place is None or Path(place.filename.data).resolve() != Path(path).resolve():
        return None
    return place.line.data


def _launched(origin: PythonFile, text: str) -> ModuleOp | None:
    """What the kernel is that the file launches if `text` stands in it. Raises `InputError`."""
    given = of_python(origin.one_with(text))
    return given.module if given.complaint is None else None


def _compiled(compile_: Callable[[str], ModuleOp | None], text: str) -> ModuleOp | None:
    """What the kernel becomes with this text of the file; None if it does not compile."""
    try:
        with _nothing_said():
            return compile_(text)
    except InputError:
        return None


@contextmanager
def _nothing_said() -> Generator[None]:
    """Triton's compiler writes on standard error itself, and an edit that does not compile is no news."""
    sys.stderr.flush()
    own = os.dup(2)
    with Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)


def with_lines(text: str, lines: Lines) -> str:
    """`text`, in which these lines stand."""
    line, before, after = lines
    old = text.split("\n")
    return "\n".join([*old[: line - 1], *after, *old[line - 1 + len(before) :]])
