"""
Decomposed software pipelining: an arm of our own for loops whose rows must be packed without a gap.

First every op gets a row, as if there were no dependences: ops in the order of the kernel, which begins with one of the
longest and goes on in the order of dependences, each in the first free rows behind the one before it. Then every op
gets a stage: the least for which all dependences hold, a system of difference constraints. It has a solution unless a
cycle of dependences takes longer than its iterations. (Wang and Eisenbeis, "Decomposed Software Pipelining", 1994.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tileas_xdsl.scheduling.modulo.arms import LoopFacts
from tileas_xdsl.scheduling.modulo.attempt import Attempt
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem
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
        return True
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
