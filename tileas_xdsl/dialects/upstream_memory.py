"""
The memory effects of xDSL's own ops, where their traits give none or do not say where.

    memref.store %v, %B[%i]        writes %B at [%i]
    vector.load %B[%i, %j]         reads %B at [%i, %j .. %j + 7]
    linalg.matmul                  reads its inputs and outputs, writes its outputs
    func.call @f(%B)               may do anything

The tables are keyed by op class, since xDSL's ops cannot inherit our interfaces. An op in none of the tables is asked
for its memory effect traits; without those it touches everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, cf, func, gpu, llvm, memref, scf, vector
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Attribute, Operation

from tileas_xdsl.interfaces import Effect

AccessRule = Callable[[Any], Sequence[Effect] | None]
"""Given an op, its own effects; None where it may do anything."""

ACCESSES: dict[type[Operation], AccessRule] = {}
"""Op class -> the rule that gives its memory effects."""

VIEWS: dict[type[Operation], int] = {
    memref.AssumeAlignmentOp: 0,
    memref.CastOp: 0,
    memref.CollapseShapeOp: 0,
    memref.ExpandShapeOp: 0,
    memref.MemorySpaceCastOp: 0,
    memref.ReinterpretCastOp: 0,
    memref.SubviewOp: 0,
    memref.ViewOp: 0,
}
"""Op class -> the operand whose memory the results show."""

ALLOCATIONS: tuple[type[Operation], ...] = (memref.AllocOp, memref.AllocaOp, llvm.AllocaOp)
"""Ops whose results are memory that no other value names."""


def accesses(*ops: type[Operation]) -> Callable[[AccessRule], AccessRule]:
    """Decorator: the function is the rule of these op classes."""

    def register(rule: AccessRule) -> AccessRule:
        ACCESSES.update(dict.fromkeys(ops, rule))
        return rule

    return register


# Buffers --------------------------------------------------------------------------------------------------------------


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


# Vectors --------------------------------------------------------------------------------------------------------------


@accesses(vector.LoadOp)
def _(op: vector.LoadOp) -> Sequence[Effect]:
    return (Effect(False, op.base, op.indices, vector_extents(op.result.type, len(op.indices))),)


@accesses(vector.StoreOp)
def _(op: vector.StoreOp) -> Sequence[Effect]:
    return (Effect(True, op.base, op.indices, vector_extents(op.vector.type, len(op.indices))),)


@accesses(vector.TransferReadOp, vector.TransferWriteOp)
def _(op: vector.TransferReadOp | vector.TransferWriteOp) -> Sequence[Effect]:
    """Neighbouring elements; any of the buffer where a mask or a permutation says which."""
    writes = isinstance(op, vector.TransferWriteOp)
    if not isinstance(op.source.type, MemRefType):
        return ()
    if op.mask is not None or not op.permutation_map.data.is_minor_identity():
        return (Effect(writes, op.source),)
    vector_type = op.vector.type if isinstance(op, vector.TransferWriteOp) else op.result.type
    return (Effect(writes, op.source, op.indices, vector_extents(vector_type, len(op.indices))),)


def vector_extents(vector_type: Attribute, rank: int) -> tuple[int, ...]:
    """How many elements along each of `rank` axes a vector covers: its shape, on the last axes."""
    assert isinstance(vector_type, VectorType)
    shape = vector_type.get_shape()
    return (*(1 for _ in range(rank - len(shape))), *shape)


# Structured ops -------------------------------------------------------------------------------------------------------


def _on_buffers(reads: Sequence[Any], writes: Sequence[Any]) -> Sequence[Effect]:
    """Reads and writes of those operands that are buffers; tensors are values."""
    effects = [(False, value) for value in reads] + [(True, value) for value in writes]
    return [Effect(is_write, value) for is_write, value in effects if isinstance(value.type, MemRefType)]


@accesses(linalg.FillOp, linalg.CopyOp)
def _(op: linalg.FillOp | linalg.CopyOp) -> Sequence[Effect]:
    return _on_buffers(op.inputs, op.outputs)


@accesses(
    linalg.GenericOp,
    linalg.TransposeOp,
    linalg.MatmulOp,
    linalg.QuantizedMatmulOp,
    linalg.AddOp,
    linalg.SubOp,
    linalg.MulOp,
    linalg.MaxOp,
    linalg.MinOp,
    linalg.ExpOp,
    linalg.LogOp,
    linalg.SqrtOp,
    linalg.SelectOp,
    linalg.PoolingNchwMaxOp,
    linalg.Conv2DNchwFchwOp,
    linalg.Conv2DNgchwFgchwOp,
    linalg.Conv2DNgchwGfchwOp,
    linalg.Conv2DNhwc_FhwcOp,
    linalg.Conv2DNhwc_HwcfOp,
    linalg.Conv2DNhwgcGfhwcOp,
)
def _(op: LinalgStructuredOperation) -> Sequence[Effect]:
    """The outputs may be added to, so they are read as well."""
    return _on_buffers((*op.inputs, *op.outputs), op.outputs)


@accesses(linalg.BroadcastOp)
def _(op: linalg.BroadcastOp) -> Sequence[Effect]:
    return _on_buffers((op.input,), (op.init,))


@accesses(linalg.ReduceOp)
def _(op: linalg.ReduceOp) -> Sequence[Effect]:
    return _on_buffers((op.input, op.init), (op.init,))


# LLVM -----------------------------------------------------------------------------------------------------------------


@accesses(llvm.LoadOp)
def _(op: llvm.LoadOp) -> Sequence[Effect] | None:
    return (Effect(False, op.ptr),) if op.ordering.value.data == 0 else None


@accesses(llvm.StoreOp)
def _(op: llvm.StoreOp) -> Sequence[Effect] | None:
    is_ordered = op.ordering is not None and op.ordering.value.data != 0
    return None if is_ordered or op.volatile_ is not None else (Effect(True, op.ptr),)


# All the others -------------------------------------------------------------------------------------------------------


@accesses(
    arith.ExtSIOp,
    arith.RemUIOp,
    linalg.IndexOp,
    gpu.BlockDimOp,
    gpu.BlockIdOp,
    gpu.GridDimOp,
    gpu.LaneIdOp,
    gpu.NumSubgroupsOp,
    gpu.SubgroupIdOp,
    gpu.SubgroupSizeOp,
    gpu.ThreadIdOp,
    llvm.AllocaOp,
    memref.AllocaScopeOp,
    scf.ExecuteRegionOp,
)
def _(_op: Operation) -> Sequence[Effect]:
    """Nothing by itself: arithmetic that xDSL gives no trait, a new buffer, a region whose ops speak for themselves."""
    return ()


@accesses(cf.AssertOp)
def _(_op: cf.AssertOp) -> Sequence[Effect]:
    """
    May end the program. What has been written by then may be seen, so no write moves across it, as if it read all that
    there is; reads may. MLIR calls it a write of no memory in particular.
    """
    return (Effect(False, None),)


@accesses(
    func.CallOp,
    llvm.CallOp,
    llvm.CallIntrinsicOp,
    llvm.InlineAsmOp,
    gpu.AllocOp,
    gpu.AllReduceOp,
    gpu.BarrierOp,
    gpu.DeallocOp,
    gpu.LaunchFuncOp,
    gpu.LaunchOp,
    gpu.MemcpyOp,
    gpu.WaitOp,
)
def _(_op: Operation) -> None:
    """
    Anything: whatever the callee does; what a device does at any moment between an op that issues it and a wait; and
    what other threads have done when a barrier opens.
    """
    return None
