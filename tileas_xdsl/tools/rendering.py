"""
Reports as text: the place first, so that editors can jump there; each op with its line of the source; the
missing edge; the witness as a numbered trace. Plain text in a pipe, the same text with colours in a terminal.

A line is a list of pieces, each with the style that a terminal gives it; a pipe gets the pieces joined.

    ring.mlir:9:7: numbers that differ from run to run: race: read after write on shared 'ring'[0, 0] with nothing that
    orders the two
    ring.mlir:9:7: note: 'async_queue.scope' asynchronously writes shared 'ring'[0, 0] (main, iteration 0)
        9 |       async_queue.scope {
          |       ^~~~~~~~~~~~~~~~~
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import ndiff
from functools import cache
from pathlib import Path

from xdsl.ir import Operation

from tileas_xdsl.checker.verdict.mistakes import ALSO, Mistake, SourceEdit
from tileas_xdsl.checker.verdict.report import Finding, Report, Verdict
from tileas_xdsl.checker.verdict.scope import Scope
from tileas_xdsl.checker.witnesses.witness import Witness
from tileas_xdsl.diagnostics import Diagnostic, location_of, place_in, printable
from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.tools.errors import located

Line = list[tuple[str, str]]
"""(text, style) pieces; the style is one of rich's, empty for none."""

PLACE, KIND, NOTE, CARET, LABEL, FAINT = "bold", "bold red", "cyan", "green", "yellow", "dim"
VERDICT_STYLES = {Verdict.SAFE: "bold green", Verdict.VIOLATION: "bold red", Verdict.UNDECIDED: "bold yellow"}
EDITS = {"-": "red", "+": "green", " ": ""}
AGENT_STYLES = ("cyan", "magenta", "blue", "yellow", "green")
OP_NAME = re.compile(r'[\w.$"]+')
GUTTER = 5


@dataclass(frozen=True)
class Source:
    """The file that was read; locations that are written in it may name others, quoted if they can be read."""

    name: str
    text: str

    def line_of(self, op: Operation) -> tuple[int, int, str] | None:
        """Line number, column and text of the line where `op` stands, if that can be read."""
        location = place_in(op.location)
        if location is None:
            return None
        name = location.filename.data
        lines = self.text.split("\n") if name == self.name else _lines_of(name)
        number = location.line.data
        return (number, location.column.data, lines[number - 1]) if 0 < number <= len(lines) else None


@cache
def _lines_of(name: str) -> list[str]:
    """The lines of another file that the input was made from, or of a cell of a notebook; none if not known."""
    try:
        return Path(name).read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError):
        return [line.rstrip("\n") for line in linecache.getlines(name)]


# Violations -----------------------------------------------------------------------------------------------------------


def finding_lines(finding: Finding, source: Source, edit: SourceEdit | None = None) -> list[Line]:
    """One violation: its effect and cause, a note for each party, what is missing, the edit, and the witness."""
    violation = finding.violation
    lines = [headline_of(finding)]
    for party in violation.parties:
        lines.append([*_place(party.op), ("note: ", NOTE), (party.sentence, "")])
        lines += _excerpt(party.op, source)
    lines.append([("  missing: ", LABEL), (violation.missing, "")])
    lines += [] if edit is None else _edit_lines(edit, source)
    if finding.witness is None:
        return [*lines, [(f"  {finding.call}", "")]]
    lines.append([("  witness", LABEL), (f", {finding.call}:", "")])
    return lines + _witness_lines(finding.witness, source)


def headline_of(finding: Finding) -> Line:
    """The place, what the author of the kernel sees, the cause and its number."""
    violation = finding.violation
    cause = (f"{violation.word}: {violation.message}", "bold")
    return [
        *_place(violation.parties[0].op),
        (f"{violation.effect}: ", KIND),
        cause,
        (f" [{finding.cause.code}]", FAINT),
    ]


def _edit_lines(edit: SourceEdit, source: Source) -> list[Line]:
    """What is said of the program with the edit, and its lines: those that go, those that come, and those between."""
    where = "" if edit.file is None else f" in {edit.file}"
    lines: list[Line] = [[("  edit: ", LABEL), (f"with it{where} the program is {edit.verdict}", "")]]
    number = edit.line
    # Of lines that only come, the next one shows where.
    text = source.text.split("\n") if edit.file is None else _lines_of(edit.file)
    context = () if edit.before else text[number - 1 : number]
    for line in ndiff([*edit.before, *context], [*edit.after, *context]):
        sign, text = line[0], line[2:]
        if sign == "?":
            continue
        label = f"{'' if sign == '+' else number:>{GUTTER}} "
        lines.append([(label, FAINT), (f"{sign if sign != ' ' else '|'} {text}".rstrip(), EDITS[sign])])
        number += sign != "+"
    return lines


def mistake_lines(mistake: Mistake, source: Source, edit: SourceEdit | None = None) -> list[Line]:
    """Its first violation, and a line for each of the other ways in which it shows."""
    return [
        *finding_lines(mistake.first, source, edit),
        *([(f"  {ALSO}: ", LABEL), (where, "")] for where in mistake.shows_also),
    ]


