"""
What the queues of `nv_tileaa`, and `execute`, do.

A queue names a flow of data and leaves the synchronisation open: a put waits for a free slot, fills and publishes it; a
get waits for a filled slot, copies its tiles (those in shared memory, too) and frees it. With a slot index `i` the op
is turn `i` of its side; without one each op takes the next turn: a put that of the queue, whoever comes first, a get
that of its agent, since every agent takes every tile, unless their numbers take turns. A queue without a depth never
blocks a put in a run; a check relies on one slot only (`parts.rings`). A queue that is a function argument is an
endless source: its tiles are a fixed function of the argument and the turn.

Queues copy. `queue.get` takes a copy of its tiles and frees the slot, also for shared-memory tiles: a queue says that
data flows, not how. From `create_pipeline` on, tiles in shared memory are views, and a release that comes too early is
a race.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate
from typing import Any

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tileas_xdsl.analysis.pipeline_facts import PipelineFact
from tileas_xdsl.analysis.stage_turns import take_turns
from tileas_xdsl.dialects.nv_tileaa.queue import (
    CreateQueueOp,
    ExecuteOp,
    GetOp,
    MarkForReuseOp,
    PutOp,
    QueueYieldOp,
)
from tileas_xdsl.dialects.nv_tileaa.types import QueueType
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.arguments import binds_type
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.meaning import effect, suspends, sync, terminators
from tileas_xdsl.machine.core.op_facts import EVERY_OPERAND
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation, give_results
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.nv_tileas.pipelines import make_ring
from tileas_xdsl.machine.parts import rings
from tileas_xdsl.machine.parts.rings import Payload, Ring, SourceQueue, StageIndex, StageToken, source_value
from tileas_xdsl.machine.parts.shared_storage import overlay
from tileas_xdsl.machine.parts.tasks import fork_and_join
from tileas_xdsl.machine.tiles.tiles import read_tile

terminators(QueueYieldOp)


@binds_type(QueueType.name)
def _bind_queue(argument: BlockArgument, _given: Any, _with_data: bool) -> SourceQueue:
    return SourceQueue(argument.index)


@sync(CreateQueueOp)
def _create_queue(agent: Agent, op: CreateQueueOp) -> Ring:
    type_ = op.queue.type
    assert isinstance(type_, QueueType)
    depth = type_.depth.data if isinstance(type_.depth, IntAttr) else None
    fact = PipelineFact(
        key=op,
        name=_name(op),
        payload=tuple(type_.element_types.data),
        consumers=_consumers(op),
        source=0,
    )
    ring = make_ring(agent, op, fact, depth=depth, buffer=None)
    if depth is None:
        ring.slots_relied_on = agent.unstated_slots
    return ring


def _name(op: CreateQueueOp) -> str:
    hint = op.queue.name_hint
    return f"queue '{hint}'" if hint else "the queue"


def _consumers(op: CreateQueueOp) -> int:
    """
    How many agents take each slot: those of the groups that get from the queue, or of one of them where they take
    turns.
    """
    agents: dict[Region, int] = {}
    stages: dict[Hashable, list[SSAValue | None]] = {}
    for get in _gets_from(op.queue):
        region, size = _agent_region(get, op)
        if region is None:
            return 1
        agents[region] = size
        stages.setdefault(region, []).append(get.index)
    return max(agents.values() if take_turns(stages) else [sum(agents.values())], default=1) or 1


def _gets_from(queue: SSAValue) -> Iterable[GetOp]:
    """The gets from a queue, also those inside agents, where a block argument stands for the queue."""
    names = [queue]
    for name in names:
        for use in name.uses:
            if isinstance(use.operation, GetOp):
                yield use.operation
            elif isinstance(use.operation, ExecuteOp):
                for region in use.operation.bodies:
                    arguments = region.block.args
                    names.append(arguments[len(arguments) - len(use.operation.captured) + use.index])


def _agent_region(op: Operation, create: CreateQueueOp) -> tuple[Region | None, int]:
    """The agent region around `op`, but not around `create`, and how many agents run it."""
    region = op.parent_region()
    while region is not None and region.parent is not None and not region.is_ancestor(create):
        agents = AgentLikeOpInterface.of(region.parent)
        if agents is not None:
            return region, agents.group_sizes[list(agents.agent_regions).index(region)]
        region = region.parent.parent_region()
    return None, 1


# Putting --------------------------------------------------------------------------------------------------------------


@suspends(PutOp, may_move=("index",))
def _put(agent: Agent, op: PutOp, queue: Any, *operands: Any) -> Answer:
    if isinstance(queue, SourceQueue):
        return _run_body(agent, op, _unknown_slots(op.queue_type), op.body)
    payload = list(operands)
    if op.index is None:
        turn = queue.take_next_stage(agent, op)
    else:
        turn = agent.known(payload.pop(0), op, "takes as its slot")
        if _others_take_turns(agent, op):
            queue.go_on_behind(agent, op, turn)
    return rings.acquire(agent, queue, turn, op).then(_fill_slot, StageIndex(queue, turn), tuple(payload))


@per_op
def _others_take_turns(op: PutOp) -> bool:
    """Whether some put of the program names no slot, so that it goes on behind those that do."""
    program = op.get_toplevel_object()
    return any(isinstance(other, PutOp) and other.index is None for other in program.walk())


@continuation
def _fill_slot(agent: Agent, op: PutOp, _: None, stage: StageIndex, payload: Sequence[Any]) -> Answer:
    if op.body.first_block is None:
        return _publish(agent, op, payload, stage)
    storage = rings.slot_of(agent, stage.ring, stage.k, op).storage
    return _run_body(agent, op, storage, op.body).then(_publish, stage)


@continuation
def _publish(agent: Agent, op: PutOp, payload: Sequence[Any], stage: StageIndex) -> Answer:
    rings.write(agent, stage.ring, stage.k, payload, op)
    rings.commit(agent, stage.ring, stage.k, op)


def _run_body(agent: Agent, op: Operation, slots: Sequence[Any], body: Region) -> Request:
    entry = body.first_block
    if entry is None:
        return Done(())
    if len(entry.args) != len(slots):
        raise UnsupportedError(op, f"has a body for {len(entry.args)} tiles, and a slot holds {len(slots)}")
    return agent.run_region(body, slots)


def _unknown_slots(type_: QueueType) -> list[Any]:
    return [UNKNOWN] * len(type_.element_types.data)


# Getting --------------------------------------------------------------------------------------------------------------


@suspends(GetOp, may_move=("index",))
def _get(agent: Agent, op: GetOp, queue: Any, *index: Any) -> Answer:
    named = agent.known(index[0], op, "takes as its slot") if index else None
    if isinstance(queue, SourceQueue):
        return _use_tiles(agent, op, _from_source(agent, op, queue, named))
    turn = queue.consumed.get(agent.number, 0) if named is None else named
    queue.consumed[agent.number] = turn + 1
    return rings.wait_full(agent, queue, turn, op).then(_take_tiles, StageIndex(queue, turn)).then(_use_tiles)


@continuation
def _take_tiles(agent: Agent, op: GetOp, _: None, stage: StageIndex) -> Answer:
    storage = rings.slot_of(agent, stage.ring, stage.k, op).storage
    tiles = [read_tile(agent, view, op) for view in storage]
    rings.release(agent, stage.ring, stage.k, op)
    return tiles


@continuation
def _use_tiles(agent: Agent, op: GetOp, tiles: Sequence[Any]) -> Answer:
    if op.body.first_block is None:
        return give_results(agent, op, tuple(tiles))
    return _run_body(agent, op, tiles, op.body).then(give_results)


def _from_source(agent: Agent, op: GetOp, queue: SourceQueue, named: int | None) -> list[Any]:
    turn = queue.turns.get(agent.number, 0) if named is None else named
    queue.turns[agent.number] = turn + 1
    if not agent.has_data:
        return _unknown_slots(op.queue_type)
    payload = [Payload.of(type_, op) for type_ in op.queue_type.element_types.data]
    return [source_value(element, queue.number, turn, number) for number, element in enumerate(payload)]


# Agents and storage ---------------------------------------------------------------------------------------------------


@suspends(ExecuteOp, may_move=EVERY_OPERAND)
def _execute(agent: Agent, op: ExecuteOp, *captured: Any) -> Answer:
    warps = [int(count) for count in op.num_warps.get_values()] if op.num_warps is not None else []
    return fork_and_join(agent, op, captured, warps=warps)


@effect(MarkForReuseOp)
def _mark_for_reuse(_agent: Agent, op: MarkForReuseOp, *queues: Any) -> None:
    """It moves no data: from now on the queues, or the pipelines of the tokens, lie over each other."""
    rings_of = [_ring_of(queue) for queue in queues]
    ends = list(accumulate(int(size) for size in op.partitions.get_values()))
    groups = [rings_of[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    overlay([[ring for ring in group if ring is not None] for group in groups], op)


def _ring_of(queue: Any) -> Ring | None:
    """The ring of a queue or of a producer's token; None for a queue that comes from outside."""
    ring = queue.ring if isinstance(queue, StageToken) else queue
    return ring if isinstance(ring, Ring) else None
