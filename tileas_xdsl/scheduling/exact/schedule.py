"""
A schedule of a problem: when each op is issued and starts, on which agent, with how many copies of each ring.

Only the decisions are recorded, in program order; all else follows from them. Nothing here says that a schedule is
right: `validate.py` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

from tileas_xdsl.scheduling.cycles import TimedEdge, earliest_starts
from tileas_xdsl.scheduling.exact.problem import ExactProblem


@dataclass(frozen=True)
class Transfer:
    """How a register value gets to other agents: its own agent writes it to memory, they read it."""

    value: str
    sender: int
    """The agent that defines it."""
    write: int
    """When the sender begins to write it."""
    reads: tuple[tuple[int, int], ...]
    """The agents that read it, in their order, each with the time at which it begins to."""
    copies: int
    """Of the memory between."""


@dataclass(frozen=True)
class Schedule:
    """The decisions. Times are those of iteration 0; iteration `j` is `ii * j` later."""

    ii: int
    starts: tuple[int, ...]
    """Of execution."""
    issues: tuple[int, ...]
    """Earlier than the start only where the machine queues the op."""
    agents: tuple[int, ...]
    """The agent of each op; agents are numbered from 0 without gaps."""
    copies: tuple[int, ...]
    """Of each ring."""
    origins: tuple[int, ...]
    """Where the loop of each agent has its row 0: not after its first issue."""
    transfers: tuple[Transfer, ...] = ()

    @property
    def agent_count(self) -> int:
        return len(self.origins)

    def ops_of(self, agent: int) -> tuple[int, ...]:
        """The ops of an agent, as places in program order."""
        return tuple(op for op, its_agent in enumerate(self.agents) if its_agent == agent)

    @cached_property
    def local_stages(self) -> tuple[int, ...]:
        """How many turns of its own agent's loop an op is behind the first thing that the agent does, for each op."""
        pairs = zip(self.issues, self.agents, strict=True)
        return tuple(self.turn(agent, issue) - self._first_turns[agent] for issue, agent in pairs)

    @cached_property
    def stage_counts(self) -> tuple[int, ...]:
        """How many stages the loop of each agent has; it is peeled that number minus 1 times."""
        last = [max(self.turn(agent, time) for time in self.times_of(agent)) for agent in range(self.agent_count)]
        return tuple(1 + after - before for before, after in zip(self._first_turns, last, strict=True))

    @cached_property
    def _first_turns(self) -> tuple[int, ...]:
        return tuple(min(self.turn(agent, time) for time in self.times_of(agent)) for agent in range(self.agent_count))

    def turn(self, agent: int, time: int) -> int:
        """In which turn of the loop of an agent, counted from its origin, a time lies."""
        return (time - self.origins[agent]) // self.ii

    def times_of(self, agent: int) -> list[int]:
        """When the agent begins something: an op, or one side of a transfer."""
        times = [self.issues[op] for op in self.ops_of(agent)]
        for it in self.transfers:
            times += [it.write] if it.sender == agent else []
            times += [read for reader, read in it.reads if reader == agent]
        return times


def with_natural_origins(schedule: Schedule) -> Schedule:
    """The same schedule with the loop of each agent begun at its first act: no other origin has fewer stages."""
    return replace(schedule, origins=tuple(min(schedule.times_of(agent)) for agent in range(schedule.agent_count)))


def from_time_0(schedule: Schedule) -> Schedule:
    """The same schedule, moved so that iteration 0 begins at time 0."""
    early = min(min(schedule.times_of(agent)) for agent in range(schedule.agent_count))
    return replace(
        schedule,
        starts=tuple(start - early for start in schedule.starts),
        issues=tuple(issue - early for issue in schedule.issues),
        origins=tuple(origin - early for origin in schedule.origins),
        transfers=tuple(
            replace(it, write=it.write - early, reads=tuple((agent, read - early) for agent, read in it.reads))
            for it in schedule.transfers
        ),
    )


