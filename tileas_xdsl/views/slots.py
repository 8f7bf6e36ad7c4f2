"""
Slots over iterations: what lies in each slot of shared memory, from the issue of the work that fills it to its last
read, and in which iteration that is.

                 | 0        | 1        | 2
    ring[0]      [ 0 pale: on its way ][ strong: there  | read ]
    ring[1]                  [ 1 ................

The picture is that of one simulated run. As many bars as stand above each other, so many slots are needed then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tileas_xdsl.checker.witnesses.investigator import Investigator
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Access, AccessHistory, Mind
from tileas_xdsl.machine.core.memory import ByteRegion, MemoryObject
from tileas_xdsl.machine.time.simulated_time import SimulatedClock
from tileas_xdsl.machine.time.simulation import TimedRun
from tileas_xdsl.views.charts import Chart, ChartBar
from tileas_xdsl.views.timeline.picture import timeline
from tileas_xdsl.views.timeline.style import headline

SPACES = ("shared", "tensor")
MOST_SLOTS = 32
"""An array with more parts along its first dimension is drawn as one slot."""

KEY = "pale: on its way; strong: there; a line: a read; the number counts what came into the ring; red: used too early"

Row = tuple[str, str, int]
"""A ring, the name of a slot, and the slot's number, or -1 where there is one."""


@dataclass(frozen=True, eq=False)
class Use:
    """A read or write of a slot, in program order of its agent."""

    region: ByteRegion
    is_write: bool
    time: int
    """The cycle in which the agent gets there: for a work that of its issue."""
    iteration: tuple[int, ...]
    agent: str
    work: AsyncWork | None

    @property
    def maker(self) -> tuple[object, ...]:
        """Uses of one maker belong together: a work may write a slot by several stores."""
        return (self.work,) if self.work is not None else (self.agent, self.iteration)


class SlotUses(Investigator):
    """Watches a simulated run for uses of shared and tensor memory."""

    def __init__(self) -> None:
        self.uses: list[Use] = []

    def access(self, access: Access, mind: Mind, history: AccessHistory) -> None:
        if access.region.base.space not in SPACES or access.bounds_block or access.region.is_empty:
            return
        assert isinstance(access.agent, Agent)
        clock = access.agent.machine.clock
        assert isinstance(clock, SimulatedClock), "it watches a simulated run"
        time = clock.time_of(access.agent)
        self.uses.append(Use(access.region, access.is_write, time, access.iteration, access.agent.name, access.work))


# Slots ----------------------------------------------------------------------------------------------------------------


class Slots:
    """
    Which slot a region of memory lies in. The slots of an object are those of its ring, if the program names them, or
    the parts along its first dimension, or the ranges of bytes that are written apart from each other.
    """

    def __init__(self, uses: Sequence[Use]) -> None:
        regions: dict[MemoryObject, list[ByteRegion]] = {}
        written: dict[MemoryObject, list[tuple[int, int]]] = {}
        for use in uses:
            base = use.region.base
            regions.setdefault(base, []).append(use.region)
            if use.is_write:
                written.setdefault(base, []).append((use.region.start, use.region.stop))
        self._indexed = {base for base, mine in regions.items() if _is_indexed(base, mine)}
        self._starts = {base: _apart(ranges) for base, ranges in written.items() if base not in self._indexed}

    def of(self, region: ByteRegion) -> Row:
        """The slot of a region that a use names."""
        base = region.base
        ring = base.name.partition(" of ")[2] if base.slot is not None else base.name
        ring = ring.replace("pipeline ", "").replace("queue ", "").strip("'") or base.name
        number = self._number(region)
        return ring, ring if number < 0 else f"{ring}[{number}]", number

    def _number(self, region: ByteRegion) -> int:
        base = region.base
        if base.slot is not None:
            return base.slot
        if base in self._indexed and region.box is not None:
            return region.box[0][0]
        starts = self._starts.get(base, [])
        if not 1 < len(starts) <= MOST_SLOTS:
            return -1
        return max(bisect_right(starts, region.start) - 1, 0)


def _is_indexed(base: MemoryObject, regions: Sequence[ByteRegion]) -> bool:
    """Whether every use of `base` is within one part along its first dimension, of two or more dimensions."""
    if base.slot is not None or len(base.shape) < 2 or not 1 < base.shape[0] <= MOST_SLOTS:
        return False
    return all(region.box is not None and region.box[0][1] == region.box[0][0] + 1 for region in regions)


def _apart(ranges: Sequence[tuple[int, int]]) -> list[int]:
    """Where the unions of ranges that overlap begin, in order."""
    starts: list[int] = []
    end = -1
    for start, stop in sorted(set(ranges)):
        if start >= end:
            starts.append(start)
        end = max(end, stop)
    return starts


