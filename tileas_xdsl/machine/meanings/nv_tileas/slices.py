"""
What the slice ops of `nv_tileas` do. A slice of a view names its bytes. Inserting into a view writes them; inserting
into a value gives another value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tileas_xdsl.dialects.nv_tileas import slices
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import effect, sync
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.meanings.nv_tileas.tokens import as_token
from tileas_xdsl.machine.parts.rings import StageToken
from tileas_xdsl.machine.parts.tile_works import Move, issue_move
from tileas_xdsl.machine.tiles.numerics import element_of
from tileas_xdsl.machine.tiles.slices import TileSlice, part_of, without_axes
from tileas_xdsl.machine.tiles.tiles import fresh_storage, read_tile, retyped, tile_shape, with_part, write_tile


def _extracted(agent: Agent, op: Any, source: Any, operands: tuple[Any, ...]) -> Any:
    if source is UNKNOWN:
        return UNKNOWN
    part = part_of(agent, op, op, len(tile_shape(op.source.type)), op.result.type, operands)
    return without_axes(part.of(agent, source, op), part.dropped_for(op.result.type))


@effect(slices.ExtractSliceOp)
def _extract_slice(agent: Agent, op: slices.ExtractSliceOp, source: Any, *operands: Any) -> Any:
    return _extracted(agent, op, source, operands)


@effect(slices.AsyncExtractSliceOp)
def _async_extract_slice(
    agent: Agent, op: slices.AsyncExtractSliceOp, source: Any, token: Any, *operands: Any
) -> tuple[Any, StageToken]:
    """The slice is complete when its source is."""
    return _extracted(agent, op, source, operands), as_token(token)


def _target(agent: Agent, op: Any, operands: tuple[Any, ...]) -> TileSlice:
    return part_of(agent, op, op, len(tile_shape(op.destination.type)), op.source.type, operands)


@effect(slices.InsertSliceOp)
def _insert_slice(agent: Agent, op: slices.InsertSliceOp, source: Any, destination: Any, *operands: Any) -> Any:
    contents = read_tile(agent, source, op)
    if isinstance(destination, View):
        write_tile(agent, _target(agent, op, operands).of(agent, destination, op), contents, op)
        return destination
    if contents is UNKNOWN or destination is UNKNOWN:
        return UNKNOWN
    part = _target(agent, op, operands)
    part.of(agent, destination, op)
    return with_part(destination, contents, part.offsets, part.sizes, part.strides)


@sync(slices.AsyncInsertSliceOp)
def _async_insert_slice(
    agent: Agent, op: slices.AsyncInsertSliceOp, source: Any, destination: Any, token: Any, *operands: Any
) -> tuple[View, StageToken]:
    """For a destination that is a value, the slice goes into a copy in registers."""
    machine = agent.machine
    target: Any = destination
    if not isinstance(target, View):
        type_ = op.result.type
        target = fresh_storage(agent, op, tile_shape(type_), element_of(op, type_), "register")
        write_tile(agent, target, destination, op)
    part: View = _target(agent, op, operands).of(agent, target, op)
    done = issue_move(
        agent,
        op,
        Move(
            [source],
            [part],
            lambda: machine.read(source) if isinstance(source, View) else source,
            lambda data: machine.write(part, retyped(np.asarray(data), part.shape, part.element, op)),
        ),
        label=f"the insertion into '{part.base.name}'",
        engine="copy",
        dependencies=[as_token(token).event],
    )
    return target, done
