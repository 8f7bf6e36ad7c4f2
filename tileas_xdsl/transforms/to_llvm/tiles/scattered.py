"""
Accesses of single elements: a number for all threads, elements at coordinates of each lane, and atomic updates.

    %i = load %ids[%k]                     each thread loads it
    %v = gather_load %x[%rows]             each thread those that it holds; zeros where they lie outside
    scatter_store %y[%rows], %v            each thread those that it holds, but what lies outside; so `atomic_rmw`
    tiled_atomic_rmw %w[%i, %j], %v        llvm.atomicrmw of each element that lies inside, by one thread that holds it
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, i64
from xdsl.dialects.llvm import LoadOp as LLVMLoadOp
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.dialects.extensions.llvm import BINARY_OPS, ORDERINGS, AtomicRMWOp
from tileas_xdsl.dialects.nv_tileaa.atomics import AtomicRmwOp, GatherLoadOp, RmwOp, ScatterStoreOp, TiledAtomicRmwOp
from tileas_xdsl.dialects.nv_tileaa.compute import BlockTileOp
from tileas_xdsl.dialects.nv_tileaa.memory import LoadOp
from tileas_xdsl.dialects.tiles.policies import PaddingValue, RmwMode
from tileas_xdsl.transforms.to_llvm.tiles.accesses import stored_words
from tileas_xdsl.transforms.to_llvm.tiles.copies import TOKENS, masked_otherwise
from tileas_xdsl.transforms.to_llvm.tiles.global_memory import (
    Coordinates,
    Window,
    array_of,
    by_first_of_copies,
    masked_element,
)
from tileas_xdsl.transforms.to_llvm.tiles.packing import elements, packed
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.values import Array

# Numbers --------------------------------------------------------------------------------------------------------------


@rule(LoadOp)
def _load_number(op: LoadOp, threads: Threads) -> None:
    kind = op.value.type
    array, places = _array(op.base, threads), [threads.of(index) for index in op.indices]
    window = Window(threads, array, tuple(places), (False,) * len(places), _bits(kind))
    threads.give(op.value, threads.result(LLVMLoadOp(window.pointer(places), kind)))


@refusal(LoadOp)
def _loads_no_number(op: LoadOp) -> tuple[str, str] | None:
    if op.token or op.mask is not None or op.other is not None:
        return "has a mask or tokens, and loads a number", "leave them out"
    if tile_of(op.value.type) is not None or _bits(op.value.type) < 8:
        return f"loads a {op.value.type} at an element", "load a tile by nv_tileaa.tiled_load, or one number"
    return None


def _bits(kind: Attribute) -> int:
    return 64 if isinstance(kind, IndexType) else getattr(kind, "bitwidth", 0)


def _array(base: SSAValue, threads: Threads) -> Array:
    found = threads.of(base)
    return threads.arrays[found] if found in threads.arrays else array_of(threads, found)


# Coordinates of each lane ---------------------------------------------------------------------------------------------


@rule(GatherLoadOp)
def _gather(op: GatherLoadOp, threads: Threads) -> None:
    tile = _tile(op.value)
    columns = [elements(threads, threads.registers(index)) for index in op.indices]
    wanted = [None] * tile.count if op.mask is None else threads.registers(op.mask).values
    others = None if op.other is None else elements(threads, threads.registers(op.other))
    array = _array(op.base, threads)
    found: list[SSAValue] = []
    for register in range(tile.count):
        places = [_as_index(threads, column[register]) for column in columns]
        window = Window(threads, array, tuple(places), (True,) * len(places), tile.bits)
        value = masked_element(window, places, tile.number, wanted[register], is_anywhere=True)
        chosen = wanted[register]
        if others is not None and chosen is not None:
            value = threads.result(arith.SelectOp(chosen, value, others[register]))
        found.append(value)
    threads.give(op.value, packed(threads, tile, found))


def _as_index(threads: Threads, number: SSAValue) -> SSAValue:
    return number if isinstance(number.type, IndexType) else threads.result(arith.IndexCastOp(number, IndexType()))


def _tile(value: SSAValue) -> Tile:
    tile = tile_of(value.type)
    assert tile is not None
    return tile


@refusal(GatherLoadOp)
def _gathers_otherwise(op: GatherLoadOp) -> tuple[str, str] | None:
    tile = tile_of(op.value.type)
    if op.token or (op.mask is None and op.other is not None):
        return TOKENS
    if op.padding_value is not None and op.padding_value.data is not PaddingValue.ZERO:
        return f"reads {op.padding_value.data} outside of its array", "read zeros there, and select by a mask"
    if tile is None:
        return None
    return masked_otherwise(tile, [*op.indices, op.mask, op.other])


@rule(ScatterStoreOp, AtomicRmwOp)
def _scatter(op: ScatterStoreOp | AtomicRmwOp, threads: Threads) -> None:
    """Each thread stores what it holds, but what lies outside; of those that hold the same one does."""
    tile, held = _tile(op.value), elements(threads, threads.registers(op.value))
    columns = [elements(threads, threads.registers(index)) for index in op.indices]
    wanted = None if op.mask is None else threads.registers(op.mask).values
    array = _array(op.base, threads)

    def build() -> None:
        for register in _different(tile):
            places = [_as_index(threads, column[register]) for column in columns]
            window = Window(threads, array, tuple(places), (True,) * len(places), tile.bits)
            inside = window.inside(places)
            assert inside is not None
            chosen = inside if wanted is None else threads.compute(arith.AndIOp, inside, wanted[register])
            threads.when(chosen, lambda p=places, w=window, v=held[register]: _put(op, threads, w.pointer(p), v))

    by_first_of_copies(threads, tile.layout, build)


def _different(tile: Tile) -> Iterator[int]:
    """The registers of a thread, of those that hold the same element the first."""
    seen: set[tuple[int, ...]] = set()
    for register in range(tile.count):
        at = tuple(tile.layout.at(register=register))
        if at not in seen:
            seen.add(at)
            yield register


def _put(op: ScatterStoreOp | AtomicRmwOp, threads: Threads, pointer: SSAValue, value: SSAValue) -> None:
    if isinstance(op, AtomicRmwOp):
        _update_element(op, threads, pointer, value)
    else:
        stored_words(threads, [value], pointer)


@refusal(ScatterStoreOp)
def _scatters_otherwise(op: ScatterStoreOp) -> tuple[str, str] | None:
    tile = tile_of(op.value.type)
    if op.token:
        return TOKENS
    return None if tile is None else masked_otherwise(tile, [*op.indices, op.mask])


@refusal(AtomicRmwOp)
def _updates_lanes_otherwise(op: AtomicRmwOp) -> tuple[str, str] | None:
    tile = tile_of(op.value.type)
    if op.token:
        return TOKENS
    if not op.is_scattered:
        return "updates what lies at an element", "give a tile of coordinates, or of one element"
    return None if tile is None else masked_otherwise(tile, [*op.indices, op.mask]) or _cannot_update(op, tile)


# Atomic updates -------------------------------------------------------------------------------------------------------

OF_INTEGERS = {
    **{mode: mode.value for mode in (RmwMode.ADD, RmwMode.XCHG, RmwMode.MIN, RmwMode.MAX, RmwMode.UMIN, RmwMode.UMAX)},
    **{mode: f"_{mode.value}" for mode in (RmwMode.AND, RmwMode.OR, RmwMode.XOR)},
}
OF_FLOATS = {
    **{RmwMode.ADD: "fadd", RmwMode.ADDF: "fadd", RmwMode.XCHG: "xchg"},
    **{RmwMode.MAX: "fmax", RmwMode.MIN: "fmin"},
}
"""What `llvm.atomicrmw` calls them."""
RELAXED = "monotonic"


@rule(BlockTileOp)
def _view(op: BlockTileOp, threads: Threads) -> None:
    threads.give(op.result, threads.of(op.source))


@refusal(BlockTileOp)
def _groups_axes(op: BlockTileOp) -> tuple[str, str] | None:
    if op.dim_groups != tuple((axis,) for axis in range(len(op.dim_groups))):
        return "views several axes of an array as one, or others than the tile has", "view axis by axis, in their order"
    if any(not isinstance(use.operation, TiledAtomicRmwOp) for use in op.result.uses):
        return "makes a view that something else than an atomic update uses", "load and store tiles of the array itself"
    return None


@rule(TiledAtomicRmwOp)
def _update(op: TiledAtomicRmwOp, threads: Threads) -> None:
    tile, held = _tile(op.value), elements(threads, threads.registers(op.value))
    coordinates = [threads.of(index) for index in op.indices]
    window = Window.at(threads, _array(op.base, threads), coordinates, tile.layout.shape, tile.bits, None)

    def build() -> None:
        own = Coordinates(threads, tile.layout)
        for register, value in enumerate(held):
            places = window.places(own.of(register))
            condition = window.inside(places)
            assert condition is not None
            threads.when(condition, lambda v=value, p=places: _update_element(op, threads, window.pointer(p), v))

    by_first_of_copies(threads, tile.layout, build)


def _update_element(op: RmwOp, threads: Threads, pointer: SSAValue, value: SSAValue) -> None:
    word = _word(op)
    assert word is not None
    properties = {
        "bin_op": IntegerAttr(BINARY_OPS.index(word), i64),
        "ordering": IntegerAttr(ORDERINGS[RELAXED], i64),
    }
    threads.insert(AtomicRMWOp.create(operands=[pointer, value], result_types=[value.type], properties=properties))


def _word(op: RmwOp) -> str | None:
    tile = _tile(op.value)
    return (OF_FLOATS if isinstance(tile.element, AnyFloat) else OF_INTEGERS).get(op.required_mode())


@refusal(TiledAtomicRmwOp)
def _updates_otherwise(op: TiledAtomicRmwOp) -> tuple[str, str] | None:
    tile = tile_of(op.value.type)
    if op.token or op.mask is not None:
        return "has a mask or tokens", "leave them out; add zeros where nothing is to be added"
    return None if tile is None else _cannot_update(op, tile)


def _cannot_update(op: RmwOp, tile: Tile) -> tuple[str, str] | None:
    """Why threads cannot update what a tile is combined with."""
    if op.old.first_use is not None:
        return "gives old values that somebody uses", "leave them unused: threads that hold copies would not know them"
    if not tile.in_registers:
        return "takes a tile of shared memory", "bring it into registers by nv_tileas.convert_layout"
    if _word(op) is None:
        return f"combines {tile.element} by {op.required_mode().value}", "add floats, or compare integers"
    if tile.bits not in (32, 64) and not (tile.bits == 16 and isinstance(tile.element, AnyFloat)):
        return f"updates elements of {tile.bits} bits", "update elements of 32 or 64 bits"
    return None
