"""
Scale factors on their way from shared memory to the columns that a product reads them in.

    async.dot %a, %b, %c, %sfa, %sfb     one thread: tcgen05.cp for each block of factors, then the products

The tensor core copies and multiplies in the order in which the thread starts both. What it copies over is another
matter: the factors of a slot have columns of their own, and the slot is full again only when all is over that has read
them. (PTX ISA, "tcgen05.cp", "Pipelined tcgen05 instructions".)
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from tileas_xdsl.analysis.threads.columns import Columns, scale_columns_of
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nvvm.matrix_attributes import Tcgen05CpMulticast, Tcgen05CpShape
from tileas_xdsl.dialects.nvvm.tcgen05 import Tcgen05CpOp
from tileas_xdsl.layouts.descriptors import Operand, tcgen05_descriptor
from tileas_xdsl.layouts.scale_factors import BLOCK_BYTES, BLOCK_COLUMNS, ROW_BYTES, SCALE_ALIGNMENT, Scales, scales_of
from tileas_xdsl.transforms.to_llvm.tiles.operands import ADDRESS_BITS, UNIT
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.tiles.tensor_memory.allocation import memory_of, pointer_to


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
