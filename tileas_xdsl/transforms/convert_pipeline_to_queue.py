"""
Phases to counts: a pipeline of TileAS that one agent fills and empties in turn becomes a queue.

    produce_one %p {                            async_queue.commit 0 {
      async_queue.scope { ... }                   async_queue.scope { ... }
      yield                              ->     }
    }
    consume_one %c { ... yield }                async_queue.wait 0, 2 { ... }

Rewrites:

- `create_pipeline` -> a queue, numbered past those in use.
- `produce_one` -> `commit` around its body.
- `consume_one` -> `wait` around its body. The stage that it takes is the oldest, so as many groups may stay unfinished
  as were produced and not consumed, less one: a constant, or the pipeline is refused.

Waiting for an empty slot needs no counterpart: one agent produces and consumes, so the slot that it takes is either
empty by then or never.

Requires: tiles that do not travel in the slots: bodies that use buffers by name, and asynchronous work in
`async_queue.scope`s.

Refuses: a pipeline whose ends belong to different agents, for a count only waits for what its own thread committed; a
stage named by an iterator or an index; slots that hold tiles; bodies whose steps are done by handshake ops, or that
issue work with tokens of its own; consume ops that are reached with different numbers of full stages, or none; a
produce op that would wait for its own agent; stages that nobody consumes.
Source: spec/tileas-dialects.md 2.5.5, 2.5.6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.in_flight import LEGS, ancestors
from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import CommitOp, QueueScope, WaitOp
from tileas_xdsl.dialects.nv_tileas.classified import RegionOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumeOneOp, CreatePipelineOp, ProduceOneOp
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType
from tileas_xdsl.interfaces import AgentLikeOpInterface, AsyncRegionOpInterface, enclosing_function


@dataclass(frozen=True)
class ConvertPipelineToQueuePass(ModulePass):
    """Turns stages and phases into groups and counts. See the module."""

    name = "convert-pipeline-to-queue"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plans = [PipelinePlan(root) for root in op.walk() if isinstance(root, CreatePipelineOp)]
        for plan in plans:
            plan.make()
        first = first_free_queue(op) if plans else 0
        for queue, plan in enumerate(plans, first):
            plan.rewrite(queue)


def first_free_queue(module: Operation) -> int:
    """The number past all queues of `module`: queues are shared between functions. Raises `RefusedError`."""
    first = 0
    for op in module.walk():
        if not isinstance(op, CommitOp | WaitOp):
            continue
        if not isinstance(op.queue, int):
            refuse(op, "is for a queue whose id is computed, so no queue is known to be free", "use constant ids")
        first = max(first, op.queue + 1)
    return first


@dataclass
class PipelinePlan:
    """What becomes of one pipeline."""

    root: CreatePipelineOp
    counts: dict[ConsumeOneOp, int] = field(default_factory=dict[ConsumeOneOp, int])
    """How many groups each consume op leaves unfinished."""
    produces: list[ProduceOneOp] = field(default_factory=list[ProduceOneOp])
    holding: set[Operation] = field(default_factory=set[Operation])
    """Control flow with turns of the pipeline in it."""

    @property
    def function(self) -> Operation | None:
        return enclosing_function(self.root)

    def make(self) -> None:
        """Raises `RefusedError` where counts cannot say the same."""
        if self.root.buffers:
            refuse(
                self.root,
                "has a buffer whose slots travel through the pipeline, and a queue hands over nothing",
                "let the bodies use the buffer by name, and create the pipeline without it",
            )
        for end in (self.root.producer, self.root.consumer):
            for use in end.uses:
                self._require_turn(use.operation)
        block = self.root.parent
        assert isinstance(block, Block)
        left = self._follow(block, 0)
        if left != 0:
            refuse(
                self.root,
                "is left with stages that nobody consumes",
                "consume every stage before the function returns",
            )

    # What the ops are -------------------------------------------------------------------------------------------------

    def _require_turn(self, op: Operation) -> None:
        if not isinstance(op, ProduceOneOp | ConsumeOneOp):
            refuse(
                op,
                "uses an end of a pipeline otherwise than by a produce_one or consume_one with a body, and only these "
                "are groups and waits",
                "let produce_one and consume_one do all their steps themselves, in order, without iterators",
            )
        self._require_one_agent(op)
        if op.stage is not None:
            refuse(op, "names its stage, so the order is not seen to be FIFO", "leave the stage out: turns go in order")
        if any(result.first_use is not None for result in op.results):
            refuse(op, "has results that are used, and a queue has none to give", "use the pipeline's own tokens")
        self._require_plain_body(op)

    def _require_one_agent(self, op: Operation) -> None:
        function = self.function
        for node in ancestors(op, function if function is not None else op):
            if node is self.root.parent_op():
                break
            if AgentLikeOpInterface.of(node) is not None or AsyncRegionOpInterface.of(node) is not None:
                refuse(
                    op,
                    f"is run by another agent, in '{node.name}', and a count waits only for what its own thread has "
                    "committed",
                    "produce and consume in one agent, or keep the pipeline",
                )
            if not isinstance(node, (*LEGS, QueueScope, ProduceOneOp, ConsumeOneOp)):
                refuse(op, f"stands in '{node.name}', whose control flow is not followed", "lower that to scf")
            self.holding.add(node)

    def _require_plain_body(self, op: RegionOp) -> None:
        if op.is_abstract:
            refuse(op, "does not say how its data moves", "give it a body")
        last = op.body.block.last_op
        assert last is not None
        if op.body.block.args or last.operands:
            refuse(
                op,
                "moves tiles through the slot, and a queue hands over nothing",
                "let the bodies use a buffer by name",
            )
        for nested in op.walk():
            if any(isinstance(result.type, AsyncTokenType) for result in nested.results):
                refuse(
                    nested,
                    "issues work whose token fills the stage, and a group holds scopes only",
                    "do it in an async_queue.scope",
                )

    # How many stages are full -----------------------------------------------------------------------------------------

    def _follow(self, block: Block, full: int) -> int:
        """How many stages are full behind `block`, when `full` are before."""
        for op in block.ops:
            if isinstance(op, ProduceOneOp) and op.token is self.root.producer:
                full = self._produced(op, full)
            elif isinstance(op, ConsumeOneOp) and op.token is self.root.consumer:
                full = self._consumed(op, full)
            elif op in self.holding:
                full = self._through(op, full)
        return full

    def _produced(self, op: ProduceOneOp, full: int) -> int:
        self.produces.append(op)
        if op in self.holding:
            refuse(op, "holds other turns of its own pipeline", "take turns one after the other")
        if full >= self.root.num_stages.value.data:
            self._refuse_full(op)
        return full + 1

    def _refuse_full(self, op: ProduceOneOp) -> NoReturn:
        refuse(
            op,
            f"waits for an empty slot when all {self.root.num_stages.value.data} are full, and only its own agent "
            "could empty one",
            "consume first, or give the pipeline more stages",
        )

    def _consumed(self, op: ConsumeOneOp, full: int) -> int:
        if op in self.holding:
            refuse(op, "holds other turns of its own pipeline", "take turns one after the other")
        if full == 0:
            refuse(op, "waits for a stage that only its own agent could fill, and later", "produce first")
        self.counts[op] = full - 1
        return full - 1

    def _through(self, op: Operation, full: int) -> int:
        """How many stages are full behind control flow: equally many on every path."""
        if isinstance(op, scf.ForOp):
            return self._through_for(op, full)
        if isinstance(op, scf.WhileOp):
            ahead = self._follow(op.before_region.block, full)
            behind = self._follow(op.after_region.block, ahead)
            if behind != full:
                self._refuse_change(op, full, behind)
            return ahead
        ends = [full if region.first_block is None else self._follow(region.block, full) for region in op.regions]
        for end in ends[1:]:
            if end != ends[0]:
                refuse(
                    op,
                    f"leaves {ends[0]} stages full on one path and {end} on another, so no count is right on both",
                    "take the same turns on every path",
                )
        return ends[0]

    def _through_for(self, loop: scf.ForOp, full: int) -> int:
        """A loop that only produces may do so a constant number of times: a prologue."""
        trips, consumed = static_trip_count(loop), len(self.counts)
        behind = self._follow(loop.body.block, full)
        if behind == full or trips == 0:
            return full
        if trips == 1:
            return behind
        if trips is None or len(self.counts) > consumed:
            self._refuse_change(loop, full, behind)
        total = full + trips * (behind - full)
        if total > self.root.num_stages.value.data:
            self._refuse_full(self.produces[-1])
        return total

    def _refuse_change(self, loop: Operation, full: int, behind: int) -> NoReturn:
        refuse(
            loop,
            f"begins its first iteration with {full} full stages and the next one with {behind}, so no count is right "
            "in both",
            "produce and consume equally often in each iteration; unroll a prologue of constant length",
        )

    # The rewrite ------------------------------------------------------------------------------------------------------

    def rewrite(self, queue: int) -> None:
        for produce in self.produces:
            _put_in_place(produce, CommitOp(queue, _body(produce), dict(produce.attributes)))
        for consume, count in self.counts.items():
            _put_in_place(consume, WaitOp(queue, count, _body(consume), dict(consume.attributes)))
        Rewriter.erase_op(self.root)


def _body(op: RegionOp) -> Region:
    """The body of `op` without its terminator, taken out of it."""
    last = op.body.block.last_op
    assert last is not None
    Rewriter.erase_op(last)
    return op.detach_region(op.body) if op.body.block.first_op is not None else Region()


def _put_in_place(op: Operation, new: Operation) -> None:
    block = op.parent
    assert isinstance(block, Block)
    new.location = op.location
    block.insert_op_before(new, op)
    Rewriter.erase_op(op)
