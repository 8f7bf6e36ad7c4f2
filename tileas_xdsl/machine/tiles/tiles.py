"""
Tiles at run time: values, views, and how an op tells one from the other.

A tile in registers is a *value*: a numpy array that is never modified, or UNKNOWN when data are not computed. A tile in
shared or tensor memory, storage made by `alloc_tensor`, a pipeline's slot, and every view or slice of these is a
*view*: a `memory.View` whose bytes are read by each op that uses it, at that moment, and written by an op that has it
as its destination. Loads, copies and layout conversions into shared or tensor memory put the tile into fresh storage;
products and arithmetic give values whatever their type says.

    %t = nv_tileas.alloc_tensor         ->  View of a fresh object
    %s = nv_tileas.extract_slice %t     ->  View of some of its bytes
    %c = nv_tileas.dot %s, %b, %a       ->  reads %s now, gives an array
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any, TypeVar, Unpack

import numpy as np
from xdsl.dialects.builtin import ShapedType, TensorType
from xdsl.ir import Attribute, Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import effect
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.op_facts import Said
from tileas_xdsl.machine.core.values import UNKNOWN, ElementType
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.numerics import Array, element_of, to_scalar

VIEW_SPACES = {"smem": "shared", "tmem": "tensor"}
"""Residencies whose tiles are views of memory, and the state space that each names."""

MeaningT = TypeVar("MeaningT", bound=Callable[..., Any])


# What a type says -----------------------------------------------------------------------------------------------------


def residency_of(type_: Attribute) -> str:
    """`smem`, `tmem`, `rmem` or `gmem` from the layout of a tile type; empty when it has none."""
    layout = type_.encoding if isinstance(type_, TensorType) else None
    space = getattr(layout, "space", None)
    return str(getattr(space, "data", space or ""))


def tile_shape(type_: Attribute) -> tuple[int, ...]:
    """The extents of a tile; none for a scalar."""
    return tuple(type_.get_shape()) if isinstance(type_, ShapedType) else ()


def is_tile_type(type_: Attribute) -> bool:
    """Whether values of `type_` are tiles rather than scalars."""
    return isinstance(type_, TensorType)


# Reading and writing --------------------------------------------------------------------------------------------------


def read_tile(agent: Agent, value: Any, op: Operation) -> Any:
    """The contents of a tile: of a view the bytes at this moment, of a value itself."""
    if not isinstance(value, View):
        return value
    refuse_in_scope(agent, op)
    return agent.load(value, op, Proxy.UNSPECIFIED)


def write_tile(agent: Agent, target: Any, value: Any, op: Operation) -> None:
    """Put `value` (contents, not a view) into the bytes of `target`, which may be of another shape or element type."""
    view = storage_of(target, op)
    refuse_in_scope(agent, op)
    refuse_placeholder(agent, op, value)
    contents = value if value is UNKNOWN else retyped(np.asarray(value), view.shape, view.element, op)
    agent.store(view, contents, op, Proxy.UNSPECIFIED)


def storage_of(target: Any, op: Operation) -> View:
    """`target` as a view. Raises `UnsupportedError` for a value, which cannot be written."""
    if isinstance(target, View):
        return target
    raise UnsupportedError(op, "writes to a tile that is a value, not storage; make the destination with alloc_tensor")


def refuse_in_scope(agent: Agent, op: Operation) -> None:
    """Raises `UnsupportedError` inside an asynchronous scope, whose body is performed later: ops on tiles run now."""
    if agent.recording is not None:
        raise UnsupportedError(op, "works on memory inside an asynchronous scope; move it out, or use memref there")


def refuse_placeholder(agent: Agent, op: Operation, *values: Any) -> None:
    """Raises `UnsupportedError` where data are computed and one of `values` is the placeholder of a `create_none`."""
    if agent.has_data and any(value is UNKNOWN for value in values):
        raise UnsupportedError(op, "moves a placeholder, which holds no tile; give it the tile that it stands for")


def fresh_storage(
    agent: Agent, op: Operation, shape: Sequence[int], element: ElementType, space: str, number: int = 0
) -> View:
    """A fresh object, called after result `number` of `op`, and a view of all of it."""
    name = op.results[number].name_hint or "tile"
    with_data = agent.has_data
    return MemoryObject.zeros(name, tuple(shape), element, space, with_data=with_data).whole()


def placed(agent: Agent, op: Operation, contents: Any, number: int = 0) -> Any:
    """
    Result `number` of `op`, a tile with the given contents: a value, or a view of fresh storage where its layout lives
    in shared or tensor memory.
    """
    type_ = op.results[number].type
    space = VIEW_SPACES.get(residency_of(type_))
    if space is None:
        return contents
    shape = np.shape(contents) if contents is not UNKNOWN else tile_shape(type_)
    view = fresh_storage(agent, op, shape, element_of(op, type_), space, number)
    write_tile(agent, view, contents, op)
    return view


# Computing ------------------------------------------------------------------------------------------------------------


def unknown_results(op: Operation) -> Any:
    """UNKNOWN for each result of `op`."""
    return UNKNOWN if len(op.results) == 1 else (UNKNOWN,) * len(op.results)


def computes(*ops: type[Operation], **said: Unpack[Said]) -> Callable[[MeaningT], MeaningT]:
    """
    Decorator for the meaning of ops that compute from the contents of their operands: it gets arrays and scalars.

    Views are read first, also when data are not computed; then anything unknown makes all results unknown, and so does
    a result that is a tile.
    """

    def register(function: MeaningT) -> MeaningT:
        def meaning(agent: Agent, op: Operation, *operands: Any) -> Any:
            values = [read_tile(agent, operand, op) for operand in operands]
            if any(value is UNKNOWN for value in values):
                return unknown_results(op)
            if not agent.has_data and any(is_tile_type(result.type) for result in op.results):
                return unknown_results(op)
            return function(agent, op, *values)

        effect(*ops, **said)(meaning)
        return function

    return register


def scalar_or_tile(contents: Any, op: Operation, number: int = 0) -> Any:
    """`contents` as result `number` of `op`: a scalar where the type is no tile."""
    type_ = op.results[number].type
    if is_tile_type(type_):
        return np.asarray(contents)
    return to_scalar(np.asarray(contents).reshape(()), element_of(op, type_))


# Other shapes and other elements --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PointerTile:
    """A tile of addresses: byte offsets into one object, or UNKNOWN when data are not computed."""

    base: MemoryObject
    offsets: Any


def restructured(value: Any, change: Callable[[Array], Array]) -> Any:
    """`change`, which moves elements and computes none, applied to a tile of numbers or of addresses."""
    if isinstance(value, PointerTile):
        offsets = value.offsets if value.offsets is UNKNOWN else change(value.offsets)
        return replace(value, offsets=offsets)
    return value if value is UNKNOWN else np.asarray(change(np.asarray(value)))


def reshaped_tile(tile: Any, type_: Attribute, op: Operation) -> Any:
    """The elements of a tile, row-major, in the shape and with the element type of `type_`."""
    if isinstance(tile, PointerTile):
        return restructured(tile, lambda offsets: offsets.reshape(tile_shape(type_)))
    if tile is UNKNOWN:
        return UNKNOWN
    shape, element = tile_shape(type_), element_of(op, type_)
    return retyped_view(tile, shape, element, op) if isinstance(tile, View) else retyped(tile, shape, element, op)


def element_at(tile: Any, index: int) -> Any:
    """The part of a tile at `index` of its first axis, with one axis fewer."""
    return tile.index(index) if isinstance(tile, View) else restructured(tile, lambda array: array[index])


def retyped(contents: Array, shape: Sequence[int], element: ElementType, op: Operation) -> Array:
    """The same bytes, row-major, read as another shape and other elements; two floats of 4 bits share a byte."""
    if contents.shape == tuple(shape) and contents.dtype == element.dtype:
        return contents
    if contents.dtype != element.dtype:
        data = np.ascontiguousarray(contents).reshape(-1).view(np.uint8)
        if contents.size == 2 * prod(shape) and _is_nibble(contents.dtype):
            data = data[0::2] | data[1::2] << 4
        elif 2 * data.size == prod(shape) and _is_nibble(element.dtype):
            data = np.stack([data & 15, data >> 4], axis=-1).reshape(-1)
        _check_bytes(data.nbytes, shape, element, op)
        contents = data.view(element.dtype)
    if contents.size != prod(shape):
        raise UnsupportedError(op, f"takes a tile of {contents.size} elements for one of shape {tuple(shape)}")
    return contents.reshape(tuple(shape))


def _is_nibble(dtype: np.dtype[Any]) -> bool:
    """Whether numbers of this type, a byte each in numpy, have 4 bits."""
    return dtype.name == "float4_e2m1fn"


def _check_bytes(size: int, shape: Sequence[int], element: ElementType, op: Operation) -> None:
    if size != prod(shape) * element.size:
        raise UnsupportedError(
            op,
            f"reads {size} bytes as {prod(shape)} elements of type {element}; elements narrower than a byte take one "
            "byte each here, so they cannot be read as others",
        )


def retyped_view(view: View, shape: Sequence[int], element: ElementType, op: Operation) -> View:
    """The bytes of `view`, row-major, seen as another shape and other elements."""
    if view.shape == tuple(shape) and view.element == element:
        return view
    _check_bytes(prod(view.shape) * view.element.size, shape, element, op)
    bytes_of_view = (*view.shape, view.element.size), (*view.strides, 1)
    strides = strides_of_reshape(*bytes_of_view, (*shape, element.size))
    if strides is None or (element.size > 1 and strides[-1] != 1):
        raise UnsupportedError(op, f"sees '{view.base.name}' as shape {tuple(shape)}, whose bytes are not evenly apart")
    return View(view.base, view.offset, tuple(shape), strides[:-1], element, view.origin)


def strides_of_reshape(shape: Sequence[int], strides: Sequence[int], target: Sequence[int]) -> tuple[int, ...] | None:
    """
    The strides with which a window of `shape` and `strides` has the shape `target` (of as many elements), in row-major
    order; None when no strides do that.
    """
    source = [(extent, stride) for extent, stride in zip(shape, strides, strict=True) if extent != 1]
    result: list[int] = []
    taken = 0
    wanted = 0
    while wanted < len(target):
        if target[wanted] == 1:
            result.append(1)
            wanted += 1
            continue
        # A block of source axes and a block of target axes with as many elements.
        first, start = taken, wanted
        have, need = source[taken][0], target[wanted]
        taken, wanted = taken + 1, wanted + 1
        while have != need:
            if have < need:
                have, taken = have * source[taken][0], taken + 1
            else:
                need, wanted = need * target[wanted], wanted + 1
        block = source[first:taken]
        if any(outer != extent * inner for (_, outer), (extent, inner) in pairwise(block)):
            return None
        result.extend(_row_major(target[start:wanted], block[-1][1]))
    return tuple(result)


def _row_major(shape: Sequence[int], step: int) -> list[int]:
    strides: list[int] = []
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return strides[::-1]


def sliced(
    agent: Agent, tile: Any, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int], op: Operation
) -> Any:
    """The part of a tile (a view's bytes, a value's elements) that starts at `offsets`. It must lie inside."""
    if tile is UNKNOWN or (isinstance(tile, PointerTile) and tile.offsets is UNKNOWN):
        return tile
    shape = tile.shape if isinstance(tile, View) else np.shape(tile.offsets if isinstance(tile, PointerTile) else tile)
    for axis, (start, size, step, extent) in enumerate(zip(offsets, sizes, strides, shape, strict=True)):
        last = start + (size - 1) * step
        if size and not (0 <= start < extent and 0 <= last < extent):
            raise UnsupportedError(
                op,
                f"takes elements {start} to {last} of axis {axis}, which has {extent},{agent.in_iteration}",
            )
    if isinstance(tile, View):
        return tile.slice(offsets, sizes, strides)
    return restructured(tile, lambda array: array[_places(offsets, sizes, strides)])


def _places(offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> Any:
    axes = zip(offsets, sizes, strides, strict=True)
    return np.ix_(*(start + step * np.arange(size, dtype=np.int64) for start, size, step in axes))


def with_part(tile: Array, part: Array, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> Array:
    """A copy of `tile` in which the part at `offsets` is `part`."""
    result = tile.copy()
    result[_places(offsets, sizes, strides)] = part.reshape(tuple(sizes))
    return result
