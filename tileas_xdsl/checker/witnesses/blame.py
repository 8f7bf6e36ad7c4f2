"""
What is at fault in a violation, beside the ops that take part in it. Violations that share it have one cause.

That is a wait that came before the later of two accesses and was too weak for the earlier one, or behind which a fence
is missing; the barrier that a work signals; the group of a work if no wait is for that; the works that another one
waits for; and, in a standstill, all ops at which agents stand, and the barriers there with which something went wrong
before.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain

from xdsl.ir import Operation

from tileas_xdsl.checker.witnesses.witness import at_fault_in
from tileas_xdsl.checker.witnesses.witnesses import tells_of
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.happens_before import Access, Who
from tileas_xdsl.machine.core.synchronization import EndOfAgents, PhaseBarrier, Rendezvous
from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.machine.core.violations import Evidence, Misuse, Side, Standstill, Unordered, ViolationKind
from tileas_xdsl.machine.parts.tasks import Tasks, end_of


def at_fault(machine: Machine, evidence: Evidence) -> tuple[Hashable, ...]:
    """What is at fault by `evidence`: ops, and for a barrier that was not made known the agent that made it."""
    match evidence:
        case Unordered(earlier, later, lacks_fence=True) if isinstance(later, Access | AsyncWork):
            return tuple(wait.op for wait in _waits_before(machine, later)[-1:])
        case Unordered(earlier, later):
            found = [*_by_the_missing_order(machine, earlier, later), *_broken_before(machine, earlier, later)]
            return tuple(dict.fromkeys(found))
        case Standstill(blocked=blocked):
            known = {each for violation in machine.violations.values() for each in at_fault_in(violation)}
            barriers = filter(None, map(barrier_waited_for, blocked))
            return tuple(dict.fromkeys(barrier.op for barrier in barriers if barrier.op in known))
        case Misuse(things=[Agent() as maker, Agent()]):
            return (("not made known", maker.name),)
        case Misuse(agent, things=[Agent() as task]):
            works = [work for work in machine.works if task.mind.knows_work(work)]
            return tuple(dict.fromkeys(work.op for work in works if not agent.mind.knows_work(work)))
        case Misuse(things=things):
            barriers = [thing for thing in things if isinstance(thing, PhaseBarrier)]
            return tuple(dict.fromkeys([*(barrier.op for barrier in barriers), *_under_way(barriers)]))


def _under_way(barriers: Sequence[PhaseBarrier]) -> Iterator[Operation]:
    """The ops of works that will signal one of `barriers`, and of those that they wait for."""
    for work in chain.from_iterable(barrier.contributors for barrier in barriers):
        yield from (each.op for each in (work, *work.mind.works, *work.held_up_by()))


def barrier_waited_for(agent: Who) -> PhaseBarrier | None:
    """The barrier that `agent` waits for, if it waits for one."""
    barrier = getattr(agent.waiting_for, "barrier", None)
    return barrier if isinstance(barrier, PhaseBarrier) else None


def standing_at(machine: Machine) -> tuple[Operation, ...]:
    """The ops at which agents stand that wait, and not for the end of others."""
    standing = [agent for agent in machine.live if not isinstance(agent.waiting_for, EndOfAgents)]
    return tuple(dict.fromkeys(agent.waiting_at for agent in standing if agent.waiting_at is not None))


def _by_the_missing_order(machine: Machine, earlier: Side, later: Side) -> Iterator[Operation]:
    for work in filter(None, map(_work_of, (earlier, later))):
        yield from (channel.op for channel in work.channels if isinstance(channel, PhaseBarrier))
    work = _work_of(earlier)
    if not isinstance(later, Access | AsyncWork):
        # What depends on unfinished work is unfinished with it.
        if work is not None:
            yield from (other.op for other in work.mind.works)
            tasks = machine.part(Tasks).started
            yield from (task.op for task in tasks if work.mind.knows_moment(task.agent.number, end_of(task.agent)))
        return
    wait = _last_wait_that_tells(machine, earlier, later)
    if wait is not None:
        yield wait.op
    elif work is not None:
        # Nobody waits for any of its group.
        yield from (step.op for step in _commits_of(machine, work)[:1])


def _commits_of(machine: Machine, work: AsyncWork) -> list[Happening]:
    """The steps that close groups on the queue of `work` after its issue: the first one closes its own."""
    steps = machine.trace.of(work.issuer.number)
    return [step for step in steps if step.kind == "commit" and step.step >= work.issue_step and tells_of(step, work)]


def _broken_before(machine: Machine, earlier: Side, later: Side) -> Iterator[Operation]:
    """The barriers whose phases had gone wrong already, and at which one of the two sides had waited."""
    wrong = [violation for violation in machine.violations.values() if violation.kind is ViolationKind.PHASE]
    if not wrong or not isinstance(later, Access | AsyncWork):
        return
    known = {each for violation in wrong for each in at_fault_in(violation)}
    sides = [side for side in (earlier, later) if isinstance(side, Access | AsyncWork)]
    waited = [wait.on for side in sides for wait in _waits_before(machine, side)]
    yield from (each.op for each in waited if isinstance(each, PhaseBarrier) and each.op in known)


def _work_of(side: Side) -> AsyncWork | None:
    if isinstance(side, AsyncWork):
        return side
    return side.work if isinstance(side, Access) else None


def _last_wait_that_tells(machine: Machine, earlier: Side, later: Access | AsyncWork) -> Happening | None:
    """
    The last wait before `later`, after the work of `earlier` was issued, on what tells of that work; of an access by an
    agent itself, the last meeting of agents. None if there was none.
    """
    work, waits = _work_of(earlier), _waits_before(machine, later)
    if work is not None:
        told = [each for each in waits if each.step >= work.issue_step and tells_of(each, work)]
        if told:
            return told[-1]
    return waits[-1] if waits and isinstance(waits[-1].on, Rendezvous) else None


def _waits_before(machine: Machine, side: Access | AsyncWork) -> list[Happening]:
    """The waits that let the agent of `side` through before it."""
    agent, step = _stands(side)
    return [each for each in machine.trace.of(agent.number) if each.kind == "wait" and each.step <= step]


def _stands(side: Access | AsyncWork) -> tuple[Who, int]:
    """The agent of `side`, and the step at which it makes the access or issues the work."""
    work = _work_of(side)
    if work is not None:
        return work.issuer, work.issue_step
    assert isinstance(side, Access)
    return side.agent, side.step
