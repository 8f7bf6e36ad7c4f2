"""
Pictures of layouts: who holds which element, and where an element lies.

A tile is drawn as a grid of its elements, the first `ROWS` rows and `COLUMNS` columns of it. In registers, a cell
names lane and register, and its colour is the lane's, darker from warp to warp. In memory, a cell names the byte, and
its colour is the bank: cells of one colour in lanes that go together are a bank conflict. A tile with one dimension
is one row; of more than two, the last two are drawn, at 0 in the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from tileas_xdsl.layouts.banks import SHARED
from tileas_xdsl.layouts.distributed import BLOCK, LANE, REGISTER, WARP
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.memory import OFFSET
from tileas_xdsl.layouts.moves import is_memory
from tileas_xdsl.layouts.tensor_memory import CELL_BITS, LANES, LANES_OF_WARP
from tileas_xdsl.tabular import Tabular
from tileas_xdsl.views.drawing import SCHEMES
from tileas_xdsl.views.notebook import picture_tag

STYLE = (
    f"{SCHEMES}"
    ".layout text{fill:var(--ink)}.layout path{stroke:var(--ink)}.layout .note{fill-opacity:.75}"
    "@media (prefers-color-scheme:dark){.layout rect{fill-opacity:.4}}"
)
"""Cells are pale on white paper, and dim on dark paper."""
ROWS, COLUMNS = 16, 32
CELL_WIDTH, CELL_HEIGHT = 34, 18
MARGIN, TITLE = 24, 44
BETWEEN = 190


@dataclass(frozen=True)
class Panel:
    """One layout with what stands above it."""

    title: str
    layout: LinearLayout
    element_bits: int
    space: str = ""
    """`rmem`, `smem`, `tmem` or `gmem`."""

    @property
    def is_tensor(self) -> bool:
        return self.space == "tmem"


@dataclass(frozen=True, repr=False)
class ShownLayout(Tabular):
    """A layout of a tile, or two and what leads from the first to the second."""

    panels: tuple[Panel, ...]
    way: str | None = None
    """What leads from the first layout to the second, in words."""
    is_possible: bool = True
    """False if no plan leads from the first layout to the second."""

    def __repr__(self) -> str:
        return f"Layout({' -> '.join(panel.title for panel in self.panels)})"

    def __str__(self) -> str:
        lines = [line for panel in self.panels for line in layout_text(panel)]
        return "\n".join(lines if self.way is None else [*lines, self.way])

    def rows(self) -> list[dict[str, Any]]:
        """A row for each kind of place (thread, register, address), with its bases."""
        return [
            {"layout": panel.title, "place": name, "bases": [list(basis) for basis in panel.layout.bases(name)]}
            for panel in self.panels
            for name in panel.layout.input_names
        ]

    def to_dict(self) -> dict[str, Any]:
        """Bases, and the way."""
        return {**super().to_dict(), "way": self.way, "possible": self.is_possible}

    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        source, *others = self.panels
        return conversion_svg(source, others[0], self.way or "") if others else layout_svg(source)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return picture_tag(self.svg(), repr(self))


def layout_text(panel: Panel) -> list[str]:
    """The bases, place by place."""
    return [panel.title, *(f"  {name}: {_bases(panel.layout, name)}" for name in panel.layout.input_names)]


def _bases(layout: LinearLayout, name: str) -> str:
    return " ".join(str(list(basis)) for basis in layout.bases(name)) or "-"


def layout_svg(panel: Panel) -> str:
    """The picture of one layout."""
    body, width, height = _panel(panel, MARGIN)
    return _svg(body, width + 2 * MARGIN, height)


def conversion_svg(source: Panel, target: Panel, way: str) -> str:
    """Two pictures with the exchange between them."""
    left, left_width, left_height = _panel(source, MARGIN)
    start = MARGIN + left_width + BETWEEN
    right, right_width, right_height = _panel(target, start)
    middle = MARGIN + left_width + BETWEEN // 2
    arrow = _arrow(MARGIN + left_width + 12, start - 12, TITLE + 60)
    words = _paragraph(way, middle, TITLE + 84)
    return _svg([*left, arrow, *words, *right], start + right_width + MARGIN, max(left_height, right_height))


def _svg(body: Sequence[str], width: int, height: int) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + MARGIN}" width="{width}" '
        f'height="{height + MARGIN}" font-family="monospace" font-size="10" class="layout" '
        'style="max-width: 100%; height: auto; background: var(--paper)">'
    )
    return "\n".join([head, f"<style>{STYLE}</style>", *body, "</svg>"]) + "\n"


def _panel(panel: Panel, left: int) -> tuple[list[str], int, int]:
    """The elements of a panel whose left edge is `left`, its width, and where it ends below."""
    rows, columns = _extents(panel.layout)
    shown_rows, shown_columns = min(rows, ROWS), min(columns, COLUMNS)
    width = max(shown_columns * CELL_WIDTH, 7 * len(panel.title))
    lines = [f'<text x="{left}" y="{MARGIN}" font-size="12">{escape(panel.title)}</text>']
    note = _legend(panel)
    if (rows, columns) != (shown_rows, shown_columns):
        note += f"; the first {shown_rows} x {shown_columns} of {rows} x {columns} elements"
    lines.append(f'<text x="{left}" y="{MARGIN + 14}" class="note">{escape(note)}</text>')
    lines.append('<g text-anchor="middle">')
    places = _places(panel.layout)
    for row in range(shown_rows):
        for column in range(shown_columns):
            x, y = left + column * CELL_WIDTH, TITLE + row * CELL_HEIGHT
            place = places[_element(panel.layout, row, column)]
            lines += _box(x, y, *_said_of(panel, place))
    lines.append("</g>")
    return lines, max(width, 7 * len(note) - 60), TITLE + shown_rows * CELL_HEIGHT


def _extents(layout: LinearLayout) -> tuple[int, int]:
    shape = layout.shape
    return (shape[-2] if len(shape) > 1 else 1), (shape[-1] if shape else 1)


def _element(layout: LinearLayout, row: int, column: int) -> int:
    """The packed coordinates of a cell."""
    rank = len(layout.shape)
    return layout.packed([0] * (rank - 2) + [row, column][max(0, 2 - rank) :])


def _places(layout: LinearLayout) -> list[dict[str, int]]:
    """For each element the first place that holds it."""
    found: list[dict[str, int]] = [{} for _ in range(1 << layout.output_bits)]
    for place, element in enumerate(layout.table):
        if not found[element]:
            for name, images in layout.inputs:
                found[element][name] = place & ((1 << len(images)) - 1)
                place >>= len(images)
    return found


def _legend(panel: Panel) -> str:
    layout = panel.layout
    if panel.is_tensor:
        return "lane:column of tensor memory; the colour says which warp reaches it"
    if is_memory(layout):
        return "byte of each element; the colour is its bank"
    copies = 1 << (len(layout.columns) - layout.output_bits)
    held = f", each held {copies} times" if copies > 1 else ""
    return f"lane:register{held}; darker from warp to warp"


def _said_of(panel: Panel, place: dict[str, int]) -> tuple[str, str]:
    """The colour of a cell and its text."""
    if panel.is_tensor:
        return _tensor_cell(place[OFFSET], panel)
    return _memory_cell(place, panel.element_bits) if is_memory(panel.layout) else _cell(place)


def _cell(place: dict[str, int]) -> tuple[str, str]:
    lane, register = place[LANE], place[REGISTER]
    warp = place.get(WARP, 0) + 8 * place.get(BLOCK, 0)
    hue, light = lane * 360 // 32, 90 - 14 * (warp % 4)
    return f"hsl({hue},70%,{light}%)", f"{lane}:{register}"


def _memory_cell(place: dict[str, int], element_bits: int) -> tuple[str, str]:
    bits = place[OFFSET] * element_bits
    byte, bank = bits // 8, bits // 8 // SHARED.width % SHARED.count
    return f"hsl({bank * 360 // SHARED.count},70%,80%)", str(byte)


def _tensor_cell(offset: int, panel: Panel) -> tuple[str, str]:
    row = max(1, panel.layout.input_size(OFFSET) // LANES)
    lane, within = divmod(offset, row)
    hue = lane // LANES_OF_WARP * 360 * LANES_OF_WARP // LANES
    return f"hsl({hue},70%,80%)", f"{lane}:{within * panel.element_bits // CELL_BITS}"


def _box(x: int, y: int, colour: str, text: str) -> list[str]:
    return [
        f'<rect x="{x}" y="{y}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}" fill="{colour}"/>'
        f'<text x="{x + CELL_WIDTH // 2}" y="{y + 13}">{text}</text>'
    ]


def _arrow(start: int, end: int, y: int) -> str:
    return f'<path d="M {start} {y} H {end} m -8 -5 l 8 5 l -8 5" fill="none"/>'


def _paragraph(text: str, middle: int, top: int) -> list[str]:
    """Text in short lines around `middle`."""
    lines: list[str] = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > 24:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [
        f'<text x="{middle}" y="{top + 14 * number}" text-anchor="middle">{escape(line)}</text>'
        for number, line in enumerate(lines)
    ]
