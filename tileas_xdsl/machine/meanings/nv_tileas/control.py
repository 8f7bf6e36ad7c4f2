"""
What functions, directives and the ops of the persistent loop do.
"""

from __future__ import annotations

from typing import Any

from tileas_xdsl.dialects.nv_tileas import control
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import control as runs_regions
from tileas_xdsl.machine.core.meaning import effect, terminators
from tileas_xdsl.machine.core.standings import Answer, Done, continuation, give_results
from tileas_xdsl.machine.parts.programs import next_program
from tileas_xdsl.machine.parts.rings import StageToken, done_token

terminators(control.ReturnOp)


@runs_regions(control.PragmaOp)
def _pragma(agent: Agent, op: control.PragmaOp) -> Answer:
    return _run_bodies(agent, op, (), 0).then(give_results)


@continuation
def _run_bodies(agent: Agent, op: control.PragmaOp, values: tuple[Any, ...], number: int) -> Answer:
    """Run the bodies from `number` on, one after the other. The outcome is what the last one yields."""
    if number == len(op.bodies):
        return Done(values)
    return agent.run_region(op.bodies[number]).then(_run_bodies, number + 1)


@effect(control.CancelNextProgramIdOp, gives_count=True)
def _cancel_next(agent: Agent, _op: control.CancelNextProgramIdOp) -> int:
    return next_program(agent)


@effect(control.AsyncCancelNextProgramIdOp, gives_count=True)
def _async_cancel_next(agent: Agent, _op: control.AsyncCancelNextProgramIdOp) -> tuple[int, StageToken]:
    return next_program(agent), done_token()
