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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.exact_counts import MOST_TURNS, CountClient, Counts, Guard, Visit, count, guard_of
from tileas_xdsl.analysis.in_flight import LEGS, ancestors
from tileas_xdsl.analysis.value_range import ValueRanges
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import CommitOp, WaitOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumeOneOp, CreatePipelineOp, PipelineYieldOp, ProduceOneOp
from tileas_xdsl.transforms.queues.followable_queues import dissolve, functions_with_queues, require_followable
from tileas_xdsl.transforms.rewriting.index_arithmetic import IndexBuilder, condition_of

ANY_NUMBER = 1 << 10
"""As many groups as this, or more, are any number."""


@dataclass(frozen=True)
class ConvertQueueToPipelinePass(ModulePass):
    """
    Turn groups and counts of `async_queue` into stages and phases of TileAS pipelines.

    Rewrites:

    - A queue -> `create_pipeline` with as many stages as groups may be unfinished, so that no produce op has to wait.
    - `commit` -> `produce_one`. What is issued in it belongs to the stage.
    - `wait q, n` -> a `consume_one` for each group that it forces, which are the oldest; its body stands in the last of
      them, or behind it where it commits itself. A wait that forces nothing leaves its body.

    A stage is consumed exactly once, so it has to be known how many groups a wait forces: for each range of the trip
    counts, and for the first turns of a loop, by itself (`analysis/exact_counts`). Where the numbers differ, the
    `consume_one`s that only some calls or turns need are guarded by a condition that tells these apart.

    Requires: queues that are empty when the function is called; one agent.

    A loop that commits and never waits would need a stage for each of its turns. Such a queue gets `most-stages`, and a
    commit waits for its oldest group where all are full: earlier than a queue would, for the same group.

    Refuses: queues that cannot be followed (`followable_queues`); computed ids and counts; commits in a commit to the
    same queue, and waits in control flow in one; a wait that is reached with different numbers of unfinished groups,
    where nothing that is computed before it tells which; groups that nobody waits for, since a pipeline has to be
    drained.

    Choices
        An `async_queue.scope` may stand in the body of a produce op, and then belongs to its stage; so the bodies stay
        when counts become phases or back.

        Groups for which nobody waits are refused rather than consumed at the end, which would hide a mistake.
    """

    most_stages: int = field(
        default=8,
        metadata={"help": "stages of a pipeline whose queue is committed to in a loop and never waited for in it"},
    )

    name = "convert-queue-to-pipeline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plans = plan_pipelines(op, self.most_stages)
        for plan in plans:
            _Rewrite(plan).make()


@dataclass(frozen=True)
class ForcedStages:
    """The stages that a wait consumes, beginning with the oldest."""

    guards: tuple[Guard, ...] = ()
    """Each stands for one that is consumed only where it holds."""
    always: int = 0
    """How many are consumed behind them in any case."""


@dataclass(frozen=True)
class PhasesPlan:
    """What becomes of the queues of one function."""

    function: Operation
    stages: Mapping[int | SSAValue, int]
    """Queue -> how many stages its pipeline needs."""
    forced: Mapping[CommitOp | WaitOp, ForcedStages]


def plan_pipelines(module: Operation, most_stages: int) -> list[PhasesPlan]:
    """The plan of each function with queues. Raises `RefusedError`."""
    require_followable(module, ValueRanges())
    plans: list[PhasesPlan] = []
    for function in functions_with_queues(module):
        for op in function.walk():
            _require_constants(op)
            _require_apart(op, function)
        plans.append(_plan(function, most_stages))
    return plans


def _plan(function: Operation, most_stages: int) -> PhasesPlan:
    ops = [op for op in function.walk() if isinstance(op, CommitOp | WaitOp)]
    queues = dict.fromkeys(op.queue for op in ops if isinstance(op, CommitOp))
    counts = {queue: _count(queue, function, ops, most_stages) for queue in queues}
    forced = {op: _forced(op, function, counts[op.queue]) for op in ops if op.queue in counts}
    for queue, found in counts.items():
        _require_drained(queue, function, found.counts)
    stages = {queue: _most(found) for queue, found in counts.items()}
    return PhasesPlan(function, stages, forced)


