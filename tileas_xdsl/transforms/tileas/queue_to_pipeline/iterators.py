"""
Carrying iterators through structured control flow.

Enters IR in which every rotating turn names the first slot of its side; leaves IR in which it names the slot whose turn
it is. The iterator is treated as a variable: a turn reads it and one `inc_iter` behind the turn advances it; loops and
branches around a turn carry it.

    produce_one %p, %i { ... }                  produce_one %p, %i { ... }
    scf.for %k = ... {                          %i1 = inc_iter %i
      produce_one %p, %i { ... }          ->    %r = scf.for %k = ... iter_args(%it = %i1) -> (pipeline_iter<T>) {
    }                                             produce_one %p, %it { ... }
                                                  %next = inc_iter %it
                                                  scf.yield %next
                                                }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileas.pipeline import IncIterOp
from tileas_xdsl.transforms.rewriting.structure import carry_through
from tileas_xdsl.transforms.tileas.queue_to_pipeline.plan import STRUCTURED, SidePlan

State = dict[SidePlan, SSAValue]
"""The iterator of each side at one point of the program, in a fixed order."""


@dataclass(frozen=True)
class RotatingTurn:
    """A put or get that became a produce or consume op, and takes its slot from an iterator."""

    side: SidePlan
    op: Operation
    """The produce or consume op."""
    steps: tuple[Operation, ...]
    """The ops that name the slot: `op` and the steps in its region."""
    start: SSAValue
    """What they name it by now: the iterator at the first slot, as it is called where `op` stands."""

    @property
    def scope(self) -> Block | None:
        """The block in which the side takes its first turn: that of the pipeline, or the entry of an agent region."""
        return self.side.queue.op.parent_block() if self.side.agents is None else self.side.agents


def thread_iterators(turns: Sequence[RotatingTurn]) -> None:
    """Give every turn the iterator of its moment. `turns` are in program order. Linear in the blocks that hold them."""
    threading = _Threading(turns)
    scopes: dict[Block, State] = {}
    for turn in turns:
        if turn.scope is not None:
            scopes.setdefault(turn.scope, {}).setdefault(turn.side, turn.start)
    for block, state in scopes.items():
        threading.run(block, state)


class _Threading:
    """The turns of a module, by the op that holds them and by the blocks around them; carries the iterators through."""

    def __init__(self, turns: Iterable[RotatingTurn]) -> None:
        self.turns_in: dict[Operation, list[RotatingTurn]] = {}
        """Ops behind which iterators advance: a turn, or the turn around it."""
        self.sides_in: dict[Block, dict[SidePlan, None]] = {}
        """The sides that advance inside a block below their scope."""
        for turn in turns:
            self._register(turn)

    def _register(self, turn: RotatingTurn) -> None:
        holder = turn.op
        while (parent := holder.parent_op()) is not None and holder.parent_block() is not turn.scope:
            if isinstance(parent, STRUCTURED):
                break
            holder = parent
        self.turns_in.setdefault(holder, []).append(turn)
        block = holder.parent_block()
        while block is not None and block is not turn.scope:
            self.sides_in.setdefault(block, {})[turn.side] = None
            around = block.parent_op()
            block = None if around is None else around.parent_block()

    def run(self, block: Block, state: State) -> State:
        """Rewrite `block`, entered with `state`; returns the state behind it."""
        state = dict(state)
        for op in list(block.ops):
            for turn in self.turns_in.get(op, ()):
                if turn.side in state:
                    state[turn.side] = _take(turn, state[turn.side], op)
            if isinstance(op, STRUCTURED):
                inside = self._sides_of(op, state)
                if inside:
                    state.update(self._carry(op, inside, state))
        return state

    def _sides_of(self, op: Operation, state: State) -> list[SidePlan]:
        """The sides of `state` that advance inside `op`, in the order of `state`."""
        found = {side for region in op.regions for block in region.blocks for side in self.sides_in.get(block, ())}
        return [side for side in state if side in found]

    def _carry(self, op: Operation, sides: Sequence[SidePlan], state: State) -> State:
        """Rebuild `op` so that it carries the iterators of `sides`; returns what they are behind it."""
        entering = [state[side] for side in sides]

        def body(block: Block, values: Sequence[SSAValue]) -> list[SSAValue]:
            leaving = self.run(block, dict(zip(sides, values, strict=True)))
            return [leaving[side] for side in sides]

        carried = carry_through(op, entering, body, [value.name_hint for value in entering])
        return dict(zip(sides, carried, strict=True))


def _take(turn: RotatingTurn, iterator: SSAValue, holder: Operation) -> SSAValue:
    """Let `turn` name the slot of `iterator`; returns the next iterator, made behind `holder`."""
    for step in turn.steps:
        step.operands = [iterator if operand is turn.start else operand for operand in step.operands]
    advance = IncIterOp(iterator)
    advance.location = turn.op.location
    advance.next_iterator.name_hint = iterator.name_hint
    Rewriter.insert_op(advance, InsertPoint.after(holder))
    return advance.next_iterator