class Part(Enum):
    """What an agent does in an act: an op, or one side of a transfer."""

    OP = "op"
    WRITE = "write"
    READ = "read"


@dataclass(frozen=True)
class Act:
    """Something that an agent does in each turn of its loop."""

    part: Part
    number: int
    """The place of the op in program order, or of the transfer in the schedule."""
    time: int
    cycles: int
    """For which it keeps the agent."""


def acts_of(problem: ExactProblem, schedule: Schedule, agent: int) -> tuple[Act, ...]:
    """
    What an agent does in a turn of its loop, in that order.

    Acts go by row. At equal rows one that takes no time comes first, or it would wait behind the other; then the op
    that waits less in its queue; then program order decides.
    """
    waits = [start - issue for start, issue in zip(schedule.starts, schedule.issues, strict=True)]
    acts = [Act(Part.OP, op, schedule.issues[op], problem.ops[op].issue) for op in schedule.ops_of(agent)]
    for number, it in enumerate(schedule.transfers):
        move = next(value.move for value in problem.values if value.name == it.value)
        cycles = 0 if move is None else move.cycles
        acts += [Act(Part.WRITE, number, it.write, cycles)] if it.sender == agent else []
        acts += [Act(Part.READ, number, read, cycles) for reader, read in it.reads if reader == agent]
    origin, ii = schedule.origins[agent], schedule.ii
    return tuple(
        sorted(acts, key=lambda act: ((act.time - origin) % ii, act.cycles > 0, _wait(act, waits), act.part.value))
    )


def _wait(act: Act, waits: Sequence[int]) -> tuple[int, int]:
    return (waits[act.number] if act.part is Part.OP else 0, act.number)


def order_of(problem: ExactProblem, schedule: Schedule) -> tuple[int, ...]:
    """The place of each op in the loop of its agent."""
    rank = [0] * len(problem.ops)
    for agent in range(schedule.agent_count):
        ops = [act.number for act in acts_of(problem, schedule, agent) if act.part is Part.OP]
        for place, op in enumerate(ops):
            rank[op] = place
    return tuple(rank)


def stages_of(problem: ExactProblem, schedule: Schedule) -> tuple[int, ...]:
    """
    The stage of each op, so that no op is in an earlier stage than what it depends on, less the distance.

    With one agent they are those of its loop. Several agents run loops of their own, which may be any number of turns
    apart: each gets the least base that orders them all. Where no bases do, global stages serve.
    """
    local = schedule.local_stages
    edges = [
        TimedEdge(schedule.agents[u], schedule.agents[v], local[u] - local[v] - it.distance, 0)
        for it in problem.dependences
        if schedule.agents[u := problem.positions[it.source]] != schedule.agents[v := problem.positions[it.sink]]
    ]
    bases = earliest_starts(schedule.agent_count, edges, 0)
    if bases is None:
        return _global_stages(schedule)
    return tuple(stage + bases[agent] for stage, agent in zip(local, schedule.agents, strict=True))


def _global_stages(schedule: Schedule) -> tuple[int, ...]:
    stages = [issue // schedule.ii for issue in schedule.issues]
    return tuple(stage - min(stages) for stage in stages)


def memory_of(problem: ExactProblem, schedule: Schedule, space: str) -> tuple[tuple[str, int, int], ...]:
    """What lies in a space: the ring or moved value, the bytes of a copy, the copies."""
    rings = [
        (ring.name, ring.bytes, copies)
        for ring, copies in zip(problem.rings, schedule.copies, strict=True)
        if ring.space == space
    ]
    moves = {value.name: value.move for value in problem.values}
    moved = [
        (it.value, move.bytes, it.copies)
        for it in schedule.transfers
        if (move := moves[it.value]) is not None and move.space == space
    ]
    return tuple(rings + moved)


def bytes_of(problem: ExactProblem, schedule: Schedule, space: str) -> int:
    """The bytes of a space that rings and moved values take, with all copies."""
    return sum(size * copies for _, size, copies in memory_of(problem, schedule, space))
