"""
What the cost-based arm minimises: a vector that is compared entry by entry, never added up.

1. the pipe-slot score: the smallest cap that no distance from an op that is seated exceeds;
2. the bank pressure: slots that this iteration holds in the row, and those that are carried over from earlier ones,
   each counted up to a cap; then a surcharge for what exceeds the budget;
3. how far the op is out of program order, and how late it starts.

Hard legality (reservations, pools, ceilings) is asked before, so no entry says it. Caps are sought by doubling, then
bisection. Nothing here changes the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tileas_xdsl.scheduling.modulo.reservation import ReservationTable

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
    Right only where all above a feasible number is feasible: initiation intervals are not of that kind.
    """
    found = least_cap(lambda more: feasible(max(lower, 1) + more), cap - max(lower, 1))
    return None if found is None else max(lower, 1) + found


def spill_surcharge(pressure: int, budget: int = PRESSURE_BUDGET) -> int:
    """0 within the budget; else 17 cycles for each unit beyond it, at most 4096."""
    return 0 if pressure <= budget else min(SURCHARGE * (pressure - budget), MOST_SURCHARGE)


def cost_of(table: ReservationTable, op: int, start: int, distances: Sequence[tuple[int, int]]) -> CostVector:
    """
    The cost of seating `op` at `start`; `distances` are those from ops that are seated, as (op, latency less II times
    distance).
    """
    gaps = [start - table.starts[other] - length for other, length in distances]
    farthest = max(gaps, default=0)
    pipe_slot = least_cap(lambda cap: farthest <= cap, max(farthest, 1)) or 0
    in_row, carried = pressure(table.starts, table.ii, start)
    counted = min(in_row, IN_ITERATION_CAP) + min(carried, CROSS_ITERATION_CAP)
    inversions = sum(
        (other < op) != (at % table.ii <= start % table.ii) for other, at in table.starts.items() if other != op
    )
    return CostVector(pipe_slot, counted, spill_surcharge(in_row + carried), inversions, start)


def pressure(starts: Mapping[int, int], ii: int, start: int) -> tuple[int, int]:
    """How many ops that are seated start in the row of `start` in the same stage, and in other stages."""
    same_row = [at for at in starts.values() if at % ii == start % ii]
    in_iteration = sum(at // ii == start // ii for at in same_row)
    return in_iteration, len(same_row) - in_iteration
