"""
What pipelines have become: storage of slots, views of them, and ops that each thread does for itself.

    %slots = nv_tileas.alloc_tensor {stages = 4}           a place in the shared memory of the kernel
    %barriers = llvm.mlir.addressof @f_barriers_0     ->   another one, behind it
    %tile = nv_tileas.view %slots[%slot]                   the pointer to a tile there
    nvvm.mbarrier.arrive %empty                            the same op

Slots and barriers are placed in the order in which they are named, before everything else.
"""

from __future__ import annotations

from xdsl.dialects import arith, func, llvm
from xdsl.dialects.builtin import FixedBitwidthType, i32
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from tileas_xdsl.analysis.threads.liveness import agent_of
from tileas_xdsl.analysis.threads.places import place_of
from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.dialects.nv_tileas.layout import element_bits
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, ViewOp
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op, BarrierOp, ClusterArriveOp, ClusterWaitOp, MapaOp, SyncWarpOp
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncMBarrierArriveOp
from tileas_xdsl.dialects.nvvm.fence import FenceMbarrierInitOp, FenceProxyOp
from tileas_xdsl.dialects.nvvm.mbarrier import (
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierInitOp,
    MBarrierTestWaitOp,
    MBarrierTryWaitParityOp,
)
from tileas_xdsl.dialects.nvvm.registers import SetMaxRegisterOp, ThreadIdXOp
from tileas_xdsl.dialects.nvvm.tcgen05 import Tcgen05CommitOp, Tcgen05FenceOp
from tileas_xdsl.transforms.to_llvm.tiles.control import same
from tileas_xdsl.transforms.to_llvm.tiles.shared_memory import SharedMemory
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.values import SHARED, SharedTile, Slots

# Places ---------------------------------------------------------------------------------------------------------------


def place_shared(function: func.FuncOp, memory: SharedMemory) -> None:
    """Place the slots and the shared globals of a function behind its tiles, in the order of the ops that name them."""
    ops = list(function.body.walk())
    placed = [(op, place) for op in ops if (place := place_of(op)) is not None]
    for op, place in placed:
        if not place.over_rings:
            memory.take(op, place, op.results[0].name_hint)
    if over := [(op, place) for op, place in placed if place.over_rings]:
        memory.begin_rings()
        for op in ops:
            _place_slots(op, memory)
        for op, place in over:
            memory.take(op, place, op.results[0].name_hint)
    for op in ops:
        _place_slots(op, memory)
        if isinstance(op, llvm.AddressOfOp) and name_of(op) not in memory.globals:
            name = name_of(op)
            memory.globals[name] = memory.place(bytes_of(global_of(op)), f"'{name}'")


def _place_slots(op: Operation, memory: SharedMemory) -> None:
    """Place the slots that an op allocates, if it allocates some that have no place yet."""
    if isinstance(op, AllocTensorOp) and op.stages is not None and op not in memory.slots:
        depth, name = op.stages.value.data, op.tensor.name_hint or op.name
        memory.slots[op] = memory.place_slots(depth, _bytes_of_slot(op), _period_of_slots(op), name)


