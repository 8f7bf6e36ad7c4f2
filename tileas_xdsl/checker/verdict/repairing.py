"""
The one edit that repairs a mistake: attempts are made, and the first with which the program is safe is the answer. For
IR they are the candidates of `edits`; files in other languages make theirs.

Each attempt first has to go through the call in which the mistake shows, which takes little. Then the whole program
is checked as it was before, and only a program that is safe counts. The steps of all these checks are counted: the
search gives up after as many as the check itself took, or those of its `Effort` if they are more. So the answer is the
same on every computer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.analysis.dominance import dominance_violations
from tileas_xdsl.checker.verdict.edits import Edit, Edited, candidates, edited
from tileas_xdsl.checker.verdict.mistakes import SourceEdit
from tileas_xdsl.checker.verdict.report import Finding, Report, Verdict
from tileas_xdsl.diagnostics import Error
from tileas_xdsl.machine.arguments import find_function, is_argument
from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.machine.core.violations import BlockDependentError

PROOF_STEPS = 200_000
"""How many steps the check of a program with an edit may take, if that is more than twice the check itself."""
OVERHEAD = 200
"""The steps that take as long as it takes to copy a module and to begin its check."""

Lines: TypeAlias = tuple[int, tuple[str, ...], tuple[str, ...]]
"""The first line of a file that changes, counted from 1, what stands there, and what is to stand there."""


class Check(Protocol):
    """Checks a module as the program with the mistake was checked, with other arguments if they are given."""

    def __call__(self, module: ModuleOp, **other: Any) -> Report: ...


@dataclass(frozen=True)
class Effort:
    """How many steps a search may take."""

    least: int
    """In all, where the check itself took fewer."""
    one_call: int
    """In the call in which the mistake shows, for each attempt."""


OF_IR = Effort(least=50_000, one_call=50_000)


@dataclass(frozen=True)
class Attempt:
    """A change that may repair a program."""

    module: ModuleOp | None
    """The program with the change; None if that is no program."""
    written: Callable[[], Lines | None]
    """The lines that change in its file; None if that cannot be written down."""


def repair(
    report: Report, attempts: Iterable[Attempt], check: Check, fixed: Mapping[str, int], effort: Effort = OF_IR
) -> SourceEdit | None:
    """
    The first of `attempts` with which the program is safe of which `report` says that it has one mistake; None if none
    is.

    `check` checks a module as `report` was made, with the arguments `fixed`. The search takes no more steps
    than `effort` says, or than `report` took if that is more.
    """
    if len(report.mistakes) != 1:
        return None
    first = report.mistakes[0].first
    budget = max(report.steps, effort.least)
    for attempt in attempts:
        budget -= OVERHEAD
        if budget <= 0:
            return None
        if attempt.module is None:
            continue
        call = {**fixed, **_arguments_of(first, attempt.module)}
        few = min(budget, effort.one_call)
        goes = checked(check, attempt.module, steps=few, function=first.function, args=call)
        budget -= 0 if goes is None else goes.steps
        if goes is None or goes.verdict is not Verdict.SAFE or budget <= 0:
            continue
        lines = attempt.written()
        if lines is None:
            continue
        safe = checked(check, attempt.module, steps=max(2 * report.steps, PROOF_STEPS))
        budget -= 0 if safe is None else safe.steps
        if safe is not None and safe.verdict is Verdict.SAFE:
            return SourceEdit(*lines, verdict=safe.verdict_line)
    return None


def attempts_in(module: ModuleOp, report: Report, written: Callable[[Edit, Edited], Lines | None]) -> Iterator[Attempt]:
    """
    Changes of IR that may repair the first mistake of `report`. `written` says which lines an edit changes and what
    they become, and None if that cannot be written down.
    """
    for edit in _distinct(_candidates(report, report.mistakes[0].first)):
        changed = _valid(module, edit)
        if changed is None:
            yield Attempt(None, lambda: None)
        else:
            yield Attempt(changed.module, partial(written, edit, changed))


def _candidates(report: Report, first: Finding) -> Iterator[Edit]:
    """Those for the violation that explains most; what its witness names is near, too."""
    steps = first.witness.steps if first.witness is not None else ()
    about = [step.op for step in steps if isinstance(step, Happening)]
    others = [party.op for finding in report.mistakes[0].also for party in finding.violation.parties]
    yield from candidates(first.violation, [*about, *others])


def _distinct(edits: Iterator[Edit]) -> Iterator[Edit]:
    """Every move once, and everything else as often as it is proposed: makers have no names."""
    known: set[object] = set()
    for edit in edits:
        key = (edit.at, edit.side, edit.moved)
        if not edit.moved or key not in known:
            known.add(key)
            yield edit


def _valid(module: ModuleOp, edit: Edit) -> Edited | None:
    """`module` with `edit`, if that is a program."""
    try:
        changed = edited(module, edit)
        changed.module.verify()
    except (VerifyException, ValueError):
        return None
    return None if any(dominance_violations(changed.module)) else changed


def _arguments_of(finding: Finding, module: ModuleOp) -> dict[str, int]:
    """The arguments of its call, without the numbers of turns that a check has made up as arguments."""
    _, body = find_function(module, finding.function)
    return {name: number for name, number in finding.arguments.items() if is_argument(body, name)}


def checked(check: Check, module: ModuleOp, **other: Any) -> Report | None:
    """What is said of a program; None if it cannot be checked."""
    try:
        return check(module, judge_waits=False, **other)
    except (Error, BlockDependentError):
        return None
