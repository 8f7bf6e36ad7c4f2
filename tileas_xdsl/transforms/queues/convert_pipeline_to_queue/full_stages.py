"""
How many stages of a pipeline are full where one agent fills and empties it in turn, and which turn is which.

    produce_one %p        0 -> 1
    scf.for ... {         1 at the head of every iteration
      produce_one %p      1 -> 2
      consume_one %c      2 -> 1: the group that it waits for is the oldest of two, so one stays unfinished
    }

At a consume op the number must be the same whenever control comes to it, for it becomes a constant
(`analysis/exact_counts`). Iterators are followed by a client of the flow engine: an iteration has to end with the
iterators that are next then, so each body is run through once (`InvariantClient`).
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NoReturn

from xdsl.dialects import scf
from xdsl.ir import Operation

from tileas_xdsl.analysis.exact_counts import CountClient, Counts, count
from tileas_xdsl.analysis.forward_flow import Arrival, FlowEdge, InvariantClient, analyse
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumeOneOp, CreatePipelineOp, IncIterOp, ProduceOneOp
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.turn_numbers import Current, TurnNumbers


class FullStages:
    """The turns of `root`, in its block and in `holding`, the control flow with turns in it."""

    def __init__(self, root: CreatePipelineOp, numbers: TurnNumbers, holding: AbstractSet[Operation]) -> None:
        """Follow them. Raises `RefusedError` where no constant is right."""
        around = root.parent_op()
        assert around is not None
        self.root = root
        self._depth = root.num_stages.value.data
        turns = NextTurns(root, numbers, holding)
        analyse(around, turns, numbers.first)
        full = count(around, _Full(root, turns.followed.keys()), 0)
        self.produces = [op for op in turns.followed if isinstance(op, ProduceOneOp)]
        for op in self.produces:
            self._require_empty_slot(op, full)
        consumes = [op for op in turns.followed if isinstance(op, ConsumeOneOp)]
        self.counts = {op: _left_by(op, full) for op in consumes}
        """How many groups each consume op leaves unfinished."""
        self.left = {state for states in full.ends for state in states}
        """How many stages may be full at the end of the block of `root`."""

    def _require_empty_slot(self, op: ProduceOneOp, full: Counts[int]) -> None:
        states = full.states(op)
        if ANY_NUMBER in states:
            _refuse_unknown(op)
        if states and max(states) >= self._depth:
            refuse(
                op,
                f"waits for an empty slot when all {self._depth} are full, and only its own agent could empty one",
                "consume first, or give the pipeline more stages",
            )


ANY_NUMBER = 1 << 10
"""As many stages as this are any number."""


class _Full(CountClient[int]):
    """How many stages are full."""

    def __init__(self, root: CreatePipelineOp, turns: AbstractSet[Operation]) -> None:
        self._root = root
        self._turns = turns

    @property
    def anything(self) -> int:
        return ANY_NUMBER

    def touches(self, op: Operation) -> bool:
        return op in self._turns

    def enter(self, op: Operation, state: int) -> int:
        if state == ANY_NUMBER:
            return state
        return min(state + 1, ANY_NUMBER) if isinstance(op, ProduceOneOp) else max(state - 1, 0)


def _left_by(op: ConsumeOneOp, full: Counts[int]) -> int:
    """How many groups `op` leaves unfinished, which is one number. An op that no call reaches leaves none."""
    states = full.states(op)
    if 0 in states:
        refuse(op, "waits for a stage that only its own agent could fill, and later", "produce first")
    if ANY_NUMBER in states:
        _refuse_unknown(op)
    if len(states) > 1:
        refuse(
            op,
            f"is reached with {min(states)} full stages at one time and {max(states)} at another, so no count is right "
            "each time",
            "take the same turns on every path and in every iteration",
        )
    return max(states, default=1) - 1


def _refuse_unknown(op: Operation) -> NoReturn:
    refuse(
        op,
        "is reached with any number of full stages, so no count is right each time",
        "produce and consume equally often in each iteration; unroll a prologue of constant length",
    )


class NextTurns(InvariantClient[Current]):
    """Which iterators are next between two turns."""

    def __init__(self, root: CreatePipelineOp, numbers: TurnNumbers, holding: AbstractSet[Operation]) -> None:
        self.root = root
        self.followed: dict[Operation, None] = {}
        """The turns of `root` that control comes to, in program order."""
        self._numbers = numbers
        self._holding = holding
        self._entered: set[Operation] = set()
        """The ops of `holding` that have been come to without a jump."""

    # Turns ------------------------------------------------------------------------------------------------------------

    def callee(self, op: Operation) -> str | None:
        """No other function has turns of this pipeline."""
        return None

    def runs_in_place(self, op: Operation) -> bool:
        """The body of a turn, where it holds turns of this pipeline: it is one of another pipeline then."""
        return op in self._entered and isinstance(op, ProduceOneOp | ConsumeOneOp)

    def enter(self, op: Operation, state: Current) -> Current:
        if not self._is_followed(op):
            return state
        if op in self._holding:
            self._entered.add(op)
        if isinstance(op, IncIterOp):
            return self._numbers.step(op, state)
        if isinstance(op, ProduceOneOp | ConsumeOneOp) and op.token in (self.root.producer, self.root.consumer):
            if op in self._holding:
                refuse(op, "holds other turns of its own pipeline", "take turns one after the other")
            self.followed[op] = None
            return self._numbers.take(op, state)
        return state

    def _is_followed(self, op: Operation) -> bool:
        """Whether `op` stands in the block of the pipeline, or in control flow there. Jumps are not followed."""
        block = op.parent
        if block is self.root.parent or block is None or block.parent is None:
            return block is not None
        return op.parent_op() in self._entered and block is block.parent.first_block

    # Control flow -----------------------------------------------------------------------------------------------------

    def join(self, arrivals: Sequence[Arrival[Current]]) -> Current:
        edges = [arrival.edge for arrival in arrivals if arrival.edge is not None]
        if len(edges) < len(arrivals) or edges[0].op not in self._entered:
            return arrivals[0].state
        ends = [(_last_op(edge), arrival.state) for edge, arrival in zip(edges, arrivals, strict=True)]
        return self._numbers.meet(edges[0].op, ends)

    def leave(self, op: Operation, state: Current) -> Current:
        if len(op.regions) != 1 or op not in self._entered or isinstance(op, scf.ForOp):
            return state
        block = op.regions[0].first_block
        return self._numbers.meet(op, [(None if block is None else block.last_op, state)])

    def head(self, loop: Operation, before: Current) -> Current:
        return self._numbers.head(loop, before) if loop in self._entered else before

    def behind(self, loop: Operation, before: Current, tested: Current, end: Current) -> Current:
        return self._numbers.behind(loop, before, end) if loop in self._entered else before


def _last_op(edge: FlowEdge) -> Operation | None:
    """How the region ends through which `edge` comes."""
    block = edge.op.regions[edge.index].first_block
    return None if block is None else block.last_op
