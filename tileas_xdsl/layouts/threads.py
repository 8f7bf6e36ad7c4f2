"""
The threads themselves: registers as an array of (warp, lane, register), shared memory as bytes.

What is here moves data as PTX says that its instructions do, and knows nothing of tiles. So a wrong plan gives wrong
numbers. An element is an unsigned integer of 4 to 64 bits; its type means nothing here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tileas_xdsl.layouts.access import LaneAccess
from tileas_xdsl.layouts.conversion import LayoutPlan
from tileas_xdsl.layouts.distributed import BLOCK, LANE, PLACES, REGISTER, WARP, representatives
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.exchange import Exchange, ExchangeStep
from tileas_xdsl.layouts.fragments import matrix_fragment
from tileas_xdsl.layouts.linear import LinearLayout

Elements = NDArray[np.uint64]
Bytes = NDArray[np.uint8]


def held(tile: Elements, layout: LinearLayout) -> Elements:
    """The registers of the threads that hold `tile` in `layout`: an array of (block, warp, lane, register)."""
    return tile.reshape(-1)[_indices(layout)]


def gathered(registers: Elements, layout: LinearLayout) -> Elements:
    """
    The tile that the threads hold. Raises `LayoutError` where two places that should hold one element do not agree, and
    where no place holds one.
    """
    indices = _indices(layout)
    tile = np.zeros(1 << layout.output_bits, dtype=np.uint64)
    seen = np.zeros(tile.shape, dtype=bool)
    tile[indices], seen[indices] = registers, True
    if not seen.all():
        raise LayoutError("an element of the tile is held by nobody")
    if not np.array_equal(tile[indices], registers):
        raise LayoutError("two threads hold different values of one element")
    return tile.reshape(layout.shape)


def converted(registers: Elements, source: LinearLayout, target: LinearLayout, plan: LayoutPlan) -> Elements:
    """
    What the threads hold, (block, warp, lane, register), after a plan from `source` to `target` has been executed in
    every block.
    """
    blocks = [_converted_in_block(held_there, source, target, plan) for held_there in registers]
    return np.stack(blocks)


def _converted_in_block(registers: Elements, source: LinearLayout, target: LinearLayout, plan: LayoutPlan) -> Elements:
    if plan.exchange is not None:
        result = exchanged(registers, plan.exchange, target.input_size(REGISTER))
        return result[..., representatives(target, plan.exchange.registers)]
    assert plan.staging is not None
    memory = shared_memory(plan.staging.bytes)
    store(memory, registers, plan.staging.write)
    read = plan.staging.read
    result = load(memory, read, target.input_size(REGISTER))
    return result[..., representatives(target, (*read.registers, *read.others))]


def _indices(layout: LinearLayout) -> NDArray[np.int64]:
    """The row-major index of the element at each place, as an array of (block, warp, lane, register)."""
    transposed = layout.with_outputs(layout.output_names[::-1]).with_inputs(PLACES)
    index = np.zeros(1, dtype=np.int64)
    for image in transposed.columns:
        index = np.concatenate([index, index ^ image])
    return index.reshape([transposed.input_size(place) for place in (BLOCK, WARP, LANE, REGISTER)])


# Within a warp --------------------------------------------------------------------------------------------------------


def shuffle(words: Elements, lanes: NDArray[np.int64]) -> Elements:
    """
    `shfl.sync.idx` for every warp: `words` is (warp, lane, ...), and lane l of warp w gets the word of `lanes[w, l]`.
    """
    return np.stack([word[lane] for word, lane in zip(words, lanes, strict=True)])


def exchanged(registers: Elements, plan: Exchange, register_count: int) -> Elements:
    """The registers of one block, (warp, lane, register), after the rounds of a plan."""
    warps, lanes = plan.rounds.input_size(WARP), plan.rounds.input_size(LANE)
    everywhere = np.broadcast_to(registers, (max(warps, registers.shape[0]), *registers.shape[1:]))
    result = np.zeros((warps, lanes, register_count + 1), dtype=np.uint64)
    for step in plan.steps:
        _take(step, everywhere, result)
    return result[..., :-1]


def _take(step: ExchangeStep, registers: Elements, result: Elements) -> None:
    """
    One round: lanes offer a word, name a lane, and put what they get where it belongs. Lanes that need nothing in this
    round put it into the last register, which nobody reads.
    """
    size = max(len(word) for words in step.offered for word in words)
    offered = np.array([[word or (0,) * size for word in words] for words in step.offered])
    kept = np.array([[numbers or (-1,) * size for numbers in lanes] for lanes in step.kept])
    sent = np.take_along_axis(registers[: len(offered)], offered, axis=2)
    received = sent if step.local else shuffle(sent, np.array(step.lane))
    np.put_along_axis(result, kept % result.shape[2], received, axis=2)


# Through shared memory ------------------------------------------------------------------------------------------------


def shared_memory(size: int) -> Bytes:
    """So many bytes, none of which has been written."""
    return np.full(size, 0xCD, dtype=np.uint8)


def store(memory: Bytes, registers: Elements, access: LaneAccess) -> None:
    """Store what the threads of a block hold, (warp, lane, register), instruction by instruction."""
    move: Callable[..., None] = _store_plain if access.kind == "plain" else _store_matrices
    _each(access, lambda register, warp: move(memory, registers[warp], access, register, warp))


def load(memory: Bytes, access: LaneAccess, register_count: int) -> Elements:
    """Load the registers of the threads of a block, (warp, lane, register), instruction by instruction."""
    warps = access.offsets.input_size(WARP)
    registers = np.zeros((warps, access.lanes, register_count), dtype=np.uint64)
    move: Callable[..., None] = _load_plain if access.kind == "plain" else _load_matrices
    _each(access, lambda register, warp: move(memory, registers[warp], access, register, warp))
    return registers


def _each(access: LaneAccess, move: Callable[[int, int], None]) -> None:
    for warp in range(access.offsets.input_size(WARP)):
        for register in access.instructions:
            move(register, warp)


def _register_numbers(access: LaneAccess, register: int, warp: int) -> NDArray[np.int64]:
    """By lane: the register of each element of the block that it accesses."""
    count = range(1 << len(access.registers))
    lanes = range(access.lanes)
    return np.array([[access.register_in_block(register, lane, warp, e) for e in count] for lane in lanes])


def _store_plain(memory: Bytes, registers: Elements, access: LaneAccess, register: int, warp: int) -> None:
    numbers = _register_numbers(access, register, warp)
    data = packed(np.take_along_axis(registers, numbers, axis=1), access.element_bits)
    for address, row in zip(access.addresses(register, warp), data, strict=True):
        memory[address : address + len(row)] = row


def _load_plain(memory: Bytes, registers: Elements, access: LaneAccess, register: int, warp: int) -> None:
    numbers = _register_numbers(access, register, warp)
    starts = np.array(access.addresses(register, warp))
    data = memory[starts[:, None] + np.arange(access.width)]
    np.put_along_axis(registers, numbers, unpacked(data, access.element_bits), axis=1)


def _words_of(access: LaneAccess, register: int, matrix: int) -> list[int]:
    """The registers that make up the 32-bit word which each lane gives to a matrix."""
    first = register ^ access.matrix_register(matrix)
    return [first ^ access.word_register(element) for element in range(32 // access.element_bits)]


def _store_matrices(memory: Bytes, registers: Elements, access: LaneAccess, register: int, warp: int) -> None:
    for matrix in range(access.matrices):
        words = packed(registers[:, _words_of(access, register, matrix)], access.element_bits)
        rows = stmatrix(words, transposed=access.kind == "matrix.trans")
        for address, row in zip(access.row_addresses(register, matrix, warp), rows, strict=True):
            memory[address : address + 16] = row


def _load_matrices(memory: Bytes, registers: Elements, access: LaneAccess, register: int, warp: int) -> None:
    for matrix in range(access.matrices):
        starts = np.array(access.row_addresses(register, matrix, warp))
        words = ldmatrix(memory[starts[:, None] + np.arange(16)], transposed=access.kind == "matrix.trans")
        registers[:, _words_of(access, register, matrix)] = unpacked(words, access.element_bits)


def ldmatrix(rows: Bytes, *, transposed: bool) -> Bytes:
    """One 8x8 matrix of 16-bit elements, given as 8 rows of 16 bytes, to the 4 bytes that each of 32 lanes gets."""
    elements = rows.copy().view(np.uint16)
    places = _matrix_places(transposed)
    return elements[places[..., 0], places[..., 1]].view(np.uint8)


def stmatrix(words: Bytes, *, transposed: bool) -> Bytes:
    """The inverse of `ldmatrix`: 4 bytes of each lane to 8 rows of 16 bytes."""
    elements = np.zeros((8, 8), dtype=np.uint16)
    places = _matrix_places(transposed)
    elements[places[..., 0], places[..., 1]] = np.ascontiguousarray(words).view(np.uint16)
    return elements.view(np.uint8)


def _matrix_places(transposed: bool) -> NDArray[np.int64]:
    """Row and column of the two elements of each lane."""
    fragment = matrix_fragment(1, transposed)
    return np.array([[fragment.at(register=r, lane=lane)[:2] for r in range(2)] for lane in range(32)])


# Bits -----------------------------------------------------------------------------------------------------------------


def packed(elements: Elements, bits: int) -> Bytes:
    """Rows of elements as rows of bytes, lowest bits first."""
    if bits >= 8:
        return np.ascontiguousarray(elements.astype(f"<u{bits // 8}")).view(np.uint8)
    per_byte = 8 // bits
    grouped = elements.reshape(*elements.shape[:-1], -1, per_byte).astype(np.uint8)
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    return np.bitwise_or.reduce(grouped << shifts, axis=-1).astype(np.uint8)


def unpacked(data: Bytes, bits: int) -> Elements:
    """The inverse of `packed`."""
    if bits >= 8:
        return np.ascontiguousarray(data).view(f"<u{bits // 8}").astype(np.uint64)
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    spread = data[..., None] >> shifts & np.uint8((1 << bits) - 1)
    return spread.reshape(*data.shape[:-1], -1).astype(np.uint64)
