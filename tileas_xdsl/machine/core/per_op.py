"""
What a meaning works out about an op once, and uses each time the op runs: a constant, a window's static offsets.

    @per_op
    def _window(op: memref.SubviewOp) -> Window: ...

    window = _window(agent, op)

The results live as long as the code does that the machine runs (`code`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent

OpT = TypeVar("OpT", bound=Operation)
FactT = TypeVar("FactT")


def per_op(derive: Callable[[OpT], FactT]) -> Callable[[Agent, OpT], FactT]:
    """Decorator: `derive` is called once for each op that asks; afterwards its result is at hand."""

    def lookup(agent: Agent, op: OpT) -> FactT:
        return agent.machine.code.fact(derive, op)

    return lookup
