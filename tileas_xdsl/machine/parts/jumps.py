"""
Jumps: how an agent goes on in another block of a region.

    cf.br ^head(%c0)          begins a loop: its first turn          Standing(this branch, _turn_over, (turn 0,))
    cf.br ^head(%next)        ends the turn, and begins the next     ... a position inside of the turn ...
    cf.cond_br %c, ^out, ...  ends the loop

A loop of blocks (`analysis.natural_loops`) has turns like `scf.while`: what runs in a turn stands above the turn. A
jump that ends the turn hands over where it leads, a `WayOut`, as a terminator hands over values.

Some threads of a warp may take a branch that others do not take:

    llvm.cond_br %elected, ^issue, ^wait       one thread goes to ^issue, and comes to ^wait behind it

As with `scf.if` (`divergence`), the threads of each side are the active ones while it runs, and all go on together
where the sides meet (`analysis.dominance`). What a block argument is there differs between the threads that came
from here and from there.

Where nothing is left to do behind the sides, the threads of a side that does nothing else have returned: the block's
barriers on the other side do not wait for them (`core.threads.block_barriers`).

A branch back to a block that dominates it closes a loop, whose turns count as those of `scf.while` do. A side of a
branch on threads that leaves the loop of the branch is undecided, as is one that comes back to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Block, Operation

from tileas_xdsl.analysis.dominance import Sides, reached, sides_of
from tileas_xdsl.analysis.natural_loops import NaturalLoop, loops_within
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import ORDERS_ITS_WARP
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.standings import Answer, Enter, Pause, Request, continuation
from tileas_xdsl.machine.core.state import Canvas, OwnPart
from tileas_xdsl.machine.core.threads.block_barriers import is_end_of_threads, leave_by_some_threads
from tileas_xdsl.machine.core.threads.hardware import Active, PerThread, Varies
from tileas_xdsl.machine.core.violations import UndecidedError
from tileas_xdsl.machine.parts.divergence import acts, known_by_all, merged, must_not_both_act, split

Target = tuple[Block, Sequence[Any]]
"""A block, and its arguments."""


@dataclass(frozen=True)
class Join:
    """Where the sides of a branch meet that an agent has taken by some of its threads."""

    block: Block | None
    """None where each side leaves the region by itself."""
    depth: int
    """How many calls are around it."""
    loop: NaturalLoop | None
    """The innermost loop around the branch."""


@dataclass
class OpenBranches(OwnPart):
    """The branches that an agent has taken by some of its threads, innermost last."""

    joins: list[Join] = field(default_factory=list[Join])

    def draw(self, canvas: Canvas, agent: Who) -> None:
        canvas.literal(tuple((id(join.block), join.depth) for join in self.joins))

    def meet(self, agent: Agent, block: Block, loop: NaturalLoop | None) -> bool:
        """Whether a jump to `block` out of a block of `loop` comes to the end of a side."""
        if agent.active is None or not self.joins:
            return False
        join = self.joins[-1]
        return join.block is block and join.depth == agent.activation.depth and join.loop is loop


@dataclass(frozen=True)
class BlockTurn:
    """Turn `number` of a loop that blocks make up."""

    loop: NaturalLoop
    outside: tuple[int, ...]
    """The iterations of the loops around it."""
    turns: Any
    """What the observer of the execution notes of the loop."""
    number: int = 0


@dataclass(frozen=True)
class WayOut:
    """A turn of a loop ends with a jump, to the head of the loop or out of it."""

    block: Block
    arguments: tuple[Any, ...]


def loop_around(agent: Agent, op: Operation) -> NaturalLoop | None:
    """The innermost loop of blocks around a branch."""
    assert op.parent is not None
    return _loops_beside(agent, op.parent).get(op.parent)


def _loops_beside(agent: Agent, block: Block) -> Mapping[Block, NaturalLoop]:
    around = block.parent_op()
    assert around is not None
    return agent.code.fact(loops_within, around)


def jump_to(agent: Agent, op: Operation, target: Target) -> Answer:
    """The branch `op` goes on in a block, or ends a turn of a loop, or the side of a branch that meets the other."""
    block, arguments = target
    return _jump_from(agent, op, loop_around(agent, op), block, tuple(arguments))


def _jump_from(
    agent: Agent, op: Operation, loop: NaturalLoop | None, block: Block, arguments: tuple[Any, ...]
) -> Answer:
    """Jump to `block` out of a block of which `loop` is the innermost loop."""
    if agent.part(OpenBranches).meet(agent, block, loop):
        return arguments
    if loop is not None and (block is loop.head or block not in loop.blocks):
        return WayOut(block, arguments)
    return enter(agent, block, arguments)


def enter(agent: Agent, block: Block, arguments: tuple[Any, ...]) -> Request:
    """Go on in `block`, and begin the loop of which it is the head. The agent is in no turn of that loop."""
    loop = _loops_beside(agent, block).get(block)
    if loop is None or loop.head is not block:
        return Enter(block, arguments)
    observer = agent.observer
    turns = observer.loop(agent, block, None) if observer.watches_steps else None
    return _begin_turn(agent, arguments, BlockTurn(loop, agent.iteration, turns))


def _begin_turn(agent: Agent, arguments: tuple[Any, ...], turn: BlockTurn) -> Request:
    agent.begin_iteration(turn.loop.head, turn.outside, turn.number)
    if turn.turns is not None and turn.turns.begins():
        return Pause().then(run_from_head, arguments, turn)
    return Enter(turn.loop.head, arguments).then(_turn_over, turn)


@continuation
def run_from_head(_agent: Agent, _op: Operation, _: None, arguments: tuple[Any, ...], turn: BlockTurn) -> Answer:
    """The agent is at the head of a loop, and runs the turn with these arguments of the head."""
    return Enter(turn.loop.head, arguments).then(_turn_over, turn)


@continuation
def _turn_over(agent: Agent, op: Operation, outcome: Any, turn: BlockTurn) -> Answer:
    head = turn.loop.head
    if not isinstance(outcome, WayOut):
        # A terminator has left the region.
        agent.end_loop(head, turn.outside)
        return outcome
    if outcome.block is head:
        return _begin_turn(agent, outcome.arguments, BlockTurn(turn.loop, turn.outside, turn.turns, turn.number + 1))
    agent.end_loop(head, turn.outside)
    return _jump_from(agent, op, turn.loop.around, outcome.block, outcome.arguments)


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
    sides = agent.code.fact(sides_of, op)
    loop = loop_around(agent, op)
    if sides.comes_back or (loop is not None and not all(map(loop.blocks.issuperset, sides.blocks))):
        raise UndecidedError(op, "lets threads of one warp leave a loop in different turns; branch on the warp instead")
    acting = agent.code.fact(_acting_sides, op)
    must_not_both_act(op, acting)
    agent.assume(ORDERS_ITS_WARP)
    ahead = [(block, tuple(arguments), one) for (block, arguments), one in zip(targets, active, strict=True)]
    at_join = [(one, arguments) for block, arguments, one in ahead if block is sides.join]
    to_run = tuple(entry for entry in ahead if entry[0] is not sides.join)
    if not to_run:
        return jump_to(agent, op, (targets[0][0], _together(agent, at_join, condition.varies)))
    if is_end_of_threads(agent) and agent.code.fact(_are_last, op):
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
