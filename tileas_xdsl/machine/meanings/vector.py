"""
What the ops of `vector` do that move a few neighbouring elements at once. Arithmetic on vectors is that of `arith`.

Only neighbouring elements (a minor identity map, no mask) have a meaning; what sticks out of a dimension that is not
`in_bounds` is not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import vector
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Attribute, Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import effect
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.op_facts import TakesPerThread
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError, out_of_bounds
from tileas_xdsl.machine.meanings.memref import element_at, element_to_read
from tileas_xdsl.machine.tiles.numerics import view_of
from tileas_xdsl.machine.tiles.unknown_places import ADDRESS


def _neighbours(agent: Agent, op: Operation, buffer: Any, indices: Sequence[Any], kind: Attribute) -> View:
    """The elements from `indices` on along the innermost dimensions, as many as `kind` has."""
    return _vector_from(agent, op, buffer, element_at(agent, op, buffer, indices), kind)


def _vector_from(agent: Agent, op: Operation, buffer: Any, first: View, kind: Attribute) -> View:
    """The elements from `first` on along the innermost dimensions of `buffer`."""
    assert isinstance(kind, VectorType)
    shape = kind.get_shape()
    all_strides = view_of(agent, op, buffer).strides
    strides = all_strides[len(all_strides) - len(shape) :]
    return View(first.base, first.offset, shape, strides, first.element, first.origin)


@effect(
    vector.LoadOp,
    may_move=("indices",),
    indexes=(("indices", "base"),),
    per_thread=TakesPerThread.ONE_BY_ONE,
)
def _load(agent: Agent, op: vector.LoadOp, buffer: Any, *indices: Any) -> Any:
    # A vector is not computed when checking, wherever it lies.
    first, _ = element_to_read(agent, op, buffer, indices)
    return agent.load(_vector_from(agent, op, buffer, first, op.result.type), op)


@effect(
    vector.StoreOp,
    may_move=("indices",),
    stores_data=True,
    indexes=(("indices", "base"),),
    per_thread=TakesPerThread.ONE_BY_ONE,
)
def _store(agent: Agent, op: vector.StoreOp, value: Any, buffer: Any, *indices: Any) -> None:
    agent.store(_neighbours(agent, op, buffer, indices, op.vector.type), value, op)


# Transfers ------------------------------------------------------------------------------------------------------------

Transfer = vector.TransferReadOp | vector.TransferWriteOp


@effect(vector.TransferReadOp)
def _transfer_read(agent: Agent, op: vector.TransferReadOp, buffer: Any, *rest: Any) -> Any:
    shape = op.result.type.get_shape()
    window = _reached(agent, op, buffer, rest[: len(op.indices)], shape)
    loaded = agent.load(window, op)
    if window.shape == shape:
        return loaded
    padding = rest[len(op.indices)]

    def pad(values: Any) -> Any:
        if values is UNKNOWN or padding is UNKNOWN:
            return UNKNOWN
        padded = np.full(shape, padding, window.element.dtype)
        padded[tuple(slice(extent) for extent in window.shape)] = values
        return padded

    return pad(loaded) if agent.recording is None else agent.recording.then(pad, loaded)


@effect(vector.TransferWriteOp, stores_data=True)
def _transfer_write(agent: Agent, op: vector.TransferWriteOp, value: Any, buffer: Any, *rest: Any) -> None:
    kind = op.vector.type
    assert isinstance(kind, VectorType)
    window = _reached(agent, op, buffer, rest[: len(op.indices)], kind.get_shape())
    if window.shape == kind.get_shape():
        agent.store(window, value, op)
        return

    def clip(values: Any) -> Any:
        return values if values is UNKNOWN else values[tuple(slice(extent) for extent in window.shape)]

    agent.store(window, clip(value) if agent.recording is None else agent.recording.then(clip, value), op)


def _reached(agent: Agent, op: Transfer, buffer: Any, indices: Sequence[Any], shape: Sequence[int]) -> View:
    """The elements that a transfer from or to a memref reaches: fewer than its vector has, where that sticks out."""
    if op.mask is not None or not op.permutation_map.data.is_minor_identity():
        raise UnsupportedError(op, "has a mask or permutes dimensions; transfer neighbouring elements")
    if not isinstance(op.source.type, MemRefType):
        raise UnsupportedError(op, f"transfers from or to {op.source.type}; only memrefs have addresses")
    view = view_of(agent, op, buffer)
    lead = len(indices) - len(shape)
    places = [agent.known(index, op, ADDRESS) for index in indices]
    extents: list[int] = []
    for axis, length in enumerate(shape):
        there = max(0, min(length, view.shape[lead + axis] - places[lead + axis]))
        if places[lead + axis] < 0 or (there < length and op.in_bounds.data[axis].value.data):
            start, extent = places[lead + axis], view.shape[lead + axis]
            where = f"{agent.in_iteration}: {length} elements from index {start} on, of {extent}"
            raise out_of_bounds(op, view.base, where, start, "say in_bounds = false, or fix the index")
        extents.append(there)
    # Where nothing is reached the address does not matter.
    first = element_at(agent, op, buffer, places if all(extents) else [*places[:lead], *(0 for _ in shape)])
    return View(first.base, first.offset, tuple(extents), view.strides[lead:], first.element, first.origin)
