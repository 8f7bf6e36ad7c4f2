"""
The one module that knows the solver, CP-SAT of OR-tools: how a model is built, and how it is run.

It is loaded with the first model (`pip install 'tileas-xdsl[exact]'`).

One worker and a fixed seed, with limits in the solver's deterministic time: the same question always gets the same
answer. Several workers give different solutions, and versions of the solver have answered wrongly with many
(google/or-tools issue 5295). A limit in wall time is only a safety net.

Symmetry detection is off: with it, presolve of 9.14 and 9.15 fails on some infeasible models with
`raw_hash_map<>::at`. Where the solver fails all the same, it is asked again without presolve; failing again is no
answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import TYPE_CHECKING

from tileas_xdsl.diagnostics import how_to_install

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpSolver, IntervalVar, IntVar, LinearExpr
    from ortools.sat.python.cp_model_helper import Literal

SEED = 0
LEAST, MOST = -(2**63), 2**63 - 1


class SolverMissing(RuntimeError):
    """The solver is not installed; the message has the command that installs it."""

    def __init__(self) -> None:
        super().__init__(
            "the exact scheduler needs the solver CP-SAT of OR-tools, which is not installed: "
            f"{how_to_install('exact')}"
        )


def _cp_model() -> ModuleType:
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise SolverMissing from error
    return cp_model


class Answer(Enum):
    """What a solve has shown."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"

    @property
    def has_solution(self) -> bool:
        return self in (Answer.OPTIMAL, Answer.FEASIBLE)


@dataclass(frozen=True)
class Limit:
    """How long one solve may take."""

    seconds: float
    """Deterministic: counted in the solver's work, not by a clock."""
    wall_seconds: float


@dataclass(frozen=True)
class SolverRun:
    """One solve: its answer, and how to read values off its solution."""

    answer: Answer
    solver: CpSolver
    bound: int
    """Of the objective, from below; 0 without an objective."""
    seconds: float
    """Deterministic."""
    out_of_wall_time: bool = False

    def value(self, expression: LinearExpr) -> int:
        return self.solver.value(expression)


# Models ---------------------------------------------------------------------------------------------------------------


