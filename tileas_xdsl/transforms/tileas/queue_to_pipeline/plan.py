"""
The plan of the queue rewrite: which queues become pipelines, and how each put and get names its stage. Touches nothing.

A queue is followed from its `create_queue` through the operands that `execute` captures; whatever else takes one is
refused. The gets of each agent region are a side of the queue, and so are its puts. A side is one of two kinds:

* *rotating*: its turns come one after the other. An iterator counts them; it starts beside the pipeline, or at the
  entry of the agent region that holds the turns, and is carried by every `scf.for`, `scf.if` and `scf.while` around
  one. So everything between the queue and a turn must be one of these, and an agent region can have no loop around it.
* *indexed*: its only turn stands directly in an `scf.for` from 0 by 1 that runs once, and names the loop's induction
  variable. That number is the stage. So are the numbers by which the gets of several regions take turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import NoReturn

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntAttr, ModuleOp, TupleType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue, TypeAttribute

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.stage_turns import take_turns
from tileas_xdsl.analysis.value_flow import behind_captures
from tileas_xdsl.diagnostics import op_name, refuse
from tileas_xdsl.dialects.nv_tileaa.queue import (
    CreateQueueOp,
    ExecuteOp,
    GetOp,
    MarkForReuseOp,
    PutOp,
    storage_depth,
)
from tileas_xdsl.dialects.nv_tileaa.types import QueueType
from tileas_xdsl.dialects.nv_tileas.types import ProducerTokenType, is_stage, is_token
from tileas_xdsl.interfaces import AgentLikeOpInterface

TurnOp = PutOp | GetOp
"""An op that takes one turn of its side."""

STRUCTURED = (scf.ForOp, scf.IfOp, scf.WhileOp)
"""Control flow that can carry an iterator."""

SLOT_ATTRIBUTES = ("producer_types", "consumer_types", "consumer_idx")
"""Attributes by which produce and consume ops describe their slot. A put or get may not bring its own."""

WITHOUT_QUEUE = "expect operands with queue types"
OUT_OF_RANGE = "consumer_idx out of range for consumer group"


# What a plan consists of ----------------------------------------------------------------------------------------------


class Side(Enum):
    """The two ends of a queue."""

    PRODUCER = "puts"
    CONSUMER = "gets"


@dataclass(eq=False)
class SidePlan:
    """One end of a queue: all its puts, or all gets of an agent region."""

    queue: QueuePlan
    side: Side
    turns: Sequence[TurnOp] = ()
    """The puts, or the gets, in program order."""
    agents: Block | None = None
    """The entry of the agent region that holds all turns; None where they are in none, or in the queue's own."""
    group: int = 0
    """The number of that region."""
    indexed: bool = False

    @property
    def needs_iterator(self) -> bool:
        return bool(self.turns) and not self.indexed


@dataclass(eq=False)
class QueuePlan:
    """One queue that becomes a pipeline."""

    op: CreateQueueOp
    payload: tuple[Attribute, ...]
    depth: int
    says_depth: bool
    puts: SidePlan = field(init=False)
    gets: list[SidePlan] = field(default_factory=list[SidePlan])
    """At least one; several where several agent regions take every stage, or take turns."""
    in_turn: bool = False
    overlaid: dict[QueuePlan, None] = field(default_factory=dict["QueuePlan", None])
    """The queues whose slots lie in the same storage, in order: no put to one may come while a slot is in use here."""

    @property
    def payload_type(self) -> Attribute:
        """The type that an iterator over the slots wraps: that of the payload, or a tuple of several."""
        types = tuple(type_ for type_ in self.payload if isinstance(type_, TypeAttribute))
        return types[0] if len(types) == 1 else TupleType(types)


@dataclass
class RewritePlan:
    """The plan for one module."""

    queues: list[QueuePlan] = field(default_factory=list[QueuePlan])
    names: dict[SSAValue, QueuePlan] = field(default_factory=dict[SSAValue, QueuePlan])
    """Every value that is one of the queues: results, and what stands for them in agent regions."""
    turns: dict[Operation, SidePlan] = field(default_factory=dict[Operation, SidePlan])
    handed_in: dict[Operation, dict[SidePlan, None]] = field(default_factory=dict[Operation, dict[SidePlan, None]])
    """`execute` -> the ends of pipelines that its regions use and that are made outside of it, in order."""
    releases: dict[GetOp, Operation] = field(default_factory=dict[GetOp, Operation])
    """Get -> the op behind which its slot is released. The slots of the others are released inside."""
    order: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """Op -> its place in program order."""


