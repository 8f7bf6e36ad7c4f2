"""
Compact ops on a stage, and the single steps that take their place.

    %p, %f = produce_one_async %end, %k {               %own = producer_acquire %end, %k
      %own = producer_acquire %end, %k                  %p, %f = produce_one_async %own, %k {
      %full = producer_write %own, %k {                 ^bb0(%slot):
      ^bb0(%slot): ... yield %v }              ->         ... yield %v
      yield                                             }
    }

    %h = consume_one %end, %k { consumer_wait }         %got = consumer_wait %end, %k
    %v = consumer_read %h, %k                    ->     %v, %read = consumer_read %got, %k
    %d = consume_one_async %h

These are the shapes that MaterializeAsync gives to programs with queues. What commits a stage that was filled, or gives
back one that was taken, is for those who ask: it depends on what stands around.

Input: an op. Output: what belongs to it, or None where it has another shape; the steps, carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneAsyncOp,
    ConsumeOneOp,
    ConsumerReadOp,
    ConsumerWaitOp,
    PipelineYieldOp,
    ProduceOneAsyncOp,
    ProducerAcquireOp,
    ProducerWriteOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import ToAsyncOp
from tileas_xdsl.dialects.nv_tileas.types import ConsumerTokenType, is_token

SCHEDULE_TAGS = ("pipeline_stage", "stage", "iter_offset", "order")
PAYLOADS = ("consumer_types", "producer_types")


def users_of(value: SSAValue) -> list[Operation]:
    """The ops that use a value, once for each use."""
    return [use.operation for use in value.uses]


def insert_like(ops: Sequence[Operation], like: Operation, here: InsertPoint) -> None:
    """Insert `ops` one after the other at `here`, at the location of `like`."""
    for op in ops:
        op.location = like.location
        Rewriter.insert_op(op, here)
        here = InsertPoint.after(op)


# Stages that are taken ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CompactTake:
    """A stage that is taken from a ring, and all that belongs to its turn but for its release."""

    consume: ConsumeOneOp
    wait: ConsumerWaitOp | None
    """The wait inside of `consume`; None where that waits itself."""
    read: ConsumerReadOp
    twin: ConsumeOneAsyncOp
    wrappers: tuple[ToAsyncOp, ...]

    @property
    def hint(self) -> str:
        """What the tile is called."""
        names = [wrapper.result.name_hint for wrapper in self.wrappers if wrapper.kind.data == "storage"]
        return next(filter(None, [*names, self.read.results[0].name_hint]), "tile")


def compact_take(op: ConsumeOneOp) -> CompactTake | None:
    """What belongs to the stage that `op` takes; None where a token of it has other users, or it has another shape."""
    token = op.token
    if token is None or not isinstance(token.type, ConsumerTokenType) or len(op.results) != 1:
        return None
    is_plain, wait = _wait_inside(op)
    held = users_of(op.results[0])
    read = next((user for user in held if isinstance(user, ConsumerReadOp)), None)
    twin = next((user for user in held if isinstance(user, ConsumeOneAsyncOp)), None)
    if not is_plain or read is None or twin is None or len(held) != 2 or not read.is_abstract or not twin.is_abstract:
        return None
    handed = [result for result in (*read.results, *twin.results[:-1]) if is_token(result.type)]
    wrappers = tuple(user for value in read.value_results for user in users_of(value) if isinstance(user, ToAsyncOp))
    tokens = [*handed, *(user.result for user in wrappers if user.kind.data == "token")]
    if twin.value_results or any(value.first_use is not None for value in tokens):
        return None
    block = op.parent_block()
    if any(use.parent_block() is not block for use in (read, twin)):
        return None
    return CompactTake(op, wait, read, twin, wrappers)


def _wait_inside(op: ConsumeOneOp) -> tuple[bool, ConsumerWaitOp | None]:
    """Whether `op` does no more than wait, and the wait inside, if there is one."""
    if op.is_abstract:
        return True, None
    match list(op.body.block.ops):
        case [ConsumerWaitOp() as wait, PipelineYieldOp() as end] if not end.operands:
            return wait.token is op.token, wait
        case _:
            return False, None


def wait_and_read(take: CompactTake) -> ConsumerReadOp:
    """
    Put the single steps beside the compact ops, and hand the tile over. Returns the read, whose token is to be given
    back. `erase_take` removes the compact ops once their tokens have no users.
    """
    old, hint = take.consume, take.hint
    assert old.token is not None
    source = old if take.wait is None else take.wait
    wait = ConsumerWaitOp(old.token, source.stage, attributes=_kept(source))
    types: Sequence[Attribute] = [value.type for value in take.read.value_results]
    read = ConsumerReadOp(wait.results[0], source.stage, value_types=types, attributes=_kept(take.read))
    insert_like([wait], old, InsertPoint.before(old))
    insert_like([read], take.read, InsertPoint.before(take.read))
    wait.results[0].name_hint, read.results[-1].name_hint = f"{hint}_got", f"{hint}_read"
    take.read.results[0].name_hint = hint
    hand_tiles_over(take.read, read, take.wrappers)
    return read


def hand_tiles_over(old: ConsumerReadOp, new: ConsumerReadOp, wrappers: Sequence[ToAsyncOp]) -> None:
    """What `new` reads takes the place of what `old` has read, and of its wrappers."""
    for before, after in zip(old.value_results, new.value_results, strict=True):
        after.name_hint = before.name_hint
        for wrapper in [wrapper for wrapper in wrappers if wrapper.value is before]:
            wrapper.result.replace_all_uses_with(after)
            Rewriter.erase_op(wrapper)
        before.replace_all_uses_with(after)


def erase_take(take: CompactTake) -> None:
    """Remove the compact ops, in an order in which none is used by a later one."""
    for op in (take.twin, take.read, take.consume):
        Rewriter.erase_op(op)


# Stages that are filled -----------------------------------------------------------------------------------------------


def tiles_into(op: ProduceOp) -> list[SSAValue]:
    """What fills the stage: what the region of `op` yields, or that of a write in it, or what that is given."""
    writes = [inner for inner in op.body.walk() if isinstance(inner, ProducerWriteOp)]
    return [tile for filler in (op, *writes) for tile in (*filler.yielded, *filler.values)]


@dataclass(frozen=True)
class CompactFill:
    """A stage that an op takes and fills in its own region."""

    produce: ProduceOneAsyncOp
    acquire: ProducerAcquireOp
    write: ProducerWriteOp


def compact_fill(op: ProduceOneAsyncOp) -> CompactFill | None:
    """The steps in the region of `op`; None where it has another shape."""
    if op.is_abstract or op.value_results or op.body.block.args:
        return None
    match list(op.body.block.ops):
        case [ProducerAcquireOp() as acquire, ProducerWriteOp() as write, PipelineYieldOp() as end]:
            own, full = acquire.results[0], write.results[0]
        case _:
            return None
    is_same = acquire.token is op.token and acquire.stage is op.stage is write.stage and write.token is own
    is_plain = not write.is_abstract and not end.operands and full.first_use is None and write.payload is not None
    return CompactFill(op, acquire, write) if is_same and is_plain and users_of(own) == [write] else None


def acquire_and_fill(fill: CompactFill) -> ProduceOneAsyncOp:
    """
    Put the single steps in front of the compact op. Returns the one that fills the stage, whose token is to be
    committed. The compact op can be erased once its tokens have no users.
    """
    old, stage = fill.produce, fill.write.stage
    assert fill.acquire.token is not None
    acquire = ProducerAcquireOp(fill.acquire.token, stage, attributes=_kept(fill.acquire))
    attributes = {name: value for name, value in old.attributes.items() if name not in SCHEDULE_TAGS}
    body = Rewriter.move_region_contents_to_new_regions(fill.write.body)
    types = fill.write.payload
    made = ProduceOneAsyncOp(acquire.results[0], stage, body=body, producer_types=types, attributes=attributes)
    insert_like([acquire, made], old, InsertPoint.before(old))
    hint = next((value.name_hint for value in made.yielded if value.name_hint), "tile")
    acquire.results[0].name_hint, made.results[0].name_hint = f"{hint}_own", f"{hint}_filled"
    return made


def _kept(op: Operation) -> dict[str, Attribute]:
    """The attributes of `op` that are no tags of a schedule, nor say what its region holds."""
    return {name: value for name, value in op.attributes.items() if name not in (*SCHEDULE_TAGS, *PAYLOADS)}
