"""
Control flow of `cuda_tile`: what a `break`, `continue` or `return` inside of an `if` leaves.

Such an op hands over `Left`, which each op around it passes on until the one that it is about. A loop and an `if` are
jumps: they end their block with what is passed on, or go on in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import control, effect, jump, terminators
from tileas_xdsl.machine.core.standings import Answer, Request, continuation, give_results
from tileas_xdsl.machine.core.values import UNKNOWN, unsigned, wrap
from tileas_xdsl.machine.core.violations import MistakeError, NoStepError, UnsupportedError
from tileas_xdsl.machine.meanings.cuda_tile.values import element_type_of
from tileas_xdsl.machine.parts.programs import number_of

CONTINUE, BREAK, RETURN = OPS["continue"], OPS["break"], OPS["return"]
IF, FOR, LOOP = OPS["if"], OPS["for"], OPS["loop"]

terminators(OPS["yield"])


@dataclass(frozen=True)
class Left:
    """What an op that leaves more than its block hands over."""

    by: Operation
    values: tuple[Any, ...]


@jump(CONTINUE, BREAK, RETURN)
def _leave(agent: Agent, op: TileIROp, *values: Any) -> Answer:
    found = tuple(agent.resolve(value) for value in values)
    return _passed_on(Left(op, found), op)


def _passed_on(left: Left, op: Operation) -> tuple[Any, ...]:
    """What the block of `op`, an op that ends it, hands over."""
    around = op.parent_op()
    ends_here = isinstance(around, FOR) and isinstance(left.by, CONTINUE)
    return left.values if ends_here or isinstance(around, EntryOp) else (left,)


@jump(IF, deciding=1)
def _if(agent: Agent, op: TileIROp, condition: Any) -> Answer:
    taken = op.regions[0 if agent.known(condition, op, "branches on") else 1]
    return agent.run_region(taken).then(_after_if)


@continuation
def _after_if(agent: Agent, op: TileIROp, values: tuple[Any, ...]) -> Answer:
    if values and isinstance(values[0], Left):
        return _passed_on(values[0], op)
    return agent.go_on_after(op, values[0] if len(op.results) == 1 else values)


@jump(LOOP)
def _loop(agent: Agent, op: TileIROp, *values: Any) -> Answer:
    return _begin(agent, op, tuple(agent.resolve(value) for value in values), agent.iteration, 0)


def _begin(agent: Agent, op: TileIROp, values: tuple[Any, ...], outside: tuple[int, ...], number: int) -> Request:
    agent.check_budget(op)
    agent.begin_iteration(op.regions[0].block, outside, number)
    return agent.run_region(op.regions[0], values).then(_after_iteration, outside, number)


@continuation
def _after_iteration(
    agent: Agent, op: TileIROp, handed_over: tuple[Any, ...], outside: tuple[int, ...], number: int
) -> Answer:
    (left,) = handed_over
    assert isinstance(left, Left)
    if isinstance(left.by, CONTINUE):
        return _begin(agent, op, left.values, outside, number + 1)
    agent.end_loop(op.regions[0].block, outside)
    if isinstance(left.by, RETURN):
        return (left,)
    return agent.go_on_after(op, left.values[0] if len(op.results) == 1 else left.values)


@control(FOR, deciding=3)
def _for(agent: Agent, op: TileIROp, lower: Any, upper: Any, step: Any, *carried: Any) -> Answer:
    if any(isinstance(inner, RETURN) for inner in op.walk()):
        raise UnsupportedError(op, "is left by a 'return', which is not run yet; carry a flag and test it")
    element = element_type_of(op.operands[0])
    bounds = [agent.known(value, op, "takes as a bound") for value in (lower, upper, step)]
    if op.flag("unsignedCmp"):
        bounds = [unsigned(bound, element) for bound in bounds]
    if bounds[2] <= 0:
        raise NoStepError(
            op, f"has step {bounds[2]}; a loop needs a positive one: if it is an argument, fix it with --arg"
        )
    numbers = [wrap(number, element) for number in range(*bounds)]
    return agent.run_iterations(op.regions[0].block, numbers, carried).then(give_results)


# The grid, assertions, prints -----------------------------------------------------------------------------------------


@effect(OPS["get_tile_block_id"], tells_programs_apart=True)
def _block(agent: Agent, _op: TileIROp) -> tuple[int, ...]:
    grid = agent.grid
    return tuple(number_of(agent, grid.programs, axis) for axis in range(3))


@effect(OPS["get_num_tile_blocks"])
def _blocks(agent: Agent, _op: TileIROp) -> tuple[int, ...]:
    return tuple(agent.grid.extents)


@effect(OPS["assert"])
def _assert(agent: Agent, op: TileIROp, condition: Any) -> None:
    message = op.properties["message"]
    assert isinstance(message, StringAttr)
    if condition is not UNKNOWN and not np.all(condition):
        raise MistakeError(op, f'fails{agent.in_iteration}: "{message.data}"; a condition that holds')
