"""
A chart of what is where, and when: rows, bars in cycles, and columns that begin at given cycles. The slots of rings
(`slots`) and the contents of queues (`queues`) are drawn so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tileas_xdsl.views.timeline.html import html_page
from tileas_xdsl.views.timeline.picture import HUES
from tileas_xdsl.views.timeline.style import BAR, FONT, LETTER, ROW, SCHEMES, tick_step

HEAD, RULER, FOOT, SIDE = 30, 34, 24, 10
LEAST, MOST = 700, 12_000
"""The width of the part with bars, in pixels, where nobody asks for another."""
ROOM = 26
"""Pixels that a bar of middling length gets, for its label."""

RULES = f"""
text{{font:11px {FONT};fill:var(--ink)}}.faint{{fill:var(--faint)}}.head{{font-weight:600;font-size:13px}}
.paper{{fill:var(--paper)}}.lane{{fill:var(--lane)}}.tick{{stroke:var(--line)}}.column{{stroke:var(--edge)}}
.bad{{fill:var(--bad)}}.bar .wrong{{stroke:var(--bad);stroke-width:2}}.event{{stroke:var(--ink);stroke-width:1.5}}
""" + "".join(f".h{n} .on{{fill:var(--h{n})}}.h{n} .late{{fill:var(--p{n})}}" for n in range(HUES))


@dataclass(frozen=True)
class ChartBar:
    """Something in a row from `start` until `end`; pale up to `ready`, strong from there."""

    row: int
    start: int
    ready: int
    end: int
    number: int
    """Which one it is: its label, and its colour in turn."""
    what: str
    """One sentence, shown when a reader points at it."""
    is_wrong: bool = False
    events: tuple[int, ...] = ()
    """Cycles at which something happens to it."""


@dataclass(frozen=True)
class Chart:
    """Rows with their names, bars in them, columns with theirs, and what it all means."""

    title: str
    rows: Sequence[str]
    bars: Sequence[ChartBar]
    columns: Sequence[tuple[int, str]]
    """The cycle in which each begins, and its name."""
    until: int
    key: str
    notes: Sequence[str] = ()
    """What is wrong, one line each."""


def chart_svg(chart: Chart, width: int | None = None) -> str:
    """`chart` as the text of an SVG file; `width` pixels for the whole of it, else as its bars need."""
    left = SIDE + round(max((len(row) for row in chart.rows), default=0) * LETTER) + 14
    scale = (max(width - left - SIDE, 100) if width is not None else _wanted(chart)) / max(chart.until, 1)
    top = HEAD + RULER
    bottom = top + ROW * len(chart.rows)
    full = round(left + chart.until * scale + SIDE)
    height = bottom + FOOT + 16 * len(chart.notes)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {full} {height}" width="{full}" height="{height}" '
        f'role="img" aria-label="{escape(" ".join([f"{chart.title}.", *chart.notes]))}">',
        f"<style>{SCHEMES}{RULES}</style>".replace("\n", ""),
        '<rect class="paper" width="100%" height="100%"/>',
        f'<text class="head" x="{SIDE}" y="20">{escape(chart.title)}</text>',
    ]
    for number, row in enumerate(chart.rows):
        y = top + ROW * number
        lines.append(f'<rect class="lane" x="{SIDE}" y="{y + 1}" width="{full - 2 * SIDE}" height="{ROW - 2}" rx="4"/>')
        lines.append(f'<text x="{SIDE + 6}" y="{y + 16}">{escape(row)}</text>')
    lines += _ruler(chart, left, scale, bottom, full)
    lines += [line for bar in chart.bars for line in _bar(bar, left, scale, top)]
    lines.append(f'<text class="faint" x="{SIDE + 6}" y="{bottom + 17}">{escape(chart.key)}</text>')
    lines += [
        f'<text class="bad" x="{SIDE + 6}" y="{bottom + FOOT + 11 + 16 * number}">{escape(note)}</text>'
        for number, note in enumerate(chart.notes)
    ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _wanted(chart: Chart) -> float:
    """A width at which most bars have room for a label."""
    lengths = sorted(bar.end - bar.start for bar in chart.bars if bar.end > bar.start)
    if not lengths:
        return LEAST
    return min(max(ROOM * chart.until / lengths[len(lengths) // 2], LEAST), MOST)


def _ruler(chart: Chart, left: int, scale: float, bottom: int, width: int) -> list[str]:
    """Cycles above, and below them the columns, with the names that have room in a picture of `width` pixels."""
    lines: list[str] = []
    for cycle in range(0, chart.until + 1, tick_step(scale)):
        x = round(left + cycle * scale, 1)
        lines.append(f'<path class="tick" d="M{x} {HEAD + 12}V{bottom}"/>')
        lines.append(f'<text class="faint" x="{x + 3}" y="{HEAD + 10}">{cycle:,}</text>')
    free = 0.0
    for cycle, name in chart.columns:
        x = round(left + cycle * scale, 1)
        lines.append(f'<path class="column" stroke-dasharray="2 3" d="M{x} {HEAD + 18}V{bottom}"/>')
        room = len(name) * LETTER + 8
        if x >= free and x + room <= width:
            lines.append(f'<text x="{x + 3}" y="{HEAD + 27}">{escape(name)}</text>')
            free = x + room
    return lines


def _bar(bar: ChartBar, left: int, scale: float, top: int) -> list[str]:
    y = top + ROW * bar.row + (ROW - BAR) // 2
    start, ready, end = (round(left + cycle * scale, 1) for cycle in (bar.start, min(bar.ready, bar.end), bar.end))
    lines = [f'<g class="bar h{bar.number % HUES}"><title>{escape(bar.what)}</title>']
    for name, low, high in (("late", start, ready), ("on", ready, end)):
        if high > low:
            lines.append(f'<rect class="{name}" x="{low}" y="{y}" width="{round(high - low, 1)}" height="{BAR}"/>')
    if bar.is_wrong:
        width = round(max(end - start, 2), 1)
        lines.append(f'<rect class="wrong" fill="none" x="{start}" y="{y}" width="{width}" height="{BAR}"/>')
    for cycle in bar.events:
        x = round(left + cycle * scale, 1)
        lines.append(f'<path class="event" d="M{x} {y + 3}V{y + BAR - 3}"/>')
    label = str(bar.number)
    if len(label) * LETTER + 6 <= end - start:
        lines.append(f'<text x="{start + 4}" y="{y + 14}">{label}</text>')
    return [*lines, "</g>"]


def chart_html(chart: Chart) -> str:
    """`chart` as a page, which asks nothing of a network. Point at a bar to see what it is."""
    style = f"{SCHEMES}body{{margin:0;background:var(--paper)}}main{{overflow-x:auto}}"
    return html_page(chart.title, f"<main>\n{chart_svg(chart)}</main>", style, "")
