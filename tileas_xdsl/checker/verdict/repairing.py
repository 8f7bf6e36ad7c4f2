"""
The one edit that repairs a mistake: candidates (`edits`) are tried, and the first with which the program is safe is
the answer.

Each candidate first has to go through the call in which the mistake shows, which takes little. Then the whole program
is checked as it was before, and only a program that is safe counts. The steps of all these checks are counted: the
search gives up after as many as the check itself took, or `LEAST_STEPS` if that is more. So the answer is the same on
every computer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.analysis.dominance import dominance_violations
from tileas_xdsl.checker.verdict.edits import Edit, Edited, candidates, edited
from tileas_xdsl.checker.verdict.mistakes import SourceEdit
from tileas_xdsl.checker.verdict.report import Finding, Report, Verdict
from tileas_xdsl.diagnostics import Error
from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.machine.core.violations import BlockDependentError

LEAST_STEPS = 50_000
"""How many steps the search may take where the check itself took fewer."""
PROOF_STEPS = 200_000
"""How many steps the check of a program with an edit may take, if that is more than twice the check itself."""
OVERHEAD = 200
"""The steps that take as long as it takes to copy a module and to begin its check."""

Shown = TypeVar("Shown")


class Check(Protocol):
    """Checks a module as the program with the mistake was checked, with other arguments if they are given."""

    def __call__(self, module: ModuleOp, **other: Any) -> Report: ...


def repair(
    module: ModuleOp,
    report: Report,
    check: Check,
    fixed: Mapping[str, int],
    written: Callable[[Edit, Edited], tuple[int, tuple[str, ...], tuple[str, ...]] | None],
) -> SourceEdit | None:
    """
    An edit with which `module`, of which `report` says that it has one mistake, is safe; None if none was found.

    `check` checks a module as `report` was made, with the arguments `fixed`. `written` says which lines an edit changes
    and what they become, and None if that cannot be written down.
    """
    if len(report.mistakes) != 1:
        return None
    first = report.mistakes[0].first
    budget = max(report.steps, LEAST_STEPS)
    for edit in _distinct(_candidates(report, first)):
        if budget <= 0:
            return None
        changed = _valid(module, edit)
        budget -= OVERHEAD
        if changed is None:
            continue
        goes, spent = _passes(check, changed, steps=budget, function=first.function, args={**fixed, **first.arguments})
        budget -= spent
        if goes is None or budget <= 0:
            continue
        text = written(edit, changed)
        if text is None:
            continue
        safe, spent = _passes(check, changed, steps=max(2 * report.steps, PROOF_STEPS))
        budget -= spent
        if safe is not None:
            return SourceEdit(*text, verdict=safe.verdict_line)
    return None


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


def _passes(check: Check, changed: Edited, **other: Any) -> tuple[Report | None, int]:
    """What is said of the program if it is safe, and the steps that this took."""
    try:
        report = check(changed.module, judge_waits=False, **other)
    except (Error, BlockDependentError):
        return None, 0
    return (report if report.verdict is Verdict.SAFE else None), report.steps
