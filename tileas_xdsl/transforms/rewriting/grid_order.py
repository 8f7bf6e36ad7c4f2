"""
In which order in time the programs of a grid come: the place of program number n.

    in order, along x first        in groups of 2 rows
       0  6 12 18                     0  2  4  6
       1  7 13 19                     1  3  5  7
       2  8 14 20                     8 10 12 14
       3  9 15 21                     9 11 13 15
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.dialects import arith
from xdsl.ir import SSAValue

Coordinates = Sequence[SSAValue]
"""Of a program, along each axis."""


class Builds(Protocol):
    """Builds numbers of one type."""

    def __call__(self, kind: type[arith.SignlessIntegerBinaryOperation], left: SSAValue, right: SSAValue) -> SSAValue:
        """What an op makes of two numbers."""
        ...

    def constant(self, number: int) -> SSAValue:
        """A number."""
        ...


def in_order(number: SSAValue, extents: Sequence[SSAValue], build: Builds) -> Coordinates:
    """Where a program stands that has this number in a grid of these extents, counted along the first axis first."""
    found: list[SSAValue] = []
    for extent in extents[:-1]:
        found.append(build(arith.RemUIOp, number, extent))
        number = build(arith.DivUIOp, number, extent)
    return [*found, number]


def in_groups(number: SSAValue, extents: Sequence[SSAValue], rows: int, build: Builds) -> Coordinates:
    """
    The same, down the rows of a group of so many and then on to the next column; the last group has the rows that are
    left (Triton, "Matrix Multiplication", L2 cache optimizations).
    """
    down, across = extents
    height = build.constant(rows)
    of_group = build(arith.MuliOp, height, across)
    first = build(arith.MuliOp, build(arith.DivUIOp, number, of_group), height)
    height = build(arith.MinUIOp, build(arith.SubiOp, down, first), height)
    inside = build(arith.RemUIOp, number, of_group)
    row = build(arith.AddiOp, first, build(arith.RemUIOp, inside, height))
    return [row, build(arith.DivUIOp, inside, height)]
