"""
Accesses by pointers: as tiles of an array where their lanes lie side by side, else at coordinates of each lane.

    %p = offset %X, (64 * %k + iota)              %v = nv_tileaa.tiled_load %X[%k]
    %v, %t = load_ptr_tko %p, %inside        ->

    %p = offset %X, %rows                         %v = nv_tileaa.gather_load %X[%rows]

Pointers that lead into no array which is an argument stay pointers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from tileas_xdsl.dialects.cuda_tile.attributes import ConstantAttr
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.types import TileType
from tileas_xdsl.dialects.nv_tileaa.atomics import (
    AtomicCasOp,
    AtomicRmwOp,
    GatherLoadOp,
    ScatterStoreOp,
)
from tileas_xdsl.dialects.nv_tileaa.memory import AddPtrOp, LoadOp, StoreOp
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.lanes import (
    POINTERS,
    Lanes,
    Part,
    base_of,
    counted,
    lanes_of,
    tile_numbers,
)
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.memory import (
    Groups,
    TileAt,
    access,
    as_indices,
    load_tile,
    ordered,
    put_tile,
    require_weak,
    updating,
)
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.state import (
    INDEX,
    Conversion,
    converts,
    held,
    shape_of,
)


@converts("offset")
def _move(to: Conversion, op: TileIROp) -> None:
    if base_of(op.results[0]) in to.arrays:
        return
    pointer, offset = to.value(op.operand("ptr")), to.value(op.operand("offset"))
    to.give(op, to.result(AddPtrOp.create(operands=[pointer, offset], result_types=[pointer.type])))


def _optional(to: Conversion, op: TileIROp, name: str) -> SSAValue | None:
    value = op.optional(name)
    return None if value is None else to.value(value)


def _lanes(to: Conversion, op: TileIROp) -> Lanes | None:
    """The lanes of an access; None where its pointers stay pointers."""
    array = to.arrays.get(base_of(op.operand(POINTERS.get(op.ROW.name, "pointers"))))
    return None if array is None else lanes_of(op, array)


def _shape(op: TileIROp) -> tuple[int, ...]:
    return shape_of(op.operand(POINTERS.get(op.ROW.name, "pointers")))


# Which tile it is -----------------------------------------------------------------------------------------------------


def _tile_at(to: Conversion, lanes: Lanes, shape: Sequence[int]) -> TileAt | None:
    """The tile that the lanes are; None where they lie otherwise. One lane is a tile wherever it lies."""
    if not held(shape):
        places = _place(to, lanes)
        return TileAt(to.values[lanes.array.pointer], places, (1,) * len(places), ())
    extents: list[int] = []
    numbers: list[list[Part]] = []
    order: dict[int, int] = {}
    for axis, coordinate in enumerate(lanes.coordinates):
        along = None if coordinate is None else counted(coordinate)
        if coordinate is not None and along is None:
            return None
        own = None if along is None else along.axis
        extent = 1 if own is None else shape[own]
        parts = [] if along is None else tile_numbers(along.starts, extent)
        if parts is None or own in order:
            return None
        if own is not None and extent != 1:
            order[own] = axis
        extents.append(extent)
        numbers.append(parts)
    if sorted(order) != [axis for axis, extent in enumerate(shape) if extent != 1]:
        return None
    coordinates = [_sum(to, parts) for parts in numbers]
    return TileAt(to.values[lanes.array.pointer], coordinates, tuple(extents), tuple(order[t] for t in sorted(order)))


def _sum(to: Conversion, parts: Sequence[Part]) -> SSAValue:
    """The sum of multiples of numbers, as an index."""
    total: SSAValue | None = None
    for part in parts:
        term = _constant(to, part.factor) if part.value is None else to.scaled(to.index(part.value), part.factor)
        total = term if total is None else to.result(arith.AddiOp(total, term))
    return _constant(to, 0) if total is None else total


def _constant(to: Conversion, number: int) -> SSAValue:
    return to.result(arith.ConstantOp(IntegerAttr(number, INDEX)))


def _places(to: Conversion, lanes: Lanes, shape: Sequence[int]) -> list[SSAValue]:
    """The coordinates of each lane, as indices."""

    def place(coordinate: SSAValue | None) -> SSAValue:
        if coordinate is None:
            return to.reshaped(_constant(to, 0), shape)
        value = to.value(narrowed(coordinate))
        return as_indices(to, to.reshaped(value, shape))

    return [place(coordinate) for coordinate in lanes.coordinates]


def narrowed(coordinate: SSAValue) -> SSAValue:
    """A coordinate as it was before it was extended with its sign."""
    op = coordinate.owner
    if isinstance(op, OPS["exti"]) and op.word("signedness") == "signed":
        return narrowed(op.operands[0])
    return coordinate


def _place(to: Conversion, lanes: Lanes) -> list[SSAValue]:
    """The coordinates of the only lane, as indices."""
    return [_constant(to, 0) if each is None else to.index(narrowed(each)) for each in lanes.coordinates]


# Masks ----------------------------------------------------------------------------------------------------------------


def _rest(to: Conversion, lanes: Lanes) -> SSAValue | None:
    """What the mask says besides that the lanes lie in the array; None for nothing."""
    wanted: SSAValue | None = None
    for condition in lanes.conditions:
        own = to.value(condition)
        wanted = own if wanted is None else to.result(arith.AndIOp(wanted, own))
    return wanted


def _is_zero(value: SSAValue | None) -> bool:
    """Whether a tile is zero everywhere, or nothing is said of it."""
    while value is not None and isinstance(value.owner, (OPS["reshape"], OPS["broadcast"])):
        value = value.owner.operands[0]
    if value is None:
        return True
    given = value.owner.properties["value"] if isinstance(value.owner, OPS["constant"]) else None
    return isinstance(given, ConstantAttr) and given.is_uniform and given.elements()[0] == 0


# Accesses -------------------------------------------------------------------------------------------------------------


@converts("load_ptr_tko")
def _gather(to: Conversion, op: TileIROp) -> None:
    require_weak(to, op)
    lanes, shape = _lanes(to, op), _shape(op)
    padding = op.optional("paddingValue") if op.optional("mask") is not None else None
    kind = op.results[0].type
    assert isinstance(kind, TileType)
    if lanes is None:
        operands: Groups = [
            to.value(op.operand("source")),
            [],
            _optional(to, op, "mask"),
            None if padding is None else to.value(padding),
            [],
        ]
        to.give(op, to.result(access(LoadOp, operands, [to.type(kind), []], {})))
        return
    element, base = to.element(kind.element_type), to.values[lanes.array.pointer]
    wanted, tile = _rest(to, lanes), _tile_at(to, lanes, shape)
    if tile is not None:
        mask = wanted if held(shape) else None
        value = to.reshaped(load_tile(to, op, tile, element, {}, mask), held(shape))
    else:
        operands = [base, _places(to, lanes, held(shape)), wanted, None, []]
        value = to.result(access(GatherLoadOp, operands, [to.type(kind), []], {}))
    if not _is_zero(padding) or (wanted is not None and not held(shape)):
        other = to.constant(0, value.type) if padding is None else to.value(padding)
        value = to.result(arith.SelectOp(to.value(op.operand("mask")), value, other))
    to.give(op, value)


@converts("store_ptr_tko")
def _scatter(to: Conversion, op: TileIROp) -> None:
    require_weak(to, op)
    lanes, shape, value = _lanes(to, op), _shape(op), to.value(op.operand("value"))
    if lanes is None:
        operands: Groups = [to.value(op.operand("destination")), value, [], _optional(to, op, "mask"), []]
        to.add(access(StoreOp, operands, [[]], {}))
        return
    tile, base = _tile_at(to, lanes, shape), to.values[lanes.array.pointer]
    if tile is not None:
        put_tile(to, tile, value, _rest(to, lanes))
    else:
        operands = [base, value, _places(to, lanes, held(shape)), _rest(to, lanes), []]
        to.add(access(ScatterStoreOp, operands, [[]], {}))


@converts("atomic_rmw_tko")
def _update(to: Conversion, op: TileIROp) -> None:
    lanes, value = _lanes(to, op), to.value(op.operand("arg"))
    shape = held(_shape(op))
    if lanes is None:
        operands: Groups = [to.value(op.operand("pointers")), value, [], _optional(to, op, "mask"), []]
        to.give(op, to.result(updating(op, AtomicRmwOp, operands)))
        return
    base = to.values[lanes.array.pointer]
    operands = [base, value, _places(to, lanes, shape), _rest(to, lanes), []]
    if not shape:
        operands = [base, value, _place(to, lanes), _optional(to, op, "mask"), []]
    to.give(op, to.result(updating(op, AtomicRmwOp, operands)))


@converts("atomic_cas_tko")
def _compare_and_swap(to: Conversion, op: TileIROp) -> None:
    lanes = _lanes(to, op)
    compare, replacement = to.value(op.operand("cmp")), to.value(op.operand("val"))
    kind: list[Any] = [compare.type, []]
    if lanes is None or held(_shape(op)):
        if lanes is not None:
            to.refuse(op, "compares and swaps in each of several lanes", "take one lane, or combine by a mode")
        operands: Groups = [
            *[to.value(op.operand("pointers")), compare, replacement],
            *[[], _optional(to, op, "mask"), []],
        ]
        to.give(op, to.result(access(AtomicCasOp, operands, kind, ordered(op))))
        return
    operands = [to.values[lanes.array.pointer], compare, replacement, _place(to, lanes), _optional(to, op, "mask"), []]
    to.give(op, to.result(access(AtomicCasOp, operands, kind, ordered(op))))
