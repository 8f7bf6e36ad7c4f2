"""
A report as a piece of a page, for notebooks: the verdict, what it rests on, and what was found, each to fold out.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tileas_xdsl.checker.verdict.mistakes import ALSO

if TYPE_CHECKING:
    from tileas_xdsl.checker.verdict.report import Report

COLOURS = {"safe": "#1a7f37", "unsafe": "#cf222e", "undecided": "#9a6700"}
"""By the first word of a verdict; each can be read on white and on black."""


def report_html(report: Report) -> str:
    """`report` as HTML that brings its own style."""
    line = report.verdict_line
    colour = COLOURS[line.partition(":")[0].partition(" ")[0]]
    parts = [f'<p style="color:{colour};font-weight:600;margin:0">{escape(line)}</p>']
    if report.verdict == "safe":
        parts += [_list(report.scope.clauses)]
    for mistake in report.mistakes:
        parts += [_folded(mistake.first.violation.headline, str(mistake.first), is_open=True)]
        parts += [_folded(f"{ALSO}: {also.violation.headline}", str(also)) for also in mistake.also]
    parts += [_folded("undecided", doubt, is_open=True) for doubt in report.undecided]
    parts += [_folded("warning", str(finding)) for finding in report.tolerated]
    parts += [_folded("over-wait", str(warning)) for warning in report.warnings]
    parts += [_folded("left out", calls) for calls in report.left_out]
    parts += [_folded("not for every trip count", reason) for reason in report.bounds_that_matter]
    parts += [_folded("cut short", search) for search in report.cut_short]
    return f'<div class="tileas-report">{"".join(parts)}</div>'


def _list(clauses: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(clause)}</li>' for clause in clauses)}</ul>" if clauses else ""


def _folded(head: str, text: str, *, is_open: bool = False) -> str:
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{escape(head)}</summary><pre>{escape(text)}</pre></details>"
