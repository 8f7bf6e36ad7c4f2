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

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneAsyncOp,
    ConsumeOneOp,
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    PipelineYieldOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, ToAsyncOp
from tileas_xdsl.dialects.nv_tileas.types import ConsumerTokenType, is_token
from tileas_xdsl.transforms.tileas.materialize_async.plan import TOKEN_ITER_IDX
from tileas_xdsl.transforms.tileas.materialize_async.uses import uses_in
from tileas_xdsl.transforms.tileas.prepare_for_scheduling.rings import (
    SCHEDULE_TAGS,
    drop_token,
    hand_tiles_over,
    handed_on,
    insert_like,
    token_only_ends,
)


@dataclass(frozen=True)
class TakenStage:
    """A stage that the loop takes from a ring, and all that belongs to its turn."""

    consume: ConsumeOneOp
    wait: ConsumerWaitOp | None
    """The wait inside of `consume`; None where that waits itself."""
    read: ConsumerReadOp
    twin: ConsumeOneAsyncOp
    wrappers: tuple[ToAsyncOp, ...]
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
    releases = handed_on({stage.twin.results[-1] for stage in stages}, ConsumerReleaseOp)
    if releases is None:
        return None
    users = [user for release in releases for result in release.results for user in _users(result)]
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
    token = op.token
    if token is None or not isinstance(token.type, ConsumerTokenType) or len(op.results) != 1:
        return None
    is_plain, wait = _wait_inside(op)
    held = _users(op.results[0])
    read = next((user for user in held if isinstance(user, ConsumerReadOp)), None)
    twin = next((user for user in held if isinstance(user, ConsumeOneAsyncOp)), None)
    if not is_plain or read is None or twin is None or len(held) != 2 or not read.is_abstract or not twin.is_abstract:
        return None
    handed = [result for result in (*read.results, *twin.results[:-1]) if is_token(result.type)]
    wrappers = tuple(user for value in read.value_results for user in _users(value) if isinstance(user, ToAsyncOp))
    tokens = [*handed, *(user.result for user in wrappers if user.kind.data == "token")]
    if twin.value_results or any(value.first_use is not None for value in tokens):
        return None
    block = op.parent_block()
    assert block is not None
    uses = uses_in(block, list(read.value_results))
    if not uses or any(use.parent_block() is not block for use in (read, twin)):
        return None
    return TakenStage(op, wait, read, twin, wrappers, max(uses, key=position.__getitem__))


def _wait_inside(op: ConsumeOneOp) -> tuple[bool, ConsumerWaitOp | None]:
    """Whether `op` does no more than wait, and the wait inside, if there is one."""
    if op.is_abstract:
        return True, None
    match list(op.body.block.ops):
        case [ConsumerWaitOp() as wait, PipelineYieldOp() as end] if not end.operands:
            return wait.token is op.token, wait
        case _:
            return False, None


def _users(value: SSAValue) -> list[Operation]:
    return [use.operation for use in value.uses]


def rewrite_taken(plan: TakenPlan) -> scf.ForOp:
    """Carry out `plan`. Returns the loop, or that which takes its place."""
    loop = plan.loop if plan.token is None else drop_token(plan.loop, plan.token)
    for stage in plan.stages:
        _rewrite(stage)
    for op in plan.dropped:
        Rewriter.erase_op(op)
    for stage in plan.stages:
        for op in (stage.twin, stage.read, stage.consume):
            Rewriter.erase_op(op)
    return loop


def _rewrite(stage: TakenStage) -> None:
    old, hint = stage.consume, _hint(stage)
    assert old.token is not None
    source = old if stage.wait is None else stage.wait
    wait = ConsumerWaitOp(old.token, source.stage, attributes=_kept(source))
    types: Sequence[Attribute] = [value.type for value in stage.read.value_results]
    read = ConsumerReadOp(wait.results[0], source.stage, value_types=types, attributes=_kept(stage.read))
    insert_like([wait], old, InsertPoint.before(old))
    insert_like([read], stage.read, InsertPoint.before(stage.read))
    release = ConsumerReleaseOp(read.results[-1])
    insert_like([release], stage.last, InsertPoint.after(stage.last))
    wait.results[0].name_hint, read.results[-1].name_hint = f"{hint}_got", f"{hint}_read"
    stage.read.results[0].name_hint = hint
    hand_tiles_over(stage.read, read, stage.wrappers)


def _hint(stage: TakenStage) -> str:
    names = [wrapper.result.name_hint for wrapper in stage.wrappers if wrapper.kind.data == "storage"]
    return next(filter(None, [*names, stage.read.results[0].name_hint]), "tile")


def _kept(op: Operation) -> dict[str, Attribute]:
    """The attributes of `op` that are no tags of a schedule, nor say what its region holds."""
    gone = (*SCHEDULE_TAGS, "consumer_types", "producer_types")
    return {name: value for name, value in op.attributes.items() if name not in gone}
