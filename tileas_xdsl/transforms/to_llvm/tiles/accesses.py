"""
Tiles between registers and shared memory: `LaneAccess` (layouts/access.py) as instructions.

    plain         llvm.load, llvm.store of 1 to 16 bytes a lane
    matrix        nvvm.ldmatrix, nvvm.stmatrix: lane i gives the address of row i % 8 of matrix i / 8
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import VectorType, i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.analysis.threads.tiles import Tile
from tileas_xdsl.dialects.extensions.llvm_values import ExtractElementOp, member_of
from tileas_xdsl.dialects.nvvm.warp_matrix import LdMatrixOp, StMatrixOp
from tileas_xdsl.layouts import f2
from tileas_xdsl.layouts.access import LaneAccess
from tileas_xdsl.layouts.distributed import LANE, REGISTER, WARP, spare_bits
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.transforms.to_llvm.tiles.packing import (
    Elements,
    Words,
    cast_bits,
    vector_of,
    word_elements,
    word_of,
    word_type,
)
from tileas_xdsl.transforms.to_llvm.tiles.places import Images, Offsets, linear
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.tiles.values import Registers, SharedTile


def load(threads: Threads, source: SharedTile, tile: Tile, access: LaneAccess) -> Registers:
    """Load what this thread holds of `tile`."""
    words = Words(threads, tile)
    if access.kind == "plain":
        _load_plain(threads, source.pointer, access, words)
    else:
        _load_matrices(threads, source.pointer, access, words)
    return words.registers((*access.registers, *access.others))


def store(threads: Threads, held: Registers, target: SharedTile, access: LaneAccess) -> None:
    """Store what this thread holds of a tile; of threads that hold copies, one does."""
    elements = Elements(threads, held)

    def build() -> None:
        if access.kind == "plain":
            _store_plain(threads, elements, held.tile, target.pointer, access)
        else:
            _store_matrices(threads, elements, target.pointer, access)

    condition = first_of_copies(threads, access.offsets)
    if condition is None:
        build()
    else:
        threads.when(condition, build)


def first_of_copies(threads: Threads, layout: LinearLayout) -> SSAValue | None:
    """Whether this thread is the first of those that hold the same elements; None where no two do."""
    spare = spare_bits(layout)
    spare[WARP] |= _bits_above(layout, threads)
    return threads.once(("spare", spare[LANE], spare[WARP]), lambda: _has_none_of(threads, spare))


def _bits_above(layout: LinearLayout, threads: Threads) -> int:
    """The bits of the number of a warp that the layout does not know: in front of agents it is for fewer warps."""
    known = layout.input_size(WARP)
    return max(known, 1 << (threads.warps - 1).bit_length()) - known


def _has_none_of(threads: Threads, spare: Mapping[str, int]) -> SSAValue | None:
    """Whether this thread's numbers have none of these bits; None where there are none."""
    condition: SSAValue | None = None
    for place, own in ((LANE, threads.lane), (WARP, threads.warp)):
        if spare[place]:
            is_first = threads.compare(threads.compute(arith.AndIOp, own, spare[place]), "eq", 0)
            condition = is_first if condition is None else threads.compute(arith.AndIOp, condition, is_first)
    return condition


# Plain ----------------------------------------------------------------------------------------------------------------


def _plain_offsets(threads: Threads, access: LaneAccess) -> Offsets:
    low = (1 << len(access.registers)) - 1
    images = {place: [image & ~low for image in access.offsets.images(place)] for place in (LANE, WARP)}
    return Offsets(threads, in_bytes(images, access.element_bits))


