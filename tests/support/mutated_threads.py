"""
Code of single threads in which one op that orders them is changed: what a lowering might forget, or get wrong by one.

A site is an op of `SYNCHRONISING`. At each site the op is left out, done twice, works on the barrier beside its own, or
has another count, parity, age, number of bytes or threads, or fences another proxy: whatever of it the op has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith, llvm, scf, ub
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, ModuleOp, i8, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nvvm.attributes import ProxyKind, ProxyKindAttr
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op, BarrierOp
from tileas_xdsl.dialects.nvvm.bulk import (
    CpAsyncBulkCommitGroupOp,
    CpAsyncBulkTensorGlobalToSharedClusterOp,
    CpAsyncBulkWaitGroupOp,
)
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncCommitGroupOp, CpAsyncMBarrierArriveOp, CpAsyncWaitGroupOp
from tileas_xdsl.dialects.nvvm.fence import FenceMbarrierInitOp, FenceProxyOp
from tileas_xdsl.dialects.nvvm.mbarrier import (
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierInitOp,
    MBarrierTestWaitOp,
    MBarrierTryWaitParityOp,
)
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaFenceAlignedOp, WgmmaGroupSyncAlignedOp, WgmmaWaitGroupSyncOp

SYNCHRONISING = (
    *(MBarrierInitOp, FenceMbarrierInitOp, Barrier0Op, BarrierOp, FenceProxyOp),
    *(MBarrierArriveOp, MBarrierArriveExpectTxOp, CpAsyncMBarrierArriveOp),
    *(MBarrierTryWaitParityOp, MBarrierTestWaitOp),
    *(CpAsyncCommitGroupOp, CpAsyncWaitGroupOp, CpAsyncBulkCommitGroupOp, CpAsyncBulkWaitGroupOp),
    CpAsyncBulkTensorGlobalToSharedClusterOp,
    *(WgmmaFenceAlignedOp, WgmmaGroupSyncAlignedOp, WgmmaWaitGroupSyncOp),
)
"""Barriers, arrivals, waits, groups, fences, and the copies that bring the bytes a barrier counts."""
ARRIVALS = (MBarrierArriveOp, MBarrierArriveExpectTxOp, CpAsyncMBarrierArriveOp)
WAITS = (MBarrierTryWaitParityOp, MBarrierTestWaitOp)
AGES: Mapping[type[Operation], str] = {
    WgmmaWaitGroupSyncOp: "group",
    CpAsyncWaitGroupOp: "n",
    CpAsyncBulkWaitGroupOp: "group",
}
"""Waits for groups, and the property that says how many may stay under way."""
BARRIER_BYTES, COPIED = 8, 16
"""Of an mbarrier, and the fewest that TMA copies."""


@dataclass(frozen=True)
class Mutation:
    """One change: the number of the site in the order of `walk`, the kind of change, and the op."""

    site: int
    kind: str
    op: str

    def __str__(self) -> str:
        return f"{self.site}-{self.op.removeprefix('nvvm.')}-{self.kind}"


def sites(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, SYNCHRONISING)]


def mutations(module: ModuleOp) -> list[Mutation]:
    """All of them, in program order."""
    return [Mutation(number, kind, op.name) for number, op in enumerate(sites(module)) for kind in _kinds(op)]


def mutated(module: ModuleOp, mutation: Mutation) -> ModuleOp:
    """A copy of `module` with the change."""
    copy = module.clone()
    EDITS[mutation.kind](sites(copy)[mutation.site])
    copy.verify()
    return copy


def _kinds(op: Operation) -> Iterator[str]:
    yield "drop"
    if isinstance(op, MBarrierInitOp | MBarrierArriveExpectTxOp):
        yield "twice"
    if isinstance(op, (*ARRIVALS, *WAITS, MBarrierInitOp)):
        yield "beside"
    if isinstance(op, MBarrierInitOp | BarrierOp):
        yield from ("more", "fewer")
    if isinstance(op, MBarrierArriveExpectTxOp):
        yield from ("more bytes", "fewer bytes")
    if isinstance(op, CpAsyncMBarrierArriveOp):
        yield "counts itself"
    if isinstance(op, WAITS):
        yield "parity"
    if type(op) in AGES:
        yield "younger"
    if isinstance(op, FenceProxyOp):
        yield "proxy"


# Changes --------------------------------------------------------------------------------------------------------------


def _drop(op: Operation) -> None:
    loop = op.parent_op()
    if isinstance(op, MBarrierTestWaitOp) and isinstance(loop, scf.WhileOp):
        Rewriter.erase_op(loop)
    else:
        Rewriter.replace_op(op, [], [_built(ub.PoisonOp(result.type), op) for result in op.results])


def _twice(op: Operation) -> None:
    Rewriter.insert_op(op.clone(), InsertPoint.after(op))


def _beside(op: Operation) -> None:
    """On the next barrier of the ring."""
    place = op.operands[0]
    op.operands[0] = _built(llvm.GEPOp(place, [BARRIER_BYTES], i8, result_type=place.type), op)


def _adds(amount: int) -> Callable[[Operation], None]:
    """So much more in operand 1: arrivals, threads, bytes."""
    return lambda op: _computed(op, arith.AddiOp, amount)


def _counts(amount: int) -> Callable[[Operation], None]:
    """An arrival more or fewer, and of threads that meet, a warp."""
    return lambda op: _computed(op, arith.AddiOp, amount * (32 if isinstance(op, BarrierOp) else 1))


def _parity(op: Operation) -> None:
    _computed(op, arith.XOrIOp, 1)


def _younger(op: Operation) -> None:
    """One group more may stay under way."""
    count = op.properties[AGES[type(op)]]
    assert isinstance(count, IntegerAttr)
    op.properties[AGES[type(op)]] = IntegerAttr(count.value.data + 1, count.type)


def _counts_itself(op: Operation) -> None:
    """The arrival raises the count of the phase before it arrives, so it adds nothing."""
    op.properties["noinc"] = BoolAttr.from_bool(False)


def _proxy(op: Operation) -> None:
    op.properties["kind"] = ProxyKindAttr(ProxyKind.ALIAS)
    op.properties.pop("space", None)


EDITS: Mapping[str, Callable[[Operation], None]] = {
    "drop": _drop,
    "twice": _twice,
    "beside": _beside,
    "more": _counts(1),
    "fewer": _counts(-1),
    "more bytes": _adds(COPIED),
    "fewer bytes": _adds(-COPIED),
    "parity": _parity,
    "younger": _younger,
    "counts itself": _counts_itself,
    "proxy": _proxy,
}


def _computed(op: Operation, made: type[arith.XOrIOp | arith.AddiOp], number: int) -> None:
    constant = _built(arith.ConstantOp(IntegerAttr(number, i32)), op)
    op.operands[1] = _built(made(op.operands[1], constant), op)


def _built(made: Operation, before: Operation) -> SSAValue:
    Rewriter.insert_op(made, InsertPoint.before(before))
    return made.results[0]