@dataclass
class Stay:
    """What a slot holds, from the issue of the first work that fills it to its last read."""

    row: Row
    number: int
    """How many came into the ring before it."""
    maker: tuple[object, ...]
    iteration: tuple[int, ...]
    start: int
    ready: int
    end: int
    reads: list[tuple[int, tuple[int, ...]]] = field(default_factory=list[tuple[int, tuple[int, ...]]])
    is_wrong: bool = False
    """Whether it is read before it is there, or comes while what was there before is still on its way or in use."""


def stays(uses: Sequence[Use], completion: Mapping[AsyncWork, int]) -> list[Stay]:
    """What slots held; `completion` has the cycle in which each work was complete. It sorts `uses` once."""
    slots = Slots(uses)
    found: list[Stay] = []
    latest: dict[tuple[MemoryObject, int], Stay] = {}
    filled: dict[str, int] = {}
    for use in uses:
        row = slots.of(use.region)
        place = use.region.base, row[2]
        stay = latest.get(place)
        done = completion.get(use.work, use.time) if use.work is not None else use.time
        if use.is_write and (stay is None or stay.reads or stay.maker != use.maker):
            number = filled.get(row[0], 0)
            filled[row[0]] = number + 1
            new = Stay(row, number, use.maker, use.iteration, use.time, done, done)
            if stay is not None and use.time < stay.end:
                new.is_wrong = stay.is_wrong = True
            latest[place] = new
            found.append(new)
        elif stay is not None and use.is_write:
            stay.ready, stay.end = max(stay.ready, done), max(stay.end, done)
        elif stay is not None:
            stay.reads.append((use.time, use.iteration))
            stay.is_wrong = stay.is_wrong or (use.time < stay.ready and use.maker != stay.maker)
            stay.end = max(stay.end, done)
    return found


def slots_chart(run: TimedRun) -> Chart:
    """The chart of a simulated run that a `SlotUses` watched. It has no rows where no slot is filled."""
    watcher = run.machine.observer
    assert isinstance(watcher, SlotUses)
    completion = {service.work: service.complete for service in run.clock.services if service.work is not None}
    # Barriers lie in shared memory, too.
    uses = [use for use in watcher.uses if not (use.region.base.holds_barriers or use.region.base.objects)]
    found = stays(uses, completion)
    names, rows = _rows(found)
    picture = timeline(run)
    bars = [
        ChartBar(
            row,
            stay.start,
            stay.ready,
            stay.end,
            stay.number,
            _said(stay),
            stay.is_wrong,
            tuple(dict.fromkeys(time for time, _ in stay.reads)),
        )
        for stay, row in zip(found, rows, strict=True)
    ]
    return Chart(
        f"{headline(picture)}; slots over iterations",
        names,
        bars,
        iterations(run),
        picture.until,
        KEY,
        [f"{mark.kind}: {mark.message}" for mark in picture.marks],
    )


def _rows(found: Sequence[Stay]) -> tuple[list[str], list[int]]:
    """
    The names of the rows, and for each stay its row: rings in the order of their first use, and the slots of each in
    theirs. A tile that is made anew in each turn takes the first row of its name that is free.
    """
    free: dict[tuple[Row, int], int] = {}
    keys: list[tuple[Row, int]] = []
    for stay in found:
        lane = 0
        while stay.row[2] < 0 and free.get((stay.row, lane), 0) > stay.start:
            lane += 1
        keys.append((stay.row, lane))
        free[keys[-1]] = stay.end
    rings = {ring: number for number, ring in enumerate(dict.fromkeys(row[0] for row, _ in keys))}
    ordered = sorted(set(keys), key=lambda key: (rings[key[0][0]], key[0][2], key[1]))
    place = {key: number for number, key in enumerate(ordered)}
    return [row[1] for row, _ in ordered], [place[key] for key in keys]


def iterations(run: TimedRun) -> list[tuple[int, str]]:
    """When each iteration of the longest loop began."""
    longest = max(run.clock.loops, key=lambda loop: len(loop.starts), default=None)
    return [] if longest is None else [(start, str(number)) for number, start in enumerate(longest.starts)]


def _said(stay: Stay) -> str:
    where = f"iteration {stay.iteration[-1]}" if stay.iteration else "front of the loop"
    reads = ", ".join(str(turn[-1]) if turn else "no iteration" for turn in dict.fromkeys(t for _, t in stay.reads))
    read = f"read in {reads}" if reads else "never read"
    return f"{stay.row[1]}: number {stay.number}, issued in {where}, there from cycle {stay.ready:,}, {read}"
