"""
What the ops of `nv_tileaa` that arrange tiles do: `view`, `expand_dims` and `extract_slice` of a view name bytes of it,
and so does `permute` where its result lies in memory, too; the other ops read their source and give a value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tileas_xdsl.dialects.nv_tileaa import structure
from tileas_xdsl.dialects.nv_tileaa.regions import YieldOp
from tileas_xdsl.dialects.tiles.traits import names_bytes_of_operand
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import effect, suspends, terminators
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.lanes import generated
from tileas_xdsl.machine.tiles.numerics import element_of
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.slices import part_of
from tileas_xdsl.machine.tiles.tiled_views import TiledView
from tileas_xdsl.machine.tiles.tiles import (
    PointerTile,
    computes,
    element_at,
    read_tile,
    reshaped_tile,
    restructured,
    scalar_or_tile,
    tile_shape,
)

terminators(YieldOp)


# Names for what is there ----------------------------------------------------------------------------------------------


@effect(structure.ViewOp, structure.ExpandDimsOp)
def _view(_agent: Agent, op: structure.ViewOp | structure.ExpandDimsOp, source: Any) -> Any:
    if isinstance(source, TiledView):
        if source.tile != tile_shape(op.result.type):
            raise UnsupportedError(op, "reshapes the tiles of a tiled view; reshape the tile after loading it")
        return source
    return reshaped_tile(source, op.result.type, op)


@effect(structure.ExtractSliceOp)
def _extract_slice(agent: Agent, op: structure.ExtractSliceOp, source: Any, *operands: Any) -> Any:
    if source is UNKNOWN:
        return UNKNOWN
    rank = len(tile_shape(op.source.type))
    return part_of(agent, op, op, rank, op.result.type, operands).of(agent, source, op)


# New tiles ------------------------------------------------------------------------------------------------------------


@effect(structure.SplatOp, may_move=("source",))
def _splat(agent: Agent, op: structure.SplatOp, source: Any) -> Any:
    shape = tile_shape(op.result.type)
    if isinstance(source, Pointer):
        offsets = np.full(shape, source.offset, np.int64) if agent.has_data else UNKNOWN
        return PointerTile(source.base, offsets)
    contents = read_tile(agent, source, op)
    if contents is UNKNOWN or not agent.has_data:
        return UNKNOWN
    return np.full(shape, contents, element_of(op, op.result.type).dtype)


@computes(structure.BroadcastOp)
def _broadcast(_agent: Agent, op: structure.BroadcastOp, source: Any) -> Any:
    shape = tile_shape(op.result.type)
    return restructured(source, lambda array: np.broadcast_to(array, shape).copy())


@effect(structure.PermuteOp)
def _permute(agent: Agent, op: structure.PermuteOp, source: Any) -> Any:
    axes = [int(axis) for axis in op.permutation.get_values()]
    if isinstance(source, View) and names_bytes_of_operand(op):
        shape, strides = ([each[axis] for axis in axes] for each in (source.shape, source.strides))
        return replace(source, shape=tuple(shape), strides=tuple(strides))
    contents = read_tile(agent, source, op)
    if contents is UNKNOWN or not agent.has_data:
        return UNKNOWN
    return restructured(contents, lambda array: np.transpose(array, axes))


@computes(structure.CatOp)
def _cat(_agent: Agent, op: structure.CatOp, *sources: Any) -> Any:
    if any(isinstance(source, PointerTile) for source in sources):
        raise UnsupportedError(op, "joins tiles of pointers; join the tiles that they point to")
    return np.concatenate(sources, axis=op.axis.value.data)


@effect(structure.ExtractOp)
def _extract(agent: Agent, op: structure.ExtractOp, source: Any, *indices: Any) -> Any:
    """Of a view only the part that is taken is read."""
    if source is UNKNOWN:
        return UNKNOWN
    shape = tile_shape(op.source.type)
    places = [agent.known(index, op, "takes an element at") for index in indices]
    for axis, (place, extent) in enumerate(zip(places, shape, strict=False)):
        if not 0 <= place < extent:
            raise UnsupportedError(op, f"takes index {place} of axis {axis}, which has {extent},{agent.in_iteration}")
    part: Any = source
    for place in places:
        part = element_at(part, place)
    contents = read_tile(agent, part, op)
    if contents is UNKNOWN or isinstance(contents, PointerTile):
        return contents
    return scalar_or_tile(contents, op)


@suspends(structure.GenerateOp)
def _generate(agent: Agent, op: structure.GenerateOp) -> Answer:
    return generated(agent, op, op.body)
