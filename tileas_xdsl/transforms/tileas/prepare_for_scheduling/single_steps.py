"""
What an agent takes from a ring becomes single steps, and what it fills is committed stage by stage, in the loops of
agents that the program has.

    %h = consume_one %end, %k { consumer_wait }         %got = consumer_wait %end, %k
    %v = consumer_read %h, %k                           %v, %read = consumer_read %got, %k
    %d = consume_one_async %h                    ->     %s = dot %v, ...
    %s = dot %v, ...                                    consumer_release %read
    %g = consumer_release %d
    async.wait %g

MaterializeAsync gives back what was taken by a token, which is complete once the stage was read. A product that still
reads the slot has to be over by then, so the release takes the token of the read, behind the last use of its own tile.

A loop is taken as a whole: each of its `consume_one` ops must have the shape that MaterializeAsync gives it, with a
tile that stays in the iteration. Else the loop stays as it is.

What an agent fills:

    %p, %f = produce_one_async %in, %k {...}            %p, %f = produce_one_async %in, %k {...}
    %q, %g = produce_one_async %other, %k {...}   ->    producer_commit %f
    %c = producer_commit %f, %g                         %q, %g = produce_one_async %other, %k {...}
    scf.yield (token_to_async %c)                       producer_commit %g

MaterializeAsync commits once for all, behind the last stage. So whoever waits for the first stage waits for a slot of
the last one, too, and two agents that are stages apart may wait for each other. And nobody needs the last token behind
the loop, where the agent does nothing else and others take every stage that it fills (`scheduling/agent_rings.py`); or
where it fills stages with what it has computed in the same turn, for then no load is under way.

    %d = alloc_tensor                               produce_one_async %in, %k {
    copy %v, %d                               ->      %d = alloc_tensor
    produce_one_async %in, %k { yield %d }            copy %v, %d
                                                      yield %d }

What is computed is stored where the stage is filled: then its tile in shared memory is the slot, not one more.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneOp,
    ConsumerReleaseOp,
    ProduceOneAsyncOp,
    ProducerCommitOp,
    ProducerWriteOp,
)
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, CopyOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, TokenToAsyncOp
from tileas_xdsl.dialects.tiles.traits import bytes_of, is_view
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.scheduling.agent_rings import is_taken_whole
from tileas_xdsl.transforms.tileas.compact_stages import (
    CompactTake,
    compact_take,
    erase_take,
    insert_like,
    tiles_into,
    users_of,
    wait_and_read,
)
from tileas_xdsl.transforms.tileas.materialize_async.classify import SYNC, is_load
from tileas_xdsl.transforms.tileas.materialize_async.plan import TOKEN_ITER_IDX
from tileas_xdsl.transforms.tileas.materialize_async.uses import uses_in
from tileas_xdsl.transforms.tileas.prepare_for_scheduling.rings import drop_token, handed_on, token_only_ends


def store_in_stages(function: Operation) -> None:
    """Stores of what is computed go into the regions of the ops that fill stages with it."""
    for op in [inner for inner in function.walk() if isinstance(inner, ProduceOp | ProducerWriteOp)]:
        for tile in op.yielded:
            store = _store_outside(tile, op)
            if store is not None:
                assert isinstance(tile.owner, AllocTensorOp)
                for moved in (tile.owner, store):
                    moved.detach()
                    op.body.block.insert_op_before(moved, _last_of(op))


def _store_outside(tile: SSAValue, op: ProduceOp | ProducerWriteOp) -> CopyOp | None:
    """What stores `tile`, which nobody else uses, in front of the op that fills a stage with it, in the same block."""
    if not isinstance(tile.owner, AllocTensorOp) or op.is_ancestor(tile.owner):
        return None
    users = users_of(tile)
    store = next((user for user in users if isinstance(user, CopyOp) and user.destination is tile), None)
    if store is None or len(users) != 2 or _last_of(op) not in users or is_view(store.source):
        return None
    block = store.parent_block()
    filler = None if block is None else block.find_ancestor_op_in_block(op)
    if filler is None or tile.owner.parent_block() is not block or not store.is_before_in_block(filler):
        return None
    return store if isinstance(filler, ProduceOp | ProducerWriteOp) else None


def _last_of(op: ProduceOp | ProducerWriteOp) -> Operation:
    last = end_of(op.body.block)
    return last


@dataclass(frozen=True)
class FilledPlan:
    """The commits of one loop, and what hands their tokens on."""

    loop: scf.ForOp
    commits: tuple[ProducerCommitOp, ...]
    dropped: tuple[Operation, ...]
    """What goes, beside the commits."""
    token: int | None
    """Which of the carried values is a token that goes."""


def plan_filled(loop: scf.ForOp, *, computed_only: bool = False) -> FilledPlan | None:
    """
    The plan for `loop`, which is in an agent; None where it commits nothing, or tokens have other users. With
    `computed_only` also where it fills stages with loads.
    """
    commits = tuple(op for op in loop.body.block.ops if isinstance(op, ProducerCommitOp))
    if not commits or not all(map(_commits_its_own, commits)):
        return None
    is_computed = all(_is_computed(fill) for commit in commits for fill in _fills_of(commit))
    if not is_computed and (computed_only or not is_taken_whole(loop)):
        return None
    made = [user for commit in commits for result in commit.results for user in users_of(result)]
    if not all(isinstance(op, TokenToAsyncOp) for op in made):
        return None
    users = [user for op in made for result in op.results for user in users_of(result)]
    waits = [user for user in users if is_computed and isinstance(user, AsyncWaitOp)]
    dropped, left = (*waits, *made), [user for user in users if user not in waits]
    if not left:
        return FilledPlan(loop, commits, dropped, None)
    index = loop.attributes.get(TOKEN_ITER_IDX)
    if len(left) > 1 or not hands_on(left[0]) or not isinstance(index, IntegerAttr):
        return None
    if not token_only_ends(loop, index.value.data, made):
        return None
    return FilledPlan(loop, commits, dropped, index.value.data)


def _commits_its_own(commit: ProducerCommitOp) -> bool:
    """Whether `commit` stands for stages that ops of its block fill, and is the only one to do so."""
    produces = [token.owner for token in commit.tokens]
    own = all(isinstance(op, ProduceOneAsyncOp) and op.parent_block() is commit.parent_block() for op in produces)
    return own and all(len(list(token.uses)) == 1 for token in commit.tokens)


def _fills_of(commit: ProducerCommitOp) -> list[ProduceOneAsyncOp]:
    return [token.owner for token in commit.tokens if isinstance(token.owner, ProduceOneAsyncOp)]


def _is_computed(fill: ProduceOneAsyncOp) -> bool:
    """Whether threads fill the stage by themselves, with values that nobody overwrites."""
    if fill.producer_kind is None or fill.producer_kind.data != SYNC or any(map(is_load, fill.walk())):
        return False
    block = fill.parent_block()
    assert block is not None
    roots = [bytes_of(tile).owner for tile in tiles_into(fill) if is_view(tile)]
    return all(isinstance(root, Operation) and block.find_ancestor_op_in_block(root) is not None for root in roots)


def rewrite_filled(plan: FilledPlan) -> scf.ForOp:
    """Carry out `plan`. Returns the loop, or that which takes its place."""
    loop = plan.loop if plan.token is None else drop_token(plan.loop, plan.token)
    for commit in plan.commits:
        for token in commit.tokens:
            assert isinstance(token.owner, Operation), "asked for by `_commits_its_own`"
            insert_like([ProducerCommitOp(token)], commit, InsertPoint.after(token.owner))
    for op in (*plan.dropped, *plan.commits):
        Rewriter.erase_op(op)
    return loop


@dataclass(frozen=True)
class TakenStage:
    """A stage that the loop takes from a ring."""

    take: CompactTake
    last: Operation
    """The last op of the body that uses the tile."""


@dataclass(frozen=True)
class TakenPlan:
    """The stages that one loop takes, and the releases and waits that hand their tokens on."""

    loop: scf.ForOp
    stages: tuple[TakenStage, ...]
    dropped: tuple[Operation, ...]
    """In an order in which none is used by a later one."""
    token: int | None
    """Which of the carried values is a token that goes."""


def plan_taken(loop: scf.ForOp) -> TakenPlan | None:
    """The plan for `loop`, or None where it takes nothing, or in another shape."""
    index = loop.attributes.get(TOKEN_ITER_IDX)
    body = loop.body.block
    consumes = [op for op in body.ops if isinstance(op, ConsumeOneOp)]
    if not isinstance(index, IntegerAttr) or not consumes:
        return None
    position = {op: number for number, op in enumerate(body.ops)}
    found = [_stage(op, position) for op in consumes]
    stages = tuple(stage for stage in found if stage is not None)
    if len(stages) < len(found):
        return None
    releases = handed_on({stage.take.twin.results[-1] for stage in stages}, ConsumerReleaseOp)
    if releases is None:
        return None
    users = [user for release in releases for result in release.results for user in users_of(result)]
    waits = [user for user in users if isinstance(user, AsyncWaitOp)]
    dropped = (*waits, *releases)
    if len(waits) == len(users):
        return TakenPlan(loop, stages, dropped, None)
    if not all(isinstance(user, AsyncWaitOp) or hands_on(user) for user in users):
        return None
    is_only_token = sum(map(hands_on, users)) == 1
    if not is_only_token or not token_only_ends(loop, index.value.data, dropped):
        return None
    return TakenPlan(loop, stages, dropped, index.value.data)


def _stage(op: ConsumeOneOp, position: dict[Operation, int]) -> TakenStage | None:
    take, block = compact_take(op), op.parent_block()
    assert block is not None
    uses = [] if take is None else uses_in(block, list(take.read.value_results))
    return TakenStage(take, max(uses, key=position.__getitem__)) if take is not None and uses else None


def rewrite_taken(plan: TakenPlan) -> scf.ForOp:
    """Carry out `plan`. Returns the loop, or that which takes its place."""
    loop = plan.loop if plan.token is None else drop_token(plan.loop, plan.token)
    for stage in plan.stages:
        release = ConsumerReleaseOp(wait_and_read(stage.take).results[-1])
        insert_like([release], stage.last, InsertPoint.after(stage.last))
    for op in plan.dropped:
        Rewriter.erase_op(op)
    for stage in plan.stages:
        erase_take(stage.take)
    return loop
