"""
How many groups are committed and needed in each slot of an asynchronous pipeline, and how many versions its buffers
need.

Slots and iterations are those of `scheduling/timetable.py`. Groups are counted like iterations, relative to the
section: in the prologue from the first group of a stage, in the epilogue from the end of all `N` iterations' groups, in
the kernel from the iteration that the last stage works on. So counts are constants whatever the trip count is. A
prologue slot runs only where `N > t`, and an epilogue component only where its iteration is at least 0: under these
guards the counts hold for every `N`.

Overlapping iterations may not share a version of a buffer. TVM's `InjectSoftwarePipeline` counts stages: `last reading
stage - first writing stage + 1`, reduced from 2 to 1 where no writer runs before a reader of a later stage in the same
slot. That is too few for a buffer that is written after its last read, or by several components: version `j mod V` is
used again in iteration `j + V`, so every access to it in iteration `j` must precede that reuse, as in any dependence.
The answer is the larger of the two counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tileas_xdsl.analysis.dependence import Placement
from tileas_xdsl.scheduling.async_pipeline.groups import Groups
from tileas_xdsl.scheduling.timetable import Section, TimeSlot, Timetable


@dataclass(frozen=True)
class Meeting:
    """Component `writer` writes, in a later iteration, what component `other` reads or writes in an earlier one."""

    writer: int
    other: int
    other_reads: bool


def version_count(placements: Sequence[Placement], meetings: Sequence[Meeting]) -> int:
    """
    The number of versions of a buffer with the given conflicts between accesses; 1 where there are none.

    `placements` has the place of each component.
    """
    distances = [placements[m.other].least_distance(placements[m.writer]) for m in meetings if m.other != m.writer]
    return max(1, *distances, _reference_rule(placements, meetings))


def _reference_rule(placements: Sequence[Placement], meetings: Sequence[Meeting]) -> int:
    reads = [meeting for meeting in meetings if meeting.other_reads]
    if not reads:
        return 1
    first_write = min(placements[meeting.writer].stage for meeting in meetings)
    last_read = max(placements[meeting.other].stage for meeting in reads)
    versions = last_read - first_write + 1
    if versions == 2 and not any(
        placements[meeting.writer].stage < placements[meeting.other].stage
        and placements[meeting.writer].order < placements[meeting.other].order
        for meeting in reads
    ):
        return 1
    return max(versions, 1)


@dataclass(frozen=True)
class Need:
    """
    `consumer` in iteration `j` may start only when what `producer` commits in iteration `j - distance` is complete.

    At distance 0 the producer precedes the consumer in the source. At greater distances the two touch one location that
    iterations share, or one version of a buffer.
    """

    consumer: int
    producer: int
    distance: int


@dataclass(frozen=True)
class AsyncPipeline:
    """A loop to be pipelined, reduced to what counting needs."""

    stages: tuple[int, ...]
    """The stage of each component; the lowest is 0."""
    groups: Groups
    needs: tuple[Need, ...]
    trip_count: int | None = None
    """The trip count, where it is known."""

    @property
    def order(self) -> tuple[int, ...]:
        """The place of each component in a slot."""
        return self.groups.order

    @cached_property
    def emission(self) -> tuple[int, ...]:
        """The components in the order in which a slot runs them."""
        return tuple(sorted(range(len(self.stages)), key=self.order.__getitem__))

    # Slots ------------------------------------------------------------------------------------------------------------

    @cached_property
    def timetable(self) -> Timetable:
        """The slots of the loop."""
        return Timetable(max(self.stages, default=0), self.trip_count)

    def active_in(self, slot: TimeSlot) -> Iterator[int]:
        """The components that have an iteration in `slot` for at least one possible trip count, in order."""
        for component in self.emission:
            if self.timetable.may_exist(slot, self.iteration(slot, component)):
                yield component

    def iteration(self, slot: TimeSlot, component: int) -> int:
        """The iteration that the component works on in `slot`, counted as in the timetable."""
        return self.timetable.iteration(slot, self.stages[component])

    def surely_with(self, slot: TimeSlot, other: int, component: int) -> bool:
        """Whether `other`, active in `slot`, is active whenever `component` is, for every possible trip count."""
        if slot.section is not Section.EPILOGUE or self.trip_count is not None:
            return True
        return self.stages[other] <= self.stages[component]

    # Groups -----------------------------------------------------------------------------------------------------------

    def committed(self, slot: TimeSlot, queue: int, component: int) -> int:
        """The number of groups of the queue that are committed when `component` begins in `slot`."""
        # The components of a queue are all of one stage.
        iteration = self.iteration(slot, self.groups.of_queue[queue][0][0])
        active = iteration >= 0 if slot.section is Section.PROLOGUE else iteration < 0
        in_slot = self.groups.closed_before(queue, self.order[component])
        if slot.section is Section.KERNEL or active:
            return self.groups.count(queue) * iteration + in_slot
        return 0

    def required(self, slot: TimeSlot, need: Need) -> int:
        """The number of groups of the producer's queue that must be complete for `need` in `slot`."""
        queue = self.groups.queue_of(need.producer)
        iteration = self.iteration(slot, need.consumer) - need.distance
        return self.groups.count(queue) * iteration + self.groups.index_of(need.producer) + 1

    def exists(self, slot: TimeSlot, need: Need) -> bool:
        """Whether the iteration that `need` refers to exists, for at least one possible trip count."""
        return self.timetable.may_exist(slot, self.iteration(slot, need.consumer) - need.distance)
