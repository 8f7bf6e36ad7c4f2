"""
The largest number of a tile that a kernel of Tile IR asks for, against the number of tiles that there are.

    for %j in (0 to %tiles + 1)                    %j goes up to `tiles`, and the last tile is `tiles - 1`
      load_view_tko %view[%i, %j + 2]              that is `tiles + 2`

Numbers are followed as a multiple of the number of tiles along one axis of an array, and an integer. What is loaded,
divided or an id of a block is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tileas_xdsl.dialects.cuda_tile.attributes import ConstantAttr, DivByAttr
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.elements import number_of
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp
from tileas_xdsl.dialects.cuda_tile.types import StridedViewType, TensorViewType, TileViewType, plain


def known(value: SSAValue) -> SSAValue:
    """The value that `assume` ops say something of."""
    while isinstance(value.owner, OPS["assume"]):
        value = value.owner.operands[0]
    return value


def constant_of(value: SSAValue) -> int | None:
    """The integer that a constant of rank 0 is; None for anything else."""
    owner = known(value).owner
    given = owner.properties["value"] if isinstance(owner, OPS["constant"]) else None
    if not isinstance(given, ConstantAttr) or given.type.get_shape():
        return None
    number = number_of(given.type.element_type, given.elements()[0])
    return number if isinstance(number, int) else None


@dataclass(frozen=True)
class Tiles:
    """How many tiles of so many elements cover an axis of the array that begins at a pointer."""

    pointer: SSAValue
    axis: int
    extent: int


@dataclass(frozen=True)
class Number:
    """`factor * tiles + plus`; just `plus` where there are no `tiles`."""

    plus: int
    tiles: Tiles | None = None
    factor: int = 0

    def __add__(self, other: Number) -> Number | None:
        if self.tiles is None or other.tiles is None or self.tiles == other.tiles:
            found = self.tiles or other.tiles
            return Number(self.plus + other.plus, found, self.factor + other.factor)
        return None

    def times(self, number: int) -> Number:
        """A multiple."""
        return Number(self.plus * number, self.tiles if number else None, self.factor * number)

    def may_reach(self, tiles: Number) -> bool:
        """Whether for some extent of the array this is not below a number of tiles of it."""
        if self.tiles is None:
            return tiles.tiles is None and self.plus >= tiles.plus
        if tiles.tiles is None or replace(self.tiles, extent=tiles.tiles.extent) != tiles.tiles:
            return False
        ahead = self.factor * tiles.tiles.extent - self.tiles.extent
        return ahead > 0 or (ahead == 0 and self.plus >= 0)

    def is_last_of(self, tiles: Number) -> bool:
        """Whether this is the number of the last tile."""
        return self == replace(tiles, plus=tiles.plus - 1)


class TileNumbers:
    """The numbers of tiles in one kernel."""

    def __init__(self, entry: EntryOp) -> None:
        self._extents: dict[SSAValue, tuple[SSAValue, int]] = {}
        """An argument that is an extent of an array -> the pointer, and the axis."""
        for op in entry.walk():
            if isinstance(op, OPS["make_tensor_view"]):
                self._extents |= {known(size): (pointer_of(op.results[0]), axis) for axis, size in _dynamic(op)}

    def tiles_of(self, view: SSAValue, axis: int) -> Number:
        """The number of tiles of a view along an axis of its tiles."""
        kind = view.type
        assert isinstance(kind, TileViewType)
        array = cast("TileIROp", view.owner).operands[0]
        assert isinstance(array.type, TensorViewType)
        place, step = kind.get_dim_map()[axis], _steps(kind)[axis]
        extent = array.type.get_shape()[place]
        if extent != DYNAMIC_INDEX:
            return Number(-(-extent // step))
        return Number(0, Tiles(pointer_of(array), place, step), 1)

    def largest(self, value: SSAValue) -> Number | None:
        """The largest number that an index takes, for some launch; None where that is not known."""
        value = known(value)
        constant, op = constant_of(value), value.owner
        if constant is not None:
            return Number(constant)
        if isinstance(value, BlockArgument):
            return self._last_turn(value)
        if isinstance(op, OPS["get_index_space_shape"]):
            return self.tiles_of(op.operands[0], cast("OpResult", value).index)
        if isinstance(op, OPS["exti"]):
            return self.largest(op.operands[0])
        if isinstance(op, OPS["divi"]):
            return self._quotient(op)
        return self._computed(op) if isinstance(op, TileIROp) else None

    def _quotient(self, op: TileIROp) -> Number | None:
        extent, tile = self._extents.get(known(op.operands[0])), constant_of(op.operands[1])
        if extent is None or tile is None or tile <= 0 or op.word("rounding") != "positive_inf":
            return None
        return Number(0, Tiles(*extent, tile), 1)

    def _computed(self, op: TileIROp) -> Number | None:
        if not isinstance(op, (OPS["addi"], OPS["subi"], OPS["muli"])):
            return None
        one, other = map(self.largest, op.operands)
        if one is None or other is None:
            return None
        if isinstance(op, OPS["muli"]):
            plain_one, factor = (other, one) if one.tiles is None else (one, other)
            return plain_one.times(factor.plus) if factor.tiles is None and factor.plus >= 0 else None
        if isinstance(op, OPS["subi"]):
            return one + other.times(-1) if constant_of(op.operands[1]) is not None else None
        return one + other

    def _last_turn(self, value: BlockArgument) -> Number | None:
        """The variable of a loop in its last turn: of one by steps of one, from a number that is not negative."""
        loop = value.block.parent_op()
        if not isinstance(loop, OPS["for"]) or value.index != 0:
            return None
        lower, upper, step = loop.operands[:3]
        end = self.largest(upper)
        first = constant_of(lower)
        if end is None or first is None or first < 0 or constant_of(step) != 1:
            return None
        has_turns = end.tiles is not None or end.plus > first
        return end + Number(-1) if has_turns else None


def _steps(kind: TileViewType) -> tuple[int, ...]:
    return plain(kind.steps) if isinstance(kind, StridedViewType) else kind.get_tile_shape()


def pointer_of(array: SSAValue) -> SSAValue:
    """Where an array begins."""
    return known(cast("TileIROp", array.owner).operand("base"))


def _dynamic(array: TileIROp) -> list[tuple[int, SSAValue]]:
    """The extents of an array that are open, by their axes."""
    kind = array.results[0].type
    assert isinstance(kind, TensorViewType)
    axes = [axis for axis, extent in enumerate(kind.get_shape()) if extent == DYNAMIC_INDEX]
    return list(zip(axes, array.group("dynamicShape"), strict=True))


def may_stick_out(view: SSAValue, axis: int) -> bool:
    """Whether the last tile of a view may reach beyond the array along an axis of its tiles."""
    kind = view.type
    assert isinstance(kind, TileViewType)
    array = view.owner.operands[0] if isinstance(view.owner, Operation) else None
    assert array is not None
    assert isinstance(array.type, TensorViewType)
    place, tile = kind.get_dim_map()[axis], kind.get_tile_shape()[axis]
    extent = array.type.get_shape()[place]
    if extent != DYNAMIC_INDEX:
        return extent % tile != 0
    size = dict(_dynamic(cast("TileIROp", array.owner)))[place]
    return not any(divisor % tile == 0 for divisor in _divisors(size))


def _divisors(value: SSAValue) -> list[int]:
    """The numbers that are said to divide a number."""
    found: list[int] = []
    while isinstance(value.owner, OPS["assume"]):
        fact = value.owner.properties["predicate"]
        if isinstance(fact, DivByAttr):
            found.append(fact.divisor.data)
        value = value.owner.operands[0]
    return found
