"""
How far apart ops must start: the longest paths of a dependence graph at one initiation interval.

An edge has the length `latency - II * distance`. The longest path from one op to another is the least number of cycles
by which the second starts later, in the same iteration. The closure is that of Floyd and Warshall, over maxima.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from tileas_xdsl.scheduling.modulo.problem import ModuloProblem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Distances = NDArray[np.int64]

NO_PATH = 0x7FFFFFFF
"""Where no path leads; never part of a sum."""


def distance_matrix(problem: ModuloProblem, ii: int) -> Distances:
    """Row: first op, column: second op. `NO_PATH` where neither an edge nor a path leads. Cubic in the ops."""
    import numpy as np  # most loops are scheduled without all distances, and numpy starts slowly

    count = len(problem.ops)
    lowest = np.iinfo(np.int64).min // 4
    longest = np.full((count, count), lowest, np.int64)
    for edge in problem.edges:
        length = edge.latency - ii * edge.distance
        longest[edge.source, edge.sink] = max(longest[edge.source, edge.sink], length)
    for middle in range(count):
        through = longest[:, middle, None] + longest[None, middle, :]
        np.maximum(longest, through, out=longest)
    longest[longest < lowest // 2] = NO_PATH
    return longest


def earliest_starts(problem: ModuloProblem) -> list[int]:
    """
    For each op the earliest cycle in which it can start when resources do not count: the longest path to it over the
    dependences within one iteration. Raises `DependenceCycleError` where these form a cycle.
    """
    starts = [0] * len(problem.ops)
    for op in topological_order(problem):
        for edge in problem.incoming[op]:
            if edge.distance == 0:
                starts[op] = max(starts[op], starts[edge.source] + edge.latency)
    return starts


def heights(problem: ModuloProblem) -> list[int]:
    """For each op the longest path from its start to the end of an iteration."""
    found = [op.latency for op in problem.ops]
    for op in reversed(topological_order(problem)):
        for edge in problem.outgoing[op]:
            if edge.distance == 0:
                found[op] = max(found[op], edge.latency + found[edge.sink])
    return found


class DependenceCycleError(ValueError):
    """Ops of one iteration that all wait for each other: no schedule exists."""

    def __init__(self, ops: tuple[int, ...], names: tuple[str, ...]) -> None:
        self.ops = ops
        super().__init__(f"a cycle of dependences within one iteration: {' -> '.join((*names, names[0]))}")


def topological_order(problem: ModuloProblem) -> list[int]:
    """
    The ops so that each comes after those of the same iteration on which it depends, in program order otherwise (Kahn).
    Raises `DependenceCycleError`.
    """
    missing = [sum(edge.distance == 0 for edge in edges) for edges in problem.incoming]
    ready = [op for op, count in enumerate(missing) if count == 0]
    heapify(ready)
    order: list[int] = []
    while ready:
        op = heappop(ready)
        order.append(op)
        for edge in problem.outgoing[op]:
            if edge.distance == 0:
                missing[edge.sink] -= 1
                if missing[edge.sink] == 0:
                    heappush(ready, edge.sink)
    on_itself = next(
        (e.source for e in problem.edges if e.source == e.sink and e.distance == 0 and e.latency > 0), None
    )
    if on_itself is not None:
        raise DependenceCycleError((on_itself,), (problem.ops[on_itself].name,))
    if len(order) < len(problem.ops):
        cycle = _cycle_among(problem, {op for op, count in enumerate(missing) if count > 0})
        raise DependenceCycleError(cycle, tuple(problem.ops[op].name for op in cycle))
    return order


def _cycle_among(problem: ModuloProblem, left: set[int]) -> tuple[int, ...]:
    """A cycle of the ops that are left: from any of them back along its dependences until one comes again."""
    op = min(left)
    path: list[int] = []
    while op not in path:
        path.append(op)
        op = min(edge.source for edge in problem.incoming[op] if edge.distance == 0 and edge.source in left)
    return tuple(reversed(path[path.index(op) :]))
