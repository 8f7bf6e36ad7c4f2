"""
Blocks of threads on one multiprocessor, in cycles: warps that issue in order, and what they start.

    warp 0   issue | issue | wait for mbarrier ............ | issue
    TMA                    [ rows ]  latency ........ phase |
    tensor                                                    [ product ]

Each quarter of the multiprocessor issues one instruction a cycle, for the warp that can go on first. An instruction
waits for its operands and for its port; `steps.py` says what each does. Numbers that are not addresses, counters or
phases are not computed. Lanes that part go one after the other until they meet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from typing import Any

from tileas_xdsl.machine.warps.code import Code
from tileas_xdsl.machine.warps.costs import StepCost
from tileas_xdsl.machine.warps.engines import Engines, Mbarrier, NamedBarrier, Waiting
from tileas_xdsl.machine.warps.program import Step
from tileas_xdsl.machine.warps.steps import Issue, perform
from tileas_xdsl.machine.warps.warp import Part, Warp
from tileas_xdsl.targets.warp_timing import Port, WarpTiming

MOST_EVENTS = 3_000_000
FIRST_SHARED = 1024
"""The address of the first variable in shared memory; those of global memory begin far above."""

Event = Callable[[float], None]
Box = Sequence[int]


class StuckError(Exception):
    """Warps wait for what never comes, or the program does not end."""


@dataclass(eq=False)
class Agenda:
    """What comes next in all blocks of a multiprocessor."""

    entries: list[tuple[float, int, Multiprocessor, Warp | Event]] = field(default_factory=list[Any])
    serial: int = 0

    def add(self, time: float, block: Multiprocessor, event: Warp | Event) -> None:
        """Let a warp of `block` go on, or something happen, at `time`."""
        self.serial += 1
        heappush(self.entries, (time, self.serial, block, event))

    @property
    def horizon(self) -> float:
        """When the next entry comes."""
        return self.entries[0][0] if self.entries else inf


class Multiprocessor:
    """
    A run of one block of threads of `code`. `boxes` are the extents of tensor maps, the last one in bytes, and
    `numbers` the other parameters, both by the names that PTX gives to parameters. A block `beside` another one has
    the same engines.
    """

    def __init__(
        self,
        code: Code,
        boxes: Mapping[str, Box],
        numbers: Mapping[str, int],
        timing: WarpTiming,
        serialized: bool,
        beside: Multiprocessor | None = None,
    ) -> None:
        self.code, self.timing, self.serialized = code, timing, serialized
        self.engines = Engines(timing) if beside is None else beside.engines
        self.agenda = Agenda() if beside is None else beside.agenda
        self.warps = [Warp(number) for number in range(code.program.warps)]
        self.mbarriers: dict[int, Mbarrier] = {}
        self.named: dict[int, NamedBarrier] = {}
        self.numbers = numbers
        self.symbols = code.program.symbols(FIRST_SHARED)
        self.boxes = {self.symbols[name]: box for name, box in boxes.items()}
        for warp in self.warps:
            self.at(0.0, warp)

    # Time -------------------------------------------------------------------------------------------------------------

    def at(self, time: float, event: Warp | Event) -> None:
        """Let a warp go on, or something happen, at `time`."""
        self.agenda.add(time, self, event)

    def run(self) -> float:
        """The cycle in which the last warp ends, this block alone. Raises `StuckError`."""
        return run_together([self])

    def follow(self, event: Warp | Event, time: float) -> None:
        """Do what the agenda says."""
        if not isinstance(event, Warp):
            event(time)
        elif not (event.done or event.blocked):
            self._go_on(event, time)

    def _go_on(self, warp: Warp, time: float) -> None:
        """Issue until something else comes first."""
        horizon = self.agenda.horizon
        warp.next = max(warp.next, time)
        while not (warp.done or warp.blocked):
            if warp.next > horizon:
                self.at(warp.next, warp)
                return
            part = self._part(warp)
            if part is None:
                warp.done = True
                return
            assert part.block is not None
            steps = self.code.blocks[part.block]
            if part.index >= len(steps):
                after = self.code.program.blocks[part.block].after
                part.block, part.index = (after[0] if after else None), 0
                continue
            step, cost = steps[part.index]
            start = self._earliest(warp, step, cost)
            if start > horizon:
                self.at(start, warp)
                return
            part.index += 1
            self._issue(warp, part, step, cost, start)

    def _part(self, warp: Warp) -> Part | None:
        """The part of the warp that goes on; those that have met the others are over."""
        while warp.parts:
            part = warp.parts[-1]
            met = len(warp.parts) > 1 and part.block == part.meeting and part.index == 0
            if part.block is not None and not met:
                return part
            warp.parts.pop()
            warp.next += self.timing.join if warp.parts else 0.0
        return None

    # Issuing ----------------------------------------------------------------------------------------------------------

    def _earliest(self, warp: Warp, step: Step, cost: StepCost) -> float:
        """The cycle in which `step` can issue."""
        ready = warp.ready
        start = max([warp.next, *(ready.get(register, 0.0) for register in step.reads)])
        if step.guard is not None:
            start = max(start, ready.get(step.guard, 0.0) + self.timing.guard)
        if not cost.slots:
            return warp.next
        start = max(start, self.engines.issue[warp.quarter])
        return start if cost.port is Port.NONE else max(start, self.engines.port_free(cost.port, warp))

    def _issue(self, warp: Warp, part: Part, step: Step, cost: StepCost, start: float) -> None:
        if cost.slots:
            quarter = warp.quarter
            self.engines.issue[quarter] = max(self.engines.issue[quarter], start) + cost.slots
            warp.next = start + cost.slots
            if cost.port is not Port.NONE:
                self.engines.take_port(cost.port, warp, start + cost.interval)
        perform(self, Issue(warp, part, step, cost, start))

    # What others wait for ---------------------------------------------------------------------------------------------

    def arrive(self, address: int, lanes: int, time: float) -> None:
        """`lanes` arrivals count now."""
        self.mbarriers[address].left -= lanes
        self._settle(address, time)

    def receive(self, address: int, size: int, time: float) -> None:
        """`size` bytes have come."""
        self.mbarriers[address].bytes -= size
        self._settle(address, time)

    def _settle(self, address: int, time: float) -> None:
        for waiting in self.mbarriers[address].settle(time):
            self.release(waiting, time)

    def release(self, waiting: Waiting, time: float) -> None:
        """A warp sees that its phase is over."""
        warp = waiting.warp
        warp.blocked = False
        warp.next = max(warp.next, time + waiting.wake)
        self.at(warp.next, warp)


def run_together(blocks: Sequence[Multiprocessor]) -> float:
    """The cycle in which the last warp of blocks with one agenda ends. Raises `StuckError`."""
    agenda = blocks[0].agenda
    for _ in range(MOST_EVENTS):
        if not agenda.entries:
            break
        time, _, block, event = heappop(agenda.entries)
        block.follow(event, time)
    warps = [warp for block in blocks for warp in block.warps]
    waiting = [warp for warp in warps if not warp.done]
    if waiting:
        places = ", ".join(f"warp {warp.number} in block {warp.parts[-1].block}" for warp in waiting)
        raise StuckError(f"it does not end: {places}")
    return max(warp.next for warp in warps)
