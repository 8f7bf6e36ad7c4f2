"""
A timeline as SVG: a picture for documents. It takes the colours of whoever looks at it, light or dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tileas_xdsl.views.timeline.picture import ARRIVES, BLOCKED, SCALAR, STALL, STEP, TURN, Bar, Edge, Timeline
from tileas_xdsl.views.timeline.style import (
    BAR,
    FONT,
    LETTER,
    RULER,
    SCHEMES,
    LanePlace,
    bar_top,
    headline,
    hue_name,
    label_for,
    lane_places,
    pixels_per_cycle,
    tick_step,
)

HEAD, FOOT, SIDE = 30, 26, 10
LEAST, MOST = 860, 24_000
"""The width of the part with bars, in pixels, where nobody asks for another."""

RULES = f"""
text{{font:11px {FONT};fill:var(--ink)}}.faint{{fill:var(--faint)}}.head{{font-weight:600;font-size:13px}}
.paper{{fill:var(--paper)}}.lane{{fill:var(--lane)}}.tick{{stroke:var(--line)}}
.stripe{{stroke:var(--hatch);stroke-width:2}}.stall rect{{fill:url(#hatch)}}.stall text{{fill:var(--faint)}}
.step rect{{fill:var(--step)}}.scalar rect{{fill:var(--scalar)}}
.blocked rect{{fill:var(--bad-paper);stroke:var(--bad)}}.blocked text,.bad{{fill:var(--bad)}}
.edge{{fill:none;stroke:var(--edge)}}.arrives{{stroke-dasharray:4 2}}.tip{{fill:var(--edge)}}
.marked rect{{stroke:var(--bad);stroke-width:2}}.badge{{fill:var(--bad)}}.number{{fill:var(--paper);font-size:9px}}
""" + "".join(f".h{n} .on{{fill:var(--h{n})}}.h{n} .late{{fill:var(--p{n})}}" for n in "-012345")


HEAD_LETTER = 8
"""The width of a letter of the heading."""
LEGENDS = (
    "strong: occupies its engine; pale: in flight, not complete; hatched: stands still; colour: its slot, or iteration",
    "strong: its engine; pale: in flight; hatched: stands still; colour: slot, or iteration",
    "strong: busy; pale: in flight; colour: slot",
)
"""What fills and colours mean, the longest first."""


def legend_for(width: float) -> str:
    """The longest legend that has room in `width` pixels, or the shortest."""
    return next((text for text in LEGENDS if len(text) * LETTER <= width), LEGENDS[-1])


def timeline_svg(picture: Timeline, width: int | None = None) -> str:
    """`picture` as the text of an SVG file; `width` pixels for the whole of it, else as its bars need."""
    return "\n".join(_Drawing(picture, width).lines()) + "\n"


class _Drawing:
    def __init__(self, picture: Timeline, width: int | None) -> None:
        self.picture = picture
        names = [*(lane.name for lane in picture.lanes), *(lane.note for lane in picture.lanes)]
        self.left = SIDE + round(max(map(len, names), default=0) * LETTER) + 14
        if width is not None:
            self.scale = max(width - self.left - SIDE, 100) / picture.until
        else:
            self.scale = pixels_per_cycle(picture, LEAST, MOST)
        self.places, height = lane_places(picture.lanes)
        self.places = [LanePlace(place.top + HEAD, place.height) for place in self.places]
        self.bottom = HEAD + height
        self.width = round(self.left + picture.until * self.scale + SIDE)

    def heading(self) -> str:
        """What all of it takes, and where there is room for it an iteration."""
        whole = headline(self.picture)
        return whole if len(whole) * HEAD_LETTER <= self.width - 2 * SIDE else whole.partition(", ")[0]

    def x(self, cycle: int) -> float:
        return self.left + cycle * self.scale

    def lines(self) -> list[str]:
        picture = self.picture
        notes = [f"{mark.kind}: {mark.message}" for mark in picture.marks]
        height = self.bottom + FOOT + 16 * len(notes)
        what = f"{headline(picture)}. {len(picture.lanes)} lanes, {len(picture.bars)} bars. {' '.join(notes)}"
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height}" width="{self.width}" '
            f'height="{height}" role="img" aria-label="{escape(what.strip())}">',
            f"<style>{SCHEMES}{RULES}</style>".replace("\n", ""),
            '<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><path class="stripe" d="M0 0V7"/></pattern>'
            '<marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="5" markerHeight="5" orient="auto">'
            '<path class="tip" d="M0 0L6 3L0 6z"/></marker></defs>',
            '<rect class="paper" width="100%" height="100%"/>',
            f'<text class="head" x="{SIDE}" y="20">{escape(self.heading())}</text>',
        ]
        lines += self._lanes()
        lines += self._ruler()
        lines += [self._edge(edge) for edge in picture.edges]
        lines += [line for bar in picture.bars for line in self._bar(bar)]
        lines.append(
            f'<text class="faint" x="{SIDE}" y="{self.bottom + 17}">{legend_for(self.width - 2 * SIDE)}</text>'
        )
        for number, note in enumerate(notes):
            y = self.bottom + FOOT + 11 + 16 * number
            lines.append(f'<text class="bad" x="{SIDE}" y="{y}">{escape(note)}</text>')
        return [*lines, "</svg>"]

    def _lanes(self) -> list[str]:
        lines: list[str] = []
        for lane, place in zip(self.picture.lanes, self.places, strict=True):
            span = self.width - 2 * SIDE
            lines.append(
                f'<rect class="lane" x="{SIDE}" y="{place.top + 2}" width="{span}" height="{place.height - 4}" rx="4"/>'
            )
            middle = place.top + place.height // 2
            lines.append(f'<text x="{SIDE + 6}" y="{middle - 1}">{escape(lane.name)}</text>')
            lines.append(f'<text class="faint" x="{SIDE + 6}" y="{middle + 12}">{escape(lane.note)}</text>')
        return lines

    def _ruler(self) -> list[str]:
        step = tick_step(self.scale)
        lines: list[str] = []
        for cycle in range(0, self.picture.until + 1, step):
            x = round(self.x(cycle), 1)
            lines.append(f'<path class="tick" d="M{x} {HEAD + RULER - 6}V{self.bottom}"/>')
            if x < self.width - 40:
                lines.append(f'<text class="faint" x="{x + 3}" y="{HEAD + RULER - 9}">{cycle:,}</text>')
        return lines

    def _edge(self, edge: Edge) -> str:
        source, target = self.picture.bars[edge.source], self.picture.bars[edge.target]
        tops = bar_top(source, self.places), bar_top(target, self.places)
        down = tops[0] <= tops[1]
        start, end = (tops[0] + BAR, tops[1]) if down else (tops[0], tops[1] + BAR)
        first, second = round(self.x(edge.start), 1), round(self.x(edge.end), 1)
        bend = (end - start) // 2
        dashes = " arrives" if edge.kind == ARRIVES else ""
        return (
            f'<path class="edge{dashes}" d="M{first} {start}C{first} {start + bend} {second} {end - bend} '
            f'{second} {end}" marker-end="url(#tip)"/>'
        )

    def _bar(self, bar: Bar) -> list[str]:
        x, y = round(self.x(bar.start), 1), bar_top(bar, self.places)
        width = round(max((bar.end - bar.start) * self.scale, 0.8), 1)
        names = [bar.kind, *([] if bar.kind in (STEP, SCALAR, STALL, BLOCKED) else [f"h{hue_name(bar)}"])]
        if bar.marks:
            names.append("marked")
        lines = [f'<g class="{" ".join(names)}"><title>{escape(explained(bar))}</title>']
        if bar.kind == TURN:
            on = round(max((bar.freed - bar.start) * self.scale, 0.8), 1)
            lines.append(f'<rect class="late" x="{x}" y="{y}" width="{width}" height="{BAR}" rx="3"/>')
            lines.append(f'<rect class="on" x="{x}" y="{y}" width="{on}" height="{BAR}" rx="3"/>')
        else:
            # Neighbours are told apart by a thin gap, where there is room for one.
            gap = 0.7 if width > 4 else 0
            round_off = ' rx="3"' if width > 6 and bar.kind not in (STEP, SCALAR) else ""
            lines.append(
                f'<rect class="on" x="{x}" y="{y}" width="{round(width - gap, 1)}" height="{BAR}"{round_off}/>'
            )
        label = label_for(bar, width)
        if label:
            lines.append(f'<text x="{x + 4}" y="{y + 14}">{escape(label)}</text>')
        lines += [_badge(number, x, y) for number in bar.witness[:1]]
        return [*lines, "</g>"]


def _badge(number: int, x: float, y: int) -> str:
    return (
        f'<circle class="badge" cx="{x}" cy="{y}" r="7"/>'
        f'<text class="number" x="{x}" y="{y + 3}" text-anchor="middle">{number}</text>'
    )


def explained(bar: Bar) -> str:
    """The text about one bar that a reader sees on hovering."""
    parts: Sequence[str | None] = (
        bar.what,
        bar.turn or None,
        f"cycles {bar.start:,} to {bar.end:,}",
        f"{bar.op} at {bar.place}" if bar.place is not None else bar.op,
    )
    return "\n".join(part for part in parts if part)
