"""
Arriving at a barrier and waiting for its phases, with the checks that make one execution speak for all.

An execution is *phase-determinate* if happens-before orders

- any two arrivals or waits that belong to different phases of a barrier,
- any commit to a queue and any commit to it or wait for it by another agent, and
- all who ask for what is given to whoever comes first: ranks in a group, columns of tensor memory, stages of a queue.

Then every interleaving passes through the same phases and groups. For a barrier two conditions suffice. Whoever takes
part in a phase (by arriving, by expecting bytes, by asynchronous work that signals) knows that the phase before is
complete. Whatever must precede the completion of a phase (the waits for the phase before, the bytes and arrivals that
are expected beside the init count) happens before something without which it cannot complete (`Phase`). A pair that is
not ordered is a doubt. A wait whose phase is already followed by another complete phase is a violation.

Scopes. An arrive of block scope at another block's barrier counts, but hands nothing over. Nor does a relaxed one, a
relaxed arrival at the barrier of the cluster, or `complete_tx`; a wait that is relaxed learns nothing. They count for
which phase is which all the same. Waits have no scope here: what an arrival of cluster scope releases, a wait of block
scope learns.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.questions import Hope
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation
from tileas_xdsl.machine.core.synchronization import (
    CommitGroup,
    GroupQueue,
    PhaseBarrier,
    PhaseCondition,
    QueueCondition,
)
from tileas_xdsl.machine.core.violations import Misuse, Party, Violation, ViolationKind

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine
    from tileas_xdsl.machine.core.happens_before import Clock


def arrive(
    agent: Agent,
    barrier: PhaseBarrier,
    op: Operation,
    count: int = 1,
    *,
    hands_over: bool = True,
    may_complete: bool = True,
) -> None:
    """
    `agent` arrives `count` times. Whoever waits for the phase learns what `agent` knows, unless the arrival releases
    nothing. One that may not complete the phase must come before another arrival of it.
    """
    _must_know_last_phase(agent, barrier, op, "arrives")
    phase = barrier.phases_completed
    text = f"arrives at {barrier.name}, phase {phase}{'' if hands_over else ', and hands over nothing: see its scope'}"
    agent.note(op, "arrive", text, on=barrier, turn=phase)
    moment, too_many = agent.moment, count > barrier.pending
    knowledge = agent.release()
    if not may_complete:
        barrier.must_not_end_before(agent.number, agent.moment)
    barrier.arrive(knowledge, agent.number, moment, count, hands_over=hands_over)
    is_last = barrier.phases_completed != phase
    # Arrivals change places with each other and with waits, unless one of them is the last of its phase, or must not.
    agent.shares(barrier.name, alone=barrier.pending <= 0 or is_last or not may_complete)
    if too_many:
        _too_many_arrivals(agent, barrier, op, count)
    elif is_last and not may_complete:
        _completes_and_may_not(agent, barrier, op, phase)
    _judge_if_completed(agent.machine, barrier, phase, op)


def expect_bytes(agent: Agent, barrier: PhaseBarrier, op: Operation, size: int) -> None:
    """Let the present phase complete only when `size` bytes more have arrived."""
    agent.shares(barrier.name, alone=True)
    _must_know_last_phase(agent, barrier, op, "expects bytes")
    barrier.expect(size, agent.number, agent.moment)


def expect_arrivals(agent: Agent, barrier: PhaseBarrier, op: Operation, count: int) -> None:
    """Let the present phase complete only when `count` arrivals have come beside those that the barrier is made for."""
    agent.shares(barrier.name, alone=True)
    _must_know_last_phase(agent, barrier, op, "expects arrivals")
    barrier.add_pending(count, agent.number, agent.moment)
    phase, arrivals = barrier.phases_completed, "1 arrival" if count == 1 else f"{count} arrivals"
    agent.note(op, "expect", f"expects {arrivals} more at {barrier.name}", on=barrier, turn=phase)


def report_bytes(agent: Agent, barrier: PhaseBarrier, op: Operation, size: int) -> None:
    """`agent` itself reports that `size` of the expected bytes have arrived, which hands over nothing."""
    agent.shares(barrier.name, alone=True)
    _must_know_last_phase(agent, barrier, op, "reports bytes")
    phase, moment = barrier.phases_completed, agent.moment
    barrier.report_bytes(agent.release(), agent.number, moment, size)
    _judge_if_completed(agent.machine, barrier, phase, op)


def _must_know_last_phase(agent: Agent, barrier: PhaseBarrier, op: Operation, does: str) -> None:
    """
    Doubt, if `agent` does not know that the phase before is complete: then this could as well count for that phase.
    """
    agent.begins_phase(barrier)
    previous = barrier.last_completed
    if not previous.is_behind(agent):
        agent.doubt(op, f"{does} at {barrier.name}, unordered with phase {previous.index} of it")
        barrier.hand_on()


def _judge_if_completed(machine: Machine, barrier: PhaseBarrier, phase: int, op: Operation) -> None:
    """
    If phase number `phase` is complete now, check that it completes with the same participants in every interleaving,
    and only after each agent that waits for the phase before has seen that one. Otherwise doubt.
    """
    if barrier.phases_completed == phase:
        return
    last, before = barrier.completed[-1], barrier.completed[-2]
    looks = (*before.waits.items(), *before.tests.items())
    if not all(last.comes_after(agent, moment) for agent, moment in looks):
        machine.doubt(op, f"completes phase {phase} of {barrier.name}, unordered with a wait for phase {before.index}")
    if not last.expects_in_time:
        machine.doubt(op, f"completes phase {phase} of {barrier.name}, unordered with what must come before")
    if barrier.contributors:
        machine.doubt(op, f"completes phase {phase} of {barrier.name}, which work under way might have signalled, too")


def judge_open_phases(machine: Machine) -> None:
    """
    At the end of an execution, check each phase that lacks only bytes: doubt, if it may complete in another
    interleaving.
    """
    for barrier in machine.phase_barriers:
        phase, outstanding = barrier.current, barrier.bytes_outstanding
        if barrier.pending > 0 or outstanding == 0:
            continue
        if outstanding < 0 or not phase.expects_in_time:
            machine.doubt(
                barrier.op,
                f"makes {barrier.name}, in phase {phase.index} of which bytes and their expectation are unordered",
            )


def _too_many_arrivals(agent: Agent, barrier: PhaseBarrier, op: Operation, count: int) -> None:
    often = "once" if count == 1 else f"{count} times"
    role = f"arrives {often} at {barrier.name}, which was made for {barrier.expected} arrivals a phase"
    text = f"more arrivals at {barrier.name} than its init count in one phase"
    missing = f"an init count that is the number of arrivals of a phase; it is {barrier.expected}"
    _report(agent, barrier, op, role, text, missing)


def _completes_and_may_not(agent: Agent, barrier: PhaseBarrier, op: Operation, phase: int) -> None:
    role = f"is the last arrival of phase {phase} of {barrier.name}"
    text = f"an arrival that must not complete phase {phase} of {barrier.name} completes it"
    missing = "another arrival that comes after this one, or an arrive without .noComplete"
    _report(agent, barrier, op, role, text, missing, made=f"for {barrier.expected} arrivals a phase")


def _report(
    agent: Agent, barrier: PhaseBarrier, op: Operation, role: str, text: str, missing: str, made: str = ""
) -> None:
    """`agent`, at `op`, takes a phase of `barrier`, which was made so, for another one, or gives it another end."""
    party = Party(op, agent.name, agent.iteration, role)
    maker = Party(barrier.op, "", (), f"makes the barrier {made}".rstrip())
    violation = Violation(ViolationKind.PHASE, text, (party, maker), missing)
    agent.report(violation, Misuse(agent, [barrier], [party]))


def wait_for_parity(
    agent: Agent, barrier: PhaseBarrier, parity: int, op: Operation, *, acquires: bool = True
) -> Request:
    """
    Wait until a phase of `parity` is complete, and acquire what its arrivals handed over, unless not. Reports a
    violation if the barrier is already past the phase that is meant.
    """
    if agent.inverts(op):
        parity ^= 1
    return _wait(agent, PhaseCondition(barrier, parity, barrier.phase_named(parity, agent), acquires), op)


def wait_for_phase(agent: Agent, barrier: PhaseBarrier, phase: int, op: Operation, *, acquires: bool = True) -> Request:
    """
    The same where it is known which phase is meant: number `phase`, -1 for the one before the first.

    All that the barrier is asked for is the parity, which an earlier phase may have, too. To pass on that is a
    violation; so it is a doubt if the agent does not know that the phase before the one meant is complete.
    """
    if barrier.phase_named(phase & 1, agent) < phase:
        agent.doubt(op, f"waits for phase {phase} of {barrier.name}, unordered with the one before")
    return _wait(agent, PhaseCondition(barrier, phase & 1, phase, acquires), op)


def _wait(agent: Agent, condition: PhaseCondition, op: Operation) -> Request:
    if condition.barrier.phases_completed - 1 > condition.meant:
        _phase_ran_away(agent, condition.barrier, condition.meant, op)
    return agent.wait(condition, op).then(_saw_phase, condition)


def hope_for_parity(
    agent: Agent, barrier: PhaseBarrier, parity: int, op: Operation, *, acquires: bool = True
) -> Request:
    """Wait, as a test that is to say yes, until a phase of `parity` is complete. The outcome is the answer."""
    meant = barrier.phase_named(parity, agent)
    hope = Hope(PhaseCondition(barrier, parity, meant, acquires))
    _doubt_if_passed_by(agent, barrier, meant, op)
    return agent.wait(hope, op).then(_heard, hope)


@continuation
def _heard(agent: Agent, op: Operation, _: None, hope: Hope) -> Answer:
    if hope.is_over:
        return 0
    condition = hope.wanted
    assert isinstance(condition, PhaseCondition)
    _doubt_if_passed_by(agent, condition.barrier, condition.meant, op)
    _saw_phase_now(agent, op, condition.barrier)
    return 1


def _doubt_if_passed_by(agent: Agent, barrier: PhaseBarrier, meant: int, op: Operation) -> None:
    agent.shares(barrier.name, alone=False)
    if barrier.phases_completed - 1 > meant:
        agent.doubt(op, f"asks for phase {meant} of {barrier.name}, unordered with the next one")


@continuation
def _saw_phase(agent: Agent, op: Operation, _: None, condition: PhaseCondition) -> Answer:
    barrier = condition.barrier
    agent.shares(barrier.name, alone=False)
    seen = barrier.phases_completed - 1
    if seen > condition.meant:
        _phase_ran_away(agent, barrier, condition.meant, op)
    elif seen < condition.meant:
        _passes_too_early(agent, barrier, condition.meant, op)
    _saw_phase_now(agent, op, barrier)


def _saw_phase_now(agent: Agent, op: Operation, barrier: PhaseBarrier) -> None:
    phase = barrier.phases_completed - 1
    text = f"sees phase {phase} of {barrier.name}" if phase >= 0 else f"passes {barrier.name} before its first phase"
    agent.note(op, "wait", text, on=barrier, turn=phase)


def _phase_ran_away(agent: Agent, barrier: PhaseBarrier, meant: int, op: Operation) -> None:
    agent.shares(barrier.name, alone=False)
    agent.doubt(op, f"waits for phase {meant} of {barrier.name}, unordered with the next one")
    seen = barrier.phases_completed - 1
    role = f"waits for phase {meant} of {barrier.name}, of which phase {seen} is already complete"
    arrivals = [other for other in barrier.completed if other.index > meant]
    who = ", ".join(agent.agents[number].name for phase in arrivals for number in sorted(phase.arrivals))
    text = f"{barrier.name} ran {seen - meant} phase(s) ahead of a waiting agent: its parity now means another phase"
    missing = f"an edge from this wait to the arrivals of phase {meant + 1} ({who or 'asynchronous work'})"
    _report(agent, barrier, op, role, text, missing)


def _passes_too_early(agent: Agent, barrier: PhaseBarrier, meant: int, op: Operation) -> None:
    seen = barrier.phases_completed - 1
    role = f"passes on phase {seen} of {barrier.name}, asking for parity {seen & 1}"
    text = f"'{op_name(op)}' passes on phase {seen} of {barrier.name} where phase {meant} is meant"
    _report(agent, barrier, op, role, text, f"an edge from the completion of phase {meant - 1} to this wait")


def promise_bytes(agent: Agent, work: AsyncWork, barrier: PhaseBarrier, size: int) -> None:
    """When `work` completes, `size` bytes arrive at `barrier`."""
    _promise(agent, work, Signal(agent.machine, barrier, size, Signalled.BYTES))


def promise_arrival(agent: Agent, work: AsyncWork, barrier: PhaseBarrier, count: int = 1) -> None:
    """When `work` completes, it arrives `count` times at `barrier`, which is made for these arrivals."""
    _promise(agent, work, Signal(agent.machine, barrier, count, Signalled.ARRIVALS))


def promise_added_arrival(agent: Agent, work: AsyncWork, barrier: PhaseBarrier, count: int) -> None:
    """The same for arrivals that `expect_arrivals` has added to those that `barrier` is made for."""
    _promise(agent, work, Signal(agent.machine, barrier, count, Signalled.ADDED_ARRIVALS))


class Signalled(Enum):
    """What a work tells a barrier when it completes."""

    BYTES = auto()
    ARRIVALS = auto()
    ADDED_ARRIVALS = auto()


@dataclass(frozen=True, eq=False)
class Signal:
    """Signal of a work to a barrier: `count` bytes have arrived, or the work arrives `count` times."""

    machine: Machine
    barrier: PhaseBarrier
    count: int
    what: Signalled

    def __call__(self, work: AsyncWork) -> None:
        machine, barrier = self.machine, self.barrier
        machine.shares(barrier.name, alone=True)
        phase = barrier.phases_completed
        work.phases.append((barrier, phase))
        if not barrier.last_completed.all_known_to(work.mind):
            barrier.hand_on()
        if self.what is Signalled.BYTES:
            barrier.complete_bytes(work, self.count)
        else:
            too_many = self.count > barrier.pending
            barrier.arrive_by(work, self.count, was_added=self.what is Signalled.ADDED_ARRIVALS)
            if too_many:
                _too_many_arrivals(machine.agents[work.issuer.number], barrier, work.op, self.count)
        _judge_if_completed(machine, barrier, phase, work.op)


def _promise(agent: Agent, work: AsyncWork, signal: Signal) -> None:
    machine, barrier = agent.machine, signal.barrier
    _must_know_last_phase(agent, barrier, work.op, "signals completion")
    barrier.contributors[work] = None
    work.barriers.append(barrier.name)
    work.channels.append(barrier)
    machine.signal_when_complete(work, signal)


def commit(agent: Agent, queue: GroupQueue, works: list[AsyncWork], op: Operation) -> CommitGroup:
    """Put `works` on `queue` as one group."""
    agent.shares(f"queue {queue.name}", alone=True)
    if not agent.mind.knows_moments(queue.commits):
        agent.doubt(op, f"commits to queue {queue.name}, unordered with a commit of another agent")
    if not agent.mind.knows_moments(queue.waits):
        agent.doubt(op, f"commits to queue {queue.name}, unordered with a wait of another agent")
    queue.commits[agent.number] = agent.moment
    group = queue.commit(works, op)
    for work in works:
        work.channels.append(queue)
    text = f"commits group {group.ordinal} of queue {queue.name}"
    agent.note(op, "commit", text, on=queue, turn=group.ordinal)
    return group


def wait_for_queue(agent: Agent, queue: GroupQueue, in_flight: int, op: Operation) -> Request:
    """Wait until at most the `in_flight` youngest groups of `queue` are unfinished; a negative count means none."""
    waits, allowed = agent.allows(op, max(in_flight, 0))
    if not waits:
        return Done()
    return wait_for_groups(agent, queue, max(queue.committed - allowed, 0), allowed, op)


def wait_for_groups(agent: Agent, queue: GroupQueue, ordinal: int, in_flight: int, op: Operation) -> Request:
    """
    Wait until the oldest `ordinal` groups of `queue` are complete, which may leave the youngest `in_flight` unfinished.
    """
    agent.shares(f"queue {queue.name}", alone=False)
    agent.observer.count(in_flight)
    if not agent.mind.knows_moments(queue.commits):
        agent.doubt(op, f"waits for queue {queue.name}, unordered with a commit of another agent")
    queue.waits[agent.number] = agent.moment
    condition = QueueCondition(queue, ordinal, in_flight)
    return agent.wait(condition, op).then(_saw_groups, condition)


@continuation
def _saw_groups(agent: Agent, op: Operation, _: None, condition: QueueCondition) -> Answer:
    queue, ordinal = condition.queue, condition.ordinal
    groups = f"groups up to {ordinal}" if ordinal else "no group"
    agent.note(op, "wait", f"waits for {groups} of queue {queue.name}", on=queue, turn=ordinal)


# What is given to whoever comes first ---------------------------------------------------------------------------------


def come_for(agent: Agent, op: Operation, what: str, name: str, comers: Clock) -> None:
    """
    `agent` comes for `what`, of which `name` gives each comer another, in every interleaving the same if they are
    ordered. `comers` has the moment at which each agent has come last.
    """
    agent.shares(name, alone=True)
    if not agent.mind.knows_moments(comers):
        reason = f"gets {what} by who comes first, unordered with another agent"
        agent.doubt(op, reason, f"who comes first for {what}")
    comers[agent.number] = agent.moment