class Model:
    """A model of the solver: variables are bounded integers, and a constraint may be conditional on literals."""

    def __init__(self) -> None:
        from_library = _cp_model()
        self._model = from_library.CpModel()
        self._sum = from_library.LinearExpr.sum
        self.never: Literal = self.constant(0)

    def integer(self, least: int, most: int) -> IntVar:
        return self._model.new_int_var(least, most, "")

    def literal(self) -> IntVar:
        return self._model.new_bool_var("")

    def constant(self, value: int) -> IntVar:
        return self._model.new_constant(value)

    def total(self, terms: Iterable[LinearExpr]) -> LinearExpr:
        """Their sum, also where there are none."""
        return self._sum([self.never, *terms])

    def latest(self, times: Sequence[LinearExpr], least: int, most: int) -> LinearExpr:
        """The largest of them; all lie between `least` and `most`."""
        if len(times) == 1:
            return times[0]
        found = self.integer(least, most)
        self._model.add_max_equality(found, list(times))
        return found

    # Constraints ------------------------------------------------------------------------------------------------------

    def at_least(self, expression: LinearExpr, least: int, *conditions: Literal) -> None:
        self.between(expression, least, MOST, *conditions)

    def at_most(self, expression: LinearExpr, most: int, *conditions: Literal) -> None:
        self.between(expression, LEAST, most, *conditions)

    def equal(self, expression: LinearExpr, value: int, *conditions: Literal) -> None:
        self.between(expression, value, value, *conditions)

    def between(self, expression: LinearExpr, least: int, most: int, *conditions: Literal) -> None:
        """`least <= expression <= most` where all conditions hold."""
        constraint = self._model.add_linear_constraint(expression, least, most)
        if conditions:
            constraint.only_enforce_if(list(conditions))

    def clause(self, *literals: Literal) -> None:
        """At least one of them holds."""
        self._model.add_bool_or(list(literals))

    def exactly_one(self, literals: Sequence[Literal]) -> None:
        self._model.add_exactly_one(list(literals))

    def any_of(self, literals: Sequence[Literal]) -> IntVar:
        """A literal that says whether one of them holds."""
        found = self.literal()
        self.clause(*literals, ~found)
        for literal in literals:
            self.clause(~literal, found)
        return found

    def both(self, one: Literal, other: Literal) -> IntVar:
        """A literal that says whether both hold."""
        found = self.literal()
        self.clause(~one, ~other, found)
        self.clause(~found, one)
        self.clause(~found, other)
        return found

    def rows(self, variables: Sequence[IntVar], rows: Iterable[tuple[int, ...]]) -> None:
        """The variables take the values of one of the rows."""
        self._model.add_allowed_assignments(list(variables), list(rows))

    # Intervals --------------------------------------------------------------------------------------------------------

    def fixed_interval(self, start: LinearExpr, size: int, exists: Literal | None = None) -> IntervalVar:
        if exists is None:
            return self._model.new_fixed_size_interval_var(start, size, "")
        return self._model.new_optional_fixed_size_interval_var(start, size, exists, "")

    def interval(self, start: LinearExpr, size: IntVar, last: int, exists: Literal) -> IntervalVar:
        """An interval of variable size that ends at `last` at the latest."""
        return self._model.new_optional_interval_var(start, size, self.integer(0, last), exists, "")

    def no_overlap(self, intervals: Sequence[IntervalVar]) -> None:
        """No two overlap; one of length 0 may lie at the edge of another one, not within it."""
        self._model.add_no_overlap(list(intervals))

    def cumulative(self, demands: Sequence[tuple[IntervalVar, int]], capacity: int | IntVar) -> None:
        """Whenever it is, the demands of the intervals that cover that time fit the capacity."""
        self._model.add_cumulative([it for it, _ in demands], [demand for _, demand in demands], capacity)

    # Solving ----------------------------------------------------------------------------------------------------------

    def minimise(self, objective: LinearExpr) -> None:
        self._model.minimize(objective)

    def forget_objective(self) -> None:
        self._model.clear_objective()

    def hint(self, run: SolverRun) -> None:
        """Begin the next solve at the solution of this one. Hints of former solves go: both make a model invalid."""
        self._model.clear_hints()
        for index in range(len(self._model.proto.variables)):
            variable = self._model.get_int_var_from_proto_index(index)
            self._model.add_hint(variable, run.value(variable))

    def hint_some(self, values: Iterable[tuple[IntVar, int]]) -> None:
        """Begin the next solve near these values."""
        self._model.clear_hints()
        for variable, value in values:
            self._model.add_hint(variable, value)

    def solve(self, limit: Limit) -> SolverRun:
        """Solve; `Answer.UNKNOWN` where the limit was met or the solver failed."""
        solver = self._new_solver(limit, presolve=True)
        try:
            return self._result(solver, solver.solve(self._model).name, limit)
        except Exception:  # the solver's own failures come in several classes
            return self._solve_plainly(limit)

    def _solve_plainly(self, limit: Limit) -> SolverRun:
        solver = self._new_solver(limit, presolve=False)
        try:
            return self._result(solver, solver.solve(self._model).name, limit)
        except Exception:
            return SolverRun(Answer.UNKNOWN, solver, 0, 0.0)

    def _new_solver(self, limit: Limit, *, presolve: bool) -> CpSolver:
        solver: CpSolver = _cp_model().CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = SEED
        solver.parameters.symmetry_level = 0
        solver.parameters.cp_model_presolve = presolve
        solver.parameters.max_deterministic_time = limit.seconds
        solver.parameters.max_time_in_seconds = limit.wall_seconds
        return solver

    def _result(self, solver: CpSolver, status: str, limit: Limit) -> SolverRun:
        assert status != "MODEL_INVALID", self._model.validate()
        answer = Answer[status]
        optimises = self._model.has_objective() and answer.has_solution
        bound = math.ceil(solver.best_objective_bound - 1e-6) if optimises else 0
        undecided = answer is Answer.UNKNOWN or (optimises and answer is Answer.FEASIBLE)
        late = undecided and solver.wall_time >= limit.wall_seconds
        return SolverRun(answer, solver, bound, solver.deterministic_time, late)
