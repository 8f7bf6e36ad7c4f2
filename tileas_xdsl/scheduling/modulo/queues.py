"""
The queues of engines: each serves works in the order in which they are ready, one after the other.

A work is ready once all that it depends on lets it begin, its issue included. A schedule can't have it served later
than another one that is ready after it: the engine doesn't know of a better order.

    ready     a 21   b 33                      a and b are both ready in the same order in which they are served:
    served    a 21 .. 53   b 53 .. 85          a right schedule
    served    b 33 .. 65   a 67 .. 99          a wrong one: at cycle 21 nothing keeps the engine from a
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from tileas_xdsl.scheduling.modulo.attempt import Attempt
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem


def keeps_queues(problem: ModuloProblem, starts: Mapping[int, int], ii: int) -> bool:
    """
    Whether the engines serve all works in order, of whatever iterations. The works and what they depend on have starts.

    The work that is ready `later` cycles after another one is served `behind` cycles after it. The instance of the
    first that comes `k` iterations later is before the other in one order and behind it in the other exactly if
    `k * ii` lies between these two numbers.
    """
    for works in problem.queues:
        ready = {work: _ready(problem, starts, ii, work) for work in works}
        for one, other in combinations(works, 2):
            least, most = sorted((ready[other] - ready[one], starts[other] - starts[one]))
            if least < (most - 1) // ii * ii:
                return False
    return True


def serve_in_order(attempt: Attempt) -> bool:
    """
    Whether the engines can serve the works of a complete attempt in order. Where they are not, each work is moved to
    the cycle in which its engine comes to it.
    """
    problem, table, ii = attempt.problem, attempt.table, attempt.ii
    if keeps_queues(problem, table.starts, ii):
        return True
    arms = dict(attempt.arms)
    served = [seat for works in problem.queues for seat in _served(attempt, works)]
    attempt.unseat([work for work, _ in served])
    for work, start in served:
        earliest, latest = attempt.earliest(work), min(attempt.latest(work), problem.stage_limit(work) * ii - 1)
        if not (earliest <= start <= latest and table.fits(work, start)):
            return False
        attempt.seat(work, start, arms[work])
    return keeps_queues(problem, table.starts, ii)


def _served(attempt: Attempt, works: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Each work with the cycle in which one engine begins it: when it is ready, and those before it are done."""
    problem, ii = attempt.problem, attempt.ii
    ready = {work: _ready(problem, attempt.table.starts, ii, work) for work in works}
    line = sorted(works, key=lambda work: (ready[work] % ii, work))
    free = 0
    begins = dict[int, int]()
    for turn in range(2):
        for work in line:
            begins[work] = max(ready[work] % ii + turn * ii, free)
            free = begins[work] + problem.ops[work].rows
    for work in line:
        yield work, begins[work] - ii + ready[work] // ii * ii


def _ready(problem: ModuloProblem, starts: Mapping[int, int], ii: int, work: int) -> int:
    """The cycle from which on nothing but its engine keeps a work from its start."""
    return max(starts[edge.source] + edge.latency - ii * edge.distance for edge in problem.incoming[work])
