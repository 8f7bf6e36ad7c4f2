"""What functions, directives and the persistent loop's ops do. One program runs: there is no other to take over."""

from __future__ import annotations

from typing import Any

from tileas_xdsl.dialects.nv_tileas import control
from tileas_xdsl.machine.core.agents import Agent, Suspension
from tileas_xdsl.machine.core.meaning import control as runs_regions
from tileas_xdsl.machine.core.meaning import effect, terminators
from tileas_xdsl.machine.parts.rings import StageToken, done_token

terminators(control.ReturnOp)


@runs_regions(control.PragmaOp)
def _pragma(agent: Agent, op: control.PragmaOp) -> Suspension:
    values: tuple[Any, ...] = ()
    for body in op.bodies:
        values = yield from agent.run_region(body)
    return values[0] if len(op.results) == 1 else values


@effect(control.CancelNextProgramIdOp)
def _cancel_next(_agent: Agent, _op: control.CancelNextProgramIdOp) -> None:
    """No program is left."""


@effect(control.AsyncCancelNextProgramIdOp)
def _async_cancel_next(_agent: Agent, _op: control.AsyncCancelNextProgramIdOp) -> tuple[None, StageToken]:
    return None, done_token()
