"""
Rings: a pipeline is slots in shared memory, and for each slot a full and an empty mbarrier (CUTLASS, "Synchronization
primitives").

    %p, %c = create_pipeline {numStages = 4}         %slots = alloc_tensor {stages = 4} : tensor<4x64x16xf16, smem>
    %it = create_iterator %p                         %barriers = llvm.mlir.addressof @f_barriers_0
    %it1 = inc_iter %it                        ->    scf.if %is_first { nvvm.mbarrier.init %barriers, .. }; barrier0
                                                     %slot1, %parity1 = behind the last slot 0 and the other parity
    consumer_wait %c, %k                             %slot, %parity = %k mod 4, %k div 4 mod 2

Each thread of whoever fills or empties a slot arrives: the barriers count them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, func, llvm, scf, ub
from xdsl.dialects.builtin import IndexType, IntegerType, TensorType, TupleType, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.threads.filling import filled_with
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ProduceOp
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReadOp,
    CreateIteratorOp,
    CreateNullTokenOp,
    CreatePipelineOp,
    IncIterOp,
)
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaLoadOp
from tileas_xdsl.dialects.nv_tileas.tokens import CreateNoneOp
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op, ClusterArriveOp, ClusterWaitOp
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncMBarrierArriveOp
from tileas_xdsl.dialects.nvvm.fence import FenceMbarrierInitOp
from tileas_xdsl.dialects.nvvm.mbarrier import (
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierInitOp,
    MBarrierTestWaitOp,
    MBarrierTryWaitParityOp,
)
from tileas_xdsl.dialects.nvvm.tcgen05 import Tcgen05CommitOp
from tileas_xdsl.dialects.upstream import pointer_type
from tileas_xdsl.transforms.to_llvm.pipelines.filling import RingAccess, ring_accesses
from tileas_xdsl.transforms.to_llvm.pipelines.participants import Participants
from tileas_xdsl.transforms.to_llvm.pipelines.state import (
    BARRIER_BYTES,
    PipelineCode,
    Ring,
    is_of_pipeline,
    refusal,
    rule,
)

SHARED = 3
UNUSED = RingAccess()


# Storage --------------------------------------------------------------------------------------------------------------


def make_rings(code: PipelineCode, function: func.FuncOp, names: Sequence[str]) -> list[llvm.GlobalOp]:
    """
    Build slots and barriers of all pipelines of a function; returns the globals of the barriers, called `names`.

    One thread makes the barriers, and the others wait for it.
    """
    accesses = ring_accesses(function, code.roots)
    participants = Participants(function, code.roots, code.warps)
    payloads = _payloads(function, code)
    made: list[llvm.GlobalOp] = []
    for op, name in zip(pipelines_in(function), names, strict=True):
        slots = [_slots(code, op, kind) for kind in payloads.get(op, ())]
        with code.standing_for(op):
            barriers = code.result(llvm.AddressOfOp(name, pointer_type(SHARED)))
        barriers.name_hint = "barriers"
        access, arrivals = accesses.get(op, UNUSED), participants.arrivals(op)
        code.rings[op] = Ring(op, op.depth, tuple(slots), barriers, access, arrivals)
        kind = llvm.LLVMArrayType(2 * op.depth, i64)
        made.append(llvm.GlobalOp(kind, name, "internal", SHARED, alignment=BARRIER_BYTES))
    return made


def pipelines_in(function: func.FuncOp) -> list[CreatePipelineOp]:
    """The ops that make the pipelines of a function, in order."""
    return [op for op in function.body.walk() if isinstance(op, CreatePipelineOp)]


def _payloads(function: func.FuncOp, code: PipelineCode) -> dict[Operation, Sequence[Attribute]]:
    """The types of the tiles in a slot, by pipeline."""
    found: dict[Operation, Sequence[Attribute]] = {}
    for op in function.body.walk():
        kinds = tiles_of(op)
        if kinds is not None:
            root = code.roots.of(op.operands[0])
            assert root is not None
            found.setdefault(root.op, kinds)
    return found


def tiles_of(op: Operation) -> Sequence[Attribute] | None:
    """The types of the tiles in a slot, where an op names them: it makes an iterator, fills the slot or reads it."""
    match op:
        case CreateIteratorOp():
            payload = op.iterator.type.payload
            return payload.types.data if isinstance(payload, TupleType) else [payload]
        case ProduceOp():
            return [value.type for value in filled_with(op)]
        case ConsumerReadOp():
            return [value.type for value in op.value_results]
        case _:
            return None


def _slots(code: PipelineCode, op: CreatePipelineOp, kind: Attribute) -> SSAValue:
    tile = cast("TensorType[Attribute]", kind)
    shape = [op.depth, *tile.get_shape()]
    slots = code.result(AllocTensorOp(TensorType(tile.element_type, shape, LayoutAttr.of("smem")), op.depth))
    slots.name_hint = op.producer.name_hint
    return slots


def init_barriers(code: PipelineCode) -> Barrier0Op | None:
    """
    The first thread makes the barriers, and all others wait for it, at the op that is returned; None where those of all
    blocks of a cluster do.
    """

    def build() -> None:
        for ring in code.rings.values():
            with code.standing_for(ring.place):
                _init_ring(code, ring)
        accesses = [ring.access for ring in code.rings.values()]
        if any(access.is_by_tma or access.returns is not None for access in accesses):
            # What an engine completes at a barrier has to come behind its beginning.
            code.insert(FenceMbarrierInitOp())

    code.by_first_thread(build)
    if shares_slots(code):
        meet_in_cluster(code)
        return None
    return code.insert(Barrier0Op())


def shares_slots(code: PipelineCode) -> bool:
    """Whether blocks of a cluster fill slots of each other."""
    return any(ring.access.blocks > 1 for ring in code.rings.values())


def meet_in_cluster(code: PipelineCode) -> None:
    """
    All threads of the blocks of a cluster wait for each other: at the beginning, since a peer arrives at barriers that
    have to be made; at the end, since none may be gone whose shared memory a peer still reaches.
    """
    code.insert(ClusterArriveOp())
    code.insert(ClusterWaitOp())


def _init_ring(code: PipelineCode, ring: Ring) -> None:
    for start, arrivals in ((ring.full, ring.arrivals.full), (ring.empty, ring.arrivals.empty * ring.access.blocks)):
        count = code.number(arrivals)
        for slot in range(ring.depth):
            barrier = code.shifted(ring.barriers, start + BARRIER_BYTES * slot)
            code.insert(MBarrierInitOp(barrier, count))


def drop_where_all_meet_later(beginning: Barrier0Op, first: SSAValue) -> None:
    """
    Drop the barrier behind the making of the others where all threads meet again before another one than the `first`
    gets to any of those.
    """
    op = beginning.next_op
    while op is not None and not isinstance(op, Barrier0Op):
        if any(isinstance(inner, FOR_ALL) and not _is_of_first(inner, first) for inner in op.walk()):
            return
        op = op.next_op
    if op is not None:
        Rewriter.erase_op(beginning)


FOR_ALL = (
    *(MBarrierTryWaitParityOp, MBarrierTestWaitOp, MBarrierArriveOp, MBarrierArriveExpectTxOp, CpAsyncMBarrierArriveOp),
    *(Tcgen05CommitOp, TiledTmaLoadOp, AgentSwitchOp),
)
"""Ops that get to barriers in memory, and what other threads run."""


def _is_of_first(op: Operation, first: SSAValue) -> bool:
    """Whether only the first thread gets to an op."""
    around = op.parent_op()
    while around is not None and not (isinstance(around, scf.IfOp) and around.cond is first):
        op, around = around, around.parent_op()
    return isinstance(around, scf.IfOp) and op.parent_region() is around.true_region


# Iterators and tokens -------------------------------------------------------------------------------------------------


@rule(CreatePipelineOp)
def _create(op: CreatePipelineOp, code: PipelineCode) -> None:
    for token in op.results:
        code.give(token, [code.number(0)])


@rule(CreateNoneOp, CreateNullTokenOp)
def _none(op: CreateNoneOp | CreateNullTokenOp, code: PipelineCode) -> None:
    """A token or an iterator that nobody looks at."""
    (result,) = op.results
    if is_of_pipeline(result.type):
        code.give(result, [code.result(ub.PoisonOp(kind)) for kind in code.types_for(result.type)])
    else:
        code.copy(op)


@rule(CreateIteratorOp)
def _iterator(op: CreateIteratorOp, code: PipelineCode) -> None:
    zero = code.number(0)
    code.give(op.iterator, [zero, zero])


@rule(IncIterOp)
def _next(op: IncIterOp, code: PipelineCode) -> None:
    slot, parity = code.parts(op.iterator)
    following = code.compute(arith.AddiOp, slot, 1)
    wraps = code.compare(following, "eq", code.ring(op.iterator).depth)
    slot = code.result(arith.SelectOp(wraps, code.number(0), following))
    other = code.compute(arith.XOrIOp, parity, 1)
    parity = code.result(arith.SelectOp(wraps, other, parity))
    slot.name_hint, parity.name_hint = "slot", "parity"
    code.give(op.next_iterator, [slot, parity])


def turn_of(op: ClassifiedOp, code: PipelineCode) -> Sequence[SSAValue]:
    """Slot and parity of the stage that an op names, i32 both."""
    stage, depth = op.stage, code.ring(op.operands[0]).depth
    assert stage is not None
    if isinstance(stage.type, PipelineIteratorType):
        return code.parts(stage)
    key = code.block, stage, depth
    if key not in code.computed:
        (number,) = code.parts(stage)
        parity = code.compute(arith.AndIOp, code.compute(arith.DivUIOp, number, depth), 1)
        code.computed[key] = [_as_i32(each, code) for each in (code.compute(arith.RemUIOp, number, depth), parity)]
        for part, hint in zip(code.computed[key], ("slot", "parity"), strict=True):
            part.name_hint = hint
    return code.computed[key]


def _as_i32(number: SSAValue, code: PipelineCode) -> SSAValue:
    match number.type:
        case IndexType():
            return code.result(arith.IndexCastOp(number, i32))
        case IntegerType() if number.type != i32:
            return code.result(arith.TruncIOp(number, i32))
        case _:
            return number


# Refusals -------------------------------------------------------------------------------------------------------------


@refusal(CreatePipelineOp)
def _makes_no_ring(op: CreatePipelineOp) -> tuple[str, str] | None:
    if op.buffers:
        return "has a buffer of its own", "let the pipeline make its slots"
    around = op.parent_op()
    while around is not None and not isinstance(around, scf.ForOp | scf.WhileOp):
        around = around.parent_op()
    if around is None:
        return None
    words = "is made in each iteration of a loop, and its barriers are made once and go on counting"
    return words, "make it in front of the loop, and let the loop hand its iterators on"


@refusal(CreateIteratorOp)
def _of_no_tiles(op: CreateIteratorOp) -> tuple[str, str] | None:
    for kind in tiles_of(op) or ():
        if not isinstance(kind, TensorType) or not kind.has_static_shape():
            return f"goes through slots that hold a '{kind}'", "hand over tiles of a static shape"
    return None
