"""
States of barriers: what an arrival at an mbarrier returns, and what a test may name (PTX ISA, "mbarrier.test_wait,
mbarrier.try_wait").

A state stands for the phase in which the arrival was. A test may name it at the barrier of that arrival only, and as
long as its phase is the current one or the one just before; anything else is undefined, and reported as malformed. So a
phase may complete only after each test of the phase before it (`Phase.tests`).

Where an execution computes numbers, a state is a number, so that it may go through memory. It holds the number of the
barrier that gave it, from 1 on, and the phase.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.core.synchronization import PhaseBarrier, StateToken
from tileas_xdsl.machine.core.violations import end_malformed

PHASE_BITS = 32
SECTION = '(PTX ISA, "mbarrier.test_wait, mbarrier.try_wait")'


@dataclass
class GivenStates(SharedPart):
    """The barriers that have given states as numbers, by the time of the first one."""

    givers: list[PhaseBarrier] = field(default_factory=list[PhaseBarrier])

    def draw(self, canvas: Canvas) -> None:
        if self.givers:
            canvas.refuse("states of barriers that are numbers")

    def number_of(self, barrier: PhaseBarrier, phase: int) -> int:
        """The number that stands for `phase` of `barrier`."""
        if barrier not in self.givers:
            self.givers.append(barrier)
        return (self.givers.index(barrier) + 1) << PHASE_BITS | phase

    def token(self, number: int) -> StateToken | None:
        """What `number` stands for; None for one that no arrival has given."""
        place, phase = number >> PHASE_BITS, number & ((1 << PHASE_BITS) - 1)
        if not 1 <= place <= len(self.givers):
            return None
        return StateToken(self.givers[place - 1], phase)


def state_of(agent: Agent, barrier: PhaseBarrier, phase: int) -> int | StateToken:
    """What an arrival in `phase` of `barrier` returns."""
    if agent.observer.numbers_phases:
        return agent.shared(GivenStates).number_of(barrier, phase)
    return StateToken(barrier, phase)


def phase_of_state(agent: Agent, op: Operation, state: int | StateToken, barrier: PhaseBarrier) -> int:
    """
    The phase that `op`, a test of `barrier`, names by `state`. Reports a state that an arrival elsewhere has given, or
    none, or that is too old, and raises `NoMeaningError` then.
    """
    token = state if isinstance(state, StateToken) else agent.shared(GivenStates).token(state)
    if token is None or token.barrier is not barrier:
        giver = "no arrival" if token is None else f"an arrival at {token.barrier.name}"
        role = f"tests {barrier.name} for a state that {giver} has given"
        end_malformed(
            agent, op, role, f"a state that an arrival at {barrier.name} has given {SECTION}", about=[barrier]
        )
    note_test(agent, op, barrier, token.phase)
    return token.phase


def note_test(agent: Agent, op: Operation, barrier: PhaseBarrier, phase: int) -> None:
    """`agent` tests `phase` of `barrier` by its state. Reports it, and raises `NoMeaningError`, if that is too old."""
    agent.shares(barrier.name, alone=False)
    agent.begins_phase(barrier)
    age = barrier.phases_completed - phase
    if age > 1:
        role = f"tests {barrier.name} for phase {phase}, and phase {barrier.phases_completed} is the current one"
        rule = f"a state of the current phase or of the one just before it {SECTION}"
        end_malformed(agent, op, role, rule, about=[barrier])
    named = barrier.last_completed if age else barrier.current
    named.tests[agent.number] = agent.moment
