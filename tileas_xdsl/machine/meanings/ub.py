"""What the ops of `ub` do: poison is unknown when checking and zero when running; unreachable code stops the run."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import ub
from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import jump, pure
from tileas_xdsl.machine.core.violations import MistakeError
from tileas_xdsl.machine.tiles.numerics import poison


@pure(ub.PoisonOp)
def _poison(agent: Agent, op: Operation) -> Any:
    return poison(agent, op, op.results[0].type)


@jump(ub.UnreachableOp)
def _unreachable(agent: Agent, op: ub.UnreachableOp) -> None:
    raise MistakeError(op, f"is reached{agent.in_iteration}; a program with no way to it (MLIR, ub.unreachable)")
