"""
Views, pointers and accesses of `cuda_tile`.

A run does each access when it comes to it; a token is complete from the start. That is one of the orders that tokens
allow. In a check an access is asynchronous work, which begins behind its token and whose completion is the token that
it gives: so what no token orders is a race. What a load gives where nothing is defined is zero, and under `--order
random` what the seed draws: no result may depend on it.

A check does not know how large arrays are. It takes them to be small and dense, finds what races there, and leaves the
verdict open where it finds nothing. Atomics, and accesses that other blocks may meet, it does not follow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr
from xdsl.ir import BlockArgument, SSAValue

from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.enumerations import PaddingAttr
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.types import (
    GatherScatterViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
    TokenType,
    plain,
)
from tileas_xdsl.machine.arguments import ArgumentError, binds_type, default_array
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Event
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import effect
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.values import UNKNOWN, ElementType, element_type, unsigned, wrap
from tileas_xdsl.machine.core.violations import MistakeError, UndecidedError, UnsupportedError
from tileas_xdsl.machine.meanings.cuda_tile.values import as_array, as_value, element_type_of, numbers_of
from tileas_xdsl.machine.parts.rings import StageToken, done_token
from tileas_xdsl.machine.parts.tile_works import Move, issue_move
from tileas_xdsl.machine.tiles.numerics import Array, is_array
from tileas_xdsl.machine.tiles.pointers import DEFAULT_BYTES, Addresses, Pointer
from tileas_xdsl.machine.tiles.tiled_views import Lanes, Piece, pieces_behind, read_pieces, write_pieces
from tileas_xdsl.machine.tiles.tiles import PointerTile

PADDING = {"zero": 0.0, "neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf}

CHECKED_BYTES = 1 << 32
"""Of the memory behind a pointer in a check, which holds no numbers."""

# Arguments ------------------------------------------------------------------------------------------------------------


@binds_type(TileType.name)
def _bind(argument: BlockArgument, given: Any, with_data: bool) -> Any:
    """A number, or the address of the array that is given; without one, of an array of small integers."""
    kind = cast(TileType, argument.type).element_type
    name = argument.name_hint or str(argument.index)
    if isinstance(kind, PointerType):
        return _address(argument, kind, given, name, with_data)
    element = element_type(kind)
    if element is None:
        raise ArgumentError(f"argument '{name}' is of {argument.type}, which has no numbers here")
    if given is None and with_data:
        raise ArgumentError(f"argument '{name}' : {argument.type} has no value; give one with --arg {name}=VALUE")
    if given is None or given is UNKNOWN:
        return UNKNOWN
    if np.ndim(given):
        raise ArgumentError(f"argument '{name}' is a number, and an array was given")
    return element.dtype.type(given) if element.is_float else wrap(int(given), kind)


def _address(argument: BlockArgument, kind: PointerType, given: Any, name: str, with_data: bool) -> Pointer:
    element = element_type(kind.pointee)
    if element is None:
        raise ArgumentError(f"argument '{name}' leads to {kind.pointee}, which has no numbers here")
    bytes_ = DEFAULT_BYTES if with_data else CHECKED_BYTES
    size = bytes_ // element.size if given is None else int(np.size(given))
    base = MemoryObject.zeros(name, (size,), element, "global", with_data=with_data)
    if base.data is not None:
        contents = default_array((size,), element, argument.index) if given is None else np.asarray(given).reshape(-1)
        base.whole().array()[...] = contents.astype(element.dtype)
    return Pointer(base, 0)


@binds_type(TokenType.name)
def _bind_token(_argument: BlockArgument, _given: Any, _with_data: bool) -> StageToken:
    return done_token()


# Views ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TilesOf:
    """A view of an array by tiles."""

    array: View
    type: TileViewType


@effect(OPS["make_tensor_view"])
def _make_array(agent: Agent, op: TileIROp, base: Any, *sizes: Any) -> View:
    pointer: Pointer = agent.known(base, op, "makes an array of")
    kind = op.results[0].type
    assert isinstance(kind, TensorViewType)
    element = numbers_of(op, kind.element_type)
    dynamic = iter(_size(agent, op, size, operand) for size, operand in zip(sizes, op.operands[1:], strict=True))
    shape = tuple(next(dynamic) if extent == DYNAMIC_INDEX else extent for extent in kind.get_shape())
    strides = tuple(next(dynamic) if stride == DYNAMIC_INDEX else stride for stride in kind.get_strides())
    if _is_check(agent):
        shape, strides = _taken(agent, op, pointer, shape, strides)
    return View(pointer.base, pointer.offset, shape, tuple(stride * element.size for stride in strides), element)


def _size(agent: Agent, op: TileIROp, size: Any, operand: SSAValue) -> Any:
    """An extent or a stride; in a check it may be unknown."""
    if size is UNKNOWN and _is_check(agent):
        return UNKNOWN
    return unsigned(agent.known(size, op, "measures an array by"), element_type_of(operand))


OPEN_EXTENTS = {1: 4096, 2: 256}
"""The extents that a check takes arrays of so many axes to have, where they are open; 32 for more axes."""


def _taken(
    agent: Agent, op: TileIROp, pointer: Pointer, shape: Sequence[Any], strides: Sequence[Any]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Extents and strides of an array in a check: open ones are small, and rows follow each other."""
    extent = OPEN_EXTENTS.get(len(shape), 32)
    found = tuple(extent if size is UNKNOWN else int(size) for size in shape)
    dense = [prod(found[axis + 1 :]) for axis in range(len(found))]
    steps = tuple(own if step is UNKNOWN else int(step) for own, step in zip(dense, strides, strict=True))
    if any(size is UNKNOWN for size in (*shape, *strides)):
        pointer.base.is_open = True
        agent.leave_open(op, f"makes an array whose extents are open: only those of {extent} are tried")
    return found, steps


