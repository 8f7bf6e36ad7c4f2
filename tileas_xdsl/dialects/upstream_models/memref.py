"""What the ops of `memref` touch, and which of them are views."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref

from tileas_xdsl.dialects.upstream_models import ALLOCATIONS, VIEWS, accesses, touches_nothing
from tileas_xdsl.interfaces import Effect

ALLOCATIONS.update((memref.AllocOp, memref.AllocaOp))

VIEWS.update(
    {
        memref.AssumeAlignmentOp: 0,
        memref.CastOp: 0,
        memref.CollapseShapeOp: 0,
        memref.ExpandShapeOp: 0,
        memref.MemorySpaceCastOp: 0,
        memref.ReinterpretCastOp: 0,
        memref.SubviewOp: 0,
        memref.ViewOp: 0,
    }
)

accesses(memref.AllocaScopeOp)(touches_nothing)


@accesses(memref.LoadOp)
def _(op: memref.LoadOp) -> Sequence[Effect]:
    return (Effect(False, op.memref, op.indices),)


@accesses(memref.StoreOp)
def _(op: memref.StoreOp) -> Sequence[Effect]:
    return (Effect(True, op.memref, op.indices),)


@accesses(memref.AtomicRMWOp)
def _(op: memref.AtomicRMWOp) -> Sequence[Effect]:
    return (Effect(False, op.memref, op.indices), Effect(True, op.memref, op.indices))


@accesses(memref.CopyOp)
def _(op: memref.CopyOp) -> Sequence[Effect]:
    return (Effect(False, op.source), Effect(True, op.destination))


@accesses(memref.DeallocOp)
def _(op: memref.DeallocOp) -> Sequence[Effect]:
    return (Effect(True, op.memref),)
