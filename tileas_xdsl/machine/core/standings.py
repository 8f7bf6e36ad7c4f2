"""
Where an agent stands in the code, as data: a stack of frozen records, outermost first.

    scf.for            Standing(the scf.for, "agents.next_iteration", (iteration 3,))
      body             Position(the block, op number 4)
        commit         Standing(the commit, "async_queue._commit_group", (queue, works))      <- goes on here

Nothing else says how an agent goes on: no generator, no closure, no frame of the interpreter. So an agent can be put
aside, compared with another state of itself, and built again from its standings and its own attributes.

A meaning that cannot give its outcome at once returns a `Request` of what has to come first, and names the
*continuation* at which it goes on:

    @suspends(async_.AwaitOp)
    def _await(agent, op, promise):
        return agent.wait(EventCondition(promise), op).then(_awaited, promise)

    @continuation
    def _awaited(agent, op, _, promise):
        return promise.payload

A continuation takes the agent, the op, the outcome of what was requested, and the values that were handed to `then`:
these are all that it needs. Like a meaning it returns an outcome or the next request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from xdsl.ir import Block, Operation

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.code import Step
    from tileas_xdsl.machine.core.synchronization import Condition

Answer = Any
"""What a meaning returns: nothing, a value or a tuple as the op has results; or a `Request`."""


@dataclass(frozen=True)
class Continuation:
    """A step at which meanings go on."""

    name: str
    function: Callable[..., Answer]

    def __call__(self, agent: object, op: Operation, outcome: Any, *data: Any) -> Answer:
        """Call the function of the continuation now, instead of after a request."""
        return self.function(agent, op, outcome, *data)


CONTINUATIONS: dict[str, Continuation] = {}
"""By name. A standing can be written down as the name of its continuation and found again."""


def continuation(function: Callable[..., Answer]) -> Continuation:
    """Decorator: `function(agent, op, outcome, *data)` is a step at which a meaning goes on."""
    name = f"{function.__module__.removeprefix('tileas_xdsl.machine.')}.{function.__name__}"
    assert name not in CONTINUATIONS, f"two continuations are called {name}"
    found = CONTINUATIONS[name] = Continuation(name, function)
    return found


class Standing(NamedTuple):
    """`op` goes on at `step`, with the outcome of what it has asked for, and `data`."""

    op: Operation
    step: Continuation
    data: tuple[Any, ...] = ()


class Position(NamedTuple):
    """A block goes on after `step`, its op `number`, with the outcome of that op."""

    block: Block
    number: int
    step: Step
    taken: Any = None
    """What the observer keeps of the op until it has finished."""

    @property
    def op(self) -> Operation:
        return self.step.op


# Requests ------------------------------------------------------------------------------------------------------------


class Request:
    """What has to come before an op can go on. The agent takes it apart at once; what it keeps are standings."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps: list[tuple[Continuation, tuple[Any, ...]]] = []
        """What comes after it, one step after the other, each with its data."""

    def then(self, step: Continuation, *data: Any) -> Self:
        """This request, followed by `step`, which is called with its outcome and `data`."""
        self.steps.append((step, data))
        return self


class Done(Request):
    """Nothing has to come first; the outcome is there. For helpers that seldom wait."""

    __slots__ = ("outcome",)

    def __init__(self, outcome: Any = None) -> None:
        self.steps = []
        self.outcome = outcome


class Pause(Request):
    """Others may go first."""

    __slots__ = ()


class Wait(Request):
    """`condition` has to hold, and hands over what it knows."""

    __slots__ = ("condition", "op")

    def __init__(self, condition: Condition, op: Operation | None) -> None:
        self.steps = []
        self.condition = condition
        self.op = op


class Enter(Request):
    """A block has to run with `arguments`; the outcome is what the terminator hands over that leaves its region."""

    __slots__ = ("arguments", "block")

    def __init__(self, block: Block, arguments: tuple[Any, ...]) -> None:
        self.steps = []
        self.block = block
        self.arguments = arguments


class Leave(Request):
    """The agent ends here, whatever stands around the op."""

    __slots__ = ()


# A continuation for all -----------------------------------------------------------------------------------------------


@continuation
def give_results(_agent: object, op: Operation, values: tuple[Any, ...]) -> Answer:
    """The outcome of a region or function as results of the op: the value alone if there is one result."""
    return values[0] if len(op.results) == 1 else values
