"""
Rectangular parts of tiles, as the slice ops of both tile dialects spell them.

Offsets, sizes and strides are each static, operands, or (in `nv_tileas`) mixed with markers for the operands. Sizes
left out are those of the part's type, strides left out are 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.tiles.tiles import restructured, sliced, tile_shape
from tileas_xdsl.machine.tiles.windows import Window, filled


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
class Part:
    """Where a part of a tile lies in it."""

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
) -> Part:
    """
    The part that `op` means of a tile of `rank`; `part` is its type, `operands` the run-time offsets, sizes and
    strides, in that order.
    """
    numbers = iter([agent.known(operand, op, "computes an address from") for operand in operands])
    offsets = _group(spelled.static_offsets, spelled.offsets, numbers)
    sizes = _group(spelled.static_sizes, spelled.sizes, numbers)
    strides = _group(spelled.static_strides, spelled.strides, numbers)
    shape = tile_shape(part)
    return Part(offsets, sizes or (1,) * (rank - len(shape)) + shape, strides or (1,) * rank)


def _group(static: DenseArrayBase[Any] | None, dynamic: Sequence[SSAValue], numbers: Any) -> tuple[int, ...]:
    """One number for each axis; nothing when the group is left out."""
    spelled = (DYNAMIC_INDEX,) * len(dynamic) if static is None else [int(number) for number in static.get_values()]
    return tuple(filled(spelled, numbers))


def without_axes(tile: Any, dropped: Sequence[int]) -> Any:
    """A tile (view or value) without the unit axes listed."""
    if not dropped:
        return tile
    if isinstance(tile, View):
        return tile.dropping(dropped)
    return restructured(tile, lambda array: np.squeeze(array, tuple(dropped)))
