"""
Everything that is decided about one loop before it is rewritten.

Enters the components of a loop and its annotations; leaves versions, groups, waits and drains, or a refusal. What is
arithmetic is done by `scheduling/async_pipeline`, what is a fact by `analysis`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.ir import SSAValue

from tileas_xdsl.analysis.component_conflicts import ComponentConflict, conflicts_between, touches_of
from tileas_xdsl.analysis.dependence import DependenceKind
from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.dialects.async_queue_annotations import Annotations
from tileas_xdsl.scheduling.async_pipeline.groups import Groups, cut_groups
from tileas_xdsl.scheduling.async_pipeline.model import AsyncPipeline, Need
from tileas_xdsl.scheduling.async_pipeline.waits import WaitPlan, plan_waits, undrained_queues
from tileas_xdsl.transforms.queues.inject_software_pipeline.buffers import find_buffers
from tileas_xdsl.transforms.queues.inject_software_pipeline.components import LoopBody
from tileas_xdsl.transforms.queues.inject_software_pipeline.legality import check_conflicts, check_nesting
from tileas_xdsl.transforms.queues.inject_software_pipeline.own_commits import OwnQueue

SourceCapture = Literal["completion", "issue"]


@dataclass(frozen=True)
class PipelinePlan:
    """The plan for one loop: versions, units, waits, drains and queue numbers."""

    body: LoopBody
    annotations: Annotations
    versions: Mapping[SSAValue, int]
    """The buffers that get more than one version."""
    pipeline: AsyncPipeline
    """Components, groups, versions and waits, with stages that count from 0."""
    units: tuple[tuple[int, ...], ...]
    """
    The components that are emitted together, in order: the groups of asynchronous ones, and the others one by one.
    """
    waits: WaitPlan
    drained: tuple[int, ...]
    """The queues that are drained behind the epilogue."""
    own_queues: Mapping[int, OwnQueue]
    """Those that components fill by themselves, by their keys."""
    first_queue: int
    """The number that is added to a stage, as annotated, to get its queue."""

    def queue_of(self, key: int) -> int:
        """The queue of a stage, counted from 0, or the one with the key of an own queue."""
        if key in self.own_queues:
            return self.own_queues[key].queue
        return self.first_queue + key + min(self.annotations.stages)

    def is_async(self, component: int) -> bool:
        return self.annotations.is_async(component)


def plan_pipeline(
    body: LoopBody,
    annotations: Annotations,
    *,
    capture: SourceCapture = "completion",
    merge: bool = True,
    own_queues: Sequence[OwnQueue] = (),
    first_queue: int = 0,
) -> PipelinePlan:
    """
    Decide how the loop of `body`, of as many components as `annotations` speaks of, is pipelined.

    `capture` says when asynchronous work reads its sources, `merge` whether waits of one slot are merged. `own_queues`
    are those that components fill by themselves. Raises `RefusedError` for a schedule that breaks a dependence, a
    buffer that would need versions and cannot have them, and an asynchronous component that waits or commits.
    """
    loop = body.loop
    check_nesting(body, annotations)
    touches = touches_of(loop, body.components, body.nests)
    buffers = find_buffers(body, annotations, touches)
    conflicts = conflicts_between(loop, touches, buffers.versions, body.nests)
    check_conflicts(body, annotations, conflicts, buffers)
    first_stage = min(annotations.stages, default=0)
    stages = tuple(stage - first_stage for stage in annotations.stages)
    same_iteration = {(c.source, c.sink) for c in conflicts if c.distance == 0}
    async_stages = [stage - first_stage for stage in annotations.async_stages]
    own = {owner.key: owner for owner in own_queues}
    cut = cut_groups(stages, annotations.order, async_stages, same_iteration)
    # Where the number depends, all groups of one execution count as one.
    of_own = {key: ((owner.component,),) * (owner.commits or 1) for key, owner in own.items()}
    groups = Groups({**cut.of_queue, **of_own}, cut.order)
    needs = _needs(conflicts, annotations, {owner.component for owner in own_queues}, capture)
    pipeline = AsyncPipeline(stages, groups, needs, static_trip_count(loop))
    return PipelinePlan(
        body=body,
        annotations=annotations,
        versions={buffer: count for buffer, count in buffers.versions.items() if count > 1},
        pipeline=pipeline,
        units=_units(annotations, cut),
        waits=plan_waits(pipeline, merge=merge),
        drained=undrained_queues(pipeline) if pipeline.trip_count != 0 else (),
        own_queues=own,
        first_queue=first_queue,
    )


def _needs(
    conflicts: Sequence[ComponentConflict], annotations: Annotations, owners: Collection[int], capture: SourceCapture
) -> tuple[Need, ...]:
    """The needs of the components: one for each conflict whose source is asynchronous."""
    needs: dict[Need, None] = {}
    for conflict in conflicts:
        captured = capture == "issue" and conflict.kind is DependenceKind.ANTI
        is_async = annotations.is_async(conflict.source) or (conflict.issued and conflict.source in owners)
        if is_async and not captured:
            needs[Need(conflict.sink, conflict.source, conflict.distance)] = None
    return tuple(needs)


def _units(annotations: Annotations, groups: Groups) -> tuple[tuple[int, ...], ...]:
    leaders = {group[0]: group for of_queue in groups.of_queue.values() for group in of_queue}
    units: list[tuple[int, ...]] = []
    for component in annotations.emission:
        if component in leaders:
            units.append(leaders[component])
        elif not annotations.is_async(component):
            units.append((component,))
    return tuple(units)
