"""
What the ops of `tensor` do. A tensor is a numpy array that is never modified; in a check it is UNKNOWN.

The elements of `tensor.empty` are zero. `tensor.pad` computes its padding element by element, unless it is the same
everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.meaning import control, effect, pure, terminators
from tileas_xdsl.machine.core.op_facts import Tells
from tileas_xdsl.machine.core.standings import Answer, Request, continuation
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.lanes import run_on_each
from tileas_xdsl.machine.tiles.numerics import Array, element_of, is_array, to_scalar
from tileas_xdsl.machine.tiles.slices import Numbers, Window, filled

terminators(tensor.YieldOp)

MOST_PADDING = 1_000_000
"""Elements of padding that are computed one by one before an op is refused."""


# Making tensors -----------------------------------------------------------------------------------------------------


def _shape_of(op: Operation, sizes: Sequence[int]) -> tuple[int, ...]:
    kind = op.results[0].type
    assert isa(kind, TensorType[Attribute])
    shape = tuple(filled(kind.get_shape(), iter(sizes)))
    if any(extent < 0 for extent in shape):
        raise UnsupportedError(op, f"makes a tensor of shape {shape}")
    return shape


@pure(tensor.EmptyOp)
def _empty(agent: Agent, op: tensor.EmptyOp, *sizes: int) -> Any:
    if not agent.has_data:
        return UNKNOWN
    return np.zeros(_shape_of(op, sizes), element_of(op, op.tensor.type).dtype)


@pure(tensor.SplatOp)
def _splat(agent: Agent, op: tensor.SplatOp, value: Any, *sizes: int) -> Any:
    if not agent.has_data:
        return UNKNOWN
    return np.full(_shape_of(op, sizes), value, element_of(op, op.result.type).dtype)


@pure(tensor.FromElementsOp)
def _from_elements(agent: Agent, op: tensor.FromElementsOp, *elements: Any) -> Any:
    if not agent.has_data:
        return UNKNOWN
    return np.array(elements, element_of(op, op.result.type).dtype).reshape(_shape_of(op, ()))


@pure(tensor.ConcatOp)
def _concat(_agent: Agent, op: tensor.ConcatOp, *inputs: Array) -> Array:
    return np.concatenate(inputs, axis=op.dim.value.data)


# Elements and slices ------------------------------------------------------------------------------------------------


def _place(agent: Agent, op: Operation, array: Array, indices: Sequence[int]) -> tuple[int, ...]:
    """`indices`, each of which must lie inside its dimension."""
    if any(not 0 <= index < extent for index, extent in zip(indices, array.shape, strict=True)):
        raise UnsupportedError(
            op, f"reaches element {tuple(indices)} of a tensor of shape {array.shape}{agent.in_iteration}"
        )
    return tuple(indices)


@pure(tensor.ExtractOp)
def _extract(agent: Agent, op: tensor.ExtractOp, array: Array, *indices: int) -> Any:
    return to_scalar(np.asarray(array[_place(agent, op, array, indices)]), element_of(op, op.result.type))


@pure(tensor.InsertOp, stores_data=True)
def _insert(agent: Agent, op: tensor.InsertOp, value: Any, array: Array, *indices: int) -> Array:
    result = array.copy()
    result[_place(agent, op, array, indices)] = value
    return result


@per_op
def _window(op: tensor.ExtractSliceOp | tensor.InsertSliceOp) -> Window:
    return Window.of(op)


def _places(agent: Agent, op: Any, array: Array, operands: Sequence[int]) -> tuple[Any, list[int]]:
    """The window of `op` as an index into `array`, inside of which it must lie; and its sizes."""
    offsets, sizes, strides = _window(agent, op).with_operands(operands)
    indices: list[NDArray[np.int64]] = []
    for offset, size, stride, extent in zip(offsets, sizes, strides, array.shape, strict=True):
        places = offset + stride * np.arange(size, dtype=np.int64)
        if size and (places.min() < 0 or places.max() >= extent):
            raise UnsupportedError(
                op,
                f"reaches elements {places.min()} to {places.max()} of a dimension of {extent}{agent.in_iteration}",
            )
        indices.append(places)
    return np.ix_(*indices), sizes


@pure(tensor.ExtractSliceOp)
def _extract_slice(agent: Agent, op: tensor.ExtractSliceOp, array: Array, *operands: int) -> Array:
    places, _ = _places(agent, op, array, operands)
    dropped = _window(agent, op).dropped_for(op.result.type.get_shape())
    return np.asarray(array[places]).squeeze(tuple(dropped))


@pure(tensor.InsertSliceOp)
def _insert_slice(agent: Agent, op: tensor.InsertSliceOp, source: Array, target: Array, *operands: int) -> Array:
    places, sizes = _places(agent, op, target, operands)
    if source.size != prod(sizes):
        raise UnsupportedError(op, f"inserts a tensor of shape {source.shape} into a window of sizes {tuple(sizes)}")
    result = target.copy()
    result[places] = source.reshape(sizes)
    return result


# Shapes -------------------------------------------------------------------------------------------------------------


@effect(tensor.DimOp, tells=Tells.EXTENTS)
def _dim(agent: Agent, op: tensor.DimOp, source: Any, index: Any) -> Any:
    """A static dimension is known even where the tensor is not."""
    shape = _known_shape(source, op.source.type)
    if shape is None or index is UNKNOWN:
        return UNKNOWN
    place = int(index)
    if not 0 <= place < len(shape):
        raise UnsupportedError(op, f"asks for dimension {place} of a tensor of rank {len(shape)}")
    return UNKNOWN if shape[place] == DYNAMIC_INDEX else shape[place]


def _known_shape(value: Any, kind: Attribute) -> tuple[int, ...] | None:
    if is_array(value):
        return value.shape
    return kind.get_shape() if isa(kind, TensorType[Attribute]) else None


@pure(tensor.CastOp)
def _cast(_agent: Agent, op: tensor.CastOp, source: Array) -> Array:
    kind = op.dest.type
    if isa(kind, TensorType[Attribute]):
        shape = kind.get_shape()
        if len(shape) != source.ndim or any(
            wanted not in (DYNAMIC_INDEX, extent) for wanted, extent in zip(shape, source.shape, strict=True)
        ):
            raise UnsupportedError(op, f"casts a tensor of shape {source.shape} to {kind}")
    return source


def _reshaped(op: Operation, source: Array, shape: Sequence[int]) -> Array:
    if source.size != prod(shape):
        raise UnsupportedError(op, f"reshapes a tensor of shape {source.shape} to {tuple(shape)}")
    return source.reshape(shape)


@pure(tensor.ReshapeOp)
def _reshape(_agent: Agent, op: tensor.ReshapeOp, source: Array, shape: Array) -> Array:
    return _reshaped(op, source, [int(extent) for extent in shape])


@pure(tensor.CollapseShapeOp)
def _collapse_shape(_agent: Agent, op: tensor.CollapseShapeOp, source: Array) -> Array:
    groups = [[number.value.data for number in group] for group in op.reassociation]
    return source.reshape([prod(source.shape[d] for d in group) for group in groups])


@per_op
def _static_output_shape(op: tensor.ExpandShapeOp) -> Numbers:
    return tuple(int(size) for size in op.static_output_shape.get_values())


@pure(tensor.ExpandShapeOp)
def _expand_shape(agent: Agent, op: tensor.ExpandShapeOp, source: Array, *sizes: int) -> Array:
    return _reshaped(op, source, filled(_static_output_shape(agent, op), iter(sizes)))


# Padding ------------------------------------------------------------------------------------------------------------


@control(tensor.PadOp)
def _pad(agent: Agent, op: tensor.PadOp, source: Any, *operands: Any) -> Answer:
    if source is UNKNOWN or any(operand is UNKNOWN for operand in operands):
        return UNKNOWN
    if agent.recording is not None:
        raise UnsupportedError(op, "pads a tensor inside an asynchronous scope; pad before it")
    rest = iter(operands)
    low = filled([int(n) for n in op.static_low.get_values()], rest)
    high = filled([int(n) for n in op.static_high.get_values()], rest)
    if min((*low, *high), default=0) < 0:
        raise UnsupportedError(op, f"pads by a negative amount ({low}, {high})")
    shape = tuple(a + extent + b for a, extent, b in zip(low, source.shape, high, strict=True))
    inside = tuple(slice(a, a + extent) for a, extent in zip(low, source.shape, strict=True))
    result = np.zeros(shape, source.dtype)
    padding = np.ones(shape, np.bool_)
    padding[inside] = False
    result[inside] = source
    if any(argument.first_use is not None for argument in op.region.block.args):
        return _pad_each(agent, op, result, padding)
    return agent.run_region(op.region, (0,) * source.ndim).then(_pad_all, result, padding)


@continuation
def _pad_all(_agent: Agent, _op: Operation, yielded: tuple[Any, ...], result: Array, padding: Array) -> Answer:
    [result[padding]] = yielded
    return result


def _pad_each(agent: Agent, op: tensor.PadOp, result: Array, padding: Array) -> Request:
    places = np.argwhere(padding)
    if len(places) > MOST_PADDING:
        raise UnsupportedError(
            op, f"computes {len(places)} elements of padding one by one; {MOST_PADDING} is the limit"
        )
    rows = [tuple(int(index) for index in place) for place in places]
    return run_on_each(agent, op.region, rows).then(_pad_at, result, rows)


@continuation
def _pad_at(
    _agent: Agent, _op: Operation, yielded: Sequence[Any], result: Array, places: Sequence[tuple[int, ...]]
) -> Answer:
    for place, (value,) in zip(places, yielded, strict=True):
        result[place] = value
    return result
