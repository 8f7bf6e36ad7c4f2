"""
The forms of a kernel that one file launches: with other types, constants or options. A mistake of the kernel shows in
many of them, and is told in full once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileas_xdsl.checker.verdict.mistakes import Mistake, SourceEdit
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.diagnostics import location_of, op_name
from tileas_xdsl.tools.rendering import VERDICT_STYLES, Line, headline_of


@dataclass(frozen=True)
class Shown:
    """The mistakes of a form that were told, and the edit that repairs them."""

    title: str
    at_fault: frozenset[tuple[str, str]]
    """The ops of the mistakes, and where they are written."""
    edit: SourceEdit | None


class Forms:
    """What was told of the forms of one file."""

    def __init__(self) -> None:
        self._shown: list[Shown] = []

    def earlier(self, report: Report, title: str | None) -> Shown | None:
        """The form for which all mistakes of `report`, on another form, were told; None if there is none."""
        if title is None or not report.findings:
            return None
        own = [frozenset(_at_fault(mistake)) for mistake in report.mistakes]
        return next((each for each in self._shown if all(ops & each.at_fault for ops in own)), None)

    def keep(self, report: Report, title: str | None) -> None:
        """The report on the form `title` is told."""
        if title is not None and report.findings:
            at_fault = frozenset(each for mistake in report.mistakes for each in _at_fault(mistake))
            self._shown.append(Shown(title, at_fault, report.edit))


def _at_fault(mistake: Mistake) -> Iterator[tuple[str, str]]:
    for finding in mistake.findings:
        for party in finding.violation.parties:
            place = location_of(party.op)
            if place is not None:
                yield op_name(party.op), place


def lines_in_short(report: Report, title: str) -> list[Line]:
    """A line for each mistake, the form in which it was shown, and the verdict."""
    lines = [headline_of(mistake.first) for mistake in report.mistakes]
    lines.append([(f"  shown in full for {title}", "")])
    return [*lines, [(report.last_line, VERDICT_STYLES[report.verdict])]]
