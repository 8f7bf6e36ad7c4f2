"""
A picture of a small graph as SVG, without other tools: boxes in rows, arrows from upper rows to lower ones.

A box stands one row below the lowest box that an arrow leads from; arrows that go backwards do not count. An arrow that
passes rows goes through a gap in each, so that it never runs behind a box. Within a row, boxes and gaps stand where
those that they are connected with stand on average (a few sweeps down and up), else in the order given. Lengths are
pixels. The method is that of Sugiyama, Tagawa and Toda (1981).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from xml.sax.saxutils import escape

LETTER = 7
LINE = 26
ROW = 66
GAP = 24
MARGIN = 16
PASSAGE = 6
"""The width of a gap through which an arrow passes a row."""
SWEEPS = 8

SCHEMES = ":root{--paper:#ffffff;--ink:#17212b}@media (prefers-color-scheme:dark){:root{--paper:#11161c;--ink:#edf2f7}}"
"""Light and dark, as the timelines have it."""
STYLE = (
    f"{SCHEMES}"
    "rect{fill:var(--paper);stroke:var(--ink)}text,marker{fill:var(--ink)}.arrow{fill:none;stroke:var(--ink)}"
)
DASHES = {"solid": "", "dashed": ' stroke-dasharray="6 3"', "dotted": ' stroke-dasharray="2 3"'}


@dataclass(frozen=True)
class Box:
    """A text with a frame. The frame is thick where `stands_out` is set."""

    text: str
    stands_out: bool = False

    @property
    def width(self) -> int:
        return LETTER * len(self.text) + 16


@dataclass(frozen=True)
class Arrow:
    """An arrow between two boxes, given by their indices; `style` is `solid`, `dashed` or `dotted`."""

    source: int
    target: int
    style: str = "solid"
    backwards: bool = False


@dataclass
class _Cell:
    """A box, or a gap for an arrow, in a row."""

    row: int
    width: int
    middle: int = 0
    above: list[int] = field(default_factory=list[int])
    """The cells of the row above with which it is connected."""
    below: list[int] = field(default_factory=list[int])

    @property
    def top(self) -> int:
        return MARGIN + self.row * ROW


def rows_of(count: int, arrows: Sequence[Arrow]) -> list[int]:
    """The row of each of `count` boxes. Arrows that close a circle count as backwards."""
    incoming: dict[int, list[int]] = {number: [] for number in range(count)}
    for arrow in arrows:
        if not arrow.backwards:
            incoming[arrow.target].append(arrow.source)
    rows: dict[int, int] = {}
    for root in range(count):
        stack, open_boxes = [root], dict.fromkeys([root])
        while stack:
            box = stack[-1]
            missing = next((s for s in incoming[box] if s not in rows and s not in open_boxes), None)
            if missing is not None:
                stack.append(missing)
                open_boxes[missing] = None
                continue
            stack.pop()
            open_boxes.pop(box, None)
            rows.setdefault(box, max((rows[s] + 1 for s in incoming[box] if s in rows), default=0))
    return [rows[number] for number in range(count)]


def draw(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> str:
    """The picture as the text of an SVG file."""
    cells, ways, width, height = _laid_out(boxes, arrows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="monospace" font-size="11" style="max-width: 100%; height: auto; background: var(--paper)">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M 0 0 L 8 4 L 0 8 z"/></marker></defs>',
    ]
    lines += [_arrow([cells[number] for number in way], arrow) for arrow, way in zip(arrows, ways, strict=True)]
    for box, cell in zip(boxes, cells, strict=False):
        stroke = 2 if box.stands_out else 1
        lines.append(
            f'<rect x="{cell.middle - box.width // 2}" y="{cell.top}" width="{box.width}" height="{LINE}" '
            f'stroke-width="{stroke}"/>'
        )
        lines.append(f'<text x="{cell.middle}" y="{cell.top + 17}" text-anchor="middle">{escape(box.text)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _laid_out(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> tuple[list[_Cell], list[list[int]], int, int]:
    """The cells, boxes first; for each arrow the cells that it goes through; and the size of the picture."""
    rows = rows_of(len(boxes), arrows)
    cells = [_Cell(row, box.width) for box, row in zip(boxes, rows, strict=True)]
    ways = [_way(cells, arrow) for arrow in arrows]
    ranked: list[list[int]] = [[] for _ in range(max(rows, default=-1) + 1)]
    for number, cell in enumerate(cells):
        ranked[cell.row].append(number)
    for sweep in range(SWEEPS):
        _reorder(cells, ranked, downwards=sweep % 2 == 0)
    widths = [sum(cells[number].width + GAP for number in row) - GAP for row in ranked]
    width = max([0, *widths]) + 2 * MARGIN
    for row, row_width in zip(ranked, widths, strict=True):
        left = (width - row_width) // 2
        for number in row:
            cells[number].middle = left + cells[number].width // 2
            left += cells[number].width + GAP
    return cells, ways, width, 2 * MARGIN + max(0, (len(ranked) - 1) * ROW + LINE)


def _way(cells: list[_Cell], arrow: Arrow) -> list[int]:
    """The cells that an arrow goes through. Makes a gap in each row that the arrow passes downwards."""
    source, target = cells[arrow.source], cells[arrow.target]
    way = [arrow.source]
    for row in range(source.row + 1, target.row):
        way.append(len(cells))
        cells.append(_Cell(row, PASSAGE))
    way.append(arrow.target)
    if target.row > source.row:
        for upper, lower in pairwise(way):
            cells[upper].below.append(lower)
            cells[lower].above.append(upper)
    return way


def _reorder(cells: Sequence[_Cell], ranked: Sequence[list[int]], *, downwards: bool) -> None:
    """Sort each row by where the neighbours of its cells stand, on average, in the row before it in the sweep."""
    place: dict[int, float] = {}
    for row in ranked if downwards else reversed(ranked):
        for index, number in enumerate(row):
            cell = cells[number]
            neighbours = [place[n] for n in (cell.above if downwards else cell.below)]
            place[number] = sum(neighbours) / len(neighbours) if neighbours else _share(index, row)
        row.sort(key=lambda number: place[number])
        for index, number in enumerate(row):
            place[number] = _share(index, row)


def _share(index: int, row: Sequence[int]) -> float:
    """Where the middle of the cell number `index` is, from 0 to 1: rows differ in length, and all are centred."""
    return (index + 0.5) / len(row)


def _arrow(way: Sequence[_Cell], arrow: Arrow) -> str:
    source, target = way[0], way[-1]
    start, end = source.top + LINE, target.top
    if end < start:  # upwards, or along a row: from the upper edge to the lower one
        start, end = source.top, target.top + LINE
        way = (source, target)
    stops = [(source.middle, start)]
    for gap in way[1:-1]:
        stops += [(gap.middle, gap.top), (gap.middle, gap.top + LINE)]
    stops.append((target.middle, end))
    path = f"M {stops[0][0]} {stops[0][1]}"
    for number, ((x, y), (next_x, next_y)) in enumerate(pairwise(stops)):
        bend = (next_y - y) // 2
        within_a_gap = number % 2 == 1
        path += (
            f" L {next_x} {next_y}" if within_a_gap else f" C {x} {y + bend} {next_x} {next_y - bend} {next_x} {next_y}"
        )
    return f'<path d="{path}" class="arrow" marker-end="url(#tip)"{DASHES[arrow.style]}/>'
