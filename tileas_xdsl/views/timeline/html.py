"""
A timeline as an HTML page that scrolls, scales and says what each bar is. It is one file and loads nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tileas_xdsl.views.timeline.large import HINT, large_section
from tileas_xdsl.views.timeline.large import style_and_script as large_style_and_script
from tileas_xdsl.views.timeline.page import SCRIPT, STYLE
from tileas_xdsl.views.timeline.picture import BLOCKED, SCALAR, STALL, STEP, Bar, Edge, Mark, Timeline
from tileas_xdsl.views.timeline.style import (
    BAR,
    LANE_GAP,
    ROW,
    RULER,
    LanePlace,
    bar_top,
    headline,
    hue_name,
    lane_places,
    long_label,
    pixels_per_cycle,
    tick_step,
)
from tileas_xdsl.views.timeline.svg import explained

LEAST, MOST = 300, 60_000
MOST_TICKS = 400
WIDE_LETTER = 7.4
"""The width of a letter of a lane's name."""
MOST_ELEMENTS = 1_000
"""Bars up to which each is an element of the page; more are drawn on a canvas."""
KEY = (
    "Strong: occupies its engine. Pale: in flight, not complete. Hatched: stands still. Dark: issues, arrivals, waits. "
    "Bars of one slot, or else of one iteration, have one colour. Ctrl and the wheel, or + and -, scale."
)


def timeline_html(picture: Timeline) -> str:
    """`picture` as the text of an HTML file."""
    style, script = style_and_script([picture])
    return html_page(headline(picture), timeline_section(picture), style, script)


def style_and_script(pictures: Sequence[Timeline]) -> tuple[str, str]:
    """What a page with sections for `pictures` needs, once."""
    if not any(is_large(picture) for picture in pictures):
        return STYLE, SCRIPT
    style, script = large_style_and_script()
    return STYLE + style, SCRIPT + script


def is_large(picture: Timeline) -> bool:
    """Whether a picture is drawn on a canvas."""
    return len(picture.bars) > MOST_ELEMENTS


