"""How a timeline looks, in light and in dark: one style sheet for SVG and HTML, and where lanes stand, in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileas_xdsl.views.timeline.picture import AGENT, BLOCKED, SCALAR, STEP, TURN, Bar, Lane, Timeline

ROW = 24
"""The height of a row with its gap."""
BAR = 20
LANE_GAP = 12
RULER = 26
LETTER = 6.3
"""The width of a letter of a bar's label."""

LIGHT = """
--paper:#ffffff;--ink:#17212b;--faint:#5b6876;--line:#dfe4ea;--lane:#f5f7f9;--edge:#8794a3;--step:#66758a;
--scalar:#c3ccd6;--hatch:#c4ccd6;--bad:#c8231b;--bad-paper:#fdecea;--good:#1c7a3c;
--h0:#8fbcea;--p0:#dbe9f8;--h1:#f0b36a;--p1:#fbe8d0;--h2:#8ccd88;--p2:#dcf1da;
--h3:#bfa5e6;--p3:#ece4f8;--h4:#74ccc5;--p4:#d6f0ee;--h5:#eca2c3;--p5:#fae2ed;--h-:#b4bec9;--p-:#e6eaee;"""

DARK = """
--paper:#11161c;--ink:#edf2f7;--faint:#9fb0c0;--line:#2a333d;--lane:#181f27;--edge:#71808f;--step:#8493a5;
--scalar:#4a5765;--hatch:#46525f;--bad:#ff7a70;--bad-paper:#3a1a1a;--good:#6fd08c;
--h0:#2d68a8;--p0:#1c3a5a;--h1:#9c5c10;--p1:#523410;--h2:#2f7938;--p2:#1c4222;
--h3:#684aab;--p3:#3a2c5e;--h4:#1a7670;--p4:#124440;--h5:#9f3c6d;--p5:#55243e;--h-:#4d5a68;--p-:#2b343e;"""

SCHEMES = f":root{{{LIGHT}}}@media (prefers-color-scheme:dark){{:root{{{DARK}}}}}"

FONT = "system-ui,-apple-system,'Segoe UI',Roboto,sans-serif"


def hue_name(bar: Bar) -> str:
    """The part of a class name that stands for the bar's colour."""
    return "-" if bar.hue is None else str(bar.hue)


@dataclass(frozen=True)
class LanePlace:
    """Where a lane stands, below the ruler."""

    top: int
    height: int


def lane_places(lanes: Sequence[Lane]) -> tuple[list[LanePlace], int]:
    """The places of the lanes, and the height of all of them with the ruler."""
    places: list[LanePlace] = []
    top = RULER
    for lane in lanes:
        height = lane.rows * ROW + LANE_GAP
        places.append(LanePlace(top, height))
        top += height
    return places, top


def bar_top(bar: Bar, places: Sequence[LanePlace]) -> int:
    return places[bar.lane].top + LANE_GAP // 2 + bar.row * ROW + (ROW - BAR) // 2


def pixels_per_cycle(picture: Timeline, least: int, most: int) -> float:
    """A scale by which most of the bars with a label have room for it, within a width from `least` to `most`."""
    wanted = sorted(
        (len(long_label(bar)) * LETTER + 10) / (bar.end - bar.start)
        for bar in picture.bars
        if bar.kind in (AGENT, TURN) and bar.end > bar.start
    )
    if not wanted:
        return least / picture.until
    return min(max(wanted[len(wanted) * 3 // 4], least / picture.until), most / picture.until)


def tick_step(per_cycle: float, distance: float = 90) -> int:
    """Cycles from one tick of the ruler to the next: 1, 2 or 5 times a power of ten, `distance` pixels or more."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power * per_cycle >= distance:
                return factor * power
        power *= 10


def label_for(bar: Bar, width: float) -> str:
    """The longest text about `bar` that has room in `width` pixels; nothing where none has."""
    if bar.kind in (STEP, SCALAR):
        return ""
    slot = f"s{bar.slot}" if bar.slot is not None else ""
    for text in dict.fromkeys((long_label(bar), bar.label, bar.turn, slot)):
        if text and len(text) * LETTER + 6 <= width:
            return text
    return ""


def long_label(bar: Bar) -> str:
    """What a bar is, with iteration and slot: `dot i3 s1`; a name like `ring[1]` says its slot itself."""
    turn = bar.turn.partition("s")[0].strip() if bar.label.endswith("]") else bar.turn
    return f"{bar.label} {turn}".strip()


def headline(picture: Timeline) -> str:
    """The heading of a timeline: `@gemm on sm_90: 11,997 cycles, 613 an iteration`."""
    text = f"@{picture.function} on {picture.target}: {picture.cycles:,} cycles"
    if any(bar.kind == BLOCKED for bar in picture.bars):
        return f"{text}, and then it stands still"
    return f"{text}, {picture.per_iteration:,.0f} an iteration" if picture.per_iteration is not None else text
