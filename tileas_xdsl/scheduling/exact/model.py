"""
A problem at a fixed initiation interval as a model of the solver, and its solutions read back as schedules.

Interval variables on a circle, so that the size does not grow with the lengths of delays: no cost is rounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileas_xdsl.scheduling.exact.groups import limits_stages
from tileas_xdsl.scheduling.exact.objectives import objectives
from tileas_xdsl.scheduling.exact.partition import add_partition
from tileas_xdsl.scheduling.exact.resources import add_resources
from tileas_xdsl.scheduling.exact.schedule import Schedule, Transfer, from_time_0, with_natural_origins
from tileas_xdsl.scheduling.exact.solver import Limit, SolverRun
from tileas_xdsl.scheduling.exact.timing import add_timing
from tileas_xdsl.scheduling.exact.variables import MovedValue, Query, Variables

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import LinearExpr


class Formulation:
    """The model of a query. Solves may follow one another, each from the solution of the last one."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._of = Variables(query)
        add_partition(self._of)
        add_timing(self._of)
        add_resources(self._of)
        self.objectives = tuple(objectives(self._of))

    def solve(self, limit: Limit) -> tuple[SolverRun, Schedule | None]:
        """What the solver says, and the schedule where there is one."""
        run = self._of.model.solve(limit)
        if not run.answer.has_solution:
            return run, None
        self._of.model.hint(run)
        return run, self._read(run)

    def minimise(self, objective: LinearExpr) -> None:
        """Ask for the least of `objective` from now on."""
        self._of.model.minimise(objective)

    def hold(self, objective: LinearExpr, value: int) -> None:
        """Keep `objective` at its optimum from now on."""
        self._of.model.forget_objective()
        self._of.model.at_most(objective, value)

    def hint(self, schedule: Schedule) -> None:
        """Begin the next solve near a schedule of the same problem, which this model may not have found itself."""
        of = self._of
        hints = [(point.stage, time // of.ii) for point, time in zip(of.executions, schedule.starts, strict=True)]
        hints += [(point.row, time % of.ii) for point, time in zip(of.executions, schedule.starts, strict=True)]
        hints += list(zip(of.copies, schedule.copies, strict=True))
        of.model.hint_some(hints)

    def _read(self, run: SolverRun) -> Schedule:
        of = self._of
        agents = tuple(next(agent for agent in of.agents if run.value(choice[agent])) for choice in of.runs_on)
        schedule = Schedule(
            of.ii,
            tuple(run.value(point.time) for point in of.executions),
            tuple(run.value(point.time) for point in of.issues),
            agents,
            tuple(run.value(copies) for copies in of.copies),
            tuple(run.value(origin) for origin in of.origins[: 1 + max(agents)]),
            tuple(self._transfer(it, agents, run) for it in of.moved if run.value(it.leaves)),
        )
        return from_time_0(schedule if limits_stages(of.problem) else with_natural_origins(schedule))

    def _transfer(self, it: MovedValue, agents: tuple[int, ...], run: SolverRun) -> Transfer:
        arrivals = zip(self._of.agents, it.arrives, it.reads, strict=True)
        reads = tuple((agent, run.value(read.time)) for agent, arrives, read in arrivals if run.value(arrives))
        sender = agents[self._of.problem.positions[it.value.definition]]
        return Transfer(it.value.name, sender, run.value(it.write.time), reads, run.value(it.copies))
