"""
The least interval where schedules stretch: between one that is refuted and one that has a schedule, by halving.

There the refutation of an interval refutes all below it (`bounds.py`), so not each has to be asked about. First a
schedule is sought in few stages, which is the smaller question, and gives the upper end; then the interval below it is
to be refuted, with any number of stages; and where that takes too long, one halfway to those that are.

Loops are proven by halving. Nothing in the problem of a loop has to come soon enough, so a schedule at one interval is
one at every larger interval, and one refutation does for all below it (`bounds.py` has the
proof). A search that starts from the heuristic's schedule goes that way when the first interval is refuted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tileas_xdsl.scheduling.exact.bounds import schedules_stretch
from tileas_xdsl.scheduling.exact.model import Formulation
from tileas_xdsl.scheduling.exact.problem import ExactProblem
from tileas_xdsl.scheduling.exact.result import Refutation
from tileas_xdsl.scheduling.exact.schedule import Schedule
from tileas_xdsl.scheduling.exact.solver import Answer, Limit
from tileas_xdsl.scheduling.exact.variables import Query

FEW_STAGES = 4

TO_FIND = 1 / 4
"""How much of the seconds goes to looking for schedules, at most."""

QUESTION = 1 / 20
"""How much of them one such question gets."""

TO_REFUTE = 4 / 5
"""How much of what is then left the interval below the schedule gets: its refutation ends the search."""

LEAST_SECONDS = 1e-3
"""What a question gets when next to nothing is left."""

WALL_SECONDS = 600.0


@dataclass
class Halving:
    """What is known of the least interval of a problem whose schedules stretch."""

    problem: ExactProblem
    refuted_up_to: int
    """This interval and every smaller one have no schedule."""
    schedule: Schedule
    seconds: float
    """Deterministic, of the solver, for all questions together."""
    refuted: list[Refutation] = field(default_factory=list[Refutation])
    unknown: list[int] = field(default_factory=list[int])
    spent: float = 0.0

    def __post_init__(self) -> None:
        assert schedules_stretch(self.problem), "else an interval says nothing of another one"

    def run(self) -> None:
        """Narrow it down, as far as the seconds last."""
        self._find()
        self._refute()

    def _find(self) -> None:
        """Halve for a schedule of few stages; where there is none in time, look above."""
        low = self.refuted_up_to
        while self.schedule.ii - low > 1 and self.spent < self.seconds * TO_FIND:
            middle = (low + self.schedule.ii) // 2
            if self._ask(middle, self.seconds * QUESTION, FEW_STAGES) is not Answer.OPTIMAL:
                low = middle

    def _refute(self) -> None:
        """First the interval below the schedule; then halfway down to those that are refuted."""
        asked = self.schedule.ii - 1
        while self.refuted_up_to < asked and self.spent < self.seconds * (1 - QUESTION):
            left = self.seconds - self.spent
            match self._ask(asked, left * TO_REFUTE):
                case Answer.INFEASIBLE:
                    asked = (self.refuted_up_to + min([*self.unknown, self.schedule.ii])) // 2
                case Answer.UNKNOWN:
                    asked = (self.refuted_up_to + asked) // 2
                case _:
                    asked = min([*self.unknown, self.schedule.ii]) - 1

    def _ask(self, ii: int, seconds: float, few_stages: int | None = None) -> Answer:
        query = Query(self.problem, ii, 1, few_stages=few_stages)
        run, schedule = Formulation(query).solve(Limit(max(seconds, LEAST_SECONDS), WALL_SECONDS))
        self.spent += run.seconds
        if schedule is not None:
            self.schedule = schedule
            return Answer.OPTIMAL
        if few_stages is None and run.answer is Answer.INFEASIBLE:
            self.refuted.append(Refutation(ii, 1, query.stages, run.seconds))
            self.refuted_up_to = ii
        elif few_stages is None:
            self.unknown.append(ii)
        return run.answer
