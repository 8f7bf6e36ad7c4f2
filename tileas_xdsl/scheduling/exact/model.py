"""
A problem at a fixed initiation interval as a model of the solver, and its solutions read back as schedules.

Interval variables on a circle, so that the size does not grow with the lengths of delays: no cost is rounded.

The best of the schedules with the least interval and the fewest agents is found by one objective after the other. They
are never added up: each is minimised with the former ones held at their optima.

The partition says who may run what: a producer, rules of the lowering, values that stay, and no two names for one
partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from tileas_xdsl.scheduling.exact.groups import RuleGroup, RuleKind, limits_stages
from tileas_xdsl.scheduling.exact.problem import Rule, Together
from tileas_xdsl.scheduling.exact.resources import add_resources, bytes_in
from tileas_xdsl.scheduling.exact.schedule import Schedule, Transfer, from_time_0, with_natural_origins
from tileas_xdsl.scheduling.exact.solver import Limit, SolverRun
from tileas_xdsl.scheduling.exact.timing import add_timing
from tileas_xdsl.scheduling.exact.variables import MovedValue, Query, Variables

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import LinearExpr


def add_partition(of: Variables) -> None:
    """All constraints on agents; none where there is one."""
    if len(of.agents) == 1:
        return
    if of.problem.has_producer and of.query.keeps(RuleGroup(RuleKind.PRODUCER)):
        _add_producer(of)
    if of.query.keeps(RuleGroup(RuleKind.STAY)):
        for value in of.problem.values:
            if value.move is None:
                _keep_together(of, (value.definition, *(read.op for read in value.uses)))
    for rule in of.problem.rules:
        if of.query.keeps(RuleGroup(RuleKind.RULE, rule.name)):
            _add_rule(of, rule)
    _break_symmetry(of)


def _add_producer(of: Variables) -> None:
    for op, spec in enumerate(of.problem.ops):
        on_producer = of.runs_on[op][0]
        of.model.clause(on_producer if spec.varying_latency else ~on_producer)


def _keep_together(of: Variables, ops: tuple[str, ...]) -> None:
    for one, other in pairwise(ops):
        of.model.clause(~of.apart(one, other))


def _add_rule(of: Variables, rule: Rule) -> None:
    if isinstance(rule, Together):
        _keep_together(of, rule.ops)
    else:
        compute = of.used[1:] if of.problem.has_producer else of.used
        of.model.at_most(of.model.total(compute), rule.count)


def _break_symmetry(of: Variables) -> None:
    """An agent is used only if the one before it holds an earlier op; a producer is first by its ops."""
    first = 1 if of.problem.has_producer else 0
    for agent in of.agents[first + 1 :]:
        for op, choice in enumerate(of.runs_on):
            of.model.clause(*(earlier[agent - 1] for earlier in of.runs_on[:op]), ~choice[agent])
    for before, after in pairwise(of.used):
        of.model.clause(~after, before)


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
