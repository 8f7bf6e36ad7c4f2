"""
The interface of simulated time: what the machine tells the clock of an execution, and the one question that it asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.ir import Block, Operation

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.agents import Agent, Step
    from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
    from tileas_xdsl.machine.core.memory import View
    from tileas_xdsl.machine.core.resources import Resource


class TimeKeeper(Protocol):
    """Keeps the time of one execution, in cycles."""

    def next(self, runnable: Sequence[Agent]) -> Agent | AsyncWork | None:
        """Of `runnable` and the works under way, what happens next; None when there is nothing."""
        ...

    def agent_added(self, agent: Agent) -> None: ...

    def begin_iteration(self, agent: Agent, body: Block, outside: tuple[int, ...]) -> None: ...

    def end_loop(self, agent: Agent, body: Block) -> None: ...

    def touched(self, agent: Agent, view: View) -> None:
        """`agent` accesses `view` by itself, and waits until that is done."""
        ...

    def step_done(self, agent: Agent, step: Step, operands: Sequence[Any], outcome: Any) -> None: ...

    def happened(self, agent: Agent, op: Operation, kind: str, text: str, on: object | None) -> int:
        """A step that others can see. Returns the cycle in which it takes place."""
        ...

    def work_ready(self, work: AsyncWork) -> None: ...

    def resource_freed(self, resource: Resource) -> None: ...
