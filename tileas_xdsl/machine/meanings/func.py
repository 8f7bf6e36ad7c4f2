"""What the ops of `func` do: calls run the callee in an activation of its own."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import func

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import control, terminators
from tileas_xdsl.machine.core.standings import Answer, give_results
from tileas_xdsl.machine.parts.calls import call_symbol

terminators(func.ReturnOp)


@control(func.CallOp, may_move=("arguments",), calls=True)
def _call(agent: Agent, op: func.CallOp, *arguments: Any) -> Answer:
    return call_symbol(agent, op, op.callee, arguments).then(give_results)
