"""
A timeline in the trace-event format of Chrome, which Perfetto and `chrome://tracing` open.

Agents are the threads of one process, engines those of another; works in flight at the same time have a thread each. A
cycle is shown as a microsecond. Edges are flows, violations instant events.

Perfetto reads the events by time; at the same time slices, the longest first, and then the others in our order. Three
things follow from how it reads them:
- An instant is a slice that lasts until the next one begins, and a flow that comes later begins in it: so a flow has
  both ends where its bars begin, and violations come after the flows. The arrow is drawn from the end of the one bar to
  the beginning of the other all the same.
- Where a process begins, a thread that has its number ends: so no thread has the number of a process.
- `displayTimeUnit` only says how chrome://tracing prints times, but older versions read the times in it: so there is
  none.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from tileas_xdsl.views.timeline.picture import Bar, Edge, Lane, Mark, Timeline
from tileas_xdsl.views.timeline.style import headline, long_label

AGENTS, ENGINES = 1, 2
"""The numbers of the two processes."""
NAMES = {AGENTS: "agents", ENGINES: "engines"}

Event = dict[str, Any]


def chrome_trace(picture: Timeline) -> dict[str, Any]:
    """`picture` as the object that the JSON file holds."""
    threads = _Threads(picture)
    events = threads.names()
    events += [_slice(bar, threads) for bar in picture.bars]
    for number, edge in enumerate(picture.edges):
        events += _flow(number, edge, picture, threads)
    events += [_violation(mark, picture.bars[bar], threads) for mark in picture.marks for bar in mark.bars]
    return {
        "otherData": {"title": headline(picture), "target": picture.target, "unit": "one microsecond is one cycle"},
        "traceEvents": events,
    }


class _Threads:
    """
    The thread of each bar. Bars of one thread must not overlap, so works in flight at the same time get threads of
    their own.
    """

    def __init__(self, picture: Timeline) -> None:
        self.lanes = picture.lanes
        self.rows: dict[int, int] = {}
        """Number of a bar -> which of the threads of its lane."""
        self.counts = [self._divide([bar for bar in picture.bars if bar.lane == n]) for n in range(len(self.lanes))]
        self.first = [max(NAMES) + 1 + sum(self.counts[:number]) for number in range(len(self.lanes))]

    def _divide(self, bars: list[Bar]) -> int:
        """Give each of the `bars` of a lane the thread that is free for the longest time; returns how many it takes."""
        free: list[tuple[int, int]] = []
        for bar in sorted(bars, key=lambda bar: (bar.start, bar.end)):
            row = heappop(free)[1] if free and free[0][0] <= bar.start else len(free)
            heappush(free, (bar.end, row))
            self.rows[bar.number] = row
        return max(len(free), 1)

    def of(self, bar: Bar) -> Event:
        return {"pid": _process(self.lanes[bar.lane]), "tid": self.first[bar.lane] + self.rows[bar.number]}

    def names(self) -> list[Event]:
        """What the processes are called, each of which has a thread, and then the threads."""
        begins: dict[int, Event] = {}
        events: list[Event] = []
        for lane, first, count in zip(self.lanes, self.first, self.counts, strict=True):
            begins.setdefault(_process(lane), {"pid": _process(lane), "tid": first})
            for row in range(count):
                thread = {"pid": _process(lane), "tid": first + row}
                name = lane.name if row == 0 else f"{lane.name} ({row + 1})"
                events.append({"ph": "M", **thread, "name": "thread_name", "args": {"name": name}})
                events.append({"ph": "M", **thread, "name": "thread_sort_index", "args": {"sort_index": first + row}})
        named = [
            {"ph": "M", **thread, "name": "process_name", "args": {"name": NAMES[process]}}
            for process, thread in begins.items()
        ]
        return named + events


def _process(lane: Lane) -> int:
    return ENGINES if lane.is_engine else AGENTS


def _violation(mark: Mark, bar: Bar, threads: _Threads) -> Event:
    witness = [f"{label} {text}".strip() for label, text, _ in mark.steps]
    return {
        **threads.of(bar),
        "ph": "i",
        "s": "t",
        "ts": bar.start,
        "cat": "violation",
        "name": f"{mark.kind}: {mark.message}",
        "args": {"missing": mark.missing, "parties": list(mark.parties), "witness": witness},
    }


def _slice(bar: Bar, threads: _Threads) -> Event:
    about: Event = {"what": bar.what, "op": bar.op}
    if bar.place is not None:
        about["place"] = bar.place
    if bar.iteration:
        about["iteration"] = list(bar.iteration)
    if bar.slot is not None:
        about["slot"] = bar.slot
    if bar.freed < bar.end:
        about["occupies"] = bar.freed - bar.start
    return {
        **threads.of(bar),
        "ph": "X",
        "ts": bar.start,
        "dur": bar.end - bar.start,
        "cat": bar.kind,
        "name": long_label(bar) or bar.what,
        "args": about,
    }


def _flow(number: int, edge: Edge, picture: Timeline, threads: _Threads) -> list[Event]:
    """
    An arrow between two slices, each of its ends on one of them: where the slice begins, or in the second one when the
    first begins, if that is later. A wait may have begun before the arrival that it waits for.
    """
    source, target = picture.bars[edge.source], picture.bars[edge.target]
    reached = min(max(source.start, target.start), target.end)
    common: Event = {"id": number, "cat": edge.kind, "name": edge.kind}
    return [
        {**threads.of(source), "ph": "s", "ts": source.start, **common},
        {**threads.of(target), "ph": "f", "bp": "e", "ts": reached, **common},
    ]
