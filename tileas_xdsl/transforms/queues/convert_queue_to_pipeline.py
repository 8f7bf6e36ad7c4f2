"""
Counts to phases: a queue becomes a pipeline of TileAS, a group a stage that is produced, a wait the stages that it
forces, consumed one after the other.

    async_queue.commit 0 {                     produce_one %p {
      async_queue.scope { ... }                  async_queue.scope { ... }      // the stage is full when it is complete
    }                                     ->     yield
                                               }
    async_queue.wait 0, 2 { ... }              consume_one %c { ... yield }     // the oldest stage: two are left
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.in_flight import UNBOUNDED, InFlight, ancestors, in_flight
from tileas_xdsl.analysis.value_range import ValueRanges
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import CommitOp, WaitOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumeOneOp, CreatePipelineOp, PipelineYieldOp, ProduceOneOp
from tileas_xdsl.transforms.queues.followable_queues import dissolve, functions_with_queues, require_followable
from tileas_xdsl.transforms.rewriting.index_arithmetic import IndexBuilder


@dataclass(frozen=True)
class ConvertQueueToPipelinePass(ModulePass):
    """
    Turn groups and counts of `async_queue` into stages and phases of TileAS pipelines.

    Rewrites:

    - A queue -> `create_pipeline` with as many stages as groups may be unfinished, so that no produce op has to wait.
    - `commit` -> `produce_one`. What is issued in it belongs to the stage.
    - `wait q, n` -> a `consume_one` for each group that it forces, which are the oldest; its body stands in the last of
      them, or behind it where it commits itself. A wait that forces nothing leaves its body.

    A stage is consumed exactly once, so the number of unfinished groups must be the same on every path to a wait.

    Requires: queues that are empty when the function is called; one agent.

    Refuses: queues that cannot be followed (`followable_queues`); computed ids and counts; commits and waits in a
    commit to the same queue; a wait that is reached with different numbers of unfinished groups; groups that nobody
    waits for, since a pipeline has to be drained.
    """

    name = "convert-queue-to-pipeline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plans = plan_pipelines(op)
        for facts in plans:
            _rewrite(facts)


def plan_pipelines(module: Operation) -> list[InFlight]:
    """The numbers of unfinished groups in each function with queues. Raises `RefusedError`."""
    ranges = ValueRanges()
    require_followable(module, ranges)
    plans: list[InFlight] = []
    for function in functions_with_queues(module):
        for op in function.walk():
            _require_constants(op)
            _require_apart(op, function)
        most, least = in_flight(function, ranges), in_flight(function, ranges, least=True)
        for op in most.before:
            assert isinstance(op, WaitOp)
            _require_exact(op, most, least)
        for queue in most.queues:
            _require_drained(queue, most, least)
        plans.append(most)
    return plans


def _require_constants(op: Operation) -> None:
    if not isinstance(op, CommitOp | WaitOp):
        return
    if not isinstance(op.queue, int):
        refuse(op, "is for a queue whose id is computed, and a pipeline is a value", "name the queues by constants")
    if isinstance(op, WaitOp) and not isinstance(op.count, int):
        refuse(
            op,
            "waits for a computed count, and each stage is consumed by an op of its own",
            "unroll the loop from which the count comes, so that it is a constant",
        )


def _require_apart(op: Operation, function: Operation) -> None:
    """A stage is taken before the body of its produce op runs, and a group is numbered behind it."""
    if not isinstance(op, CommitOp | WaitOp):
        return
    for node in ancestors(op, function):
        if isinstance(node, CommitOp) and node.queue == op.queue:
            refuse(
                op,
                f"stands in a commit to queue {op.queue} and is for the same queue, but a stage is taken before its "
                "producer runs",
                "move it out of that commit",
            )


def _require_exact(op: WaitOp, most: InFlight, least: InFlight) -> None:
    queue = op.queue
    if not isinstance(queue, int) or queue not in most.queues:
        return
    high, low = most.before[op][queue], least.before[op][queue]
    if high != low or high == UNBOUNDED:
        most_text = "any number" if high == UNBOUNDED else f"up to {high}"
        refuse(
            op,
            f"is reached with {low if low < UNBOUNDED else 'many'} groups of queue {queue} unfinished on some path and "
            f"{most_text} on others, and each stage is consumed exactly once",
            "commit the first groups in front of the loop, and commit in every iteration, so that the number is the "
            "same on every path",
        )


def _require_drained(queue: int, most: InFlight, least: InFlight) -> None:
    if (most.end[queue], least.end[queue]) != (0, 0):
        refuse(
            most.function,
            f"leaves groups of queue {queue} for which nobody waits, and every stage of a pipeline has to be consumed",
            f"wait for them at the end, with async_queue.wait {queue}, 0",
        )


# The rewrite ----------------------------------------------------------------------------------------------------------


def _rewrite(facts: InFlight) -> None:
    pipelines = {queue: _pipeline(facts, queue) for queue in facts.queues}
    IndexBuilder(facts.function).prepend(list(pipelines.values()))
    for op in list(facts.function.walk()):
        if isinstance(op, CommitOp):
            assert isinstance(op.queue, int)
            _produce(op, pipelines[op.queue].producer)
        elif isinstance(op, WaitOp):
            _consume(op, facts, pipelines)


def _pipeline(facts: InFlight, queue: int) -> CreatePipelineOp:
    stages = max(bounds[queue] for op, bounds in facts.behind.items() if isinstance(op, CommitOp))
    pipeline = CreatePipelineOp(max(stages, 1), producer_group=0, consumer_group=0)
    pipeline.producer.name_hint, pipeline.consumer.name_hint = "p", "c"
    return pipeline


def _produce(commit: CommitOp, producer: SSAValue) -> None:
    produce = ProduceOneOp(producer, body=_body(commit), attributes=dict(commit.attributes))
    _put_in_place(commit, [produce])


def _consume(wait: WaitOp, facts: InFlight, pipelines: dict[int, CreatePipelineOp]) -> None:
    assert isinstance(wait.queue, int)
    assert isinstance(wait.count, int)
    forced = 0
    if wait.queue in pipelines:
        forced = max(facts.before[wait][wait.queue] - wait.count, 0)
    if forced == 0:
        dissolve(wait)
        _put_in_place(wait, [])
        return
    # A stage that is given back only behind the body must not be needed in it.
    kept = [] if any(isinstance(op, CommitOp | ProduceOneOp) for op in wait.walk()) else [_body(wait)]
    bodies = [*(Region(Block([PipelineYieldOp()])) for _ in range(forced - len(kept))), *kept]
    consumer = pipelines[wait.queue].consumer
    consumes = [ConsumeOneOp(consumer, body=body, attributes=dict(wait.attributes)) for body in bodies]
    if not kept:
        first = dissolve(wait)[0]
        _put_in_front(first, consumes)
        consumes = []
    _put_in_place(wait, consumes)


def _body(op: CommitOp | WaitOp) -> Region:
    """The body of `op`, taken out of it, for a produce or consume op."""
    region = op.detach_region(op.body)
    if region.first_block is None:
        region.add_block(Block())
    region.block.add_op(PipelineYieldOp())
    return region


def _put_in_front(op: Operation, ops: Sequence[Operation]) -> None:
    block = op.parent
    assert isinstance(block, Block)
    for new in ops:
        new.location = op.location
    block.insert_ops_before(ops, op)


def _put_in_place(op: Operation, ops: Sequence[Operation]) -> None:
    _put_in_front(op, ops)
    Rewriter.erase_op(op)
