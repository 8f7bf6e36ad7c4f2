"""
What the exact scheduler answers: a schedule, what is proven of it, and what stands in the way of a better one.

Nothing is called optimal that a limit has cut off: `proven` is true only where every smaller interval was refuted.

A schedule needs as many registers as words are alive at a row of an agent's loop. The result of a queued op has its
registers from its issue on (PTX ISA, `wgmma.mma_async`: accesses before the wait are undefined).
`RegisterFile.taken_at_issue = False` is the weaker model, in which they are taken while the op executes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from tileas_xdsl.scheduling.exact.agents import register_budgets, round_warps
from tileas_xdsl.scheduling.exact.bounds import ProvenBounds, schedules_stretch
from tileas_xdsl.scheduling.exact.groups import RuleGroup
from tileas_xdsl.scheduling.exact.problem import ExactProblem, RegisterValue
from tileas_xdsl.scheduling.exact.schedule import Schedule, bytes_of, order_of, stages_of


def words_of(problem: ExactProblem, schedule: Schedule, agent: int) -> int:
    """Words a thread that the agent needs, with its constants, in its fullest cycle."""
    constants = sum(it.words for it in problem.constants if schedule.agents[problem.positions[it.op]] == agent)
    own = [value for value in problem.values if value.pool is None]
    lives = [(value.words, *life) for value in own for life in _life(problem, schedule, value, agent)]
    turns = sum(words * ((end - start) // schedule.ii) for words, start, end in lives)
    starts = sorted({start % schedule.ii for _, start, _ in lives})
    rests = [sum(_rest_at(row, *life, schedule.ii) for life in lives) for row in starts]
    return constants + turns + max(rests, default=0)


def warps_of(problem: ExactProblem, schedule: Schedule) -> tuple[int, ...]:
    """Warps of each agent: what the largest of its ops needs."""
    return tuple(
        round_warps(max(problem.ops[op].min_warps for op in schedule.ops_of(agent)))
        for agent in range(schedule.agent_count)
    )


def budgets_of(problem: ExactProblem, schedule: Schedule) -> tuple[int, ...] | None:
    """Words a thread that each agent may use; None where the machine does not model registers."""
    if problem.machine.registers is None:
        return None
    return register_budgets(problem, warps_of(problem, schedule))


def _rest_at(row: int, words: int, start: int, end: int, ii: int) -> int:
    """What a value takes at a row beyond its whole turns."""
    return words if (row - start) % ii < (end - start) % ii else 0


def _life(problem: ExactProblem, schedule: Schedule, value: RegisterValue, agent: int) -> Iterator[tuple[int, int]]:
    """From when to when the value of iteration 0 lies in registers of the agent, if it does."""
    places = problem.positions
    ends = [
        schedule.starts[places[read.op]] + schedule.ii * read.distance + read.hold
        for read in value.uses
        if schedule.agents[places[read.op]] == agent
    ]
    transfer = next((it for it in schedule.transfers if it.value == value.name), None)
    cycles = 0 if value.move is None else value.move.cycles
    definition = places[value.definition]
    if schedule.agents[definition] == agent:
        ends.append(schedule.starts[definition])
        ends += [] if transfer is None else [transfer.write + cycles]
        file = problem.machine.registers
        at_issue = file is not None and file.taken_at_issue
        yield (schedule.issues if at_issue else schedule.starts)[definition], max(ends)
    elif transfer is not None:
        yield from ((read, max([*ends, read + cycles])) for reader, read in transfer.reads if reader == agent)


@dataclass(frozen=True)
class BindingConflict:
    """Constraints that no schedule meets together; without any one of them there is one, as far as is known."""

    ii: int
    agents: int
    groups: tuple[RuleGroup, ...]
    texts: tuple[str, ...]
    """One for each group, in numbers."""
    irreducible: bool
    """Whether that was shown for each of them."""

    def __str__(self) -> str:
        return "; ".join(self.texts) + ("" if self.irreducible else "; perhaps fewer than these")


@dataclass(frozen=True)
class Refutation:
    """A proof that no schedule with that interval exists, with up to so many agents and any number of stages."""

    ii: int
    agents: int
    stages: int
    """How many stages were allowed, which is as good as any number of them."""
    seconds: float
    """Deterministic."""
    conflict: BindingConflict | None = None


@dataclass(frozen=True)
class SearchPhase:
    """One objective, minimised with the former ones held."""

    name: str
    value: int
    bound: int
    proven: bool

    def __str__(self) -> str:
        return f"{self.name} {self.value}" + ("" if self.proven else f" (at least {self.bound})")


class ScheduleSource(Enum):
    """Who found the schedule."""

    SOLVER = "solver"
    HEURISTIC = "heuristic"


@dataclass(frozen=True)
class Trail:
    """What a search has shown on its way."""

    bounds: ProvenBounds
    refuted: tuple[Refutation, ...]
    unknown: tuple[int, ...]
    """Intervals of which the solver could not say within its limits whether there is a schedule."""
    seconds: float
    """Deterministic, of all solves."""
    limits_hit: tuple[str, ...]
    nondeterministic: bool
    """Whether a limit in wall time was met, so that another run may answer otherwise."""


@dataclass(frozen=True)
class ExactSchedule:
    """A schedule that the validator has accepted, and the proofs that came with it."""

    problem: ExactProblem
    schedule: Schedule
    source: ScheduleSource
    trail: Trail
    phases: tuple[SearchPhase, ...]
    """Those that were solved, in their order; after one that is not proven no other one is."""
    fewest_proven: bool
    """Whether fewer agents were refuted at this interval."""

    @property
    def ii(self) -> int:
        return self.schedule.ii

    @property
    def proven(self) -> bool:
        """Whether every smaller interval was refuted: by itself, or with a larger one where schedules stretch."""
        return self.lower_bound == self.ii

    @cached_property
    def lower_bound(self) -> int:
        refuted = {it.ii for it in self.trail.refuted if it.agents == self.problem.agents}
        bound = self.trail.bounds.mii
        while bound in refuted:
            bound += 1
        if refuted and schedules_stretch(self.problem):
            bound = max(bound, max(refuted) + 1)
        return min(bound, self.ii)

    @cached_property
    def stages(self) -> tuple[int, ...]:
        return stages_of(self.problem, self.schedule)

    @cached_property
    def order(self) -> tuple[int, ...]:
        return order_of(self.problem, self.schedule)

    @cached_property
    def words(self) -> tuple[int, ...]:
        """Registers a thread that the values of each agent take."""
        return tuple(words_of(self.problem, self.schedule, agent) for agent in range(self.schedule.agent_count))

    @cached_property
    def budgets(self) -> tuple[int, ...] | None:
        return budgets_of(self.problem, self.schedule)

    @cached_property
    def warps(self) -> tuple[int, ...]:
        return warps_of(self.problem, self.schedule)

    @cached_property
    def bytes(self) -> tuple[tuple[str, int], ...]:
        """Each space with the bytes that rings and moved values take of it."""
        return tuple((it.name, bytes_of(self.problem, self.schedule, it.name)) for it in self.problem.machine.spaces)

    @property
    def text(self) -> str:
        """The interval and what is proven of it, in a line; with several agents, why not fewer."""
        return "; ".join(self._texts())

    def _texts(self) -> Iterator[str]:
        yield self._text_of_interval()
        if self.problem.agents > 1:
            yield self._text_of_agents()

    def _text_of_interval(self) -> str:
        if not self.proven:
            return f"II <= {self.ii}, >= {self.lower_bound} ({self._what_is_known()})"
        why = self._binding_text()
        return f"II = {self.ii} (proven{why})"

    def _binding_text(self) -> str:
        last = [it for it in self.trail.refuted if it.agents == self.problem.agents and it.ii < self.ii]
        if last:
            return "" if last[-1].conflict is None else f"; at {last[-1].ii}: {last[-1].conflict}"
        binding = self.trail.bounds.binding
        return f": {binding[0]}" if binding else ""

    def _what_is_known(self) -> str:
        refuted = sorted({it.ii for it in self.trail.refuted if it.agents == self.problem.agents})
        if refuted and schedules_stretch(self.problem):
            refuted = list(range(self.trail.bounds.mii, self.lower_bound))
        parts = [f"{ranges(refuted)} refuted"] if refuted else []
        unknown = [ii for ii in self.trail.unknown if ii < self.ii]
        untried = sorted(set(range(self.lower_bound, self.ii)) - set(refuted) - set(unknown))
        parts += [f"{ranges(unknown)} unknown"] if unknown else []
        parts += [f"{ranges(untried)} not tried"] if untried else []
        return ", ".join(parts)

    def _text_of_agents(self) -> str:
        count = self.schedule.agent_count
        fewer = [it for it in self.trail.refuted if it.ii == self.ii and it.agents == count - 1]
        name = f"{count} agent{'s' if count > 1 else ''}"
        if fewer and fewer[0].conflict is not None:
            return f"{name} (proven: with {count - 1}, {fewer[0].conflict})"
        return f"{name} (proven)" if self.fewest_proven else f"{name} (fewer not refuted)"


@dataclass(frozen=True)
class NoSchedule:
    """No schedule was found, up to the serial interval or to the first limit."""

    problem: ExactProblem
    trail: Trail
    last: int
    """The last interval that was tried."""
    complete: bool
    """Whether each interval up to the serial one was refuted."""
    conflict: BindingConflict | None
    at_any_ii: bool = False
    """Whether the conflict has nothing to do with the interval."""

    @property
    def text(self) -> str:
        why = "" if self.conflict is None else f": {self.conflict}"
        if self.at_any_ii:
            return f"no schedule at any II{why}"
        if self.complete:
            return f"no schedule up to the serial II of {self.last}{why}"
        return f"no schedule found up to II = {self.last}; {', '.join(self.trail.limits_hit)}{why}"


def ranges(numbers: list[int]) -> str:
    """`[16, 17, 18, 20]` as `16-18, 20`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
