"""
The five patterns of the queue rewrite, to be applied greedily.

    execute          ->  agent_switch
    create_queue     ->  create_pipeline, and an iterator for each side that rotates
    queue.put        ->  produce_one { producer_acquire; producer_write; producer_commit; yield }
    queue.get        ->  consume_one { consumer_wait; consumer_read; consumer_release; yield }
    mark_for_reuse   ->  itself, on producer tokens

They carry out a plan and decide nothing. A pattern that finds the tokens of its pipeline not there yet does nothing,
and gets another turn. Behind them every rotating turn still names the first slot (`iterators.py`), and `create_queue`
stands there without uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from tileas_xdsl.dialects.nv_tileaa.queue import (
    CreateQueueOp,
    ExecuteOp,
    GetOp,
    MarkForReuseOp,
    PutOp,
)
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneOp,
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    CreateIteratorOp,
    CreatePipelineOp,
    PipelineYieldOp,
    ProduceOneOp,
    ProducerAcquireOp,
    ProducerCommitOp,
    ProducerWriteOp,
)
from tileas_xdsl.transforms.tileas.queue_to_pipeline.iterators import RotatingTurn
from tileas_xdsl.transforms.tileas.queue_to_pipeline.plan import RewritePlan, SidePlan, TurnOp, captured_arguments


@dataclass(frozen=True)
class PipelineEnd:
    """One end of a pipeline, as it is called somewhere in the program."""

    token: SSAValue
    start: SSAValue | None
    """The iterator at the first slot; None where the turns name their slot themselves."""


@dataclass
class Rewriting:
    """A plan, and how far it has been carried out."""

    plan: RewritePlan
    made: dict[SidePlan, PipelineEnd] = field(default_factory=dict[SidePlan, PipelineEnd])
    """The ends of the pipelines where they were created."""
    handed_in: dict[Block, dict[SidePlan, PipelineEnd]] = field(
        default_factory=dict[Block, dict[SidePlan, PipelineEnd]]
    )
    """Entry of an agent region -> what the ends are called inside."""
    became: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    """Put or get -> what stands in its place."""
    rotating: dict[int, RotatingTurn] = field(default_factory=dict[int, RotatingTurn])
    """Place in program order -> rotating turn."""

    def patterns(self) -> list[RewritePattern]:
        """The five patterns."""
        return [
            ExecuteToAgentSwitch(self),
            CreateQueueToPipeline(self),
            PutToProduceOne(self),
            GetToConsumeOne(self),
            MarkForReuseOnTokens(self),
        ]

    def end_at(self, op: Operation, side: SidePlan) -> PipelineEnd | None:
        """The token and iterator of `side` by the names that they have at `op`; None as long as they do not exist."""
        block = op.parent_block()
        while block is not None and side not in self.handed_in.get(block, {}):
            around = block.parent_op()
            if isinstance(around, ExecuteOp) and side in self.plan.handed_in.get(around, {}):
                return None
            block = None if around is None else around.parent_block()
        return self.made.get(side) if block is None else self.handed_in[block][side]

    def note_turn(
        self, old: TurnOp, side: SidePlan, end: PipelineEnd, new: Operation, steps: Sequence[Operation]
    ) -> None:
        """`new` has taken the place of `old`; `steps` are the ops in it that name the slot."""
        self.became[old] = new
        if end.start is not None:
            self.rotating[self.plan.order[old]] = RotatingTurn(side, new, (new, *steps), end.start)

    def rotating_turns(self) -> list[RotatingTurn]:
        """The rotating turns in program order; patterns are applied in any."""
        return [self.rotating[place] for place in sorted(self.rotating)]


@dataclass
class QueuePattern(RewritePattern):
    """A pattern that carries out a part of the plan."""

    rewriting: Rewriting

    @property
    def plan(self) -> RewritePlan:
        return self.rewriting.plan


# Agents and queues ----------------------------------------------------------------------------------------------------


class ExecuteToAgentSwitch(QueuePattern):
    """
    `execute %x {^bb0(%a): ...}` -> `agent_switch %x, %p, %i { ... }`, with `%x` for `%a` unless it is isolated.

    The ends of pipelines that the regions use join the operands; queues leave them.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ExecuteOp, rewriter: PatternRewriter) -> None:
        ends: dict[SidePlan, PipelineEnd] = {}
        for side in self.plan.handed_in.get(op, {}):
            end = self.rewriting.end_at(op, side)
            if end is None:
                return
            ends[side] = end
        isolated = op.isolated is not None and bool(op.isolated.value.data)
        kept = [value for value in op.captured if value not in self.plan.names]
        for index, value in enumerate(op.captured):
            self._settle_captured(op, index, value, isolated)
        handed = [value for end in ends.values() for value in _values_of(end)]
        handed = handed if isolated else list(dict.fromkeys(handed))
        bodies = [op.detach_region(region) for region in tuple(op.bodies)]
        for body in bodies:
            if body.first_block is not None:
                self._settle_region(body.first_block, len(op.captured), ends, isolated)
        switch = AgentSwitchOp(
            [*kept, *handed],
            bodies,
            op.group_sizes,
            max_regs=None if op.max_regs is None else [int(budget) for budget in op.max_regs.get_values()],
            num_warps=None if op.num_warps is None else [int(count) for count in op.num_warps.get_values()],
            isolated=None if op.isolated is None else isolated,
            attributes=op.attributes if op.resources is None else {**op.attributes, "resources": op.resources},
        )
        switch.location = op.location
        rewriter.replace(op, switch, [])

    def _settle_captured(self, op: ExecuteOp, index: int, value: SSAValue, isolated: bool) -> None:
        """Inside the regions a queue is called what it is called outside, and so is everything unless isolated."""
        queue = self.plan.names.get(value)
        if queue is None and isolated:
            return
        for argument in captured_arguments(op, index):
            argument.replace_all_uses_with(value if queue is None else queue.op.queue)

    def _settle_region(self, block: Block, captured: int, ends: Mapping[SidePlan, PipelineEnd], isolated: bool) -> None:
        """Drop the arguments that are not needed; when isolated, append those for the ends of pipelines."""
        for argument in reversed(block.args[len(block.args) - captured :]):
            if not isolated or argument in self.plan.names:
                block.erase_arg(argument)
        inside = self.rewriting.handed_in.setdefault(block, {})
        for side, end in ends.items():
            if not isolated:
                inside[side] = end
                continue
            token, *start = [_append_argument(block, value) for value in _values_of(end)]
            inside[side] = PipelineEnd(token, start[0] if start else None)


