"""
The hardware threads that an agent stands for, and values that differ between them.

    %tid = nvvm.read.ptx.sreg.tid.x : i32        32, 33, .. 63      in the second warp of a block
    %warp = arith.divui %tid, %c32 : i32         1                  the same in all its threads: an ordinary number

An agent whose threads are counted is one warp (or one thread), so a branch on the number of the warp is no matter of
this file: each warp takes its own way. What differs within a warp is a `PerThread`: arithmetic makes it thread by
thread, a load or store through it reaches the places of all threads, and a branch on it leaves some of them active.

An election (`elect.sync`) gives 1 in one thread, and PTX does not say in which. The first of them stands for it here;
what would tell it apart from another one is undecided (`Varies`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, Flag, auto
from math import copysign, prod
from typing import Any, Protocol

import numpy as np

from tileas_xdsl.machine.core.happens_before import Who

NUMBERS = (int, float, np.number)
WARP = 32
"""Threads of a warp, where the target does not say otherwise."""


@dataclass(frozen=True)
class Threads:
    """The hardware threads of an agent: `count` of them from number `first` of their block on."""

    first: int
    count: int
    shape: tuple[int, int, int]
    """Extents of the block in x, y and z; thread number t is x + X (y + Y z)."""
    per_warp: int = WARP

    def along(self, dimension: int) -> list[int]:
        """The coordinate of each thread in `dimension` (0: x)."""
        wide, high, _ = self.shape
        step = (1, wide, wide * high)[dimension]
        return [t // step % self.shape[dimension] for t in self.numbers]

    @property
    def numbers(self) -> range:
        """The number of each thread in the block."""
        return range(self.first, self.first + self.count)


@dataclass(frozen=True)
class Active:
    """Some of the threads of an agent: those that are in a branch which the others do not take."""

    lanes: tuple[int, ...]
    """Which ones, counted from the agent's first thread."""
    is_elected: bool = False
    """Whether it is one of them, and nobody says which."""

    @property
    def count(self) -> int:
        return 1 if self.is_elected else len(self.lanes)


@dataclass(frozen=True)
class BlockOfCluster:
    """One block of a cluster that the machine runs as a whole."""

    rank: int
    shape: tuple[int, int, int]

    @property
    def count(self) -> int:
        """How many blocks the cluster has."""
        return prod(self.shape)

    def along(self, axis: int) -> int:
        """Its coordinate in the cluster along `axis` (0: x)."""
        wide, high, _ = self.shape
        return self.rank // (1, wide, wide * high)[axis] % self.shape[axis]

    def named(self, name: str) -> str:
        """What messages call that which this block has of its own."""
        return f"{name} of block {self.rank}"


class Several(Who, Protocol):
    """An agent that stands for several hardware threads."""

    active: Active | None

    @property
    def block(self) -> BlockOfCluster | None: ...

    @property
    def size(self) -> int: ...

    @property
    def lanes(self) -> Sequence[int]: ...

    @property
    def is_elected(self) -> bool: ...


def name_in_block(agent: Several, name: str) -> str:
    """`name`, with the block of `agent` behind it where there are several."""
    return name if agent.block is None else agent.block.named(name)


class Varies(Flag):
    """What a value depends on that differs between threads."""

    BY_THREAD = auto()
    BY_ELECTION = auto()


class Elections(Enum):
    """What is known of the lane that a warp elects (PTX ISA, "elect.sync")."""

    OPEN = auto()
    """Nothing; what depends on it is undecided."""
    ASKED = auto()
    """Nothing; what depends on it raises `WhichLaneError`."""
    FIRST = auto()
    """It is the first, of elections that allow it (`FIRST_IF_NEEDED`)."""


class WhichLaneError(Exception):
    """The check comes to where it makes a difference which lane was elected."""


@dataclass(frozen=True, eq=False, slots=True)
class PerThread:
    """
    A value that differs between the threads of an agent: one for each of them. Addresses in one object may be held as
    the `first` one and the `offsets` of all: then `values` are made when they are asked for.
    """

    values: tuple[Any, ...]
    varies: Varies = Varies.BY_THREAD
    first: Any = None
    offsets: tuple[int, ...] = ()

    @staticmethod
    def of_addresses(first: Any, offsets: tuple[int, ...], varies: Varies) -> PerThread:
        """The addresses at these byte offsets of the object of `first`, which is one of them."""
        made = object.__new__(PerThread)
        for name, value in (("varies", varies), ("first", first), ("offsets", offsets)):
            object.__setattr__(made, name, value)
        return made

    def __getattr__(self, name: str) -> Any:
        """The values of threads that were not asked for before."""
        if name != "values" or self.first is None:
            raise AttributeError(name)
        first = self.first
        values = tuple(first.plus(offset - first.offset) for offset in self.offsets)
        object.__setattr__(self, "values", values)
        return values


def of_threads(value: Any, count: int) -> Sequence[Any]:
    """What each of `count` threads has of a value."""
    return value.values if type(value) is PerThread else (value,) * count


def common_value(values: Sequence[Any], lanes: Iterable[int]) -> tuple[bool, Any]:
    """
    Whether the values of `lanes` are known to be the same, and which one it is.

    Two values of which nothing is known are not known to be the same.
    """
    of_lanes = [values[lane] for lane in lanes]
    first = of_lanes[0]
    if type(first) is int and set(map(type, of_lanes)) == {int}:
        return of_lanes.count(first) == len(of_lanes), first
    is_common = all(_is_same(first, other) for other in of_lanes[1:]) if len(of_lanes) > 1 else True
    return is_common, first


def _is_same(one: Any, other: Any) -> bool:
    # An opaque number that is equal to another one in this block need not be so in other blocks.
    forms = getattr(one, "form", None), getattr(other, "form", None)
    if isinstance(one, NUMBERS) and isinstance(other, NUMBERS):
        return _are_equal(one, other) and forms[0] == forms[1]
    place, its = _place(one), _place(other)
    return place is not None and its is not None and place[0] is its[0] and place[1:] == its[1:]


def _are_equal(one: Any, other: Any) -> bool:
    """Whether two numbers are one, down to the sign of a zero."""
    return bool(one == other) and (one != 0 or copysign(1, one) == copysign(1, other))


def _place(value: Any) -> tuple[Any, ...] | None:
    """What makes two addresses or views one: the object, and where in it."""
    base, offset = getattr(value, "base", None), getattr(value, "offset", None)
    if base is None or offset is None:
        return None
    return base, offset, getattr(value, "shape", None), getattr(value, "strides", None)