@dataclass(frozen=True)
class _Counted:
    """One queue: how many of its groups are unfinished at its ops, and how many a commit leaves at most."""

    counts: Counts[int]
    most: int | None = None

    def left_by(self, op: CommitOp | WaitOp) -> int:
        """How many groups `op` leaves unfinished where there are more."""
        if isinstance(op, WaitOp):
            assert isinstance(op.count, int)
            return op.count
        return ANY_NUMBER if self.most is None else self.most - 1


def _count(queue: int | SSAValue, function: Operation, ops: Sequence[CommitOp | WaitOp], most_stages: int) -> _Counted:
    found = count(function, _Unfinished(queue), 0)
    commits = [op for op in ops if isinstance(op, CommitOp) and op.queue == queue]
    if not any(ANY_NUMBER in found.states(op) for op in commits):
        return _Counted(found)
    waits = [op.count for op in ops if isinstance(op, WaitOp) and op.queue == queue]
    deepest = max((number for number in waits if isinstance(number, int)), default=0)
    most = max(most_stages, deepest + 1, 1)
    return _Counted(count(function, _Unfinished(queue, most), 0), most)


class _Unfinished(CountClient[int]):
    """How many groups of one queue are unfinished."""

    def __init__(self, queue: int | SSAValue, most: int = ANY_NUMBER + 1) -> None:
        self._queue = queue
        self._most = most

    def touches(self, op: Operation) -> bool:
        return isinstance(op, CommitOp | WaitOp) and op.queue == self._queue

    @property
    def anything(self) -> int:
        return ANY_NUMBER

    def enter(self, op: Operation, state: int) -> int:
        if not isinstance(op, WaitOp):
            return min(state, self._most - 1)
        assert isinstance(op.count, int)
        return min(state, op.count)

    def leave(self, op: Operation, state: int) -> int:
        return min(state + 1, ANY_NUMBER) if isinstance(op, CommitOp) else state


def _most(found: _Counted) -> int:
    """The most groups that are unfinished behind a commit: how many stages hold them all."""
    commits = [op for op in found.counts.visits if isinstance(op, CommitOp)]
    behind = [min(state, found.left_by(op)) + 1 for op in commits for state in found.counts.states(op)]
    return max(behind, default=1)


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
    between: list[Operation] = []
    for node in ancestors(op, function):
        if isinstance(node, CommitOp) and node.queue == op.queue:
            way_out = "move it out of that commit"
            if isinstance(op, CommitOp):
                reason = "and is for the same queue, but a stage is taken before its producer runs"
                refuse(op, f"stands in a commit to queue {op.queue} {reason}", way_out)
            if any(isinstance(each, LEGS) for each in between):
                reason = (
                    "and is for the same queue, in control flow, but its stages are consumed in front of that commit"
                )
                refuse(op, f"stands in a commit to queue {op.queue} {reason}", way_out)
        between.append(node)


def _forced(op: CommitOp | WaitOp, function: Operation, counted: _Counted) -> ForcedStages:
    """What is consumed in each visit of `op`. Raises `RefusedError` where that is not known."""
    visits = counted.counts.visits.get(op, [])
    forced: dict[Visit[int], int] = {}
    for visit in visits:
        found = {max(state - counted.left_by(op), 0) for state in visit.states}
        if len(found) > 1 or ANY_NUMBER in visit.states:
            _refuse_inexact(op, function, visits)
        (forced[visit],) = found
    always = min(forced.values(), default=0)
    guards: list[Guard] = []
    for number in range(max(forced.values(), default=0), always, -1):
        guard = guard_of(_place_of(op), function, {visit: found >= number for visit, found in forced.items()})
        if guard is None:
            _refuse_inexact(op, function, visits)
        guards.append(guard)
    return ForcedStages(tuple(guards), always)


def _place_of(op: CommitOp | WaitOp) -> Operation:
    """The op in front of which `op` waits: the commit to the same queue around it, if there is one."""
    return next((node for node in _around(op) if isinstance(node, CommitOp) and node.queue == op.queue), op)


def _around(op: Operation) -> Iterator[Operation]:
    node = op.parent_op()
    while node is not None:
        yield node
        node = node.parent_op()