# Making the plan ------------------------------------------------------------------------------------------------------


def plan_queues(module: ModuleOp, default_depth: int) -> RewritePlan:
    """
    Follow every queue of `module` and decide how its turns name their stages. Linear in the size of the module.

    `default_depth` is the depth of queues that do not say. Raises `RefusedError`; where slots are released is decided
    by `views.plan_releases`.
    """
    plan = RewritePlan(order={op: number for number, op in enumerate(module.walk())})
    for op in plan.order:
        if isinstance(op, CreateQueueOp):
            _plan_queue(plan, op, default_depth)
    for op in plan.order:
        if isinstance(op, MarkForReuseOp):
            _check_reuse(plan, op)
    return plan


def _plan_queue(plan: RewritePlan, op: CreateQueueOp, default_depth: int) -> None:
    type_ = op.queue.type
    assert isinstance(type_, QueueType)
    says_depth = isinstance(type_.depth, IntAttr)
    queue = QueuePlan(op, tuple(type_.element_types.data), type_.slots if says_depth else default_depth, says_depth)
    plan.queues.append(queue)
    turns = _follow(plan, queue)
    puts = [turn for turn in turns if isinstance(turn, PutOp)]
    gets = [turn for turn in turns if isinstance(turn, GetOp)]
    queue.puts = _plan_side(plan, queue, Side.PRODUCER, puts)
    regions = _by_region(gets, op.parent_block())
    queue.in_turn = take_turns({number: [get.index for get in own] for number, own in enumerate(regions)})
    if queue.in_turn and queue.depth % len(regions):
        refuse(
            op,
            f"has {queue.depth} slots, and {len(regions)} agent regions take them in turn: an agent that waits for a "
            "slot of another one's could come a turn too early",
            f"let it have a multiple of {len(regions)} slots",
        )
    queue.gets = [_plan_side(plan, queue, Side.CONSUMER, own) for own in regions]


def _follow(plan: RewritePlan, queue: QueuePlan) -> list[TurnOp]:
    """Every put and get of `queue`, in program order; notes what the queue is called on the way."""
    turns: list[TurnOp] = []
    names: list[SSAValue] = [queue.op.queue]
    for name in names:
        plan.names[name] = queue
        for use in name.uses:
            match use.operation:
                case PutOp() | GetOp() as turn:
                    turns.append(turn)
                case MarkForReuseOp():
                    pass
                case ExecuteOp() as agents:
                    names.extend(captured_arguments(agents, use.index))
                case other:
                    refuse(
                        other,
                        "takes a queue, and which puts and gets belong to it cannot be followed through this op",
                        "put to and get from the queue itself, or capture it with nv_tileaa.execute",
                    )
    return sorted(turns, key=plan.order.__getitem__)


def captured_arguments(agents: ExecuteOp, index: int) -> Iterator[BlockArgument]:
    """The block argument that stands for captured operand `index`, in each region."""
    for region in agents.bodies:
        if region.first_block is not None:
            arguments = region.first_block.args
            yield arguments[len(arguments) - len(agents.captured) + index]


# One side -------------------------------------------------------------------------------------------------------------


def _by_region(gets: Sequence[TurnOp], home: Block | None) -> list[list[TurnOp]]:
    """The gets of each region of the agents that take from a queue; all together where not all are in one op's."""
    agents = {get: _agents_around(get, home) for get in gets}
    if len(set(agents.values())) != 1 or None in agents.values():
        return [list(gets)]
    found: dict[Block | None, list[TurnOp]] = {}
    for get, around in agents.items():
        found.setdefault(None if around is None else _entry_around(get, around), []).append(get)
    return list(found.values())


def _agents_around(op: Operation, home: Block | None) -> Operation | None:
    """The op whose agents run `op`, below the block `home`."""
    return next((each for each in _ops_around(op, home) if AgentLikeOpInterface.of(each) is not None), None)


