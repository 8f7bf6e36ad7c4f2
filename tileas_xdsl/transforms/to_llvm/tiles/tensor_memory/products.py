"""
Products that add to tensor memory, each started by one thread, and waits for them.

A wait in a loop takes part in a phase that all threads of the team arrive at, and learns from its own arrival which
phase that is; one that stands in no loop waits for the only phase of a barrier of its own.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region, SSAValue

from tileas_xdsl.analysis.threads.columns import scale_columns_of, stores_nothing
from tileas_xdsl.analysis.threads.tensor_products import ProductKind, ScaledKind, kind_of
from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.structure import CopyOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nvvm.attributes import CTAGroup
from tileas_xdsl.dialects.nvvm.matrix_attributes import Tcgen05Fence
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierArriveOp, MBarrierTryWaitOp, MBarrierTryWaitParityOp
from tileas_xdsl.dialects.nvvm.tcgen05 import Tcgen05CommitOp, Tcgen05FenceOp
from tileas_xdsl.dialects.nvvm.tcgen05_mma import Tcgen05MMABlockScaleOp, Tcgen05MMAOp
from tileas_xdsl.layouts.descriptors import tcgen05_descriptor
from tileas_xdsl.layouts.fragments import TENSOR_ROWS, WGMMA_MAX_N
from tileas_xdsl.layouts.scale_factors import WORD_SCALES
from tileas_xdsl.transforms.to_llvm.tiles.operands import Descriptors, Matrix
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.tiles.tensor_copies import by_first_thread
from tileas_xdsl.transforms.to_llvm.tiles.tensor_memory.allocation import (
    is_repeated,
    lies_in_tensor_memory,
    memory_of,
    pointer_to,
)
from tileas_xdsl.transforms.to_llvm.tiles.tensor_memory.scales import ScalesOf, scales_in_front
from tileas_xdsl.transforms.to_llvm.tiles.values import Nothing

TICKS = 0x989680
"""Nanoseconds after which a wait looks again."""


def multiply(op: AsyncDotOp, threads: Threads) -> None:
    """Let one thread start a product."""
    kind = kind_of(op)
    assert kind is not None
    a, b = operands(op)
    assert isinstance(a, Matrix)
    assert isinstance(b, Matrix)
    left, right = (
        Descriptors(threads, matrix, threads.tile(operand), encode=tcgen05_descriptor)
        for matrix, operand in ((a, op.a), (b, op.b))
    )
    if isinstance(kind, ScaledKind):
        scales = scales_in_front(op, threads)
        by_first_thread(threads, lambda: _start_scaled(op, threads, kind, scales, ((a, left), (b, right))))
    else:
        by_first_thread(threads, lambda: _start(op, threads, kind, (a, b), (left, right)))
    threads.give(op.d, Nothing())
    threads.give(op.done, Nothing())


def _start(
    op: AsyncDotOp,
    threads: Threads,
    kind: ProductKind,
    matrices: tuple[Matrix, Matrix],
    descriptors: tuple[Descriptors, Descriptors],
) -> None:
    (a, b), (left, right) = matrices, descriptors
    memory = memory_of(threads)
    columns = memory.columns.of(op.d)
    rows, width = op.d.type.get_shape()
    step = 256 // a.tile.bits
    n = min(width, WGMMA_MAX_N)
    word = threads.number(kind.descriptor(TENSOR_ROWS, n, a_along_m=not a.is_k_major, b_along_n=not b.is_k_major))
    begins = begins_with_zeros(op)
    for row in range(0, rows, TENSOR_ROWS):
        for column in range(0, width, n):
            place = columns.first + row // TENSOR_ROWS * width + column
            target = pointer_to(threads, memory, place)
            for k in range(0, a.tile.layout.shape[1], step):
                adds = threads.number(int(k > 0 or not begins), i1)
                words = (target, left.at(row, k), right.at(column, k), word, adds)
                threads.insert(Tcgen05MMAOp(words, kind.kind, group=CTAGroup.CTA_1))


def _start_scaled(
    op: AsyncDotOp,
    threads: Threads,
    kind: ScaledKind,
    scales: tuple[ScalesOf, ScalesOf],
    factors: tuple[tuple[Matrix, Descriptors], tuple[Matrix, Descriptors]],
) -> None:
    """Copy the scale factors, and multiply: the tensor core does that in order."""
    ((a, left), (b, right)), (of_a, of_b) = factors, scales
    memory = memory_of(threads)
    columns = memory.columns.of(op.d)
    rows, width = op.d.type.get_shape()
    depth, step = a.tile.layout.shape[1], 256 // a.tile.bits
    n = min(width, WGMMA_MAX_N)
    begins = begins_with_zeros(op)
    of_a.copy(threads)
    of_b.copy(threads)
    for row, column in [(row, column) for row in range(0, rows, TENSOR_ROWS) for column in range(0, width, n)]:
        target = pointer_to(threads, memory, columns.first + row // TENSOR_ROWS * width + column)
        for number, k in enumerate(range(0, depth, step)):
            scale = number * kind.factors
            ways = {"a_along_m": not a.is_k_major, "b_along_n": not b.is_k_major}
            word = threads.number(kind.descriptor(n, scale % WORD_SCALES, **ways))
            adds = threads.number(int(k > 0 or not begins), i1)
            own = of_a.pointer(threads, row, scale), of_b.pointer(threads, column, scale)
            words = (target, left.at(row, k), right.at(column, k), word, adds)
            threads.insert(Tcgen05MMABlockScaleOp(words, own, kind.kind, kind.scale))


def begins_with_zeros(op: AsyncDotOp) -> bool:
    """Whether a product adds to zeros that were copied into tensor memory for it alone."""
    return isinstance(op.c.owner, CopyOp) and stores_nothing(op.c.owner)


def operands(op: AsyncDotOp) -> tuple[Matrix | str, Matrix | str]:
    """A and B in shared memory, or why they cannot be read there."""
    tiles = [tile_of(value.type) for value in (op.a, op.b)]
    if any(tile is None or tile.in_registers for tile in tiles):
        return f"multiplies {op.a.type} and {op.b.type}, which do not both lie in shared memory", ""
    a, b = cast("list[Tile]", tiles)
    return Matrix.of(a, 0), Matrix.of(b, 1)


def no_product(op: AsyncDotOp) -> tuple[str, str] | None:
    """Why no tcgen05.mma does a product."""
    way_out = "let the pipeline load it, or convert it into shared memory"
    if not lies_in_tensor_memory(op.c.type):
        return "has a sum that is not in tensor memory yet", "run tileas-place-accumulators before"
    kind = kind_of(op)
    if kind is None:
        return f"multiplies {op.a.type} and {op.b.type} into {op.c.type}", "use f16, bf16 or f8 into f32, i8 into i32"
    problem = next((each for each in operands(op) if isinstance(each, str)), None)
    if problem is None and isinstance(kind, ScaledKind) and scale_columns_of(op) is None:
        return "has scale factors without columns in tensor memory", "run tileas-place-accumulators before"
    return None if problem is None else (problem, way_out)


# Waits ----------------------------------------------------------------------------------------------------------------


def await_products(op: AsyncWaitOp, threads: Threads) -> None:
    """Wait for the products that have been started so far."""
    barrier = threads.at_shared(memory_of(threads).barriers[op])
    by_first_thread(threads, lambda: _commit(threads, barrier))
    ticks = threads.number(TICKS)
    if is_repeated(op):
        _await_own_phase(threads, barrier, ticks)
    else:
        threads.insert(MBarrierTryWaitParityOp(barrier, threads.number(0), ticks))
    threads.insert(Tcgen05FenceOp(Tcgen05Fence.AFTER))


def _commit(threads: Threads, barrier: SSAValue) -> None:
    threads.insert(Tcgen05CommitOp(barrier))


def _await_own_phase(threads: Threads, barrier: SSAValue, ticks: SSAValue) -> None:
    """Arrive, and wait until the phase is over that one has arrived in."""
    state = threads.result(MBarrierArriveOp(barrier, returns_state=True))
    before, after = Block(), Block()
    with threads.inside(before):
        done = threads.result(MBarrierTryWaitOp(barrier, state, ticks))
        again = threads.compute(arith.XOrIOp, done, threads.number(1, i1))
        threads.insert(scf.ConditionOp(again))
    with threads.inside(after):
        threads.insert(scf.YieldOp())
    threads.insert(scf.WhileOp([], [], Region(before), Region(after)))
