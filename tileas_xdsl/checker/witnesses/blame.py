"""
What is at fault in a violation, beside the ops that take part in it. Violations that share it have one cause.

That is a wait that came before the later of two accesses and was too weak for the earlier one, the barrier that a work
signals, the works that another one waits for, and, in a standstill, all ops at which agents stand.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from xdsl.ir import Operation

from tileas_xdsl.checker.witnesses.witnesses import tells_of
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.happens_before import Access
from tileas_xdsl.machine.core.synchronization import EndOfAgents, PhaseBarrier, Rendezvous
from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.machine.core.violations import Evidence, Misuse, Side, Unordered


def at_fault(evidence: Evidence) -> tuple[Hashable, ...]:
    """What is at fault by `evidence`: ops, and for a barrier that was not made known the agent that made it."""
    match evidence:
        case Unordered(earlier, later):
            return tuple(dict.fromkeys(_by_the_missing_order(earlier, later)))
        case Misuse(things=[Agent() as maker, Agent()]):
            return (("not made known", maker.name),)
        case Misuse(things=things):
            return tuple(dict.fromkeys(thing.op for thing in things if isinstance(thing, PhaseBarrier)))
        case _:
            return ()


def standing_at(machine: Machine) -> tuple[Operation, ...]:
    """The ops at which agents stand that wait, and not for the end of others."""
    standing = [agent for agent in machine.live if not isinstance(agent.waiting_for, EndOfAgents)]
    return tuple(dict.fromkeys(agent.waiting_at for agent in standing if agent.waiting_at is not None))


def _by_the_missing_order(earlier: Side, later: Side) -> Iterator[Operation]:
    for work in filter(None, map(_work_of, (earlier, later))):
        yield from (channel.op for channel in work.channels if isinstance(channel, PhaseBarrier))
    work = _work_of(earlier)
    if isinstance(later, Agent):
        # What depends on unfinished work is unfinished with it.
        yield from () if work is None else (other.op for other in work.mind.works)
        return
    wait = _last_wait_that_tells(earlier, later)
    if wait is not None:
        yield wait.op


def _work_of(side: Side) -> AsyncWork | None:
    if isinstance(side, AsyncWork):
        return side
    return side.work if isinstance(side, Access) else None


def _last_wait_that_tells(earlier: Side, later: Access | AsyncWork) -> Happening | None:
    """
    The last wait before `later`, after the work of `earlier` was issued, on what tells of that work; of an access by an
    agent itself, the last meeting of agents. None if there was none.
    """
    agent, step = _stands(later)
    work = _work_of(earlier)
    waits = [each for each in agent.machine.trace.of(agent.number) if each.kind == "wait" and each.step <= step]
    if work is not None:
        told = [each for each in waits if each.step >= work.issue_step and tells_of(each, work)]
        if told:
            return told[-1]
    return waits[-1] if waits and isinstance(waits[-1].on, Rendezvous) else None


def _stands(side: Access | AsyncWork) -> tuple[Agent, int]:
    """The agent of `side`, and the step at which it makes the access or issues the work."""
    work = _work_of(side)
    if work is not None:
        return work.issuer, work.issue_step
    assert isinstance(side, Access)
    return side.agent, side.step
