"""
Which tile of an array an access goes to: its coordinates, in tiles, as linear forms of one value.

    tiled_load %x[%k + 1, %c0]          [1 * %k + 1, 0]
    .. of an earlier iteration          %k has grown since, by the step of the loop or more

Coordinates of tiles of one shape, counted from one origin, tell that two accesses are apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tileas_xdsl.analysis.induction import constant_integer


@dataclass(frozen=True)
class Coordinate:
    """`factor * name + number`, of the value that the name had then."""

    name: SSAValue | None
    """None: of no value, a constant."""
    factor: int
    number: int
    step: int = 0
    """Since then the name has grown by `m * step`, for some m of 1 or more; 0: it has not changed."""

    def is_apart(self, later: Coordinate) -> bool:
        """Whether the later one is sure to be another number."""
        if self.name is not later.name or self.factor != later.factor:
            return False
        away, grown = later.number - self.number, self.factor * self.step
        if not grown:
            return away != 0
        return away % grown != 0 or -away // grown < 1


@dataclass(frozen=True)
class TileOfArray:
    """A tile of an array: its shape, and its coordinates; None for one that is not known."""

    shape: tuple[int, ...]
    coordinates: tuple[Coordinate | None, ...]

    def is_apart(self, later: TileOfArray) -> bool:
        """Whether the later one is sure to be another tile."""
        if self.shape != later.shape:
            return False
        pairs = zip(self.coordinates, later.coordinates, strict=True)
        return any(one is not None and other is not None and one.is_apart(other) for one, other in pairs)

    @property
    def names(self) -> list[SSAValue]:
        """The values that it depends on."""
        return [each.name for each in self.coordinates if each is not None and each.name is not None]

    def without(self, names: Callable[[SSAValue], bool]) -> TileOfArray:
        """The same tile, when such names stand for other numbers."""
        return TileOfArray(self.shape, tuple(None if _depends(each, names) else each for each in self.coordinates))

    def grown(self, name: SSAValue, step: int | None) -> TileOfArray:
        """The same tile, when a name has grown by a step; None: by some number."""
        return TileOfArray(self.shape, tuple(_grown(each, name, step) for each in self.coordinates))


def _depends(coordinate: Coordinate | None, names: Callable[[SSAValue], bool]) -> bool:
    return coordinate is not None and coordinate.name is not None and names(coordinate.name)


def _grown(coordinate: Coordinate | None, name: SSAValue, step: int | None) -> Coordinate | None:
    if coordinate is None or coordinate.name is not name:
        return coordinate
    return None if step is None or step < 1 else replace(coordinate, step=step)


def coordinate_of(index: SSAValue) -> Coordinate:
    """An index as a linear form of one value, through sums with constants and products with them."""
    constant = constant_integer(index)
    if constant is not None:
        return Coordinate(None, 0, constant)
    match index.owner:
        case arith.AddiOp(lhs=lhs, rhs=rhs):
            return _plus(coordinate_of(lhs), coordinate_of(rhs), 1) or Coordinate(index, 1, 0)
        case arith.SubiOp(lhs=lhs, rhs=rhs):
            return _plus(coordinate_of(lhs), coordinate_of(rhs), -1) or Coordinate(index, 1, 0)
        case arith.MuliOp(lhs=lhs, rhs=rhs):
            return _times(coordinate_of(lhs), coordinate_of(rhs)) or Coordinate(index, 1, 0)
        case _:
            return Coordinate(index, 1, 0)


def _plus(one: Coordinate, other: Coordinate, sign: int) -> Coordinate | None:
    """The sum, or the difference; None where both depend on a value."""
    number = one.number + sign * other.number
    if other.name is None:
        return Coordinate(one.name, one.factor, number)
    return Coordinate(other.name, sign * other.factor, number) if one.name is None else None


def _times(one: Coordinate, other: Coordinate) -> Coordinate | None:
    """The product; None where both depend on a value."""
    if one.name is not None and other.name is not None:
        return None
    value, constant = (one, other.number) if other.name is None else (other, one.number)
    return Coordinate(value.name, value.factor * constant, value.number * constant)
