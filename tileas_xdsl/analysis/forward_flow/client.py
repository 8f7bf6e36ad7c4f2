"""What an analysis brings along: its states, where they meet, and what an op does to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from xdsl.dialects import func
from xdsl.ir import Operation, Region, SSAValue

State = TypeVar("State")
"""What the client knows at a program point. Never changed in place: a client that learns something makes a new one."""


class EdgeKind(Enum):
    """How control comes to a place where paths meet."""

    BRANCH = "takes region"
    """Through region number `index` of a branch."""
    SKIP = "skips"
    """Past the regions of an op, none of which runs."""
    AGAIN = "goes round"
    """From the end of an iteration to the next one."""
    LAST = "leaves"
    """From the end of the last iteration."""
    JUMP = "jumps from"
    """Along a branch between blocks, from the op that jumps."""


@dataclass(frozen=True)
class FlowEdge:
    """A way to a meeting place: through `op`, in the manner of `kind`."""

    op: Operation
    kind: EdgeKind
    index: int = 0


@dataclass(frozen=True)
class Arrival(Generic[State]):
    """A state and the way it came; None for one that comes straight."""

    state: State
    edge: FlowEdge | None = None


class FlowClient(ABC, Generic[State]):
    """
    The lattice of an analysis and its transfer functions.

    Every method must be monotone: from a state that knows less it leads to one that knows less or the same.
    """

    @abstractmethod
    def join(self, arrivals: Sequence[Arrival[State]]) -> State:
        """What holds after any of `arrivals`, of which there is at least one."""

    def same(self, first: State, second: State) -> bool:
        """Whether the two say the same, so that a loop need not be run through again."""
        return first == second

    def enter(self, op: Operation, state: State) -> State:
        """What holds after control came to `op`, before any of its regions runs."""
        return state

    def leave(self, op: Operation, state: State) -> State:
        """What holds after `op`, given what holds after its regions, or after `enter` where there are none."""
        return state

    def assign(self, state: State, targets: Sequence[SSAValue], sources: Sequence[SSAValue | None]) -> State:
        """Each of `targets` becomes, at the same moment, what its source is; None is a value nothing is known of."""
        return state

    def enter_elsewhere(self, op: Operation, region: Region, state: State) -> State:
        """What holds for an agent that starts on `region` of `op`, given what held when `op` started it."""
        return state

    def leave_elsewhere(self, op: Operation, state: State) -> State:
        """What holds after `op` for whoever started it, given what held before: its regions run some time, or not."""
        return state

    def opaque_call(self, op: Operation, state: State) -> State:
        """What holds after a call that cannot be followed."""
        return state

    def callee(self, op: Operation) -> str | None:
        """The symbol that `op` calls, if it is a call that runs in place."""
        return op.callee.string_value() if isinstance(op, func.CallOp) else None


@dataclass
class Flow(Generic[State]):
    """
    What holds where.

    `before` has the state at each op that some path reaches, joined over all of them; `end` is what holds when the
    function returns, None when it never does.
    """

    before: dict[Operation, State] = field(default_factory=dict[Operation, State])
    end: State | None = None
