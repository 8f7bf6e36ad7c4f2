"""
An execution, written down for a proof: its steps, its accesses, the turns of its loops, and snapshots of the machine at
the loop heads that somebody asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Block

from tileas_xdsl.checker.snapshot.machine import take_snapshot
from tileas_xdsl.checker.snapshot.settled import Reach, Unsettled
from tileas_xdsl.checker.snapshot.snapshot import Snapshot
from tileas_xdsl.machine.core.happens_before import Access, AccessHistory, Mind
from tileas_xdsl.machine.core.observer import Look, Observer
from tileas_xdsl.machine.core.values import ElementType
from tileas_xdsl.machine.parts.rings import StageLook

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.agents import Agent, Step
    from tileas_xdsl.machine.core.execution import Machine

LoopKey = tuple[Block, int]
"""The body of a loop, and the how manieth run of that loop it is in this execution."""
Wanted = Callable[[LoopKey, int], bool]
"""Whether to draw a snapshot at the head of that loop in that turn."""


@dataclass(slots=True, eq=False)
class TakenStep:
    """One op that an agent ran."""

    agent: int
    step: Step
    operands: list[Any]
    outcome: Any = None
    """Its results, once it is through."""

    @property
    def outcomes(self) -> list[Any]:
        """Its results one by one."""
        return list(cast("tuple[Any, ...]", self.outcome)) if isinstance(self.outcome, tuple) else [self.outcome]


@dataclass(slots=True, eq=False)
class Turns:
    """One run of a loop."""

    run: RecordedRun
    agent: Agent
    key: LoopKey
    bounds: range | None
    """Of its induction variable; None for a loop without one."""
    depth: int
    """How many loops of the agent are around it."""
    heads: list[int] = field(default_factory=list[int])
    """For each turn the number of the run's entry at which it begins."""

    @property
    def count(self) -> int:
        return len(self.heads)

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
    """What an access finds on the file of its object."""

    strangers: list[Access]
    """Accesses that it does not know of, or not well enough: with them it would race if the places were the same."""
    replaced: list[Access]
    """Accesses in whose stead it is on file from here on."""


@dataclass(slots=True, eq=False)
class Head:
    """The place of the run where a turn of a loop begins."""

    turns: Turns
    turn: int


NOTHING = Reach()


class RecordedRun(Observer):
    """
    What one execution did, in order.

    `wanted(loop, turn)` says at which loop heads to draw a snapshot of the machine; `reach` is what executions are
    known to touch. What this one touches is `reached` in the end. `as_slots_turn`, `gathers_leftovers`: see `snapshot`.
    """

    watches_steps = True
    follows_floats = False
    """Floats are data, and seldom decide anything: a proof does without, wherever they come from."""

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
        self.in_flight = 0
        """The largest number of groups that a wait has left in flight."""
        self.encounters: dict[Access, Encounter] = {}
        """Of each access."""
        self.entries: list[TakenStep | Head | Access | Look | Turns] = []
        self.loops: list[Turns] = []
        self.snapshots: dict[tuple[LoopKey, int], Snapshot] = {}
        self.cut: tuple[LoopKey, int] | None = None
        self._runs: dict[Block, int] = {}
        self._unsettled = Unsettled(reach)

    def follows(self, element: ElementType) -> bool:
        return not (self.gathers_leftovers or element.is_float)

    def step(self, agent: Agent, step: Step, operands: list[Any]) -> TakenStep:
        taken = TakenStep(agent.number, step, operands)
        self.entries.append(taken)
        return taken

    def access(self, access: Access, mind: Mind, history: AccessHistory) -> None:
        """Somebody who knows `mind` makes `access` to an object of which `history` holds the earlier ones."""
        self.entries.append(access)
        if not access.region.is_empty:
            self.encounters[access] = Encounter(history.strangers(access, mind), history.replaced_by(access, mind))

    def count(self, in_flight: int) -> None:
        """Somebody waits until no more than the youngest `in_flight` groups may be unfinished."""
        self.in_flight = max(self.in_flight, in_flight)

    def looks(self, look: Look) -> None:
        if isinstance(look, StageLook):
            self.meets_equal_slots |= look.ring.has_equal_slots
        self.entries.append(look)

    @property
    def reached(self) -> Reach:
        return Reach.of((entry for entry in self.entries if isinstance(entry, Access)), self.in_flight)

    def loop(self, agent: Agent, body: Block, inductions: object) -> Turns:
        number = self._runs.get(body, 0)
        self._runs[body] = number + 1
        turns = Turns(
            self, agent, (body, number), inductions if isinstance(inductions, range) else None, len(agent.iteration)
        )
        self.loops.append(turns)
        self.entries.append(turns)
        return turns

    def stopped(self, machine: Machine) -> bool:
        """Draw the snapshot for which an agent has paused. False if none has."""
        if self.cut is None:
            return False
        self.snapshots[self.cut] = take_snapshot(
            machine, self._unsettled, as_slots_turn=self.as_slots_turn, gathers_leftovers=self.gathers_leftovers
        )
        self.cut = None
        return True