def html_page(title: str, body: str, style: str, script: str) -> str:
    """A page that holds everything it needs."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def timeline_section(picture: Timeline, level: int = 2, *, with_key: bool = True) -> str:
    """The part of a page that shows `picture`: its heading has `level`; `with_key` says what strong and pale mean."""
    flags = "".join(f'<p class="tl-flag">{escape(f"{mark.kind}: {mark.message}")}</p>' for mark in picture.marks)
    details = "\n".join(map(_violation, picture.marks))
    if is_large(picture):
        return large_section(picture, level, flags=flags, details=details, with_key=with_key)
    scale = pixels_per_cycle(picture, LEAST, MOST)
    names = max((max(len(lane.name), len(lane.note)) for lane in picture.lanes), default=0)
    side = min(round(names * WIDE_LETTER) + 24, 132)
    places, height = lane_places(picture.lanes)
    places = [LanePlace(place.top - RULER, place.height) for place in places]
    bars: list[list[str]] = [[] for _ in picture.lanes]
    for bar in picture.bars:
        bars[bar.lane].append(_bar(bar))
    lanes = [
        f'<div class="tl-lane" style="height:{lane.rows * ROW + LANE_GAP}px"><div class="tl-name">{escape(lane.name)}'
        f"<small>{escape(lane.note)}</small></div>{''.join(bars[number])}</div>"
        for number, lane in enumerate(picture.lanes)
    ]
    edges = "".join(
        _edge(edge, picture, [bar_top(bar, places) for bar in _ends(edge, picture)]) for edge in picture.edges
    )
    step = max(tick_step(scale), tick_step(MOST_TICKS / picture.until, 1))
    ticks = "".join(f'<span style="--a:{t}">{t:,}</span>' for t in range(0, picture.until + 1, step))
    style = f"--z:{scale:.5g}px;--n:{picture.until};--side:{side}px"
    return "\n".join(
        [
            f'<section class="tl" style="{style}" data-z="{scale:.5g}" data-until="{picture.until}">',
            f'<div class="tl-top"><h{level}>{escape(headline(picture))}</h{level}>'
            '<div class="tl-keys"><button class="tl-out" aria-label="smaller">&minus;</button> '
            '<button class="tl-in" aria-label="larger">+</button> <button class="tl-fit">whole</button></div></div>',
            f'<div class="tl-facts">{"".join(f"<span>{escape(fact)}</span>" for fact in _facts(picture))}</div>',
            flags,
            f'<div class="tl-view" tabindex="0" role="region" aria-label="timeline"><div class="tl-all">'
            f'<div class="tl-ruler">{ticks}</div>',
            f'<svg class="tl-edges" height="{height - RULER}" viewBox="0 0 {picture.until} {height - RULER}" '
            f'preserveAspectRatio="none" aria-hidden="true">{edges}</svg>',
            *lanes,
            "</div></div>",
            f'<div class="tl-said" aria-live="polite">{HINT}</div>',
            f'<div class="tl-key">{KEY}</div>' if with_key else "",
            details,
            "</section>",
        ]
    )


def _facts(picture: Timeline) -> list[str]:
    return [f"{lane.name} {lane.note}" for lane in picture.lanes]


def _ends(edge: Edge, picture: Timeline) -> tuple[Bar, Bar]:
    return picture.bars[edge.source], picture.bars[edge.target]


def _bar(bar: Bar) -> str:
    top = LANE_GAP // 2 + bar.row * ROW + (ROW - BAR) // 2
    plain = bar.kind in (STEP, SCALAR, STALL, BLOCKED)
    names = ["bar", bar.kind, *([] if plain else [f"h{hue_name(bar)}"]), *(["marked"] if bar.marks else [])]
    strong = (bar.freed - bar.start) / (bar.end - bar.start) if bar.end > bar.start else 1
    inner = "" if plain else f'<i style="--o:{100 * strong:.4g}%"></i>'
    label = "" if bar.kind in (STEP, SCALAR) else f"<b>{escape(long_label(bar))}</b>"
    badge = f'<span class="num" style="--a:{bar.start};top:{top - 8}px">{bar.witness[0]}</span>' if bar.witness else ""
    return (
        f'<div class="{" ".join(names)}" data-i="{bar.number}" tabindex="-1" title="{escape(explained(bar))}" '
        f'style="--a:{bar.start};--b:{bar.end - bar.start};top:{top}px">{inner}{label}</div>{badge}'
    )


def _edge(edge: Edge, picture: Timeline, tops: list[int]) -> str:
    down = tops[0] <= tops[1]
    start, end = (tops[0] + BAR, tops[1]) if down else (tops[0], tops[1] + BAR)
    bend = (end - start) // 2
    return (
        f'<path class="{edge.kind}" data-a="{edge.source}" data-b="{edge.target}" d="M{edge.start} {start}'
        f'C{edge.start} {start + bend} {edge.end} {end - bend} {edge.end} {end}"/>'
    )


def _violation(mark: Mark) -> str:
    parties = "".join(f"<li>{escape(party)}</li>" for party in mark.parties)
    steps = "".join(_step(*step) for step in mark.steps)
    witness = f"<details open><summary>witness</summary><ol>{steps}</ol></details>" if steps else ""
    return (
        f'<div class="tl-bad"><h3>{escape(mark.kind)}: {escape(mark.message)}</h3><ul>{parties}</ul>'
        f"<div>missing: {escape(mark.missing)}</div>{witness}</div>"
    )


def _step(label: str, text: str, bar: int | None) -> str:
    leads_to = f' data-bar="{bar}"' if bar is not None else ""
    return f"<li{leads_to}><b>{escape(label)}</b> {escape(text)}</li>"
