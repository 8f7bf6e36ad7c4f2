"""What the ops of `func` do: calls run the callee in an activation of its own."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import func

from tileas_xdsl.machine.agents import Agent, Suspension
from tileas_xdsl.machine.calls import call_symbol
from tileas_xdsl.machine.meaning import control, terminators

terminators(func.ReturnOp)


@control(func.CallOp)
def _call(agent: Agent, op: func.CallOp, *arguments: Any) -> Suspension:
    results = yield from call_symbol(agent, op, op.callee, arguments)
    return results[0] if len(op.results) == 1 else results
