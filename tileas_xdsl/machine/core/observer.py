"""
Who watches an execution: the one way in which the machine tells others what it does.

The machine knows nothing of proofs, of recorded runs or of witnesses. It tells its observer what happens, in order, and
asks it three things: what need not be followed (numbers that a proof does without), whether to stop at a loop head so
that the state can be looked at, and whether it can say more about a mistake than the machine itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.ir import Block, Operation

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.agents import Agent, Step
    from tileas_xdsl.machine.core.evidence import Evidence
    from tileas_xdsl.machine.core.execution import Machine
    from tileas_xdsl.machine.core.happens_before import Access, AccessHistory, Mind
    from tileas_xdsl.machine.core.values import ElementType
    from tileas_xdsl.machine.core.violations import Violation


class StepNote(Protocol):
    """What an observer keeps of a step; the machine puts in what came of it."""

    outcome: Any


class LoopNote(Protocol):
    """What an observer keeps of one run of a loop."""

    def begins(self) -> bool:
        """A turn begins. Returns whether the agent has to pause, so that the state can be looked at."""
        ...


@dataclass(slots=True, eq=False)
class Look:
    """An op looks for something that is found by a number: a slot, a barrier. Each room has its own kinds."""

    op: Operation


class Observer:
    """Watches one execution. This one looks at nothing; what it returns is what the machine does by itself."""

    watches_steps = False
    """Whether `step`, `loop` and `looks` are to be called, which takes time."""
    follows_floats = True
    """Whether floats have to be computed where data are not asked for."""

    def follows(self, element: ElementType) -> bool:
        """Whether numbers of type `element` that lie in memory have to be followed where data are not asked for."""
        return True

    # What happens ----------------------------------------------------------------------------------------------------

    def step(self, agent: Agent, step: Step, operands: list[Any]) -> StepNote | None:
        """`agent` takes `step` on `operands`."""

    def loop(self, agent: Agent, body: Block, inductions: object) -> LoopNote | None:
        """`agent` begins to run the loop around `body`, `inductions` being its variable's values, or None."""

    def access(self, access: Access, mind: Mind, history: AccessHistory) -> None:
        """Somebody who knows `mind` makes `access` to an object of which `history` holds the earlier ones."""

    def looks(self, look: Look) -> None:
        """An op looks for something that is found by a number: told only where `watches_steps`."""

    def count(self, in_flight: int) -> None:
        """Somebody waits until no more than the youngest `in_flight` groups of a queue may be unfinished."""

    def stopped(self, machine: Machine) -> bool:
        """An agent has paused. Returns whether it was for the observer's sake, and may go on."""
        return False

    # Mistakes --------------------------------------------------------------------------------------------------------

    def explained(self, machine: Machine, violation: Violation, evidence: Evidence) -> Violation:
        """`violation`, with what the observer can add to it."""
        return violation

    def standstill(self, machine: Machine) -> Violation | None:
        """Nobody can go on: the mistake behind it, where the observer knows better than that."""

    def ended(self, machine: Machine) -> None:
        """The execution is over."""


NOBODY = Observer()
"""An observer that looks at nothing."""
