"""
What pipelines add to the dependence graph of a loop body (analysis/dependence.py).

Each side of a pipeline takes its stages in order, so its ops keep theirs: they all touch one resource. Between the
sides there are edges:

    produce (commits)   -> consume (waits)      distance 0     the stage must be published before it is taken
    use of a read view  -> op that releases     distance 0     the slot may be overwritten from then on
    op that releases    -> produce (acquires)   distance d     the slot comes round again after `depth` stages

With `m` stages produced per iteration and `n` slots, the release of the stage number `r` of an iteration precedes the
acquire of the stage number `(r + n) mod m`, `(r + n) div m` iterations later. A schedule that breaks one of the last
edges has fewer slots than stages in flight.

Where one of these steps stands in a branch or in a loop of its own, nobody knows how many there are in an iteration.
Then each side keeps its place among those of the other: what comes first in the body comes first in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.dependence import DependenceKind, Edge
from tileas_xdsl.analysis.loop_values import LoopValues
from tileas_xdsl.analysis.memory_access import (
    AccessModel,
    Effect,
    OwnsStorage,
    Resource,
    access_model_for_loop,
    own_storage_for_loop,
)
from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.analysis.pipeline_steps import own_steps
from tileas_xdsl.dialects.nv_tileaa.effects import ViewOfOperand as ViewOfTile
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ConsumeOp, ProduceOp, RegionOp
from tileas_xdsl.dialects.nv_tileas.effects import ViewOfOperand, is_view
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    CreatePipelineOp,
    ProducerAcquireOp,
    ProducerCommitOp,
    ProducerWriteOp,
)
from tileas_xdsl.dialects.nv_tileas.types import is_token

VIEW_TRAITS = (ViewOfOperand, ViewOfTile)
"""What ops of either dialect have whose result names bytes of their first operand."""

PRODUCER_OPS = (ProduceOp, ProducerAcquireOp, ProducerWriteOp, ProducerCommitOp)
"""Ops of the producer's side; all other classified ops are of the consumer's."""

WITHOUT_A_STEP = (ProducerWriteOp, ConsumerReadOp)
"""Ops that use a stage and neither take nor give it."""

PIPELINE_OPS = tuple(
    f"nv_tileas.async.pipeline.{name}"
    for name in (
        "produce_one",
        "produce_one_async",
        "producer_acquire",
        "producer_write",
        "producer_commit",
        "consume_one",
        "consume_one_async",
        "consumer_wait",
        "consumer_read",
        "consumer_release",
    )
)


def _pipelines_of(op: Operation, roots: PipelineRoots) -> list[PipelineRoot | None]:
    """The pipelines that `op` works on: one, but for a commit or release of several."""
    if isinstance(op, ProducerCommitOp | ConsumerReleaseOp):
        return list(dict.fromkeys(roots.of(token) for token in op.tokens))
    return [roots.of_op(op)]


def _name_of(root: PipelineRoot | None) -> str:
    """The pipeline as people know it: by the number that its copies share, or by its SSA name."""
    if root is None:
        return "an unknown pipeline"
    if isinstance(root.key, int):
        return f"pipeline {root.key}"
    name = root.key.results[0].name_hint if root.key.results else None
    return f"pipeline %{name}" if name else "an unnamed pipeline"


def _side(root: PipelineRoot | None, op: Operation) -> Resource:
    """The side of the pipeline that `op` is on. One whose pipeline is not known takes turns with all such ops."""
    side = "producer" if isinstance(op, PRODUCER_OPS) else "consumer"
    return Resource(f"the {side}'s side of {_name_of(root)}", None if root is None else root.key)


@access_model_for_loop(*PIPELINE_OPS)
def _turns() -> AccessModel:
    """A pipeline op does nothing to memory by itself, and keeps its place among the ops of its side."""
    roots = PipelineRoots()
    return lambda op: [Effect(True, _side(root, op)) for root in _pipelines_of(op, roots)]


@access_model_for_loop("nv_tileas.async.wait", "nv_tileas.async.future_wait")
def _waits() -> AccessModel:
    """A wait for a stage orders through its token; any other wait may be what makes some memory readable."""
    roots = PipelineRoots()
    return lambda op: [] if roots.of(op.operands[0]) is not None else [Effect(True, None)]


@own_storage_for_loop(
    "nv_tileas.async.pipeline.consume_one",
    "nv_tileas.async.pipeline.consume_one_async",
    "nv_tileas.async.pipeline.consumer_read",
)
def _unnamed_slots() -> OwnsStorage:
    """What is read out of a slot is nobody else's memory, unless the pipeline was given a buffer."""
    roots = PipelineRoots()

    def lies_in_unnamed_slot(op: Operation) -> bool:
        root = roots.of_op(op)
        return root is not None and not (isinstance(root.op, CreatePipelineOp) and root.op.buffers)

    return lies_in_unnamed_slot


@dataclass
class _Sides:
    """The ops of one pipeline in a loop body that move its stages on, in program order."""

    root: PipelineRoot
    acquires: list[Operation] = field(default_factory=list[Operation])
    commits: list[Operation] = field(default_factory=list[Operation])
    waits: list[Operation] = field(default_factory=list[Operation])
    releases: list[Operation] = field(default_factory=list[Operation])
    views: dict[Operation, list[Operation]] = field(default_factory=dict[Operation, list[Operation]])
    """Op that takes a stage -> ops of the body that use a view of it."""
    countable: bool = True
    """Whether each step happens once in every iteration."""