def _values_of(end: PipelineEnd) -> list[SSAValue]:
    return [end.token] if end.start is None else [end.token, end.start]


def _append_argument(block: Block, value: SSAValue) -> SSAValue:
    argument = block.insert_arg(value.type, len(block.args))
    argument.name_hint = value.name_hint
    return argument


class CreateQueueToPipeline(QueuePattern):
    """`create_queue` -> `create_pipeline`, and `create_iterator` for each side that rotates."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CreateQueueOp, rewriter: PatternRewriter) -> None:
        queue = self.plan.names.get(op.queue)
        if queue is None or queue.puts in self.rewriting.made:
            return
        pipeline = CreatePipelineOp(
            queue.depth,
            producer_group=queue.puts.group,
            consumer_group=queue.gets[0].group,
            attributes=op.attributes,
        )
        pipeline.location = op.location
        rewriter.insert(pipeline, InsertPoint.before(op))
        pipeline.producer.name_hint, pipeline.consumer.name_hint = _hint(op.queue, "p"), _hint(op.queue, "c")
        for side in (queue.puts, *queue.gets):
            token, letter = (pipeline.producer, "p") if side is queue.puts else (pipeline.consumer, "c")
            start: SSAValue | None = None
            if side.needs_iterator:
                create = CreateIteratorOp(token, queue.payload_type)
                create.location = op.location
                create.iterator.name_hint = _hint(op.queue, f"{letter}i")
                rewriter.insert(create, InsertPoint.before(op))
                start = create.iterator
            self.rewriting.made[side] = PipelineEnd(token, start)


def _hint(queue: SSAValue, suffix: str) -> str:
    return suffix if queue.name_hint is None else f"{queue.name_hint}_{suffix}"


class MarkForReuseOnTokens(QueuePattern):
    """`mark_for_reuse %q0, %q1` -> `mark_for_reuse %p0, %p1`; attributes and order stay."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MarkForReuseOp, rewriter: PatternRewriter) -> None:
        operands = list(op.queues)
        for index, operand in enumerate(operands):
            queue = self.plan.names.get(operand)
            if queue is not None:
                end = self.rewriting.end_at(op, queue.puts)
                if end is None:
                    return
                operands[index] = end.token
        if operands != list(op.queues):
            op.operands = operands
            rewriter.notify_op_modified(op)


# Turns ----------------------------------------------------------------------------------------------------------------


