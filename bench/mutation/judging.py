"""
Whether a mutant is wrong, and whether the checker says so.

Two judges are asked about the same trip counts. The checker runs a program once and reasons; the explorer of
`tests/checker/explorer` makes every run that differs in what decides something, and shares nothing with the checker but
the parser. It knows races, deadlocks, undrained work and barriers used against their rules. Of slots that are written
while they are live and of phases that are other than meant it knows nothing, and what it says of proxies is not asked
here; what the checker says of those is judged by a table, `EXPECTED`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bench.mutation.changes import Mutant
from bench.mutation.reasons import reason
from tests.checker.explorer.explorer import MISSING_FENCE, Exploration, TooLargeError, explore
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.core.violations import UnsupportedError

MOST_STEPS = 20_000

EXPECTED: dict[tuple[str, str], str] = {
    ("drop", "nvvm.fence.proxy"): "missing-fence",
    ("drop", "nvvm.fence.mbarrier.init"): "missing-fence",
    ("swap", "nvvm.fence.proxy"): "missing-fence",
    ("swap", "nvvm.fence.mbarrier.init"): "missing-fence",
    ("drop", "nv_tileas.async.pipeline.consumer_release"): "slot",
    ("count", "nvvm.barrier"): "refused",
}
"""
Change and op -> what the checker is to say though no interleaving goes wrong: fences order proxies; a single agent
that fills its ring anew overwrites what is live and races with nobody; the threads that meet at a barrier have to agree
how many they are.
"""


class Outcome(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    """It is wrong, and the checker rejects it."""
    STRICTER = "stricter"
    """The checker rejects it for a mistake of which the explorer knows nothing, and the table expects that."""
    EQUIVALENT = "equivalent"
    """No interleaving goes wrong, and the checker accepts it."""
    MISSED = "missed"
    """It is wrong, and the checker accepts it."""
    FALSE_ALARM = "false alarm"
    """No interleaving goes wrong, and the checker rejects it for a reason that the table does not expect."""
    UNDECIDED = "undecided"
    """The checker says that it cannot tell."""
    UNJUDGED = "unjudged"
    """The explorer cannot tell, with too many steps or an op that it does not know; or there is no reason why not."""


@dataclass(frozen=True)
class Judgement:
    """A mutant, and what was found."""

    mutant: Mutant
    outcome: Outcome
    checked: str
    """The checker's verdict: kinds of mistake, `safe`, `refused: ...`, or `undecided`."""
    explored: str
    """What the explorer found: kinds of mistake, `nothing`, or why it cannot tell."""

    def __str__(self) -> str:
        if self.outcome is Outcome.EQUIVALENT:
            return f"{self.outcome}: {self.mutant}; {reason(self.mutant)}"
        return f"{self.outcome}: {self.mutant}; the checker: {self.checked}; the explorer: {self.explored}"


def judge(mutant: Mutant) -> Judgement:
    """Ask the checker, then the explorer: until it finds something wrong, or all trip counts have been tried."""
    verdict, checked, kinds = _checked(mutant)
    found, wrong, known = _explored(mutant)
    if verdict is Verdict.UNDECIDED:
        outcome = Outcome.UNDECIDED
    elif wrong:
        outcome = Outcome.KILLED if verdict is Verdict.VIOLATION else Outcome.MISSED
    elif not known:
        outcome = Outcome.UNJUDGED
    elif verdict is Verdict.SAFE:
        outcome = Outcome.EQUIVALENT if reason(mutant) is not None else Outcome.UNJUDGED
    else:
        expected = {EXPECTED[mutant.kind, name] for name in mutant.ops if (mutant.kind, name) in EXPECTED}
        outcome = Outcome.STRICTER if kinds and kinds <= expected else Outcome.FALSE_ALARM
    return Judgement(mutant, outcome, checked, found)


def _checked(mutant: Mutant) -> tuple[Verdict, str, set[str]]:
    """The checker's verdict, in words, and the kinds of mistake. A refusal counts as a rejection."""
    try:
        report = check(mutant.module, mutant.program.function, trip_counts=mutant.program.trip_counts)
    except (UnsupportedError, ArgumentError) as error:
        return Verdict.VIOLATION, f"refused: {error}", {"refused"}
    kinds = _kinds(report)
    return report.verdict, ", ".join(sorted(kinds)) or str(report.verdict), kinds


def _kinds(report: Report) -> set[str]:
    return {str(finding.violation.kind) for finding in report.findings}


def _explored(mutant: Mutant) -> tuple[str, bool, bool]:
    """What the explorer finds in words, whether that is something, and whether it could tell."""
    cannot = ""
    for trips in mutant.program.trip_counts:
        try:
            found = explore(mutant.module, mutant.program.function, MOST_STEPS, trips=trips)
        except (TooLargeError, KeyError, AssertionError, ValueError, TypeError) as error:
            cannot = f"{type(error).__name__} {error}"
            continue
        if wrong := _wrong(found):
            return f"{', '.join(wrong)} for trip count {trips}", True, True
    return cannot or "nothing", False, not cannot


def _wrong(found: Exploration) -> list[str]:
    """The kinds of mistake that the explorer found, surplus arrivals and surplus group members included."""
    counted = [("arrivals too many", found.overrun), ("members too many", found.overfull)]
    return [*sorted(found.verdict - {MISSING_FENCE}), *(name for name, there in counted if there)]
