"""
A program on its way through its passes, as one HTML page: after each pass the IR with what changed, what was said about
its ops, what the checker says of it, and its timeline.
"""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import compress
from typing import Any

from tileas_xdsl.checker.verdict.report import Finding, Report, Verdict
from tileas_xdsl.diagnostics import Diagnostic
from tileas_xdsl.tabular import Tabular
from tileas_xdsl.views.listing import KEPT, ComparedLine, Listing, compared
from tileas_xdsl.views.notebook import page_tag
from tileas_xdsl.views.timeline.html import html_page, style_and_script, style_and_script_of_all, timeline_section
from tileas_xdsl.views.timeline.picture import Timeline, is_same

PAGE_HEIGHT = 800
"""Pixels that the page has in a notebook."""
CONTEXT = 3
"""Unchanged lines that are shown around a change."""
LEAST_FOLDED = 6
"""Fewer unchanged lines than these are not worth folding."""
LEAST_PACKED = 500
"""Folded lines from which on they are kept compressed, and become part of the page when somebody unfolds them."""
MOST_COUNTED = 6
"""Kinds of ops that the summary of a stage names."""

HEADS = ("stage", "ops", "remarks", "verdict", "cycles", "an iteration")
COUNTS = {"ops", "remarks", "cycles", "an iteration"}
"""The columns of the table of stages, and those that hold numbers."""

WORDS = re.compile(
    r"""(?P<value>%[\w$.#-]+)|(?P<string>"[^"]*")|(?P<comment>//.*)|(?P<op>(?<![\w!#.])[a-z_]\w*\.[\w.]+)"""
)

CHANGES = """
.road{max-width:1240px;margin:0 auto;padding:0 0 40px}
.road h1{font-size:22px;margin:18px 14px 4px;overflow-wrap:anywhere}
.road>p{margin:0 14px 12px;color:var(--faint);overflow-wrap:anywhere}
.table{overflow-x:auto;margin:0 14px 18px}
table{border-collapse:collapse;font-size:13px;min-width:100%}
th,td{text-align:left;padding:6px 10px;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--faint);font-weight:600;white-space:nowrap}td a{color:inherit}
td .safe,td .violation,td .undecided{display:inline-block;min-width:100px}
@media(max-width:500px){th,td{padding:6px 4px}th{white-space:normal}td{overflow-wrap:anywhere}
td:first-child{min-width:76px}td .safe,td .violation,td .undecided{min-width:0}}
.count{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.safe{color:var(--good);font-weight:600}.violation{color:var(--bad);font-weight:600}.undecided{font-weight:600}
.stage{border-top:3px solid var(--line);padding-top:4px;margin-top:22px}
.stage>h2{font-size:18px;margin:12px 14px 4px;overflow-wrap:anywhere}
.stage>p{margin:2px 14px 10px;overflow-wrap:anywhere}
.ir{font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;margin:0 14px 12px;border:1px solid var(--line);
border-radius:8px;overflow:hidden;background:var(--lane)}
.ir>div,.ir details>div{padding:0 10px 0 calc(22px + (var(--i) + 4)*1ch);text-indent:calc(-14px - 4ch);
overflow-wrap:anywhere}
.ir>div::before,.ir details>div::before{content:"\\00a0";display:inline-block;width:14px;text-indent:0;
color:var(--faint)}
.ir .added{background:var(--p2)}.ir .added::before{content:"+"!important}
.ir .removed{background:var(--bad-paper);color:var(--faint)}.ir .removed::before{content:"\\2212"!important}
.ir pre{margin:0;padding:0 10px 0 22px;white-space:pre-wrap;overflow-wrap:anywhere;font:inherit}
.ir summary{padding:2px 10px;color:var(--faint);cursor:pointer;background:var(--paper)}
.ir .value{color:var(--value)}.ir .op{font-weight:600}.ir .string,.ir .comment{color:var(--faint)}
.ir .said{margin:2px 10px 6px 22px;padding:4px 10px;border-left:3px solid var(--said);background:var(--paper);
text-indent:0;font:13px/1.4 system-ui,sans-serif}.ir .said::before{display:none}
.said b{color:var(--said)}.list{margin:0 14px 12px;padding:0;list-style:none}
.list li{padding:4px 10px;border-left:3px solid var(--said);margin:4px 0;overflow-wrap:anywhere}
.list .bad{border-color:var(--bad);color:var(--bad)}
.found{margin:0 14px 12px;padding:8px 12px;border:1px solid var(--bad);border-radius:8px;background:var(--bad-paper);
font-size:13px;overflow-wrap:anywhere}.found pre{white-space:pre-wrap;margin:6px 0 0}
"""
UNFOLD = """
function unfoldLines(root) {
  for (const fold of root.querySelectorAll('details[data-lines]')) fold.addEventListener('toggle', async () => {
    const bytes = Uint8Array.from(atob(fold.dataset.lines), c => c.charCodeAt(0));
    const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
    const lines = document.createElement('pre');
    lines.textContent = text;
    fold.append(lines);
  }, { once: true });
}
unfoldLines(document);
"""
"""The script that brings back packed lines."""
SCHEMES = """:root{--value:#1f5fa8;--said:#8a6100}
@media (prefers-color-scheme:dark){:root{--value:#7fb4ee;--said:#e0b356}}"""


