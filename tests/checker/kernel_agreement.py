"""
The checker against the explorer on random kernels of warps: where they disagree, by class.

`python -m tests.checker.kernel_agreement 300` compares the first 300 kernels and prints the table. The
explorer alone decides what is right. A kernel that the checker refuses counts as reported: nobody is told that it is
safe.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tests.checker.explorer.explorer import TooLargeError, explore
from tests.checker.explorer.kernel_programs import KernelSample, generate
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.core.violations import UnsupportedError, ViolationKind

MOST_STEPS = 3_000


class Outcome(StrEnum):
    """How the two verdicts compare."""

    BOTH_SAFE = "both safe"
    BOTH_WRONG = "both wrong"
    MISSED = "wrong, called safe"
    FALSE_ALARM = "right, reported"
    STRICTER = "right, but for the phase that is meant"
    REFUSED = "right, refused"
    UNDECIDED = "undecided"
    TOO_LARGE = "too large to explore"


@dataclass(frozen=True)
class Comparison:
    """What both say of one kernel."""

    sample: KernelSample
    outcome: Outcome
    explored: str
    """The kinds that the explorer found before it stopped, or `safe`."""
    checked: str
    """The kinds that the checker reports, `safe`, `undecided`, or why it refuses."""

    @property
    def cause(self) -> str:
        """What the disagreement is about: what is wrong, or what is reported, and the kernel it is found in."""
        about = self.explored if self.outcome is Outcome.MISSED else self.checked
        changes = ", ".join(self.sample.changes) or "nothing changed"
        return f"{about} ({self.sample.family}: {changes})"


def compare(sample: KernelSample, most_steps: int = MOST_STEPS) -> Comparison:
    """Ask both."""
    try:
        found = explore(parse(sample.text), most_steps=most_steps, stops_early=True)
    except TooLargeError:
        return Comparison(sample, Outcome.TOO_LARGE, "", "")
    wrong = [*sorted(found.verdict), *(["members too many"] if found.overfull else [])]
    verdict, checked = checker_says(sample.text)
    return Comparison(sample, outcome(bool(wrong), verdict, checked), ", ".join(wrong) or "safe", checked)


def checker_says(text: str) -> tuple[Verdict, str]:
    """The checker's verdict, and in words; a refusal is a violation."""
    try:
        report = check(parse(text), "main")
    except (UnsupportedError, ArgumentError) as error:
        return Verdict.VIOLATION, f"refused: {str(error).splitlines()[0]}"
    kinds = sorted({str(finding.violation.kind) for finding in report.findings})
    return report.verdict, ", ".join(kinds) or str(report.verdict)


def outcome(is_wrong: bool, verdict: Verdict, checked: str) -> Outcome:
    """`is_wrong` is what the explorer found."""
    if verdict is Verdict.UNDECIDED:
        return Outcome.UNDECIDED
    if verdict is Verdict.SAFE:
        return Outcome.MISSED if is_wrong else Outcome.BOTH_SAFE
    if is_wrong:
        return Outcome.BOTH_WRONG
    if checked == ViolationKind.PHASE:
        return Outcome.STRICTER
    return Outcome.REFUSED if checked.startswith("refused") else Outcome.FALSE_ALARM


def table(comparisons: Iterable[Comparison]) -> str:
    """How many of each outcome, and below it the classes of those that disagree, with the numbers of the kernels."""
    found = list(comparisons)
    lines: list[str] = []
    for kind in Outcome:
        of_kind = [each for each in found if each.outcome is kind]
        lines.append(f"{len(of_kind):5} {kind}")
        if kind in (Outcome.BOTH_SAFE, Outcome.BOTH_WRONG):
            continue
        for cause, count in sorted(Counter(each.cause for each in of_kind).items()):
            seeds = ", ".join(str(each.sample.seed) for each in of_kind if each.cause == cause)
            lines.append(f"      {count:3} {cause}: {seeds}")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    count = int(arguments[0]) if arguments else 300
    print(table(compare(generate(seed)) for seed in range(count)))


if __name__ == "__main__":
    main(sys.argv[1:])
