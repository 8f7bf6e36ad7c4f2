"""
What Tile IR leaves undefined, and a kernel asks for all the same.

    for j in range(ct.num_tiles(X, axis=1, shape=(8, 64))):
        x = ct.load(X, index=(i, j), shape=(8, 64))        the last tile sticks out of X, and nothing says with what
        total = total + ct.sum(x, axis=1)                  its columns are summed, those too

A tile whose number is none of the array is undefined, and so is what a view without padding has outside of it. That
does no harm where it is stored where it came from, since nothing is written outside of an array: it does where lanes
are combined, as by a sum or a product. Only what happens for some launch whatever the data are counts: an access under
a condition does not, nor one whose tile is not known to be the last, nor lanes that are chosen away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.tile_ir.tile_numbers import TileNumbers, may_stick_out, pointer_of
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.enumerations import PaddingAttr
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp
from tileas_xdsl.dialects.cuda_tile.types import PartitionViewType, TileType, TileViewType

BY_VIEW = (OPS["load_view_tko"], OPS["store_view_tko"], OPS["atomic_red_view_tko"])
LEAVING = (OPS["break"], OPS["continue"], OPS["return"])
BRANCHING = (OPS["if"], OPS["loop"])
SUMS = tuple(OPS[name] for name in ("addf", "subf", "addi", "subi"))
PRODUCTS = tuple(OPS[name] for name in ("mmaf", "mmai", "mmaf_scaled"))
KEEPING = tuple(OPS[name] for name in ("broadcast", "cat", "extract", "insert"))
"""Ops whose results have the axes of their operands."""
SINKS = tuple(
    OPS[name] for name in ("store_view_tko", "store_ptr_tko", "atomic_rmw_tko", "atomic_red_view_tko", "print_tko")
)

Loose = Mapping[int, TileIROp]
"""Axis of a tile along which some elements may be anything -> the load that they come from."""


@dataclass(frozen=True)
class Outside:
    """An access of a tile that is none of the array."""

    op: TileIROp

    @property
    def array(self) -> str:
        """The name of the array."""
        return _array_of(self.op)


@dataclass(frozen=True)
class Combined:
    """Elements that may be anything, and the op that combines them with others."""

    load: TileIROp
    by: TileIROp

    @property
    def array(self) -> str:
        """The name of the array that they lie outside of."""
        return _array_of(self.load)


def _array_of(access: TileIROp) -> str:
    view = access.operand("view").owner
    assert isinstance(view, Operation)
    return pointer_of(view.operands[0]).name_hint or "an array"


def outside(entry: EntryOp) -> Iterator[Outside]:
    """The accesses that certainly take a tile behind the last one, for some launch."""
    numbers = TileNumbers(entry)
    for op in _certain(entry):
        view = op.operand("view")
        if not isinstance(view.type, PartitionViewType):
            continue
        for axis, index in enumerate(op.group("index")):
            largest = numbers.largest(index)
            if largest is not None and largest.may_reach(numbers.tiles_of(view, axis)):
                yield Outside(op)
                break


def combined(entry: EntryOp) -> Iterator[Combined]:
    """The loads whose elements outside of the array certainly reach a result, for some launch."""
    loose = _loose_values(entry)
    told: set[tuple[Operation, Operation]] = set()
    for op in entry.walk():
        for load in _mixed_by(op, loose):
            assert isinstance(op, TileIROp)
            if (load, op) not in told and _reaches_result(op):
                told.add((load, op))
                yield Combined(load, op)


def _certain(entry: EntryOp) -> Iterator[TileIROp]:
    """The accesses of tiles that are made whatever the data are."""
    if any(isinstance(op, LEAVING) and isinstance(op.parent_op(), OPS["if"]) for op in entry.walk()):
        return
    for op in entry.walk():
        if isinstance(op, BY_VIEW) and not _is_conditional(op):
            yield op


def _is_conditional(op: Operation) -> bool:
    around = op.parent_op()
    while around is not None and not isinstance(around, EntryOp):
        if isinstance(around, BRANCHING):
            return True
        around = around.parent_op()
    return False


# Elements that may be anything ----------------------------------------------------------------------------------------


def _loose_values(entry: EntryOp) -> dict[SSAValue, Loose]:
    """The tiles with elements that may be anything, along which axes, whichever way loops go on."""
    found: dict[SSAValue, Loose] = dict(_loose_loads(entry))
    before = -1
    while before != (before := sum(map(len, found.values()))):
        for op in entry.walk():
            if isinstance(op, TileIROp):
                _go_on(op, found)
    return found


def _loose_loads(entry: EntryOp) -> Iterator[tuple[SSAValue, Loose]]:
    numbers = TileNumbers(entry)
    for op in _certain(entry):
        view = op.operand("view")
        kind = view.type
        if isinstance(op, OPS["load_view_tko"]) and isinstance(kind, PartitionViewType) and not _is_padded(kind):
            inside, indices = _promised(op), op.group("index")
            axes = [
                axis
                for axis, index in enumerate(indices)
                if axis not in inside and may_stick_out(view, axis) and _is_last(numbers, view, axis, index)
            ]
            yield op.results[0], dict.fromkeys(axes, op)


def _is_padded(kind: TileViewType) -> bool:
    return isinstance(kind.padding, PaddingAttr)


def _is_last(numbers: TileNumbers, view: SSAValue, axis: int, index: SSAValue) -> bool:
    largest = numbers.largest(index)
    return largest is not None and largest.is_last_of(numbers.tiles_of(view, axis))


def _promised(op: TileIROp) -> set[int]:
    """The axes along which the access promises to stay inside."""
    given = op.properties.get("inbounds")
    if not isinstance(given, DenseArrayBase):
        return set()
    return {axis for axis, each in enumerate(cast("DenseArrayBase[Any]", given).get_values()) if each}


def _go_on(op: TileIROp, found: dict[SSAValue, Loose]) -> None:
    """Note what an op makes of such elements."""
    if isinstance(op, (OPS["continue"], OPS["yield"], OPS["break"])):
        around = op.parent_op()
        assert around is not None
        if isinstance(around, (OPS["reduce"], OPS["scan"])):
            return
        carried = around.regions[0].block.args[-len(op.operands) :] if isinstance(op, OPS["continue"]) else ()
        for place, value in enumerate(op.operands):
            for target in (*around.results[place : place + 1], *carried[place : place + 1]):
                _add(found, target, found.get(value, {}))
    elif isinstance(op, (OPS["for"], OPS["loop"])):
        inits = op.group("initValues")
        for value, argument in zip(inits, op.regions[0].block.args[-len(inits) :] if inits else (), strict=True):
            _add(found, argument, found.get(value, {}))
    elif len(op.results) == 1 and isinstance(op.results[0].type, TileType) and not op.regions:
        _add(found, op.results[0], _made(op, found))
    elif isinstance(op, OPS["reduce"]):
        for operand, result in zip(op.operands, op.results, strict=True):
            _add(found, result, _without(found.get(operand, {}), _dim(op)))


def _add(found: dict[SSAValue, Loose], value: SSAValue, loose: Loose) -> None:
    if loose:
        found[value] = {**loose, **found.get(value, {})}


def _made(op: TileIROp, found: Mapping[SSAValue, Loose]) -> Loose:
    """The axes of what an op makes along which elements may be anything."""
    given = [found.get(operand, {}) for operand in op.operands]
    if not any(given):
        return {}
    if isinstance(op, PRODUCTS):
        left, right, total = given[:3]
        last = _rank(op.results[0]) - 1
        rows = {axis: load for axis, load in left.items() if axis < last}
        columns = {axis: load for axis, load in right.items() if axis != last - 1}
        return {**total, **rows, **columns}
    if isinstance(op, OPS["permute"]):
        order = cast("DenseArrayBase[Any]", op.properties["permutation"]).get_values()
        return {place: given[0][axis] for place, axis in enumerate(order) if axis in given[0]}
    if isinstance(op, OPS["reshape"]):
        return _reshaped(given[0], op.operands[0], op.results[0])
    if isinstance(op, KEEPING):
        return given[0]
    if isinstance(op, OPS["select"]):
        return {axis: load for axis, load in given[1].items() if axis in given[2]}
    return _element_by_element(op, given)


def _element_by_element(op: TileIROp, given: Sequence[Loose]) -> Loose:
    """Sums hand on what may be anything; by other ops a tile that differs from lane to lane may take it away."""
    if isinstance(op, SUMS):
        return {axis: load for each in given for axis, load in each.items()}
    if isinstance(op, OPS["fma"]):
        return {**_together(op.operands[:2], given[:2]), **given[2]}
    return _together(op.operands, given)


def _together(values: Sequence[SSAValue], given: Sequence[Loose]) -> Loose:
    """The axes along which each of some tiles has elements that may be anything, or has equal ones."""
    pairs = list(zip(values, given, strict=True))
    return {
        axis: load
        for each in given
        for axis, load in each.items()
        if all(axis in loose or _is_alike(value, axis) for value, loose in pairs)
    }


def _is_alike(value: SSAValue, axis: int) -> bool:
    """Whether the elements of a tile are known to be equal along an axis."""
    op = value.owner
    if isinstance(op, OPS["constant"]):
        return True
    if isinstance(op, OPS["broadcast"]):
        return _shape(op.operands[0])[axis] == 1 or _is_alike(op.operands[0], axis)
    return False


def _reshaped(loose: Loose, before: SSAValue, after: SSAValue) -> Loose:
    """Axes of extent 1 come and go; where others do, nothing is known any more."""
    olds, news = ([axis for axis, extent in enumerate(_shape(value)) if extent != 1] for value in (before, after))
    if [_shape(before)[axis] for axis in olds] != [_shape(after)[axis] for axis in news]:
        return {}
    return {news[olds.index(axis)]: load for axis, load in loose.items() if axis in olds}


def _without(loose: Loose, dim: int) -> Loose:
    return {axis - (axis > dim): load for axis, load in loose.items() if axis != dim}


# Where they are combined ----------------------------------------------------------------------------------------------


def _mixed_by(op: Operation, loose: Mapping[SSAValue, Loose]) -> list[TileIROp]:
    """The loads whose elements outside an op combines with others."""
    if isinstance(op, OPS["reduce"]):
        pairs = [(operand, _dim(op)) for operand in op.operands]
    elif isinstance(op, PRODUCTS):
        left, right = op.operands[:2]
        pairs = [(left, _rank(left) - 1), (right, _rank(right) - 2)]
    else:
        return []
    return [loose[value][axis] for value, axis in pairs if axis in loose.get(value, {})]


def _reaches_result(op: TileIROp) -> bool:
    """Whether what an op makes is stored, or handed to an update: not through a choice, which may leave it out."""
    seen, stack = set[SSAValue](), list[SSAValue](op.results)
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            user = use.operation
            if isinstance(user, SINKS):
                return True
            if isinstance(user, OPS["select"]):
                continue
            around = user.parent_op()
            ends = isinstance(user, (*LEAVING, OPS["yield"])) and around is not None
            stack += around.results if ends and around is not None else user.results
            stack += _carried(user, around)
    return False


def _carried(user: Operation, around: Operation | None) -> Sequence[SSAValue]:
    """What the next turn of a loop is handed."""
    is_turn = isinstance(user, OPS["continue"]) and around is not None
    return around.regions[0].block.args[1:] if is_turn and around is not None else ()


def _dim(op: TileIROp) -> int:
    return cast("IntegerAttr[Any]", op.properties["dim"]).value.data


def _rank(value: SSAValue) -> int:
    return len(_shape(value))


def _shape(value: SSAValue) -> Sequence[int]:
    return cast(TileType, value.type).get_shape()
