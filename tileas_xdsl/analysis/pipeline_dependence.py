"""
The dependence edges that pipelines add to a loop body (`analysis/dependence.py`).

Each side of a pipeline takes its stages in order, so the ops of one side keep their order: they all touch one resource.
Between the sides there are three kinds of edges:

    produce (commits)   -> consume (waits)      distance 0     the stage must be published before it is taken
    use of a read view  -> op that releases     distance 0     the slot may be overwritten from then on; an
                                                               asynchronous use ends with the wait for it
    op that releases    -> produce (acquires)   distance d     the slot comes round again after `depth` stages

With `m` stages produced per iteration and `n` slots, the release of stage `r` of an iteration precedes the acquire of
stage `(r + n) mod m`, `(r + n) div m` iterations later. A schedule that breaks an edge of the last kind has fewer slots
than stages in flight. Where only one side is in the loop, the other is in another agent, which fills or empties a stage
again once it was given up: what gives up stage `r` precedes what takes stage `r + n`.

Where a step stands in a branch or in a nested loop, the number of stages per iteration is unknown. Then the two sides
keep their order relative to each other: what comes first in the body comes first in time.

A remainder by a constant is a turn on a ring when the number cannot be negative, or the slots divide two to the width,
or the remainder is signed; else it may be any slot. Where inner loops or branches take turns on a pipeline nobody
counts them: each side keeps its place among the ops of the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue, Use

from tileas_xdsl.analysis.dependence import DependenceEdge, DependenceKind
from tileas_xdsl.analysis.loop_values import LoopValues
from tileas_xdsl.analysis.memory.awaited import works_behind
from tileas_xdsl.analysis.memory.effects import name_of
from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.analysis.pipeline_steps import own_steps
from tileas_xdsl.analysis.value_flow import carried_to
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ConsumeOp, ProduceOp, RegionOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    ProducerAcquireOp,
    ProducerCommitOp,
    ProducerWriteOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nv_tileas.types import is_token
from tileas_xdsl.dialects.tiles.traits import is_view, names_bytes_of_operand

WITHOUT_A_STEP = (ProducerWriteOp, ConsumerReadOp)
"""Ops that use a stage but neither acquire, commit, wait for nor release it."""


def _pipelines_of(op: Operation, roots: PipelineRoots) -> Mapping[PipelineRoot | None, int]:
    """
    The pipelines that `op` works on, each with the number of its stages that it stands for: one of one pipeline, except
    that a commit or release may have tokens of several.
    """
    if isinstance(op, ProducerCommitOp | ConsumerReleaseOp):
        return Counter(roots.of(token) for token in op.tokens)
    return {roots.of_op(op): 1}


@dataclass
class Sides:
    """The ops in a loop body that advance the stages of one pipeline, by side, in program order."""

    root: PipelineRoot
    acquires: list[Operation] = field(default_factory=list[Operation])
    commits: list[Operation] = field(default_factory=list[Operation])
    waits: list[Operation] = field(default_factory=list[Operation])
    releases: list[Operation] = field(default_factory=list[Operation])
    views: dict[Operation, list[Operation]] = field(default_factory=dict[Operation, list[Operation]])
    """Op that takes a stage -> the ops of the body that use a view of it."""
    writes: list[Operation] = field(default_factory=list[Operation])
    """The ops of the body that fill a stage."""
    countable: bool = True
    """Whether each step happens exactly once in every iteration."""


def pipeline_edges(values: LoopValues) -> Iterator[DependenceEdge]:
    """The edges of all pipelines in the loop. For each pipeline linear in the size of the body."""
    for sides in sides_by_root(values).values():
        name = name_of(sides.root)
        if sides.countable:
            yield from _publication(values, sides, name)
            yield from _slot_reuse(sides, name)
            yield from _next_lap(sides.root.depth, sides.waits, sides.releases, name, bool(sides.acquires))
            yield from _next_lap(sides.root.depth, sides.acquires, sides.commits, name, bool(sides.waits))
        else:
            yield from _in_turn(values, sides.commits, sides.waits, DependenceKind.TOKEN, name)
            yield from _in_turn(values, sides.releases, sides.acquires, DependenceKind.ANTI, name)
        yield from _before_given_up(values, sides, name)
        for users in sides.views.values():
            for user in (*users, *_waits_for(users, values)):
                yield from (
                    DependenceEdge(user, r, DependenceKind.ANTI, 0, name)
                    for r in sides.releases
                    if _after(values, user, r)
                )


def _before_given_up(values: LoopValues, sides: Sides, name: str) -> Iterator[DependenceEdge]:
    """A stage is written before it is committed, and read before it is released, whichever tokens the ops take."""
    for uses, gives in ((sides.writes, sides.commits), (sides.views, sides.releases)):
        for use in uses:
            if use in gives:
                continue
            later = (give for give in gives if _after(values, use, give))
            if (first := next(later, None)) is not None:
                yield DependenceEdge(use, first, DependenceKind.ANTI, 0, name)


def _waits_for(users: Sequence[Operation], values: LoopValues) -> list[Operation]:
    """The waits of the body for those of `users` that read asynchronously: until then they still use the view."""
    products = {user for user in users if isinstance(user, AsyncDotOp)}
    if not products:
        return []
    waits = (op for op in values.ops if isinstance(op, AsyncWaitOp))
    return [wait for wait in waits if products.intersection(works_behind(wait.token) or ())]


def _publication(values: LoopValues, sides: Sides, name: str) -> Iterator[DependenceEdge]:
    for commit, wait in zip(sides.commits, sides.waits, strict=False):
        if commit is not wait and _after(values, commit, wait):
            yield DependenceEdge(commit, wait, DependenceKind.TOKEN, 0, name)


def _in_turn(
    values: LoopValues, first: Sequence[Operation], second: Sequence[Operation], kind: DependenceKind, name: str
) -> Iterator[DependenceEdge]:
    """
    Edges that put every op of `second` after the ops of `first` that precede it in the body, and after those of earlier
    iterations.

    The ops of each side keep their order anyway, so an edge from the nearest op suffices.
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
            yield DependenceEdge(earlier, op, kind, 0, name)
    if _after(values, second[0], first[-1]):
        yield DependenceEdge(first[-1], second[0], kind, 1, name)


