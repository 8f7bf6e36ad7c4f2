"""
A timeline of many bars as a part of an HTML page: data, and a canvas on which a script draws what is in view.

An element for each bar is too much for a browser where there are thousands. Here the page holds the bars as columns of
numbers and a table of texts, compressed. What is narrower than a pixel is drawn as the share of the pixel that it
takes. Tasks share rows: a task has a row from its first step to its last, and not while it waits to begin.
"""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from heapq import heappop, heappush
from html import escape
from importlib.resources import files

from tileas_xdsl.views.timeline.picture import STALL, Bar, Lane, Timeline
from tileas_xdsl.views.timeline.style import BAR, FONT, LANE_GAP, ROW, RULER, headline, lane_places, long_label
from tileas_xdsl.views.timeline.svg import explained

TASK = re.compile(r"task \d+")
MOST_LANES = 40
"""Lanes up to which each task has one of its own."""
MOST_FACTS = 8
"""Lanes whose share is said above the picture; of more, the number is said."""
HINT = "Select a bar to see what it is, and what it waits for."
KEY = (
    "Drag, or use the arrow keys, to move; + and - or Ctrl and the wheel scale; 0 shows the whole; n and p go to the "
    "next bar and the one before, among those that were found. Find by words: of an op, an agent, an iteration (i3), a "
    "slot (s1), or a line of the program. Grey columns are bars narrower than a pixel: the darker, the more they take."
)


@cache
def style_and_script() -> tuple[str, str]:
    """What a page with such sections needs, once."""
    folder = files("tileas_xdsl.views.timeline")
    return folder.joinpath("large.css").read_text(), folder.joinpath("large.js").read_text()


def large_section(picture: Timeline, level: int, *, flags: str, details: str, with_key: bool) -> str:
    """The part of a page that shows `picture` on a canvas; `flags` stand above it, `details` of violations below."""
    picture = with_tasks_in_rows(picture)
    facts = "".join(f"<span>{escape(f'{lane.name} {lane.note}')}</span>" for lane in picture.lanes[:MOST_FACTS])
    more = len(picture.lanes) - MOST_FACTS
    rest = f"<span>{more:,} more lanes</span>" if more > 0 else ""
    return "\n".join(
        [
            '<section class="tl tlc">',
            f'<div class="tl-top"><h{level}>{escape(headline(picture))}</h{level}>'
            '<div class="tl-keys"><button class="tl-out" aria-label="smaller">&minus;</button> '
            '<button class="tl-in" aria-label="larger">+</button> <button class="tl-fit">whole</button></div></div>',
            f'<div class="tl-facts">{facts}{rest}</div>',
            flags,
            '<div class="tlc-find tl-keys"><input type="search" aria-label="find bars" placeholder="op, agent, i3, s1">'
            '<button class="tlc-before" aria-label="the one before">&lsaquo;</button>'
            '<button class="tlc-next" aria-label="the next one">&rsaquo;</button><span role="status"></span></div>',
            '<canvas class="tlc-over" aria-hidden="true"></canvas>',
            '<div class="tl-view tlc-view" tabindex="0" role="region" aria-label="timeline">'
            '<canvas class="tlc-main" aria-hidden="true"></canvas><div class="tlc-room"></div></div>',
            f'<div class="tl-said" aria-live="polite">{HINT}</div>',
            f'<div class="tl-key">{KEY}</div>' if with_key else "",
            details,
            f'<script type="text/plain" class="tlc-data">{packed(picture)}</script>',
            "</section>",
        ]
    )