class PutToProduceOne(QueuePattern):
    """`queue.put %q { ... yield %v }` -> `produce_one %p, %i { acquire; write { ... yield %v }; commit; yield }`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PutOp, rewriter: PatternRewriter) -> None:
        side = self.plan.turns.get(op)
        end = None if side is None else self.rewriting.end_at(op, side)
        if side is None or end is None:
            return
        stage = op.index if end.start is None else end.start
        payload = side.queue.payload
        acquire = ProducerAcquireOp(end.token, stage)
        body = _take_body(op, rewriter) or Region(Block([PipelineYieldOp(*op.payload)], arg_types=payload))
        write = ProducerWriteOp(acquire.results[0], stage, body=body, producer_types=payload)
        commit = ProducerCommitOp(write.results[0])
        region = Region(Block(steps := [acquire, write, commit, PipelineYieldOp()]))
        produce = ProduceOneOp(end.token, stage, body=region, attributes=op.attributes)
        _at(op, produce, *steps)
        _name("own", acquire.results)
        _name("full", write.results)
        _name("produced", produce.results)
        self.rewriting.note_turn(op, side, end, produce, (acquire, write))
        rewriter.replace(op, produce, [])


class GetToConsumeOne(QueuePattern):
    """
    `%v = queue.get %q` -> `%v = consume_one %c, %i { wait; %v = read; release; yield %v }`.

    Where the plan says so, the release stands behind the last use of `%v` instead.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GetOp, rewriter: PatternRewriter) -> None:
        side = self.plan.turns.get(op)
        end = None if side is None else self.rewriting.end_at(op, side)
        if side is None or end is None:
            return
        stage = op.index if end.start is None else end.start
        last_use = self.plan.releases.get(op)
        number: dict[str, Attribute] = {"consumer_idx": IntegerAttr(op.consumer, i32)}
        wait = ConsumerWaitOp(end.token, stage, attributes=number)
        body = _take_body(op, rewriter)
        read = self._read(op, side, body, wait.results[0], stage, releases_here=last_use is None)
        values = read.value_results[: len(op.results)]
        release = [] if last_use is not None else [ConsumerReleaseOp(read.results[-1])]
        region = Region(Block(steps := [wait, read, *release, PipelineYieldOp(*values)]))
        consume = ConsumeOneOp(
            end.token,
            stage,
            value_types=[result.type for result in op.results],
            body=region,
            consumer_idx=op.consumer,
            attributes=op.attributes,
        )
        _at(op, consume, *steps)
        _name("got", wait.results)
        _name("tile", read.value_results)
        _name("done", read.results[len(read.value_results) :])
        _name("consumed", consume.results[len(op.results) :])
        self.rewriting.note_turn(op, side, end, consume, (wait, read))
        rewriter.replace(op, consume, consume.results[: len(op.results)])
        if last_use is not None:
            hoisted = ConsumerReleaseOp(consume.results[-1])
            _at(op, hoisted)
            rewriter.insert(hoisted, InsertPoint.after(self.rewriting.became.get(last_use, last_use)))

    def _read(
        self,
        op: GetOp,
        side: SidePlan,
        body: Region | None,
        token: SSAValue,
        stage: SSAValue | None,
        *,
        releases_here: bool,
    ) -> ConsumerReadOp:
        """
        The read of the slot. Where the body of the get yields nothing the first tile is yielded, since a read has a
        result.
        """
        value_types = [result.type for result in op.results]
        if body is not None and not value_types:
            last = body.block.last_op
            if last is not None:
                last.operands = [body.block.args[0]]
            value_types = [side.queue.payload[0]]
        return ConsumerReadOp(
            token,
            stage,
            value_types=value_types,
            returns=releases_here,
            body=body,
            consumer_idx=op.consumer,
            attributes=None if body is None else {"consumer_types": ArrayAttr(side.queue.payload)},
        )


def _take_body(op: TurnOp, rewriter: PatternRewriter) -> Region | None:
    """The region of `op`, taken out of it, with a pipeline yield at its end; None in the short form."""
    block = op.body.first_block
    if block is None:
        return None
    if block.last_op is not None:
        terminator = PipelineYieldOp(*block.last_op.operands)
        terminator.location = block.last_op.location
        rewriter.replace(block.last_op, terminator, [])
    return rewriter.move_region_contents_to_new_regions(op.body)


def _name(hint: str, values: Sequence[SSAValue]) -> None:
    for value in values:
        value.name_hint = hint


def _at(source: Operation, *made: Operation) -> None:
    """Give the ops `made` the location of `source`."""
    for op in made:
        op.location = source.location
