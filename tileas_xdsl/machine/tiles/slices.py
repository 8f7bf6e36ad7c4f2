"""
Rectangular parts of arrays and tiles, as ops spell them: offsets, sizes and strides, each static or an operand.

`memref.subview`, `memref.reinterpret_cast`, `tensor.extract_slice` and `tensor.insert_slice` have three lists of
numbers in which a marker stands for "the next operand" (`Window`). The slice ops of the tile dialects have operands,
static numbers, or both (`TileSlice`); sizes left out are those of the part's type, strides left out are 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.tiles.tiles import restructured, sliced, tile_shape

Numbers = tuple[int, ...]


class HasWindow(Protocol):
    """An op with the three lists."""

    @property
    def static_offsets(self) -> DenseArrayBase[Any]: ...

    @property
    def static_sizes(self) -> DenseArrayBase[Any]: ...

    @property
    def static_strides(self) -> DenseArrayBase[Any]: ...


@dataclass(frozen=True)
class Window:
    """The static part of a window: what it holds for all runs of its op."""

    offsets: Numbers
    sizes: Numbers
    strides: Numbers

    @staticmethod
    def of(op: HasWindow) -> Window:
        lists = (op.static_offsets, op.static_sizes, op.static_strides)
        return Window(*(tuple(int(number) for number in numbers.get_values()) for numbers in lists))

    def with_operands(self, operands: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
        """Offsets, sizes and strides, with `operands` in the places of the markers, in order."""
        rest = iter(operands)
        return filled(self.offsets, rest), filled(self.sizes, rest), filled(self.strides, rest)

    def dropped_for(self, shape: Sequence[int]) -> list[int]:
        """
        The unit dimensions that a result type of `shape` leaves out. Where several choices fit, they name the same
        bytes.
        """
        wanted = list(shape)
        dropped: list[int] = []
        for dimension, size in enumerate(self.sizes):
            if wanted and wanted[0] == size:
                wanted.pop(0)
            else:
                dropped.append(dimension)
        return dropped


def filled(static: Sequence[int], operands: Iterator[int]) -> list[int]:
    """`static` with the next of `operands` instead of every marker."""
    return [next(operands) if number == DYNAMIC_INDEX else number for number in static]


def groups_of(reassociation: ArrayAttr[ArrayAttr[IntegerAttr]]) -> list[Numbers]:
    """The dimensions that `expand_shape` and `collapse_shape` tie together, group by group."""
    return [tuple(number.value.data for number in group) for group in reassociation]


# Slices of tiles ----------------------------------------------------------------------------------------------------


class HasSlice(Protocol):
    """A slice op of either dialect."""

    @property
    def offsets(self) -> Sequence[SSAValue]: ...
    @property
    def sizes(self) -> Sequence[SSAValue]: ...
    @property
    def strides(self) -> Sequence[SSAValue]: ...
    @property
    def static_offsets(self) -> DenseArrayBase[Any] | None: ...
    @property
    def static_sizes(self) -> DenseArrayBase[Any] | None: ...
    @property
    def static_strides(self) -> DenseArrayBase[Any] | None: ...


@dataclass(frozen=True)
class TileSlice:
    """The offsets and sizes of a part of a tile."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, agent: Agent, tile: Any, op: Operation) -> Any:
        """This part of `tile`: a window of a view, the elements of a value."""
        return sliced(agent, tile, self.offsets, self.sizes, self.strides, op)

    def dropped_for(self, type_: Attribute) -> list[int]:
        """The unit axes that a part of `type_` leaves out."""
        shape = tile_shape(type_)
        if len(shape) == len(self.sizes):
            return []
        return Window(self.offsets, self.sizes, self.strides).dropped_for(shape)


def part_of(
    agent: Agent, op: Operation, spelled: HasSlice, rank: int, part: Attribute, operands: Sequence[Any]
) -> TileSlice:
    """
    The part that `op` means of a tile of `rank`; `part` is its type, `operands` the run-time offsets, sizes and
    strides, in that order.
    """
    numbers = iter([agent.known(operand, op, "computes an address from") for operand in operands])
    offsets = _group(spelled.static_offsets, spelled.offsets, numbers)
    sizes = _group(spelled.static_sizes, spelled.sizes, numbers)
    strides = _group(spelled.static_strides, spelled.strides, numbers)
    shape = tile_shape(part)
    return TileSlice(offsets, sizes or (1,) * (rank - len(shape)) + shape, strides or (1,) * rank)


def _group(static: DenseArrayBase[Any] | None, dynamic: Sequence[SSAValue], numbers: Any) -> tuple[int, ...]:
    """One number per axis; an empty sequence if the group is left out."""
    spelled = (DYNAMIC_INDEX,) * len(dynamic) if static is None else [int(number) for number in static.get_values()]
    return tuple(filled(spelled, numbers))


def without_axes(tile: Any, dropped: Sequence[int]) -> Any:
    """A tile (view or value) without the unit axes listed."""
    if not dropped:
        return tile
    if isinstance(tile, View):
        return tile.dropping(dropped)
    return restructured(tile, lambda array: np.squeeze(array, tuple(dropped)))
