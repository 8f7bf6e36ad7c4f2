"""
The steps of a pipeline as waits for mbarriers and arrivals there.

    producer_acquire       wait until empty[slot] is past the other parity
    produce_one            tile loads into the slot, then cp.async.mbarrier.arrive.noinc full[slot]
                           by TMA: the first thread expects the bytes at full[slot], and starts the copies
                           by stores: copies into the slot, then an arrival at full[slot]
    consumer_wait          wait until full[slot] is past the parity
    consumer_read          a view of the slot
    consumer_release       arrive at empty[slot]
    async.dot              of tensor memory: the first thread commits to empty[slot], and nobody arrives there

Proxy fences in front of arrivals stand there already (`tileas-order-accesses`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileas_xdsl.analysis.threads.filling import (
    MULTICAST,
    copies_into,
    filled_with,
    is_by_loads,
    is_by_tma,
    is_way_to_slot,
    stores_into,
)
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    PipelineYieldOp,
    ProduceOneAsyncOp,
    ProduceOneOp,
    ProducerAcquireOp,
    ProducerCommitOp,
)
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, CopyOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaLoadOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nv_tileas.types import is_ownership_token
from tileas_xdsl.dialects.nvvm.attributes import MemScope
from tileas_xdsl.dialects.nvvm.barrier import MapaOp
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncMBarrierArriveOp
from tileas_xdsl.dialects.nvvm.mbarrier import (
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierTestWaitOp,
    MBarrierTryWaitParityOp,
)
from tileas_xdsl.dialects.nvvm.tcgen05 import Tcgen05CommitOp
from tileas_xdsl.targets.chips import Feature, can
from tileas_xdsl.transforms.to_llvm.pipelines.rings import turn_of
from tileas_xdsl.transforms.to_llvm.pipelines.state import BARRIER_BYTES, PipelineCode, refusal, rule
from tileas_xdsl.transforms.to_llvm.placing.explicit import load_into
from tileas_xdsl.transforms.to_llvm.tiles.tensor_copies import BEFORE

TICKS = 0x989680
"""Nanoseconds after which a wait looks again (CUTLASS waits as long)."""
NUMBERS = (32, 64)
"""Bits of the integers that may name a stage."""
KEPT = ("tmaIdx", "tx_count", "padding_value")
"""Properties of a copy by TMA that say the same of it behind this pass."""
IN_STEPS = "run tileas-single-steps before, and where it leaves them pipeline-strategy=warp-specialize"


# Waits and arrivals ---------------------------------------------------------------------------------------------------


def _full(op: Operation, code: PipelineCode, slot: SSAValue) -> SSAValue:
    ring = code.ring(op.operands[0])
    return _barrier(code, ring.barriers, ring.full, slot)


def _empty(op: Operation, code: PipelineCode, slot: SSAValue) -> SSAValue:
    ring = code.ring(op.operands[0])
    return _barrier(code, ring.barriers, ring.empty, slot)


def _barrier(code: PipelineCode, barriers: SSAValue, first: int, slot: SSAValue) -> SSAValue:
    """The pointer to the barrier of a slot, of those from byte `first` on."""
    distance = code.compute(arith.MuliOp, slot, BARRIER_BYTES)
    return code.shifted(code.shifted(barriers, first), distance)


def _wait(code: PipelineCode, barrier: SSAValue, parity: SSAValue) -> None:
    """Wait until the phase with this parity is over."""
    if can(code.capability, Feature.TRY_WAIT):
        code.insert(MBarrierTryWaitParityOp(barrier, parity, code.number(TICKS)))
        return
    before, after = Block(), Block()
    with code.inside(before):
        done = code.result(MBarrierTestWaitOp(barrier, parity))
        again = code.compute(arith.XOrIOp, done, code.number(1, IntegerType(1)))
        code.insert(scf.ConditionOp(again))
    with code.inside(after):
        code.insert(scf.YieldOp())
    code.insert(scf.WhileOp([], [], Region(before), Region(after)))


@rule(ProducerAcquireOp)
def _acquire(op: ProducerAcquireOp, code: PipelineCode) -> None:
    slot, parity = turn_of(op, code)

    def build() -> None:
        other = code.compute(arith.XOrIOp, parity, 1)
        _wait(code, _empty(op, code, slot), other)

    if code.ring(op.operands[0]).access.is_by_tma:
        # A thread that waited without filling anything could come too late, when the parity has turned twice.
        code.by_first_thread(build)
    else:
        build()
    code.give(op.results[0], [slot])


@rule(ConsumerWaitOp)
def _consumer_wait(op: ConsumerWaitOp, code: PipelineCode) -> None:
    slot, parity = turn_of(op, code)
    if code.ring(op.operands[0]).access.returns is None:
        _wait(code, _full(op, code, slot), parity)
    else:
        # The others learn nothing of the slot, and could come too late.
        code.by_first_thread(lambda: _wait(code, _full(op, code, slot), parity))
    code.give(op.results[0], [slot])


@rule(ConsumerReleaseOp)
def _release(op: ConsumerReleaseOp, code: PipelineCode) -> None:
    """
    Each token gives back a slot, of whatever ring, unless products have done that; what is handed on is the first one.
    """
    rings = [code.ring(token) for token in op.tokens]
    for token, ring in zip(op.tokens, rings, strict=True):
        if ring.access.returns is not None:
            continue
        (slot,) = code.parts(token)
        _give_back(code, _barrier(code, ring.barriers, ring.empty, slot), ring.access.blocks)
    for result in op.results:
        code.give(result, code.parts(op.tokens[0]))


def _give_back(code: PipelineCode, barrier: SSAValue, blocks: int) -> None:
    """Arrive at the barrier of an empty slot: in all blocks that write there, for each waits for all that read."""
    if blocks == 1:
        code.insert(MBarrierArriveOp(barrier))
        return
    for rank in range(blocks):
        peer = code.result(MapaOp(barrier, code.number(rank)))
        code.insert(MBarrierArriveOp(peer, scope=MemScope.CLUSTER))


@rule(AsyncDotOp)
def _product(op: AsyncDotOp, code: PipelineCode) -> None:
    """A product of tensor memory gives back the slots that it is the last one to read."""
    code.copy(op)
    barriers = [
        _barrier(code, ring.barriers, ring.empty, code.parts(read.results[-1])[0])
        for ring in code.rings.values()
        for read in (ring.access.returns or {}).get(op, ())
    ]
    if barriers:
        code.by_first_thread(lambda: _commit_all(code, barriers))


def _commit_all(code: PipelineCode, barriers: Sequence[SSAValue]) -> None:
    for barrier in barriers:
        code.insert(Tcgen05CommitOp(barrier))


@rule(AsyncWaitOp)
def _await(op: AsyncWaitOp, code: PipelineCode) -> None:
    if op not in code.idle:
        code.copy(op)


# Slots ----------------------------------------------------------------------------------------------------------------


def _tiles(op: Operation, code: PipelineCode, slot: SSAValue, kinds: Sequence[Attribute]) -> list[SSAValue]:
    """Views of the tiles in a slot, as these types."""
    number = code.result(arith.IndexCastOp(slot, IndexType()))
    ring = code.ring(op.operands[0])
    return [code.result(ViewOp(slots, [number], kind)) for slots, kind in zip(ring.slots, kinds, strict=True)]


@rule(ConsumerReadOp)
def _read(op: ConsumerReadOp, code: PipelineCode) -> None:
    slot, _ = turn_of(op, code)
    tiles = _tiles(op, code, slot, [value.type for value in op.value_results])
    for value, tile in zip(op.value_results, tiles, strict=True):
        code.give(value, [tile])
    code.give(op.results[-1], [slot])


@rule(ProduceOneAsyncOp, ProduceOneOp)
def _produce(op: ProduceOp, code: PipelineCode) -> None:
    slot, _ = turn_of(op, code)
    for token in op.results:
        if is_ownership_token(token.type):
            code.give(token, [slot])
    full = _full(op, code, slot)
    tiles = _tiles(op, code, slot, [value.type for value in filled_with(op)])
    if is_by_tma(op):
        code.bind(op.body.block.args, tiles)
        code.by_first_thread(lambda: _fill_by_tma(op, code, full))
    elif is_by_loads(op):
        _fill_by_loads(op, code, tiles)
        code.insert(CpAsyncMBarrierArriveOp(full, noinc=True))
    else:
        _fill_by_stores(op, code, tiles)
        code.insert(MBarrierArriveOp(full))


def _fill_by_tma(op: ProduceOp, code: PipelineCode, full: SSAValue) -> None:
    """Say how many bytes come into a slot, and start the copies that bring them."""
    total = sum(copy.tx_count.value.data for copy in copies_into(op) if copy.tx_count is not None)
    code.insert(MBarrierArriveExpectTxOp(full, code.number(total)))
    for inner in op.body.block.ops:
        if isinstance(inner, TiledTmaLoadOp):
            code.insert(_counted(inner, code, full))
        elif not isinstance(inner, PipelineYieldOp):
            code.lower(inner)


def _counted(op: TiledTmaLoadOp, code: PipelineCode, full: SSAValue) -> TiledTmaLoadOp:
    """The same copy, whose bytes are counted at a barrier."""
    assert op.atom is not None
    properties = {name: op.properties[name] for name in KEPT if name in op.properties}
    places = code.all_parts(op.coords)
    descriptor, destination = code.of(op.descriptor), code.of(op.destination)
    made = TiledTmaLoadOp(descriptor, destination, places, op.atom, barrier=full, properties=properties)
    if MULTICAST in op.attributes:
        made.attributes[MULTICAST] = op.attributes[MULTICAST]
    return made


def _fill_by_stores(op: ProduceOp, code: PipelineCode, tiles: Sequence[SSAValue]) -> None:
    """Copy into the slot what the threads hold; the tile by way of which that was said is the slot."""
    left = dict(zip(stores_into(op), tiles, strict=True))
    for store in [store for store in left if store.parent_block() is not op.body.block]:
        _store(store, left.pop(store), code)
    for inner in op.body.block.ops:
        if isinstance(inner, CopyOp) and inner in left:
            _store(inner, left.pop(inner), code)
        elif not isinstance(inner, PipelineYieldOp | AllocTensorOp):
            code.lower(inner)


def _store(store: CopyOp, tile: SSAValue, code: PipelineCode) -> None:
    made = CopyOp(code.of(store.source), tile)
    made.properties |= store.properties
    code.insert(made)


@rule(CopyOp)
def _copy(op: CopyOp, code: PipelineCode) -> None:
    if not is_way_to_slot(op.destination):
        code.copy(op)


@rule(AllocTensorOp)
def _allocate(op: AllocTensorOp, code: PipelineCode) -> None:
    if not is_way_to_slot(op.tensor):
        code.copy(op)


def _fill_by_loads(op: ProduceOp, code: PipelineCode, tiles: Sequence[SSAValue]) -> None:
    for inner in op.body.block.ops:
        if not isinstance(inner, PipelineYieldOp | TiledLoadOp):
            code.lower(inner)
    for value, tile in zip(filled_with(op), tiles, strict=True):
        assert isinstance(value.owner, TiledLoadOp)
        load = value.owner
        code.insert(load_into(load, code.of(load.base), tile, code.all_parts(load.indices)))


@rule(ProducerCommitOp)
def _commit(_op: ProducerCommitOp, _code: PipelineCode) -> None:
    """The copies arrive by themselves when they are complete."""


# Refusals -------------------------------------------------------------------------------------------------------------


@refusal(ProduceOneAsyncOp, ProduceOneOp)
def _fills_otherwise(op: ProduceOp) -> tuple[str, str] | None:
    if any(isinstance(inner, ProducerAcquireOp) for inner in op.body.walk()):
        return "takes its slot in its own region", IN_STEPS
    if op.value_results:
        return "hands on what it fills its slot with", "take it from the slot"
    if is_by_tma(op):
        return _fills_by_no_copies(op)
    if not is_by_loads(op) and not stores_into(op):
        words = "fills its slot with something else than tiles that threads load or hold"
        return words, "fill it with loads of arrays, or with what nobody else uses (tileas-materialize-convert-layout)"
    return _names_no_slot(op) or _is_awaited(op)


def _fills_by_no_copies(op: ProduceOp) -> tuple[str, str] | None:
    copies = copies_into(op)
    if not copies:
        return "fills its slot by TMA with something else than copies by descriptor", BEFORE
    return _names_no_slot(op) or _is_awaited(op)


def _is_awaited(op: ProduceOp) -> tuple[str, str] | None:
    if any(token.first_use is not None for token in op.results if not is_ownership_token(token.type)):
        return "hands out a token that is used, and a slot is full when its barrier says so", "wait by consumer_wait"
    return None


@refusal(TiledLoadOp)
def _load_of_a_kind(op: TiledLoadOp) -> tuple[str, str] | None:
    if not isinstance(op.parent_op(), ProduceOp):
        return None
    if op.mask is not None or op.other is not None or op.token:
        return "has a mask or tokens", "load whole tiles; what lies outside of the array reads as zero"
    return None


@refusal(TiledTmaLoadOp)
def _fills_no_slot(op: TiledTmaLoadOp) -> tuple[str, str] | None:
    if op.barrier:
        return None
    filler = op.parent_op()
    if filler is None or not is_by_tma(filler):
        return "copies by TMA into no slot of a pipeline", "let a pipeline count its bytes"
    if op.tx_count is None:
        return "says no tx_count, so nobody knows how many bytes to wait for", BEFORE
    if op.done.first_use is not None:
        return "is waited for by its token, and its bytes are counted at the barrier of the slot", "leave the wait out"
    return None


@refusal(ConsumerReadOp)
def _reads_otherwise(op: ConsumerReadOp) -> tuple[str, str] | None:
    if not op.is_abstract:
        return "reads its slot in a region", "run tileas-optimize-pipeline-region before"
    return _names_no_slot(op)


@refusal(ProducerAcquireOp, ConsumerWaitOp)
def _names_no_slot(op: Operation) -> tuple[str, str] | None:
    if len(op.operands) != 2:
        return "names its slot by no iterator", "let tileas-materialize-schedule or the driver make iterators"
    kind = op.operands[1].type
    if isinstance(kind, IntegerType) and kind.bitwidth not in NUMBERS:
        return f"names its stage by an {kind}", "count stages in index, i32 or i64"
    return None
