"""
Barriers that have a number or belong to a block, and the threads that leave the block.

A thread leaves its block by an exit, or when it returns from the kernel. Barriers of all threads of the block wait for
those that have not left (PTX ISA, "barrier": it waits for the non-exited threads; AMD, "s_barrier": waves that have
ended are not waited for). A barrier with an explicit number of threads waits for that number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.core.synchronization import Rendezvous
from tileas_xdsl.machine.core.threads.clusters import Cluster, barrier_of_cluster, end_block
from tileas_xdsl.machine.core.threads.hardware import Active

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine


@dataclass(eq=False)
class NamedBarrier:
    """A barrier of the threads of one block."""

    state: Rendezvous
    cohort: Sequence[Who]
    """The agents of the block."""


@dataclass
class NamedBarriers(SharedPart):
    """The barriers of an execution that have names and no place in memory."""

    barriers: list[NamedBarrier] = field(default_factory=list[NamedBarrier])

    def of(self, name: str, cohort: Sequence[Who], expected: int) -> Rendezvous:
        """The barrier `name` of the block of `cohort`, made for `expected` threads at the first call."""
        for barrier in self.barriers:
            if barrier.state.name == name and barrier.cohort is cohort:
                return barrier.state
        self.barriers.append(NamedBarrier(Rendezvous(name, expected), cohort))
        return self.barriers[-1].state

    def draw(self, canvas: Canvas) -> None:
        for barrier in self.barriers:
            if any(agent.cohort is barrier.cohort for agent in canvas.live):
                canvas.literal(("rendezvous", barrier.state.name))
                canvas.thing(barrier.state)


@dataclass
class Departures(SharedPart):
    """The agents, and threads of agents, that have left their blocks before the end."""

    kernel: Operation | None = None
    """The function whose return is the end of a thread."""
    agents: list[Agent] = field(default_factory=list[Agent])

    def draw(self, canvas: Canvas) -> None:
        for agent in self.agents:
            canvas.literal("has left")
            canvas.thing(agent)


def threads_of_block(agent: Agent) -> int:
    """How many threads the block of `agent` begins with."""
    return sum(member.size for member in agent.cohort)


def threads_left(agent: Agent) -> int:
    """How many threads of the block of `agent` have not left it."""
    gone = agent.shared(Departures).agents
    return sum(member.size - len(member.left) for member in agent.cohort if member not in gone)


def leave_block(agent: Agent, op: Operation) -> None:
    """`agent` leaves its block at `op`: the barriers of all its threads wait for the others only."""
    count = agent.size - len(agent.left)
    agent.shared(Departures).agents.append(agent)
    _do_not_wait_for(agent, count)
    if agent.block is not None and agent in agent.shared(Cluster).blocks:
        end_block(agent, op)


def is_end_of_threads(agent: Agent) -> bool:
    """Whether a return ends threads of `agent`: it is in the kernel itself, and not in an agent region of it."""
    activation = agent.activation
    return activation.depth == 1 and activation.function is agent.shared(Departures).kernel


def leave_by_some_threads(agent: Agent, some: Iterable[Active]) -> None:
    """The threads `some` of `agent` have returned from the kernel, and its others have not."""
    gone = sorted({lane for active in some for lane in active.lanes} - set(agent.left))
    agent.left += tuple(gone)
    _do_not_wait_for(agent, len(gone))


def _do_not_wait_for(agent: Agent, count: int) -> None:
    """The barriers of the whole block wait for `count` threads of `agent` no more."""
    machine = agent.machine
    for barrier in machine.part(NamedBarriers).barriers:
        if barrier.cohort is agent.cohort:
            machine.shares(barrier.state.name, alone=True)
            barrier.state.leave(agent.number, count)
    if agent.block is not None:
        barrier = barrier_of_cluster(agent)
        machine.shares(barrier.name, alone=True)
        barrier.leave_in(agent.block.rank, agent.number, count, threads_left(agent))


def relaxes_barriers(machine: Machine) -> bool:
    """Whether some barrier of the execution orders steps of agents without handing over what they know."""
    named = (barrier.state for barrier in machine.part(NamedBarriers).barriers)
    cluster = machine.part(Cluster).barrier
    return any(barrier.is_relaxed for barrier in (*machine.phase_barriers, *named, *([cluster] if cluster else ())))
