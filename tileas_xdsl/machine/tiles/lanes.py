"""
Regions over single elements (`reduce`, `scan`, `generate`), run for all lanes of a tile at once where that is possible.

It is possible where the region holds nothing but arithmetic on scalars: then each op runs once, on arrays. Any other
region runs once for each lane.

    ^bb0(%x: f32, %y: f32): %s = arith.addf %x, %y; yield %s      ->      x + y on arrays of lanes
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ShapedType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator, get_effects

from tileas_xdsl.dialects.scalars import scalar_of
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import meaning_of
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation
from tileas_xdsl.machine.core.values import UNKNOWN, element_type
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.numerics import Array, element_of, to_scalar
from tileas_xdsl.machine.tiles.tiles import read_tile, scalar_or_tile, tile_shape, unknown_results

LANE_BY_LANE_DIALECTS = frozenset({"arith", "math"})
"""Dialects of scalars whose meanings take arrays of lanes in place of them."""


def run_on_lanes(
    agent: Agent, op: Operation, region: Region, lanes: Sequence[Array], shape: tuple[int, ...]
) -> Request:
    """
    Run `region`, which takes one element of each of `lanes` (arrays of `shape`) and yields one, for every lane. The
    outcome is the array of what is yielded.
    """
    block = region.block
    outside = _values_from_outside(agent, block)
    if outside is not None:
        return Done(_at_once(agent, block, lanes, outside, shape))
    rows = [
        [_lane_value(lane[place], a.type, op) for lane, a in zip(lanes, block.args, strict=True)]
        for place in np.ndindex(shape)
    ]
    return run_on_each(agent, region, rows).then(_make_tile, region, shape)


@continuation
def _make_tile(
    _agent: Agent, op: Operation, yielded: Sequence[tuple[Any, ...]], region: Region, shape: tuple[int, ...]
) -> Answer:
    element = element_of(op, _yielded(region.block).type)
    return np.array([np.asarray(value)[()] for (value,) in yielded], element.dtype).reshape(shape)


def run_on_each(agent: Agent, region: Region, rows: Sequence[Sequence[Any]]) -> Request:
    """Run `region` once for each of `rows`, one after the other. The outcome is the list of what it yields."""
    return _run_on_next(agent, region, rows, [])


def _run_on_next(agent: Agent, region: Region, rows: Sequence[Sequence[Any]], results: list[Any]) -> Request:
    if len(results) == len(rows):
        return Done(results)
    return agent.run_region(region, rows[len(results)]).then(_add_result, region, rows, results)


@continuation
def _add_result(
    agent: Agent, _op: Operation, result: Any, region: Region, rows: Sequence[Sequence[Any]], results: list[Any]
) -> Answer:
    results.append(result)
    return _run_on_next(agent, region, rows, results)


def _yielded(block: Block) -> SSAValue:
    assert block.last_op is not None
    return block.last_op.operands[0]


def _lane_value(value: Any, type_: Attribute, op: Operation) -> Any:
    """One element as a block argument: a tile of rank 0 or a scalar, as its type says."""
    array = np.asarray(value)
    return array if isinstance(type_, ShapedType) else to_scalar(array, element_of(op, type_))


# All lanes at once ----------------------------------------------------------------------------------------------------


def _values_from_outside(agent: Agent, block: Block) -> dict[SSAValue, Any] | None:
    """The values that `block` takes from around it; None when its ops cannot run on arrays."""
    outside: dict[SSAValue, Any] = {}
    inside: set[SSAValue] = set(block.args)
    for op in block.ops:
        if not op.has_trait(IsTerminator) and not _is_arithmetic(op):
            return None
        for operand in op.operands:
            if operand in inside:
                continue
            value = agent.value(operand)
            if isinstance(value, View) or value is UNKNOWN:
                return None
            outside[operand] = value
        inside.update(op.results)
    return outside


def _is_arithmetic(op: Operation) -> bool:
    if op.regions or not all(map(_is_single, [*op.operands, *op.results])):
        return False
    meaning = meaning_of(op)
    return meaning is not None and (op.dialect_name() in LANE_BY_LANE_DIALECTS or meaning.facts.lane_by_lane)


def _is_single(value: SSAValue) -> bool:
    """Whether `value` is one element: a scalar or a tile of rank 0."""
    type_ = value.type
    if isinstance(type_, ShapedType) and type_.get_shape():
        return False
    return element_type(scalar_of(type_)) is not None


def _at_once(
    agent: Agent, block: Block, lanes: Sequence[Array], outside: dict[SSAValue, Any], shape: tuple[int, ...]
) -> Array:
    return _all_at_once(agent, block, lanes, outside, shape)[0]


def _all_at_once(
    agent: Agent, block: Block, lanes: Sequence[Array], outside: dict[SSAValue, Any], shape: tuple[int, ...]
) -> list[Array]:
    """What a block yields of arrays of lanes."""
    values: dict[SSAValue, Any] = {**outside, **dict(zip(block.args, lanes, strict=True))}

    def spread(value: SSAValue, op: Operation) -> Array:
        return np.broadcast_to(np.asarray(values[value]).astype(element_of(op, value.type).dtype), shape)

    *body, last = block.ops
    for op in body:
        meaning = meaning_of(op)
        assert meaning is not None
        outcome = meaning.function(agent, op, *(spread(operand, op) for operand in op.operands))
        values.update(zip(op.results, outcome if len(op.results) > 1 else (outcome,), strict=True))
    return [np.array(spread(operand, last)) for operand in last.operands]


# Reduce, scan, generate -----------------------------------------------------------------------------------------------


def reduced(agent: Agent, op: Operation, source: Any, combiner: Region, axis: int) -> Request:
    """All elements of the tile along `axis` combined into one, from the first on; the axis disappears."""
    tile = read_tile(agent, source, op)
    if tile is UNKNOWN:
        return _for_its_effects(agent, op, combiner)
    return _combine_from(agent, op, _along(tile, axis, 0), tile, combiner, axis, 1)


def _combine_from(
    agent: Agent, op: Operation, total: Array, tile: Array, combiner: Region, axis: int, number: int
) -> Request:
    if number == tile.shape[axis]:
        return Done(scalar_or_tile(total, op))
    lanes = (total, _along(tile, axis, number))
    return run_on_lanes(agent, op, combiner, lanes, total.shape).then(_combine_rest, tile, combiner, axis, number)


@continuation
def _combine_rest(
    agent: Agent, op: Operation, total: Array, tile: Array, combiner: Region, axis: int, number: int
) -> Answer:
    return _combine_from(agent, op, total, tile, combiner, axis, number + 1)


def combined_together(
    agent: Agent,
    op: Operation,
    sources: Sequence[Any],
    combiner: Region,
    axis: int,
    *,
    keeps: bool,
    reverse: bool = False,
) -> Request:
    """
    Several tiles combined along `axis` by a region over what each has so far and an element of each: what is left, or
    with `keeps` what each has up to each element; with `reverse` from the last element on.
    """
    tiles = [read_tile(agent, source, op) for source in sources]
    if any(tile is UNKNOWN for tile in tiles):
        return Done(unknown_results(op))
    outside = _values_from_outside(agent, combiner.block)
    if outside is None:
        raise UnsupportedError(op, "combines several tiles by more than arithmetic; compute the rest before")
    first, *rest = range(tiles[0].shape[axis])[:: -1 if reverse else 1]
    so_far = [_along(tile, axis, first) for tile in tiles]
    found = [so_far]
    for number in rest:
        elements = [_along(tile, axis, number) for tile in tiles]
        so_far = _all_at_once(agent, combiner.block, [*so_far, *elements], outside, so_far[0].shape)
        found.append(so_far)
    if keeps:
        found = found[:: -1 if reverse else 1]
        return Done(tuple(np.stack([each[place] for each in found], axis) for place in range(len(tiles))))
    return Done(tuple(scalar_or_tile(total, op, place) for place, total in enumerate(so_far)))


def scanned(
    agent: Agent,
    op: Operation,
    source: Any,
    combiner: Region,
    axis: int,
    inclusive: IntegerAttr | None,
    *,
    reverse: bool = False,
) -> Request:
    """For each element of the tile along `axis` the combination of all up to and with it, or from the last on."""
    if inclusive is not None and not inclusive.value.data:
        raise UnsupportedError(op, "scans exclusively, from an element that the op does not name; make it inclusive")
    tile = read_tile(agent, source, op)
    if tile is UNKNOWN:
        return _for_its_effects(agent, op, combiner)
    ordered = np.asarray(np.flip(tile, axis)) if reverse else tile
    found = Done(_along(ordered, axis, 0)).then(_scan_on, ordered, combiner, axis, ())
    return found.then(_turned_round, axis) if reverse else found


@continuation
def _scan_on(
    agent: Agent, op: Operation, total: Array, tile: Array, combiner: Region, axis: int, before: tuple[Array, ...]
) -> Answer:
    totals = (*before, total)
    if len(totals) == tile.shape[axis]:
        return np.stack(totals, axis)
    lanes = (total, _along(tile, axis, len(totals)))
    return run_on_lanes(agent, op, combiner, lanes, total.shape).then(_scan_on, tile, combiner, axis, totals)


@continuation
def _turned_round(_agent: Agent, _op: Operation, tile: Array, axis: int) -> Answer:
    return np.asarray(np.flip(tile, axis))


def generated(agent: Agent, op: Operation, body: Region) -> Request:
    """The tile that is result 0 of `op`: `body` of the coordinates of each element."""
    if not agent.has_data:
        return _for_its_effects(agent, op, body)
    shape = tile_shape(op.results[0].type)
    lanes = [np.asarray(places, np.int32) for places in np.indices(shape)] if shape else []
    return run_on_lanes(agent, op, body, lanes, shape)


def _along(tile: Array, axis: int, number: int) -> Array:
    return np.asarray(np.take(tile, number, axis))


def _for_its_effects(agent: Agent, op: Operation, region: Region) -> Request:
    """Without data: run the region once on unknown elements, if it has effects."""
    *body, _ = region.block.ops
    if any(get_effects(inner) != set() for inner in body):
        return agent.run_region(region, [UNKNOWN] * len(region.block.args)).then(_know_nothing)
    return Done(unknown_results(op))


@continuation
def _know_nothing(_agent: Agent, op: Operation, _: Any) -> Answer:
    return unknown_results(op)
