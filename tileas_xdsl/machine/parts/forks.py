"""
Forking the agents of an agent-like op and waiting for all of them.

One agent for each region and number in the group. A region whose group has several agents may take one leading
`index` argument: the agent's number in its group. An agent of several warps is forked as that many, each with the
threads of one, where its region is written for single threads; code for tiles stays one agent, since a compiler shares
it out among the threads and lets them meet where it has to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, Region

from tileas_xdsl.analysis.thread_blocks import warp_size_of
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.core.agents import Agent, Team
from tileas_xdsl.machine.core.assumptions import ONE_THREAD
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation
from tileas_xdsl.machine.core.synchronization import EndOfAgents
from tileas_xdsl.machine.core.threads.blocks import are_counted, is_for_threads, join_cohort, warps_of
from tileas_xdsl.machine.core.threads.hardware import Threads
from tileas_xdsl.machine.core.violations import UnsupportedError


@dataclass(frozen=True)
class Seat:
    """Which agent is to be forked: its region, its number in the group, and its warps (0: one thread)."""

    region: Region
    group: int
    number: int
    group_size: int
    warps: int = 0

    @property
    def name(self) -> str:
        return f"agent {self.group}" + (f".{self.number}" if self.group_size > 1 else "")


def seats_of(op: Operation, warps: Sequence[int] = ()) -> Iterator[Seat]:
    """The agents that `op` forks, in order; `warps` has an entry for each group, or is empty where nothing is said."""
    agents = AgentLikeOpInterface.of(op)
    assert agents is not None
    for group, (region, size) in enumerate(zip(agents.agent_regions, agents.group_sizes, strict=True)):
        yield from (Seat(region, group, number, size, warps[group] if warps else 0) for number in range(size))


def _threads_in_all(op: Operation, warps: Sequence[int], per_warp: int) -> int:
    """How many threads the agents that `op` forks stand for; one of which nothing is said stands for one."""
    agents = AgentLikeOpInterface.of(op)
    assert agents is not None
    of_each = [count * per_warp or 1 for count in warps] or [1] * len(agents.group_sizes)
    return sum(size * threads for size, threads in zip(agents.group_sizes, of_each, strict=True))


def inherited(agent: Agent, warps: Sequence[Sequence[int]]) -> list[int]:
    """The warps of an agent of each group, from what is said of its agents; -1 stands for as many as `agent` has."""
    of_agent = -(-agent.hardware.count // agent.hardware.per_warp) if agent.hardware is not None else 0
    return [next((count for count in counts if count >= 0), of_agent) for counts in warps]


def fork_and_join(
    agent: Agent,
    op: Operation,
    operands: Sequence[object],
    *,
    warps: Sequence[int] = (),
    first_warps: Sequence[int] = (),
) -> Request:
    """
    Run the regions of `op`, each by the agents of its group, and wait for the end of all of them. Agents of so many
    `warps` lie behind one another, or each begins with the one of `first_warps`.
    """
    cohort: list[Agent] = []
    per_warp = agent.machine.code.fact(warp_size_of, op)
    total = _threads_in_all(op, warps, per_warp)
    if first_warps:
        total = max((start + count) * per_warp for start, count in zip(first_warps, warps, strict=True))
    first = 0
    for seat in seats_of(op, warps):
        agent.machine.check_time(op)
        first = first_warps[seat.group] * per_warp if first_warps else first
        threads = Threads(first, seat.warps * per_warp, (total, 1, 1), per_warp) if seat.warps else None
        first += seat.warps * per_warp or 1
        if threads is None and is_for_threads(agent, op, seat.region):
            agent.machine.assume(ONE_THREAD.about("each agent"))
        for name, team, hardware in _forked(agent, op, seat, threads):
            child = agent.fork(name, op, _take_seat, seat, tuple(operands), captures=[seat.region], hardware=hardware)
            join_cohort(child, cohort, team)
            agent.machine.happened(agent, op, "fork", f"starts {child.name}", on=child)
    end = EndOfAgents(cohort)
    return agent.wait(end, op).then(_saw_end, end)


def _forked(
    agent: Agent, op: Operation, seat: Seat, threads: Threads | None
) -> Iterator[tuple[str, Team | None, Threads | None]]:
    """The agents that stand for the one of `seat`: itself, or its warps."""
    if threads is None or seat.warps == 1 or not are_counted(agent, op, seat.region, threads):
        yield seat.name, None, threads
        return
    team = Team()
    for number, warp in enumerate(warps_of(threads)):
        yield f"{seat.name}, warp {number}", team, warp


@continuation
def _saw_end(agent: Agent, op: Operation, _: None, end: EndOfAgents) -> Answer:
    agent.machine.happened(agent, op, "wait", f"sees the end of {len(end.agents)} agents", on=end)


@continuation
def _take_seat(child: Agent, op: Operation, _: None, seat: Seat, operands: Sequence[object]) -> Answer:
    entry = seat.region.first_block
    if entry is None:
        return Done()
    agents = AgentLikeOpInterface.of(op)
    arguments = list(operands) if agents is None or agents.hands_operands_in else []
    if len(entry.args) == len(arguments) + 1 and isinstance(entry.args[0].type, IndexType):
        arguments = [seat.number, *arguments]
    if len(entry.args) != len(arguments):
        raise UnsupportedError(op, f"has {len(operands)} operands, and region {seat.group} takes {len(entry.args)}")
    return child.run_region(seat.region, arguments)
