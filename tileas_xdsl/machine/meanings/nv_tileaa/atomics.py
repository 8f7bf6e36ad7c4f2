"""
What the atomic accesses of `nv_tileaa` do, and loads at coordinates of each lane.

An atomic access of a tile is one for each element. Two of them never race, so they may come in any order; in a check
what they read is not known. A lane outside of its array is left out; so is one whose mask is false.

Where the coordinates of a gather are not computed, the whole array is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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


@effect(atomics.AtomicRmwOp, atomics.TiledAtomicRmwOp, stores_data=True)
def _read_modify_write(agent: Agent, op: atomics.RmwOp, base: Any, value: Any, *others: Any) -> Any:
    indices, mask = others[: len(op.indices)], others[len(op.indices)] if op.mask is not None else None
    given, chosen = (read_tile(agent, agent.resolve(each), op) for each in (value, mask))
    place = Place(base, indices, isinstance(op, atomics.TiledAtomicRmwOp))
    kind, mode = op.value.type, op.required_mode()
    if mode not in COMBINED:
        raise UnsupportedError(op, f"combines by {mode.value}, which has no meaning here")
    shape, element = tile_shape(kind), element_of(op, kind)
    found = np.zeros(shape, element.dtype)
    for piece in pieces_at(agent, op, place, kind, chosen):

        def combined(old: Any, place: Any = piece.place) -> Any:
            new = np.asarray(COMBINED[mode](old, np.asarray(given)[place])).astype(element.dtype)
            return new if chosen is None else np.where(np.asarray(chosen)[place], new, old)

        old = update(agent, op, piece.view, combined)
        if old is not UNKNOWN:
            found[piece.place] = old
    known = scalar_or_tile(found, op) if agent.has_data else UNKNOWN
    result = placed(agent, op, known)
    return (result, done_token()) if len(op.results) > 1 else result


@effect(atomics.GatherLoadOp)
def _gather(agent: Agent, op: atomics.GatherLoadOp, base: Any, *others: Any) -> Any:
    array = view_of(agent, op, base)
    count = len(op.indices)
    given = [read_tile(agent, agent.resolve(each), op) for each in others[: count + _present(op.mask, op.other)]]
    places, rest = given[:count], given[count:]
    mask = rest.pop(0) if op.mask is not None else None
    other = rest.pop(0) if op.other is not None else None
    if not agent.has_data:
        agent.load(array, op, Proxy.UNSPECIFIED)
        result: Any = UNKNOWN
    else:
        result = placed(agent, op, _gathered(agent, op, array, places, mask, other))
    return (result, done_token()) if len(op.results) > 1 else result


def _present(*operands: Any) -> int:
    return sum(operand is not None for operand in operands)


def _gathered(
    agent: Agent, op: atomics.GatherLoadOp, array: View, places: Sequence[Array], mask: Any, other: Any
) -> Array:
    """The elements of the lanes, one after the other."""
    kind = op.value.type
    found = np.full(tile_shape(kind), padding_of(op)).astype(element_of(op, kind).dtype)
    for lane in np.ndindex(found.shape):
        if mask is not None and not mask[lane]:
            found[lane] = 0 if other is None else other[lane]
            continue
        at = [int(place[lane]) for place in places]
        if all(0 <= each < extent for each, extent in zip(at, array.shape, strict=True)):
            offset = array.offset + sum(each * step for each, step in zip(at, array.strides, strict=True))
            found[lane] = agent.load(
                View(array.base, offset, (), (), array.element, array.origin), op, Proxy.UNSPECIFIED
            )
    return found
