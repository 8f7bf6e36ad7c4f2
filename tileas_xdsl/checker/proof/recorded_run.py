"""
The recorded run of an execution, for a proof: its steps, its accesses, the turns of its loops, and snapshots of the
machine at chosen loop heads.

Executions of a proof have an order of their own, in which whoever had to wait goes on at once; agents that keep in step
recur soon. Slots of a ring are told by their turns where they are objects of their own. Where no proof comes of that,
slots are told by their numbers, and the state recurs after two turns of the ring.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Block

from tileas_xdsl.checker.snapshot.machine import take_snapshot
from tileas_xdsl.checker.snapshot.settled import Reach, Unsettled
from tileas_xdsl.checker.snapshot.snapshot import Snapshot
from tileas_xdsl.machine.core.happens_before import Access, AccessHistory, Mind
from tileas_xdsl.machine.core.meaning import Kind, facts_of
from tileas_xdsl.machine.core.moving_numbers import selected
from tileas_xdsl.machine.core.observer import AnyObserver, Look
from tileas_xdsl.machine.core.opaque_numbers import TurnsOverBlocks
from tileas_xdsl.machine.core.synchronization import StateToken
from tileas_xdsl.machine.core.values import ElementType
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.parts.placed_barriers import BarrierLook
from tileas_xdsl.machine.parts.rings import StageLook

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.agents import Agent
    from tileas_xdsl.machine.core.code import Step
    from tileas_xdsl.machine.core.execution import Machine

LoopKey = tuple[Block, int]
"""The body of a loop, and the number of this run of the loop: how often it was entered before in the execution."""
Wanted = Callable[[LoopKey, int], bool]
"""Whether to take a snapshot at the head of a loop in a turn, counted from 0."""


class Running(Enum):
    """In place of the outcome of an op that is not through."""

    STILL = auto()


@dataclass(slots=True, eq=False)
class TakenStep:
    """One op that the agent number `agent` ran, with the values of its operands."""

    agent: int
    step: Step
    operands: list[Any]
    outcome: Any = Running.STILL
    """Its result, or a tuple of its results, once the op is through."""

    def still_running(self) -> TakenStep:
        """The same step before it was through."""
        return self if self.outcome is Running.STILL else TakenStep(self.agent, self.step, self.operands)

    @property
    def outcomes(self) -> list[Any]:
        """Its results as a list."""
        return list(cast("tuple[Any, ...]", self.outcome)) if isinstance(self.outcome, tuple) else [self.outcome]


@dataclass(slots=True, eq=False)
class Turns:
    """One run of a loop by an agent, with all its turns."""

    run: RecordedRun
    agent: Agent
    key: LoopKey
    bounds: range | None
    """The range of its induction variable; None for a loop without one."""
    depth: int
    """The number of loops of the agent around it."""
    heads: list[int] = field(default_factory=list)
    """For each turn, the index of its head among the entries of the recorded run."""

    @property
    def count(self) -> int:
        return len(self.heads)

    def runs_beside(self, other: Turns) -> bool:
        """Whether a turn of one begins between the turns of the other: a loop runs beside itself."""
        return self.heads[0] <= other.heads[-1] and other.heads[0] <= self.heads[-1]

    def begins(self) -> bool:
        """Note that a turn begins. Returns whether the agent has to pause, so that a snapshot can be drawn."""
        turn = len(self.heads)
        self.heads.append(len(self.run.entries))
        self.run.entries.append(Head(self, turn))
        if self.run.wanted is None or not self.run.wanted(self.key, turn):
            return False
        self.run.cut = (self.key, turn)
        return True


@dataclass(slots=True, eq=False)
class Encounter:
    """How an access relates to the earlier ones in the access history of its object."""

    strangers: list[Access]
    """Accesses with which it would race if the places overlapped: it does not know of them, or a fence is missing."""
    replaced: list[Access]
    """Accesses that it replaces in the history."""
    repeated: list[Access]
    """Accesses that would be strangers, but are the same store, which each warp of a team makes."""


@dataclass(slots=True, eq=False)
class Head:
    """The entry of a recorded run at which turn number `turn` of a loop begins."""

    turns: Turns
    turn: int


NOTHING = Reach()
COMPUTES = (Kind.PURE, Kind.EFFECT)
"""Steps that may make a number of what they are given."""


class RecordedRun(AnyObserver):
    """
    The observer that records an execution: `entries` holds what it did, in order.

    `wanted(loop, turn)` says at which loop heads to take a snapshot of the machine. `reach` is what executions of the
    function are known to touch so far; `reached` is what this one has touched. `as_slots_turn` and `gathers_leftovers`
    say how snapshots are drawn (see `snapshot`).
    """

    watches_steps = True
    follows_floats = False
    """Floats are data and seldom decide control flow. A proof treats them all as unknown."""
    numbers_phases = False
    """How often a barrier has turned is no part of the state, so no number may come of it."""

    def __init__(
        self,
        wanted: Wanted | None = None,
        reach: Reach = NOTHING,
        *,
        as_slots_turn: bool = False,
        gathers_leftovers: bool = False,
    ) -> None:
        self.wanted = wanted
        self.as_slots_turn = as_slots_turn
        self.gathers_leftovers = gathers_leftovers
        self.meets_equal_slots = False
        self.tells_threads_apart = False
        self.in_flight = 0
        """The largest number of groups that any wait left in flight."""
        self.takes_notes = True
        """Whether what is done now is compared with something later. Accesses are recorded in any case."""
        self.notes_encounters = True
        """Whether that comparison asks how accesses relate to earlier ones: it does so of one of the executions."""
        self.encounters: dict[Access, Encounter] = {}
        """One for each access that touches any byte."""
        self.entries: list[TakenStep | Head | Access | Look | Turns] = []
        self.loops: list[Turns] = []
        self.snapshots: dict[tuple[LoopKey, int], Snapshot] = {}
        self.cut: tuple[LoopKey, int] | None = None
        self._runs: dict[Block, int] = {}
        self._unsettled = Unsettled(reach)

    def follows(self, element: ElementType) -> bool:
        return not (self.gathers_leftovers or element.is_float)

    def step(self, agent: Agent, step: Step, operands: list[Any]) -> TakenStep | None:
        if step.kind in COMPUTES:
            for operand in operands:
                if type(operand) is StateToken and facts_of(step.op).moves is not selected:
                    raise UnsupportedError(step.op, "takes the state of a barrier for a number")
        if not self.takes_notes:
            return None
        taken = TakenStep(agent.number, step, operands)
        self.entries.append(taken)
        return taken

    def access(self, access: Access, mind: Mind, history: AccessHistory) -> None:
        """Record `access`, and which of the earlier accesses in `history` are unknown to `mind`, or replaced by it."""
        self.entries.append(access)
        if self.takes_notes and self.notes_encounters and not access.region.is_empty:
            self.encounters[access] = Encounter(
                history.strangers(access, mind), history.replaced_by(access, mind), history.repeated(access, mind)
            )

    def count(self, in_flight: int) -> None:
        """Record a wait that leaves at most the youngest `in_flight` groups of a queue unfinished."""
        self.in_flight = max(self.in_flight, in_flight)

    def looks(self, look: Look) -> None:
        if isinstance(look, StageLook):
            self.meets_equal_slots |= look.ring.has_equal_slots
        self.entries.append(look)

    def ended(self, machine: Machine) -> None:
        self.tells_threads_apart = machine.tells_threads_apart

    @property
    def reached(self) -> Reach:
        accesses = (entry for entry in self.entries if isinstance(entry, Access))
        looks = (entry for entry in self.entries if isinstance(entry, BarrierLook))
        return Reach.of(accesses, looks, self.in_flight)

    def loop(self, agent: Agent, body: Block, inductions: object) -> Turns:
        number = self._runs.get(body, 0)
        self._runs[body] = number + 1
        bounds = inductions.turns if isinstance(inductions, TurnsOverBlocks) else inductions
        turns = Turns(self, agent, (body, number), bounds if isinstance(bounds, range) else None, len(agent.iteration))
        self.loops.append(turns)
        self.entries.append(turns)
        return turns

    def stopped(self, machine: Machine) -> bool:
        """Take the snapshot for which an agent has paused; returns whether one has."""
        if self.cut is None:
            return False
        self.snapshots[self.cut] = take_snapshot(
            machine, self._unsettled, as_slots_turn=self.as_slots_turn, gathers_leftovers=self.gathers_leftovers
        )
        self.cut = None
        return True
