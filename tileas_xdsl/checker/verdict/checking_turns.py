"""
Checks of Triton's kernels in the number of turns of their loops, whatever formulas bound these (`counted_turns`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tileas_xdsl.checker.verdict.blocks import TRIP_COUNT
from tileas_xdsl.checker.verdict.bound_formulas import least_turns
from tileas_xdsl.checker.verdict.cases import Tell
from tileas_xdsl.checker.verdict.counted_turns import Counted, counted
from tileas_xdsl.checker.verdict.deciding import Subject
from tileas_xdsl.checker.verdict.preconditions import Numbers, as_called
from tileas_xdsl.checker.verdict.report import Finding, Report, Verdict
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.core.assumptions import BLOCKS_ALONE, BOUNDS_HOLD, MULTIPLE, Assumption
from tileas_xdsl.machine.core.violations import UnsupportedError

FIRST_COUNTS = tuple(range(9))


@dataclass(frozen=True)
class Question:
    """What is asked of each function."""

    counts: tuple[int, ...]
    """The trip counts to try."""
    fixed: Mapping[str, int]
    """Arguments that have one number."""
    programs: int | None
    """How many programs a persistent loop computes; None where that varies."""
    may_add_counts: bool
    """Whether the counts are those by default, so that others may be tried, too, and every one proved."""


CheckFunction = Callable[[str, Subject, Question, Report, Tell], tuple[int, ...] | None]
"""A check of one function, that puts what it finds into a report."""


def check_turns(name: str, subject: Subject, report: Report, tell: Tell, check: CheckFunction) -> bool:
    """
    Check the kernel with the numbers of turns as arguments. Returns whether that answers for it, in `report`.

    It does where the copy is right, and where its mistake is one of the kernel. Else the kernel is to be checked as it
    stands: in half of the time that there was.
    """
    general = counted(subject.op)
    if general is None:
        return False
    copy = _from_the_least(name, subject.of(general.op, general.body), general)
    attempt = Report(
        [name],
        FIRST_COUNTS,
        tries_every_trip_count=report.tries_every_trip_count,
        preconditions=_of_all_loops(copy, general),
    )
    try:
        check(name, copy, Question(FIRST_COUNTS, {}, None, may_add_counts=True), attempt, tell)
    except (UnsupportedError, ArgumentError):
        return False
    if attempt.verdict is Verdict.UNDECIDED:
        return False
    findings = attempt.findings
    if attempt.verdict is Verdict.VIOLATION:
        if general.leaves_out_returns:
            return False
        findings = [found for each in findings if (found := _of_the_kernel(general, subject, each)) is not None]
        if not findings:
            return False
    assumed = [
        *attempt.assumed,
        *([BOUNDS_HOLD.about(", ".join(general.behind) or "the grid or data")] if general.counts else []),
        *([BLOCKS_ALONE] if general.tells_blocks else []),
        *(MULTIPLE.about(str(step)) for step in general.multiples),
    ]
    in_words_of_the_kernel = replace(
        attempt,
        findings=findings,
        varied=[TRIP_COUNT if each in general.counts else each for each in attempt.varied],
        assumed=dict.fromkeys(_in_words_of_the_kernel(general, each) for each in assumed),
        may_be_negative=[each for each in attempt.may_be_negative if each not in general.counts],
    )
    report.absorb(in_words_of_the_kernel)
    return True


def _from_the_least(name: str, copy: Subject, general: Counted) -> Subject:
    """The copy with those numbers of turns only that preconditions of the kernel's arguments leave."""
    least = {("argument", general.names.index(argument)): 0 for argument in copy.assumptions.preconditions}
    turns = {argument: least_turns(count, least) for argument, count in general.counts.items()}
    numbers = {argument: Numbers(first=number, has_least=True) for argument, number in turns.items() if number}
    return copy.under(name, numbers) if numbers else copy


def _of_all_loops(copy: Subject, general: Counted) -> dict[str, Numbers]:
    """Which numbers of turns are tried of every loop: a loop that turns more often at least has no smaller ones."""
    known = [copy.assumptions.preconditions.get(turns, Numbers()) for turns in general.counts]
    least = min(known, key=lambda numbers: numbers.first, default=Numbers())
    return {TRIP_COUNT: least} if least.first else {}


def _of_the_kernel(general: Counted, kernel: Subject, finding: Finding) -> Finding | None:
    """The same mistake in a call of the kernel, which has other arguments; None where none is known to lead to it."""
    turns = {name: number for name, number in finding.arguments.items() if name in general.counts}
    found = general.arguments_for(turns)
    if found is None:
        return None
    called = as_called(kernel.assumptions.preconditions, found)
    return replace(finding, arguments={**called, **finding.arguments})


def _in_words_of_the_kernel(general: Counted, assumption: Assumption) -> Assumption:
    """The same assumption, where a number of turns that the kernel has no name for is a trip count."""
    name, below, number = assumption.subject.partition(" < ")
    return assumption.about(f"{TRIP_COUNT}{below}{number}") if name in general.counts else assumption
