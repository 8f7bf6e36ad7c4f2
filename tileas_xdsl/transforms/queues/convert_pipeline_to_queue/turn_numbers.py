"""
Which turn is it? The iterators of a pipeline, followed from iteration to iteration, and made numbers.

A turn is FIFO if its iterator is the next one: the first, or what `inc_iter` makes of the one that the turn before
took, on whatever way control flow has carried it. An index numbers the turns where it counts the iterations of the only
loop in which its side takes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.value_flow import carried_to
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneOp,
    CreateIteratorOp,
    CreatePipelineOp,
    IncIterOp,
    ProduceOneOp,
)
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType
from tileas_xdsl.interfaces import end_of

Turn = ProduceOneOp | ConsumeOneOp
Current = dict[SSAValue, "SSAValue | None"]
"""
End of the pipeline -> the iterator that its next turn has to take; None where that is not known. Part of a state of the
flow engine, so never changed in place.
"""


def counts_iterations(stage: SSAValue, loop: scf.ForOp) -> bool:
    """Whether `stage` is the number of the iteration of `loop`."""
    is_induction = stage is loop.body.block.args[0]
    return is_induction and constant_integer(loop.lb) == 0 and constant_integer(loop.step) == 1


@dataclass
class TurnNumbers:
    """The iterators of both ends of `root`, and which of them is next where; asked by who follows the turns."""

    root: CreatePipelineOp
    makers: list[CreateIteratorOp] = field(default_factory=list[CreateIteratorOp])
    first: Current = field(default_factory=dict[SSAValue, "SSAValue | None"])
    """What is next before any turn."""
    _taken: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Iterator of the last turn -> the end that took it."""

    def __post_init__(self) -> None:
        for end in (self.root.producer, self.root.consumer):
            makers = [use.operation for use in end.uses if isinstance(use.operation, CreateIteratorOp)]
            if len(makers) > 1:
                refuse(makers[1], "makes a second iterator of one end, so turns have two orders", "use one iterator")
            self.makers += makers
            self.first[end] = makers[0].iterator if makers else None

    # Following --------------------------------------------------------------------------------------------------------

    def take(self, turn: Turn, current: Current) -> Current:
        """What is next behind `turn`. Raises `RefusedError` unless `turn` is seen to be the next one of its end."""
        stage, end = turn.stage, turn.token
        assert end is not None
        if stage is None:
            return current
        if isinstance(stage.type, PipelineIteratorType):
            if current.get(end) is not stage:
                refuse(
                    turn,
                    "takes an iterator that is not seen to be the one for its turn",
                    "advance the iterator by one inc_iter behind each turn, and carry it through all control flow",
                )
            self._taken[stage] = end
            return {**current, end: None}
        if not _is_only_turn(turn, end) or not _counts_turns(turn, stage):
            refuse(
                turn,
                "names its stage, so the order is not seen to be FIFO",
                "number the turns by an iterator, or leave the stage out: turns go in order",
            )
        return current

    def step(self, op: IncIterOp, current: Current) -> Current:
        """Advance the iterator of the last turn, as `inc_iter` does."""
        end = self._taken.pop(op.iterator, None)
        return current if end is None else {**current, end: op.next_iterator}

    @staticmethod
    def head(loop: Operation, before: Current) -> Current:
        """
        Enter `loop`: a carried iterator goes by its block argument; one that is not carried is unknown inside, since it
        is not the next one in every iteration.
        """
        if not isinstance(loop, scf.ForOp):
            return dict.fromkeys(before)
        places = {end: _place(iterator, loop.iter_args) for end, iterator in before.items()}
        arguments = loop.body.block.args
        return {end: None if place is None else arguments[place + 1] for end, place in places.items()}

    @staticmethod
    def behind(loop: Operation, before: Current, end_of_body: Current) -> Current:
        """What is next after `loop`. Raises `RefusedError` unless an iteration hands on what is next."""
        if not isinstance(loop, scf.ForOp):
            return before
        last = end_of(loop.body.block)
        behind = dict(before)
        for end, iterator in before.items():
            place = _place(iterator, loop.iter_args)
            if place is None:
                continue
            if last.operands[place] is not end_of_body[end]:
                refuse(
                    loop,
                    "carries another iterator to its next iteration than the one that is next",
                    "advance the iterator by one inc_iter behind each turn, and yield it",
                )
            behind[end] = loop.results[place]
        return behind

    @staticmethod
    def meet(op: Operation, ends: Sequence[tuple[Operation | None, Current]]) -> Current:
        """
        Leave the branches of `op`, given the terminator and the iterators at the end of each: what they agree on goes
        on.
        """
        met: Current = {}
        for end, first in ends[0][1].items():
            if all(branch[end] is first for _, branch in ends) and (first is None or not _is_inside(first, op)):
                met[end] = first
                continue
            places = [
                place
                for place in range(len(op.results))
                if all(last is not None and last.operands[place] is branch[end] for last, branch in ends)
            ]
            met[end] = op.results[places[0]] if places else None
        return met

    # Rewriting --------------------------------------------------------------------------------------------------------

    def make_numbers(self) -> None:
        """Iterators become indices that count the turns."""
        for maker in self.makers:
            zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
            names = names_of(maker.iterator)
            for name in names:
                Rewriter.replace_value_with_new_type(name, IndexType())
            for step in [name.owner for name in names if isinstance(name.owner, IncIterOp)]:
                one = arith.ConstantOp(IntegerAttr(1, IndexType()))
                Rewriter.replace_op(step, [one, arith.AddiOp(step.iterator, one.result)])
            Rewriter.replace_op(maker, zero)


