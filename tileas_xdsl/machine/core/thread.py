"""
What meanings and parts see of the execution around an agent: its state, what is noted in it, and its works.

    agent.shared(Barriers)                      state that a module keeps for the whole execution
    agent.note(op, "wait", "waits for x")       a step in the trace
    agent.assume(..), agent.report(..)          what the verdict will name
    agent.peek(view), agent.poke(view, data)    bytes, without an access

Who needs more than this of the machine is part of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Block, Operation

from tileas_xdsl.machine.core.state import SharedPartT

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.agents import Agent
    from tileas_xdsl.machine.core.assumptions import Assumption
    from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event
    from tileas_xdsl.machine.core.code import Code, Step
    from tileas_xdsl.machine.core.execution import Machine
    from tileas_xdsl.machine.core.happens_before import Access, AccessHistory, Conflict
    from tileas_xdsl.machine.core.memory import MemoryObject, View
    from tileas_xdsl.machine.core.observer import AnyObserver
    from tileas_xdsl.machine.core.opaque_numbers import Grid
    from tileas_xdsl.machine.core.questions import Guide
    from tileas_xdsl.machine.core.synchronization import PhaseBarrier
    from tileas_xdsl.machine.core.violations import Evidence, Violation


class Thread:
    """One who runs code in an execution; the class of agents adds how it does so."""

    machine: Machine

    def shared(self, kind: type[SharedPartT]) -> SharedPartT:
        """The shared part of type `kind`, made at the first call."""
        return self.machine.parts.of(kind)

    # What is known -------------------------------------------------------------------------------------------------

    @property
    def has_data(self) -> bool:
        """Whether tile data are computed; otherwise only scalars and synchronisation."""
        return self.machine.with_data

    @property
    def captures_at_issue(self) -> bool:
        """Whether asynchronous work reads its sources when it is issued, not at any time until it completes."""
        return self.machine.capture == "issue"

    @property
    def code(self) -> Code:
        """What is known of the ops."""
        return self.machine.code

    @property
    def observer(self) -> AnyObserver:
        """Who observes the execution."""
        return self.machine.observer

    @property
    def guide(self) -> Guide | None:
        """Decides the answers to questions, if there is one."""
        return self.machine.guide

    @property
    def grid(self) -> Grid:
        """What is known of the place of the block in the grid."""
        return self.machine.grid

    @property
    def step_number(self) -> int:
        """The number of the present step."""
        return self.machine.step_number

    @property
    def agents(self) -> Sequence[Agent]:
        """All agents of the execution, by number."""
        return self.machine.agents

    @property
    def threads_of_a_block(self) -> int | None:
        """How many threads a block has that runs the function, where the function does not say so itself."""
        return self.machine.threads

    @property
    def unstated_slots(self) -> int | None:
        """How many slots of a queue may be relied on that does not say how many it has; None: as many as it takes."""
        return self.machine.unstated_slots

    def seed_of_anything(self) -> int | None:
        """A seed for numbers that may be anything, another one at each call; None where these are 0."""
        return self.machine.order.seed_of_anything()

    def prepared(self, block: Block) -> list[Step]:
        """The ops of `block` with their meanings."""
        return self.machine.prepared(block)

    def inverts(self, op: Operation) -> bool:
        """Whether the execution asks what happens if `op` waits for the other parity."""
        return op is self.machine.what_if.inverted

    def allows(self, op: Operation, count: int | None) -> tuple[bool, int]:
        """Whether there is a wait at `op` at all, and how many it allows to be unfinished: see `Machine.allows`."""
        return self.machine.allows(op, count)

    # What is noted -------------------------------------------------------------------------------------------------

    def note(
        self,
        op: Operation,
        kind: str,
        text: str,
        *,
        on: object | None = None,
        turn: int = 0,
        iteration: tuple[int, ...] | None = None,
    ) -> None:
        """Put a step of this agent into the trace; for the other arguments see `Happening`."""
        self.machine.happened(cast("Agent", self), op, kind, text, on=on, turn=turn, iteration=iteration)

    def assume(self, assumption: Assumption) -> None:
        """Note that the execution rests on `assumption`, which the verdict will name."""
        self.machine.assume(assumption)

    def report(self, violation: Violation, evidence: Evidence | None = None) -> None:
        """Keep `violation`, which rests on `evidence`, unless the same mistake is known."""
        self.machine.report(violation, evidence)

    def report_conflict(self, conflict: Conflict) -> None:
        """Report `conflict`, unless one of the same kind between the same two ops is known."""
        self.machine.report_conflict(conflict)

    def makes_late_values(self, *, numbers: bool = False) -> None:
        """Note that the execution makes late values, some of which may be `numbers`."""
        self.machine.late_values = True
        self.machine.late_numbers |= numbers

    def begins_phase(self, barrier: PhaseBarrier) -> None:
        """Note that a phase of `barrier` has begun."""
        self.machine.phase_barriers[barrier] = None

    def check_budget(self, at: Operation | Block) -> None:
        """Raises `UndecidedError` at an op, or at the op around a block, after too many steps; `TimeUpError` late."""
        self.machine.check_budget(at)

    def check_time(self, op: Operation) -> None:
        """Raises `TimeUpError` at `op` if the deadline has passed: for what takes long between two steps."""
        self.machine.check_time(op)

    # Memory --------------------------------------------------------------------------------------------------------

    def peek(self, view: View) -> Any:
        """What is under `view` now, without noting an access."""
        return self.machine.read(view)

    def poke(self, view: View, value: Any) -> None:
        """Put `value` under `view`, without noting an access."""
        self.machine.write(view, value)

    def history_of(self, base: MemoryObject) -> AccessHistory | None:
        """The accesses recorded for `base`; None if there have been none."""
        return self.machine.history_of(base)

    def accesses(self) -> Iterator[Access]:
        """The accesses that it made itself, if a later one may still race with them."""
        return self.machine.accesses_of(cast("Agent", self))

    def note_access(self, access: Access) -> None:
        """Record an access of this agent; each conflict with an earlier one becomes a violation."""
        self.machine.note_access(access, cast("Agent", self).mind)

    def read_somewhere(self, base: MemoryObject, op: Operation) -> None:
        """`op` reads in `base`, and it is not computed where. Raises `UndecidedError` where that makes a difference."""
        self.machine.read_somewhere(base, op)

    def doubt_access(self, view: View, op: Operation) -> None:
        """A call of a function without a body may access `view`: where that would be a conflict, all stays open."""
        self.machine.doubt_access(cast("Agent", self), view, op)

    # Asynchronous work ---------------------------------------------------------------------------------------------

    @property
    def works(self) -> Sequence[AsyncWork]:
        """All works that were ever issued, in order."""
        return self.machine.works

    def works_under_way(self) -> list[AsyncWork]:
        """Works that are issued and not complete, oldest first."""
        return self.machine.works_under_way()

    def event_of(self, work: AsyncWork, label: str = "token") -> Event:
        """A token that completes with `work`."""
        return self.machine.event_of(work, label)

    def perform(self, work: AsyncWork) -> None:
        """Make the accesses of `work` happen, complete it and signal those who wait for it."""
        self.machine.perform(work)
