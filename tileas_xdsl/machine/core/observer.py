"""
The observer of an execution: the one way in which the machine tells others what it does.

The machine does not depend on proofs, recorded runs or witnesses. It tells its observer what happens, in order, and
asks it three things: which memory contents it has to follow without data, whether to stop at a loop head so that the
state can be looked at, and whether it can say more about a mistake than the machine can.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from xdsl.ir import Block, Operation

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.code import Step
    from tileas_xdsl.machine.core.happens_before import Access, AccessHistory, Mind
    from tileas_xdsl.machine.core.memory import MemoryObject
    from tileas_xdsl.machine.core.values import ElementType
    from tileas_xdsl.machine.core.violations import Evidence, Violation


AgentT = TypeVar("AgentT", contravariant=True)
MachineT = TypeVar("MachineT", contravariant=True)
"""What the observer is told of: an agent and the machine, as much of them as it asks for."""


class StepNote(Protocol):
    """What an observer keeps of a step. The machine sets `outcome` when the step is done."""

    outcome: Any


class LoopNote(Protocol):
    """What an observer keeps of one run of a loop."""

    def begins(self) -> bool:
        """A turn begins. Returns whether the agent has to pause so that the observer can look at the state."""
        ...


@dataclass(slots=True, eq=False)
class Look:
    """An op finds something (a slot, a barrier) by a number. Each module of the machine has its own subclasses."""

    op: Operation


class Observer(Generic[AgentT, MachineT]):
    """
    Watches one execution. This base class ignores everything; its answers change nothing of what the machine does.
    """

    watches_steps = False
    """Whether the machine calls `step`, `loop` and `looks`, which costs time."""
    follows_floats = True
    """Whether floats have to be computed where data are not asked for."""
    numbers_phases = True
    """Whether the state of a barrier that an arrival returns is a number; else it is a `StateToken`."""

    def follows(self, element: ElementType) -> bool:
        """Whether numbers of type `element` that lie in memory have to be followed where data are not asked for."""
        return True

    # What happens ----------------------------------------------------------------------------------------------------

    def step(self, agent: AgentT, step: Step, operands: list[Any]) -> StepNote | None:
        """`agent` takes `step` on `operands`."""

    def loop(self, agent: AgentT, body: Block, inductions: object) -> LoopNote | None:
        """`agent` begins to run the loop around `body`, `inductions` being its variable's values, or None."""

    def access(self, access: Access, mind: Mind, history: AccessHistory) -> None:
        """
        An agent or work with the knowledge `mind` makes `access`; `history` has the earlier accesses to that object.
        """

    def looks(self, look: Look) -> None:
        """An op finds something by a number. Called only where `watches_steps`."""

    def count(self, in_flight: int) -> None:
        """An agent waits until at most the youngest `in_flight` groups of a queue are unfinished."""

    def outside(self, agent: AgentT, op: Operation, array: MemoryObject) -> None:
        """`op` is about a tile that lies outside of `array` altogether: it reads its padding, or writes nothing."""

    def stopped(self, machine: MachineT) -> bool:
        """An agent has paused. Returns whether it paused for the observer and may go on."""
        return False

    # Loops of which it is open how often they turn -------------------------------------------------------------------

    def asks(self, agent: AgentT, op: Operation) -> None:
        """
        `agent` is at the head of the loop `op`, of which it is open whether it goes on, or at a comparison of which
        the answer is open. It pauses for the observer (`stopped`), which then decides.
        """
        raise NotImplementedError

    def decides_to_go_on(self) -> bool:
        """
        The answer to the last question: whether the loop has one more turn; for a comparison, whether the bound is not
        less, or not equal.
        """
        raise NotImplementedError

    # Mistakes --------------------------------------------------------------------------------------------------------

    def explained(self, machine: MachineT, violation: Violation, evidence: Evidence) -> Violation:
        """`violation`, extended by what the observer knows of it."""
        return violation

    def standstill(self, machine: MachineT) -> Violation | None:
        """The execution is stuck. Returns the violation behind the deadlock, or None if the observer knows of none."""

    def ended(self, machine: MachineT) -> None:
        """The execution is over."""


AnyObserver = Observer[Any, Any]
NOBODY: AnyObserver = Observer()
"""An observer that looks at nothing."""
