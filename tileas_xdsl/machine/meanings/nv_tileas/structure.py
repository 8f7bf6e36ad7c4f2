"""
What the ops of `nv_tileas` for storage, views, copies and layouts do.

`alloc_tensor` makes storage; `view`, `reinterpret` and `expand_dims` name bytes of it. A copy or a conversion into
shared or tensor memory puts the tile into fresh storage, one into registers gives a value. A layout says where a tile
lives; how it is arranged there is not seen at this level.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.nv_tileas import structure
from tileas_xdsl.dialects.nv_tileas.control import YieldOp
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import effect, suspends, terminators
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.parts.rings import StageIndex
from tileas_xdsl.machine.tiles.lanes import generated
from tileas_xdsl.machine.tiles.numerics import Array, element_of
from tileas_xdsl.machine.tiles.tiled_views import TiledView
from tileas_xdsl.machine.tiles.tiles import (
    VIEW_SPACES,
    computes,
    element_at,
    fresh_storage,
    is_tile_type,
    placed,
    read_tile,
    reshaped_tile,
    residency_of,
    restructured,
    retyped,
    tile_shape,
    write_tile,
)

terminators(YieldOp)


# Storage and views ----------------------------------------------------------------------------------------------------


@effect(structure.AllocTensorOp)
def _alloc_tensor(agent: Agent, op: structure.AllocTensorOp) -> View:
    """With `stages` there is a leading axis of that extent, whether the type shows it or not."""
    type_ = op.tensor.type
    shape = tile_shape(type_)
    if op.stages is not None and shape[:1] != (op.stages.value.data,):
        shape = (op.stages.value.data, *shape)
    return fresh_storage(agent, op, shape, element_of(op, type_), VIEW_SPACES.get(residency_of(type_), "register"))


@effect(structure.ViewOp)
def _view(agent: Agent, op: structure.ViewOp, source: Any, *indices: Any) -> Any:
    tile = whole_array(op, source)
    if tile is UNKNOWN:
        return UNKNOWN
    for index in indices:
        tile = element_at(tile, _stage(agent, op, index, tile.shape[0]))
    seen = reshaped_tile(tile, op.result.type, op)
    return seen if is_tile_type(op.result.type) else TiledView.plain(seen, seen.shape, op)


def _stage(agent: Agent, op: Operation, index: Any, extent: int) -> int:
    """A subscript as a number: for an iterator, the slot that it names."""
    number = agent.known(index, op, "computes an address from")
    if isinstance(number, StageIndex):
        number = number.ring.slot_number(number.k)
    if not 0 <= number < extent:
        raise UnsupportedError(op, f"takes index {number} of an axis of {extent}{agent.in_iteration}")
    return number


@effect(structure.ReinterpretOp, structure.ExpandDimsOp)
def _reshape(_agent: Agent, op: structure.ReinterpretOp | structure.ExpandDimsOp, source: Any) -> Any:
    return reshaped_tile(source, op.result.type, op)


def whole_array(op: Operation, value: Any) -> Any:
    """`value`; for a tiled view of a single tile its array. Raises `UnsupportedError` for any other tiled view."""
    if not isinstance(value, TiledView):
        return value
    if value.array.shape != value.tile:
        raise UnsupportedError(op, "names a tile of a tiled view without coordinates; use tiled_load or tiled_store")
    return value.array


# Copies and layouts ---------------------------------------------------------------------------------------------------


@effect(structure.CopyOp)
def _copy(agent: Agent, op: structure.CopyOp, source: Any, *destinations: Any) -> Any:
    contents = read_tile(agent, whole_array(op, source), op)
    if destinations:
        write_tile(agent, whole_array(op, destinations[0]), contents, op)
        return None
    return placed(agent, op, _as_type(contents, op.outputs[0].type, op))


@effect(structure.ConvertLayoutOp)
def _convert_layout(agent: Agent, op: structure.ConvertLayoutOp, source: Any) -> Any:
    return placed(agent, op, _as_type(read_tile(agent, source, op), op.result.type, op))


def _as_type(contents: Any, type_: Attribute, op: Operation) -> Any:
    if contents is UNKNOWN:
        return UNKNOWN
    return retyped(np.asarray(contents), tile_shape(type_), element_of(op, type_), op)


@computes(structure.ShuffleOp)
def _shuffle(agent: Agent, op: structure.ShuffleOp, source: Any, *permutations: Array) -> Any:
    """
    Element i of the result is element `permutation[i]` of the source: along the last axis when the permutation is as
    long as that, else of the whole tile. Without a permutation elements only change the lane that holds them.
    """
    shape = tile_shape(op.result.type)
    if not permutations:
        return restructured(source, lambda tile: tile.reshape(shape))
    places = np.asarray(permutations[0]).astype(np.int64).reshape(-1)
    extent = source.shape[-1] if source.ndim and places.size == source.shape[-1] else source.size
    if places.size != extent or sorted(places.tolist()) != list(range(extent)):
        raise UnsupportedError(op, f"shuffles by {places.size} numbers that are no permutation of {extent} elements")
    if extent == source.size:
        return source.reshape(-1)[places].reshape(shape)
    return source[..., places].reshape(shape)


@suspends(structure.GenerateOp)
def _generate(agent: Agent, op: structure.GenerateOp) -> Answer:
    return generated(agent, op, op.body)
