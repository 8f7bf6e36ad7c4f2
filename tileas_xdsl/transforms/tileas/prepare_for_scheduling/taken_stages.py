"""
What an agent takes from a ring becomes single steps, in the loops of agents that the program has.

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
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumeOneOp, ConsumerReleaseOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.transforms.tileas.compact_stages import (
    CompactTake,
    compact_take,
    erase_take,
    insert_like,
    users_of,
    wait_and_read,
)
from tileas_xdsl.transforms.tileas.materialize_async.plan import TOKEN_ITER_IDX
from tileas_xdsl.transforms.tileas.materialize_async.uses import uses_in
from tileas_xdsl.transforms.tileas.prepare_for_scheduling.rings import drop_token, handed_on, token_only_ends


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
    if not all(isinstance(user, AsyncWaitOp | scf.YieldOp) for user in users):
        return None
    is_only_token = sum(isinstance(user, scf.YieldOp) for user in users) == 1
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
