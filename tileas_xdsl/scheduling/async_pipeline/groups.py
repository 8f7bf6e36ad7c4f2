"""
Which asynchronous components are committed together.

A group is a maximal run of neighbours in the order of the slot, all of one stage, none of which conflicts with another:

    order     copy A   copy B   use (stage 3)   copy C        stage 0 is asynchronous
    groups    { copy A, copy B }                { copy C }

A component of another stage, or a conflict with a member of the open group, starts a new group. The partition depends
on the annotations and the conflicts only, not on the slot. So prologue, body and epilogue all commit the same groups,
and counting slots is counting groups. The interleaved example of TVM RFC 0077 commits one group per iteration in the
prologue and two in the body. Its wait count then holds for the body only, and the first iteration reads copies that are
still in flight; this is why the partition here never differs between sections.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Groups:
    """The groups that each queue gets in one slot, in the order of their commits."""

    of_queue: Mapping[int, tuple[tuple[int, ...], ...]]
    """Queue -> groups -> components in order. The queue id of an asynchronous stage is the number of the stage."""
    order: tuple[int, ...]
    """The place of each component in the slot."""

    @cached_property
    def _index(self) -> dict[int, int]:
        return {
            component: index
            for groups in self.of_queue.values()
            for index, group in enumerate(groups)
            for component in group
        }

    @cached_property
    def _queue(self) -> dict[int, int]:
        return {c: queue for queue, groups in self.of_queue.items() for group in groups for c in group}

    def queue_of(self, component: int) -> int:
        """The queue that a component commits to."""
        return self._queue[component]

    def count(self, queue: int) -> int:
        """The number of groups that the queue gets in a slot in which its components are active."""
        return len(self.of_queue[queue])

    def index_of(self, component: int) -> int:
        """The index, from 0, of a component's group among those of its queue in a slot."""
        return self._index[component]

    def closed_before(self, queue: int, place: int) -> int:
        """The number of groups of the queue that are committed in a slot before the component at `place` begins."""
        return sum(self.order[group[-1]] < place for group in self.of_queue[queue])


def cut_groups(
    stages: Sequence[int],
    order: Sequence[int],
    async_stages: Sequence[int],
    conflicts: Collection[tuple[int, int]],
) -> Groups:
    """
    The groups of each of `async_stages`.

    `conflicts` holds the pairs of components that touch the same bytes in one iteration, one of them writing; in either
    order. Linear in the number of components, times the length of a group.
    """
    emission = sorted(range(len(order)), key=order.__getitem__)
    return Groups(
        {stage: _cut(stages, emission, stage, conflicts) for stage in async_stages},
        tuple(order),
    )


def _cut(
    stages: Sequence[int], emission: Sequence[int], stage: int, conflicts: Collection[tuple[int, int]]
) -> tuple[tuple[int, ...], ...]:
    groups: list[list[int]] = []
    open_group: list[int] = []
    for component in emission:
        if stages[component] != stage:
            open_group = []
            continue
        alone = any((member, component) in conflicts or (component, member) in conflicts for member in open_group)
        if alone or not open_group:
            open_group = []
            groups.append(open_group)
        open_group.append(component)
    return tuple(tuple(group) for group in groups)
