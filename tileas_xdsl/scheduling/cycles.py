"""
Graphs of dependences as difference constraints: what an edge asks, cycles, and the least period that they allow.

An edge says `start[sink] + period * distance >= start[source] + latency`. A period is possible if no cycle has a
positive sum of `latency - period * distance`; the least one is the largest ratio of latency to distance over all cycles
(Lawler, "Optimal Cycles in Doubly Weighted Directed Linear Graphs", 1967). Ratios are exact fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class TimedEdge:
    """A dependence between the ops, or other nodes, number `source` and `sink`."""

    source: int
    sink: int
    latency: int
    """May be negative."""
    distance: int = 0
    reason: str = ""

    def slack(self, starts: Mapping[int, int], period: int) -> int:
        """By how many cycles the sink starts later than it must; negative where it is too early."""
        return starts[self.sink] + period * self.distance - starts[self.source] - self.latency


Cycle = tuple[TimedEdge, ...]


def largest_ratio(nodes: int, edges: Sequence[TimedEdge]) -> Cycle | None:
    """
    A cycle whose ratio of latency to distance is the largest, where that is positive; None where no ratio is.

    Every cycle of positive latency must have a positive distance.
    """
    best: Cycle | None = None
    ratio = Fraction(0)
    while (cycle := worst_cycle(nodes, edges, ratio)) is not None:
        best, ratio = cycle, ratio_of(cycle)
    return best


def ratio_of(cycle: Cycle) -> Fraction:
    """The least period that `cycle` allows."""
    return Fraction(sum(edge.latency for edge in cycle), sum(edge.distance for edge in cycle))


def worst_cycle(nodes: int, edges: Sequence[TimedEdge], period: Fraction | int) -> Cycle | None:
    """A cycle that forbids `period`, or None; by longest paths (Bellman and Ford)."""
    weighted = _weighted(edges, period)
    longest = [0] * nodes
    reached: list[TimedEdge | None] = [None] * nodes
    for _ in range(nodes):
        changed = False
        for edge, weight in weighted:
            if longest[edge.source] + weight > longest[edge.sink]:
                longest[edge.sink] = longest[edge.source] + weight
                reached[edge.sink] = edge
                changed = True
        if not changed:
            return None
        if (cycle := _closed_cycle(reached)) is not None:
            return cycle
    return _closed_cycle(reached)


def earliest_starts(nodes: int, edges: Sequence[TimedEdge], period: int) -> list[int] | None:
    """The least starts, all at least 0, that satisfy the edges; None where a cycle forbids the period."""
    starts = [0] * nodes
    for _ in range(nodes):
        changed = False
        for edge in edges:
            least = starts[edge.source] + edge.latency - period * edge.distance
            if least > starts[edge.sink]:
                starts[edge.sink] = least
                changed = True
        if not changed:
            return starts
    return None


def _weighted(edges: Sequence[TimedEdge], period: Fraction | int) -> list[tuple[TimedEdge, int]]:
    """Edges with their weights, all multiplied by the denominator of the period, so that they are whole."""
    exact = Fraction(period)
    return [(edge, edge.latency * exact.denominator - edge.distance * exact.numerator) for edge in edges]


def _closed_cycle(reached: Sequence[TimedEdge | None]) -> Cycle | None:
    """A cycle of the edges by which nodes were last reached, begun at its lowest node: it has a positive sum."""
    seen: dict[int, int] = {}
    for start in range(len(reached)):
        node = start
        while node not in seen and reached[node] is not None:
            seen[node] = start
            node = _source(reached, node)
        if seen.get(node) == start and reached[node] is not None:
            return _cycle_through(reached, node)
        seen.setdefault(node, start)
    return None


def _cycle_through(reached: Sequence[TimedEdge | None], node: int) -> Cycle:
    backwards: list[TimedEdge] = []
    at = node
    while not backwards or at != node:
        edge = reached[at]
        assert edge is not None
        backwards.append(edge)
        at = edge.source
    forwards = backwards[::-1]
    first = min(range(len(forwards)), key=lambda place: forwards[place].source)
    return tuple(forwards[first:] + forwards[:first])


def _source(reached: Sequence[TimedEdge | None], node: int) -> int:
    edge = reached[node]
    assert edge is not None
    return edge.source