@effect(OPS["make_partition_view"], OPS["make_strided_view"], OPS["make_gather_scatter_view"])
def _make_view(_agent: Agent, op: TileIROp, array: View) -> TilesOf:
    kind = op.results[0].type
    assert isinstance(kind, TileViewType)
    return TilesOf(array, kind)


def _steps(kind: TileViewType) -> tuple[int, ...]:
    """The distance between neighbouring tiles along each axis of the tile."""
    return plain(kind.steps) if isinstance(kind, StridedViewType) else kind.get_tile_shape()


@effect(OPS["get_index_space_shape"])
def _count_tiles(_agent: Agent, op: TileIROp, tiles: TilesOf) -> Any:
    extents = [tiles.array.shape[axis] for axis in tiles.type.get_dim_map()]
    counts = tuple(-(-extent // step) for extent, step in zip(extents, _steps(tiles.type), strict=True))
    return counts[0] if len(op.results) == 1 else counts


@effect(OPS["get_tensor_shape"])
def _shape_of(_agent: Agent, op: TileIROp, array: View) -> Any:
    return array.shape[0] if len(op.results) == 1 else array.shape


# Accesses -------------------------------------------------------------------------------------------------------------


def _is_check(agent: Agent) -> bool:
    """Whether numbers are not computed, and every order is judged."""
    return not agent.has_data


def _only_run(agent: Agent, op: TileIROp) -> None:
    """Raises `UndecidedError` in a check of what other blocks may meet: one block alone is tried."""
    is_weak = op.word("memory_ordering_semantics") == "weak"
    if _is_check(agent) and not is_weak:
        raise UndecidedError(op, "meets accesses of other blocks, and a check follows one block alone")


def _later(agent: Agent, op: TileIROp, pieces: Sequence[Piece], behind: Any, *, write: bool) -> StageToken:
    """Issue an access that begins behind a token; the token of its completion."""
    before = behind.event if isinstance(behind, StageToken) else Event.completed()
    names = ", ".join(dict.fromkeys(piece.view.base.name for piece in pieces))
    label = f"the {'store to' if write else 'load from'} '{names}'"
    views = [piece.view for piece in pieces]
    reads, writes = ([], views) if write else (views, [])
    move = Move(reads, writes, _nothing, _no_data)
    token = issue_move(agent, op, move, label=label, engine="copy", dependencies=[before])
    for work in token.event.source:
        work.ends_with_grid = True
    return token


def _nothing() -> None:
    """A check moves no numbers."""


def _no_data(_: Any) -> None:
    """A check moves no numbers."""


def _pieces(agent: Agent, op: TileIROp, tiles: TilesOf, indices: Sequence[Any]) -> list[Piece]:
    """The parts of the tile at `indices` that lie in the array: views with the axes of the tile, and their places."""
    kind, array = tiles.type, tiles.array
    if isinstance(kind, GatherScatterViewType):
        return _rows(agent, op, tiles, kind, indices)
    starts = [
        _index(agent, op, index, place) * step
        for place, (index, step) in enumerate(zip(indices, _steps(kind), strict=True))
    ]
    return _window(array, starts, kind.get_tile_shape(), kind.get_dim_map())


def _index(agent: Agent, op: TileIROp, index: Any, place: int) -> int:
    number = agent.known(index, op, "reaches memory through")
    return unsigned(int(number), element_type_of(op.group("index")[place]))


def _window(array: View, starts: Sequence[int], tile: Sequence[int], dim_map: Sequence[int]) -> list[Piece]:
    sizes = [min(extent, array.shape[axis] - start) for start, extent, axis in zip(starts, tile, dim_map, strict=True)]
    if any(size <= 0 for size in sizes):
        return []
    strides = tuple(array.strides[axis] for axis in dim_map)
    offset = array.offset + sum(start * stride for start, stride in zip(starts, strides, strict=True))
    view = View(array.base, offset, tuple(sizes), strides, array.element)
    return [Piece(view, tuple(slice(0, size) for size in sizes))]


def _rows(
    agent: Agent, op: TileIROp, tiles: TilesOf, kind: GatherScatterViewType, indices: Sequence[Any]
) -> list[Piece]:
    sparse, tile = kind.sparse_dim.data, kind.get_tile_shape()
    starts = [
        0 if place == sparse else _index(agent, op, index, place) * tile[place] for place, index in enumerate(indices)
    ]
    found: list[Piece] = []
    for row, number in enumerate(np.asarray(indices[sparse]).tolist()):
        starts[sparse] = unsigned(int(number), element_type_of(op.group("index")[sparse]))
        one = [1 if axis == sparse else extent for axis, extent in enumerate(tile)]
        for piece in _window(tiles.array, starts, one, kind.get_dim_map()):
            place = tuple(slice(row, row + 1) if axis == sparse else part for axis, part in enumerate(piece.place))
            found.append(Piece(piece.view, place))
    return found


def _inside(op: TileIROp, tiles: TilesOf, pieces: Sequence[Piece]) -> None:
    if not pieces and not isinstance(tiles.type, GatherScatterViewType):
        raise MistakeError(op, f"takes a tile that lies outside of {tiles.array.base.name}; the number of a tile")


def _anything(agent: Agent, shape: Sequence[int], element: ElementType) -> Any:
    """Numbers for elements that may be anything."""
    seed = agent.seed_of_anything()
    if seed is None:
        return np.zeros(shape, element.dtype)
    generator = np.random.default_rng(seed)
    drawn = generator.standard_normal(shape) * 8 if element.is_float else generator.integers(0, 2, shape)
    return drawn.astype(element.dtype)


@effect(OPS["load_view_tko"])
def _load_view(agent: Agent, op: TileIROp, tiles: TilesOf, *others: Any) -> Any:
    _only_run(agent, op)
    kind = tiles.type
    pieces = _pieces(agent, op, tiles, others[: len(op.group("index"))])
    _inside(op, tiles, pieces)
    if _is_check(agent):
        return UNKNOWN, _later(agent, op, pieces, _operand(op, (tiles, *others), "token"), write=False)
    element, shape = numbers_of(op, kind.tensor_view.element_type), kind.get_tile_shape()
    padding = PADDING[kind.padding.data] if isinstance(kind.padding, PaddingAttr) else _anything(agent, shape, element)
    lanes = Lanes(shape, element, padding)
    return read_pieces(agent, op, pieces, lanes), done_token()


@effect(OPS["store_view_tko"], stores_data=True)
def _store_view(agent: Agent, op: TileIROp, tile: Any, tiles: TilesOf, *others: Any) -> StageToken:
    _only_run(agent, op)
    pieces = _pieces(agent, op, tiles, others[: len(op.group("index"))])
    _inside(op, tiles, pieces)
    if _is_check(agent):
        return _later(agent, op, pieces, _operand(op, (tile, tiles, *others), "token"), write=True)
    write_pieces(agent, op, pieces, tile)
    return done_token()


def _lanes_behind(agent: Agent, op: TileIROp, pointers: Any, kind: TileType, mask: Any) -> list[Piece]:
    element = numbers_of(op, kind.element_type)
    found = agent.known(pointers, op, "reaches memory through")
    if isinstance(found, Pointer):
        turned_off = mask is not None and not np.all(mask)
        return [] if turned_off else [Piece(found.view((), element), ())]
    return pieces_behind(agent, op, cast(PointerTile, found), element, mask)


def _operand(op: TileIROp, operands: Sequence[Any], name: str) -> Any:
    value = op.optional(name)
    return None if value is None else operands[list(op.operands).index(value)]


@effect(OPS["load_ptr_tko"])
def _load_pointers(agent: Agent, op: TileIROp, *operands: Any) -> Any:
    _only_run(agent, op)
    kind = op.results[0].type
    assert isinstance(kind, TileType)
    mask, padding = _operand(op, operands, "mask"), _operand(op, operands, "paddingValue")
    pieces = _lanes_behind(agent, op, operands[0], kind, mask)
    if _is_check(agent):
        return UNKNOWN, _later(agent, op, pieces, _operand(op, operands, "token"), write=False)
    element = numbers_of(op, kind.element_type)
    if mask is not None and padding is None:
        padding = _anything(agent, kind.get_shape(), element)
    lanes = Lanes(kind.get_shape(), element, 0, mask, padding)
    return as_value(op, np.asarray(read_pieces(agent, op, pieces, lanes)), kind), done_token()


@effect(OPS["store_ptr_tko"], stores_data=True)
def _store_pointers(agent: Agent, op: TileIROp, pointers: Any, value: Any, *rest: Any) -> StageToken:
    _only_run(agent, op)
    mask = _operand(op, (pointers, value, *rest), "mask")
    kind = op.operand("value").type
    assert isinstance(kind, TileType)
    pieces = _lanes_behind(agent, op, pointers, kind, mask)
    if _is_check(agent):
        return _later(agent, op, pieces, _operand(op, (pointers, value, *rest), "token"), write=True)
    write_pieces(agent, op, pieces, as_array(op, value, kind), mask)
    return done_token()


# Atomics: a run has one agent, which does them lane by lane -----------------------------------------------------------


def _exchanged(_old: Array, new: Array) -> Array:
    return new


MODES: dict[str, Callable[..., Any]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "add": np.add,
    "addf": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "xchg": _exchanged,
}
UNSIGNED: dict[str, Callable[..., Any]] = {"umax": np.maximum, "umin": np.minimum}


def _updated(op: TileIROp, old: Array, argument: Array) -> Array:
    mode = op.word("mode")
    with np.errstate(all="ignore"):
        if mode in UNSIGNED:
            kind = np.dtype(f"u{old.dtype.itemsize}")
            return np.asarray(UNSIGNED[mode](old.view(kind), argument.view(kind))).view(old.dtype)
        return np.asarray(MODES[mode](old, argument)).astype(old.dtype)


def _each_lane(pointers: Any, shape: Sequence[int]) -> list[tuple[tuple[int, ...], MemoryObject, int]]:
    """Place, object and byte of each lane."""
    if isinstance(pointers, Pointer):
        return [((), pointers.base, pointers.offset)]
    offsets = cast(PointerTile, pointers).offsets
    return [(place, pointers.base, int(offsets[place])) for place in np.ndindex(tuple(shape))]


@effect(OPS["atomic_rmw_tko"], OPS["atomic_cas_tko"])
def _modify(agent: Agent, op: TileIROp, pointers: Any, *operands: Any) -> Any:
    _only_run(agent, op)
    kind = op.results[0].type
    assert isinstance(kind, TileType)
    element, shape = numbers_of(op, kind.element_type), kind.get_shape()
    swaps = isinstance(op, OPS["atomic_cas_tko"])
    first = as_array(op, operands[0], kind)
    second = as_array(op, operands[1], kind) if swaps else first
    mask = _operand(op, (pointers, *operands), "mask")
    old = np.array(first) if swaps else np.zeros(shape, element.dtype)
    for place, base, offset in _each_lane(pointers, shape):
        if mask is not None and not np.asarray(mask)[place]:
            continue
        view = View(base, offset, (), (), element)
        before = np.asarray(agent.load(view, op, Proxy.UNSPECIFIED), element.dtype)
        old[place] = before
        new = _swapped(before, first[place], second[place]) if swaps else _updated(op, before, first[place])
        agent.store(view, new, op, Proxy.UNSPECIFIED)
    return as_value(op, old, kind), done_token()


def _swapped(before: Array, expected: Any, new: Any) -> Array:
    """Bits are compared: two zeros of other signs differ."""
    return np.asarray(new if before.tobytes() == np.asarray(expected).tobytes() else before)


@effect(OPS["atomic_red_view_tko"], stores_data=True)
def _reduce_view(agent: Agent, op: TileIROp, tiles: TilesOf, *operands: Any) -> StageToken:
    _only_run(agent, op)
    count = len(op.group("index"))
    pieces = _pieces(agent, op, tiles, operands[:count])
    _inside(op, tiles, pieces)
    for piece in pieces:
        old = np.asarray(agent.load(piece.view, op, Proxy.UNSPECIFIED))
        agent.store(piece.view, _updated(op, old, operands[count][piece.place]), op, Proxy.UNSPECIFIED)
    return done_token()


@effect(OPS["ptr_to_int"])
def _to_number(agent: Agent, op: TileIROp, pointers: Any) -> Any:
    start = agent.shared(Addresses).of(pointers.base)
    if isinstance(pointers, Pointer):
        return start + pointers.offset
    return as_array(op, start + pointers.offsets, op.results[0].type)


@effect(OPS["int_to_ptr"])
def _to_address(agent: Agent, op: TileIROp, numbers: Any) -> Any:
    addresses = agent.shared(Addresses)
    wide = np.asarray(agent.known(numbers, op, "makes a pointer of")).astype(np.int64)
    base = addresses.base(int(wide.flat[0]))
    offsets = wide - (addresses.of(base) if base is not None else 0)
    if base is None or np.any(offsets >> Addresses.OFFSET_BITS != 0):
        raise UnsupportedError(op, "makes a pointer of a number that is no address of one object; use ptr_to_int's")
    return PointerTile(base, offsets) if is_array(numbers) else Pointer(base, int(offsets))


# Tokens and prints ----------------------------------------------------------------------------------------------------


@effect(OPS["make_token"], OPS["join_tokens"])
def _token(_agent: Agent, _op: TileIROp, *tokens: StageToken) -> StageToken:
    """A token that is complete when all `tokens` are."""
    return StageToken(None, "", None, Event.all_of([token.event for token in tokens]))


@effect(OPS["memory_fence_alias_tko"], OPS["gdc_wait_tko"], OPS["gdc_launch_dependents_tko"])
def _fence(agent: Agent, op: TileIROp, *_tokens: Any) -> StageToken:
    """A run has one grid, and its accesses are in order."""
    _only_run(agent, op)
    return done_token()


@effect(OPS["print_tko"])
def _print(agent: Agent, op: TileIROp, *operands: Any) -> StageToken | None:
    text = op.properties["str"]
    assert isinstance(text, StringAttr)
    if agent.has_data:
        parts = text.data.replace("%%", "\0").split("%")
        shown = [parts[0]]
        for value, part in zip(operands, parts[1:], strict=False):
            shown.append(f"{np.asarray(value).tolist() if is_array(value) else value}{part.lstrip('0123456789.')[1:]}")
        print("".join(shown).replace("\0", "%"), end="", file=sys.stderr)
    return done_token() if op.results else None
