"""
The decisions of a schedule at a fixed initiation interval, as variables of the solver.

A point in time is a stage and a row: `time = ii * stage + row` with `0 <= row < ii`. Rows lie on a circle, since every
iteration repeats them `ii` later; stages are what tells iterations apart.

Nothing depends on where time 0 is, since the loop of each agent has an origin of its own. So it can be given: by
default the row of the first op is 0, which makes proofs many times faster; or the first start is at 0, which is faster
for the sum of starts.

A moved register value is two acts, a write by its agent and a read by each agent that uses it, with times of their own.
Counting the cycles into the ops themselves would let a user start before it has read.

The move belongs to the value, not to a dependence: two uses of one value on one agent read it once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tileas_xdsl.scheduling.exact.bounds import stages_needed
from tileas_xdsl.scheduling.exact.groups import RuleGroup
from tileas_xdsl.scheduling.exact.problem import ExactProblem, ExactRing, Move, OpSpec, RegisterValue
from tileas_xdsl.scheduling.exact.solver import Model

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntervalVar, IntVar, LinearExpr
    from ortools.sat.python.cp_model_helper import Literal


@dataclass(frozen=True)
class Query:
    """One question to the solver: is there a schedule with this interval and up to so many agents?"""

    problem: ExactProblem
    ii: int
    agents: int
    without: frozenset[RuleGroup] = frozenset()
    """Constraints to leave out: for explanations."""
    from_time_0: bool = False
    """Whether the first start is at 0, rather than the first op in row 0."""
    few_stages: int | None = None
    """Where any schedule will do: no more stages than that. To refute this proves nothing."""

    def keeps(self, group: RuleGroup) -> bool:
        return group not in self.without

    @cached_property
    def stages(self) -> int:
        needed = stages_needed(self.problem, self.ii, self.agents)
        return needed if self.few_stages is None else min(needed, self.few_stages)


@dataclass(frozen=True)
class TimePoint:
    """A point in time."""

    stage: IntVar
    row: IntVar
    time: LinearExpr


@dataclass(frozen=True)
class MovedValue:
    """A register value that may be moved: who reads it elsewhere, and when it is written and read."""

    value: RegisterValue
    move: Move
    leaves: Literal
    """Whether any agent but its own uses it."""
    arrives: tuple[Literal, ...]
    """For each agent, whether it reads it from memory."""
    write: TimePoint
    reads: tuple[TimePoint, ...]
    copies: IntVar
    """Of the memory between, 0 if it does not leave."""


class Variables:
    """The variables of a query, and the model that they belong to."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.problem = query.problem
        self.ii = query.ii
        self.agents = range(query.agents)
        self.model = Model()
        self.last_time = query.stages * query.ii - 1
        self.executions = [self.point() for _ in self.problem.ops]
        self.issues = [self._issue(op) for op in range(len(self.problem.ops))]
        self.runs_on = [self._agent_choice() for _ in self.problem.ops]
        self.used = [self.model.any_of([choice[agent] for choice in self.runs_on]) for agent in self.agents]
        self._apart: dict[tuple[int, int], Literal] = {}
        self.copies = [self._copies(ring) for ring in self.problem.rings]
        self.origins = [self.model.integer(0, self.last_time) for _ in self.agents]
        self.first = self.model.integer(0, self.last_time)
        self.stage_counts = [self.model.integer(1, query.stages + 1) for _ in self.agents]
        self.moved = [self._moved(it, it.move) for it in self.problem.values if it.move and query.agents > 1]

    # Points in time ---------------------------------------------------------------------------------------------------

    def point(self) -> TimePoint:
        stage = self.model.integer(0, self.query.stages - 1)
        row = self.model.integer(0, self.ii - 1)
        return TimePoint(stage, row, stage * self.ii + row)

    def execution(self, name: str) -> TimePoint:
        return self.executions[self.problem.positions[name]]

    def issue(self, name: str) -> TimePoint:
        return self.issues[self.problem.positions[name]]

    def is_queued(self, op: OpSpec) -> bool:
        """Whether its issue and its execution are two points."""
        return op.asynchronous and self.problem.machine.queue > 0

    def _issue(self, op: int) -> TimePoint:
        return self.point() if self.is_queued(self.problem.ops[op]) else self.executions[op]

    # Agents -----------------------------------------------------------------------------------------------------------

    def runs(self, name: str, agent: int) -> Literal:
        return self.runs_on[self.problem.positions[name]][agent]

    def apart(self, one: str, other: str) -> Literal:
        """Whether two ops run on different agents."""
        first, second = sorted((self.problem.positions[one], self.problem.positions[other]))
        if first == second or len(self.agents) == 1:
            return self.model.never
        if (first, second) not in self._apart:
            self._apart[first, second] = self._differ(self.runs_on[first], self.runs_on[second])
        return self._apart[first, second]

    def _agent_choice(self) -> list[Literal]:
        if len(self.agents) == 1:
            return [self.model.constant(1)]
        choice: list[Literal] = [self.model.literal() for _ in self.agents]
        self.model.exactly_one(choice)
        return choice

    def _differ(self, one: list[Literal], other: list[Literal]) -> Literal:
        apart = self.model.literal()
        for mine, its in zip(one, other, strict=True):
            self.model.clause(~mine, ~its, ~apart)
            self.model.clause(~mine, its, apart)
        return apart

    # Memory -----------------------------------------------------------------------------------------------------------

    def _copies(self, ring: ExactRing) -> IntVar:
        most = self._most_copies() if ring.max_copies is None else ring.max_copies
        return self.model.integer(ring.min_copies, max(most, ring.min_copies))

    def _most_copies(self) -> int:
        """No schedule within the horizon holds more: a life ends within it, some iterations later."""
        reads = [read for ring in self.problem.rings for read in ring.readers]
        longest = max((read.hold + self.ii * read.distance for read in reads), default=0)
        signal = max((self.problem.handshake(ring.handshake) for ring in self.problem.rings), default=0)
        return self.query.stages + 2 + (longest + signal) // self.ii

    def _moved(self, value: RegisterValue, move: Move) -> MovedValue:
        arrives = tuple(self._arrives(value, agent) for agent in self.agents)
        leaves = self.model.any_of(list(arrives))
        copies = self.model.integer(0, self.query.stages + 2 + 2 * move.cycles // self.ii + self._signal(move))
        self.model.at_least(copies, 1, leaves)
        self.model.equal(copies, 0, ~leaves)
        write, reads = self._optional(leaves), tuple(self._optional(it) for it in arrives)
        return MovedValue(value, move, leaves, arrives, write, reads, copies)

    def _signal(self, move: Move) -> int:
        return self.problem.handshake(move.handshake) // self.ii + 1

    def _arrives(self, value: RegisterValue, agent: int) -> Literal:
        """Whether the agent uses the value and does not define it."""
        used = self.model.any_of([self.runs(read.op, agent) for read in value.uses] or [self.model.never])
        return self.model.both(used, ~self.runs(value.definition, agent))

    def _optional(self, exists: Literal) -> TimePoint:
        """A point that lies at 0 where it does not exist, so that it is not searched for."""
        point = self.point()
        self.model.equal(point.stage, 0, ~exists)
        self.model.equal(point.row, 0, ~exists)
        return point


def twice(of: Variables, point: TimePoint, rows: int, exists: Literal | None = None) -> list[IntervalVar]:
    """What is held from a point on, for at most a turn, on the circle of rows: the interval and its repetition."""
    return [of.model.fixed_interval(start, rows, exists) for start in (point.row, point.row + of.ii)]
