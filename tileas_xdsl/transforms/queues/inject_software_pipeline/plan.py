"""
Everything that is decided about one loop before it is rewritten.

Enters the components of a loop and its annotations; leaves versions, groups, waits and drains, or a refusal. What is
arithmetic is done by `scheduling/async_pipeline`, what is a fact by `analysis`.

Stages and orders have to keep every dependence. Component `x` runs iteration `j` at time `(j + stage, order)`. A
conflict from `p` in iteration `j` to `c` in iteration `j + d` goes forward when `p` is earlier: `s_p < s_c + d`, or
`s_p = s_c + d` and `o_p < o_c`. A buffer whose reads the same iteration has not all written before has no versions, so
its conflicts between iterations count. The texts of TVM's errors are kept, since people search for them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from tileas_xdsl.analysis.component_conflicts import ComponentConflict, conflicts_between, touches_of
from tileas_xdsl.analysis.dependence import DependenceKind
from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.analysis.thread_dependence import differs_between_threads
from tileas_xdsl.diagnostics import Diagnostic, RefusedError, Severity, op_name, refuse
from tileas_xdsl.dialects.async_queue import CommitOp, ScopeOp, WaitOp
from tileas_xdsl.dialects.async_queue_annotations import Annotations
from tileas_xdsl.scheduling.async_pipeline.groups import Groups, cut_groups
from tileas_xdsl.scheduling.async_pipeline.model import AsyncPipeline, Need
from tileas_xdsl.scheduling.async_pipeline.waits import WaitPlan, plan_waits, undrained_queues
from tileas_xdsl.transforms.queues.inject_software_pipeline.buffers import Buffers, find_buffers
from tileas_xdsl.transforms.queues.inject_software_pipeline.components import LoopBody, placements_of
from tileas_xdsl.transforms.queues.inject_software_pipeline.own_commits import OwnQueue


def check_nesting(body: LoopBody, annotations: Annotations) -> None:
    """Raises `RefusedError` for an asynchronous component that itself issues, commits or waits."""
    for number, component in enumerate(body.components):
        if not annotations.is_async(number):
            continue
        for op in component.walk():
            if isinstance(op, ScopeOp | CommitOp | WaitOp):
                refuse(
                    component,
                    f"is asynchronous, in stage {annotations.stages[number]}, and holds '{op_name(op)}': Nested async "
                    "scopes not supported",
                    "put the component into a stage that is not asynchronous, or its asynchronous part into a "
                    "component of its own",
                )


def check_conflicts(
    body: LoopBody, annotations: Annotations, conflicts: Sequence[ComponentConflict], buffers: Buffers
) -> None:
    """Raises `RefusedError` for the first conflict that would run backward."""
    placements = placements_of(annotations)
    for conflict in conflicts:
        if not placements[conflict.source].precedes(placements[conflict.sink], conflict.distance):
            _refuse_conflict(body, annotations, conflict, buffers)


def _way_out_of_versions(buffer: object, conflict: ComponentConflict) -> str:
    """
    What lets iterations have versions of `buffer`, which only the loop uses. Where threads share the copies, the text
    of one thread cannot show that together they write all that is read.
    """
    if isinstance(buffer, SSAValue) and any(
        isinstance(operand.type, IndexType) and differs_between_threads(operand)
        for use in buffer.uses
        for operand in use.operation.operands
    ):
        return (
            f"if all threads together write in each iteration what it reads, allocate {conflict.through} in the body "
            "of the loop, which gives each iteration a buffer of its own; or put both statements into one stage"
        )
    return "write all of the buffer in each iteration before reading it, or put both statements into one stage"


def _refuse_conflict(
    body: LoopBody, annotations: Annotations, conflict: ComponentConflict, buffers: Buffers
) -> NoReturn:
    source, sink = conflict.source, conflict.sink
    component = body.components[sink]
    early, late = annotations.stages[sink], annotations.stages[source]
    if conflict.distance == 0 and early < late:
        refuse(
            component,
            f"statement {sink} in stage {early} cannot depends on statement {source} in a later stage {late}: "
            f"{conflict}",
            f"give statement {sink} stage {late} or a later one",
        )
    if conflict.distance == 0:
        refuse(
            component,
            "two statements with buffer access dependency in the same stage of the software pipeline cannot be "
            f"reordered: statement {sink} would run before statement {source}, both in stage {late}: {conflict}",
            f"give statement {source} a lower order than statement {sink}",
        )
    latest = early + conflict.distance
    buffer = conflict.through.key if conflict.through is not None else None
    uncovered = next((read for value, read in buffers.uncovered.items() if value is buffer), None)
    if uncovered is not None:
        reason = (
            f"may read what an earlier iteration left in {conflict.through}, so iterations can't have versions of "
            f"their own, and statement {sink} in stage {early} would run before what it depends on, statement {source} "
            f"of an earlier iteration in stage {late}: {conflict}"
        )
        raise RefusedError([Diagnostic(Severity.ERROR, uncovered, reason, _way_out_of_versions(buffer, conflict))])
    if conflict.through is None:
        refuse(
            component,
            f"statement {sink} in stage {early} would run before statement {source} of an earlier iteration in stage "
            f"{late}, and one of them holds an op of which nothing is known: {conflict}",
            "put both statements into one stage, or use ops that say what they read and write",
        )
    refuse(
        component,
        f"statement {sink} in stage {early} would run before what it depends on, statement {source} of an earlier "
        f"iteration in stage {late}: {conflict}",
        f"give statement {source} at most stage {latest - 1}, or stage {latest} and an order below that of statement "
        f"{sink}; or use the buffer in this loop alone and write all of it in each iteration before reading it, so "
        "that iterations can have versions of their own",
    )


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
