"""
One attempt at one initiation interval: the table, and the four gates before an op is seated.

| gate | asks | on failure |
|---|---|---|
| G1 | is the op still held over? | the next attempt |
| G2 | `max_depth <= 1`? | the op is dead for this attempt |
| G3 | are its slots free in this cycle? | the next cycle |
| G4 | does it start in the stage of its leader group? | the next cycle in which it would |

The ejection arm takes `max_depth` for what it says, a number of stages; the four published arms cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tileas_xdsl.scheduling.modulo.problem import NO_LIMIT, ModuloProblem
from tileas_xdsl.scheduling.modulo.reservation import ReservationTable

DEEPEST_PUBLISHED = 1
"""Gate G2: the largest `max_depth` of an op that the four published arms seat."""


@dataclass
class Attempt:
    """The state of one attempt."""

    problem: ModuloProblem
    ii: int
    held_over: frozenset[int] = frozenset()
    """Ops that wait for the next attempt."""
    table: ReservationTable = field(init=False)
    arms: dict[int, str] = field(default_factory=dict[int, str])
    """Op -> the arm that seated it."""
    group_of: dict[int, tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self.table = ReservationTable(self.problem, self.ii)
        self.group_of = {op: group for group in self.problem.groups for op in group}

    # Windows --------------------------------------------------------------------------------------------------------

    def earliest(self, op: int) -> int:
        """The first cycle that the seated ops on which `op` depends allow; 0 where none does."""
        starts = self.table.starts
        return max(
            [
                0,
                *(
                    starts[e.source] + e.latency - self.ii * e.distance
                    for e in self.problem.incoming[op]
                    if e.source in starts
                ),
            ]
        )

    def latest(self, op: int) -> int:
        """The last cycle that the seated ops that depend on `op`, its stages and the ceiling allow."""
        starts = self.table.starts
        limit = self.problem.stage_limit(op)
        bounds = [NO_LIMIT] if limit >= NO_LIMIT else [limit * self.ii - 1]
        bounds.append(self.problem.ceiling - self.problem.ops[op].latency)
        bounds += [
            starts[e.sink] - e.latency + self.ii * e.distance for e in self.problem.outgoing[op] if e.sink in starts
        ]
        return min(bounds)

    # Gates ----------------------------------------------------------------------------------------------------------

    def may_be_seated(self, op: int) -> bool:
        """Gate G1: the op is not held over."""
        return op not in self.held_over

    def is_shallow(self, op: int) -> bool:
        """Gate G2."""
        return self.problem.ops[op].constraints.max_depth <= DEEPEST_PUBLISHED

    def seats(self, op: int) -> Iterator[int]:
        """The cycles, in order, in which `op` passes gates G3 and G4. At most II of them."""
        if not (self.may_be_seated(op) and self.is_shallow(op)):
            return
        yield from self.fitting(op)

    def seats_as_bits(self, op: int) -> tuple[int, int]:
        """A cycle, and the cycles of `seats` as bits: bit 0 is that cycle."""
        earliest, latest = self._window(op)
        if not (self.may_be_seated(op) and self.is_shallow(op)):
            return earliest, 0
        return earliest, self.table.free(op, earliest, latest)

    def passes(self, op: int, start: int) -> bool:
        """Whether `op` passes all gates in cycle `start`."""
        earliest, latest = self._window(op)
        is_in_time = earliest <= start <= min(latest, earliest + self.ii - 1)
        return self.may_be_seated(op) and self.is_shallow(op) and is_in_time and self.table.fits(op, start)

    def fitting(self, op: int) -> Iterator[int]:
        """The cycles, in order, in which the slots of `op` are free, and its window and its group allow it."""
        yield from self.table.fitting(op, *self._window(op))

    def _window(self, op: int) -> tuple[int, int]:
        """The first and the last cycle that other ops, the ceiling and its group allow `op`."""
        earliest, latest = self.earliest(op), self.latest(op)
        stage = self.stage_of_group(op)
        if stage is None:
            return earliest, latest
        return max(earliest, stage * self.ii), min(latest, (stage + 1) * self.ii - 1)

    def stage_of_group(self, op: int) -> int | None:
        """Gate G4: the stage in which the leader group of `op` starts, once one of it is seated."""
        for other in self.group_of.get(op, ()):
            if other != op and other in self.table.starts:
                return self.table.starts[other] // self.ii
        return None

    # Seating --------------------------------------------------------------------------------------------------------

    def seat(self, op: int, start: int, arm: str) -> None:
        self.table.enter(op, start)
        self.arms[op] = arm

    def unseat(self, ops: Iterator[int] | list[int]) -> None:
        for op in list(ops):
            self.table.remove(op)
            del self.arms[op]
