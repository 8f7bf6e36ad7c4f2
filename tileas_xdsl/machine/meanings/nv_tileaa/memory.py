"""
What the loads, stores, pointers and tokens of `nv_tileaa` do.

A synchronous access is done when the op is, so a memory token is complete from the start. An access that may stick out
of its array (a tile without `in_bounds` along an axis) reads zero there and writes nothing. Lanes whose mask is false
read `other`, or zero, and write nothing; a mask that is not known when checking counts as true.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation

from tileas_xdsl.dialects.nv_tileaa import memory
from tileas_xdsl.dialects.nv_tileaa.compute import BlockTileOp
from tileas_xdsl.dialects.nv_tileaa.types import ArrayType, MemTokenType, PointerType, TiledViewType
from tileas_xdsl.machine.arguments import binds_type
from tileas_xdsl.machine.array_arguments import bind_array, bind_pointer, bind_tiled_view
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.meaning import effect
from tileas_xdsl.machine.core.memory import View, row_major_strides
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.meanings.nv_tileaa.computing import pointee_size
from tileas_xdsl.machine.parts.rings import StageToken, done_token
from tileas_xdsl.machine.tiles.numerics import element_of, view_of
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.slices import filled
from tileas_xdsl.machine.tiles.tile_access import Place, bounds_of, load_tile, store_tile
from tileas_xdsl.machine.tiles.tiled_views import TiledView
from tileas_xdsl.machine.tiles.tiles import PointerTile, placed, read_tile, tile_shape

binds_type(ArrayType.name)(bind_array)
binds_type(PointerType.name)(bind_pointer)


@binds_type(TiledViewType.name)
def _bind_tiled_view(argument: BlockArgument, given: Any, with_data: bool) -> TiledView:
    kind = argument.type
    assert isinstance(kind, TiledViewType)
    return bind_tiled_view(argument, kind.get_shape(), kind.element_type, given, with_data)


@binds_type(MemTokenType.name)
def _bind_token(_argument: BlockArgument, _given: Any, _with_data: bool) -> StageToken:
    return done_token()


# Arrays, views and pointers -------------------------------------------------------------------------------------------


@effect(BlockTileOp)
def _block_tile(agent: Agent, op: BlockTileOp, source: Any) -> TiledView:
    groups = tuple(tuple(int(axis) for axis in group) for group in op.dim_groups)
    return TiledView(view_of(agent, op, source), tuple(int(size) for size in op.tile_sizes), groups)


@effect(memory.MakeMemrefOp)
def _make_memref(agent: Agent, op: memory.MakeMemrefOp, base: Any, *operands: Any) -> View:
    pointer: Pointer = agent.known(base, op, "makes an array of")
    numbers = iter([agent.known(operand, op, "computes an address from") for operand in operands])
    kind = op.result.type
    assert isinstance(kind, ArrayType)
    element = element_of(op, kind)
    offset = next(numbers) if op.offset is not None else 0
    shape = tuple(filled(kind.get_shape(), numbers))
    strides = kind.get_strides()
    steps = row_major_strides(shape, 1) if strides is None else filled(strides, numbers)
    start = pointer.offset + offset * element.size
    return View(pointer.base, start, shape, tuple(step * element.size for step in steps), element)


@effect(memory.AddPtrOp)
def _add_pointer(agent: Agent, op: memory.AddPtrOp, base: Any, offset: Any) -> Any:
    pointer = agent.known(base, op, "moves")
    distance = read_tile(agent, offset, op)
    size = pointee_size(op, op.base.type)
    if isinstance(pointer, Pointer):
        return pointer.plus(agent.known(distance, op, "computes an address from") * size)
    if distance is UNKNOWN or pointer.offsets is UNKNOWN:
        return PointerTile(pointer.base, UNKNOWN)
    return PointerTile(pointer.base, pointer.offsets + np.asarray(distance).astype(np.int64) * size)


# Accesses -------------------------------------------------------------------------------------------------------------


GROUPS: dict[type[Operation], tuple[str, ...]] = {
    memory.LoadOp: ("base", "indices", "mask", "other", "token"),
    memory.TiledLoadOp: ("base", "indices", "mask", "other", "token"),
    memory.StoreOp: ("base", "value", "indices", "mask", "token"),
    memory.TiledStoreOp: ("base", "value", "indices", "mask", "token"),
}


@per_op
def _places(op: Operation) -> dict[str, slice | int | None]:
    """Which operands belong to each group: a slice for `indices` and `token`, else a number or None."""
    found: dict[str, slice | int | None] = {}
    first = 0
    for name in GROUPS[type(op)]:
        field = getattr(op, name)
        several = name in ("indices", "token")
        size = len(field) if several else int(field is not None)
        found[name] = slice(first, first + size) if several else first if size else None
        first += size
    return found


@per_op
def _bounds(op: memory.LoadOp | memory.TiledLoadOp | memory.StoreOp | memory.TiledStoreOp) -> Sequence[bool] | None:
    """The promise of the op for each axis."""
    return None if isinstance(op, memory.StoreOp) else bounds_of(op.in_bounds)


def _groups(agent: Agent, op: Operation, operands: tuple[Any, ...]) -> dict[str, Any]:
    """The run-time operands by the names of their groups: sequences for `indices`, else one value or None."""
    places = _places(agent, op)
    return {name: None if place is None else operands[place] for name, place in places.items()}


def _extents_of_tile(op: Operation) -> Sequence[int]:
    """How many elements lie from one index to the next, where the indices of an array count tiles; else one."""
    assert isinstance(op, memory.LoadOp | memory.TiledLoadOp | memory.StoreOp | memory.TiledStoreOp)
    shape = tile_shape(op.value.type if isinstance(op, memory.StoreOp | memory.TiledStoreOp) else op.results[0].type)
    is_tiled = isinstance(op, memory.TiledLoadOp | memory.TiledStoreOp)
    counts_tiles = is_tiled and isinstance(op.base.type, MemRefType | ArrayType) and len(shape) == len(op.indices)
    return shape if counts_tiles else (1,) * len(op.indices)


@effect(
    memory.LoadOp,
    memory.TiledLoadOp,
    may_move=("indices",),
    indexes=(("indices", "base"),),
    index_extents=_extents_of_tile,
)
def _load(agent: Agent, op: memory.LoadOp | memory.TiledLoadOp, *operands: Any) -> Any:
    given = _groups(agent, op, operands)
    tiled = isinstance(op, memory.TiledLoadOp)
    place = Place(given["base"], given["indices"], tiled, _bounds(agent, op))
    contents = load_tile(agent, op, place, op.results[0].type, given["mask"], given["other"])
    value = placed(agent, op, contents)
    return (value, done_token()) if len(op.results) > 1 else value


@effect(
    memory.StoreOp,
    memory.TiledStoreOp,
    may_move=("indices",),
    stores_data=True,
    indexes=(("indices", "base"),),
    index_extents=_extents_of_tile,
)
def _store(agent: Agent, op: memory.StoreOp | memory.TiledStoreOp, *operands: Any) -> Any:
    given = _groups(agent, op, operands)
    tiled = isinstance(op, memory.TiledStoreOp)
    place = Place(given["base"], given["indices"], tiled, _bounds(agent, op))
    store_tile(agent, op, place, given["value"], op.value.type, given["mask"])
    return done_token() if op.results else None


# Tokens ---------------------------------------------------------------------------------------------------------------


@effect(memory.CreateMemTokenOp, memory.JoinMemTokenOp)
def _done(_agent: Agent, _op: memory.CreateMemTokenOp | memory.JoinMemTokenOp, *_tokens: Any) -> StageToken:
    return done_token()
