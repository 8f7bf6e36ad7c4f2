"""
Rectangular windows as ops spell them: offsets, sizes and strides, each static or an operand.

`memref.subview`, `memref.reinterpret_cast`, `tensor.extract_slice` and `tensor.insert_slice` share the spelling: three
lists of numbers in which a marker stands for "the next operand".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerAttr

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
        The unit dimensions that a result type of `shape` leaves out.

        Where several would do it does not matter which: they differ by no byte.
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
    """`static` with the next of `operands` in the place of every marker."""
    return [next(operands) if number == DYNAMIC_INDEX else number for number in static]


def groups_of(reassociation: ArrayAttr[ArrayAttr[IntegerAttr]]) -> list[Numbers]:
    """The dimensions that `expand_shape` and `collapse_shape` tie together, group by group."""
    return [tuple(number.value.data for number in group) for group in reassociation]
