"""
The four published ways to seat a group of ops at one initiation interval. The first that succeeds wins the group; one
that fails leaves the table as it was.

| arm | order of the ops | seat |
|---|---|---|
| PERMUTE | by their distance to what they depend on | the earliest |
| FUSE | the same; independent ops that take the same slots sit side by side | the earliest for both |
| RETRY | by the longest path to the end of the iteration | the earliest |
| COST-BASED | as in RETRY | that of the least cost vector |

What the cost-based arm minimises: a vector that is compared entry by entry, never added up.

1. the pipe-slot score: the smallest cap that no distance from an op that is seated exceeds;
2. the bank pressure: slots that this iteration holds in the row, and those that are carried over from earlier ones,
   each counted up to a cap; then a surcharge for what exceeds the budget;
3. how far the op is out of program order, and how late it starts.

Hard legality (reservations, pools, ceilings) is asked before, so no entry says it. Caps are sought by doubling, then
bisection. Nothing here changes the table.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from tileas_xdsl.scheduling.modulo.attempt import Attempt
from tileas_xdsl.scheduling.modulo.distances import (
    NO_PATH,
    distance_matrix,
    earliest_starts,
    heights,
    topological_order,
)
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem
from tileas_xdsl.scheduling.modulo.reservation import ReservationTable

if TYPE_CHECKING:
    from tileas_xdsl.scheduling.modulo.distances import Distances


IN_ITERATION_CAP, CROSS_ITERATION_CAP = 4, 3
"""The most slots of one row that count for this iteration, and for earlier ones."""

PRESSURE_BUDGET = IN_ITERATION_CAP + CROSS_ITERATION_CAP

SURCHARGE, MOST_SURCHARGE = 17, 4096
"""Cycles of a spill, for each unit of pressure beyond the budget, and in all."""


@dataclass(frozen=True, order=True)
class CostVector:
    """The cost of one seat; compared lexicographically, in this order of fields."""

    pipe_slot: int
    pressure: int
    surcharge: int
    inversions: int
    start: int


def least_cap(holds: Callable[[int], bool], most: int) -> int | None:
    """The smallest cap from 0 to `most` for which `holds` is true; it stays true from there on. None if none is."""
    if holds(0):
        return 0
    high = 1
    while high < most and not holds(high):
        high *= 2
    high = min(high, most)
    if not holds(high):
        return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def gallop(feasible: Callable[[int], bool], lower: int, cap: int) -> int | None:
    """
    The smallest feasible number from `lower` to `cap`, by doubling and bisection; None if the cap is not feasible.
    Right only where all above a feasible number is feasible. Initiation intervals are not of that kind: one is feasible
    then, and a smaller one may be.
    """
    found = least_cap(lambda more: feasible(max(lower, 1) + more), cap - max(lower, 1))
    return None if found is None else max(lower, 1) + found


def spill_surcharge(pressure: int, budget: int = PRESSURE_BUDGET) -> int:
    """0 within the budget; else 17 cycles for each unit beyond it, at most 4096."""
    return 0 if pressure <= budget else min(SURCHARGE * (pressure - budget), MOST_SURCHARGE)


class SeatCosts:
    """
    What it costs to seat `op` beside those that are seated; `distances` are those from some of these, as (op, latency
    less II times distance). Rows are sorted once, so the cost of one cycle takes no walk over all ops.
    """

    def __init__(self, table: ReservationTable, op: int, distances: Sequence[tuple[int, int]]) -> None:
        self._ii = table.ii
        self._first = min((table.starts[other] + length for other, length in distances), default=None)
        others = [(other, at) for other, at in table.starts.items() if other != op]
        self._before = sorted(at % table.ii for other, at in others if other < op)
        self._behind = sorted(at % table.ii for other, at in others if other > op)
        self._stages: dict[int, list[int]] = {}
        for at in table.starts.values():
            self._stages.setdefault(at % table.ii, []).append(at // table.ii)

    def at(self, start: int) -> CostVector:
        """The cost of starting in this cycle."""
        stage, row = divmod(start, self._ii)
        farthest = 0 if self._first is None else start - self._first
        pipe_slot = least_cap(lambda cap: farthest <= cap, max(farthest, 1)) or 0
        stages = self._stages.get(row, [])
        in_row = stages.count(stage)
        carried = len(stages) - in_row
        counted = min(in_row, IN_ITERATION_CAP) + min(carried, CROSS_ITERATION_CAP)
        inversions = len(self._before) - bisect_right(self._before, row) + bisect_right(self._behind, row)
        return CostVector(pipe_slot, counted, spill_surcharge(in_row + carried), inversions, start)


PERMUTE, FUSE, RETRY, COST = "PERMUTE", "FUSE", "RETRY", "COST-BASED"

COMBINER_GID = 4
"""The group whose candidates FUSE compares by what depends on them, not by what they depend on."""

MOST_COSTED = 1 << 20
"""COST-BASED compares each op, behind each other op, with every one; beyond so many comparisons it refuses at once."""

MOST_FUSED = 128
"""FUSE needs all distances, which are cubic in the ops; beyond so many ops it refuses at once."""


@dataclass
class LoopFacts:
    """What the arms ask of a problem, worked out once for all initiation intervals."""

    problem: ModuloProblem

    @cached_property
    def topological(self) -> Mapping[int, int]:
        """Op -> its place in an order in which nothing precedes what it depends on."""
        return {op: place for place, op in enumerate(topological_order(self.problem))}

    @cached_property
    def earliest(self) -> Sequence[int]:
        return earliest_starts(self.problem)

    @cached_property
    def height(self) -> Sequence[int]:
        return heights(self.problem)

    @cached_property
    def _closures(self) -> dict[int, Distances]:
        return {}

    def distances(self, ii: int) -> Distances:
        """All longest paths at `ii`; the last one asked for is kept."""
        if ii not in self._closures:
            self._closures.clear()
            self._closures[ii] = distance_matrix(self.problem, ii)
        return self._closures[ii]

    def by_distance(self, op: int) -> tuple[int, int]:
        return self.earliest[op], self.topological[op]

    def by_height(self, op: int) -> tuple[int, int]:
        return -self.height[op], self.topological[op]


Arm = Callable[[Attempt, LoopFacts, Sequence[int]], bool]
"""
Seats the ops of a group, or returns False. The published RETRY notes an op without a seat as dead in a snapshot, with
which COST-BASED fails, and both run again with fresh ones: that is one run of each, since nothing else has changed.
"""


def _at_earliest(attempt: Attempt, order: Sequence[int], arm: str) -> bool:
    seated: list[int] = []
    for op in order:
        start = next(attempt.seats(op), None)
        if start is None:
            attempt.unseat(seated)
            return False
        attempt.seat(op, start, arm)
        seated.append(op)
    return True


def permute(attempt: Attempt, facts: LoopFacts, group: Sequence[int]) -> bool:
    """Each op at its earliest legal cycle; fails on the first without one."""
    return _at_earliest(attempt, sorted(group, key=facts.by_distance), PERMUTE)


def retry(attempt: Attempt, facts: LoopFacts, group: Sequence[int]) -> bool:
    """The most urgent ops first, each at its earliest legal cycle; fails on the first without one."""
    return _at_earliest(attempt, sorted(group, key=facts.by_height), RETRY)


def cost_based(attempt: Attempt, facts: LoopFacts, group: Sequence[int]) -> bool:
    """Each op in the cycle of the least cost of all that pass the gates."""
    if len(group) ** 3 > MOST_COSTED:
        return False
    seated: list[int] = []
    for op in sorted(group, key=facts.by_height):
        lengths = [
            (e.source, e.latency - attempt.ii * e.distance)
            for e in attempt.problem.incoming[op]
            if e.source in attempt.table.starts
        ]
        costs = SeatCosts(attempt.table, op, lengths)
        best = min(map(costs.at, candidate_seats(attempt, op, follows=bool(lengths))), default=None)
        if best is None:
            attempt.unseat(seated)
            return False
        attempt.seat(op, best.start, COST)
        seated.append(op)
    return True


def candidate_seats(attempt: Attempt, op: int, *, follows: bool) -> Iterator[int]:
    """
    The seats of `op` among which the least cost is. Where it follows an op that is seated, the first entry of the cost
    grows with every cycle, so that is the earliest. Else the cost changes only at rows in which others start, so it is
    one of those or the first seat behind one.
    """
    if follows:
        yield from islice(attempt.seats(op), 1)
        return
    earliest, seats = attempt.seats_as_bits(op)
    rows = sorted({(at - earliest) % attempt.ii for at in attempt.table.starts.values()} | {-earliest % attempt.ii})
    for row, following in pairwise((-1, *rows, attempt.ii)):
        if row >= 0 and seats >> row & 1:
            yield earliest + row
        behind = seats >> (row + 1)
        first = row + (behind & -behind).bit_length()
        if behind and first < following:
            yield earliest + first


# Fusing ---------------------------------------------------------------------------------------------------------------


def fuse(attempt: Attempt, facts: LoopFacts, group: Sequence[int]) -> bool:
    """Pairs side by side, everything else as in PERMUTE."""
    if len(group) > MOST_FUSED:
        return False
    partner = fused_pairs(attempt, facts, group)
    if not partner:
        return False
    seated: list[int] = []
    for op in sorted(group, key=lambda op: max(facts.by_distance(op), facts.by_distance(partner.get(op, op)))):
        if op in attempt.table.starts:
            continue
        ops = (op,) if op not in partner else tuple(sorted((op, partner[op]), key=facts.by_distance))
        if not _seat_together(attempt, ops):
            attempt.unseat(seated)
            return False
        seated += ops
    return True


def _seat_together(attempt: Attempt, ops: Sequence[int]) -> bool:
    """Seat one op, or two so that the second starts when the first gives its slots back."""
    if len(ops) == 1:
        start = next(attempt.seats(ops[0]), None)
        if start is not None:
            attempt.seat(ops[0], start, FUSE)
        return start is not None
    first, second = ops
    rows = attempt.problem.ops[first].rows
    for start in attempt.seats(first):
        if start + rows < attempt.earliest(second):
            continue
        attempt.seat(first, start, FUSE)
        if attempt.passes(second, start + rows):
            attempt.seat(second, start + rows, FUSE)
            return True
        attempt.unseat([first])
    return False


def fused_pairs(attempt: Attempt, facts: LoopFacts, group: Sequence[int]) -> dict[int, int]:
    """
    Op -> partner: no order is required between the two, they take the same slots, and together no more of a pool than
    there is. Candidates come by the structural comparator, and each op has one partner at most.
    """
    distances = facts.distances(attempt.ii)
    problem = attempt.problem
    partner: dict[int, int] = {}
    candidates = sorted(group, key=lambda op: (structure_of(problem, op), facts.by_distance(op)))
    for index, first in enumerate(candidates):
        if first in partner or not problem.ops[first].rows:
            continue
        for second in candidates[index + 1 :]:
            if second in partner or not may_fuse(problem, distances, first, second):
                continue
            partner |= {first: second, second: first}
            break
    return partner


def may_fuse(problem: ModuloProblem, distances: Distances, first: int, second: int) -> bool:
    """Whether two ops may sit side by side."""
    if distances[first, second] != NO_PATH or distances[second, first] != NO_PATH:
        return False
    mine, theirs = problem.ops[first].uses, problem.ops[second].uses
    if {use.slot for use in mine} != {use.slot for use in theirs}:
        return False
    demand: dict[str, int] = {}
    for use in (*mine, *theirs):
        demand[use.slot] = demand.get(use.slot, 0) + use.amount
    return all(total <= max(problem.capacity(slot), 2) for slot, total in demand.items())


def structure_of(problem: ModuloProblem, op: int) -> tuple[int, ...]:
    """What the comparator looks at: what the op depends on; for the combiner's group, what depends on it."""
    if problem.ops[op].constraints.gid == COMBINER_GID:
        return tuple(sorted(edge.sink for edge in problem.outgoing[op]))
    return tuple(sorted(edge.source for edge in problem.incoming[op]))


ARMS: tuple[tuple[str, Arm], ...] = ((PERMUTE, permute), (FUSE, fuse), (RETRY, retry), (COST, cost_based))
"""The published arms in the order in which they are tried."""