@dataclass(frozen=True)
class Stage:
    """The program as it is after one pass, or as it was written."""

    title: str
    listing: Listing
    ops: Counter[str]
    """How many there are of each op."""
    said: Sequence[Diagnostic] = ()
    """Remarks and warnings of the pass."""
    report: Report | None = None
    """The report of the checker; None where it cannot check the program."""
    picture: Timeline | None = None
    notes: Sequence[str] = field(default=())
    """Reasons why there is no report, or no timeline."""


@dataclass(frozen=True)
class Road(Tabular):
    """All stages of a program, the first one as written, and the error of the pass that refused it, if one did."""

    name: str
    spec: str
    stages: Sequence[Stage]
    stopped: Sequence[str] = ()
    """The lines of the error of the pass that refused the program; empty where none did."""

    def __repr__(self) -> str:
        return f"Road({self.name}: {len(self.stages)} stages{', stopped' if self.stopped else ''})"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each stage."""
        return [
            {
                "stage": stage.title,
                "ops": sum(stage.ops.values()),
                "remarks": len(stage.said),
                "verdict": stage.report.verdict_line if stage.report is not None else None,
                "cycles": stage.picture.cycles if stage.picture is not None else None,
                "an iteration": stage.picture.per_iteration if stage.picture is not None else None,
            }
            for stage in self.stages
        ]

    def to_dict(self) -> dict[str, Any]:
        """The stages with their IR and what was said about them."""
        stages = [
            {
                **row,
                "ir": "\n".join(stage.listing.lines),
                "said": [str(remark) for remark in stage.said],
                "notes": list(stage.notes),
            }
            for row, stage in zip(self.rows(), self.stages, strict=True)
        ]
        return {"name": self.name, "passes": self.spec, "stages": stages, "stopped": list(self.stopped)}

    def html(self) -> str:
        """The page that `tileas explain` writes."""
        return road_html(self)

    def _repr_html_(self) -> str:
        return page_tag(self.html(), PAGE_HEIGHT)


def road_html(road: Road) -> str:
    """`road` as the text of an HTML file, which asks nothing of a network."""
    parts = [
        f"<h1>{escape(road.name)}</h1>",
        f"<p>{escape(road.spec) if road.spec else 'as written'}</p>",
        *(f'<p class="violation">{escape(line)}</p>' for line in road.stopped),
        _summary(road),
    ]
    before: Stage | None = None
    for number, stage in enumerate(road.stages):
        parts.append(stage_html(number, stage, before))
        before = stage
    body = '<main class="road">\n' + "\n".join(parts) + "\n</main>"
    style, script = style_and_script([stage.picture for stage in road.stages if stage.picture is not None])
    return html_page(f"{road.name}: {road.spec}", body, style + SCHEMES + CHANGES, script + UNFOLD)


def style_and_script_of_stages() -> tuple[str, str]:
    """What a page needs that may show any stages; `unfoldLines` begins the folds in an element."""
    style, script = style_and_script_of_all()
    return style + SCHEMES + CHANGES, script + UNFOLD


# The table at the top -------------------------------------------------------------------------------------------------


def _summary(road: Road) -> str:
    heads = [*HEADS]
    rows = [summary_row(number, stage) for number, stage in enumerate(road.stages)]
    # A telephone has no room for an empty column.
    shown = [any(cells) for cells in zip(*rows, strict=True)]
    heads, *rows = [list(compress(cells, shown)) for cells in (heads, *rows)]
    styles = [' class="count"' if head in COUNTS else "" for head in heads]
    lines = ["".join(f"<td{style}>{cell}</td>" for style, cell in zip(styles, row, strict=True)) for row in rows]
    head = "".join(f"<th{style}>{text}</th>" for style, text in zip(styles, heads, strict=True))
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="table"><table>\n<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody>\n</table></div>'


def summary_row(number: int, stage: Stage) -> list[str]:
    """The cells of a stage in the table at the top, as HTML: one for each of `HEADS`."""
    return [
        f'<a href="#stage-{number}">{escape(stage.title)}</a>',
        f"{sum(stage.ops.values()):,}",
        f"{len(stage.said) or ''}",
        _verdict(stage.report),
        f"{stage.picture.cycles:,}" if stage.picture is not None else "",
        _per_iteration(stage.picture),
    ]


def changed_ops(before: Counter[str], after: Counter[str]) -> str:
    """The kinds of ops that came and went, the most numerous first."""
    difference = {name: after[name] - before[name] for name in before | after if after[name] != before[name]}
    ordered = sorted(difference.items(), key=lambda item: (-abs(item[1]), item[0]))
    shown = [f"{count:+d} {name}" for name, count in ordered[:MOST_COUNTED]]
    rest = len(ordered) - len(shown)
    return ", ".join([*shown, *([f"{rest} more kinds"] if rest > 0 else [])]) or "no op came or went"


def _verdict(report: Report | None) -> str:
    if report is None:
        return "not checked"
    names = {Verdict.SAFE: "safe", Verdict.VIOLATION: "violation", Verdict.UNDECIDED: "undecided"}
    return f'<span class="{names[report.verdict]}">{escape(report.verdict_line)}</span>'


def _per_iteration(picture: Timeline | None) -> str:
    if picture is None or picture.per_iteration is None:
        return ""
    return f"{picture.per_iteration:,.0f}"


# One stage ------------------------------------------------------------------------------------------------------------


def stage_html(number: int, stage: Stage, before: Stage | None) -> str:
    """The part of a page that shows `stage`, and what it changed in the stage `before`."""
    listing = stage.listing
    beside: dict[int, list[Diagnostic]] = {}
    apart: list[Diagnostic] = []
    for diagnostic in stage.said:
        line = listing.line_of.get(diagnostic.op)
        if line is None:
            apart.append(diagnostic)
        else:
            beside.setdefault(line, []).append(diagnostic)
    lines = compared(before.listing.lines if before is not None else listing.lines, listing.lines)
    parts = [
        f'<section class="stage" id="stage-{number}">',
        f"<h2>{number}. {escape(stage.title)}</h2>",
        f"<p>{_verdict(stage.report)}</p>",
        f"<p>{escape(changed_ops(before.ops, stage.ops))}</p>" if before is not None else "",
        *_notes(stage, apart),
        *(_finding(finding) for finding in (stage.report.findings if stage.report is not None else ())),
        _ir(lines, beside, whole=before is None),
        _timeline(stage, before),
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _timeline(stage: Stage, before: Stage | None) -> str:
    """The picture of a stage, or that it is the one of the stage before."""
    if stage.picture is None:
        return ""
    if before is not None and before.picture is not None and is_same(stage.picture, before.picture):
        return f"<p>The timeline is that of the stage before: {stage.picture.cycles:,} cycles.</p>"
    return timeline_section(stage.picture, 3, with_key=before is None)


def _notes(stage: Stage, apart: Sequence[Diagnostic]) -> list[str]:
    """What is said of ops that the pass removed, what is undecided, and what could not be done."""
    items = [f"<li>{_sentence(diagnostic)}</li>" for diagnostic in apart]
    if stage.report is not None:
        items += [f"<li>undecided: {escape(doubt)}</li>" for doubt in stage.report.undecided]
    items += [f"<li>{escape(note)}</li>" for note in stage.notes]
    return ['<ul class="list">' + "".join(items) + "</ul>"] if items else []


def _sentence(diagnostic: Diagnostic) -> str:
    way_out = f" {diagnostic.way_out}" if diagnostic.way_out is not None else ""
    return f"<b>{diagnostic.severity.label}</b> {escape(diagnostic.message)}{escape(way_out)}"


def _finding(finding: Finding) -> str:
    violation = finding.violation
    title = violation.headline
    return (
        f'<details class="found"><summary><b>{escape(title)}</b> {escape(finding.call)}</summary>'
        f"<pre>{escape(str(finding))}</pre></details>"
    )


def _ir(lines: Sequence[ComparedLine], beside: dict[int, list[Diagnostic]], *, whole: bool) -> str:
    """The lines; runs of unchanged ones are folded away, but for a few around each change and each remark."""
    shown = _shown(lines, beside)
    parts: list[str] = ['<div class="ir">']
    number = 0
    while number < len(lines):
        end = number
        while end < len(lines) and shown[end] == shown[number]:
            end += 1
        if not shown[number] and end - number >= LEAST_PACKED:
            parts.append(_packed(lines[number:end], "lines" if whole else "unchanged lines"))
            number = end
            continue
        run = [_line(line, beside) for line in lines[number:end]]
        if shown[number] or (end - number < LEAST_FOLDED and not whole):
            parts += run
        else:
            what = f"{end - number} lines" if whole else f"{end - number} unchanged lines"
            parts += [f"<details{' open' if whole else ''}><summary>{what}</summary>", *run, "</details>"]
        number = end
    return "\n".join([*parts, "</div>"])


def _packed(lines: Sequence[ComparedLine], what: str) -> str:
    """Folded lines without colours, compressed by gzip, in base 64."""
    text = "\n".join(line.text for line in lines)
    data = b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return f'<details data-lines="{data}"><summary>{len(lines):,} {what}</summary></details>'


def _shown(lines: Sequence[ComparedLine], beside: dict[int, list[Diagnostic]]) -> list[bool]:
    """For each line whether it is shown: it changed, has a remark, or stands near such a line."""
    shown = [False] * len(lines)
    reach = 0
    for numbers in (range(len(lines)), reversed(range(len(lines)))):
        reach = 0
        for number in numbers:
            line = lines[number]
            is_news = line.change != KEPT or (line.number is not None and line.number in beside)
            reach = CONTEXT + 1 if is_news else max(reach - 1, 0)
            shown[number] = shown[number] or reach > 0
    return shown


def _line(line: ComparedLine, beside: dict[int, list[Diagnostic]]) -> str:
    text = line.text.lstrip(" ")
    change = "" if line.change == KEPT else f' class="{line.change}"'
    row = f'<div{change} style="--i:{len(line.text) - len(text)}">{_coloured(text)}</div>'
    said = beside.get(line.number, []) if line.number is not None else []
    return row + "".join(f'<div class="said">{_sentence(diagnostic)}</div>' for diagnostic in said)


def _coloured(text: str) -> str:
    """Values, op names, strings and comments in colours of their own."""
    parts: list[str] = []
    end = 0
    for match in WORDS.finditer(text):
        parts += [escape(text[end : match.start()]), f'<span class="{match.lastgroup}">{escape(match[0])}</span>']
        end = match.end()
    return "".join([*parts, escape(text[end:])])
