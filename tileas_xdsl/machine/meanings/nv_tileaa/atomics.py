"""
What the atomic accesses of `nv_tileaa` do, and loads at coordinates of each lane.

An atomic access of a tile is one for each element. Two of them never race, so they may come in any order; in a check
what they read is not known. A lane outside of its array is left out; so is one whose mask is false.

Where the coordinates of lanes are not computed, the whole array is read, or written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from tileas_xdsl.dialects.nv_tileaa import atomics
from tileas_xdsl.dialects.tiles.policies import RmwMode
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import effect
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.parts.atomics import update
from tileas_xdsl.machine.parts.rings import done_token
from tileas_xdsl.machine.tiles.numerics import Array, element_of, view_of
from tileas_xdsl.machine.tiles.tile_access import Place, padding_of, pieces_at
from tileas_xdsl.machine.tiles.tiles import placed, read_tile, scalar_or_tile, tile_shape

COMBINED: dict[RmwMode, Callable[[Array, Array], Any]] = {
    RmwMode.ADD: np.add,
    RmwMode.ADDF: np.add,
    RmwMode.AND: np.bitwise_and,
    RmwMode.OR: np.bitwise_or,
    RmwMode.XOR: np.bitwise_xor,
    RmwMode.MIN: np.minimum,
    RmwMode.MAX: np.maximum,
    RmwMode.XCHG: lambda _old, given: given,
}
"""What is written, of what was there and what is given."""


UNSIGNED: dict[RmwMode, Callable[[Array, Array], Any]] = {RmwMode.UMIN: np.minimum, RmwMode.UMAX: np.maximum}


def _combining(op: atomics.RmwOp) -> Callable[[Array, Array], Array]:
    """What a mode makes of two arrays of the same integers or floats."""
    mode = op.required_mode()
    if mode in UNSIGNED:

        def unsigned(old: Array, given: Array) -> Array:
            kind = np.dtype(f"u{np.asarray(given).itemsize}")
            return UNSIGNED[mode](np.asarray(old).view(kind), np.asarray(given).view(kind)).view(given.dtype)

        return unsigned
    if mode not in COMBINED:
        raise UnsupportedError(op, f"combines by {mode.value}, which has no meaning here")
    return COMBINED[mode]


@effect(atomics.AtomicRmwOp, atomics.TiledAtomicRmwOp, stores_data=True)
def _read_modify_write(agent: Agent, op: atomics.RmwOp, base: Any, value: Any, *others: Any) -> Any:
    if isinstance(op, atomics.AtomicRmwOp) and op.is_scattered:
        return _scatter_update(agent, op, base, value, *others)
    indices, mask = others[: len(op.indices)], others[len(op.indices)] if op.mask is not None else None
    given, chosen = (read_tile(agent, agent.resolve(each), op) for each in (value, mask))
    place = Place(base, indices, isinstance(op, atomics.TiledAtomicRmwOp))
    kind, combine = op.value.type, _combining(op)
    shape, element = _shape(kind, op.indices), element_of(op, kind)
    given, chosen = _spread(given, shape), _spread(chosen, shape)
    found = np.zeros(shape, element.dtype)
    for piece in pieces_at(agent, op, place, kind, chosen):

        def combined(old: Any, place: Any = piece.place) -> Any:
            new = np.asarray(combine(old, given[place])).astype(element.dtype)
            return new if chosen is None else np.where(chosen[place], new, old)

        old = update(agent, op, piece.view, combined)
        if old is not UNKNOWN:
            found[piece.place] = old
    known = scalar_or_tile(found, op) if agent.has_data else UNKNOWN
    result = placed(agent, op, known)
    return (result, done_token()) if len(op.results) > 1 else result


def _shape(kind: Attribute, indices: Sequence[Any]) -> tuple[int, ...]:
    """The extents of what is accessed: a number at coordinates has 1 along each."""
    return tile_shape(kind) or (1,) * len(indices)


def _spread(value: Any, shape: tuple[int, ...]) -> Any:
    """A number or a tile as an array of so many elements; what is not known as it is."""
    return value if value is None or value is UNKNOWN else np.broadcast_to(np.asarray(value), shape)


# Coordinates of each lane ---------------------------------------------------------------------------------------------

LaneOp = atomics.GatherLoadOp | atomics.ScatterStoreOp | atomics.AtomicRmwOp


@dataclass(frozen=True)
class _Lanes:
    """Where the lanes of an access lie, and what goes in."""

    array: View
    places: Sequence[Array]
    mask: Any
    others: Sequence[Any]

    def inside(self, shape: Sequence[int]) -> Iterator[tuple[tuple[int, ...], View]]:
        """Each lane that is wanted and lies in the array, and its element."""
        array = self.array
        for lane in np.ndindex(tuple(shape)):
            if self.mask is not None and not self.mask[lane]:
                continue
            at = [int(place[lane]) for place in self.places]
            if all(0 <= each < extent for each, extent in zip(at, array.shape, strict=True)):
                offset = array.offset + sum(each * step for each, step in zip(at, array.strides, strict=True))
                yield lane, View(array.base, offset, (), (), array.element, array.origin)


def _lanes(agent: Agent, op: LaneOp, base: Any, given: Sequence[Any]) -> _Lanes:
    """Operands behind the base: in front of the coordinates what is stored, behind them the mask and other values."""
    values = [read_tile(agent, agent.resolve(each), op) for each in given]
    stored = 0 if isinstance(op, atomics.GatherLoadOp) else 1
    end = stored + len(op.indices)
    masks = values[end:][: _present(op.mask)]
    return _Lanes(
        array=view_of(agent, op, base),
        places=values[stored:end],
        mask=masks[0] if masks else None,
        others=[*values[:stored], *values[end + len(masks) :]],
    )


@effect(atomics.GatherLoadOp)
def _gather(agent: Agent, op: atomics.GatherLoadOp, base: Any, *given: Any) -> Any:
    lanes = _lanes(agent, op, base, given[: len(op.indices) + _present(op.mask, op.other)])
    if not agent.has_data:
        agent.load(lanes.array, op, Proxy.UNSPECIFIED)
        result: Any = UNKNOWN
    else:
        result = placed(agent, op, _gathered(agent, op, lanes))
    return (result, done_token()) if len(op.results) > 1 else result


def _present(*operands: Any) -> int:
    return sum(operand is not None for operand in operands)


def _gathered(agent: Agent, op: atomics.GatherLoadOp, lanes: _Lanes) -> Array:
    """The elements of the lanes, one after the other."""
    kind = op.value.type
    found = np.full(tile_shape(kind), padding_of(op)).astype(element_of(op, kind).dtype)
    if lanes.mask is not None:
        found = np.where(lanes.mask, found, lanes.others[0] if lanes.others else np.zeros_like(found))
    for lane, element in lanes.inside(found.shape):
        found[lane] = agent.load(element, op, Proxy.UNSPECIFIED)
    return found


@effect(atomics.ScatterStoreOp, stores_data=True)
def _scatter(agent: Agent, op: atomics.ScatterStoreOp, base: Any, *given: Any) -> Any:
    """Of lanes at one place the last one stays. In a check the whole array is written."""
    lanes = _lanes(agent, op, base, given[: 1 + len(op.indices) + _present(op.mask)])
    if not agent.has_data:
        agent.store(lanes.array, UNKNOWN, op, Proxy.UNSPECIFIED)
    else:
        (value,) = lanes.others
        for lane, element in lanes.inside(tile_shape(op.value.type)):
            agent.store(element, value[lane], op, Proxy.UNSPECIFIED)
    return done_token() if op.results else None


def _scatter_update(agent: Agent, op: atomics.AtomicRmwOp, base: Any, *given: Any) -> Any:
    lanes = _lanes(agent, op, base, given[: 1 + len(op.indices) + _present(op.mask)])
    kind, combine = op.value.type, _combining(op)
    element = element_of(op, kind)
    if not agent.has_data:
        update(agent, op, lanes.array, lambda old: old)
        result: Any = UNKNOWN
    else:
        (value,) = lanes.others
        found = np.zeros(tile_shape(kind), element.dtype)
        for lane, place in lanes.inside(found.shape):

            def combined(old: Any, own: Any = value[lane]) -> Any:
                return np.asarray(combine(np.asarray(old, element.dtype), np.asarray(own))).astype(element.dtype)

            found[lane] = update(agent, op, place, combined)
        result = placed(agent, op, found)
    return (result, done_token()) if len(op.results) > 1 else result


# Comparing ------------------------------------------------------------------------------------------------------------


@effect(atomics.AtomicCasOp, stores_data=True)
def _compare_and_swap(agent: Agent, op: atomics.AtomicCasOp, base: Any, *given: Any) -> Any:
    """Bits are compared: two zeros of other signs differ. A lane whose mask is false gives what it compares with."""
    compare, replacement, *rest = (
        read_tile(agent, agent.resolve(each), op) for each in given[: 2 + len(op.indices) + _present(op.mask)]
    )
    indices, masks = rest[: len(op.indices)], rest[len(op.indices) :]
    kind = op.compare.type
    element, shape = element_of(op, kind), _shape(kind, op.indices)
    expected, new, mask = (_spread(each, shape) for each in (compare, replacement, masks[0] if masks else None))
    found = np.array(expected, element.dtype) if agent.has_data else np.zeros(shape, element.dtype)
    for piece in pieces_at(agent, op, Place(base, indices, counts_tiles=False), kind, mask):

        def swapped(old: Any, place: Any = piece.place) -> Any:
            bits = np.dtype(f"u{element.size}")
            same = np.asarray(old, element.dtype).view(bits) == expected[place].astype(element.dtype).view(bits)
            chosen = same if mask is None else same & mask[place]
            return np.asarray(np.where(chosen, new[place], old), element.dtype)

        old = update(agent, op, piece.view, swapped)
        if old is not UNKNOWN:
            wanted = True if mask is None else mask[piece.place]
            found[piece.place] = np.where(wanted, old, expected[piece.place])
    result = placed(agent, op, scalar_or_tile(found, op) if agent.has_data else UNKNOWN)
    return (result, done_token()) if len(op.results) > 1 else result