def names_of(iterator: SSAValue) -> list[SSAValue]:
    """All values that are `iterator` or a later iterator of the same end, through `inc_iter` and control flow."""
    found = {iterator: None}
    stack = [iterator]
    while stack:
        for use in stack.pop().uses:
            further = (use.operation.next_iterator,) if isinstance(use.operation, IncIterOp) else carried_to(use)
            for value in further or ():
                if value not in found:
                    found[value] = None
                    stack.append(value)
    return list(found)


def iterators_of(root: CreatePipelineOp) -> list[CreateIteratorOp]:
    """The ops that make an iterator of either end of `root`."""
    uses = [*root.producer.uses, *root.consumer.uses]
    return [use.operation for use in uses if isinstance(use.operation, CreateIteratorOp)]


def require_known_uses(root: CreatePipelineOp, switch: Operation | None = None) -> None:
    """Raises `RefusedError` where an iterator of `root` is used by something besides turns, steps and `switch`."""
    for maker in iterators_of(root):
        for use in (use for name in names_of(maker.iterator) for use in name.uses):
            user = use.operation
            is_turn = isinstance(user, Turn) or isinstance(user.parent_op(), Turn)
            if not is_turn and not isinstance(user, IncIterOp) and user is not switch and carried_to(use) is None:
                refuse(user, "uses an iterator otherwise than for a turn", "use iterators for turns only")


def _place(iterator: SSAValue | None, values: Sequence[SSAValue]) -> int | None:
    return next((place for place, value in enumerate(values) if value is iterator), None)


def _is_inside(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    return owner is not op and op.is_ancestor(owner)


def _is_only_turn(turn: Turn, end: SSAValue) -> bool:
    turns = [use.operation for use in end.uses if isinstance(use.operation, Turn) and use.operation.token is end]
    return turns == [turn]


def _counts_turns(turn: Turn, stage: SSAValue) -> bool:
    """Whether `turn` is in a loop that runs once, and `stage` the number of the iteration."""
    loop = turn.parent_op()
    if not isinstance(loop, scf.ForOp) or not counts_iterations(stage, loop):
        return False
    around = loop.parent_op()
    while around is not None:
        if isinstance(around, scf.ForOp | scf.WhileOp):
            return False
        around = around.parent_op()
    return True
