"""
Races, deadlocks and undrained work whose cause is a wrong phase of a barrier.

A wrong parity, arrivals that do not match the init count and bytes that do not match the expectation show as a race, a
deadlock or undrained work. Where the cause is a phase of a barrier that the program counts by hand (an mbarrier), the
mistake is reported as `phase`, with the numbers, and `Violation.symptom` keeps what it shows as:

- a *deadlock* on a phase that can never complete: some of its arrivals are in and nobody is left who makes the others,
  or its arrivals are in and its bytes are not what was expected;
- a *deadlock* at the first wait of an agent for a barrier, where the function runs to its end without a mistake if that
  wait asks for the other parity; or where nobody arrives at that barrier, whatever parity the wait asks for;
- a *race* of an access with one that an arrival at the barrier was to announce: the agent did wait at that barrier in
  this turn of its loop, but passed on an earlier phase;
- *undrained* work that signals a phase for which nobody waited, because an agent passed an earlier one twice.

A race stays a race where both waited at the right phase and the arrival handed nothing over, but it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from xdsl.ir import Operation

from tileas_xdsl.checker.witnesses.blame import barrier_waited_for, standing_at
from tileas_xdsl.checker.witnesses.witness import shown
from tileas_xdsl.checker.witnesses.witnesses import witness_about
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.happens_before import Access, Clock, Conflict
from tileas_xdsl.machine.core.meaning import Kind, meaning_of
from tileas_xdsl.machine.core.synchronization import EndOfAgents, PhaseBarrier
from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.machine.core.violations import Party, UndecidedError, UnsupportedError, Violation, ViolationKind

# Deadlocks ------------------------------------------------------------------------------------------------------------


def phase_that_cannot_complete(machine: Machine) -> Violation | None:
    """The mistake of a standstill in which an agent waits for a phase that can never complete; None if none does."""
    for agent in machine.live:
        barrier = barrier_waited_for(agent)
        if barrier is None or not barrier.counted_by_hand or _may_still_be_served(machine, barrier):
            continue
        shortfall = _shortfall(barrier)
        if shortfall is not None:
            return _violation_of_shortfall(machine, agent, barrier, *shortfall)
    return None


def _shortfall(barrier: PhaseBarrier) -> tuple[str, str] | None:
    """In words, what the present phase has and what it lacks; None if it has not begun or lacks nothing."""
    phase, outstanding = barrier.current, barrier.bytes_outstanding
    arrived = f"{phase.arrived} of {barrier.expected} arrivals"
    if barrier.pending > 0 and phase.arrived > 0:
        return arrived, f"{barrier.pending} arrivals more in each phase, or an init count of {phase.arrived}"
    if barrier.pending > 0 and phase.bytes_arrived > 0:
        brought = f"{arrived}, though {phase.bytes_arrived} bytes have come"
        return brought, "an arrival in the same phase: arrive.expect_tx announces the bytes and arrives"
    if barrier.pending <= 0 and outstanding != 0:
        expected = phase.bytes_arrived + outstanding
        brought = f"{phase.bytes_arrived} bytes have come, and {expected} are expected"
        return brought, f"an expectation of the {phase.bytes_arrived} bytes that come, or copies of {expected} bytes"
    return None


def _may_still_be_served(machine: Machine, barrier: PhaseBarrier) -> bool:
    """
    Whether the present phase could still get arrivals or bytes if some agent were not blocked.

    That is so if work that counts for it is under way, if an arrival was switched off by its predicate, if an agent
    that arrived is still in the same turn of its loop, or if an agent that runs the same code as one that arrives has
    not come to this phase yet; where arrivals lack, also an agent that has one before it.
    """
    if any(not work.complete for work in barrier.contributors) or _was_switched_off(machine, barrier):
        return True
    steps = list(_steps_for(machine, barrier, barrier.current.index))
    been = {step.agent for step in steps}
    if any(not machine.agents[step.agent].finished and _is_in_turn(machine.agents[step.agent], step) for step in steps):
        return True
    arriving = _ops_given(barrier) if barrier.pending > 0 else ()
    serving = {_agent_region(op) for op in [*_serving_ops(machine, barrier), *arriving]}
    waiting = [agent for agent in machine.live if agent.number not in been and agent.waiting_at is not None]
    return any(agent.waiting_at is not None and _agent_region(agent.waiting_at) in serving for agent in waiting)


def _was_switched_off(machine: Machine, barrier: PhaseBarrier) -> bool:
    """Whether an arrival for the present phase did not take place since its predicate is false."""
    return any(step.kind == "skip" and step.turn == barrier.current.index for step in machine.trace.about([barrier]))


def _steps_for(machine: Machine, barrier: PhaseBarrier, phase: int) -> Iterator[Happening]:
    """The arrivals at `barrier` in `phase`, the bytes announced, and the issue of the works that counted for it."""
    for step in machine.trace.happenings:
        arrives = step.kind in ("arrive", "expect") and step.on is barrier and step.turn == phase
        issues = step.kind == "issue" and isinstance(step.on, AsyncWork) and _signals(step.on, barrier, phase)
        if arrives or issues:
            yield step


def _serving_ops(machine: Machine, barrier: PhaseBarrier) -> list[Operation]:
    """The ops that ever arrived at a barrier made by the same op as `barrier`."""
    arrivals = [step for step in machine.trace.happenings if step.kind == "arrive"]
    family = [step for step in arrivals if isinstance(step.on, PhaseBarrier) and step.on.op is barrier.op]
    return list(dict.fromkeys(step.op for step in family))


def _ops_given(barrier: PhaseBarrier) -> Iterator[Operation]:
    """
    The ops that are given `barrier` by the name under which it was made, and neither wait nor end its life: they may
    arrive there.
    """
    uses = [use.operation for operand in barrier.op.operands[:1] for use in operand.uses]
    return (op for op in uses if op is not barrier.op and not _waits(op) and not getattr(op, "ENDS_LIFE", False))


def _waits(op: Operation) -> bool:
    meaning = meaning_of(op)
    return meaning is not None and meaning.kind is Kind.SUSPENDS


def _signals(work: AsyncWork, barrier: PhaseBarrier, phase: int) -> bool:
    return any(told is barrier and counted == phase for told, counted in work.phases)


def _is_in_turn(agent: Agent, step: Happening) -> bool:
    """Whether `agent` is still where it was at `step`: in the same iteration of the same loops."""
    return agent.iteration[: len(step.iteration)] == step.iteration and len(agent.iteration) >= len(step.iteration) > 0


def _agent_region(op: Operation) -> object:
    """The region of the agent-like op that contains `op`, or else the outermost region around it."""
    region = op.parent_region()
    while region is not None and region.parent is not None and AgentLikeOpInterface.of(region.parent) is None:
        around = region.parent.parent_region()
        if around is None:
            break
        region = around
    return region


def _violation_of_shortfall(machine: Machine, agent: Agent, barrier: PhaseBarrier, has: str, missing: str) -> Violation:
    phase = barrier.current.index
    assert agent.waiting_at is not None
    waiter = Party(agent.waiting_at, agent.name, agent.iteration, f"waits for phase {phase} of {barrier.name}")
    maker = Party(barrier.op, "", (), f"makes the barrier for {barrier.expected} arrivals a phase")
    steps = list(_steps_for(machine, barrier, phase))
    others = {step.op: Party(step.op, step.agent_name, step.iteration, step.text) for step in steps}
    violation = Violation(
        ViolationKind.PHASE,
        f"phase {phase} of {barrier.name} can never complete: {has}, and nobody is left to change that",
        (waiter, maker, *others.values()),
        missing,
        stuck=True,
        symptom=ViolationKind.DEADLOCK,
        instead=barrier.current.arrived or None,
    )
    works = [step.on for step in steps if isinstance(step.on, AsyncWork)]
    return shown(violation, witness_about(machine, agent, [barrier, *works], [waiter]), standing_at(machine))


# First waits ----------------------------------------------------------------------------------------------------------


def blame_first_wait(machine: Machine, rerun: Callable[[Operation], Machine]) -> None:
    """
    Report the deadlock of `machine` as the wrong parity of a first wait, if the function runs well with the other one;
    as forgotten arrivals, if nobody else stands still with the other one, and nobody arrives there all the same.

    `rerun(op)` executes the function anew with the parity of `op` inverted.
    """
    stuck = [key for key, violation in machine.violations.items() if violation.kind is ViolationKind.DEADLOCK]
    if not stuck:
        return
    cause = _mistake_of_a_first_wait(machine, rerun)
    if cause is not None:
        del machine.violations[stuck[0]]
        machine.report(cause)


def _mistake_of_a_first_wait(machine: Machine, rerun: Callable[[Operation], Machine]) -> Violation | None:
    for agent in machine.live:
        barrier = barrier_waited_for(agent)
        op = agent.waiting_at
        if barrier is None or op is None or not barrier.counted_by_hand or not _is_first_visit(machine, barrier):
            continue
        with suppress(UndecidedError, UnsupportedError):
            other = rerun(op)
            if _is_left_to(other, op) and not _is_served(other, barrier):
                return _violation_of_forgotten_arrivals(agent, barrier, op)
            if not other.violations and not other.indeterminacies:
                return _violation_of_parity(agent, barrier, op)
    return None


def _is_left_to(machine: Machine, op: Operation) -> bool:
    """Whether every agent has ended, but for those that wait at `op`, and those that wait for the end of others."""
    return all(agent.waiting_at is op or isinstance(agent.waiting_for, EndOfAgents) for agent in machine.live)


def _is_served(machine: Machine, barrier: PhaseBarrier) -> bool:
    """Whether anybody arrived, or brought bytes, at the barrier of this execution that `barrier` is in another one."""
    return any(
        (other.op, other.name) == (barrier.op, barrier.name)
        and next(_steps_for(machine, other, phase), None) is not None
        for other in machine.phase_barriers
        for phase in range(other.current.index + 1)
    )


def _violation_of_forgotten_arrivals(agent: Agent, barrier: PhaseBarrier, op: Operation) -> Violation:
    waiter = Party(op, agent.name, agent.iteration, f"waits for phase 0 of {barrier.name}")
    maker = Party(barrier.op, "", (), f"makes the barrier for {_arrivals(barrier.expected)} a phase")
    violation = Violation(
        ViolationKind.PHASE,
        f"waits for a phase of {barrier.name} at which nobody arrives",
        (waiter, maker),
        f"{_arrivals(barrier.expected)} at {barrier.name} in each phase: nobody makes any",
        stuck=True,
        symptom=ViolationKind.DEADLOCK,
    )
    return shown(violation, witness_about(agent.machine, agent, [barrier], [waiter]), standing_at(agent.machine))


def _arrivals(number: int) -> str:
    return "1 arrival" if number == 1 else f"{number} arrivals"


def _is_first_visit(machine: Machine, barrier: PhaseBarrier) -> bool:
    """Whether nobody has come to `barrier` yet, and its first phase is waited for."""
    visits = [step for step in machine.trace.about([barrier]) if step.kind in ("arrive", "wait")]
    return barrier.current.index == 0 and not visits


def _violation_of_parity(agent: Agent, barrier: PhaseBarrier, op: Operation) -> Violation:
    waiter = Party(op, agent.name, agent.iteration, f"waits for phase 0 of {barrier.name}, asking for parity 0")
    others = [other.name for other in agent.machine.live if other is not agent and barrier_waited_for(other)]
    circle = f"{agent.name} and {', '.join(others)} wait for each other; {agent.name} " if others else ""
    violation = Violation(
        ViolationKind.PHASE,
        f"{circle}waits for a phase of {barrier.name} that can only come later; with the other parity the function "
        "runs to its end without a mistake",
        (waiter, Party(barrier.op, "", (), "makes the barrier")),
        "parity 1 in the first round: that of the phase before the first, which counts as complete"
        + ("; or an arrival before one of these waits" if others else ""),
        stuck=True,
        symptom=ViolationKind.DEADLOCK,
    )
    return shown(violation, witness_about(agent.machine, agent, [barrier], [waiter]), standing_at(agent.machine))


# Races and undrained work ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WrongPhase:
    """A wait that passed on one phase of a barrier where the later phase `meant` was needed."""

    wait: Happening
    barrier: PhaseBarrier
    meant: int

    @property
    def party(self) -> Party:
        seen = self.wait.turn
        role = f"passes on phase {seen} of {self.barrier.name}, asking for parity {seen & 1}"
        return Party(self.wait.op, self.wait.agent_name, self.wait.iteration, role)

    def explains(self, machine: Machine, symptom: Violation) -> Violation:
        """`symptom` (a race or undrained work), reported as a mistake in the phase."""
        seen, meant, name = self.wait.turn, self.meant, self.barrier.name
        missing = f"a wait for phase {meant} of {name}, which has parity {meant & 1}"
        if (seen & 1) == (meant & 1):
            missing += f" like phase {seen}: keep the two apart, by a barrier more or an edge back"
        named = replace(
            symptom,
            kind=ViolationKind.PHASE,
            message=f"'{op_name(self.wait.op)}' passes on phase {seen} of {name} where phase {meant} is meant: "
            f"{symptom.message}",
            parties=(self.party, *symptom.parties),
            missing=missing,
            symptom=symptom.kind,
        )
        if symptom.kind is not ViolationKind.UNDRAINED:
            return named
        # How far the barrier had come says more than where the work was issued.
        return shown(named, witness_about(machine, machine.agents[self.wait.agent], [self.barrier], symptom.parties))


def name_wrong_phases(machine: Machine) -> None:
    """Turn the races and undrained work of `machine` that a wrong phase explains into mistakes in the phase."""
    if not any(step.kind == "wait" and _is_by_hand(step.on) for step in machine.trace.happenings):
        return
    named: dict[object, Violation] = {}
    for key, violation in machine.violations.items():
        wrong = _wrong_phase_behind(machine, key, violation)
        mute = _mute_arrival(machine, machine.conflicts.get(key)) if wrong is None else None
        if wrong is not None:
            violation = wrong.explains(machine, violation)
        elif mute is not None:
            missing = f"a release that reaches the waiting agent: '{op_name(mute.op)}' {mute.text}"
            parties = (*violation.parties, Party(mute.op, mute.agent_name, mute.iteration, mute.text))
            violation = replace(violation, parties=parties, missing=missing)
        named.setdefault(violation.key, violation)
    machine.violations = named


def _is_by_hand(thing: object) -> bool:
    return isinstance(thing, PhaseBarrier) and thing.counted_by_hand


def _wrong_phase_behind(machine: Machine, key: object, violation: Violation) -> WrongPhase | None:
    if violation.kind is ViolationKind.RACE:
        conflict = machine.conflicts.get(key)
        return _behind_race(machine, conflict) if conflict is not None else None
    if violation.kind is ViolationKind.UNDRAINED:
        return next(_behind_undrained(machine, violation.parties[0].op), None)
    return None


def _behind_race(machine: Machine, conflict: Conflict) -> WrongPhase | None:
    """The wait that would have ordered the two accesses, had it been for the phase that announces one of them."""
    for first, second in ((conflict.earlier, conflict.later), (conflict.later, conflict.earlier)):
        for announcement in _announcements(machine, first):
            barrier, phase = announcement.barrier, announcement.phase
            wait = _last_pass(machine, second, barrier)
            # Who announces after this very wait cannot be what it should have waited for.
            if wait is None or wait.turn >= phase or announcement.comes_after(wait):
                continue
            if first is conflict.earlier or first.work is not None or wait in _second_passes(machine, barrier, phase):
                return WrongPhase(wait, barrier, phase)
    return None


@dataclass(frozen=True)
class Announcement:
    """A signal or an arrival that counts for `phase` of `barrier` and comes after an access."""

    barrier: PhaseBarrier
    phase: int
    known: Clock
    """What its agent knew then; for the signal of a work, what its issuer knew at issue."""

    def comes_after(self, step: Happening) -> bool:
        return self.known.get(step.agent, -1) >= step.moment


def _mute_arrival(machine: Machine, conflict: Conflict | None) -> Happening | None:
    """The arrival that would order the accesses of a race if it released what its agent knew; None without one."""
    if conflict is None:
        return None
    for wait in reversed(_waits_before(machine, conflict.later)):
        for arrival in machine.trace.about([wait.on]):
            if arrival.kind != "arrive" or arrival.turn != wait.turn or wait.learnt is None:
                continue
            is_heard = wait.learnt.get(arrival.agent, -1) >= arrival.moment
            if not is_heard and _knew(arrival, conflict.earlier):
                return arrival
    return None


def _knew(arrival: Happening, access: Access) -> bool:
    """Whether who made `arrival` had made `access`, or seen the work complete that did."""
    if access.work is None:
        return access.agent.number == arrival.agent and access.step <= arrival.step
    seen = access.work.observers.get(arrival.agent)
    return seen is not None and seen <= arrival.moment


def _announcements(machine: Machine, access: Access) -> Iterator[Announcement]:
    """What announces that `access` is over: signals of its work, or later arrivals of its agent in the same turn."""
    if access.work is not None:
        for barrier, phase in _phases_of(access.work):
            yield Announcement(barrier, phase, access.work.mind.clock)
        return
    known: Clock = {}
    for step in machine.trace.of(access.agent.number):
        if step.learnt is not None and step.kind == "wait":
            known = step.learnt
        if step.kind == "arrive" and step.step > access.step and _same_turn(step, access):
            if isinstance(step.on, PhaseBarrier) and step.on.counted_by_hand:
                yield Announcement(step.on, step.turn, {**known, step.agent: step.moment})


def _phases_of(work: AsyncWork) -> Iterator[tuple[PhaseBarrier, int]]:
    """The barriers that `work` signals, and for which phase; the present one where it is not complete."""
    counted = {id(barrier): phase for barrier, phase in work.phases}
    for channel in work.channels:
        if isinstance(channel, PhaseBarrier) and channel.counted_by_hand:
            yield channel, counted.get(id(channel), channel.current.index)


def _last_pass(machine: Machine, access: Access, barrier: PhaseBarrier) -> Happening | None:
    """The last wait at `barrier` that let the agent of `access` through in the same turn of its loop."""
    passed = [wait for wait in _waits_before(machine, access) if wait.on is barrier]
    return passed[-1] if passed else None


def _waits_before(machine: Machine, access: Access) -> list[Happening]:
    """The waits for phases that let the agent of `access` through before, in the same turn of its loop."""
    return [
        step
        for step in machine.trace.of(access.agent.number)
        if step.kind == "wait" and isinstance(step.on, PhaseBarrier) and step.step <= access.step
        if _same_turn(step, access)
    ]


def _same_turn(step: Happening, access: Access) -> bool:
    """Whether the two are in one iteration of the loops around both."""
    return all(a == b for a, b in zip(step.iteration, access.iteration, strict=False))


def _behind_undrained(machine: Machine, op: Operation) -> Iterator[WrongPhase]:
    """Waits that passed a phase a second time, where nobody waits for the later one that work of `op` signals."""
    first = machine.agents[0]
    for work in machine.works:
        if work.op is not op or first.mind.knows_work(work):
            continue
        for barrier, meant in _phases_of(work):
            yield from (WrongPhase(wait, barrier, meant) for wait in _second_passes(machine, barrier, meant))


def _second_passes(machine: Machine, barrier: PhaseBarrier, meant: int) -> Iterator[Happening]:
    """Waits that passed on a phase before `meant` on which the same agent had passed before."""
    seen: set[tuple[int, int]] = set()
    for step in machine.trace.about([barrier]):
        if step.kind == "wait" and step.turn < meant:
            if (step.agent, step.turn) in seen:
                yield step
            seen.add((step.agent, step.turn))
