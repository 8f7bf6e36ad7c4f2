"""
How many stages of a pipeline are full where one agent fills and empties it in turn.

    produce_one %p        0 -> 1
    scf.for ... {         1 at the head of every iteration
      produce_one %p      1 -> 2
      consume_one %c      2 -> 1: the group that it waits for is the oldest of two, so one stays unfinished
    }

The number must be the same on every path, for it becomes a constant. A client of the flow engine: an iteration has to
end with as many full stages as it began with, so each body is run through once (`InvariantClient`). A loop that only
produces may run a constant number of times: a prologue.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NoReturn

from xdsl.dialects import scf
from xdsl.ir import Operation

from tileas_xdsl.analysis.forward_flow import Arrival, FlowEdge, InvariantClient, analyse
from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumeOneOp, CreatePipelineOp, IncIterOp, ProduceOneOp
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.turn_numbers import Current, TurnNumbers


@dataclass(frozen=True)
class Filling:
    """What is known between two turns: how many stages are full, and which iterators are next."""

    full: int
    current: Current


def follow_turns(root: CreatePipelineOp, numbers: TurnNumbers, holding: AbstractSet[Operation]) -> FullStages:
    """
    Follow the turns of `root` through its block, and through `holding`, the control flow with turns in it.

    Linear in the ops. Raises `RefusedError` where no constant is right, at the first such op in program order.
    """
    around = root.parent_op()
    assert around is not None
    stages = FullStages(root, numbers, holding)
    analyse(around, stages, Filling(0, numbers.first))
    return stages


class FullStages(InvariantClient[Filling]):
    """The client, and what it has found once the turns are followed."""

    def __init__(self, root: CreatePipelineOp, numbers: TurnNumbers, holding: AbstractSet[Operation]) -> None:
        self.root = root
        self.counts: dict[ConsumeOneOp, int] = {}
        """How many groups each consume op leaves unfinished."""
        self.produces: list[ProduceOneOp] = []
        self.left = 0
        """How many stages are full at the end of the block of `root`."""
        self._depth = root.num_stages.value.data
        self._numbers = numbers
        self._holding = holding
        self._counted_before: dict[Operation, int] = {}
        """Loop -> how many consume ops had been come to at its head."""
        self._entered: set[Operation] = set()
        """The ops of `holding` that have been come to without a jump."""

    # Turns ------------------------------------------------------------------------------------------------------------

    def callee(self, op: Operation) -> str | None:
        """No other function has turns of this pipeline."""
        return None

    def runs_in_place(self, op: Operation) -> bool:
        """The body of a turn, where it holds turns of this pipeline: it is one of another pipeline then."""
        return op in self._entered and isinstance(op, ProduceOneOp | ConsumeOneOp)

    def enter(self, op: Operation, state: Filling) -> Filling:
        if not self._is_followed(op):
            return state
        if op in self._holding:
            self._entered.add(op)
        if isinstance(op, ProduceOneOp) and op.token is self.root.producer:
            return self._produced(op, state)
        if isinstance(op, ConsumeOneOp) and op.token is self.root.consumer:
            return self._consumed(op, state)
        return Filling(state.full, self._numbers.step(op, state.current)) if isinstance(op, IncIterOp) else state

    def _is_followed(self, op: Operation) -> bool:
        """Whether `op` stands in the block of the pipeline, or in control flow there. Jumps are not followed."""
        block = op.parent
        if block is self.root.parent or block is None or block.parent is None:
            return block is not None
        return op.parent_op() in self._entered and block is block.parent.first_block

    def _produced(self, op: ProduceOneOp, state: Filling) -> Filling:
        self.produces.append(op)
        current = self._numbers.take(op, state.current)
        self._require_no_turns_inside(op)
        if state.full >= self._depth:
            self._refuse_full(op)
        return Filling(state.full + 1, current)

    def _consumed(self, op: ConsumeOneOp, state: Filling) -> Filling:
        self._require_no_turns_inside(op)
        if state.full == 0:
            refuse(op, "waits for a stage that only its own agent could fill, and later", "produce first")
        self.counts[op] = state.full - 1
        return Filling(state.full - 1, self._numbers.take(op, state.current))

    def _require_no_turns_inside(self, op: Operation) -> None:
        if op in self._holding:
            refuse(op, "holds other turns of its own pipeline", "take turns one after the other")

    def _refuse_full(self, op: Operation) -> NoReturn:
        refuse(
            op,
            f"waits for an empty slot when all {self._depth} are full, and only its own agent could empty one",
            "consume first, or give the pipeline more stages",
        )

    # Branches ---------------------------------------------------------------------------------------------------------

    def join(self, arrivals: Sequence[Arrival[Filling]]) -> Filling:
        """Equally many stages are full on every path."""
        edges = [arrival.edge for arrival in arrivals if arrival.edge is not None]
        first = arrivals[0].state
        if len(edges) < len(arrivals) or edges[0].op not in self._entered:
            return first
        op = edges[0].op
        for arrival in arrivals[1:]:
            if arrival.state.full != first.full:
                refuse(
                    op,
                    f"leaves {first.full} stages full on one path and {arrival.state.full} on another, so no count is "
                    "right on both",
                    "take the same turns on every path",
                )
        ends = [(_last_op(edge), arrival.state.current) for edge, arrival in zip(edges, arrivals, strict=True)]
        return Filling(first.full, self._numbers.meet(op, ends))

    def leave(self, op: Operation, state: Filling) -> Filling:
        if len(op.regions) == 1 and op in self._entered and not isinstance(op, scf.ForOp):
            block = op.regions[0].first_block
            last = None if block is None else block.last_op
            state = Filling(state.full, self._numbers.meet(op, [(last, state.current)]))
        if op.parent is self.root.parent:
            self.left = state.full
        return state

    # Loops ------------------------------------------------------------------------------------------------------------

    def head(self, loop: Operation, before: Filling) -> Filling:
        if loop not in self._entered:
            return before
        self._counted_before[loop] = len(self.counts)
        return Filling(before.full, self._numbers.head(loop, before.current))

    def behind(self, loop: Operation, before: Filling, tested: Filling, end: Filling) -> Filling:
        if loop not in self._entered:
            return before
        current = self._numbers.behind(loop, before.current, end.current)
        if end.full == before.full:
            return Filling(tested.full, current)
        if not isinstance(loop, scf.ForOp):
            self._refuse_change(loop, before.full, end.full)
        return Filling(self._behind_prologue(loop, before.full, end.full), current)

    def _behind_prologue(self, loop: scf.ForOp, full: int, behind: int) -> int:
        """A loop that only produces may do so a constant number of times."""
        trips = static_trip_count(loop)
        if trips == 0:
            return full
        if trips == 1:
            return behind
        if trips is None or len(self.counts) > self._counted_before[loop]:
            self._refuse_change(loop, full, behind)
        total = full + trips * (behind - full)
        if total > self._depth:
            self._refuse_full(self.produces[-1])
        return total

    def _refuse_change(self, loop: Operation, full: int, behind: int) -> NoReturn:
        refuse(
            loop,
            f"begins its first iteration with {full} full stages and the next one with {behind}, so no count is right "
            "in both",
            "produce and consume equally often in each iteration; unroll a prologue of constant length",
        )


def _last_op(edge: FlowEdge) -> Operation | None:
    """How the region ends through which `edge` comes."""
    block = edge.op.regions[edge.index].first_block
    return None if block is None else block.last_op
