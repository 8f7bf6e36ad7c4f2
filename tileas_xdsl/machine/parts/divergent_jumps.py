"""
Branches between blocks that some threads of a warp take and others do not.

    llvm.cond_br %elected, ^issue, ^wait       one thread goes to ^issue, and comes to ^wait behind it

As with `scf.if` (`divergence`), the threads of each side are the active ones while it runs, and all go on together
where the sides meet (`analysis.control_flow`). What a block argument is there differs between the threads that came
from here and from there.

Where nothing is left to do behind the sides, the threads of a side that does nothing else have returned: the block's
barriers on the other side do not wait for them (`core.threads.block_barriers`).

A branch back to a block that dominates it closes a loop, whose turns count as those of `scf.while` do. A side of a
branch on threads that leaves the loop of the branch is undecided, as is one that comes back to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Block, Operation

from tileas_xdsl.analysis.dominance import Sides, reached, sides_of
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import ORDERS_ITS_WARP
from tileas_xdsl.machine.core.standings import Answer, Request, continuation
from tileas_xdsl.machine.core.threads.block_barriers import is_end_of_threads, leave_by_some_threads
from tileas_xdsl.machine.core.threads.hardware import Active, PerThread, Varies
from tileas_xdsl.machine.core.violations import UndecidedError
from tileas_xdsl.machine.parts.divergence import acts, known_by_all, merged, must_not_both_act, split
from tileas_xdsl.machine.parts.jumps import Join, OpenBranches, Target, enter, jump_to, loop_around


@dataclass(frozen=True)
class JumpSides:
    """The sides of a branch that have been run, and those that are to run: each with the threads that take it."""

    outside: Active | None
    """The threads that are active around the branch."""
    varies: Varies
    ahead: tuple[tuple[Block, tuple[Any, ...], Active], ...]
    """The one that is running, and those behind it."""
    done: tuple[tuple[Active, tuple[Any, ...]], ...] = ()
    """What each side hands over that is at its end."""


def branch_to(agent: Agent, op: Operation, condition: Any, targets: tuple[Target, Target]) -> Answer:
    """
    Go on in the first of `targets`, where `condition` holds, or in the second.

    Raises `UndecidedError` where threads of one warp take both and both act, where they leave a loop in different
    turns, and where nobody says which threads go where.
    """
    if known_by_all(agent, condition):
        return jump_to(agent, op, targets[0 if agent.known(condition, op, "branches on") else 1])
    assert isinstance(condition, PerThread)
    active = split(agent, op, condition)
    sides = agent.machine.code.fact(sides_of, op)
    loop = loop_around(agent, op)
    if sides.comes_back or (loop is not None and not all(map(loop.blocks.issuperset, sides.blocks))):
        raise UndecidedError(op, "lets threads of one warp leave a loop in different turns; branch on the warp instead")
    acting = agent.machine.code.fact(_acting_sides, op)
    must_not_both_act(op, acting)
    agent.machine.assume(ORDERS_ITS_WARP)
    ahead = [(block, tuple(arguments), one) for (block, arguments), one in zip(targets, active, strict=True)]
    at_join = [(one, arguments) for block, arguments, one in ahead if block is sides.join]
    to_run = tuple(entry for entry in ahead if entry[0] is not sides.join)
    if not to_run:
        return jump_to(agent, op, (targets[0][0], _together(agent, at_join, condition.varies)))
    if is_end_of_threads(agent) and agent.machine.code.fact(_are_last, op):
        to_run = to_run[::-1] if acting[0] else to_run
        leave_by_some_threads(agent, [*(one for one, _ in at_join), *(one for *_, one in to_run[:-1])])
    agent.part(OpenBranches).joins.append(Join(sides.join, agent.activation.depth, loop))
    return _run_next(agent, JumpSides(agent.active, condition.varies, to_run, tuple(at_join)))


def _acting_sides(op: Operation) -> tuple[bool, bool]:
    sides: Sides = sides_of(op)
    yes, no = (any(acts(block.walk()) for block in side) for side in sides.blocks)
    return yes, no


def _are_last(op: Operation) -> bool:
    """Whether nothing is done behind the sides of `op` that others can see."""
    join = sides_of(op).join
    return join is None or not acts(inner for block in reached(join, None) for inner in block.walk())


def _run_next(agent: Agent, sides: JumpSides) -> Request:
    block, arguments, active = sides.ahead[0]
    agent.active = active
    return enter(agent, block, arguments).then(_leave_side, sides)


@continuation
def _leave_side(agent: Agent, op: Operation, values: tuple[Any, ...], sides: JumpSides) -> Answer:
    done = (*sides.done, (sides.ahead[0][2], values))
    if len(sides.ahead) > 1:
        return _run_next(agent, JumpSides(sides.outside, sides.varies, sides.ahead[1:], done))
    agent.active = sides.outside
    join = agent.part(OpenBranches).joins.pop().block
    together = _together(agent, done, sides.varies)
    return together if join is None else jump_to(agent, op, (join, together))


def _together(agent: Agent, done: Sequence[tuple[Active, tuple[Any, ...]]], varies: Varies) -> tuple[Any, ...]:
    """What all sides hand over, thread by thread."""
    _, values = done[0]
    return tuple(merged(agent, number, done, varies) for number in range(len(values)))
