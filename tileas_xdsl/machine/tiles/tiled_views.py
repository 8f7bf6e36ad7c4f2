"""
Reading and writing memory tile by tile: arrays seen as grids of tiles, boxes of arrays, tiles of pointers.

    block_tile of A by (128, 64)   ->  TiledView(A, (128, 64), groups ((0,), (1,)))
    its tile (i, k)                ->  the window of A at row 128 i, column 64 k

Where a tile sticks out of its array there is nothing to read or write; so a tile is a list of `Piece`s, each a strided
window of the array and its place in the tile. Mostly there is one piece. An axis of a tile that walks through several
axes of the array takes a piece for each run of evenly spaced elements.

Coordinates. Those of TMA ops count elements, those of `tiled_*` ops count tiles. Tiled loads that stick out read
padding; stores of nv_tileaa clip; a store of nv_tileas without `in_bounds` must fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.values import UNKNOWN, ElementType
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.numerics import Array
from tileas_xdsl.machine.tiles.tiles import PointerTile, refuse_placeholder

Groups = tuple[tuple[int, ...], ...]
"""For each axis of a tile, the axes of the array that it walks through, the slowest first."""


@dataclass(frozen=True, eq=False)
class TiledView:
    """An array seen as a grid of tiles."""

    array: View
    tile: tuple[int, ...]
    groups: Groups

    @staticmethod
    def plain(array: View, tile: Sequence[int], op: Operation) -> TiledView:
        """
        A tiled view in which axis `i` of the tile walks through axis `i` of the array. A tile of lower rank has extent
        1 along the leading axes of the array.
        """
        missing = len(array.shape) - len(tile)
        if missing < 0:
            raise UnsupportedError(op, f"takes tiles of rank {len(tile)} from an array of rank {len(array.shape)}")
        return TiledView(array, (1,) * missing + tuple(tile), tuple((axis,) for axis in range(len(array.shape))))

    def at(self, coordinates: Sequence[int]) -> TileWindow:
        """The tile at tile coordinates."""
        return TileWindow(self, tuple(c * extent for c, extent in zip(coordinates, self.tile, strict=True)))


@dataclass(frozen=True)
class Piece:
    """A part of a tile that lies in memory: where, and which elements of the tile it is."""

    view: View
    place: tuple[slice, ...]


@dataclass(frozen=True)
class _Run:
    """Evenly spaced positions along one axis of a tile."""

    first: int
    count: int
    offset: int
    stride: int


@dataclass(frozen=True)
class TileWindow:
    """A tile of a view, from element position `start` along each axis of the tile; it may stick out."""

    of: TiledView
    start: tuple[int, ...]

    def pieces(self) -> list[Piece]:
        """The pieces of the window that lie inside the array."""
        array = self.of.array
        axes = zip(self.of.groups, self.start, self.of.tile, strict=True)
        runs = [list(_runs(array, group, start, extent)) for group, start, extent in axes]
        return [_piece(array, choice) for choice in product(*runs)]

    def sticks_out(self) -> list[int]:
        """The axes of the tile along which it is not inside the array."""
        axes = enumerate(zip(self.of.groups, self.start, self.of.tile, strict=True))
        return [
            axis
            for axis, (group, start, extent) in axes
            if start < 0 or start + extent > prod(self.of.array.shape[d] for d in group)
        ]


def _piece(array: View, runs: Sequence[_Run]) -> Piece:
    start = array.offset + sum(run.offset for run in runs)
    counts, strides = tuple(run.count for run in runs), tuple(run.stride for run in runs)
    place = tuple(slice(run.first, run.first + run.count) for run in runs)
    return Piece(View(array.base, start, counts, strides, array.element, array.origin), place)


def _runs(array: View, group: Sequence[int], start: int, extent: int) -> Iterator[_Run]:
    """The positions `start` to `start + extent` along the axes of `group`, as far as they exist."""
    if len(group) == 1:
        length, stride = array.shape[group[0]], array.strides[group[0]]
        low, high = max(start, 0), min(start + extent, length)
        if low < high:
            yield _Run(low - start, high - low, low * stride, stride)
        return
    axes = _collapsed([(array.shape[d], array.strides[d]) for d in group])
    low, high = max(start, 0), min(start + extent, prod(length for length, _ in axes))
    inner, stride = axes[-1]
    while low < high:
        count = min(inner - low % inner, high - low)
        yield _Run(low - start, count, _offset(axes, low), stride)
        low += count


def _collapsed(axes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """(extent, stride) of the axes, neighbours that lie evenly in memory taken as one."""
    result: list[tuple[int, int]] = []
    for length, stride in axes:
        if result and (length == 1 or result[-1][1] == length * stride):
            outer, outer_stride = result[-1]
            result[-1] = (outer * length, outer_stride if length == 1 else stride)
        elif result and result[-1][0] == 1:
            result[-1] = (length, stride)
        else:
            result.append((length, stride))
    return result


def _offset(axes: Sequence[tuple[int, int]], position: int) -> int:
    offset = 0
    for length, stride in reversed(axes):
        position, index = divmod(position, length)
        offset += index * stride
    return offset


# Tiles of pointers ----------------------------------------------------------------------------------------------------


def pieces_behind(agent: Agent, op: Operation, pointers: PointerTile, element: ElementType, mask: Any) -> list[Piece]:
    """The elements behind a tile of pointers, masked lanes left out: one piece where they are evenly spaced."""
    offsets: Array = agent.known(pointers.offsets, op, "computes addresses from")
    lanes = np.broadcast_to(True if mask is None or mask is UNKNOWN else mask, offsets.shape)
    steps = _even_steps(offsets) if lanes.all() else None
    if steps is not None:
        view = View(pointers.base, int(offsets.flat[0]), offsets.shape, steps, element)
        return [Piece(view, (slice(None),) * offsets.ndim)]
    return [_lane(pointers, offsets, element, place) for place in zip(*np.nonzero(lanes), strict=True)]


def _lane(pointers: PointerTile, offsets: Array, element: ElementType, place: tuple[Any, ...]) -> Piece:
    ones, steps = (1,) * len(place), (element.size,) * len(place)
    view = View(pointers.base, int(offsets[place]), ones, steps, element)
    return Piece(view, tuple(slice(int(index), int(index) + 1) for index in place))


def _even_steps(offsets: Array) -> tuple[int, ...] | None:
    """The distances along each axis when they are the same everywhere."""
    steps: list[int] = []
    expected: Any = offsets[(0,) * offsets.ndim]
    for axis, extent in enumerate(offsets.shape):
        second = tuple(1 if d == axis and extent > 1 else 0 for d in range(offsets.ndim))
        step = int(offsets[second]) - int(offsets[(0,) * offsets.ndim])
        shape = [1] * offsets.ndim
        shape[axis] = extent
        expected = expected + step * np.arange(extent, dtype=np.int64).reshape(shape)
        steps.append(step)
    return tuple(steps) if np.array_equal(np.broadcast_to(expected, offsets.shape), offsets) else None


# Moving tiles ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lanes:
    """What a tile reads where it reads no memory: `other` where the mask is false, `padding` outside of the array."""

    shape: tuple[int, ...]
    element: ElementType
    padding: Any = 0
    mask: Any = None
    other: Any = None


def read_pieces(agent: Agent, op: Operation, pieces: Sequence[Piece], lanes: Lanes) -> Any:
    """The tile that `pieces` make up, read now; in an asynchronous scope, when that is performed."""
    contents = [agent.load(piece.view, op, Proxy.UNSPECIFIED) for piece in pieces]
    if not agent.has_data:
        return UNKNOWN
    if agent.recording is not None:
        return agent.recording.combine(lambda *parts: assembled(pieces, parts, lanes), contents)
    return assembled(pieces, contents, lanes)


def assembled(pieces: Sequence[Piece], contents: Sequence[Any], lanes: Lanes) -> Array:
    """The tile with the given contents of its pieces."""
    rank = len(pieces[0].place) if pieces else len(lanes.shape)
    tile = _padding((1,) * (rank - len(lanes.shape)) + lanes.shape, lanes)
    for piece, values in zip(pieces, contents, strict=True):
        tile[piece.place] = values
    tile = tile.reshape(lanes.shape)
    if lanes.mask is None:
        return tile
    other = np.zeros_like(tile) if lanes.other is None else lanes.other
    return np.where(lanes.mask, tile, other).astype(lanes.element.dtype)


def _padding(shape: tuple[int, ...], lanes: Lanes) -> Array:
    """A tile of what lies outside of the array. Zero is no bits: scales of 8 bits have no other zero."""
    is_zero = np.ndim(lanes.padding) == 0 and lanes.padding == 0 and not np.signbit(lanes.padding)
    return (
        np.zeros(shape, lanes.element.dtype) if is_zero else np.full(shape, lanes.padding).astype(lanes.element.dtype)
    )


def write_pieces(agent: Agent, op: Operation, pieces: Sequence[Piece], value: Any, mask: Any = None) -> None:
    """Write a tile (contents, not a view), lanes where the mask is false and what sticks out left alone."""
    refuse_placeholder(agent, op, value)
    for piece in pieces:
        part = _part(agent, piece, value, mask) if agent.recording is None else _later_part(agent, piece, value, mask)
        agent.store(piece.view, part, op, Proxy.UNSPECIFIED)


def _later_part(agent: Agent, piece: Piece, value: Any, mask: Any) -> Any:
    """`_part`, computed when the asynchronous scope is performed."""
    assert agent.recording is not None
    if not agent.has_data:
        return UNKNOWN

    def part(contents: Any) -> Any:
        return _part(agent, piece, contents, mask)

    return agent.recording.combine(part, [value])


def _part(agent: Agent, piece: Piece, value: Any, mask: Any) -> Any:
    """What `piece` of the tile `value` puts into memory."""
    if value is UNKNOWN or mask is UNKNOWN:
        return UNKNOWN
    part = _spread(value, piece)[piece.place]
    if mask is None:
        return part
    return np.where(_spread(mask, piece)[piece.place], part, agent.peek(piece.view))


def _spread(tile: Any, piece: Piece) -> Array:
    array = np.asarray(tile)
    return array.reshape((1,) * (len(piece.place) - array.ndim) + array.shape)


def put_pieces(agent: Agent, pieces: Sequence[Piece], value: Any, mask: Any = None) -> None:
    """Write a tile into `pieces` without noting an access: for asynchronous work when it is performed."""
    for piece in pieces:
        agent.poke(piece.view, _part(agent, piece, value, mask))


def touches_of(pieces: Sequence[Piece], *, write: bool) -> list[Touch]:
    """What asynchronous work on `pieces` reads or writes."""
    return [Touch(piece.view, write) for piece in pieces]


@dataclass(frozen=True, eq=False)
class Descriptor:
    """The run-time value of a TMA descriptor."""

    array: View
    box: tuple[int, ...] | None
    padding: float
