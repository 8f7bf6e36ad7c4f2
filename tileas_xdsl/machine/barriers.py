"""
Arriving at a barrier and waiting for its phases, with the checks that make one execution speak for all.

An execution is *phase-determinate* if any two arrivals or waits that belong to different phases of a barrier are
ordered by happens-before, and any two commits to one queue by different agents are. Then every interleaving passes
through the same phases and groups. What is not ordered is noted as a doubt; a phase that visibly ran away under a
waiting agent is a violation.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from tileas_xdsl.machine.agents import Agent, Suspension
from tileas_xdsl.machine.synchronization import CommitGroup, GroupQueue, PhaseBarrier, PhaseCondition, QueueCondition
from tileas_xdsl.machine.violations import Party, Violation, ViolationKind
from tileas_xdsl.machine.witnesses import witness_about
from tileas_xdsl.machine.works import AsyncWork


def arrive(agent: Agent, barrier: PhaseBarrier, op: Operation, count: int = 1) -> None:
    """`agent` arrives `count` times, and hands over what it knows to whoever waits for the phase."""
    previous = barrier.last_completed
    if previous is not None and not (previous.all_known_to(agent.mind) and previous.waits_known_to(agent.mind)):
        agent.machine.doubt(op, f"arrives at {barrier.name}, unordered with phase {previous.index} of it")
    phase = barrier.phases_completed
    agent.machine.happened(agent, op, "arrive", f"arrives at {barrier.name}, phase {phase}", on=barrier, turn=phase)
    moment = agent.moment
    barrier.arrive(agent.release(), agent.number, moment, count)
    if barrier.pending < 0:
        _too_many_arrivals(agent, barrier, op, count)


def _too_many_arrivals(agent: Agent, barrier: PhaseBarrier, op: Operation, count: int) -> None:
    often = "once" if count == 1 else f"{count} times"
    role = f"arrives {often} at {barrier.name}, which was made for {barrier.expected} arrivals a phase"
    party = Party(op, agent.name, agent.iteration, role)
    violation = Violation(
        ViolationKind.PHASE,
        f"more arrivals at {barrier.name} than its init count in one phase",
        (party, Party(barrier.op, "", (), "makes the barrier")),
        f"an init count that is the number of arrivals of a phase; it is {barrier.expected}",
    )
    agent.machine.report(violation, lambda: witness_about(agent, [barrier], [party]))


def wait_for_parity(agent: Agent, barrier: PhaseBarrier, parity: int, op: Operation) -> Suspension:
    """Wait until the phase of `parity` is complete; a phase that is more than one ahead is a violation."""
    meant = barrier.phase_named(parity, agent.mind)
    if barrier.phases_completed - 1 > meant:
        _phase_ran_away(agent, barrier, meant, op)
    yield from agent.wait(PhaseCondition(barrier, parity), op)
    phase = barrier.phases_completed - 1
    text = f"sees phase {phase} of {barrier.name}" if phase >= 0 else f"passes {barrier.name} before its first phase"
    agent.machine.happened(agent, op, "wait", text, on=barrier, turn=phase)


def _phase_ran_away(agent: Agent, barrier: PhaseBarrier, meant: int, op: Operation) -> None:
    seen = barrier.phases_completed - 1
    role = f"waits for phase {meant} of {barrier.name}, of which phase {seen} is already complete"
    arrivals = [other for other in barrier.completed if other.index > meant]
    who = ", ".join(agent.machine.agents[number].name for phase in arrivals for number in sorted(phase.arrivals))
    party = Party(op, agent.name, agent.iteration, role)
    violation = Violation(
        ViolationKind.PHASE,
        f"{barrier.name} ran {seen - meant} phase(s) ahead of a waiting agent: its parity now means another phase",
        (party, Party(barrier.op, "", (), "makes the barrier")),
        f"an edge from this wait to the arrivals of phase {meant + 1} ({who or 'asynchronous work'})",
    )
    agent.machine.report(violation, lambda: witness_about(agent, [barrier], [party]))


def promise_bytes(agent: Agent, work: AsyncWork, barrier: PhaseBarrier, size: int) -> None:
    """When `work` completes, `size` bytes arrive at `barrier`."""
    _promise(agent, work, barrier, lambda: barrier.complete_bytes(work, size))


def promise_arrival(agent: Agent, work: AsyncWork, barrier: PhaseBarrier, count: int = 1) -> None:
    """When `work` completes, it arrives `count` times at `barrier`."""
    _promise(agent, work, barrier, lambda: barrier.arrive_by(work, count))


def _promise(agent: Agent, work: AsyncWork, barrier: PhaseBarrier, signal: Callable[[], None]) -> None:
    def signalled(_done: AsyncWork) -> None:
        work.phases.append((barrier, barrier.phases_completed))
        signal()

    barrier.contributors[work] = None
    work.channels.append(barrier)
    agent.machine.signal_when_complete(work, signalled)


def commit(agent: Agent, queue: GroupQueue, works: list[AsyncWork], op: Operation) -> CommitGroup:
    """Put `works` on `queue` as one group."""
    last = queue.last_committer
    if last is not None and not agent.mind.knows_moment(*last):
        agent.machine.doubt(op, f"commits to queue {queue.name}, unordered with a commit of another agent")
    queue.last_committer = (agent.number, agent.moment)
    group = queue.commit(works, op)
    for work in works:
        work.channels.append(queue)
    text = f"commits group {group.ordinal} of queue {queue.name}"
    agent.machine.happened(agent, op, "commit", text, on=queue, turn=group.ordinal)
    return group


def wait_for_queue(agent: Agent, queue: GroupQueue, in_flight: int, op: Operation) -> Suspension:
    """Wait until at most the `in_flight` youngest groups of `queue` are unfinished; a negative count means none."""
    allowed = max(in_flight, 0)
    ordinal = max(queue.committed - allowed, 0)
    yield from agent.wait(QueueCondition(queue, ordinal, allowed), op)
    groups = f"groups up to {ordinal}" if ordinal else "no group"
    agent.machine.happened(agent, op, "wait", f"waits for {groups} of queue {queue.name}", on=queue, turn=ordinal)
