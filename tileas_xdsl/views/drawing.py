"""
A picture of a small graph as SVG, without other tools: boxes in rows, arrows from upper rows to lower ones.

A box stands one row below the lowest box that an arrow leads from; arrows that go backwards do not count. Within a row
the boxes keep the order in which they are given. Lengths are pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

LETTER = 7
LINE = 26
ROW = 66
GAP = 24
MARGIN = 16

DASHES = {"solid": "", "dashed": ' stroke-dasharray="6 3"', "dotted": ' stroke-dasharray="2 3"'}


@dataclass(frozen=True)
class Box:
    """A text with a frame, drawn thick where it `stands_out`."""

    text: str
    stands_out: bool = False

    @property
    def width(self) -> int:
        return LETTER * len(self.text) + 16


@dataclass(frozen=True)
class Arrow:
    """From one box to another, by their places; `style` is `solid`, `dashed` or `dotted`."""

    source: int
    target: int
    style: str = "solid"
    backwards: bool = False


@dataclass(frozen=True)
class _Place:
    """Where a box is: its upper left corner, and the middle of its upper edge."""

    x: int
    y: int
    middle: int


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
    places, width, height = _laid_out(boxes, rows_of(len(boxes), arrows))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="monospace" '
        'font-size="11">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M 0 0 L 8 4 L 0 8 z"/></marker></defs>',
    ]
    lines += [_arrow(places, arrow) for arrow in arrows]
    for box, place in zip(boxes, places, strict=True):
        stroke = 2 if box.stands_out else 1
        lines.append(
            f'<rect x="{place.x}" y="{place.y}" width="{box.width}" height="{LINE}" fill="white" stroke="black" '
            f'stroke-width="{stroke}"/>'
        )
        lines.append(f'<text x="{place.middle}" y="{place.y + 17}" text-anchor="middle">{escape(box.text)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _laid_out(boxes: Sequence[Box], rows: Sequence[int]) -> tuple[list[_Place], int, int]:
    """The places of the boxes, rows in the middle of the picture, and the picture's size."""
    widths = [GAP * -1] * (max(rows, default=-1) + 1)
    for box, row in zip(boxes, rows, strict=True):
        widths[row] += box.width + GAP
    width = max([0, *widths]) + 2 * MARGIN
    free = [(width - row_width) // 2 for row_width in widths]
    places: list[_Place] = []
    for box, row in zip(boxes, rows, strict=True):
        x = free[row]
        places.append(_Place(x, MARGIN + row * ROW, x + box.width // 2))
        free[row] += box.width + GAP
    return places, width, 2 * MARGIN + max(0, (len(widths) - 1) * ROW + LINE)


def _arrow(places: Sequence[_Place], arrow: Arrow) -> str:
    source, target = places[arrow.source], places[arrow.target]
    start, end = source.y + LINE, target.y
    if end < start:  # upwards, or along a row: from the upper edge to the lower one
        start, end = source.y, target.y + LINE
    bend = (end - start) // 2
    path = (
        f"M {source.middle} {start} C {source.middle} {start + bend} {target.middle} {end - bend} {target.middle} {end}"
    )
    return f'<path d="{path}" fill="none" stroke="black" marker-end="url(#tip)"{DASHES[arrow.style]}/>'
