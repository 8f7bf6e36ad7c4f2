"""
All ops at one initiation interval: group by group the four arms, then those of our own.

Groups come in the order of their first ops: each leader group, and what belongs to none as one group. Where all four
arms refuse a group, two arms of our own try to seat everything anew: the decomposed one, then the one that ejects.

Iterative modulo scheduling: an arm of our own, which runs after the published ones.

The most urgent op, by the longest path to the end of the iteration, is seated at its earliest cycle. Where no cycle is
free it takes one all the same, later than its last one, and whoever stands in the way, or starts too early now, is
ejected and has to be seated again. The number of seats is limited. (Rau, "Iterative Modulo Scheduling", MICRO 1994.)

Decomposed software pipelining: an arm of our own for loops whose rows must be packed without a gap.

First every op gets a row, as if there were no dependences: ops in the order of the kernel, which begins with one of the
longest and goes on in the order of dependences, each in the first free rows behind the one before it. Then every op
gets a stage: the least for which all dependences hold, a system of difference constraints. It has a solution unless a
cycle of dependences takes longer than its iterations. (Wang and Eisenbeis, "Decomposed Software Pipelining", 1994.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from heapq import heappop, heappush
from random import Random

from tileas_xdsl.scheduling.modulo.arms import ARMS, LoopFacts
from tileas_xdsl.scheduling.modulo.attempt import Attempt
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem
from tileas_xdsl.scheduling.modulo.queues import serve_in_order
from tileas_xdsl.scheduling.modulo.reservation import ReservationTable

DECOMPOSED = "DECOMPOSED"

MOST_BEGINNINGS = 6
"""How many ops the kernel is tried to begin with."""


def decompose(attempt: Attempt, facts: LoopFacts) -> bool:
    """Seat all ops of the problem in an empty table, or leave it empty."""
    for order in _kernel_orders(facts):
        rows = _packed(attempt.problem, attempt.ii, order)
        stages = None if rows is None else _least_stages(attempt.problem, attempt.ii, rows)
        if rows is None or stages is None:
            continue
        for op, row in enumerate(rows):
            attempt.seat(op, stages[op] * attempt.ii + row, DECOMPOSED)
        if serve_in_order(attempt):
            return True
        attempt.unseat(list(attempt.table.starts))
    return False


def _kernel_orders(facts: LoopFacts) -> Iterator[Sequence[int]]:
    """The order of dependences, turned so that it begins with one of the longest ops."""
    order = sorted(facts.topological, key=facts.by_distance)
    ops = facts.problem.ops
    longest = sorted(order, key=lambda op: (-ops[op].rows, facts.topological[op]))
    for first in longest[:MOST_BEGINNINGS]:
        at = order.index(first)
        yield (*order[at:], *order[:at])


def _packed(problem: ModuloProblem, ii: int, order: Sequence[int]) -> list[int] | None:
    """A row for each op, or None where some op finds no room."""
    table = ReservationTable(problem, ii)
    behind = 0
    for op in order:
        row = table.first_fit(op, behind, behind + ii - 1)
        if row is None:
            return None
        table.enter(op, row % ii)
        behind = (row + min((use.rows for use in problem.ops[op].uses), default=0)) % ii
    return [table.starts[op] for op in range(len(problem.ops))]


def _least_stages(problem: ModuloProblem, ii: int, rows: Sequence[int]) -> list[int] | None:
    """The least stages that keep every dependence, or None where a cycle or a limit forbids (Bellman and Ford)."""
    gaps = [
        (edge.source, edge.sink, -(-(rows[edge.source] + edge.latency - rows[edge.sink]) // ii) - edge.distance)
        for edge in problem.edges
    ]
    stages = [0] * len(rows)
    for _ in range(len(rows) + 1):
        changed = False
        for source, sink, gap in gaps:
            if stages[source] + gap > stages[sink]:
                stages[sink], changed = stages[source] + gap, True
        for group in problem.groups:
            latest = max(stages[op] for op in group)
            for op in group:
                changed |= stages[op] < latest
                stages[op] = latest
        if not changed:
            return stages if _within_limits(problem, ii, rows, stages) else None
    return None


def _within_limits(problem: ModuloProblem, ii: int, rows: Sequence[int], stages: Sequence[int]) -> bool:
    return all(
        stages[op] < problem.stage_limit(op) and stages[op] * ii + rows[op] + problem.ops[op].latency <= problem.ceiling
        for op in range(len(rows))
    )


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
    for priority in _priorities(facts):
        if _in_order(attempt, priority):
            if serve_in_order(attempt):
                return True
            attempt.unseat(list(attempt.table.starts))
    return False


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


EVERY_ARM = (*(name for name, _ in ARMS), DECOMPOSED, EJECTION)
"""The names of the arms in the order in which they are tried."""


def place(facts: LoopFacts, ii: int, arms: Collection[str] = EVERY_ARM) -> Attempt | None:
    """A complete attempt at `ii`, by the arms that are named; None where they find none."""
    problem = facts.problem
    if not all(_self_fits(problem, op, ii) for op in range(len(problem.ops))):
        return None
    pending = frozenset(number for number, op in enumerate(problem.ops) if op.constraints.is_pending)
    for held_over in (pending, frozenset[int]()) if pending else (frozenset[int](),):
        attempt = Attempt(problem, ii, held_over)
        if all(_win(attempt, facts, group, arms) for group in groups_in_order(problem)) and serve_in_order(attempt):
            return attempt
    attempt = Attempt(problem, ii)
    if DECOMPOSED in arms and decompose(attempt, facts):
        return attempt
    return attempt if EJECTION in arms and eject(attempt, facts) else None


def _self_fits(problem: ModuloProblem, op: int, ii: int) -> bool:
    """Whether the footprint of an op, folded onto II rows, leaves room for itself."""
    return all(-(-use.rows // ii) * use.amount <= problem.capacity(use.slot) for use in problem.ops[op].uses)


def groups_in_order(problem: ModuloProblem) -> list[tuple[int, ...]]:
    """The leader groups and the rest, by their first ops."""
    grouped = {op for group in problem.groups for op in group}
    rest = tuple(op for op in range(len(problem.ops)) if op not in grouped)
    return sorted((*problem.groups, *((rest,) if rest else ())))


def _win(attempt: Attempt, facts: LoopFacts, group: tuple[int, ...], arms: Collection[str]) -> bool:
    """Whether an arm seats a group; none seats one with an op that is held over."""
    if attempt.held_over.intersection(group):
        return False
    return any(arm(attempt, facts, group) for name, arm in ARMS if name in arms)
