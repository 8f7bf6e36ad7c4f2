"""
Tiles of other shapes: what is broadcast, what gets a dimension more, and what is left of a reduction.

    reduce      a thread combines what it holds; lanes that hold other elements of the axis exchange what they have
    permute     each thread holds what it held, under other coordinates; `view` does the same for other extents
    generate    each thread computes the elements that it holds from their coordinates
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Block, Operation, SSAValue

from tileas_xdsl.analysis.threads.tiles import Tile, cut_layout, joined_layout, rearranged, slice_number, tile_of
from tileas_xdsl.dialects.nv_tileaa.compute import ReduceOp, ScanOp
from tileas_xdsl.dialects.nv_tileaa.structure import (
    BroadcastOp,
    CatOp,
    ExpandDimsOp,
    ExtractOp,
    ExtractSliceOp,
    GenerateOp,
    PermuteOp,
    ViewOp,
)
from tileas_xdsl.dialects.nvvm.attributes import ShflKind
from tileas_xdsl.layouts import f2
from tileas_xdsl.layouts.distributed import LANE, REGISTER, WARP
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.transforms.to_llvm.tiles.exchanges import SHUFFLED, shuffled
from tileas_xdsl.transforms.to_llvm.tiles.global_memory import Coordinates
from tileas_xdsl.transforms.to_llvm.tiles.packing import elements, packed
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.values import Registers, SharedTile

# Where elements stay --------------------------------------------------------------------------------------------------


def _onto(wide: LinearLayout, narrow: LinearLayout, kept: Sequence[int | None]) -> list[int] | None:
    """
    For each register of `wide`, the register of `narrow` in which the same thread has the element at the coordinates
    `kept` (an axis of `wide` for each of `narrow`, None: 0). None where some thread does not hold it.
    """
    extents = narrow.shape

    def image(place: str, bit: int) -> int:
        basis = wide.bases(place)[bit]
        own = [0 if axis is None else basis[axis] % extents[n] for n, axis in enumerate(kept)]
        return narrow.packed(own)

    for place in (LANE, WARP):
        for bit in range(len(wide.images(place))):
            there = narrow.images(place)
            if image(place, bit) != (there[bit] if bit < len(there) else 0):
                return None
    room = f2.echelon(narrow.images(REGISTER))
    found: list[int] = []
    for bit in range(len(wide.images(REGISTER))):
        rest, used = room.reduce(image(REGISTER, bit))
        if rest:
            return None
        found.append(used)
    return [f2.combination(found, number) for number in range(1 << len(found))]


def _kept_axes(op: Operation) -> list[int | None]:
    """For each axis of the operand, the axis of the result along which it lies."""
    source, result = (tile_of(value.type) for value in (op.operands[0], op.results[0]))
    assert source is not None
    assert result is not None
    if isinstance(op, ExpandDimsOp):
        return list(_old_axes(source.layout.shape, result.layout.shape))
    return [axis if extent > 1 else None for axis, extent in enumerate(source.layout.shape)]


def _old_axes(before: Sequence[int], after: Sequence[int]) -> Iterator[int]:
    """The axes of `after` that are those of `before`, where axes of extent 1 have been put between."""
    ahead = list(before)
    for axis, extent in enumerate(after):
        if ahead and ahead[0] == extent:
            ahead.pop(0)
            yield axis


def _registers_taken(op: Operation) -> list[int] | None:
    source, result = (tile_of(value.type) for value in (op.operands[0], op.results[0]))
    if source is None or result is None:
        return None
    return _onto(result.layout, source.layout, _kept_axes(op))


@rule(BroadcastOp, ExpandDimsOp)
def _spread(op: Operation, threads: Threads) -> None:
    taken, result = _registers_taken(op), tile_of(op.results[0].type)
    assert taken is not None
    assert result is not None
    held = elements(threads, threads.registers(op.operands[0]))
    threads.give(op.results[0], packed(threads, result, [held[number] for number in taken]))


@refusal(BroadcastOp, ExpandDimsOp)
def _held_by_others(op: Operation) -> tuple[str, str] | None:
    if tile_of(op.operands[0].type) is not None and _registers_taken(op) is None:
        return "needs elements that other threads hold", "convert its operand to a slice of the result's layout"
    return None


# Other coordinates ----------------------------------------------------------------------------------------------------


@rule(PermuteOp, ViewOp)
def _rearrange(op: PermuteOp | ViewOp, threads: Threads) -> None:
    """Each thread holds what it held; the bytes of a tile in shared memory are the same."""
    tile = tile_of(op.result.type)
    assert tile is not None
    if tile.in_registers:
        threads.give(op.result, Registers(tile, threads.registers(op.source).values))
    else:
        seen = threads.tile(op.source)
        threads.give(op.result, SharedTile(tile, seen.pointer, seen.slot))


@refusal(PermuteOp, ViewOp)
def _moves_elements(op: PermuteOp | ViewOp) -> tuple[str, str] | None:
    source, result = tile_of(op.source.type), tile_of(op.result.type)
    if source is None or result is None:
        return None if isinstance(op.result.type, TensorType) else ("sees an array otherwise", "load the tile first")
    if source.in_registers != result.in_registers or rearranged(op, source.layout) != result.layout:
        return f"leaves its tile in another layout than {source.type} becomes", ASSIGNED
    return None


ASSIGNED = "run tileas-assign-layouts, which converts the tile"


@rule(ExtractOp)
def _only_element(op: ExtractOp, threads: Threads) -> None:
    """The element of a tile that has no other: each thread holds it."""
    (element, *_) = elements(threads, threads.registers(op.source))
    threads.give(op.result, element)


@refusal(ExtractOp)
def _one_of_many(op: ExtractOp) -> tuple[str, str] | None:
    tile = tile_of(op.source.type)
    if tile is None or not tile.in_registers or any(extent != 1 for extent in tile.layout.shape):
        return "takes one of many elements, which some thread holds", "reduce the tile to one element before"
    return None


# Parts ----------------------------------------------------------------------------------------------------------------


@rule(CatOp)
def _join(op: CatOp, threads: Threads) -> None:
    """A thread holds the elements of one tile, then those of the next."""
    tile = tile_of(op.result.type)
    assert tile is not None
    held = [each for source in op.sources for each in elements(threads, threads.registers(source))]
    threads.give(op.result, packed(threads, tile, held))


@refusal(CatOp)
def _does_not_join(op: CatOp) -> tuple[str, str] | None:
    parts, whole = [tile_of(source.type) for source in op.sources], tile_of(op.result.type)
    if whole is None or None in parts:
        return None
    joined = joined_layout(op.axis.value.data, [part.layout for part in parts if part is not None], whole.layout.shape)
    return None if joined == whole.layout else ("joins tiles that threads hold otherwise", ASSIGNED)


@rule(ExtractSliceOp)
def _cut(op: ExtractSliceOp, threads: Threads) -> None:
    """A thread takes those of its elements that lie in the slice."""
    tile, number = tile_of(op.result.type), slice_number(op)
    assert tile is not None
    assert number is not None
    held = elements(threads, threads.registers(op.source))
    threads.give(op.result, packed(threads, tile, held[number * tile.count : (number + 1) * tile.count]))


@refusal(ExtractSliceOp)
def _does_not_cut(op: ExtractSliceOp) -> tuple[str, str] | None:
    source, result = tile_of(op.source.type), tile_of(op.result.type)
    if source is None or result is None:
        return None
    if slice_number(op) is None:
        return "takes a slice that begins anywhere, or leaves elements out", "take slice number k of equal ones"
    if cut_layout(result.layout, source.layout.shape) != source.layout:
        return "takes a slice of a tile that threads hold otherwise", ASSIGNED
    return None


# Reductions -----------------------------------------------------------------------------------------------------------


Elements = tuple[SSAValue, ...]
"""An element of each of the tiles that are combined together."""
Combine = Callable[[Elements, Elements], Elements]


@rule(ReduceOp)
def _reduce(op: ReduceOp, threads: Threads) -> None:
    source, result = tile_of(op.source.type), tile_of(op.result.type)
    assert source is not None
    assert result is not None
    held = elements_of_all(op, threads)
    combine = combiner_of(op, threads)
    rows: list[Elements] = []
    for number in range(result.count):
        own = [held[register] for register in _registers_of_row(op, source, result, number)]
        total = _combined(own, combine)
        for bit in _lanes_along(op, source):
            total = combine(total, shuffled_all(threads, total, bit))
        rows.append(total)
    give_all(op, threads, rows)


def elements_of_all(op: ReduceOp | ScanOp, threads: Threads) -> list[Elements]:
    """By register: an element of each tile."""
    return list(zip(*(elements(threads, threads.registers(source)) for source in op.sources), strict=True))


def shuffled_all(threads: Threads, total: Elements, bit: int) -> Elements:
    """What the lane has whose number differs in a bit."""
    return tuple(shuffled(threads, each, ShflKind.BFLY, threads.number(1 << bit)) for each in total)


def give_all(op: ReduceOp | ScanOp, threads: Threads, rows: Sequence[Elements]) -> None:
    """What stands for each result: by register an element of each."""
    for value, column in zip(op.results, zip(*rows, strict=True), strict=True):
        tile = tile_of(value.type)
        assert tile is not None
        threads.give(value, packed(threads, tile, column))


LONG, CHAINS = 16, 2
"""A thread that combines so many elements does it in chains, for one result would wait for the other each time."""


def _combined(own: Sequence[Elements], combine: Combine) -> Elements:
    """What a thread makes of its elements of one row."""
    chains = CHAINS if len(own) >= LONG else 1
    totals = list(own[:chains])
    for number, value in enumerate(own[chains:]):
        totals[number % chains] = combine(totals[number % chains], value)
    return reduce(combine, totals)


def combiner_of(op: ReduceOp | ScanOp, threads: Threads) -> Combine:
    """What a reduction or a scan makes of two elements of each tile."""
    return lambda a, b: tuple(_yielded(op.combiner.block, (*a, *b), threads))


def _element(block: Block, values: Sequence[SSAValue], threads: Threads) -> SSAValue:
    """The only number that a region makes of single elements."""
    (number,) = _yielded(block, values, threads)
    return number


def _yielded(block: Block, values: Sequence[SSAValue], threads: Threads) -> list[SSAValue]:
    """What a region makes of single elements; its arguments may be tiles without dimensions."""
    for argument, value in zip(block.args, values, strict=True):
        tile = tile_of(argument.type)
        threads.give(argument, value if tile is None else Registers(tile, (value,)))
    *body, last = block.ops
    for inner in body:
        threads.lower(inner)
    return [
        threads.of(each) if tile_of(each.type) is None else threads.registers(each).values[0] for each in last.operands
    ]


def _rest(op: ReduceOp, source: Tile) -> list[int]:
    axis = op.axis.value.data
    return [other for other in range(len(source.layout.shape)) if other != axis]


def _projected(op: ReduceOp, source: Tile, place: str) -> list[tuple[int, ...]]:
    """The images of the bits of a place without the axis that is reduced."""
    return [tuple(basis[axis] for axis in _rest(op, source)) for basis in source.layout.bases(place)]


def _registers_of_row(op: ReduceOp, source: Tile, result: Tile, number: int) -> list[int]:
    """The registers with the different elements that this thread adds to register `number` of the result."""
    wanted = result.layout.at(register=number)
    axis, rest = op.axis.value.data, _rest(op, source)
    found: dict[int, int] = {}
    for register in range(source.count):
        at = source.layout.at(register=register)
        if tuple(at[other] for other in rest) == wanted:
            found.setdefault(at[axis], register)
    return list(found.values())


def _lanes_along(op: ReduceOp, source: Tile) -> list[int]:
    """The bits of the lane that lead along the axis alone, to elements that no other place holds."""
    axis = op.axis.value.data
    bases = source.layout.bases(LANE)
    return [bit for bit, basis in enumerate(bases) if basis[axis] and not any(_projected(op, source, LANE)[bit])]


def combines_otherwise(op: ReduceOp | ScanOp) -> tuple[str, str] | None:
    """Why lanes cannot exchange elements of the tiles that are combined."""
    tiles = [tile for source in op.sources if (tile := tile_of(source.type)) is not None]
    for tile in tiles:
        if tile.bits not in SHUFFLED:
            return f"exchanges elements of {tile.bits} bits between lanes", "combine elements of 8 to 64 bits"
        if tile.layout != tiles[0].layout:
            return "combines tiles in different layouts", "run tileas-assign-layouts, which converts them"
    return None


@refusal(ReduceOp)
def _across_warps(op: ReduceOp) -> tuple[str, str] | None:
    source, result = tile_of(op.source.type), tile_of(op.result.type)
    if source is None or result is None or not source.in_registers:
        return None
    if (refused := combines_otherwise(op)) is not None:
        return refused
    axis = op.axis.value.data
    if any(basis[axis] for basis in source.layout.bases(WARP)):
        return "combines elements that several warps hold", "convert its operand so that a warp holds whole rows"
    if any(
        basis[axis] and any(rest)
        for basis, rest in zip(source.layout.bases(LANE), _projected(op, source, LANE), strict=True)
    ):
        return "combines lanes that hold parts of several rows", "convert its operand to a blocked layout"
    for place in (LANE, WARP):
        if [tuple(b) for b in result.layout.bases(place)] != _projected(op, source, place):
            return "leaves its result in another layout than a slice of its operand's", "convert the result afterwards"
    return None


# From coordinates -----------------------------------------------------------------------------------------------------


@rule(GenerateOp)
def _generate(op: GenerateOp, threads: Threads) -> None:
    tile = tile_of(op.result.type)
    assert tile is not None
    coordinates = Coordinates(threads, tile.layout)
    found: list[SSAValue] = []
    for register in range(tile.count):
        places = [threads.result(arith.IndexCastOp(place, i32)) for place in coordinates.of(register)]
        found.append(_element(op.body.block, places, threads))
    threads.give(op.result, packed(threads, tile, found))