def _plan_side(plan: RewritePlan, queue: QueuePlan, side: Side, turns: Sequence[TurnOp]) -> SidePlan:
    planned = SidePlan(queue, side, turns)
    home = queue.op.parent_block()
    holders: dict[Operation, TurnOp] = {}
    for position, turn in enumerate(turns):
        around = _ops_around(turn, home)
        _check_turn(turn)
        _check_nesting(turn, around)
        _check_nested_turns(planned, turn, holder_of(turn), holders)
        agents = _agents_around(turn, home)
        block = None if agents is None else _entry_around(turn, agents)
        if position == 0:
            planned.agents, planned.group = block, _check_group(turn, agents, block)
        elif block is not planned.agents:
            refuse(
                turn,
                f"is one of the {side.value} of a queue that has others in another agent region",
                "put from one agent region, and get in regions of one op",
            )
        if isinstance(turn, GetOp):
            _check_consumer(turn, planned)
        plan.turns[turn] = planned
        _hand_in(plan, around, planned)
    planned.indexed = _is_indexed(planned, home)
    return planned


def _ops_around(op: Operation, home: Block | None) -> list[Operation]:
    """The ops between `op` and the block `home`, from the inside out. Refuses an `op` that is not below `home`."""
    around: list[Operation] = []
    node = op
    while node.parent_block() is not home:
        parent = node.parent_op()
        if parent is None or not _in_single_block(node):
            refuse(
                op,
                "is not in the block that creates its queue, nor nested below it in single blocks",
                "create the queue in the block where it is used; turn branches into scf ops",
            )
        around.append(parent)
        node = parent
    return around


def _in_single_block(op: Operation) -> bool:
    region = op.parent_region()
    return region is not None and region.first_block is region.last_block


def _entry_around(op: Operation, agents: Operation) -> Block | None:
    """The block of the region of `agents` in which `op` stands."""
    block = op.parent_block()
    while block is not None and block.parent_op() is not agents:
        parent = block.parent_op()
        block = None if parent is None else parent.parent_block()
    return block


def _check_turn(turn: TurnOp) -> None:
    """Refuse a put or get whose attributes or results the produce or consume op could not have."""
    taken = [name for name in SLOT_ATTRIBUTES if name in turn.attributes]
    if taken:
        refuse(turn, f"has the attribute {taken[0]}, which its pipeline op writes itself", "remove the attribute")
    for result in turn.results:
        if is_stage(result.type) or is_token(result.type):
            refuse(
                turn,
                f"gives a value of type {result.type}, which among the results of a consume op is no payload",
                "give a tile: wrap the value in a tensor, tensor<1xi32> for an i32",
            )


def _check_nesting(turn: TurnOp, around: Sequence[Operation]) -> None:
    """An iterator can be carried from the queue to `turn`, and on to the next turn."""
    left_turns = False
    agents: Operation | None = None
    for op in around:
        if AgentLikeOpInterface.of(op) is not None:
            if agents is not None:
                refuse(
                    turn,
                    "stands in agents of agents, and the group ids of a pipeline number the regions of one op only",
                    "create the queue in the outer agent region",
                )
            agents = op
        elif isinstance(op, scf.ForOp | scf.WhileOp) and agents is not None:
            refuse(
                agents,
                f"is inside '{op_name(op)}' and uses a queue from outside: in each iteration its agents start anew, "
                "and their iterators with them",
                "create the queue inside the loop, or move the loop into the agent regions",
            )
        elif isinstance(op, TurnOp):
            if left_turns:
                refuse(
                    turn,
                    f"is inside control flow inside '{op_name(op)}', whose region cannot return an iterator",
                    f"move it out of the '{op_name(op)}'",
                )
            continue
        elif not isinstance(op, STRUCTURED):
            refuse(
                turn,
                f"is inside '{op_name(op)}', which cannot carry an iterator",
                "put and get inside scf.for, scf.if, scf.while and agent regions only",
            )
        left_turns = True


def holder_of(op: Operation) -> Operation:
    """The outermost put or get around `op` with nothing else in between; `op` itself where there is none."""
    while isinstance(parent := op.parent_op(), TurnOp):
        op = parent
    return op


def _check_nested_turns(planned: SidePlan, turn: TurnOp, holder: Operation, holders: dict[Operation, TurnOp]) -> None:
    """A put or get with others inside advances each iterator once, behind itself: a side takes one turn in there."""
    if holders.setdefault(holder, turn) is not turn:
        refuse(
            turn,
            f"is not the only one of the {planned.side.value} of its queue within one '{op_name(holder)}'",
            f"move it in front of the '{op_name(holder)}'",
        )


