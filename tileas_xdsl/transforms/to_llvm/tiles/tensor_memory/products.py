"""
Products that add to tensor memory, each started by one thread, and waits for them.

A wait in a loop takes part in a phase that all threads of the team arrive at, and learns from its own arrival which
phase that is; one that stands in no loop waits for the only phase of a barrier of its own.

*Scale factors* are copied from shared memory to the columns that a product reads them in:

    async.dot %a, %b, %c, %sfa, %sfb     one thread: tcgen05.cp for each block of factors, then the products

The tensor core copies and multiplies in the order in which the thread starts both. What it copies over is another
matter: the factors of a slot have columns of their own, and the slot is full again only when all is over that has read
them. (PTX ISA, "tcgen05.cp", "Pipelined tcgen05 instructions".)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, llvm, scf
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Block, Region, SSAValue

from tileas_xdsl.analysis.threads.columns import Columns, scale_columns_of, stores_nothing
from tileas_xdsl.analysis.threads.tensor_products import ProductKind, ScaledKind, kind_of
from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.structure import CopyOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nvvm.attributes import CTAGroup
from tileas_xdsl.dialects.nvvm.matrix_attributes import Tcgen05CpMulticast, Tcgen05CpShape, Tcgen05Fence
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierArriveOp, MBarrierTryWaitOp, MBarrierTryWaitParityOp
from tileas_xdsl.dialects.nvvm.tcgen05 import Tcgen05CommitOp, Tcgen05CpOp, Tcgen05FenceOp
from tileas_xdsl.dialects.nvvm.tcgen05_mma import Tcgen05MMABlockScaleOp, Tcgen05MMAOp
from tileas_xdsl.layouts.descriptors import Operand, tcgen05_descriptor
from tileas_xdsl.layouts.fragments import TENSOR_ROWS, WGMMA_MAX_N
from tileas_xdsl.layouts.scale_factors import (
    BLOCK_BYTES,
    BLOCK_COLUMNS,
    ROW_BYTES,
    SCALE_ALIGNMENT,
    WORD_SCALES,
    Scales,
    scales_of,
)
from tileas_xdsl.transforms.to_llvm.tiles.operands import ADDRESS_BITS, UNIT, Descriptors, Matrix
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.tiles.tensor_copies import by_first_thread
from tileas_xdsl.transforms.to_llvm.tiles.tensor_memory.allocation import (
    is_repeated,
    lies_in_tensor_memory,
    memory_of,
    pointer_to,
)
from tileas_xdsl.transforms.to_llvm.tiles.values import Nothing


@dataclass(frozen=True)
class ScalesOf:
    """The scale factors of an operand of a product."""

    scales: Scales
    column: SSAValue
    """The address of their first column."""
    word: SSAValue
    """The descriptor of their first block."""

    def copy(self, threads: Threads) -> None:
        """Let the tensor core copy them into their columns."""
        for number in range(self.scales.blocks):
            place = pointer_to(threads, memory_of(threads), number * BLOCK_COLUMNS, self.column)
            word = threads.compute(arith.AddiOp, self.word, number * BLOCK_BYTES >> UNIT) if number else self.word
            threads.insert(Tcgen05CpOp(place, word, Tcgen05CpShape.SHAPE_32X128B, Tcgen05CpMulticast.WARPX4))

    def pointer(self, threads: Threads, row: int, scale: int) -> SSAValue:
        """Where those of a row, or a column, begin that a product reads."""
        block = self.scales.block(row, scale)
        return pointer_to(threads, memory_of(threads), block * BLOCK_COLUMNS, self.column)


def scales_in_front(op: AsyncDotOp, threads: Threads) -> tuple[ScalesOf, ScalesOf]:
    """The scale factors of a product, with what is computed of them before one thread goes on."""
    columns = scale_columns_of(op)
    assert columns is not None
    a, b = (_found(tile, axis, own, threads) for axis, (tile, own) in enumerate(zip(op.scales, columns, strict=True)))
    return a, b


def _found(tile: SSAValue, axis: int, columns: Columns, threads: Threads) -> ScalesOf:
    held = threads.tile(tile)
    scales = scales_of(held.tile.layout.shape, axis)
    column = threads.compute(arith.AddiOp, memory_of(threads).address, columns.first)
    if held.slot is not None:
        behind = threads.compute(arith.MuliOp, held.slot[1], scales.columns)
        column = threads.compute(arith.AddiOp, column, behind)
    pointer = threads.result(llvm.PtrToIntOp(held.pointer, i32))
    address = threads.compute(arith.AndIOp, pointer, (1 << ADDRESS_BITS) - 1)
    low = threads.result(arith.ExtUIOp(threads.compute(arith.ShRUIOp, address, UNIT), i64))
    constant = tcgen05_descriptor(Operand(0, ROW_BYTES, SCALE_ALIGNMENT))
    return ScalesOf(scales, column, threads.compute(arith.OrIOp, low, constant))


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
