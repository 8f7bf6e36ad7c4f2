"""
Slots, and how many groups are committed and needed in them.

All numbers of a slot are relative to where the slot is, so that they are constants whatever the trip count is:

| section | slot | iterations count from | groups of a stage count from |
|---|---|---|---|
| prologue | `t = 0 .. M - 1` | the first, 0 | the first |
| body | one for all `t = M .. N - 1` | `t` | what the stage would have committed in `t` slots |
| epilogue | `e = 0 .. M - 1`, that is `t = N + e` | `N` | all `N` iterations' groups |

`M` is the last stage. A prologue slot runs only where `N > t`, and a component of the epilogue only where its iteration
is not below 0: then both splits hold for every `N` (spec/async-queue-pipeline.md 4.1 and 5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from tileas_xdsl.scheduling.async_pipeline.groups import Groups


class Section(Enum):
    """The three parts of a pipelined loop, by the names of the loop expander."""

    PROLOGUE = "prologue"
    BODY = "kernel"
    EPILOGUE = "epilogue"


@dataclass(frozen=True)
class Slot:
    """One slot of a section, counted from 0 there; the body has one."""

    section: Section
    number: int


@dataclass(frozen=True)
class Need:
    """
    `consumer` in iteration `j` may start only when what `producer` commits in iteration `j - distance` is complete.

    At distance 0 the producer precedes the consumer in the source; at greater distances the two touch one location that
    both iterations share, or one version of a buffer.
    """

    consumer: int
    producer: int
    distance: int


@dataclass(frozen=True)
class AsyncPipeline:
    """A loop that is to be pipelined, as far as counting goes."""

    stages: tuple[int, ...]
    """Of each component; the lowest is 0."""
    groups: Groups
    needs: tuple[Need, ...]
    trip_count: int | None = None
    """Where it is known."""

    @property
    def order(self) -> tuple[int, ...]:
        """The place of each component in a slot."""
        return self.groups.order

    @cached_property
    def emission(self) -> tuple[int, ...]:
        """The components in the order in which a slot runs them."""
        return tuple(sorted(range(len(self.stages)), key=self.order.__getitem__))

    @property
    def lead(self) -> int:
        """`M`: how many slots the prologue has, and the epilogue."""
        return max(self.stages, default=0)

    # Slots ------------------------------------------------------------------------------------------------------------

    def slots(self) -> Iterator[Slot]:
        """The slots that are emitted, in order."""
        trips = self.trip_count
        for number in range(self.lead if trips is None else min(self.lead, trips)):
            yield Slot(Section.PROLOGUE, number)
        if trips is None or trips > self.lead:
            yield Slot(Section.BODY, 0)
        for number in range(self.lead):
            yield Slot(Section.EPILOGUE, number)

    def active_in(self, slot: Slot) -> Iterator[int]:
        """The components that have an iteration in `slot` for some trip count that is possible, in order."""
        for component in self.emission:
            if self.may_exist(slot, self.iteration(slot, component)):
                yield component

    def iteration(self, slot: Slot, component: int) -> int:
        """The iteration that the component works on in `slot`, counted as the table of the module says."""
        return slot.number - self.stages[component]

    def may_exist(self, slot: Slot, iteration: int) -> bool:
        """Whether an iteration, counted as in `slot`, is one of the loop's for some trip count that is possible."""
        trips = self.trip_count
        match slot.section:
            case Section.PROLOGUE:
                return iteration >= 0 and (trips is None or iteration < trips)
            case Section.BODY:
                # The last slot of the body is N - 1.
                return trips is None or trips - 1 + iteration >= 0
            case Section.EPILOGUE:
                return iteration < 0 and (trips is None or trips + iteration >= 0)

    def surely_with(self, slot: Slot, other: int, component: int) -> bool:
        """Whether `other`, active in `slot`, is so whenever `component` is, for every trip count that is possible."""
        if slot.section is not Section.EPILOGUE or self.trip_count is not None:
            return True
        return self.stages[other] <= self.stages[component]

    # Groups -----------------------------------------------------------------------------------------------------------

    def committed(self, slot: Slot, queue: int, component: int) -> int:
        """How many groups of the queue are committed when `component` begins in `slot`."""
        # The components of a queue are all of one stage.
        iteration = self.iteration(slot, self.groups.of_queue[queue][0][0])
        active = iteration >= 0 if slot.section is Section.PROLOGUE else iteration < 0
        in_slot = self.groups.closed_before(queue, self.order[component])
        if slot.section is Section.BODY or active:
            return self.groups.count(queue) * iteration + in_slot
        return 0

    def required(self, slot: Slot, need: Need) -> int:
        """How many groups of the producer's queue must be complete for `need` in `slot`."""
        queue = self.groups.queue_of(need.producer)
        iteration = self.iteration(slot, need.consumer) - need.distance
        return self.groups.count(queue) * iteration + self.groups.index_of(need.producer) + 1

    def exists(self, slot: Slot, need: Need) -> bool:
        """Whether there is an iteration to need, for some trip count that is possible."""
        return self.may_exist(slot, self.iteration(slot, need.consumer) - need.distance)