def _check_group(turn: TurnOp, agents: Operation | None, block: Block | None) -> int:
    """The number of the agent region around `turn`. Refuses several agents that fill the same stages."""
    interface = AgentLikeOpInterface.of(agents)
    if interface is None or block is None:
        return 0
    group = next(number for number, region in enumerate(interface.agent_regions) if region.first_block is block)
    if isinstance(turn, PutOp) and interface.group_sizes[group] > 1:
        refuse(
            turn,
            f"runs in a group of {interface.group_sizes[group]} agents, each of which would fill every stage",
            "put from a group of one agent",
        )
    return group


def _check_consumer(get: GetOp, side: SidePlan) -> None:
    """`consumer_idx` is the number of an agent of the group that gets."""
    agents = None if side.agents is None else AgentLikeOpInterface.of(side.agents.parent_op())
    if agents is not None and get.consumer >= agents.group_sizes[side.group]:
        refuse(get, OUT_OF_RANGE, f"use a number below {agents.group_sizes[side.group]}", verbatim=True)


def _hand_in(plan: RewritePlan, around: Iterable[Operation], side: SidePlan) -> None:
    for op in around:
        if isinstance(op, ExecuteOp):
            plan.handed_in.setdefault(op, {})[side] = None


# Slot indices ---------------------------------------------------------------------------------------------------------


def _is_indexed(planned: SidePlan, home: Block | None) -> bool:
    """Whether the side's turns name their slot; refuses an index that does not count the turns from 0."""
    named = [turn for turn in planned.turns if turn.index is not None]
    if not named:
        return False
    turn = named[0]
    if planned.side is Side.CONSUMER and planned.queue.in_turn:
        return True
    if len(planned.turns) > 1:
        _refuse_index(turn, f"is not the only one of the {planned.side.value} of its queue")
    loop = turn.parent_op()
    if not isinstance(loop, scf.ForOp) or turn.index is not loop.body.block.args[0]:
        _refuse_index(turn, "names a slot that is not the induction variable of an scf.for directly around it")
    if constant_of(loop.lb) != 0 or constant_of(loop.step) != 1:
        _refuse_index(turn, "names a slot by a loop that does not run from the constant 0 by the constant 1")
    if any(isinstance(op, scf.ForOp | scf.WhileOp) for op in _ops_around(loop, home)):
        _refuse_index(turn, "names a slot by a loop that an outer loop repeats for the same queue")
    return True


def _refuse_index(turn: TurnOp, reason: str) -> NoReturn:
    refuse(
        turn,
        f"{reason}, so the index does not count the turns from 0",
        "leave out the index: the slots then rotate",
    )


def constant_of(value: SSAValue) -> int | None:
    """The number that `value` is a constant of, also where an `execute` captured it."""
    return constant_integer(behind_captures(value))


# Storage that is reused -----------------------------------------------------------------------------------------------


def _check_reuse(plan: RewritePlan, op: MarkForReuseOp) -> None:
    """The operands become producer tokens; those that are no queues must be such tokens already."""
    depths: list[int] = []
    for operand in op.queues:
        if not isinstance(operand.type, QueueType | ProducerTokenType):
            refuse(op, WITHOUT_QUEUE, "mark queues, or the producer tokens of pipelines", verbatim=True)
        queue = plan.names.get(operand)
        depth = storage_depth(operand) if queue is None else queue.depth
        if depth is not None:
            depths.append(depth)
        if queue is not None:
            _hand_in(plan, _ops_around(op, queue.op.parent_block()), queue.puts)
    if depths and min(depths) != max(depths):
        refuse(
            op,
            f"marks storage of different depths, {min(depths)} and {max(depths)}, once queues without one have theirs",
            "give every queue its depth, or choose default-depth to match",
        )
    _note_overlaid(plan, op)


def _note_overlaid(plan: RewritePlan, op: MarkForReuseOp) -> None:
    """Those of one partition lie side by side, and the partitions lie over each other."""
    operands = iter(op.queues)
    groups = [list(islice(operands, int(size))) for size in op.partitions.get_values()]
    marked = [[queue for name in group if (queue := plan.names.get(name)) is not None] for group in groups]
    for group in marked:
        others = [queue for peers in marked if peers is not group for queue in peers]
        for queue in group:
            queue.overlaid.update((other, None) for other in others if other is not queue)
