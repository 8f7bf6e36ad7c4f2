"""
The driver for few, ordered states: levels `0 .. top`, and composed tables in place of fixpoint iteration.

The transfer function of an op is a *table*: the level after it for each level before it. Tables are composed once, from
the inside out, and then read from the outside in. So a nest of loops costs as much as its ops. Fixpoint iteration would
run the innermost loop once for every round of all the others:

    scf.for ... {                    body      (0 1 2 3)  ->  (1 2 3 3)
      scf.for ... { one up }         inner     (0 1 2 3)  ->  (3 3 3 3)     any number of runs, joined by maximum
    }                                outer     its table is composed from that of the inner one

The control flow is that of `driver.py`, with two differences. A constant loop counts its trips however many there are.
Calls are not followed: an op without regions does what its client says. Blocks of a region are taken to run in order; a
client for which that is wrong must refuse functions with branches between blocks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from xdsl.dialects import scf
from xdsl.ir import Operation, Region

from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.dialects.async_queue import QueueScope
from tileas_xdsl.interfaces import AgentLikeOpInterface, AsyncRegionOpInterface

Table = tuple[int, ...]
"""Level before an op -> level after it."""


class LevelClient(ABC):
    """A client whose states are the levels `0 .. top`. Its methods must be monotone."""

    top: int

    @abstractmethod
    def join(self, levels: Iterable[int]) -> int:
        """The level after any of `levels`, of which there is at least one: their maximum or their minimum."""

    def touches(self, op: Operation) -> bool:
        """Whether `enter` or `leave` may change a level at `op`."""
        return True

    def enter(self, op: Operation, level: int) -> int:
        """The level after control came to `op`, before any of its regions runs."""
        return level

    def leave(self, op: Operation, level: int) -> int:
        """The level after `op`, given that after its regions."""
        return level


@dataclass
class LevelFlow:
    """The levels at the ops that are touched or have regions, in program order, outer ops before inner ones."""

    before: dict[Operation, int] = field(default_factory=dict[Operation, int])
    inside: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """The level whenever a run of the first region begins; for an op without regions, the level after `enter`."""
    behind: dict[Operation, int] = field(default_factory=dict[Operation, int])
    end: int = 0
    """The level when the function returns."""


def analyse_levels(function: Operation, client: LevelClient, initial: int = 0) -> LevelFlow:
    """
    Analyse the regions of `function`, each entered at level `initial`. Linear in the number of ops, times the levels.
    """
    driver = _Driver(client)
    for region in function.regions:
        driver.flow.end = driver.table_of_region(region)[initial]
        for block in region.blocks:
            driver.read(block.ops, initial)
    return driver.flow


class _Driver:
    def __init__(self, client: LevelClient) -> None:
        self.client = client
        self.flow = LevelFlow()
        self.identity: Table = tuple(range(client.top + 1))
        self.tables: dict[Operation, Table] = {}
        self.bodies: dict[Region, Table] = {}

    # Inside out: tables -----------------------------------------------------------------------------------------------

    def table_of_region(self, region: Region) -> Table:
        """The table of running the blocks of `region` in order."""
        table = self.identity
        for op in (op for block in region.blocks for op in block.ops):
            if op.regions or self.client.touches(op):
                table = self._then(table, self._table_of(op))
        self.bodies[region] = table
        return table

    def _table_of(self, op: Operation) -> Table:
        table = self._combine(op, [self.table_of_region(region) for region in op.regions])
        if self.client.touches(op):
            entered = (self.client.enter(op, level) for level in self.identity)
            table = tuple(self.client.leave(op, table[level]) for level in entered)
        self.tables[op] = table
        return table

    def _combine(self, op: Operation, bodies: Sequence[Table]) -> Table:
        """The table of all regions of `op` together."""
        match op:
            case _ if not bodies:
                return self.identity
            case scf.ForOp():
                trips = static_trip_count(op)
                return self._repeated(bodies[0]) if trips is None else self._iterated(bodies[0], trips)
            case scf.WhileOp():
                return self._then(self._repeated(self._then(bodies[0], bodies[1])), bodies[0])
            case scf.IfOp() | scf.IndexSwitchOp():
                return reduce(self._joined, bodies)
            case scf.ExecuteRegionOp() | QueueScope():
                return bodies[0]
            case _ if _runs_elsewhere(op):
                return self.identity
            case _:
                return self._repeated(reduce(self._joined, bodies))

    def _then(self, first: Table, second: Table) -> Table:
        if first is self.identity:
            return second
        return first if second is self.identity else tuple(second[level] for level in first)

    def _joined(self, one: Table, other: Table) -> Table:
        if one is other:
            return one
        return tuple(self.client.join(levels) for levels in zip(one, other, strict=True))

    def _repeated(self, body: Table) -> Table:
        """Any number of runs of `body`."""
        if body is self.identity:
            return body
        return tuple(self.client.join(_orbit(body, level, len(body))) for level in self.identity)

    def _iterated(self, body: Table, trips: int) -> Table:
        """
        The table of exactly `trips` runs. Monotone steps on few levels reach a fixpoint, so more runs than levels add
        nothing.
        """
        if body is self.identity:
            return body
        return tuple(_orbit(body, level, min(trips, len(body)))[-1] for level in self.identity)

    # Outside in: levels -----------------------------------------------------------------------------------------------

    def read(self, ops: Iterable[Operation], level: int) -> None:
        """Record the levels of `ops`, which run one after the other, and of the ops nested in them."""
        for op in ops:
            if op in self.tables:
                behind = self.tables[op][level]
                self.flow.before[op] = level
                self.flow.behind[op] = behind
                self._read_inside(op, self.client.enter(op, level))
                level = behind

    def _read_inside(self, op: Operation, entered: int) -> None:
        level = self._head(op, entered)
        self.flow.inside[op] = level
        for region in op.regions:
            if region.first_block is not None:
                self.read(region.first_block.ops, level)
            if isinstance(op, scf.WhileOp):
                level = self.bodies[region][level]

    def _head(self, op: Operation, entered: int) -> int:
        """The level at which any run of the first region begins."""
        bodies = [self.bodies[region] for region in op.regions]
        match op:
            case scf.ForOp():
                trips = static_trip_count(op)
                again = len(bodies[0]) if trips is None else max(min(trips, len(bodies[0])) - 1, 0)
                return self.client.join(_orbit(bodies[0], entered, again))
            case scf.WhileOp():
                body = self._then(bodies[0], bodies[1])
                return self.client.join(_orbit(body, entered, len(body)))
            case scf.IfOp() | scf.IndexSwitchOp() | scf.ExecuteRegionOp() | QueueScope():
                return entered
            case _ if not bodies or _runs_elsewhere(op):
                return entered
            case _:
                return self._repeated(reduce(self._joined, bodies))[entered]


def _orbit(body: Table, level: int, steps: int) -> list[int]:
    """`level`, and what it becomes by running `body` again and again, until it rests or `steps` times."""
    seen = [level]
    for _ in range(steps):
        following = body[seen[-1]]
        if following == seen[-1]:
            break
        seen.append(following)
    return seen


def _runs_elsewhere(op: Operation) -> bool:
    """Whether the regions of `op` are run by others."""
    return AgentLikeOpInterface.of(op) is not None or AsyncRegionOpInterface.of(op) is not None
