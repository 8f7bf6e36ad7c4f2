"""
Where waits stand, and how many groups each leaves unfinished.

A consumer needs some groups of a queue to be complete. Its wait leaves the youngest `committed - required` groups
unfinished. That is exact: one more would leave the needed group unfinished. A merged wait stands at an earlier consumer
of the slot and covers a later one. It is legal only if all groups that the later one requires are committed by then,
and it counts the groups committed at its own place:

    X; use X (stage 3); Y; use X, Y (stage 1)      alone: wait 6 and wait 2       merged: wait 1 at the first use

A need of the same iteration gets its wait in each slot. A need at a greater distance (a version that is reused, a
location that iterations share) gets a wait only if no wait for a need of the same iteration, in this slot or an earlier
one, has already made the group complete. Otherwise a need that has long been met would force later waits to be
stronger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tileas_xdsl.scheduling.async_pipeline.model import AsyncPipeline
from tileas_xdsl.scheduling.timetable import Section, TimeSlot


@dataclass(frozen=True)
class CountedWait:
    """Leave at most `count` of the youngest groups of the queue unfinished."""

    queue: int
    count: int


@dataclass
class _Point:
    """
    A wait under construction: before `component`, when `committed` groups are committed and `required` must be
    complete.
    """

    component: int
    committed: int
    required: int


WaitPlan = Mapping[TimeSlot, Mapping[int, tuple[CountedWait, ...]]]
"""
Slot -> component -> its waits, one for each queue. Slots that are not emitted and components without waits are absent.
"""


def plan_waits(pipeline: AsyncPipeline, *, merge: bool = True) -> WaitPlan:
    """
    The waits of every slot. `merge=False` keeps each consumer's own wait, which is exact by itself.

    Requires that every need goes forward in time: the consumer runs after the commit. The check of the annotations
    ensures it.
    """
    return {slot: _slot_waits(pipeline, slot, merge) for slot in pipeline.timetable.slots()}


def undrained_queues(pipeline: AsyncPipeline) -> tuple[int, ...]:
    """The queues for whose last groups the pipeline contains no wait."""
    known = {
        pipeline.groups.queue_of(need.producer)
        for need in pipeline.needs
        if need.distance == 0 and _is_last_group(pipeline, need.producer)
    }
    return tuple(queue for queue in pipeline.groups.of_queue if queue not in known)


def _is_last_group(pipeline: AsyncPipeline, producer: int) -> bool:
    return pipeline.groups.index_of(producer) + 1 == pipeline.groups.count(pipeline.groups.queue_of(producer))


def _slot_waits(pipeline: AsyncPipeline, slot: TimeSlot, merge: bool) -> dict[int, tuple[CountedWait, ...]]:
    waits: dict[int, tuple[CountedWait, ...]] = {}
    for queue in pipeline.groups.of_queue:
        for point in _points(pipeline, slot, queue, merge):
            wait = CountedWait(queue, point.committed - point.required)
            waits[point.component] = (*waits.get(point.component, ()), wait)
    return waits


def _points(pipeline: AsyncPipeline, slot: TimeSlot, queue: int, merge: bool) -> list[_Point]:
    """The waits on one queue in one slot, in order."""
    points: list[_Point] = []
    for component in pipeline.active_in(slot):
        required = _requirement(pipeline, slot, queue, component)
        if required is None:
            continue
        point = _Point(component, pipeline.committed(slot, queue, component), required)
        if not (merge and _covered(pipeline, slot, points, point)):
            points.append(point)
    return points


def _covered(pipeline: AsyncPipeline, slot: TimeSlot, points: list[_Point], late: _Point) -> bool:
    """
    Whether an earlier wait of the slot covers `late`; an earlier wait is strengthened where that makes it cover `late`.

    Where the earlier component may be inactive while this one runs (a short loop of unknown trip count), its wait is
    strengthened for the case that both run, and the later component keeps its own wait too.
    """
    sure = [point for point in points if pipeline.surely_with(slot, point.component, late.component)]
    if any(point.required >= late.required for point in sure):
        return True
    for candidates in (sure, points):
        host = next((point for point in candidates if late.required <= point.committed), None)
        if host is not None:
            host.required = max(host.required, late.required)
            return candidates is sure
    return False


def _requirement(pipeline: AsyncPipeline, slot: TimeSlot, queue: int, component: int) -> int | None:
    """
    The number of groups of the queue that must be complete before `component` in `slot`; None where it needs none.
    """
    same_iteration, others = None, None
    for need in pipeline.needs:
        if (
            need.consumer != component
            or pipeline.groups.queue_of(need.producer) != queue
            or not pipeline.exists(slot, need)
        ):
            continue
        required = pipeline.required(slot, need)
        if need.distance == 0:
            same_iteration = required if same_iteration is None else max(same_iteration, required)
        else:
            others = required if others is None else max(others, required)
    if others is not None:
        known = _known(pipeline, slot, queue, component)
        if known is None or known < others:
            return others if same_iteration is None else max(same_iteration, others)
    return same_iteration


def _known(pipeline: AsyncPipeline, slot: TimeSlot, queue: int, component: int) -> int | None:
    """The number of groups that waits for needs of the same iteration have made complete when `component` begins."""
    known: int | None = None
    for need in pipeline.needs:
        if need.distance or pipeline.groups.queue_of(need.producer) != queue:
            continue
        earlier = pipeline.order[need.consumer] < pipeline.order[component]
        last = TimeSlot(slot.section, slot.number if earlier else slot.number - 1)
        iteration = pipeline.iteration(last, need.consumer)
        if slot.section is Section.EPILOGUE:
            iteration = min(iteration, -1)
        if not pipeline.timetable.may_exist(slot, iteration):
            continue
        done = pipeline.groups.count(queue) * iteration + pipeline.groups.index_of(need.producer) + 1
        known = done if known is None else max(known, done)
    return known
