"""
What the best of the schedules with the least interval and the fewest agents is, one objective after the other.

They are never added up: each is minimised with the former ones held at their optima.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileas_xdsl.scheduling.exact.resources import bytes_in
from tileas_xdsl.scheduling.exact.variables import Variables

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import LinearExpr


def objectives(of: Variables) -> Iterator[tuple[str, LinearExpr]]:
    """Name and expression of each phase, in their order; the sum of starts is the last."""
    joint = len(of.agents) > 1
    if joint:
        yield "moved register bytes", of.model.total(here * it.move.bytes for it in of.moved for here in it.arrives)
        yield "peeled stages", of.model.total(of.stage_counts) - len(of.agents)
    else:
        yield "stages", of.stage_counts[0]
    for space in of.problem.machine.spaces:
        yield f"{space.name} bytes", bytes_in(of, space.name)
    if joint:
        yield "handshakes", _signals(of)
    yield "sum of starts", of.model.total(point.time for point in of.executions) - of.first * len(of.executions)


def _signals(of: Variables) -> LinearExpr:
    dependences = [of.apart(it.source, it.sink) for it in of.problem.dependences]
    releases = [of.apart(ring.writer, read.op) for ring in of.problem.rings for read in ring.readers]
    return of.model.total([*dependences, *releases])