def in_bytes(images: Images, bits: int) -> Images:
    """Images in elements as images in bytes."""
    return {place: [image * bits // 8 for image in own] for place, own in images.items()}


def _start(access: LaneAccess, register: int) -> int:
    """The byte at which the block of a register begins in thread 0."""
    return access.block(register, 0, 0) * access.element_bits // 8


def _numbers(access: LaneAccess, register: int) -> list[list[int]]:
    """The element numbers of each word of the block that begins with `register`, in thread 0."""
    count = 1 << len(access.registers)
    per_word = word_elements(access.element_bits, count)
    inside = [access.register_in_block(register, 0, 0, element) for element in range(count)]
    return [inside[start : start + per_word] for start in range(0, count, per_word)]


def _load_plain(threads: Threads, pointer: SSAValue, access: LaneAccess, words: Words) -> None:
    offsets = _plain_offsets(threads, access)
    for register in access.instructions:
        groups = _numbers(access, register)
        kind = word_type(words.tile, len(groups[0]))
        place = offsets.behind(pointer, _start(access, register))
        loaded = loaded_words(threads, place, kind, len(groups))
        if access.needs_select:
            single = [value for word in loaded for value in _taken_apart(threads, word, words.tile, len(groups[0]))]
            groups = [[number] for numbers in groups for number in numbers]
            loaded = _exchanged(threads, access, single)
        for numbers, word in zip(groups, loaded, strict=True):
            words.put(numbers, word)


def _taken_apart(threads: Threads, word: SSAValue, tile: Tile, count: int) -> list[SSAValue]:
    if count == 1:
        return [word]
    vector = cast_bits(threads, word, VectorType(tile.number, [count]))
    return [threads.result(ExtractElementOp(vector, threads.number(position))) for position in range(count)]


def _exchanged(threads: Threads, access: LaneAccess, values: Sequence[SSAValue]) -> list[SSAValue]:
    """
    The elements of a block in the order of this thread's registers, or the converse: position p changes places with
    p ^ m, where m is the offset of the thread's first register in its block. Each bit of m is a round of selects.
    """
    found = list(values)
    for bit in range(len(access.registers)):
        condition = _begins_behind(threads, access, bit)
        if condition is not None:
            found = [
                threads.result(arith.SelectOp(condition, found[position ^ (1 << bit)], value))
                for position, value in enumerate(found)
            ]
    return found


def _begins_behind(threads: Threads, access: LaneAccess, bit: int) -> SSAValue | None:
    """Whether bit number `bit` of m is set in this thread, i1; None if it is set in no thread."""
    images = {place: [image >> bit & 1 for image in access.offsets.images(place)] for place in (LANE, WARP)}
    key = ("begins behind", tuple(images[LANE]), tuple(images[WARP]))

    def build() -> SSAValue | None:
        own = linear(threads, images)
        return None if own is None else threads.compare(own, "ne", 0)

    return threads.once(key, build)


WORDS = (i8, i16, i32)
"""Words that hold the bits of small floats."""


def loaded_words(
    threads: Threads, pointer: SSAValue, kind: Attribute, count: int, *, are_floats: bool = False
) -> list[SSAValue]:
    """`count` neighbouring words. Bits of floats are read as a vector: they are no numbers that bound anything."""
    is_one = count == 1 and not (are_floats and kind in WORDS)
    whole = kind if is_one else VectorType(kind, [count])
    loaded = threads.result(llvm.LoadOp(pointer, whole, alignment=count * _bytes(kind)))
    if is_one:
        return [loaded]
    return [threads.result(ExtractElementOp(loaded, threads.number(position))) for position in range(count)]


def stored_words(threads: Threads, words: Sequence[SSAValue], pointer: SSAValue) -> None:
    """Store neighbouring words."""
    if len(words) == 1:
        threads.insert(llvm.StoreOp(words[0], pointer, alignment=_bytes(words[0].type)))
        return
    whole = vector_of(threads, words)
    threads.insert(llvm.StoreOp(whole, pointer, alignment=len(words) * _bytes(words[0].type)))


def _bytes(kind: Attribute) -> int:
    return max(1, getattr(kind, "bitwidth", 8) // 8)


def _store_plain(threads: Threads, elements: Elements, tile: Tile, pointer: SSAValue, access: LaneAccess) -> None:
    offsets = _plain_offsets(threads, access)
    for register in access.instructions:
        groups = _numbers(access, register)
        words = _chosen(threads, elements, access, groups) if access.needs_select else [*map(elements.word, groups)]
        stored_words(threads, words, offsets.behind(pointer, _start(access, register)))


def _chosen(
    threads: Threads, elements: Elements, access: LaneAccess, groups: Sequence[Sequence[int]]
) -> list[SSAValue]:
    """The words of a block, whose elements differ by thread."""
    single = _exchanged(threads, access, [elements.word([number]) for numbers in groups for number in numbers])
    count = len(groups[0])
    return [word_of(threads, single[start : start + count]) for start in range(0, len(single), count)]


# Matrices -------------------------------------------------------------------------------------------------------------


def _row_offsets(threads: Threads, access: LaneAccess) -> Offsets:
    """Where the row lies whose address a lane gives: bits 0 to 2 of the lane are the row, bits 3 and 4 the matrix."""
    lanes = access.offsets.images(LANE)
    rows = lanes[2:5]
    if access.kind == "matrix.trans":
        rows = (_of_register(access, access.registers[0]), *lanes[:2])
    matrices = [
        _of_register(access, access.matrix_register(1 << bit)) for bit in range(access.matrices.bit_length() - 1)
    ]
    images = {LANE: [*rows, *matrices], WARP: access.offsets.images(WARP)}
    return Offsets(threads, in_bytes(images, access.element_bits))


def _of_register(access: LaneAccess, register: int) -> int:
    return f2.combination(access.offsets.images(REGISTER), register)


def _matrix_numbers(access: LaneAccess, register: int, matrix: int) -> list[int]:
    first = register ^ access.matrix_register(matrix)
    return [first ^ access.word_register(element) for element in range(32 // access.element_bits)]


def _load_matrices(threads: Threads, pointer: SSAValue, access: LaneAccess, words: Words) -> None:
    offsets, count = _row_offsets(threads, access), access.matrices
    for register in access.instructions:
        start = access.offset(register, 0, 0) * access.element_bits // 8
        place = offsets.behind(pointer, start)
        loaded = threads.result(LdMatrixOp(place, count, transposed=access.kind == "matrix.trans"))
        for matrix in range(count):
            word = loaded if count == 1 else _part(threads, loaded, matrix)
            words.put(_matrix_numbers(access, register, matrix), word)


def _part(threads: Threads, struct: SSAValue, position: int) -> SSAValue:
    return threads.result(member_of(struct, position, i32))


def _store_matrices(threads: Threads, elements: Elements, pointer: SSAValue, access: LaneAccess) -> None:
    offsets, count = _row_offsets(threads, access), access.matrices
    for register in access.instructions:
        start = access.offset(register, 0, 0) * access.element_bits // 8
        words = [
            cast_bits(threads, elements.word(_matrix_numbers(access, register, matrix)), i32) for matrix in range(count)
        ]
        place = offsets.behind(pointer, start)
        threads.insert(StMatrixOp(place, words, transposed=access.kind == "matrix.trans"))
