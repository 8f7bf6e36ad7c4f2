"""
Loops whose turns may run in any order and at once (`scf.forall`, `scf.parallel`): each turn is an agent of its own.

    scf.forall (%i) in (64) { memref.store %f, %a[%i] }          64 agents, of which each stores one element

The agents know what the one around them knows, and it goes on when all of them have ended. So what one turn writes and
another one touches is a race, whatever order a run takes.

Each turn of `scf.forall` and `scf.parallel` is an agent, at most 4096 of them; what one turn writes and another touches
is a race. Values of turns are reduced in the order of the turns, of which every other one is as right. A `forall` that
puts tensors together is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from xdsl.ir import Operation, Region

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.standings import Answer, Request, continuation
from tileas_xdsl.machine.core.synchronization import EndOfAgents
from tileas_xdsl.machine.core.violations import NoStepError, UndecidedError

MOST_TURNS = 4096
"""How many turns of one loop are followed, each as an agent."""


def run_turns(
    agent: Agent, op: Operation, body: Region, lower: Sequence[Any], upper: Sequence[Any], step: Sequence[Any]
) -> Request:
    """
    Run `body` for every combination of indices, by agents of their own. The outcome is these agents, the last index
    changing fastest; they have ended.

    Raises `UndecidedError` for more than `MOST_TURNS` turns, `NoStepError` for a step that is not positive.
    """
    axes = [_axis(agent, op, *bounds) for bounds in zip(lower, upper, step, strict=True)]
    count = prod(map(len, axes))
    if count > MOST_TURNS:
        raise UndecidedError(op, f"has {count} turns, each an agent of its own; {MOST_TURNS} are followed at most")
    turns: list[Agent] = []
    for indices in product(*axes):
        agent.check_time(op)
        name = f"{agent.name}, iteration {', '.join(map(str, indices))}"
        turns.append(agent.fork(name, op, _run_turn, body, indices, captures=[body], hardware=agent.hardware))
        agent.note(op, "fork", f"starts {name}", on=turns[-1])
    end = EndOfAgents(turns)
    return agent.wait(end, op).then(_saw_end, end)


def _axis(agent: Agent, op: Operation, lower: Any, upper: Any, step: Any) -> range:
    low = agent.known(lower, op, "takes as a lower bound")
    high = agent.known(upper, op, "takes as an upper bound")
    stride = agent.known(step, op, "takes as a step")
    if stride <= 0:
        raise NoStepError(
            op, f"has step {stride}; a loop needs a positive one: if it is an argument, fix it with --arg"
        )
    return range(low, high, stride)


@continuation
def _run_turn(turn: Agent, _op: Operation, _: None, body: Region, indices: tuple[int, ...]) -> Answer:
    return turn.run_region(body, indices)


@continuation
def _saw_end(agent: Agent, op: Operation, _: None, end: EndOfAgents) -> Answer:
    agent.note(op, "wait", f"sees the end of {len(end.agents)} turns", on=end)
    return end.agents