def packed(picture: Timeline) -> str:
    """
    The lanes, bars and edges as JSON, compressed by gzip, in base 64. The same picture gives the same text.

    Bars are columns, in their order: `bars.lane[k]` is the lane of the bar at place k, which edges name. Texts are
    numbers of `texts`.
    """
    texts = _Texts()
    place = {bar.number: k for k, bar in enumerate(picture.bars)}
    places, height = lane_places(picture.lanes)
    bars = picture.bars
    columns = {
        "lane": [bar.lane for bar in bars],
        "row": [bar.row for bar in bars],
        "start": [bar.start for bar in bars],
        "length": [bar.end - bar.start for bar in bars],
        "strong": [bar.freed - bar.start for bar in bars],
        "hue": [-1 if bar.hue is None else bar.hue for bar in bars],
        "kind": texts.numbers(bar.kind for bar in bars),
        "label": texts.numbers(long_label(bar) for bar in bars),
        "turn": texts.numbers(bar.turn for bar in bars),
        "told": texts.numbers(explained(bar) for bar in bars),
    }
    data = {
        "style": {"ROW": ROW, "BAR": BAR, "GAP": LANE_GAP, "RULER": RULER, "FONT": f"11px {FONT}"},
        "until": picture.until,
        "height": height - RULER,
        "lanes": [
            {"name": lane.name, "note": lane.note, "top": place.top - RULER, "height": place.height, "rows": lane.rows}
            for lane, place in zip(picture.lanes, places, strict=True)
        ],
        "texts": texts.found,
        "bars": columns,
        "numbers": {bar.number: place[bar.number] for bar in bars if bar.marks or bar.witness},
        "marked": [place[bar.number] for bar in bars if bar.marks],
        "witness": {place[bar.number]: bar.witness[0] for bar in bars if bar.witness},
        "edges": [[place[edge.source], place[edge.target], edge.start, edge.end] for edge in picture.edges],
    }
    text = json.dumps(data, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


# Tasks in rows --------------------------------------------------------------------------------------------------------


def with_tasks_in_rows(picture: Timeline) -> Timeline:
    """
    The picture with all tasks in one lane, where it has more than `MOST_LANES`: a task is in the first row that is free
    from its first step to its last. Bars of tasks that wait to begin are left out, and edges to them lead to the first
    step.
    """
    tasks = [number for number, lane in enumerate(picture.lanes) if TASK.fullmatch(lane.name)]
    if len(picture.lanes) <= MOST_LANES or not tasks:
        return picture
    first, others = tasks[0], [number for number in range(len(picture.lanes)) if number not in set(tasks)]
    begun, instead = begun_bars(picture, set(tasks))
    rows = rows_of(begun)
    lane = Lane("tasks", is_engine=False, rows=max(rows.values(), default=0) + 1, note=f"{len(tasks):,} of them")
    below = [number for number in others if number < first]
    order = [*below, first, *(number for number in others if number > first)]
    moved = {number: k for k, number in enumerate(order)} | dict.fromkeys(tasks, len(below))
    bars = [
        replace(bar, lane=moved[bar.lane], row=rows[bar.lane], what=f"{picture.lanes[bar.lane].name}: {bar.what}")
        if bar.lane in rows
        else replace(bar, lane=moved[bar.lane])
        for bar in picture.bars
        if bar.number not in instead
    ]
    kept = {bar.number for bar in bars}
    edges = [
        replace(edge, source=instead.get(edge.source, edge.source), target=instead.get(edge.target, edge.target))
        for edge in picture.edges
    ]
    lanes = [lane if number == first else picture.lanes[number] for number in order]
    edges = [edge for edge in edges if edge.source in kept and edge.target in kept]
    return replace(picture, lanes=lanes, bars=bars, edges=edges)


def begun_bars(picture: Timeline, tasks: set[int]) -> tuple[dict[int, list[Bar]], dict[int, int]]:
    """
    Lane of a task -> its bars from its first step on, and the bars before that -> the bar of the first step. Of a task
    without a step the last bar stands for it.
    """
    of_lane: dict[int, list[Bar]] = {number: [] for number in sorted(tasks)}
    for bar in picture.bars:
        if bar.lane in tasks:
            of_lane[bar.lane].append(bar)
    instead: dict[int, int] = {}
    for number, bars in of_lane.items():
        bars.sort(key=lambda bar: (bar.start, bar.number))
        start = next((k for k, bar in enumerate(bars) if bar.kind != STALL or bar.marks), max(len(bars) - 1, 0))
        instead |= {bar.number: bars[start].number for bar in bars[:start]}
        of_lane[number] = bars[start:]
    return {number: bars for number, bars in of_lane.items() if bars}, instead


def rows_of(begun: dict[int, list[Bar]]) -> dict[int, int]:
    """Lane of a task -> its row: the first that is free, tasks in the order in which they begin."""
    rows: dict[int, int] = {}
    free: list[int] = []
    taken: list[tuple[int, int]] = []
    for number, bars in sorted(begun.items(), key=lambda item: (item[1][0].start, item[0])):
        while taken and taken[0][0] <= bars[0].start:
            heappush(free, heappop(taken)[1])
        rows[number] = heappop(free) if free else len(taken)
        heappush(taken, (last_cycle(bars), rows[number]))
    return rows


def last_cycle(bars: Sequence[Bar]) -> int:
    """When the last of them ends; a cycle later than it starts at the least."""
    return max(max(bar.end, bar.start + 1) for bar in bars)


class _Texts:
    """Texts by number, in the order in which they came."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}

    def numbers(self, texts: Iterable[str]) -> list[int]:
        return [self.number.setdefault(text, len(self.number)) for text in texts]

    @property
    def found(self) -> list[str]:
        return list(self.number)
