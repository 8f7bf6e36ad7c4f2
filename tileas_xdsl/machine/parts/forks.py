"""
Forking the agents of an agent-like op and waiting for all of them.

One agent for each region and number in the group. A region whose group has several agents may take one leading
`index` argument: the agent's number in its group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, Region

from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation
from tileas_xdsl.machine.core.synchronization import EndOfAgents
from tileas_xdsl.machine.core.violations import UnsupportedError

WARP = 32


@dataclass(frozen=True)
class Seat:
    """Which agent is to be forked: its region, its number in the group, and its hardware threads."""

    region: Region
    group: int
    number: int
    group_size: int
    threads: int


def seats_of(op: Operation, warps: Sequence[int] | None) -> Iterator[Seat]:
    """The agents that `op` forks, in order; `warps` per group where it is known."""
    agents = AgentLikeOpInterface.of(op)
    assert agents is not None
    for group, (region, size) in enumerate(zip(agents.agent_regions, agents.group_sizes, strict=True)):
        threads = WARP * warps[group] if warps is not None else 1
        yield from (Seat(region, group, number, size, threads) for number in range(size))


def fork_and_join(
    agent: Agent, op: Operation, operands: Sequence[Any], *, warps: Sequence[int] | None = None
) -> Request:
    """Run the regions of `op`, each by the agents of its group, and wait for the end of all of them."""
    cohort: list[Agent] = []
    first_thread = 0
    for seat in seats_of(op, warps):
        agent.machine.check_time(op)
        child = agent.fork(
            _name(seat),
            op,
            _take_seat,
            seat,
            tuple(operands),
            captures=[seat.region],
            threads=seat.threads,
        )
        child.cohort, child.first_thread = cohort, first_thread
        first_thread += seat.threads
        cohort.append(child)
        agent.machine.happened(agent, op, "fork", f"starts {child.name}", on=child)
    end = EndOfAgents(cohort)
    return agent.wait(end, op).then(_saw_end, end)


@continuation
def _saw_end(agent: Agent, op: Operation, _: None, end: EndOfAgents) -> Answer:
    agent.machine.happened(agent, op, "wait", f"sees the end of {len(end.agents)} agents", on=end)


def _name(seat: Seat) -> str:
    return f"agent {seat.group}" + (f".{seat.number}" if seat.group_size > 1 else "")


@continuation
def _take_seat(child: Agent, op: Operation, _: None, seat: Seat, operands: Sequence[Any]) -> Answer:
    entry = seat.region.first_block
    if entry is None:
        return Done()
    arguments = list(operands) if _takes_operands(op) else []
    if len(entry.args) == len(arguments) + 1 and isinstance(entry.args[0].type, IndexType):
        arguments = [seat.number, *arguments]
    if len(entry.args) != len(arguments):
        raise UnsupportedError(op, f"has {len(operands)} operands, and region {seat.group} takes {len(entry.args)}")
    return child.run_region(seat.region, arguments)


def _takes_operands(op: Operation) -> bool:
    """Whether the regions have arguments for the operands; those of a switch that is not isolated have none."""
    return not isinstance(op, AgentSwitchOp) or op.is_isolated
