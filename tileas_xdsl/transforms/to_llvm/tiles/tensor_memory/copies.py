"""Copies between tensor memory and registers, each warp its own lanes."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.analysis.threads.columns import stores_nothing
from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.dialects.extensions.llvm_values import ExtractElementOp
from tileas_xdsl.dialects.nv_tileas.layout import linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import CopyOp
from tileas_xdsl.dialects.nvvm.matrix_attributes import Tcgen05LdStShape, Tcgen05Wait
from tileas_xdsl.dialects.nvvm.tcgen05 import Tcgen05LdOp, Tcgen05StOp, Tcgen05WaitOp
from tileas_xdsl.layouts.distributed import WARP
from tileas_xdsl.layouts.tensor_memory import Transfer, transfers
from tileas_xdsl.transforms.to_llvm.tiles.packing import cast_bits, vector_of
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.tiles.tensor_memory.allocation import (
    TensorMemory,
    lies_in_tensor_memory,
    memory_of,
    pointer_to,
)
from tileas_xdsl.transforms.to_llvm.tiles.values import Nothing, Registers

LANE_BITS = 16
"""Where the lane stands in an address."""
GROUP_BITS, LANES_BITS = 2, 5
"""Of four warps, and of the lanes of each."""


def take(op: CopyOp, threads: Threads) -> None:
    """Load a sum, each warp its own lanes."""
    tile = tile_of(op.outputs[0].type)
    assert tile is not None
    transfer, shape = _transfer(op.source.type, tile)
    steps = list(_addresses(threads, op.source, transfer, tile.layout.input_size(WARP)))
    each = transfer.steps * transfer.shape.registers
    loads = [threads.result(Tcgen05LdOp(pointer, shape, each)) for pointer in steps]
    threads.insert(Tcgen05WaitOp(Tcgen05Wait.LOAD))
    words: list[SSAValue] = []
    for load in loads:
        parts = [load] if each == 1 else [_part(threads, load, position) for position in range(each)]
        words += [cast_bits(threads, part, tile.element) for part in parts]
    threads.give(op.outputs[0], Registers(tile, tuple(words)))


def _part(threads: Threads, vector: SSAValue, position: int) -> SSAValue:
    return threads.result(ExtractElementOp(vector, threads.number(position)))


def put(op: CopyOp, threads: Threads) -> None:
    """Store what threads hold, each warp into its own lanes; of zeros that only products add to, nothing."""
    threads.give(op.outputs[0], Nothing())
    if stores_nothing(op):
        return
    held = threads.registers(op.source)
    transfer, shape = _transfer(op.outputs[0].type, held.tile)
    warps = held.tile.layout.input_size(WARP)
    words = [cast_bits(threads, value, i32) for value in held.values]
    each = transfer.steps * transfer.shape.registers
    for number, pointer in enumerate(_addresses(threads, op.outputs[0], transfer, warps)):
        own = words[number * each : (number + 1) * each]
        threads.insert(Tcgen05StOp(pointer, own[0] if each == 1 else vector_of(threads, own), shape))
    threads.insert(Tcgen05WaitOp(Tcgen05Wait.STORE))


def _transfer(memory: Attribute, held: Tile) -> tuple[Transfer, Tcgen05LdStShape]:
    """How a tile goes between tensor memory and these registers."""
    layout = linear_layout(memory)
    assert layout is not None
    ways = transfers(layout, held.bits, held.layout.input_size(WARP))
    found = next(each for each in ways if each.registers == held.layout)
    return found, Tcgen05LdStShape(f"shape_{found.shape.name}")


def _addresses(threads: Threads, sum_: SSAValue, transfer: Transfer, warps: int) -> Iterator[SSAValue]:
    """Where each instruction of a warp begins, of so many that share the tile."""
    memory = memory_of(threads)
    first = memory.columns.of(sum_).first
    others = [next(iter(transfer.issued(1 << bit))).column for bit in range(GROUP_BITS, warps.bit_length() - 1)]
    own = threads.once((take, tuple(others)), lambda: _own_lanes(threads, memory, others))
    for issue in transfer.issued(0):
        yield pointer_to(threads, memory, first + issue.column, own)


def _own_lanes(threads: Threads, memory: TensorMemory, groups: list[int]) -> SSAValue:
    """The address of column 0 of the lanes of this warp; groups of four warps begin columns further on."""
    rank = threads.compute(arith.AndIOp, threads.warp, (1 << GROUP_BITS) - 1)
    own = threads.compute(arith.AddiOp, memory.address, threads.compute(arith.ShLIOp, rank, LANE_BITS + LANES_BITS))
    if groups:
        group = threads.compute(arith.ShRUIOp, threads.warp, GROUP_BITS)
        own = threads.compute(arith.AddiOp, own, threads.compute(arith.MuliOp, group, groups[0]))
    return own


def no_copy(op: CopyOp) -> tuple[str, str] | None:
    """Why no threads copy a tile between tensor memory and registers."""
    (result,) = op.outputs
    memory, held = (op.source, result) if lies_in_tensor_memory(op.source.type) else (result, op.source)
    tile = tile_of(held.type)
    kind: Attribute = memory.type
    layout = linear_layout(kind)
    if tile is None or not tile.in_registers or layout is None:
        return "copies between tensor memory and something else than registers", "copy it through registers"
    if tile.bits != 32:
        return f"moves {held.type}, whose elements do not fill a column each", "keep sums of f32 or i32 there"
    if all(each.registers != tile.layout for each in transfers(layout, tile.bits, tile.layout.input_size(WARP))):
        return f"moves {kind} into {held.type}, which no tcgen05.ld does", "run tileas-legalize-tmem-copy"
    return None
