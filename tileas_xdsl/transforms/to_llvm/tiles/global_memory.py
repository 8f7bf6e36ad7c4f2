"""
Tiles of arrays in global memory: who of the threads touches which elements, and what lies outside.

    element [r, c] of the tile at tile coordinates [i, k]      array[i * rows + r, k * columns + c]

Neighbouring lanes take neighbouring vectors of a row. What lies outside of the array is not touched: copies read zeros
there (`cp.async` with fewer bytes to read), loads give zeros, stores are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith, func, llvm, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    i32,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tileas_xdsl.analysis.memory.rows import WIDEST, has_open_rows, row_alignment
from tileas_xdsl.analysis.threads.tiles import Tile
from tileas_xdsl.dialects.nv_tileas import MASKED
from tileas_xdsl.dialects.nvvm.attributes import LoadCacheModifier
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncOp
from tileas_xdsl.dialects.scalars import is_float
from tileas_xdsl.dialects.upstream import pointer_type
from tileas_xdsl.layouts.access import LaneAccess, accesses
from tileas_xdsl.layouts.distributed import LANE, PLACES, REGISTER, WARP, WARP_SIZE
from tileas_xdsl.layouts.linear import LinearLayout, dims
from tileas_xdsl.layouts.memory import row_major
from tileas_xdsl.transforms.to_llvm.tiles.accesses import (
    first_of_copies,
    in_bytes,
    loaded_words,
    stored_words,
)
from tileas_xdsl.transforms.to_llvm.tiles.packing import Elements, Words, packed, word_elements, word_type
from tileas_xdsl.transforms.to_llvm.tiles.places import Offsets
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.tiles.values import Array, Plain, Registers, SharedTile

GLOBAL = 1
INDEX = IndexType()
CACHED_WIDTH = 16
"""The width at which `cp.async` may bypass the first cache (PTX ISA, cp.async.cg)."""


def array_at(threads: Threads, value: SSAValue) -> Array:
    """The array that stands for `value`; what is not known of it from the start on is computed here."""
    found = threads.forms[value]
    assert isinstance(found, Plain)
    return array_of(threads, found.value, value) if found.array is None else found.array


def array_of(threads: Threads, value: SSAValue, before: SSAValue) -> Array:
    """The array that `value`, a memref of the new function, is; `before` is that of the function before."""
    base = threads.result(memref.ExtractAlignedPointerAsIndexOp.get(value))
    address = threads.result(arith.IndexCastOp(base, i64))
    pointer = threads.result(llvm.IntToPtrOp.create(operands=[address], result_types=[pointer_type(GLOBAL)]))
    described = threads.insert(memref.ExtractStridedMetaDataOp(value))
    kind = cast("MemRefType[Attribute]", value.type)
    shape, strides = kind.get_shape(), kind.get_strides()
    sizes = [_known(threads, size, given) for size, given in zip(shape, described.sizes, strict=True)]
    steps = [
        _known(threads, None if strides is None else strides[axis], given)
        for axis, given in enumerate(described.strides)
    ]
    if kind.get_offset() != 0:
        offset = threads.compute(arith.MuliOp, described.offset, cast(Any, kind.element_type).bitwidth // 8)
        pointer = threads.shifted(pointer, threads.result(arith.IndexCastOp(offset, i64)))
    for found in (pointer, *sizes):
        found.name_hint = value.name_hint
    is_argument = isinstance(before, BlockArgument) and isinstance(before.block.parent_op(), func.FuncOp)
    bits = getattr(kind.element_type, "bitwidth", 8)
    row_bytes = row_alignment(before, bits, WIDEST if is_argument else bits // 8)
    argument = before.index if isinstance(before, BlockArgument) and has_open_rows(before) else None
    return Array(kind, pointer, tuple(sizes), tuple(steps), row_bytes, argument if is_argument else None)


def _known(threads: Threads, number: int | None, given: SSAValue) -> SSAValue:
    return given if number is None or number == DYNAMIC_INDEX else threads.number(number, INDEX)


@dataclass(frozen=True)
class Window:
    """A tile of an array: where it begins, and what of it may lie outside."""

    threads: Threads
    array: Array
    starts: tuple[SSAValue, ...]
    """The first element along each axis, as index."""
    checked: tuple[bool, ...]
    """Whether the tile may reach outside along an axis."""
    bits: int

    @property
    def width(self) -> int:
        """The bytes that may be accessed at once: those of which rows begin and end at a multiple, or an element."""
        return max(self.array.row_bytes, self.bits // 8)

    def takes(self, width: int) -> None:
        """Note that so many bytes are accessed at once: what the host has to keep rows at multiples of."""
        if self.array.argument is not None and width > self.bits // 8:
            taken = self.threads.row_bytes
            taken[self.array.argument] = max(width, taken.get(self.array.argument, 0))

    @staticmethod
    def at(
        threads: Threads,
        array: Array,
        coordinates: Sequence[SSAValue],
        shape: Sequence[int],
        bits: int,
        in_bounds: Sequence[bool] | None,
    ) -> Window:
        """
        The tile at tile coordinates, of extent 1 along leading axes that it does not have. `in_bounds`: along which
        axes the program promises that it lies inside.
        """
        leading = len(coordinates) - len(shape)
        starts = list(coordinates[:leading])
        starts += [
            threads.compute(arith.MuliOp, coordinate, extent)
            for coordinate, extent in zip(coordinates[leading:], shape, strict=True)
        ]
        promised = [False] * len(starts) if in_bounds is None else list(in_bounds)
        return Window(threads, array, tuple(starts), tuple(not each for each in promised), bits)

    def places(self, own: Sequence[SSAValue]) -> list[SSAValue]:
        """The indices of the element at `own` (along each axis of the tile)."""
        threads, leading = self.threads, len(self.starts) - len(own)
        inner = zip(self.starts[leading:], own, strict=True)
        return [*self.starts[:leading], *(threads.compute(arith.AddiOp, start, number) for start, number in inner)]

    def pointer(self, places: Sequence[SSAValue]) -> SSAValue:
        """The address of an element."""
        threads = self.threads
        total: SSAValue | None = None
        for place, stride in zip(places, self.array.strides, strict=True):
            term = threads.compute(arith.MuliOp, place, stride)
            total = term if total is None else threads.compute(arith.AddiOp, total, term)
        if total is None:
            return self.array.pointer
        scaled = threads.compute(arith.MuliOp, total, self.bits // 8)
        return threads.shifted(self.array.pointer, threads.result(arith.IndexCastOp(scaled, i64)))

    def inside(self, places: Sequence[SSAValue], last: int = 1) -> SSAValue | None:
        """
        Whether `last` neighbours from an element on lie inside; None where that is promised. A negative index is a
        large unsigned one. Neighbours lie on one side of 0, where tiles begin at multiples of their extents.
        """
        threads = self.threads
        condition: SSAValue | None = None
        for axis, place in enumerate(places):
            if not self.checked[axis]:
                continue
            end = place
            if axis == len(places) - 1 and last > 1:
                end = threads.compute(arith.AddiOp, place, last - 1)
            fits = threads.compare(end, "ult", self.array.sizes[axis])
            condition = fits if condition is None else threads.compute(arith.AndIOp, condition, fits)
        return condition


def bounds(in_bounds: DenseArrayBase[Any] | None, rank: int) -> Sequence[bool] | None:
    """The promises of an attribute, axis by axis; one for fewer axes counts for the last ones."""
    if in_bounds is None:
        return None
    given = [bool(entry) for entry in in_bounds.get_values()]
    return [False] * (rank - len(given)) + given


def spread(shape: Sequence[int], vector: int, warps: int) -> LinearLayout:
    """
    Who copies what of a tile: each thread `vector` neighbours of a row, neighbouring threads neighbouring vectors, and
    more of them in turn where the tile is larger. Where it is smaller, several threads have the same.
    """
    names = [f"dim{axis}" for axis in reversed(range(len(shape)))]
    units = [(name, 1 << bit) for name, extent in zip(names, reversed(shape), strict=True) for bit in _bits(extent)]
    counts = {REGISTER: vector.bit_length() - 1, LANE: WARP_SIZE.bit_length() - 1, WARP: warps.bit_length() - 1}
    bases: dict[str, list[tuple[int, ...]]] = {place: [] for place in PLACES}
    order = [REGISTER] * counts[REGISTER] + [LANE] * counts[LANE] + [WARP] * counts[WARP]
    order += [REGISTER] * max(0, len(units) - len(order))
    for number, place in enumerate(order):
        name, step = units[number] if number < len(units) else ("", 0)
        bases[place].append(tuple(step if f"dim{axis}" == name else 0 for axis in range(len(shape))))
    return LinearLayout.of(bases, dims(shape))


def _bits(extent: int) -> range:
    return range(extent.bit_length() - 1)


# Coordinates of a thread ----------------------------------------------------------------------------------------------


@dataclass
class Coordinates:
    """The coordinates in the tile of what a thread holds, register by register."""

    threads: Threads
    layout: LinearLayout

    def __post_init__(self) -> None:
        self._axes = [self._along(axis) for axis in range(len(self.layout.outputs))]

    def _along(self, axis: int) -> Offsets:
        images = {place: [basis[axis] for basis in self.layout.bases(place)] for place in (LANE, WARP)}
        return Offsets(self.threads, images)

    def of(self, register: int) -> list[SSAValue]:
        """Those of the element in a register, as index."""
        at = self.layout.at(register=register)
        return [offsets.index(start) for offsets, start in zip(self._axes, at, strict=True)]


# Copies into shared memory --------------------------------------------------------------------------------------------


def copy_in(window: Window, tile: Tile, target: SharedTile, width: int) -> None:
    """Copy a tile into shared memory by `cp.async` of `width` bytes; zeros where the tile lies outside."""
    threads = window.threads
    window.takes(width)
    vector = width * 8 // tile.bits
    layout = spread(tile.layout.shape, vector, threads.warps)
    access = _of_width(layout, tile, width)

    def build() -> None:
        coordinates = Coordinates(threads, layout)
        images = {place: access.offsets.images(place) for place in (LANE, WARP)}
        offsets = Offsets(threads, in_bytes(images, tile.bits))
        for register in access.instructions:
            places = window.places(coordinates.of(register))
            slot = offsets.behind(target.pointer, access.block(register, 0, 0) * tile.bits // 8)
            size = _read_size(window, places, vector, width)
            cache = LoadCacheModifier.CG if width == CACHED_WIDTH else LoadCacheModifier.CA
            threads.insert(CpAsyncOp(slot, window.pointer(places), width, cache, size))

    by_first_of_copies(threads, layout, build)


def _of_width(layout: LinearLayout, tile: Tile, width: int) -> LaneAccess:
    """The access by which threads in `layout` write so many neighbouring bytes of the tile in shared memory."""
    return next(each for each in accesses(layout, tile.layout, tile.bits) if each.width == width)


def widths(shape: Sequence[int], memory: LinearLayout, bits: int, warps: int) -> list[int]:
    """The widths in bytes by which threads can copy a tile of a row-major array into shared memory."""
    found: list[int] = []
    for width in (16, 8, 4):
        vector = width * 8 // bits
        if vector < 1 or vector > shape[-1]:
            continue
        possible = accesses(spread(shape, vector, warps), memory, bits)
        if any(each.width == width and not each.needs_select for each in possible):
            found.append(width)
    return found


def _read_size(window: Window, places: Sequence[SSAValue], vector: int, width: int) -> SSAValue | None:
    """How many bytes are there to read: all, some at the end of a row, or none; None where all are for sure."""
    threads = window.threads
    whole = window.inside(places, vector)
    if whole is None:
        return None
    rest = threads.number(0)
    if window.checked[-1] and not window.array.has_whole_vectors:
        rest = _rest_of_row(window, places, vector, width)
    return threads.result(arith.SelectOp(whole, threads.number(width), rest))


def _rest_of_row(window: Window, places: Sequence[SSAValue], vector: int, width: int) -> SSAValue:
    """The bytes up to the end of the row, less than a vector; 0 in other rows."""
    threads = window.threads
    left = threads.compute(arith.SubiOp, window.array.sizes[-1], places[-1])
    left = threads.compute(arith.MinSIOp, left, vector)
    size = threads.result(arith.IndexCastOp(threads.compute(arith.MuliOp, left, width // vector), i32))
    begins_inside = window.inside(places)
    assert begins_inside is not None
    return threads.result(arith.SelectOp(begins_inside, size, threads.number(0)))


# Loads and stores of registers ----------------------------------------------------------------------------------------


def _plain(window: Window, tile: Tile) -> LaneAccess:
    """
    How a thread accesses what it holds of a tile in a row-major array. Of the array only the elements of one row of the
    tile are neighbours.
    """
    found = [each for each in accesses(tile.layout, row_major(tile.layout.shape), tile.bits) if each.kind == "plain"]
    most = min(max(1, tile.layout.shape[-1] * tile.bits // 8), window.width)
    fitting = [each for each in found if not each.needs_select and each.width <= most]
    widest = max(fitting, key=lambda each: each.width)
    window.takes(widest.width)
    return widest


def _vectors(access: LaneAccess, tile: Tile) -> list[tuple[int, list[list[int]]]]:
    """By instruction: the register with the first element in memory, and the element numbers of each word."""
    count = 1 << len(access.registers)
    per_word = word_elements(tile.bits, count)
    found: list[tuple[int, list[list[int]]]] = []
    for register in access.instructions:
        inside = [access.register_in_block(register, 0, 0, element) for element in range(count)]
        found.append((inside[0], [inside[start : start + per_word] for start in range(0, count, per_word)]))
    return found


def load_masked(window: Window, tile: Tile, mask: Registers, other: Registers | None) -> Registers:
    """
    What this thread holds of a tile, element by element: from global memory where the mask is set, zeros where that is
    outside; elsewhere what it holds of `other`, or zeros.
    """
    threads, coordinates = window.threads, Coordinates(window.threads, tile.layout)
    instead = None if other is None else Elements(threads, other)
    found: list[SSAValue] = []
    for register, wanted in enumerate(mask.values):
        places = window.places(coordinates.of(register))
        value = masked_element(window, places, tile.number, wanted)
        if instead is not None:
            value = threads.result(arith.SelectOp(wanted, value, instead.word([register])))
        found.append(value)
    return packed(threads, tile, found)


def masked_element(
    window: Window,
    places: Sequence[SSAValue],
    kind: Attribute,
    wanted: SSAValue | None,
    *,
    is_anywhere: bool = False,
) -> SSAValue:
    """
    An element that lies inside and is wanted, None: always; else zero. `is_anywhere`: its place is a number from
    memory.
    """
    threads = window.threads

    def word() -> list[SSAValue]:
        return loaded_words(threads, window.pointer(places), kind, 1)

    def element() -> list[SSAValue]:
        return word() if wanted is None else threads.chosen(wanted, word, zero, mark=MASKED)

    def zero() -> list[SSAValue]:
        return [threads.result(arith.ConstantOp(_zero(kind)))]

    inside = window.inside(places)
    (found,) = (
        element() if inside is None else threads.chosen(inside, element, zero, mark=MASKED if is_anywhere else None)
    )
    return found


def store_masked(window: Window, held: Registers, mask: Registers) -> None:
    """Store the elements of a tile whose mask is set, but what lies outside."""
    threads, tile = window.threads, held.tile
    elements = Elements(threads, held)

    def build() -> None:
        coordinates = Coordinates(threads, tile.layout)
        for register, wanted in enumerate(mask.values):
            places, word = window.places(coordinates.of(register)), elements.word([register])

            def write(wanted: SSAValue = wanted, places: list[SSAValue] = places, word: SSAValue = word) -> None:
                threads.when(wanted, lambda: stored_words(threads, [word], window.pointer(places)), mark=MASKED)

            inside = window.inside(places)
            write() if inside is None else threads.when(inside, write)

    by_first_of_copies(threads, tile.layout, build)


def load_registers(window: Window, tile: Tile) -> Registers:
    """What this thread holds of a tile, from global memory; zeros where the tile lies outside."""
    threads = window.threads
    access = _plain(window, tile)
    coordinates, words = Coordinates(threads, tile.layout), Words(threads, tile)
    for first, groups in _vectors(access, tile):
        places = window.places(coordinates.of(first))
        kind = word_type(tile, len(groups[0]))
        condition = window.inside(places, 1 << len(access.registers))
        loaded = _loaded(window, places, kind, len(groups), condition, are_floats=is_float(tile.element))
        for numbers, word in zip(groups, loaded, strict=True):
            words.put(numbers, word)
    return words.registers((*access.registers, *access.others))


def _loaded(
    window: Window,
    places: Sequence[SSAValue],
    kind: Attribute,
    count: int,
    condition: SSAValue | None,
    *,
    are_floats: bool,
) -> list[SSAValue]:
    """Words from memory, zeros where the condition is false."""
    threads = window.threads

    def words() -> list[SSAValue]:
        return loaded_words(threads, window.pointer(places), kind, count, are_floats=are_floats)

    if condition is None:
        return words()
    return threads.chosen(condition, words, lambda: [threads.result(arith.ConstantOp(_zero(kind)))] * count)


def _zero(kind: Attribute) -> Any:
    return (
        IntegerAttr(0, cast("IntegerType", kind)) if isinstance(kind, IntegerType) else FloatAttr(0.0, cast(Any, kind))
    )


def store_registers(window: Window, held: Registers) -> None:
    """Store what this thread holds of a tile to global memory, but what lies outside."""
    threads, tile = window.threads, held.tile
    access = _plain(window, tile)
    elements = Elements(threads, held)

    def build() -> None:
        coordinates = Coordinates(threads, tile.layout)
        for first, groups in _vectors(access, tile):
            places = window.places(coordinates.of(first))
            words = [elements.word(numbers) for numbers in groups]
            condition = window.inside(places, 1 << len(access.registers))
            if condition is None:
                stored_words(threads, words, window.pointer(places))
            else:
                threads.when(condition, lambda w=words, p=places: stored_words(threads, w, window.pointer(p)))

    by_first_of_copies(threads, tile.layout, build)


def by_first_of_copies(threads: Threads, layout: LinearLayout, build: Callable[[], None]) -> None:
    """Of the threads that hold the same elements, let one do what `build` builds."""
    condition = first_of_copies(threads, layout)
    if condition is None:
        build()
    else:
        threads.when(condition, build)