def _bytes_of_slot(op: AllocTensorOp) -> int:
    """The bytes of the tiles that are seen in the slots; of storage that nobody sees, those of its elements."""
    if seen := [tile.bytes for tile in _seen_in_slots(op)]:
        return max(seen)
    kind = op.tensor.type
    bits = element_bits(kind) or 0
    for extent in kind.get_shape()[1:]:
        bits *= extent
    return max(1, bits // 8)


def _period_of_slots(op: AllocTensorOp) -> int:
    """After how many bytes the pattern of the tiles begins again that are seen in the slots."""
    return max((tile.period for tile in _seen_in_slots(op)), default=1)


def _seen_in_slots(op: AllocTensorOp) -> list[Tile]:
    tiles = [tile_of(use.operation.result.type) for use in op.tensor.uses if isinstance(use.operation, ViewOp)]
    return [tile for tile in tiles if tile is not None]


def global_of(op: llvm.AddressOfOp) -> llvm.GlobalOp | None:
    """The global that an op names; None where there is none."""
    found = SymbolTable.lookup_symbol(op, op.global_name)
    return found if isinstance(found, llvm.GlobalOp) else None


def name_of(op: llvm.AddressOfOp) -> str:
    return op.global_name.root_reference.data


def bytes_of(global_: llvm.GlobalOp | None) -> int:
    """The bytes of a global that is an array of numbers in shared memory; 0 where it is something else."""
    if global_ is None or global_.addr_space.value.data != SHARED or global_.value is not None:
        return 0
    kind = global_.global_type
    if not isinstance(kind, llvm.LLVMArrayType) or not isinstance(kind.type, FixedBitwidthType):
        return 0
    return kind.size.data * kind.type.bitwidth // 8


@rule(llvm.AddressOfOp)
def _address(op: llvm.AddressOfOp, threads: Threads) -> None:
    threads.give(op.result, threads.at_shared(threads.memory.globals[name_of(op)]))


@refusal(llvm.AddressOfOp)
def _of_no_array(op: llvm.AddressOfOp) -> tuple[str, str] | None:
    if bytes_of(global_of(op)):
        return None
    return "names no array of numbers in shared memory", "keep in globals there what agents share, without a value"


def globals_of(function: func.FuncOp) -> list[str]:
    """The names of the globals that a function names."""
    return [name_of(op) for op in function.body.walk() if isinstance(op, llvm.AddressOfOp)]


# Slots ----------------------------------------------------------------------------------------------------------------


def storage(op: AllocTensorOp, threads: Threads) -> Slots:
    """The storage of slots that an op allocates."""
    start, distance = threads.memory.slots[op]
    return Slots(threads.at_shared(start), distance, start)


def viewed(op: ViewOp, threads: Threads) -> SharedTile:
    """The tile in the slot that a view names."""
    slots, tile = threads.forms[op.source], tile_of(op.result.type)
    assert isinstance(slots, Slots)
    assert tile is not None
    number = threads.result(arith.IndexCastOp(threads.of(op.indices[0]), i32))
    pointer = threads.shifted(slots.pointer, threads.compute(arith.MuliOp, number, slots.bytes))
    return SharedTile(tile, pointer, (slots, number))


def is_storage(value: SSAValue) -> bool:
    """Whether a value is the storage of slots."""
    return isinstance(value.owner, AllocTensorOp) and value.owner.stages is not None


# Ops of threads -------------------------------------------------------------------------------------------------------


rule(
    *(MBarrierInitOp, MBarrierArriveOp, MBarrierArriveExpectTxOp, MBarrierTestWaitOp, MBarrierTryWaitParityOp),
    *(CpAsyncMBarrierArriveOp, FenceMbarrierInitOp, SetMaxRegisterOp, ThreadIdXOp, llvm.GEPOp, BarrierOp, SyncWarpOp),
    *(Tcgen05CommitOp, Tcgen05FenceOp, ClusterArriveOp, ClusterWaitOp, MapaOp),
)(same)


@rule(Barrier0Op)
def _meet(_op: Barrier0Op, threads: Threads) -> None:
    """The threads wait for each other, unless they have just done so."""
    if not threads.stands_behind(Barrier0Op):
        threads.insert(Barrier0Op())


@rule(FenceProxyOp)
def _fence(op: FenceProxyOp, threads: Threads) -> None:
    """One fence is enough for all that was touched before it, and before the next meeting or arrival."""
    if not threads.stands_behind(FenceProxyOp, MBarrierArriveOp):
        threads.insert(op.clone())


@refusal(FenceProxyOp)
def _of_other_memory(op: FenceProxyOp) -> tuple[str, str] | None:
    if str(op.kind.data) == "async.shared":
        return None
    return "orders something else than shared memory", "leave it out: tiles reach global memory by no other proxy"


@refusal(Barrier0Op)
def _in_an_agent(op: Barrier0Op) -> tuple[str, str] | None:
    if agent_of(op) is None:
        return None
    return "lets all threads of the block meet, in an agent", "let agents meet at barriers of their own"
