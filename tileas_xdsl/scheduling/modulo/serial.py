"""
The serial schedule: one op after the other, in one stage.

Kahn's algorithm over the dependences of one iteration, ready ops in program order. No search, no table, no ranking: the
initiation interval is the sum of all latencies.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileas_xdsl.scheduling.modulo.bounds import Bounds, positive_cycle
from tileas_xdsl.scheduling.modulo.distances import topological_order
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem
from tileas_xdsl.scheduling.modulo.schedule import ModuloSchedule, Strategy

SERIAL_ARM = "SERIAL"


def serial_schedule(problem: ModuloProblem, bounds: Bounds) -> ModuloSchedule:
    """The serial schedule of `problem`. Raises `DependenceCycleError` where the ops wait for each other in a circle."""
    starts = [0] * len(problem.ops)
    cycle = 0
    for op in topological_order(problem):
        ready = (starts[e.source] + e.latency for e in problem.incoming[op] if e.distance == 0)
        cycle = starts[op] = max(cycle, *ready, 0)
        cycle += problem.ops[op].rows
    end = max((starts[op] + max(problem.ops[op].latency, problem.ops[op].rows) for op in range(len(starts))), default=0)
    ii = _shortest(problem, starts, max(end, bounds.res.value, bounds.rec.value, 1))
    return ModuloSchedule(problem, ii, tuple(starts), Strategy.SERIAL, bounds, (SERIAL_ARM,) * len(starts))


def _shortest(problem: ModuloProblem, starts: Sequence[int], ii: int) -> int:
    """`ii`, or more where a dependence between iterations asks for it."""
    for edge in problem.edges:
        if edge.distance > 0:
            ii = max(ii, -(-(starts[edge.source] + edge.latency - starts[edge.sink]) // edge.distance))
    assert positive_cycle(problem, ii) is None
    return ii