def _place(op: Operation) -> Line:
    place = location_of(op)
    return [(f"{place}: ", PLACE)] if place is not None else []


def _excerpt(op: Operation, source: Source) -> list[Line]:
    """The source line of an op, and its name underlined."""
    found = source.line_of(op)
    if found is None:
        return []
    number, column, text = found
    # Tabs stay tabs, so that the caret stands where the terminal puts the name.
    margin = "".join("\t" if char == "\t" else " " for char in text[: column - 1])
    name = OP_NAME.match(text, column - 1)
    underline = "^" + "~" * (len(name[0]) - 1 if name else 0)
    return [
        [(f"{number:>{GUTTER}} | ", FAINT), (text.rstrip(), "")],
        [(f"{'':>{GUTTER}} | ", FAINT), (margin, ""), (underline, CARET)],
    ]


def _witness_lines(witness: Witness, source: Source) -> list[Line]:
    """The steps in columns: number, agent and iteration, place (without the file where it is the one read), what."""
    numbered = witness.numbered()
    steps = [step for _, step in numbered if isinstance(step, Happening)]
    agents = list(dict.fromkeys(step.agent_name for step in steps))
    styles = {agent: AGENT_STYLES[number % len(AGENT_STYLES)] for number, agent in enumerate(agents)}
    who = max((len(step.who) for step in steps), default=0)
    where = max((len(_short_place(step.op, source)) for step in steps), default=0)
    lines: list[Line] = []
    for label, step in numbered:
        if not isinstance(step, Happening):
            lines.append([(f"{'':>{GUTTER}} {step}", FAINT)])
            continue
        style = styles[step.agent_name]
        pieces = [(f"{label:>{GUTTER}} ", CARET if label == "=>" else FAINT), (f"{step.who:<{who}}  ", style)]
        if where:
            pieces.append((f"{_short_place(step.op, source):<{where}}  ", FAINT))
        lines.append([*pieces, (step.does, "bold" if label == "=>" else "")])
    return lines


def _short_place(op: Operation, source: Source) -> str:
    return (location_of(op) or "").removeprefix(f"{source.name}:")


# Reports --------------------------------------------------------------------------------------------------------------


def report_lines(report: Report, source: Source, *, for_people: bool = False, all_findings: bool = False) -> list[Line]:
    """
    Every mistake, what is undecided or holds for some trip counts only, and the verdict as the last line. A terminal
    (`for_people`) shows each clause of the verdict's scope on a line of its own below it. `all_findings` shows each
    violation in full.
    """
    lines = findings_lines(report.findings, source) if all_findings else []
    for mistake in () if all_findings else report.mistakes:
        lines += [*mistake_lines(mistake, source, report.edit), []]
    for doubt in report.undecided:
        lines += [[("undecided: ", LABEL), (doubt, "")], []]
    for finding in report.tolerated:
        lines += [[("warning, by --relaxed-proxy:", LABEL)], *finding_lines(finding, source), []]
    for warning in report.warnings:
        op = warning.relaxation.op
        lines += [[*_place(op), ("over-wait: ", LABEL), (warning.message, "")], *_excerpt(op, source), []]
    for calls in report.left_out:
        lines += [[("left out: ", LABEL), (calls, "")], []]
    for reason in report.bounds_that_matter:
        lines += [[("not for every trip count: ", LABEL), (reason, "")], []]
    for search in report.cut_short:
        lines += [[("cut short: ", LABEL), (search, "")], []]
    return lines + (_verdict_apart(report) if for_people else [[(report.last_line, VERDICT_STYLES[report.verdict])]])


def _verdict_apart(report: Report) -> list[Line]:
    """The verdict, and below it the scope that `Report.last_line` has behind it, a line each."""
    scope = report.scope if report.verdict is Verdict.SAFE else Scope()
    rests_on = [("assumed", clause) for clause in scope.assumed] + [("left out", calls) for calls in scope.summed_up]
    clauses: list[Line] = [[(f"  {kind}: ", FAINT), (clause, "")] for kind, clause in rests_on]
    return [[(report.verdict_line, VERDICT_STYLES[report.verdict])], *clauses]


def diagnostic_lines(diagnostic: Diagnostic, source: Source) -> list[Line]:
    """A remark or a refusal of a pass, with the line that it is about."""
    first, *rest = located(diagnostic).splitlines()
    return [[(first, "")], *_excerpt(diagnostic.op, source), *([(line, "")] for line in rest)]


def text_of(lines: Iterable[Line]) -> str:
    """Lines as a pipe gets them."""
    return "\n".join(printable("".join(text for text, _ in line).rstrip()) for line in lines)


def findings_lines(findings: Sequence[Finding], source: Source) -> list[Line]:
    """Violations, each with an empty line after it."""
    return [line for finding in findings for line in [*finding_lines(finding, source), []]]


def write_lines(lines: Iterable[Line]) -> None:
    """Print to standard output, with colours where that is a terminal."""
    if not sys.stdout.isatty():
        for line in lines:
            print(text_of([line]))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*((printable(text), style) for text, style in line)))
