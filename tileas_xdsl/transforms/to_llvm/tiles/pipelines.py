"""
Pipelines as mbarriers in shared memory: a full and an empty one for each slot (CUTLASS, "Synchronization primitives").

    producer_acquire       wait until empty[slot] is past the other parity
    produce_one            cp.async into the slot, then cp.async.mbarrier.arrive.noinc full[slot]; or TMA, see there
    consumer_wait          wait until full[slot] is past the parity
    consumer_release       arrive at empty[slot], behind a proxy fence where threads read what TMA may fill again

Each thread of whoever fills or empties a slot arrives: the barriers count them all. An iterator is (slot, parity); the
next one is slot + 1, and behind the last slot it is 0 with the other parity.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects import arith, scf, ub
from xdsl.dialects.builtin import IntegerType
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType, UndefOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    CreateIteratorOp,
    CreateNullTokenOp,
    CreatePipelineOp,
    IncIterOp,
    PipelineYieldOp,
    ProduceOneAsyncOp,
    ProduceOneOp,
    ProducerAcquireOp,
    ProducerCommitOp,
)
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaLoadOp
from tileas_xdsl.dialects.nv_tileas.tokens import CreateNoneOp
from tileas_xdsl.dialects.nv_tileas.types import is_ownership_token
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncMBarrierArriveOp
from tileas_xdsl.dialects.nvvm.fence import FenceMbarrierInitOp
from tileas_xdsl.dialects.nvvm.mbarrier import (
    MBarrierArriveOp,
    MBarrierInitOp,
    MBarrierTestWaitOp,
    MBarrierTryWaitParityOp,
)
from tileas_xdsl.transforms.to_llvm.tiles.copies import copy_tile
from tileas_xdsl.transforms.to_llvm.tiles.filling import copies_into, filled_with, is_by_tma
from tileas_xdsl.transforms.to_llvm.tiles.shared_memory import BARRIER_BYTES, RingStorage
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, fence_for_engines, lower, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.teams import Participants
from tileas_xdsl.transforms.to_llvm.tiles.tensor_copies import BEFORE, by_first_thread, fill_by_tma, no_load
from tileas_xdsl.transforms.to_llvm.tiles.values import Nothing, Owned, SharedTile, Turn, lowered_as, tile_of, types_for

TICKS = 0x989680
"""Nanoseconds after which a wait looks again (CUTLASS waits as long)."""
FIRST_TRY_WAIT = 90
"""The first compute capability with `mbarrier.try_wait`."""


def key_of(threads: Threads, value: SSAValue) -> Hashable:
    """The pipeline of a token or an iterator."""
    root = threads.roots.of(value)
    assert root is not None
    return root.key


def _ring(threads: Threads, value: SSAValue) -> RingStorage:
    return threads.memory.rings[key_of(threads, value)]


# Rings ----------------------------------------------------------------------------------------------------------------


def init_barriers(threads: Threads, participants: Participants) -> None:
    """One thread makes the barriers, and the others wait for it."""
    if not threads.memory.rings:
        return

    def build() -> None:
        for key, ring in threads.memory.rings.items():
            arrivals = participants.arrivals(key)
            for first, count in ((ring.full, arrivals.full), (ring.empty, arrivals.empty)):
                for slot in range(ring.depth):
                    threads.insert(MBarrierInitOp(threads.at_shared(first(slot)), threads.number(count)))
        if any(ring.access.is_by_tma for ring in threads.memory.rings.values()):
            # What TMA completes at a barrier has to come behind its beginning.
            threads.insert(FenceMbarrierInitOp())

    threads.when(threads.compare(threads.thread, "eq", 0), build)
    threads.meet()


@rule(CreatePipelineOp)
def _create(op: CreatePipelineOp, threads: Threads) -> None:
    for token in op.results:
        threads.give(token, Owned(threads.number(0)))


@rule(CreateNoneOp, CreateNullTokenOp)
def _none(op: CreateNoneOp | CreateNullTokenOp, threads: Threads) -> None:
    """A value that nobody looks at; a pointer leads somewhere all the same."""
    result = op.results[0]
    kinds = types_for(result.type) or ()
    threads.lowered[result] = lowered_as(result.type, [_anything(threads, kind) for kind in kinds])


def _anything(threads: Threads, kind: Attribute) -> SSAValue:
    match kind:
        case LLVMPointerType():
            return threads.shared
        case LLVMStructType():
            return threads.result(UndefOp(kind))
        case _:
            return threads.result(ub.PoisonOp(kind))


@rule(CreateIteratorOp)
def _iterator(op: CreateIteratorOp, threads: Threads) -> None:
    zero = threads.number(0)
    threads.give(op.iterator, Turn(zero, zero))


@rule(IncIterOp)
def _next(op: IncIterOp, threads: Threads) -> None:
    turn, depth = threads.turn(op.iterator), _ring(threads, op.iterator).depth
    following = threads.compute(arith.AddiOp, turn.slot, 1)
    wraps = threads.compare(following, "eq", depth)
    slot = threads.result(arith.SelectOp(wraps, threads.number(0), following))
    other = threads.compute(arith.XOrIOp, turn.parity, 1)
    parity = threads.result(arith.SelectOp(wraps, other, turn.parity))
    slot.name_hint, parity.name_hint = "slot", "parity"
    threads.give(op.next_iterator, Turn(slot, parity))


# Steps ----------------------------------------------------------------------------------------------------------------


def _barrier(threads: Threads, first: int, slot: SSAValue) -> SSAValue:
    """The pointer to a barrier, of those from offset `first` on."""
    distance = threads.compute(arith.MuliOp, slot, BARRIER_BYTES)
    return threads.shifted(threads.at_shared(first), distance)


def _wait(threads: Threads, barrier: SSAValue, parity: SSAValue) -> None:
    """Wait until the phase with this parity is over."""
    if threads.capability >= FIRST_TRY_WAIT:
        threads.insert(MBarrierTryWaitParityOp(barrier, parity, threads.number(TICKS)))
        return
    before, after = Block(), Block()
    with threads.inside(before):
        done = threads.result(MBarrierTestWaitOp(barrier, parity))
        again = threads.compute(arith.XOrIOp, done, threads.number(1, IntegerType(1)))
        threads.insert(scf.ConditionOp(again))
    with threads.inside(after):
        threads.insert(scf.YieldOp())
    threads.insert(scf.WhileOp([], [], Region(before), Region(after)))


@rule(ProducerAcquireOp)
def _acquire(op: ProducerAcquireOp, threads: Threads) -> None:
    turn = _turn_of(op, threads)
    ring = _ring(threads, op.operands[0])

    def build() -> None:
        other = threads.compute(arith.XOrIOp, turn.parity, 1)
        _wait(threads, _barrier(threads, ring.empty(), turn.slot), other)

    if ring.access.is_by_tma:
        # A thread that waited without filling anything could come too late, when the parity has turned twice.
        by_first_thread(threads, build)
    else:
        build()
    threads.give(op.results[0], Owned(turn.slot))


@rule(ConsumerWaitOp)
def _consumer_wait(op: ConsumerWaitOp, threads: Threads) -> None:
    turn = _turn_of(op, threads)
    _wait(threads, _barrier(threads, _ring(threads, op.operands[0]).full(), turn.slot), turn.parity)
    threads.give(op.results[0], Owned(turn.slot))


def _turn_of(op: Operation, threads: Threads) -> Turn:
    return threads.turn(op.operands[1])


def _payload(threads: Threads, op: Operation, turn: Turn, number: int, value: SSAValue) -> SharedTile:
    """Where a tile of the payload lies."""
    ring, tile = _ring(threads, op.operands[0]), tile_of(value.type)
    assert tile is not None
    distance = threads.compute(arith.MuliOp, turn.slot, ring.slot_bytes)
    start = threads.at_shared(ring.offset + ring.payload_offsets[number])
    return SharedTile(tile, threads.shifted(start, distance))


@rule(ConsumerReadOp)
def _read(op: ConsumerReadOp, threads: Threads) -> None:
    turn = _turn_of(op, threads)
    for number, value in enumerate(op.value_results):
        threads.give(value, _payload(threads, op, turn, number, value))
    threads.give(op.results[-1], Owned(turn.slot))


@rule(ProduceOneAsyncOp)
def _produce(op: ProduceOneAsyncOp, threads: Threads) -> None:
    turn = _turn_of(op, threads)
    full = _barrier(threads, _ring(threads, op.operands[0]).full(), turn.slot)
    for token in op.results:
        threads.give(token, Owned(turn.slot) if is_ownership_token(token.type) else Nothing())
    tiles = filled_with(op)
    slots = [_payload(threads, op, turn, number, value) for number, value in enumerate(tiles)]
    if is_by_tma(op):
        for value, slot in zip(tiles, slots, strict=True):
            threads.give(value, slot)
        fill_by_tma(threads, full, op)
        return
    for inner in op.body.block.ops:
        if not isinstance(inner, PipelineYieldOp | TiledLoadOp):
            lower(inner, threads)
    for value, slot in zip(tiles, slots, strict=True):
        assert isinstance(value.owner, TiledLoadOp)
        copy_tile(value.owner, threads, slot)
    threads.insert(CpAsyncMBarrierArriveOp(full, noinc=True))


@rule(ProducerCommitOp)
def _commit(_op: ProducerCommitOp, _threads: Threads) -> None:
    """The copies arrive by themselves when they are complete."""


@rule(ConsumerReleaseOp)
def _release(op: ConsumerReleaseOp, threads: Threads) -> None:
    owned = threads.lowered[op.operands[0]]
    assert isinstance(owned, Owned)
    ring = _ring(threads, op.operands[0])
    if ring.access.needs_fence(op):
        fence_for_engines(threads)
    threads.insert(MBarrierArriveOp(_barrier(threads, ring.empty(), owned.slot)))


# Refusals -------------------------------------------------------------------------------------------------------------


@refusal(ProduceOneAsyncOp)
def _fills_otherwise(op: ProduceOneAsyncOp) -> tuple[str, str] | None:
    if is_by_tma(op):
        return _fills_by_tma(op)
    values = filled_with(op)
    if not values or not all(isinstance(value.owner, TiledLoadOp) for value in values):
        return "fills its slot with something else than loaded tiles", "load tiles of arrays into pipelines"
    return _names_no_slot(op)


def _fills_by_tma(op: ProduceOneAsyncOp) -> tuple[str, str] | None:
    copies = copies_into(op)
    if not copies:
        return "fills its slot by TMA with something else than copies by descriptor", BEFORE
    return _names_no_slot(op) or next(filter(None, map(no_load, copies)), None)


@refusal(TiledTmaLoadOp)
def _fills_no_slot(op: TiledTmaLoadOp) -> tuple[str, str] | None:
    filler = op.parent_op()
    if isinstance(filler, ProduceOneAsyncOp) and is_by_tma(filler):
        return None
    return "copies by TMA into no slot of a pipeline", "let a pipeline count its bytes"


@refusal(ProducerAcquireOp, ConsumerWaitOp, ConsumerReadOp)
def _names_no_slot(op: Operation) -> tuple[str, str] | None:
    if len(op.operands) != 2:
        return "names its slot by no iterator", "let tileas-materialize-schedule or the driver make iterators"
    return None


@refusal(ProduceOneOp)
def _produces_at_once(op: ProduceOneOp) -> tuple[str, str] | None:
    return "fills a slot at once", "run tileas-materialize-async and a schedule before"


@refusal(CreatePipelineOp)
def _between_agents(op: CreatePipelineOp) -> tuple[str, str] | None:
    return ("has a buffer of its own", "let the pipeline make its slots") if op.buffers else None
