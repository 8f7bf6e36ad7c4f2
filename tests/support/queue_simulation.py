"""
What a pipelined loop commits and needs, slot by slot, by enumeration: an oracle for wait counts.

From the plain data of an `AnnotatedLoop` and the number of versions of its buffers this walks through all slots for one
trip count, numbers the groups of each queue as they are committed, and finds for every instance of a component which
groups it needs. It shares no code and no formula with the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.support.annotated_loops import AnnotatedLoop


@dataclass(frozen=True)
class Instance:
    """One execution of a component: what is committed before it, and which groups it needs, by stage."""

    slot: int
    component: int
    iteration: int
    committed: Mapping[int, int]
    needed: Mapping[int, frozenset[int]]


Counts = Callable[[Instance], Mapping[int, int]]
"""The waits before an instance: stage -> count."""


class Simulation:
    """All instances of a loop under its schedule, in the order in which they run."""

    def __init__(self, loop: AnnotatedLoop, trips: int, versions: Mapping[str, int], *, capture: str) -> None:
        self.loop = loop
        self.trips = trips
        self.versions = versions
        self.capture = capture
        self.schedule = loop.schedule
        self.groups = self._cut()
        self.committed = dict.fromkeys(self.schedule.async_stages, 0)
        """Groups per stage; after `instances` their total."""

    def instances(self) -> Iterator[Instance]:
        stages, emission = self.schedule.stages, self.schedule.emission
        group_of: dict[tuple[int, int], int] = {}
        for slot in range(self.trips + max(stages)):
            for component in emission:
                iteration = slot - stages[component]
                if not 0 <= iteration < self.trips:
                    continue
                needed: dict[int, set[int]] = {}
                for (producer, made_in), group in group_of.items():
                    if self._meet(producer, made_in, component, iteration):
                        needed.setdefault(stages[producer], set()).add(group)
                yield Instance(
                    slot,
                    component,
                    iteration,
                    dict(self.committed),
                    {stage: frozenset(numbers) for stage, numbers in needed.items()},
                )
                group = next((group for group in self.groups if component in group), None)
                if group is None:
                    continue
                group_of[component, iteration] = self.committed[stages[component]] + 1
                if component == group[-1]:
                    self.committed[stages[component]] += 1

    def _cut(self) -> list[list[int]]:
        """Neighbours of one asynchronous stage, cut where two of them touch the same bytes."""
        groups: list[list[int]] = []
        last: int | None = None
        for component in self.schedule.emission:
            if self.schedule.is_async(component):
                joins = last is not None and self.schedule.stages[last] == self.schedule.stages[component]
                if joins and not any(self._touch_alike(member, component) for member in groups[-1]):
                    groups[-1].append(component)
                else:
                    groups.append([component])
            last = component
        return groups

    def _touch_alike(self, first: int, second: int) -> bool:
        components = self.loop.components
        return any(
            cell.array == other.array and cell.index(0) == other.index(0) and (writes or writes_too)
            for cell, writes in components[first].touches
            for other, writes_too in components[second].touches
        )

    def _meet(self, producer: int, made_in: int, consumer: int, iteration: int) -> bool:
        """Whether the consumer, which the sequential loop runs later, must find the producer complete."""
        if (made_in, producer) >= (iteration, consumer):
            return False
        components, loop = self.loop.components, self.loop
        early, late = loop.lower + made_in * loop.step, loop.lower + iteration * loop.step
        for cell, writes in components[producer].touches:
            for other, writes_too in components[consumer].touches:
                if cell.array != other.array or not (writes or writes_too) or cell.index(early) != other.index(late):
                    continue
                if cell.array in loop.private:
                    count = self.versions.get(cell.array, 1)
                    if made_in % count != iteration % count or (made_in != iteration and not writes_too):
                        continue
                if self.capture == "issue" and not writes:
                    continue
                return True
        return False
