"""
Jumps: how an agent goes on in another block of a region.

    cf.br ^head(%c0)          begins a loop: its first turn          Standing(this branch, _turn_over, (turn 0,))
    cf.br ^head(%next)        ends the turn, and begins the next     ... a position inside of the turn ...
    cf.cond_br %c, ^out, ...  ends the loop

A loop of blocks (`analysis.natural_loops`) has turns like `scf.while`: what runs in a turn stands above the turn. A
jump that ends the turn hands over where it leads, a `WayOut`, as a terminator hands over values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Block, Operation

from tileas_xdsl.analysis.natural_loops import NaturalLoop, loops_within
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.standings import Answer, Enter, Pause, Request, continuation
from tileas_xdsl.machine.core.state import Canvas, OwnPart

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

    def draw(self, canvas: Canvas, agent: Agent) -> None:
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
    return agent.machine.code.fact(loops_within, around)


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
    observer = agent.machine.observer
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
