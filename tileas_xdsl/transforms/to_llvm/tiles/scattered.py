"""
Accesses of single elements: a number for all threads, elements at coordinates of each lane, and atomic updates.

    %i = load %ids[%k]                     each thread loads it
    %v = gather_load %x[%rows]             each thread those that it holds; zeros where they lie outside
    scatter_store %y[%rows], %v            each thread those that it holds, but what lies outside; so `atomic_rmw`
    tiled_atomic_rmw %w[%i, %j], %v        llvm.atomicrmw of each element that lies inside, by one thread that holds it
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, FloatAttr, IndexType, IntegerAttr, TensorType, i1, i64
from xdsl.dialects.llvm import ExtractValueOp, LLVMStructType
from xdsl.dialects.llvm import LoadOp as LLVMLoadOp
from xdsl.dialects.llvm import StoreOp as LLVMStoreOp
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.analysis.threads.liveness import agent_of
from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.dialects.extensions.llvm import BINARY_OPS, ORDERINGS, AtomicRMWOp, CmpXchgOp
from tileas_xdsl.dialects.nv_tileaa.atomics import (
    AtomicCasOp,
    AtomicRmwOp,
    GatherLoadOp,
    RmwOp,
    ScatterStoreOp,
    TiledAtomicRmwOp,
)
from tileas_xdsl.dialects.nv_tileaa.compute import BlockTileOp
from tileas_xdsl.dialects.nv_tileaa.memory import LoadOp
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op
from tileas_xdsl.dialects.tiles.policies import PaddingValue, RmwMode
from tileas_xdsl.transforms.to_llvm.tiles.accesses import stored_words
from tileas_xdsl.transforms.to_llvm.tiles.copies import TOKENS, masked_otherwise
from tileas_xdsl.transforms.to_llvm.tiles.global_memory import (
    Coordinates,
    Window,
    array_at,
    by_first_of_copies,
    masked_element,
)
from tileas_xdsl.transforms.to_llvm.tiles.packing import elements, packed
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule

# Numbers --------------------------------------------------------------------------------------------------------------


@rule(LoadOp)
def _load_number(op: LoadOp, threads: Threads) -> None:
    kind = op.value.type
    array, places = array_at(threads, op.base), [threads.of(index) for index in op.indices]
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


# Coordinates of each lane ---------------------------------------------------------------------------------------------


@rule(GatherLoadOp)
def _gather(op: GatherLoadOp, threads: Threads) -> None:
    tile = _tile(op.value)
    columns = [elements(threads, threads.registers(index)) for index in op.indices]
    wanted = [None] * tile.count if op.mask is None else threads.registers(op.mask).values
    others = None if op.other is None else elements(threads, threads.registers(op.other))
    array = array_at(threads, op.base)
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
    if isinstance(op, AtomicRmwOp) and not op.is_scattered:
        _update_number(op, threads)
        return
    tile, held = _tile(op.value), elements(threads, threads.registers(op.value))
    columns = [elements(threads, threads.registers(index)) for index in op.indices]
    wanted = None if op.mask is None else threads.registers(op.mask).values
    array = array_at(threads, op.base)

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
        return _cannot_update_number(op, op.value.type)
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
    window = Window.at(threads, array_at(threads, op.base), coordinates, tile.layout.shape, tile.bits, None)

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


# Updates of one number ------------------------------------------------------------------------------------------------
#
#     barrier                        what threads have stored is in front of the update
#     if thread 0 { %old = atomicrmw ..; store %old, shared }
#     barrier                        what threads load next is behind it
#     %old = load shared

ONE_WORD = 16
"""Bytes of shared memory for an old value."""


def _update_number(op: AtomicRmwOp | AtomicCasOp, threads: Threads) -> None:
    """One thread of the block updates a number; all learn what was there."""
    kind = op.old.type
    slot = threads.at_shared(threads.memory.place(ONE_WORD, "the old value of an atomic update"))
    places = [threads.of(index) for index in op.indices]
    array = array_at(threads, op.base)
    pointer = Window(threads, array, tuple(places), (False,) * len(places), _bits(kind)).pointer(places)
    first = threads.compare(threads.thread, "eq", 0)
    chosen = first if op.mask is None else threads.compute(arith.AndIOp, first, threads.of(op.mask))

    def build() -> None:
        threads.insert(LLVMStoreOp(_old(op, threads, pointer), slot))

    if op.mask is not None:
        instead = (
            threads.of(op.compare) if isinstance(op, AtomicCasOp) else threads.result(arith.ConstantOp(zero_of(kind)))
        )
        threads.when(first, lambda: _keep(threads, instead, slot))
    threads.insert(Barrier0Op())
    threads.when(chosen, build)
    threads.insert(Barrier0Op())
    threads.give(op.old, threads.result(LLVMLoadOp(slot, kind)))


def _keep(threads: Threads, value: SSAValue, slot: SSAValue) -> None:
    threads.insert(LLVMStoreOp(value, slot))


def _old(op: AtomicRmwOp | AtomicCasOp, threads: Threads, pointer: SSAValue) -> SSAValue:
    """The update, and what was there."""
    ordering = ORDERINGS[_ordering(op)]
    if isinstance(op, AtomicRmwOp):
        kind = op.value.type
        word = (OF_FLOATS if isinstance(kind, AnyFloat) else OF_INTEGERS).get(op.required_mode())
        assert word is not None
        said = {"bin_op": IntegerAttr(BINARY_OPS.index(word), i64), "ordering": IntegerAttr(ordering, i64)}
        made = AtomicRMWOp.create(operands=[pointer, threads.of(op.value)], result_types=[kind], properties=said)
        return threads.result(made)
    failure = ORDERINGS["acquire" if _ordering(op) in ("acquire", "acq_rel") else RELAXED]
    said = {"success_ordering": IntegerAttr(ordering, i64), "failure_ordering": IntegerAttr(failure, i64)}
    both = LLVMStructType.from_type_list([op.compare.type, i1])
    operands = [pointer, threads.of(op.compare), threads.of(op.replacement)]
    swapped = threads.result(CmpXchgOp.create(operands=operands, result_types=[both], properties=said))
    return threads.result(ExtractValueOp(DenseArrayBase.from_list(i64, [0]), swapped, op.compare.type))


def _ordering(op: AtomicRmwOp | AtomicCasOp) -> str:
    word = "relaxed" if op.mem_semantic is None else op.mem_semantic.data.value
    return RELAXED if word in ("relaxed", "weak") else word


def zero_of(kind: Attribute) -> IntegerAttr[Any] | FloatAttr[Any]:
    """Zero of a type."""
    return FloatAttr(0.0, cast(Any, kind)) if isinstance(kind, AnyFloat) else IntegerAttr(0, cast(Any, kind))


@rule(AtomicCasOp)
def _swap(op: AtomicCasOp, threads: Threads) -> None:
    _update_number(op, threads)


@refusal(AtomicCasOp)
def _swaps_otherwise(op: AtomicCasOp) -> tuple[str, str] | None:
    return TOKENS if op.token else _cannot_update_number(op, op.compare.type)


def _cannot_update_number(op: AtomicRmwOp | AtomicCasOp, kind: Attribute) -> tuple[str, str] | None:
    """Why one thread cannot update a number for all."""
    if isinstance(kind, TensorType):
        return "updates a tile at an element", "update it at coordinates of each lane, or at tile coordinates"
    if agent_of(op) is not None:
        return "updates a number in one of several agents", "compile for one agent: --strategy unspecialize"
    if _bits(kind) not in (32, 64):
        return f"updates a number of {_bits(kind)} bits", "update one of 32 or 64 bits"
    return None
