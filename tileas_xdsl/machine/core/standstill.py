"""A deadlock in words: which agent waits for what, and which event is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.evidence import Standstill
from tileas_xdsl.machine.core.synchronization import EndOfAgents, RendezvousCondition
from tileas_xdsl.machine.core.violations import Party, Violation, ViolationKind

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine


def deadlock_of(machine: Machine) -> tuple[Violation, Standstill]:
    """The violation, and its evidence, for an execution in which no agent can go on."""
    waiting = [agent for agent in machine.live if agent.waiting_for is not None]
    # Who merely waits for the end of blocked agents is blocked by them, and says nothing about why.
    blocked = [agent for agent in waiting if not isinstance(agent.waiting_for, EndOfAgents)] or waiting
    parties = tuple(_blocked_party(agent) for agent in blocked)
    asynchronous = [work for work in machine.works if not work.complete]
    missing = "; ".join(dict.fromkeys(_needed(agent) for agent in blocked))
    if asynchronous:
        missing += "; issued but never able to complete: " + ", ".join(map(_standing_still, asynchronous[:3]))
    message = "no agent can go on, and no asynchronous work can complete"
    met = [each.barrier for agent in blocked if isinstance(each := agent.waiting_for, RendezvousCondition)]
    violation = Violation(
        ViolationKind.DEADLOCK,
        message,
        parties,
        missing,
        stuck=True,
        instead=met[0].arrived if met else None,
    )
    return violation, Standstill(blocked, parties)


def _standing_still(work: AsyncWork) -> str:
    """`work` in words, with the resource that it waits for, if it waits for one."""
    if work.ready and work.resource is not None:
        return f"{work.label}, which needs {work.resource.describe()}"
    return work.label


def _needed(agent: Agent) -> str:
    return agent.waiting_for.needed() if agent.waiting_for is not None else "nothing"


def _condition(agent: Agent) -> str:
    return agent.waiting_for.describe() if agent.waiting_for is not None else "nothing"


def _blocked_party(agent: Agent) -> Party:
    op = agent.waiting_at or agent.current_op
    assert op is not None
    return Party(op, agent.name, agent.iteration, f"waits for {_condition(agent)}")
