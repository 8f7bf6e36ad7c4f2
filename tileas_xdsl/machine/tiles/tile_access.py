"""
One access to memory by an op on tiles: which bytes it reaches, and what moves.

    base[coordinates]  ->  pieces of the tile that lie in memory  ->  read or written now, or by asynchronous work

The base is an array, a view of an array by tiles, a pointer or a tile of pointers.

Masks that are unknown when checking count as true: more accesses, so no race is missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.tiles.policies import PaddingValue
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.violations import UnsupportedError, out_of_bounds
from tileas_xdsl.machine.tiles.numerics import element_of
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.tiled_views import (
    Lanes,
    Piece,
    TiledView,
    TileWindow,
    pieces_behind,
    read_pieces,
    write_pieces,
)
from tileas_xdsl.machine.tiles.tiles import PointerTile, read_tile, scalar_or_tile, tile_shape
from tileas_xdsl.machine.tiles.unknown_places import ADDRESS, places_to_read

PADDING = {
    PaddingValue.ZERO: 0.0,
    PaddingValue.NEG_ZERO: -0.0,
    PaddingValue.NAN: np.nan,
    PaddingValue.POS_INF: np.inf,
    PaddingValue.NEG_INF: -np.inf,
}
"""What an access outside of its array reads."""


@dataclass(frozen=True)
class Place:
    """Where an op reaches memory: the run-time base and coordinates, and what it says about bounds."""

    base: Any
    coordinates: Sequence[Any]
    counts_tiles: bool
    """Whether the coordinates count tiles rather than elements."""
    in_bounds: Sequence[bool] | None = None
    """
    Per axis, whether the op promises that the tile lies inside the array. None: no promise, and elements outside are
    neither read nor written.
    """


def pieces_at(
    agent: Agent, op: Operation, place: Place, tile: Attribute, mask: Any = None, *, reads: bool = False
) -> list[Piece]:
    """
    The parts of a tile (or scalar) of type `tile` that lie in memory at `place`. Of an access that only `reads`, the
    coordinates need not be known when checking (`unknown_places`).

    Raises `OutOfBoundsError` where it was promised to lie inside and does not.
    """
    base = agent.known(place.base, op, "reaches memory through")
    if isinstance(base, PointerTile):
        return pieces_behind(agent, op, base, element_of(op, tile), mask)
    if isinstance(base, Pointer):
        return [_behind_pointer(op, base, place, tile)]
    window = _window(agent, op, base, place, tile, reads=reads)
    _check_bounds(agent, op, window, place, tile)
    pieces = window.pieces()
    if not pieces:
        agent.observer.outside(agent, op, window.of.array.base)
    return pieces


def _behind_pointer(op: Operation, pointer: Pointer, place: Place, tile: Attribute) -> Piece:
    if place.coordinates:
        raise UnsupportedError(op, "takes a tile at coordinates behind a pointer; make an array of it with make_memref")
    shape = tile_shape(tile)
    return Piece(pointer.view(shape, element_of(op, tile)), (slice(None),) * len(shape))


def _window(agent: Agent, op: Operation, base: Any, place: Place, tile: Attribute, *, reads: bool) -> TileWindow:
    if isinstance(base, TiledView):
        view = base
    elif isinstance(base, View):
        view = TiledView.plain(base, tile_shape(tile), op)
    else:
        raise UnsupportedError(op, "reaches memory through a value that is no array here")
    if len(place.coordinates) != len(view.tile):
        raise UnsupportedError(op, f"gives {len(place.coordinates)} coordinates for tiles of rank {len(view.tile)}")
    if reads:
        coordinates, _ = places_to_read(agent, op, view.array.base, place.coordinates)
    else:
        coordinates = [agent.known(c, op, ADDRESS) for c in place.coordinates]
    return view.at(coordinates) if place.counts_tiles else TileWindow(view, tuple(coordinates))


def _check_bounds(agent: Agent, op: Operation, window: TileWindow, place: Place, tile: Attribute) -> None:
    rank = len(window.start)
    # A promise for fewer axes is one for the last ones: the leading axes of the tile have extent 1.
    promised = [True] * rank if not tile_shape(tile) else [False] * rank
    if place.in_bounds is not None:
        promised[rank - len(place.in_bounds) :] = place.in_bounds
    outside = [axis for axis in window.sticks_out() if promised[axis]]
    if outside:
        start, array = window.start[outside[0]], window.of.array
        where = f"{agent.in_iteration}: axis {outside[0]} from element {start}, of an array of shape {array.shape}"
        raise out_of_bounds(op, array.base, where, start)


def bounds_of(in_bounds: DenseArrayBase[Any] | None) -> Sequence[bool] | None:
    """The promises of an `in_bounds` attribute, axis by axis."""
    return None if in_bounds is None else [bool(entry) for entry in in_bounds.get_values()]


def padding_of(op: Operation) -> Any:
    """The value that the op reads outside of its array; zero unless it names one."""
    padding = op.properties.get("padding_value")
    if isinstance(padding, IntegerAttr | FloatAttr):
        return padding.value.data
    word = getattr(padding, "data", None)
    return PADDING[word] if isinstance(word, PaddingValue) else 0


def load_tile(agent: Agent, op: Operation, place: Place, tile: Attribute, mask: Any = None, other: Any = None) -> Any:
    """The contents of the tile (or scalar) of type `tile` at `place`, read now."""
    mask, other = (read_tile(agent, agent.resolve(value), op) for value in (mask, other))
    pieces = pieces_at(agent, op, place, tile, mask, reads=bool(tile_shape(tile)))
    if not tile_shape(tile) and mask is None and not agent.has_data:
        # Scalars that the program itself has stored are known when checking too.
        return agent.load(View(*_scalar_at(pieces[0].view)), op, Proxy.UNSPECIFIED)
    lanes = Lanes(tile_shape(tile), element_of(op, tile), padding_of(op), mask, other)
    contents = read_pieces(agent, op, pieces, lanes)
    if agent.recording is not None and agent.has_data:
        return agent.recording.combine(partial(_as_result, op), [contents])
    return scalar_or_tile(contents, op) if agent.has_data else contents


def _as_result(op: Operation, contents: Any) -> Any:
    return scalar_or_tile(contents, op)


def _scalar_at(view: View) -> tuple[Any, ...]:
    return (view.base, view.offset, (), (), view.element, view.origin)


def store_tile(agent: Agent, op: Operation, place: Place, value: Any, tile: Attribute, mask: Any = None) -> None:
    """Write the tile (or scalar) `value` of type `tile` at `place`, now."""
    # What is stored may be read later, in an asynchronous scope.
    contents = agent.load(value, op, Proxy.UNSPECIFIED) if isinstance(value, View) else value
    mask = read_tile(agent, agent.resolve(mask), op)
    pieces = pieces_at(agent, op, place, tile, mask)
    if not tile_shape(tile) and mask is None:
        agent.store(View(*_scalar_at(pieces[0].view)), contents, op)
        return
    write_pieces(agent, op, pieces, contents, mask)
