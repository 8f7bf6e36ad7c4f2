"""
Compact pipelines become rings: `create_pipeline` in front of the loop, an iterator for each side, and single steps.

A loop is taken as a whole: each of its compact pipelines must have the shape that MaterializeAsync gives it, filled and
emptied once in every iteration, with a tile that stays in the iteration. Else the loop stays as it is, and is scheduled
in its compact form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneAsyncOp,
    ConsumeOneOp,
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    CreateIteratorOp,
    CreatePipelineOp,
    IncIterOp,
    ProduceOneAsyncOp,
    ProducerAcquireOp,
    ProducerCommitOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, FutureWaitOp, ToAsyncOp, TokenToAsyncOp
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.transforms.rewriting.structure import carry_through
from tileas_xdsl.transforms.tileas.compact_stages import (
    SCHEDULE_TAGS,
    hand_tiles_over,
    insert_like,
    users_of,
)
from tileas_xdsl.transforms.tileas.materialize_async.plan import TOKEN_ITER_IDX
from tileas_xdsl.transforms.tileas.materialize_async.uses import uses_in

FIRST_DEPTH = 2
"""The slots of a new ring, until a schedule says how many it takes."""


@dataclass(frozen=True)
class RingStage:
    """One compact pipeline of the loop, and all that belongs to its turns."""

    produce: ProduceOneAsyncOp
    consume: ConsumeOneOp
    read: ConsumerReadOp
    twin: ConsumeOneAsyncOp
    wrappers: tuple[ToAsyncOp, ...]
    last: Operation
    """The last op of the body that uses the tile."""


@dataclass(frozen=True)
class RingPlan:
    """The compact pipelines of one loop, and the ops that only hand their tokens on."""

    loop: scf.ForOp
    stages: tuple[RingStage, ...]
    dropped: tuple[Operation, ...]
    """Commits, waits and releases, in an order in which none is used by a later one."""
    token: int
    """Which of the carried values is the token that goes."""


def plan_rings(loop: scf.ForOp) -> RingPlan | None:
    """The plan for `loop`, or None where some pipeline of it has another shape."""
    token = loop.attributes.get(TOKEN_ITER_IDX)
    body = loop.body.block
    produces = [op for op in body.ops if isinstance(op, ProduceOneAsyncOp)]
    if not isinstance(token, IntegerAttr) or not produces:
        return None
    position = {op: number for number, op in enumerate(body.ops)}
    stages = [_stage(op, position) for op in produces]
    if any(stage is None for stage in stages):
        return None
    found = tuple(stage for stage in stages if stage is not None)
    dropped = _handshake(found)
    index = token.value.data
    if dropped is None or not token_only_ends(loop, index, dropped):
        return None
    return RingPlan(loop, found, dropped, index)


def _stage(op: ProduceOneAsyncOp, position: dict[Operation, int]) -> RingStage | None:
    if op.token is not None or op.value_results or op.num_stages is not None or "pipeline_id" in op.attributes:
        return None
    if op.payload is None or op.results[0].first_use is not None:
        return None
    users = users_of(op.results[1])
    consume = next((user for user in users if isinstance(user, ConsumeOneOp)), None)
    if consume is None or len(users) != 2 or not any(isinstance(user, ProducerCommitOp) for user in users):
        return None
    if not consume.is_abstract or consume.value_results:
        return None
    held = users_of(consume.results[0])
    read = next((user for user in held if isinstance(user, ConsumerReadOp)), None)
    twin = next((user for user in held if isinstance(user, ConsumeOneAsyncOp)), None)
    if read is None or twin is None or len(held) != 2 or not read.is_abstract or len(read.outputs) != len(op.payload):
        return None
    wrappers = tuple(user for value in read.results for user in users_of(value) if isinstance(user, ToAsyncOp))
    if any(user.kind.data == "token" and user.result.first_use is not None for user in wrappers):
        return None
    block = op.parent_block()
    assert block is not None
    uses = uses_in(block, list(read.results))
    if not uses:
        return None
    return RingStage(op, consume, read, twin, wrappers, max(uses, key=position.__getitem__))


def _handshake(stages: Sequence[RingStage]) -> tuple[Operation, ...] | None:
    """The commits, waits and releases of the stages; None where they stand for anything else too."""
    filled = {stage.produce.results[1] for stage in stages}
    read = {stage.twin.results[-1] for stage in stages}
    commits = handed_on(filled, ProducerCommitOp)
    releases = handed_on(read, ConsumerReleaseOp)
    if commits is None or releases is None:
        return None
    waits: list[Operation] = []
    for commit in commits:
        for user in (user for result in commit.results for user in users_of(result)):
            if not isinstance(user, TokenToAsyncOp):
                return None
            awaited = users_of(user.result)
            if not all(isinstance(wait, AsyncWaitOp) for wait in awaited):
                return None
            waits += [*awaited, user]
    for release in releases:
        users = [user for result in release.results for user in users_of(result)]
        waits += [user for user in users if isinstance(user, AsyncWaitOp)]
        if not all(isinstance(user, AsyncWaitOp) or hands_on(user) for user in users):
            return None
    return (*waits, *releases, *commits)


def handed_on(
    tokens: set[OpResult], kind: type[ProducerCommitOp | ConsumerReleaseOp]
) -> list[ProducerCommitOp | ConsumerReleaseOp] | None:
    found: dict[ProducerCommitOp | ConsumerReleaseOp, None] = {}
    for token in tokens:
        users = [user for user in users_of(token) if isinstance(user, ProducerCommitOp | ConsumerReleaseOp)]
        if len(users) != 1 or not isinstance(users[0], kind):
            return None
        found[users[0]] = None
    if any(operand not in tokens for op in found for operand in op.operands):
        return None
    block = next(iter(tokens)).op.parent_block()
    return [op for op in found if op.parent_block() is block] if len(found) else None


def token_only_ends(loop: scf.ForOp, index: int, dropped: Sequence[Operation]) -> bool:
    """Whether the carried token is made by what goes, read by nothing in the loop, and only awaited behind it."""
    last = end_of(loop.body.block)
    made = last.operands[index].owner
    awaited = all(isinstance(user, AsyncWaitOp | FutureWaitOp) for user in users_of(loop.results[index]))
    return made in dropped and loop.body.block.args[index + 1].first_use is None and awaited


# Rewriting ------------------------------------------------------------------------------------------------------------


def rewrite_rings(plan: RingPlan) -> scf.ForOp:
    """Carry out `plan`. Returns the loop that takes the place of the old one."""
    loop = drop_token(plan.loop, plan.token)
    makers = [_make_ring(stage, loop) for stage in plan.stages]
    payloads = [stage.read.results[0].type for stage in plan.stages]
    for stage, maker in zip(plan.stages, makers, strict=True):
        _rewrite_stage(stage, maker, loop)
    for op in plan.dropped:
        Rewriter.erase_op(op)
    for stage in plan.stages:
        for op in (stage.twin, stage.read, stage.consume, stage.produce):
            Rewriter.erase_op(op)
    return _carry_iterators(loop, payloads, makers)


def drop_token(loop: scf.ForOp, index: int) -> scf.ForOp:
    """The loop without the token that it carried at `index`, and without the waits for it behind the loop."""
    marker = loop.prev_op
    block = loop.parent_block()
    assert block is not None
    for user in users_of(loop.results[index]):
        Rewriter.erase_op(user)
    gone = {loop.results[index], loop.body.block.args[index + 1]}
    last = end_of(loop.body.block)
    last.operands = [operand for number, operand in enumerate(last.operands) if number != index]
    loop.operands = [operand for number, operand in enumerate(loop.operands) if number != index + 3]
    del loop.attributes[TOKEN_ITER_IDX]
    loop.body.block.erase_arg(loop.body.block.args[index + 1])
    slim = scf.ForOp.create(
        operands=loop.operands,
        result_types=[result.type for result in loop.results if result not in gone],
        properties=dict(loop.properties),
        attributes=dict(loop.attributes),
        location=loop.location,
        regions=[loop.detach_region(loop.body)],
    )
    Rewriter.insert_op(slim, InsertPoint.after(marker) if marker is not None else InsertPoint.at_start(block))
    kept = [result for result in loop.results if result not in gone]
    for old, new in zip(kept, slim.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    Rewriter.erase_op(loop)
    return slim


def _make_ring(stage: RingStage, loop: scf.ForOp) -> CreatePipelineOp:
    maker = CreatePipelineOp(FIRST_DEPTH)
    maker.location = stage.produce.location
    hint = _hint(stage)
    maker.producer.name_hint, maker.consumer.name_hint = f"{hint}_ring", f"{hint}_end"
    Rewriter.insert_op(maker, InsertPoint.before(loop))
    return maker


def _hint(stage: RingStage) -> str:
    return next((value.name_hint for value in stage.produce.yielded if value.name_hint), "tile")


def _rewrite_stage(stage: RingStage, maker: CreatePipelineOp, loop: scf.ForOp) -> None:
    """The six steps, on the tokens of the ring; iterators come later, when the loop carries them."""
    old, hint = stage.produce, _hint(stage)
    attributes = {name: value for name, value in old.attributes.items() if name not in SCHEDULE_TAGS}
    acquire = ProducerAcquireOp(maker.producer)
    body = Rewriter.move_region_contents_to_new_regions(old.body)
    produce = ProduceOneAsyncOp(acquire.results[0], body=body, attributes=attributes)
    commit = ProducerCommitOp(produce.results[0])
    insert_like([acquire, produce, commit], old, InsertPoint.before(old))
    acquire.results[0].name_hint, produce.results[0].name_hint = f"{hint}_own", f"{hint}_filled"
    wait = ConsumerWaitOp(maker.consumer)
    read = ConsumerReadOp(wait.results[0], value_types=[value.type for value in stage.read.results])
    insert_like([wait, read], stage.consume, InsertPoint.before(stage.consume))
    wait.results[0].name_hint, read.results[-1].name_hint = f"{hint}_got", f"{hint}_read"
    release = ConsumerReleaseOp(read.results[-1])
    insert_like([release], stage.last, InsertPoint.after(stage.last))
    hand_tiles_over(stage.read, read, stage.wrappers)


def _carry_iterators(loop: scf.ForOp, payloads: Sequence[Attribute], makers: Sequence[CreatePipelineOp]) -> scf.ForOp:
    """Each side of each ring gets an iterator, which the loop carries and each iteration advances once."""
    before: list[SSAValue] = []
    names: list[str | None] = []
    for payload, maker in zip(payloads, makers, strict=True):
        for end, suffix in ((maker.producer, "in"), (maker.consumer, "out")):
            make = CreateIteratorOp(end, payload)
            make.location = maker.location
            Rewriter.insert_op(make, InsertPoint.before(loop))
            hint = (maker.producer.name_hint or "tile").removesuffix("_ring")
            make.iterator.name_hint = f"{hint}_{suffix}"
            before.append(make.iterator)
            names.append(make.iterator.name_hint)
    marker = loop.next_op
    carry_through(loop, before, lambda _, entering: _advance(entering, makers), names)
    carried = marker.prev_op if marker is not None else None
    assert isinstance(carried, scf.ForOp)
    return carried


def _advance(entering: Sequence[SSAValue], makers: Sequence[CreatePipelineOp]) -> list[SSAValue]:
    """Name the slot of every step by its iterator, and advance each behind the last op of the body."""
    leaving: list[SSAValue] = []
    for number, maker in enumerate(makers):
        for end, iterator in zip((maker.producer, maker.consumer), entering[2 * number : 2 * number + 2], strict=True):
            for op in [use.operation for use in end.uses]:
                if isinstance(op, ProducerAcquireOp | ConsumerWaitOp):
                    _name_slot(op, iterator)
            block = iterator.owner
            terminator = getattr(block, "last_op", None)
            assert isinstance(terminator, Operation)
            advance = IncIterOp(iterator)
            advance.next_iterator.name_hint = iterator.name_hint
            advance.location = maker.location
            Rewriter.insert_op(advance, InsertPoint.before(terminator))
            leaving.append(advance.next_iterator)
    return leaving


def _name_slot(take: Operation, iterator: SSAValue) -> None:
    """An acquire or a wait, and the op that works on the slot which it takes, name the slot by `iterator`."""
    take.operands = [*take.operands, iterator]
    for user in users_of(take.results[0]):
        if isinstance(user, ProduceOneAsyncOp | ConsumerReadOp):
            user.operands = [*user.operands, iterator]
