"""The client of a forward analysis: its states, how they join, and its transfer functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from xdsl.dialects import func
from xdsl.ir import Block, Operation, Region, SSAValue

State = TypeVar("State")
"""What the client knows at a program point. Immutable: a transfer function returns a new state."""


class EdgeKind(Enum):
    """How control reaches a place where paths meet."""

    BRANCH = "takes region"
    """Through region number `index` of a branch."""
    SKIP = "skips"
    """Past an op none of whose regions runs."""
    AGAIN = "goes round"
    """From the end of an iteration to the next one."""
    LAST = "leaves"
    """From the end of the last iteration."""
    JUMP = "jumps from"
    """Along a branch between blocks, from the op that jumps."""


@dataclass(frozen=True)
class FlowEdge:
    """One way to a place where paths meet: through `op`, as `kind` says."""

    op: Operation
    kind: EdgeKind
    index: int = 0


@dataclass(frozen=True)
class Arrival(Generic[State]):
    """A state, and the edge on which it arrives; None where control falls through."""

    state: State
    edge: FlowEdge | None = None


class FlowClient(ABC, Generic[State]):
    """
    The lattice of an analysis and its transfer functions.

    Every method must be monotone: given a state that knows less, it returns a state that knows less or the same.
    """

    @abstractmethod
    def join(self, arrivals: Sequence[Arrival[State]]) -> State:
        """The state after a join of `arrivals`, of which there is at least one."""

    def same(self, first: State, second: State) -> bool:
        """Whether two states are equal, so that a loop has reached its fixpoint."""
        return first == second

    def enter(self, op: Operation, state: State) -> State:
        """The state after control has reached `op`, before any of its regions runs."""
        return state

    def leave(self, op: Operation, state: State) -> State:
        """The state after `op`, given the state after its regions, or after `enter` where it has none."""
        return state

    def assign(self, state: State, targets: Sequence[SSAValue], sources: Sequence[SSAValue | None]) -> State:
        """Assign to each of `targets` its source, all at once; None is a value of which nothing is known."""
        return state

    def enter_elsewhere(self, op: Operation, region: Region, state: State) -> State:
        """The state in which another agent starts `region` of `op`, given the state in which `op` started it."""
        return state

    def leave_elsewhere(self, op: Operation, state: State) -> State:
        """
        The state after `op` for the agent that issued it, given the state before: its regions may run at any time, or
        never.
        """
        return state

    def opaque_call(self, op: Operation, state: State) -> State:
        """The state after a call that cannot be followed."""
        return state

    def ops(self, block: Block) -> Iterable[Operation]:
        """The ops of `block` that the analysis looks at: all, unless it knows that others change and ask nothing."""
        return block.ops

    def runs_in_place(self, op: Operation) -> bool:
        """Whether `op`, which the driver does not know, runs its regions once, in order, as part of the same thread."""
        return False

    def callee(self, op: Operation) -> str | None:
        """The symbol that `op` calls, if it is a call that runs in place."""
        return op.callee.string_value() if isinstance(op, func.CallOp) else None


class InvariantClient(FlowClient[State]):
    """
    A client that can tell, before a loop, what holds in every iteration: each body is run through once.

    So the cost is linear, nests and long constant loops included, and so is the order: each op is come to once, in
    program order. A client that finds its invariant broken by the end of the body raises.
    """

    @abstractmethod
    def head(self, loop: Operation, before: State) -> State:
        """What holds when any iteration of `loop`, which is reached with `before`, begins."""

    @abstractmethod
    def behind(self, loop: Operation, before: State, tested: State, end: State) -> State:
        """
        What holds after `loop`: one iteration began with `head` and came to its `end`.

        `tested` is what holds where the loop is left: behind the first region of an `scf.while`, at the head of others.
        """


@dataclass
class Flow(Generic[State]):
    """
    The states of one function.

    `before` has the state at each op that some path reaches, joined over all paths; `end` is the state at the return,
    None when the function never returns.
    """

    before: dict[Operation, State] = field(default_factory=dict[Operation, State])
    end: State | None = None
