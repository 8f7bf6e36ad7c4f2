"""
Reductions and scans of `cuda_tile`: the region is computed for whole slices at once, from the first to the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, SSAValue

from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.code import bound
from tileas_xdsl.machine.core.meaning import control
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.cuda_tile.values import COMPUTE, as_array, as_value
from tileas_xdsl.machine.tiles.numerics import Array


def _number(op: TileIROp, name: str) -> int:
    return cast("IntegerAttr[Any]", op.properties[name]).value.data


def combined(agent: Agent, block: Block, arguments: Sequence[Any]) -> list[Any]:
    """What the region of a reduction yields for `arguments`, which may be tiles in place of scalars."""
    values = bound(block, arguments)

    def value_of(operand: SSAValue) -> Any:
        if operand not in values:
            around = block.parent_op()
            assert around is not None
            values[operand] = as_array(around, agent.value(operand), operand.type)
        return values[operand]

    for op in block.ops:
        if isinstance(op, OPS["yield"]):
            return [value_of(operand) for operand in op.operands]
        compute = COMPUTE.get(type(op))
        if compute is None:
            raise UnsupportedError(op, "is more than the machine computes in a reduction; compute it before")
        values[op.results[0]] = compute(op, *map(value_of, op.operands))
    return []


def _pairs(agent: Agent, op: TileIROp, elements: Sequence[Array], so_far: Sequence[Array]) -> list[Any]:
    arguments = [value for pair in zip(elements, so_far, strict=True) for value in pair]
    shape = elements[0].shape
    return [np.broadcast_to(np.asarray(result), shape) for result in combined(agent, op.regions[0].block, arguments)]


def _tiles(op: TileIROp, operands: Sequence[Any]) -> list[Array]:
    return [as_array(op, value, operand.type) for value, operand in zip(operands, op.operands, strict=True)]


def _given(op: TileIROp, arrays: Sequence[Array]) -> Any:
    values = tuple(
        as_value(op, np.asarray(array), result.type) for array, result in zip(arrays, op.results, strict=True)
    )
    return values[0] if len(values) == 1 else values


def _unknown(op: TileIROp) -> Any:
    """What a check knows of numbers: nothing."""
    return UNKNOWN if len(op.results) == 1 else (UNKNOWN,) * len(op.results)


@control(OPS["reduce"])
def _reduce(agent: Agent, op: TileIROp, *operands: Any) -> Any:
    if any(operand is UNKNOWN for operand in operands):
        return _unknown(op)
    tiles, axis = _tiles(op, operands), _number(op, "dim")
    so_far: list[Any] = [np.take(tile, 0, axis) for tile in tiles]
    for place in range(1, tiles[0].shape[axis]):
        so_far = _pairs(agent, op, [np.take(tile, place, axis) for tile in tiles], so_far)
    return _given(op, so_far)


@control(OPS["scan"])
def _scan(agent: Agent, op: TileIROp, *operands: Any) -> Any:
    if any(operand is UNKNOWN for operand in operands):
        return _unknown(op)
    tiles, axis = _tiles(op, operands), _number(op, "dim")
    places = range(tiles[0].shape[axis])
    if _number(op, "reverse"):
        places = places[::-1]
    so_far: list[Any] = []
    found: dict[int, list[Any]] = {}
    for place in places:
        elements = [np.take(tile, place, axis) for tile in tiles]
        so_far = _pairs(agent, op, elements, so_far) if so_far else list(elements)
        found[place] = so_far
    return _given(op, [np.stack([found[place][n] for place in sorted(found)], axis) for n in range(len(tiles))])
