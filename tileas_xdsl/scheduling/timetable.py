"""
The timetable of a pipelined loop: which slots there are, and on which iteration each stage works in them.

One model serves everything that peels and overlaps loops: the loop expander copies ops by it, and the analysis of waits
counts groups by it. With `S` stages, `M = S - 1`, and `N` iterations numbered from 0, time runs in slots `t = 0 .. N +
M - 1`. In slot `t` stage `s` works on iteration `t - s`, if there is one. The slots form sections:

| section | slots | iterations count from |
|---|---|---|
| prologue | `t = 0 .. M - 1`, unrolled | the first, 0 |
| kernel | one for all `t = M .. N - 1`, a loop of `N - M` trips | that of the last stage, at the induction variable |
| epilogue | `e = 0 .. M - 1`, that is `t = N + e`, unrolled | `N`: the last one is -1 |

All numbers are relative to the section, so that they are constants whatever the trip count is. A kernel that *drains
itself* goes on to slot `N + M - 1`, with its ops predicated; then there is no epilogue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property


class Section(Enum):
    """The three sections of a pipelined loop."""

    PROLOGUE = "prologue"
    KERNEL = "kernel"
    EPILOGUE = "epilogue"


@dataclass(frozen=True)
class TimeSlot:
    """One slot of a section, numbered from 0 in it; the kernel has one."""

    section: Section
    number: int


@dataclass(frozen=True)
class Timetable:
    """The slots of a loop whose first stage runs `lead` slots ahead of its last one."""

    lead: int
    """`M`."""
    trip_count: int | None = None
    """`N`, where it is known."""
    drains_itself: bool = False
    """Whether the kernel runs until the last stage is done, rather than until the first is."""

    def slots(self) -> Iterator[TimeSlot]:
        """The slots that are emitted, in order."""
        yield from self.prologue
        if self.kernel is not None:
            yield self.kernel
        yield from self.epilogue

    @cached_property
    def prologue(self) -> tuple[TimeSlot, ...]:
        """The slots that may run before the kernel begins."""
        count = self.lead
        if self.trip_count is not None and not self.drains_itself:
            count = min(count, self.trip_count)
        return tuple(TimeSlot(Section.PROLOGUE, number) for number in range(count))

    @cached_property
    def kernel(self) -> TimeSlot | None:
        """The slot of the kernel; None where the trip count is known to leave the kernel no trip."""
        is_empty = self.trip_count is not None and self.trip_count <= self.lead and not self.drains_itself
        return None if is_empty else TimeSlot(Section.KERNEL, 0)

    @cached_property
    def epilogue(self) -> tuple[TimeSlot, ...]:
        """The slots after the kernel; none where the kernel drains itself."""
        return tuple(TimeSlot(Section.EPILOGUE, number) for number in range(0 if self.drains_itself else self.lead))

    def iteration(self, slot: TimeSlot, stage: int) -> int:
        """The iteration that `stage` works on in `slot`, counted relative to the section as in the module's table."""
        return slot.number - stage + (self.lead if slot.section is Section.KERNEL else 0)

    def trips_needed(self, slot: TimeSlot, iteration: int) -> int:
        """The least trip count for which `iteration` exists, counted as in `slot`; for the kernel, in its last trip."""
        match slot.section:
            case Section.PROLOGUE:
                return iteration + 1
            case Section.KERNEL:
                return (0 if self.drains_itself else self.lead) + 1 - iteration
            case Section.EPILOGUE:
                return -iteration

    def may_exist(self, slot: TimeSlot, iteration: int) -> bool:
        """Whether `iteration`, counted as in `slot`, exists for at least one possible trip count."""
        if slot.section is Section.PROLOGUE and iteration < 0:
            return False
        if slot.section is Section.EPILOGUE and iteration >= 0:
            return False
        return self.trip_count is None or self.trips_needed(slot, iteration) <= self.trip_count