def pipeline_edges(values: LoopValues) -> Iterator[Edge]:
    """The edges that the pipelines in the loop add. Linear in the body for each pipeline."""
    for sides in _sides_by_root(values).values():
        name = _name_of(sides.root)
        if sides.countable:
            yield from _publication(values, sides, name)
            yield from _slot_reuse(sides, name)
        else:
            yield from _in_turn(values, sides.commits, sides.waits, DependenceKind.TOKEN, name)
            yield from _in_turn(values, sides.releases, sides.acquires, DependenceKind.ANTI, name)
        for users in sides.views.values():
            for user in users:
                yield from (
                    Edge(user, r, DependenceKind.ANTI, 0, name) for r in sides.releases if _after(values, user, r)
                )


def _publication(values: LoopValues, sides: _Sides, name: str) -> Iterator[Edge]:
    for commit, wait in zip(sides.commits, sides.waits, strict=False):
        if commit is not wait and _after(values, commit, wait):
            yield Edge(commit, wait, DependenceKind.TOKEN, 0, name)


def _in_turn(
    values: LoopValues, first: Sequence[Operation], second: Sequence[Operation], kind: DependenceKind, name: str
) -> Iterator[Edge]:
    """
    Every op of `second` comes after those of `first` that precede it in the body, and after those of iterations before.

    The ops of each side keep their order anyhow, so the nearest one is enough.
    """
    if not first or not second:
        return
    earlier: Operation | None = None
    upcoming = iter(first)
    candidate = next(upcoming, None)
    for op in second:
        while candidate is not None and _after(values, candidate, op):
            earlier, candidate = candidate, next(upcoming, None)
        if earlier is not None:
            yield Edge(earlier, op, kind, 0, name)
    if _after(values, second[0], first[-1]):
        yield Edge(first[-1], second[0], kind, 1, name)


def _after(values: LoopValues, first: Operation, second: Operation) -> bool:
    return values.position[first] < values.position[second]


def _slot_reuse(sides: _Sides, name: str) -> Iterator[Edge]:
    depth, per_iteration = sides.root.depth, len(sides.acquires)
    if depth is None or per_iteration == 0 or len(sides.releases) != per_iteration:
        return
    for number, release in enumerate(sides.releases):
        distance, index = divmod(number + depth, per_iteration)
        acquire = sides.acquires[index]
        if acquire is not release:
            yield Edge(release, acquire, DependenceKind.ANTI, distance, name)


def _sides_by_root(values: LoopValues) -> dict[PipelineRoot, _Sides]:
    found: dict[PipelineRoot, _Sides] = {}
    roots = PipelineRoots()
    for op in values.ops:
        for inner in op.walk():
            if not isinstance(inner, ClassifiedOp):
                continue
            for root in _pipelines_of(inner, roots):
                if root is not None:
                    sides = found.setdefault(root, _Sides(root))
                    _sort_in(sides, op, inner, roots)
                    sides.countable &= isinstance(inner, WITHOUT_A_STEP) or _happens_once(op, inner)
    return found


def _happens_once(op: Operation, inner: Operation) -> bool:
    """Whether `inner`, which is or lies in the body op `op`, runs exactly once when `op` does."""
    if inner is op:
        return True
    around = inner.parent_op()
    return isinstance(around, RegionOp) and _happens_once(op, around)


def _sort_in(sides: _Sides, op: Operation, inner: ClassifiedOp, roots: PipelineRoots) -> None:
    """Note which steps `inner`, which is or lies in the body op `op`, does."""
    takes, gives = False, False
    if isinstance(inner, ProduceOp | ConsumeOp):
        steps = own_steps(inner)
        takes, gives = steps.takes, steps.gives
    if isinstance(inner, ProducerAcquireOp) or (takes and isinstance(inner, ProduceOp)):
        sides.acquires.append(op)
    if isinstance(inner, ProducerCommitOp) or (gives and isinstance(inner, ProduceOp)):
        sides.commits.extend([op] * _stages_of(inner, sides.root, roots))
    if isinstance(inner, ConsumerWaitOp) or (takes and isinstance(inner, ConsumeOp)):
        sides.waits.append(op)
    if isinstance(inner, ConsumerReleaseOp) or (gives and isinstance(inner, ConsumeOp)):
        sides.releases.extend([op] * _stages_of(inner, sides.root, roots))
    if isinstance(inner, ConsumeOp | ConsumerReadOp) and inner is op:
        sides.views[op] = _users_of_views(op)


def _stages_of(op: ClassifiedOp, root: PipelineRoot, roots: PipelineRoots) -> int:
    """How many stages of the pipeline a commit or release stands for: one for each token of it."""
    if not isinstance(op, ProducerCommitOp | ConsumerReleaseOp):
        return 1
    return sum(roots.of(token) == root for token in op.tokens)


def _users_of_views(op: Operation) -> list[Operation]:
    """The ops of the block that use a view result of `op`, also through views of it."""
    users: dict[Operation, None] = {}
    stack: list[SSAValue] = [result for result in op.results if not is_token(result.type) and is_view(result)]
    while stack:
        for use in stack.pop().uses:
            user = _in_block(use.operation, op)
            if user is None or user in users:
                continue
            users[user] = None
            if any(use.operation.has_trait(trait, value_if_unregistered=False) for trait in VIEW_TRAITS):
                stack.extend(use.operation.results)
    return list(users)


def _in_block(op: Operation, sibling: Operation) -> Operation | None:
    """The op of the block of `sibling` that is, or holds, `op`."""
    node: Operation | None = op
    while node is not None and node.parent_block() is not sibling.parent_block():
        node = node.parent_op()
    return node
