"""
The search: every interval from the lower bound on, until one has a schedule; then the fewest agents; then the phases.

That `II - 1` has no schedule does not show that `II` is the least: feasibility is not monotone. Two ops of one row on
one slot that must start exactly 3 cycles apart fit 2 and 4 rows and not 3. So each interval is refuted on its own.
Where nothing must come soon enough (`bounds.py`), one refutation does for all below it; then, from a schedule of a
heuristic, the search goes by halving.

Limits are the solver's deterministic seconds. Each solve gets at most half of what is left, so that one hard interval
does not take all. An interval without an answer is unknown, and never counted as refuted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tileas_xdsl.scheduling.exact.agents import crowded_op
from tileas_xdsl.scheduling.exact.bounds import bounds_of, schedules_stretch, serial_ii
from tileas_xdsl.scheduling.exact.checks import check_problem
from tileas_xdsl.scheduling.exact.explain import explain
from tileas_xdsl.scheduling.exact.halving import Halving
from tileas_xdsl.scheduling.exact.model import Formulation
from tileas_xdsl.scheduling.exact.problem import ExactProblem
from tileas_xdsl.scheduling.exact.result import (
    BindingConflict,
    ExactSchedule,
    NoSchedule,
    Refutation,
    ScheduleSource,
    SearchPhase,
    Trail,
)
from tileas_xdsl.scheduling.exact.schedule import Schedule
from tileas_xdsl.scheduling.exact.solver import Answer, Limit, SolverRun
from tileas_xdsl.scheduling.exact.validate import validate
from tileas_xdsl.scheduling.exact.variables import Query

LEAST_SECONDS = 1e-3
"""What a solve gets when next to nothing is left: enough for what presolve decides."""

FEW_STAGES = (4, 6)
"""Among so many a schedule is sought first, where any will do."""


@dataclass(frozen=True)
class Limits:
    """How far a search goes."""

    seconds: float = 10.0
    """Deterministic seconds of the solver, of all solves together."""
    wall_seconds: float = 600.0
    """Of one solve: a safety net, which makes the result depend on the machine when it is met."""
    explain: bool = True
    """Whether refutations are explained, which takes up to half as many seconds again."""
    phases: bool = True
    """Whether the best of the schedules with the least interval is sought, or any of them will do."""
    last: int | None = None
    """The last interval that is tried, where a larger one is of no use."""


def solve(
    problem: ExactProblem, limits: Limits = Limits(), start: Schedule | None = None
) -> ExactSchedule | NoSchedule:
    """
    The least initiation interval of a problem, with a proof, as far as the limits allow.

    `start` is the schedule of a heuristic: no interval above its own is tried, and it is the answer if limits leave
    nothing better. Raises `ProblemError` for a problem that makes no sense, `ValueError` for a start that is wrong, and
    `SolverMissing` where there is no solver.
    """
    check_problem(problem)
    if start is not None:
        _check_start(problem, start)
    return _Search(problem, limits, start).run()


def any_schedule(problem: ExactProblem, ii: int, seconds: float) -> Schedule | None:
    """
    A schedule of few stages with that interval, and with starts as early as can be had, if one is found within so many
    deterministic seconds of the solver. Where registers are short this is much the smaller question; that there is none
    proves nothing.
    """
    limit = Limit(seconds / len(FEW_STAGES), Limits().wall_seconds)
    for stages in FEW_STAGES:
        formulation = Formulation(Query(problem, ii, problem.agents, few_stages=stages))
        _, schedule = formulation.solve(limit)
        if schedule is not None:
            _, objective = formulation.objectives[-1]
            formulation.minimise(objective)
            return formulation.solve(limit)[1] or schedule
    return None


def _check_start(problem: ExactProblem, start: Schedule) -> None:
    findings = validate(problem, start)
    if findings:
        raise ValueError(f"the schedule to start from is wrong: {findings[0]}")


def _from_time_0(query: Query, phases: list[SearchPhase], schedule: Schedule) -> Formulation:
    """The formulation for the sum of starts, with the optima of the phases before it."""
    formulation = Formulation(replace(query, from_time_0=True))
    for phase, (_, objective) in zip(phases, formulation.objectives, strict=False):
        formulation.hold(objective, phase.value)
    formulation.hint(schedule)
    return formulation


def _may_move(query: Query) -> bool:
    """Whether moves are possible, and are a cost."""
    moves = [value.move for value in query.problem.values if value.move is not None]
    return query.agents > 1 and bool(moves) and all(move.bytes for move in moves)


def _without_moves(query: Query) -> Query:
    still = tuple(replace(value, move=None) for value in query.problem.values)
    return replace(query, problem=replace(query.problem, values=still))


@dataclass
class _Search:
    """One run of `solve`, and what it has found out so far."""

    problem: ExactProblem
    limits: Limits
    start: Schedule | None
    left: float = field(init=False)
    left_to_explain: float = field(init=False)
    spent: float = 0.0
    refuted: list[Refutation] = field(default_factory=list[Refutation])
    unknown: list[int] = field(default_factory=list[int])
    hit: list[str] = field(default_factory=list[str])
    late: bool = False

    def __post_init__(self) -> None:
        self.left = self.limits.seconds
        self.left_to_explain = self.limits.seconds / 2
        self.bounds = bounds_of(self.problem)

    def run(self) -> ExactSchedule | NoSchedule:
        crowd = crowded_op(self.problem)
        if crowd is not None:
            ii, agents = self.bounds.mii, self.problem.agents
            conflict = BindingConflict(ii, agents, (crowd.group,), (str(crowd),), irreducible=True)
            return NoSchedule(self.problem, self._trail(), ii, complete=True, conflict=conflict, at_any_ii=True)
        last = serial_ii(self.problem, self.problem.agents) if self.start is None else self.start.ii
        last = max(last, self.bounds.mii)
        if self.limits.last is not None:
            last = min(last, self.limits.last)
        for ii in range(self.bounds.mii, last + 1):
            if self.left <= 0:
                break
            found = self._try(ii)
            if found is not None:
                return found
            if self.start is not None and self.start.ii == last and schedules_stretch(self.problem):
                return self._halve(self.start)
        return self._nothing_found(last)

    # Intervals and agents ---------------------------------------------------------------------------------------------

    def _try(self, ii: int) -> ExactSchedule | None:
        """The schedule with that interval and the fewest agents, if there is one."""
        most = self.problem.agents
        formulation, schedule = self._solve(Query(self.problem, ii, most))
        if schedule is None:
            return None
        fewest_proven = True
        for agents in range(self.problem.fewest_agents, schedule.agent_count):
            known = len(self.unknown)
            smaller, better = self._solve(Query(self.problem, ii, agents))
            if better is not None:
                formulation, schedule = smaller, better
                break
            fewest_proven &= len(self.unknown) == known
            del self.unknown[known:]
        return self._best(formulation, schedule, fewest_proven)

    def _halve(self, start: Schedule) -> ExactSchedule | NoSchedule:
        """Where one refutation does for all below it: between the first interval and that of `start`."""
        refuted_up_to = max((it.ii for it in self.refuted), default=self.bounds.mii - 1)
        halving = Halving(self.problem, refuted_up_to, start, max(self.left, 0))
        halving.run()
        self.refuted += halving.refuted
        self.spent += halving.spent
        self.left -= halving.spent
        self.start = halving.schedule
        self.unknown = list(range(halving.refuted_up_to + 1, self.start.ii))
        if self.unknown:
            self._note(f"II = {self.unknown[-1]} was given up")
        return self._try(self.start.ii) or self._nothing_found(self.start.ii)

    def _solve(self, query: Query) -> tuple[Formulation, Schedule | None]:
        """First without moves, which is much the smaller question: a schedule that needs none is the better one."""
        if _may_move(query):
            formulation = Formulation(_without_moves(query))
            _, schedule = self._run(formulation)
            if schedule is not None:
                return formulation, schedule
        formulation = Formulation(query)
        run, schedule = self._run(formulation)
        if run.answer is Answer.INFEASIBLE:
            self.refuted.append(Refutation(query.ii, query.agents, query.stages, run.seconds))
        elif schedule is None:
            self.unknown.append(query.ii)
            self._note(f"II = {query.ii} with up to {query.agents} agents was given up")
        return formulation, schedule

    def _run(self, formulation: Formulation) -> tuple[SolverRun, Schedule | None]:
        """Solve with half of what is left."""
        run, schedule = formulation.solve(Limit(max(self.left / 2, LEAST_SECONDS), self.limits.wall_seconds))
        self.spent += run.seconds
        self.left -= run.seconds
        self.late |= run.out_of_wall_time
        return run, schedule

    def _note(self, what: str) -> None:
        self.hit.append(f"{what} after {self.spent:.3g} of {self.limits.seconds:g} deterministic seconds")

    # Phases -----------------------------------------------------------------------------------------------------------

    def _best(self, formulation: Formulation, schedule: Schedule, fewest_proven: bool) -> ExactSchedule:
        phases: list[SearchPhase] = []
        names = [name for name, _ in formulation.objectives] if self.limits.phases else []
        for place, name in enumerate(names):
            if place == len(names) - 1:
                formulation = _from_time_0(formulation.query, phases, schedule)
            objective = formulation.objectives[place][1]
            formulation.minimise(objective)
            run, better = self._run(formulation)
            if better is None:
                self._note(f"the phase '{name}' was given up")
                break
            schedule, value = better, run.value(objective)
            phases.append(SearchPhase(name, value, run.bound, run.answer is Answer.OPTIMAL))
            if not phases[-1].proven:
                self._note(f"the phase '{name}' was ended")
                break
            formulation.hold(objective, value)
        return self._result(schedule, ScheduleSource.SOLVER, tuple(phases), fewest_proven)

    # Results ----------------------------------------------------------------------------------------------------------

    def _result(
        self, schedule: Schedule, source: ScheduleSource, phases: tuple[SearchPhase, ...], fewest_proven: bool
    ) -> ExactSchedule:
        findings = validate(self.problem, schedule)
        assert not findings, f"the solver's schedule is wrong: {findings[0]}"
        self._explain(schedule.ii)
        return ExactSchedule(self.problem, schedule, source, self._trail(), phases, fewest_proven)

    def _nothing_found(self, last: int) -> ExactSchedule | NoSchedule:
        if self.start is not None:
            return self._result(self.start, ScheduleSource.HEURISTIC, (), fewest_proven=False)
        self._explain(last + 1)
        tried = [it.ii for it in self.refuted] + self.unknown
        conflicts = [it.conflict for it in self.refuted if it.conflict is not None]
        complete = len(self.refuted) == last - self.bounds.mii + 1
        return NoSchedule(self.problem, self._trail(), max(tried), complete, conflicts[-1] if conflicts else None)

    def _trail(self) -> Trail:
        return Trail(
            self.bounds,
            tuple(self.refuted),
            tuple(self.unknown),
            self.spent,
            tuple(self.hit),
            nondeterministic=self.late,
        )

    # Reasons ----------------------------------------------------------------------------------------------------------

    def _explain(self, ii: int) -> None:
        """Why the largest smaller interval was refuted; and why fewer agents were, at this one."""
        if not self.limits.explain:
            return
        smaller = [place for place, it in enumerate(self.refuted) if it.ii < ii]
        fewer = [place for place, it in enumerate(self.refuted) if it.ii == ii]
        for place in (*smaller[-1:], *fewer[-1:]):
            it = self.refuted[place]
            conflict = self._conflict(Query(self.problem, it.ii, it.agents))
            self.refuted[place] = Refutation(it.ii, it.agents, it.stages, it.seconds, conflict)

    def _conflict(self, query: Query) -> BindingConflict:
        def ask(weaker: Query) -> Answer:
            if _may_move(weaker) and once(_without_moves(weaker)).has_solution:
                return Answer.FEASIBLE
            return once(weaker)

        def once(weaker: Query) -> Answer:
            limit = Limit(max(self.left_to_explain / 4, LEAST_SECONDS), self.limits.wall_seconds)
            run, _ = Formulation(weaker).solve(limit)
            self.left_to_explain -= run.seconds
            self.late |= run.out_of_wall_time
            return run.answer

        return explain(query, ask)