def _after(values: LoopValues, first: Operation, second: Operation) -> bool:
    return values.position[first] < values.position[second]


def _slot_reuse(sides: Sides, name: str) -> Iterator[DependenceEdge]:
    depth, per_iteration = sides.root.depth, len(sides.acquires)
    if depth is None or per_iteration == 0 or len(sides.releases) != per_iteration:
        return
    for number, release in enumerate(sides.releases):
        distance, index = divmod(number + depth, per_iteration)
        acquire = sides.acquires[index]
        if acquire is not release:
            yield DependenceEdge(release, acquire, DependenceKind.ANTI, distance, name)


def _next_lap(
    depth: int | None, takes: Sequence[Operation], gives: Sequence[Operation], name: str, has_other_side: bool
) -> Iterator[DependenceEdge]:
    """The edges of a side that is alone in the loop: a slot is given up before it comes round again."""
    if depth is None or has_other_side or not takes or len(takes) != len(gives):
        return
    for number, give in enumerate(gives):
        distance, index = divmod(number + depth, len(takes))
        if takes[index] is not give:
            yield DependenceEdge(give, takes[index], DependenceKind.ANTI, distance, name)


def sides_by_root(values: LoopValues) -> dict[PipelineRoot, Sides]:
    """The pipelines that the body works on, and which of its ops take and give up their stages."""
    found: dict[PipelineRoot, Sides] = {}
    roots = PipelineRoots()
    for op in values.ops:
        for inner in op.walk():
            if not isinstance(inner, ClassifiedOp):
                continue
            for root, stages in _pipelines_of(inner, roots).items():
                if root is not None:
                    sides = found.setdefault(root, Sides(root))
                    _sort_in(sides, op, inner, stages)
                    sides.countable &= isinstance(inner, WITHOUT_A_STEP) or _happens_once(op, inner)
    return found


def _happens_once(op: Operation, inner: Operation) -> bool:
    """Whether `inner`, which is or lies in the body op `op`, runs exactly once when `op` does."""
    if inner is op:
        return True
    around = inner.parent_op()
    return isinstance(around, RegionOp) and _happens_once(op, around)


def _sort_in(sides: Sides, op: Operation, inner: ClassifiedOp, stages: int) -> None:
    """Record the steps of `inner`, which is the body op `op` or nested in it, and stands for so many stages."""
    takes, gives = False, False
    if isinstance(inner, ProduceOp | ConsumeOp):
        steps = own_steps(inner)
        takes, gives = steps.takes, steps.gives
    if isinstance(inner, ProducerAcquireOp) or (takes and isinstance(inner, ProduceOp)):
        sides.acquires.append(op)
    if isinstance(inner, ProducerCommitOp) or (gives and isinstance(inner, ProduceOp)):
        sides.commits.extend([op] * stages)
    if isinstance(inner, ConsumerWaitOp) or (takes and isinstance(inner, ConsumeOp)):
        sides.waits.append(op)
    if isinstance(inner, ConsumerReleaseOp) or (gives and isinstance(inner, ConsumeOp)):
        sides.releases.extend([op] * stages)
    if isinstance(inner, ProduceOp | ProducerWriteOp) and inner is op:
        sides.writes.append(op)
    if isinstance(inner, ConsumeOp | ConsumerReadOp) and inner is op:
        sides.views[op] = _users_of_views(op)


def _users_of_views(op: Operation) -> list[Operation]:
    """The ops of the block that use a view result of `op`, also through views of it, branches and inner loops."""
    users: dict[Operation, None] = {}
    stack: list[SSAValue] = [result for result in op.results if not is_token(result.type) and is_view(result)]
    seen = set(stack)
    while stack:
        for use in stack.pop().uses:
            user = _in_block(use.operation, op)
            if user is None:
                continue
            users[user] = None
            for name in _names_of_view(use, op):
                if name not in seen:
                    seen.add(name)
                    stack.append(name)
    return list(users)


def _names_of_view(use: Use, op: Operation) -> Sequence[SSAValue]:
    """The values that are names of the used view, or of a part of it, within an iteration of the block of `op`."""
    if names_bytes_of_operand(use.operation):
        return use.operation.results
    return [name for name in carried_to(use) or () if name.owner is not op.parent_block() and _is_inside(name, op)]


def _is_inside(name: SSAValue, sibling: Operation) -> bool:
    """Whether an op of the block of `sibling` makes a value, or holds the op that does."""
    maker = name.owner if isinstance(name.owner, Operation) else name.owner.parent_op()
    return maker is not None and _in_block(maker, sibling) is not None


def _in_block(op: Operation, sibling: Operation) -> Operation | None:
    """The ancestor of `op`, or itself, in the block of `sibling`."""
    node: Operation | None = op
    while node is not None and node.parent_block() is not sibling.parent_block():
        node = node.parent_op()
    return node
