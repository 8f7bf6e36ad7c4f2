"""
Iterative modulo scheduling: an arm of our own, which runs after the published ones.

The most urgent op, by the longest path to the end of the iteration, is seated at its earliest cycle. Where no cycle is
free it takes one all the same, later than its last one, and whoever stands in the way, or starts too early now, is
ejected and has to be seated again. The number of seats is limited. (Rau, "Iterative Modulo Scheduling", MICRO 1994.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from random import Random

from tileas_xdsl.scheduling.modulo.arms import LoopFacts
from tileas_xdsl.scheduling.modulo.attempt import Attempt

EJECTION = "EJECTION"

SEATS_PER_OP = 6
"""How often an op is seated on average before the arm gives up."""

MOST_SEATS = 1200
"""The most seats in one attempt, but for one seat for each op."""


Priority = Callable[[int], tuple[int, ...]]
"""Of an op; the least comes first."""

MOST_RESTARTS = 40
"""How many more orders are tried, each drawn from a fixed seed; small problems can afford it."""

SMALL = 64
"""A problem of no more ops is tried in further orders."""


def eject(attempt: Attempt, facts: LoopFacts) -> bool:
    """Seat all ops of the problem. On failure the table is as it was, empty."""
    return any(_in_order(attempt, priority) for priority in _priorities(facts))


def _priorities(facts: LoopFacts) -> Iterator[Priority]:
    """By height; for small problems then by footprint, and by heights that are shaken a little, always alike."""
    yield facts.by_height
    ops = facts.problem.ops
    if len(ops) > SMALL:
        return
    yield lambda op: (-ops[op].rows, -facts.height[op], op)
    for seed in range(MOST_RESTARTS):
        draw = Random(seed)
        shaken = [draw.random() for _ in ops]
        rank = sorted(range(len(ops)), key=lambda op: -facts.height[op] * (0.5 + shaken[op]))
        place = {op: number for number, op in enumerate(rank)}
        yield lambda op, place=place: (place[op],)


def _in_order(attempt: Attempt, priority: Priority) -> bool:
    count = len(attempt.problem.ops)
    before = dict(attempt.table.starts)
    waiting = [(priority(op), op) for op in range(count) if op not in before]
    waiting.sort()
    never = dict.fromkeys(range(count), -1)
    budget = max(min(SEATS_PER_OP * count, MOST_SEATS), 2 * count)
    while waiting:
        _, op = heappop(waiting)
        if op in attempt.table.starts:
            continue
        if budget == 0 or not _seat(attempt, priority, op, never, waiting):
            attempt.unseat([op for op in list(attempt.table.starts) if op not in before])
            return False
        budget -= 1
    return True


def _seat(
    attempt: Attempt,
    priority: Priority,
    op: int,
    last: dict[int, int],
    waiting: list[tuple[tuple[int, ...], int]],
) -> bool:
    """Seat `op`, and put those whom that ejects back to `waiting`. False where it cannot start at all any more."""
    earliest = attempt.earliest(op)
    stage = attempt.stage_of_group(op)
    if stage is not None:
        earliest = max(earliest, stage * attempt.ii)
    limit = attempt.problem.stage_limit(op) * attempt.ii - 1
    start = attempt.table.first_fit(op, earliest, min(limit, earliest + attempt.ii - 1))
    if start is None:
        start = max(earliest, last[op] + 1)
    if start > limit or start + attempt.problem.ops[op].latency > attempt.problem.ceiling:
        return False
    last[op] = start
    is_free = attempt.table.fits(op, start)
    ejected = set[int]() if is_free else set(attempt.table.holders(op, start))
    ejected |= _too_early(attempt, op, start)
    ejected |= {
        other
        for other in attempt.group_of.get(op, ())
        if other in attempt.table.starts and attempt.table.starts[other] // attempt.ii != start // attempt.ii
    }
    attempt.unseat(sorted(ejected))
    for other in sorted(ejected):
        heappush(waiting, (priority(other), other))
    if not (is_free or attempt.table.fits(op, start)):
        return False
    attempt.seat(op, start, EJECTION)
    return True


def _too_early(attempt: Attempt, op: int, start: int) -> set[int]:
    """The seated ops that depend on `op` and would start before they may."""
    starts, ii = attempt.table.starts, attempt.ii
    return {
        edge.sink
        for edge in attempt.problem.outgoing[op]
        if edge.sink in starts and starts[edge.sink] + ii * edge.distance < start + edge.latency
    }