def _refuse_inexact(op: CommitOp | WaitOp, function: Operation, visits: Sequence[Visit[int]]) -> NoReturn:
    _refuse_deep_waits(op.queue, function)
    states = {state for visit in visits for state in visit.states}
    most = "any number" if max(states) >= ANY_NUMBER else f"up to {max(states)}"
    refuse(
        op,
        f"is reached with {min(states)} groups of queue {op.queue} unfinished on some path and {most} on others, "
        "nothing before it tells which, and each stage is consumed exactly once",
        "commit the first groups in front of the loop, and commit in every iteration, so that the number is the "
        "same on every path",
    )


def _refuse_deep_waits(queue: int | SSAValue, function: Operation) -> None:
    """Only the number of the turn makes such a wait exact: it must not leave more groups than turns are told apart."""
    for op in function.walk():
        if isinstance(op, WaitOp) and op.queue == queue and isinstance(op.count, int) and op.count >= MOST_TURNS:
            refuse(
                op,
                f"leaves {op.count} groups of queue {queue} unfinished where it is not known how many there are: of a "
                f"loop, {MOST_TURNS} iterations are told apart, and each stage is consumed exactly once",
                f"leave fewer than {MOST_TURNS} groups",
            )


def _require_drained(queue: int | SSAValue, function: Operation, counts: Counts[int]) -> None:
    if any(state != 0 for end in counts.ends for state in end):
        refuse(
            function,
            f"leaves groups of queue {queue} for which nobody waits, and every stage of a pipeline has to be consumed",
            f"wait for them at the end, with async_queue.wait {queue}, 0",
        )


# The rewrite ----------------------------------------------------------------------------------------------------------


class _Rewrite:
    """The rewrite of one function."""

    def __init__(self, plan: PhasesPlan) -> None:
        self._plan = plan
        self._builder = IndexBuilder(plan.function)
        self._pipelines = {queue: _pipeline(stages) for queue, stages in plan.stages.items()}

    def make(self) -> None:
        for op in list(self._plan.function.walk()):
            if isinstance(op, CommitOp | WaitOp):
                self._consume(op, self._plan.forced.get(op, ForcedStages()))
        for op in list(self._plan.function.walk()):
            if isinstance(op, CommitOp):
                assert isinstance(op.queue, int)
                _produce(op, self._pipelines[op.queue].producer)
        self._builder.prepend(list(self._pipelines.values()))

    def _consume(self, op: CommitOp | WaitOp, forced: ForcedStages) -> None:
        place = _place_of(op)
        for guard in forced.guards:
            end = self._builder.branch(condition_of(guard, place, self._builder), place)
            self._builder.insert(self._consume_one(op, Region(Block([PipelineYieldOp()]))), end)
        # A stage that is given back only behind the body must not be needed in it.
        takes_body = isinstance(op, WaitOp) and place is op and forced.always > 0 and not _commits(op)
        for _ in range(forced.always - takes_body):
            self._builder.insert(self._consume_one(op, Region(Block([PipelineYieldOp()]))), place)
        if isinstance(op, CommitOp):
            return
        if takes_body:
            self._builder.insert(self._consume_one(op, _body(op)), op)
        else:
            dissolve(op)
        Rewriter.erase_op(op)

    def _consume_one(self, wait: CommitOp | WaitOp, body: Region) -> ConsumeOneOp:
        assert isinstance(wait.queue, int)
        consumer = self._pipelines[wait.queue].consumer
        kept = dict(wait.attributes) if isinstance(wait, WaitOp) else {}
        return ConsumeOneOp(consumer, body=body, attributes=kept)


def _commits(wait: WaitOp) -> bool:
    return any(isinstance(op, CommitOp | ProduceOneOp) for op in wait.walk())


def _pipeline(stages: int) -> CreatePipelineOp:
    pipeline = CreatePipelineOp(max(stages, 1), producer_group=0, consumer_group=0)
    pipeline.producer.name_hint, pipeline.consumer.name_hint = "p", "c"
    return pipeline


def _produce(commit: CommitOp, producer: SSAValue) -> None:
    produce = ProduceOneOp(producer, body=_body(commit), attributes=dict(commit.attributes))
    _put_in_place(commit, [produce])


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
