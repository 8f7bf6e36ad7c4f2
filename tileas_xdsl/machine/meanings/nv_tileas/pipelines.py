"""
What the pipeline ops of `nv_tileas` do: acquire, write, commit on the producer's side, wait, read, release on the
consumer's (`parts.rings`).

A step is done by a slot op in the body of the produce or consume op, or by a commit or release that the op's token
reaches. Every other step of its side the produce or consume op does itself.

Which stage an op works on: the one that its iterator or index names; else the one that its token holds; else, in the
compact form (no iterator), the next free one (producer) or the oldest published one that this agent has not taken yet
(consumer).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation, Region

from tileas_xdsl.analysis.pipeline_facts import PipelineFact, PipelineFacts, pipeline_facts
from tileas_xdsl.analysis.pipeline_steps import OwnSteps, own_steps
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ConsumeOp, ProduceOp, RegionOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    AgentSwitchOp,
    ConsumeOneAsyncOp,
    ConsumeOneOp,
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    CreateIteratorOp,
    CreatePipelineOp,
    IncIterOp,
    PipelineYieldOp,
    ProduceOneAsyncOp,
    ProduceOneOp,
    ProducerAcquireOp,
    ProducerCommitOp,
    ProducerWriteOp,
)
from tileas_xdsl.dialects.nv_tileas.types import (
    AsyncTokenType,
    PipelineIteratorType,
    is_stage,
    is_token,
    is_value,
)
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Event
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.meaning import effect, suspends, sync, terminators
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.op_facts import EVERY_OPERAND
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation
from tileas_xdsl.machine.core.violations import MistakeError, UnsupportedError
from tileas_xdsl.machine.meanings.nv_tileas.tokens import as_token
from tileas_xdsl.machine.parts import rings
from tileas_xdsl.machine.parts.barriers import promise_arrival
from tileas_xdsl.machine.parts.rings import OpenStages, Payload, Ring, Rings, StageIndex, StageToken
from tileas_xdsl.machine.parts.tasks import fork_and_join, inherited
from tileas_xdsl.targets.engines import Engine

terminators(PipelineYieldOp, may_move=EVERY_OPERAND)

steps_of = per_op(own_steps)


# Making pipelines -----------------------------------------------------------------------------------------------------


def make_ring(agent: Agent, op: Operation, fact: PipelineFact, *, depth: int | None, buffer: View | None) -> Ring:
    """A new pipeline in this execution."""
    machine = agent.machine
    made = machine.part(Rings).made
    if not made:
        machine.at_end.append(rings.report_undrained_rings)
    payload = tuple(Payload.of(type_, op) for type_ in fact.payload)
    ring = Ring(fact.name, op, depth, payload, fact.consumers, fact.source, buffer)
    made.append(ring)
    return ring


def _fact_of(agent: Agent, op: Operation) -> PipelineFact:
    """What `pipeline_facts` says about the pipeline with root `op`; computed once for all executions of a check."""
    facts: PipelineFacts = agent.code.fact(pipeline_facts, enclosing_function(op) or op)
    return facts.of_root(op)


@sync(CreatePipelineOp, may_move=EVERY_OPERAND)
def _create_pipeline(agent: Agent, op: CreatePipelineOp, *buffers: Any) -> tuple[StageToken, StageToken]:
    buffer = buffers[0] if buffers and isinstance(buffers[0], View) else None
    fact = _fact_of(agent, op)
    ring = make_ring(agent, op, fact, depth=op.num_stages.value.data, buffer=buffer)
    done = Event.completed()
    return StageToken(ring, "producer", None, done), StageToken(ring, "consumer", None, done)


@effect(CreateIteratorOp, may_move=EVERY_OPERAND)
def _create_iterator(_agent: Agent, op: CreateIteratorOp, token: StageToken) -> StageIndex:
    if token.ring is None:
        raise UnsupportedError(op, "takes an iterator of a token that belongs to no pipeline")
    return StageIndex(token.ring, 0)


@effect(IncIterOp, may_move=EVERY_OPERAND)
def _inc_iter(_agent: Agent, _op: IncIterOp, iterator: StageIndex) -> StageIndex:
    return StageIndex(iterator.ring, iterator.k + 1)


# Which stage ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Classes:
    """The operands and results of a classified op by class."""

    tokens: tuple[int, ...]
    stage: int | None
    values: tuple[int, ...]
    results: int
    """How many results are values."""
    token_results: int


@per_op
def _classes(op: Operation) -> _Classes:
    kinds = [operand.type for operand in op.operands]
    given_back = sum(is_token(result.type) for result in op.results)
    return _Classes(
        tuple(number for number, kind in enumerate(kinds) if is_token(kind)),
        next((number for number, kind in enumerate(kinds) if is_stage(kind)), None),
        tuple(number for number, kind in enumerate(kinds) if is_value(kind)),
        len(op.results) - given_back,
        given_back,
    )


def _sorted_operands(agent: Agent, op: Operation, operands: Sequence[Any]) -> tuple[list[StageToken], Any, list[Any]]:
    """The run-time operands of a classified op: tokens, the stage if there is one, values."""
    classes = _classes(agent, op)
    tokens = [as_token(operands[number]) for number in classes.tokens]
    stage = None if classes.stage is None else operands[classes.stage]
    return tokens, stage, [operands[number] for number in classes.values]


def _implicit_ring(agent: Agent, op: ProduceOp) -> Ring:
    """The implicit pipeline of a produce op without a token operand, in this activation."""
    fact = _fact_of(agent, op)
    # The activation itself, not its address: that may be the next one's as soon as this one is over.
    key, implicit = (fact.key, agent.activation), agent.shared(Rings).implicit
    ring = implicit.get(key)
    if ring is None:
        depth = op.num_stages.value.data if op.num_stages is not None else None
        ring = implicit[key] = make_ring(agent, op, fact, depth=depth, buffer=None)
    return ring


def _named_stage(agent: Agent, op: Operation, ring: Ring, stage: Any) -> int | None:
    """The stage that an iterator or an index names, or None."""
    if stage is None:
        return None
    if isinstance(stage, StageIndex):
        if stage.ring is not ring:
            raise MistakeError(
                op,
                f"takes an iterator of {stage.ring.name} and a token of {ring.name}; both are of one pipeline",
                [ring],
            )
        return stage.k
    return int(agent.known(stage, op, "takes as its stage"))


def _stage_to_produce(agent: Agent, op: Operation, ring: Ring, stage: Any, *, explicit: bool) -> int:
    named = _named_stage(agent, op, ring, stage) if explicit else None
    if named is not None:
        return named
    return ring.take_next_stage(agent, op)


def _stage_to_consume(agent: Agent, op: Operation, ring: Ring, token: StageToken, stage: Any) -> int:
    """The named stage (if the token is one of a created pipeline), else the oldest that this agent has not taken."""
    if token.side == "consumer" or isinstance(stage, StageIndex):
        named = _named_stage(agent, op, ring, stage)
        if named is not None:
            return named
    taken = ring.consumed.get(agent.number, 0)
    ring.consumed[agent.number] = taken + 1
    return taken


def _ring_of(op: Operation, token: StageToken) -> Ring:
    if token.ring is None:
        raise UnsupportedError(
            op, "works on a token that belongs to no pipeline (create_none, or a token from outside)"
        )
    return token.ring


def _held(agent: Agent, token: StageToken) -> bool:
    """Whether `token` stands for a stage that this agent has taken as a consumer and not given back."""
    return token.ring is not None and token.k is not None and (agent.number, token.k) in token.ring.held


# Producing ------------------------------------------------------------------------------------------------------------


def _run_slot_region(agent: Agent, ring: Ring, k: int, region: Region, op: Operation) -> Request:
    """Run the body of a produce, consume, write or read op on the slot of stage `k`. The outcome is what it yields."""
    entry = region.first_block
    if entry is None:
        return Done(())
    arguments: list[Any] = []
    for index, argument in enumerate(entry.args):
        if isinstance(argument.type, PipelineIteratorType):
            arguments.append(StageIndex(ring, k))
        else:
            arguments.append(rings.slot_value(agent, ring, k, index, op))
    stack = agent.part(OpenStages).stages
    stack.append((ring, k))
    return agent.run_region(region, arguments).then(_leave_slot)


@continuation
def _leave_slot(agent: Agent, _op: Operation, yielded: Sequence[Any]) -> Answer:
    agent.part(OpenStages).stages.pop()
    return yielded


@suspends(ProduceOneOp, ProduceOneAsyncOp, may_move=EVERY_OPERAND)
def _produce(agent: Agent, op: ProduceOp, *operands: Any) -> Answer:
    tokens, stage, _ = _sorted_operands(agent, op, operands)
    explicit = bool(tokens) and tokens[0].ring is not None
    ring = _ring_of(op, tokens[0]) if explicit else _implicit_ring(agent, op)
    steps: OwnSteps = steps_of(agent, op)
    if tokens and not steps.takes and tokens[0].k is not None:
        k = tokens[0].k
    else:
        k = _stage_to_produce(agent, op, ring, stage, explicit=explicit)
    stage = StageIndex(ring, k)
    if steps.takes:
        return rings.acquire(agent, ring, k, op).then(_run_produce_body, stage)
    return _run_produce_body(agent, op, None, stage)


@continuation
def _run_produce_body(agent: Agent, op: ProduceOp, _: None, stage: StageIndex) -> Answer:
    delegates = agent.delegates
    agent.delegates |= isinstance(op, ProduceOneAsyncOp)
    ring, k, count = stage.ring, stage.k, _classes(agent, op).results
    if count and op.is_abstract:
        values = [rings.slot_value(agent, ring, k, index, op) for index in range(count)]
        return _publish(agent, op, values, stage, delegates)
    return _run_slot_region(agent, ring, k, op.body, op).then(_publish, stage, delegates)


@continuation
def _publish(agent: Agent, op: ProduceOp, yielded: Sequence[Any], stage: StageIndex, delegates: bool) -> Answer:
    agent.delegates = delegates
    ring, k = stage.ring, stage.k
    steps: OwnSteps = steps_of(agent, op)
    if steps.moves:
        values = yielded if not op.is_abstract else rings.source_values(agent, ring, k)
        _fill(agent, op, ring, k, values)
    event = Event.all_of([agent.event_of(work) for work in ring.works.get(k, [])], _stage_label(ring, k))
    if steps.gives:
        event = rings.commit(agent, ring, k, op)
    return _results(agent, op, list(yielded) if _classes(agent, op).results else [], ring, "producer", k, event)


def _fill(agent: Agent, op: ProduceOp, ring: Ring, k: int, values: Sequence[Any]) -> None:
    payload = [value for value in values if not isinstance(value, StageToken | StageIndex)]
    if len(payload) != len(ring.payload) and ring.buffer is None:
        raise UnsupportedError(op, f"fills a slot of {len(ring.payload)} values with {len(payload)}")
    if isinstance(op, ProduceOneAsyncOp):
        rings.write_later(agent, ring, k, payload, op, engine=_engine(op))
    else:
        rings.write(agent, ring, k, payload, op)


def _stage_label(ring: Ring, k: int) -> str:
    return f"stage {k} of {ring.name}"


def _results(agent: Agent, op: ClassifiedOp, values: Sequence[Any], ring: Ring, side: str, k: int, event: Event) -> Any:
    """Values first, then one token object for each token result."""
    token = StageToken(ring, side, k, event)
    results = (*values, *[token] * _classes(agent, op).token_results)
    return results[0] if len(op.results) == 1 else results


@suspends(ProducerAcquireOp, may_move=EVERY_OPERAND)
def _acquire(agent: Agent, op: ProducerAcquireOp, *operands: Any) -> Answer:
    tokens, stage, _ = _sorted_operands(agent, op, operands)
    ring = _ring_of(op, tokens[0])
    around = _open_stage(agent, ring)
    k = around if around is not None else _stage_to_produce(agent, op, ring, stage, explicit=True)
    return rings.acquire(agent, ring, k, op).then(_give_token, StageToken(ring, "producer", k, tokens[0].event))


@continuation
def _give_token(_agent: Agent, _op: Operation, _: None, token: StageToken) -> Answer:
    return token


def _open_stage(agent: Agent, ring: Ring) -> int | None:
    """
    The stage of `ring` on which the innermost produce, consume, write or read region around the op works, or None.
    """
    stack = agent.part(OpenStages).stages
    return next((k for other, k in reversed(stack) if other is ring), None)


@suspends(ProducerWriteOp, may_move=EVERY_OPERAND)
def _write(agent: Agent, op: ProducerWriteOp, *operands: Any) -> Answer:
    tokens, stage, values = _sorted_operands(agent, op, operands)
    ring = _ring_of(op, tokens[0])
    k = _stage_in_hand(agent, op, ring, tokens[0], stage)
    if op.is_abstract:
        body: Request = Done(values or rings.source_values(agent, ring, k))
    else:
        body = _run_slot_region(agent, ring, k, op.body, op)
    return body.then(_fill_by_write, StageIndex(ring, k))


@continuation
def _fill_by_write(agent: Agent, op: ProducerWriteOp, values: Sequence[Any], stage: StageIndex) -> Answer:
    ring, k = stage.ring, stage.k
    if not (values and all(isinstance(value.type, AsyncTokenType) for value in op.yielded) and op.yielded):
        _fill_from_write(agent, op, ring, k, values)
    event = Event.all_of([agent.event_of(work) for work in ring.works.get(k, [])], _stage_label(ring, k))
    return _results(agent, op, [], ring, "producer", k, event) if op.results else None


def _fill_from_write(agent: Agent, op: ProducerWriteOp, ring: Ring, k: int, values: Sequence[Any]) -> None:
    """Write the slot for `op`: asynchronously if the produce op around it is asynchronous."""
    node: Operation | None = op.parent_op()
    while node is not None and not isinstance(node, ProduceOp):
        node = node.parent_op()
    if isinstance(node, ProduceOneAsyncOp):
        rings.write_later(agent, ring, k, values, op, engine=_engine(node))
    else:
        rings.write(agent, ring, k, values, op)


def _engine(op: ProduceOp) -> str:
    """The engine of the asynchronous write of `op`: its producer kind, TMA by default."""
    return op.producer_kind.data if op.producer_kind is not None else Engine.TMA


def _stage_in_hand(agent: Agent, op: Operation, ring: Ring, token: StageToken, stage: Any) -> int:
    """The stage that a slot op works on: named, held by its token, or that of the region around it."""
    named = _named_stage(agent, op, ring, stage)
    if named is not None:
        return named
    if token.k is not None:
        return token.k
    around = _open_stage(agent, ring)
    if around is None:
        raise UnsupportedError(
            op, f"does not say which stage of {ring.name} it means; give it an iterator or a stage's token"
        )
    return around


@sync(ProducerCommitOp, may_move=EVERY_OPERAND)
def _commit(agent: Agent, op: ProducerCommitOp, *tokens: StageToken) -> StageToken | None:
    events: list[Event] = []
    for token in tokens:
        ring = _ring_of(op, token)
        events.append(rings.commit(agent, ring, _stage_in_hand(agent, op, ring, token, None), op))
    first = tokens[0]
    return StageToken(first.ring, "producer", first.k, Event.all_of(events, "committed stages")) if op.results else None


# Consuming ------------------------------------------------------------------------------------------------------------


@suspends(ConsumeOneOp, ConsumeOneAsyncOp, may_move=EVERY_OPERAND)
def _consume(agent: Agent, op: ConsumeOp, *operands: Any) -> Answer:
    tokens, stage, _ = _sorted_operands(agent, op, operands)
    token = tokens[0]
    ring = _ring_of(op, token)
    if isinstance(op, ConsumeOneAsyncOp) and _held(agent, token):
        return _twin(agent, op, ring, token)
    steps: OwnSteps = steps_of(agent, op)
    if _held(agent, token) and not steps.takes:
        assert token.k is not None
        k = token.k
    else:
        k = _stage_to_consume(agent, op, ring, token, stage)
    stage = StageIndex(ring, k)
    if steps.takes:
        return rings.wait_full(agent, ring, k, op).then(_use_slot, stage)
    return _use_slot(agent, op, None, stage)


@continuation
def _use_slot(agent: Agent, op: ConsumeOp, _: None, stage: StageIndex) -> Answer:
    return _read_slot(agent, op, stage).then(_give_back, stage)


@continuation
def _give_back(agent: Agent, op: ConsumeOp, values: Sequence[Any], stage: StageIndex) -> Answer:
    ring, k = stage.ring, stage.k
    steps: OwnSteps = steps_of(agent, op)
    if steps.gives:
        rings.release(agent, ring, k, op)
    return _results(agent, op, values, ring, "consumer", k, Event.completed())


def _read_slot(agent: Agent, op: RegionOp, stage: StageIndex) -> Request:
    """What the value results of `op` are: what its body yields, or elements of the slot."""
    if op.is_abstract:
        return Done(_values_of(agent, op, stage.ring, stage.k))
    return _run_slot_region(agent, stage.ring, stage.k, op.body, op)


def _values_of(agent: Agent, op: RegionOp, ring: Ring, k: int) -> list[Any]:
    """What the value results of an op without a body are: elements of the slot of stage `k`."""
    indices = (_payload_index(op, ring, index) for index in range(_classes(agent, op).results))
    return [rings.slot_value(agent, ring, k, index, op) for index in indices]


def _payload_index(op: RegionOp, ring: Ring, index: int) -> int:
    """
    The element of the slot that value result `index` is: by position, or by type if the op takes only some elements.
    """
    wanted = op.value_results[index].type
    if len(op.value_results) == len(ring.payload) or ring.buffer is not None:
        return index
    return next((i for i, payload in enumerate(ring.payload) if payload.type == wanted), index)


def _twin(agent: Agent, op: ConsumeOneAsyncOp, ring: Ring, token: StageToken) -> Any:
    """
    A `consume_one_async` on a stage that its token holds already changes nothing. Its token completes when the reads of
    that stage do.
    """
    assert token.k is not None
    storage = {view.base for view in rings.slot_of(agent, ring, token.k, op).storage}
    reading = [
        work
        for work in agent.works_under_way()
        if any(touch.view.base in storage and not touch.is_write for touch in work.touches)
    ]
    event = Event.all_of([agent.event_of(work) for work in reading], f"the reads of {_stage_label(ring, token.k)}")
    values = _values_of(agent, op, ring, token.k)
    return _results(agent, op, values, ring, "consumer", token.k, event)


@suspends(ConsumerWaitOp, may_move=EVERY_OPERAND)
def _wait(agent: Agent, op: ConsumerWaitOp, *operands: Any) -> Answer:
    tokens, stage, _ = _sorted_operands(agent, op, operands)
    ring = _ring_of(op, tokens[0])
    around = _open_stage(agent, ring)
    k = around if around is not None else _stage_to_consume(agent, op, ring, tokens[0], stage)
    return rings.wait_full(agent, ring, k, op).then(_give_token, StageToken(ring, "consumer", k, tokens[0].event))


@suspends(ConsumerReadOp, may_move=EVERY_OPERAND)
def _read(agent: Agent, op: ConsumerReadOp, *operands: Any) -> Answer:
    tokens, named, _ = _sorted_operands(agent, op, operands)
    ring = _ring_of(op, tokens[0])
    stage = StageIndex(ring, _stage_in_hand(agent, op, ring, tokens[0], named))
    return _read_slot(agent, op, stage).then(_give_values, stage, tokens[0].event)


@continuation
def _give_values(agent: Agent, op: ConsumerReadOp, values: Sequence[Any], stage: StageIndex, event: Event) -> Answer:
    return _results(agent, op, values, stage.ring, "consumer", stage.k, event)


@sync(ConsumerReleaseOp, may_move=EVERY_OPERAND)
def _release(agent: Agent, op: ConsumerReleaseOp, *tokens: StageToken) -> StageToken | None:
    for token in tokens:
        ring = _ring_of(op, token)
        k = _stage_in_hand(agent, op, ring, token, None)
        if token.event.complete:
            rings.release(agent, ring, k, op)
        else:
            _release_later(agent, op, ring, k, token.event)
    event = Event.all_of([token.event for token in tokens], "released stages")
    return StageToken(tokens[0].ring, "consumer", tokens[0].k, event) if op.results else None


def _release_later(agent: Agent, op: Operation, ring: Ring, k: int, event: Event) -> None:
    """Give the slot back once the asynchronous reads that the token stands for are complete."""
    ring.held.discard((agent.number, k))
    slot = rings.slot_of(agent, ring, k, op)
    work = agent.issue(
        op, [], None, label=f"the release of {_stage_label(ring, k)}", engine="release", dependencies=[event]
    )
    promise_arrival(agent, work, slot.empty)


# Agents ---------------------------------------------------------------------------------------------------------------


@suspends(AgentSwitchOp, may_move=EVERY_OPERAND)
def _agent_switch(agent: Agent, op: AgentSwitchOp, *operands: Any) -> Answer:
    warps = inherited(agent, op.warps_per_group()) if op.num_warps is not None else []
    is_placed = op.warp_id is not None and all(size == 1 for size in op.group_sizes) and bool(warps)
    first = [int(number) for number in op.warp_id.get_values()] if op.warp_id is not None and is_placed else []
    return fork_and_join(agent, op, operands, warps=warps, first_warps=first)
