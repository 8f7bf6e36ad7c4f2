"""
Two agents become one: the producer's transfers are issued by the consumer, whenever it gives a slot back.

    agent_switch {                                    commit 0 { if 0 < n { scope { ring[0] = load %a[0] } } }
      for %k = 0 to n {                               commit 0 { if 1 < n { scope { ring[1] = load %a[1] } } }
        %t = load %a[%k]                              for %k = 0 to n {
        produce_one %p, %k { write %t }                 wait 0, 1
      }                                         ->      %u = load ring[%k mod 2]
    }, {                                                use %u
      for %k = 0 to n {                                 commit 0 { if %k + 2 < n {
        %u = consume_one %c, %k { read }                  scope { ring[%k mod 2] = load %a[%k + 2] }
        use %u                                          } }
        consumer_release                              }
      }                                               wait 0, 0
    }

A program of one thread can say what two agents do where one of them does nothing but start transfers: then the other
may start them, and they run beside it as before. Turn k + depth of the producer cannot begin before turn k of the
consumer is over, and that is where it is issued; turn k of the consumer cannot begin before turn k of the producer is
over, and that is what it waits for. The order of the transfers among themselves is lost; they only read what nobody
writes meanwhile, and a slot is filled by one at a time, so nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tileas_xdsl.analysis.induction import LoopIndices, constant_integer
from tileas_xdsl.analysis.memory.accesses import AccessReader, BodyAccess
from tileas_xdsl.analysis.memory.effects import has_no_effects
from tileas_xdsl.analysis.memory.objects import may_alias
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileaa.memory import LoadOp, ReadOp, TiledLoadOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    AgentSwitchOp,
    ConsumeOneOp,
    CreateIteratorOp,
    CreatePipelineOp,
    IncIterOp,
    ProduceOneOp,
)
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.tile_turns import TileGet, TilePut, get_of, put_of
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.turn_numbers import counts_iterations, require_known_uses

TurnT = TypeVar("TurnT", ProduceOneOp, ConsumeOneOp)

ONE_THREAD = "a count waits only for what its own thread has committed, so one thread has to issue the producer's work"
KEEP = "keep the pipeline, or give the producer nothing but loads of tiles that it puts into slots"


@dataclass
class Crossing:
    """A pipeline from the producing agent to the consuming one."""

    root: CreatePipelineOp
    put: TilePut
    get: TileGet
    loads: tuple[ReadOp, ...]
    """The loads that bring the tiles of a slot, one for each tile."""

    @property
    def depth(self) -> int:
        return self.root.num_stages.value.data


@dataclass
class TwoAgents:
    """The plan for an `agent_switch` whose two agents share pipelines."""

    switch: AgentSwitchOp
    function: Operation
    roots: Sequence[CreatePipelineOp]
    crossings: list[Crossing] = field(default_factory=list[Crossing])

    # The plan ---------------------------------------------------------------------------------------------------------

    def make(self) -> None:
        """The plan for one switch. Raises `RefusedError` where one thread cannot do what its two agents do."""
        self._require_two_agents()
        producer, consumer = self._sides()
        self.fill, self.use = self._loop_of(producer, ProduceOneOp), self._loop_of(consumer, ConsumeOneOp)
        self._require_equally_many_turns()
        for root in self.roots:
            self.crossings.append(self._crossing(root))
        self._require_only_transfers(producer)
        self._require_sources_left_alone(consumer)

    def _require_two_agents(self) -> None:
        if self.switch.is_isolated or len(self.switch.bodies) != 2 or set(self.switch.group_sizes) != {1}:
            refuse(
                self.switch,
                f"does not run two single agents side by side, and {ONE_THREAD}",
                "put all producers into one region and all consumers into another, of one agent each, not isolated",
            )
        for region in self.switch.bodies:
            if len(region.blocks) != 1:
                refuse(self.switch, "has a region that is not one block", "lower its control flow to scf")

    def _sides(self) -> tuple[Region, Region]:
        """The region that produces for every pipeline, and the one that consumes."""
        sides: set[tuple[Region | None, Region | None]] = set()
        for root in self.roots:
            ends = [self._region_of(end) for end in (root.producer, root.consumer)]
            sides.add((ends[0], ends[1]))
        first, second = self.switch.bodies
        if sides == {(first, second)}:
            return first, second
        if sides == {(second, first)}:
            return second, first
        refuse(
            self.switch,
            f"has agents that produce and consume alike, or pipelines that are used outside of it, and {ONE_THREAD}",
            "let one agent do nothing but produce, and the other consume all that it produces",
        )

    def _region_of(self, end: SSAValue) -> Region | None:
        """The one region of the switch in which all turns of a pipeline's end are; None without one."""
        found: set[Region | None] = set()
        for use in end.uses:
            if use.operation is self.switch or isinstance(use.operation, CreateIteratorOp):
                continue
            found.add(next((r for r in self.switch.bodies if _is_inside(use.operation, r)), None))
        return found.pop() if len(found) == 1 else None

    def _loop_of(self, region: Region, turn: type[Operation]) -> scf.ForOp:
        """The loop of the agent in which all its turns are, one after the other."""
        parents = {op.parent_op() for op in region.walk() if isinstance(op, turn)}
        loop = parents.pop() if len(parents) == 1 else None
        if not isinstance(loop, scf.ForOp) or loop.parent is not region.block:
            refuse(
                self.switch,
                "has an agent whose turns are not those of one loop, so that they cannot be matched with the other's",
                "let both agents take one turn of each pipeline in each iteration of one scf.for",
            )
        return loop

    def _require_equally_many_turns(self) -> None:
        for mine, other in zip(bounds_of(self.fill), bounds_of(self.use), strict=True):
            number = constant_integer(mine)
            if mine is not other and (number is None or number != constant_integer(other)):
                refuse(
                    self.use,
                    "is not known to turn as often as the loop of the producer",
                    "give both loops the same bounds and step",
                )

    def _crossing(self, root: CreatePipelineOp) -> Crossing:
        if root.buffers:
            refuse(
                root,
                "has a buffer of its own, whose slots are views that other ops may hold on to",
                "create the pipeline without the buffer",
            )
        put = put_of(self._only_turn(root, root.producer, ProduceOneOp, self.fill))
        get = get_of(self._only_turn(root, root.consumer, ConsumeOneOp, self.use))
        if any(result.first_use is not None for result in put.op.results):
            refuse(put.op, "has results that are used, and a queue has none to give", "use the pipeline's own tokens")
        for result, place in get.results:
            if place >= len(put.tiles) or put.tiles[place].type != result.type:
                refuse(get.op, "takes other tiles out of the slot than are put in", "put and take the same types")
        require_known_uses(root, self.switch)
        return Crossing(root, put, get, tuple(self._load_of(put, tile) for tile in put.tiles))

    def _only_turn(self, root: CreatePipelineOp, end: SSAValue, kind: type[TurnT], loop: scf.ForOp) -> TurnT:
        turns = [op for op in loop.body.block.ops if isinstance(op, kind) and op.token is end]
        if len(turns) != 1:
            refuse(
                root,
                f"is turned {len(turns)} times in an iteration of an agent, which is not followed",
                "take one turn of each pipeline in each iteration",
            )
        turn = turns[0]
        for use in end.uses:
            user = use.operation
            if turn not in (user, user.parent_op()) and not isinstance(user, CreateIteratorOp | AgentSwitchOp):
                refuse(user, "uses an end of the pipeline besides its turn", "do all steps in the turn")
        self._require_first_in_first_out(turn, end, loop)
        return turn

    def _require_first_in_first_out(self, turn: ProduceOneOp | ConsumeOneOp, end: SSAValue, loop: scf.ForOp) -> None:
        """Refuse a loop unless its iteration number k takes stage k."""
        stage = turn.stage
        if stage is None or counts_iterations(stage, loop) or _is_stepped_iterator(stage, end, loop):
            return
        refuse(
            turn,
            "names its stage, so the order is not seen to be FIFO",
            "number the stages by the induction variable of a loop from 0 with step 1, by an iterator, or not at all",
        )

    def _load_of(self, put: TilePut, tile: SSAValue) -> ReadOp:
        load = tile.owner
        if not isinstance(load, LoadOp | TiledLoadOp) or load.parent is not self.fill.body.block:
            refuse(
                put.op,
                f"puts a tile into the slot that is computed by its agent, and {ONE_THREAD}",
                KEEP,
            )
        if load.token or load.token_result:
            refuse(load, "is ordered by a token, and asynchronous work of a queue is not", "drop the token")
        if load.other is not None:
            refuse(load, "has a fallback value, whose type says where it is", "drop it: what is not read is zero")
        if any(use.operation is not put.op and not put.op.is_ancestor(use.operation) for use in tile.uses):
            refuse(load, "brings a tile that the producer needs itself", KEEP)
        return load

    def _require_only_transfers(self, producer: Region) -> None:
        """Refuse a producing agent that does more than transfers and arithmetic."""
        known: set[Operation] = {self.fill, *(crossing.put.op for crossing in self.crossings)}
        known.update(load for crossing in self.crossings for load in crossing.loads)
        for op in [*producer.block.ops, *self.fill.body.block.ops]:
            if op not in known and not isinstance(op, IncIterOp) and not has_no_effects(op):
                refuse(op, f"is something else that the producer does, and {ONE_THREAD}", KEEP)
        if any(not isinstance(value.type, PipelineIteratorType) for value in self.fill.iter_args):
            refuse(self.fill, "carries values from transfer to transfer", "compute them from the induction variable")

    def _require_sources_left_alone(self, consumer: Region) -> None:
        """Refuse transfers that read memory which somebody may write while they are in flight."""
        reader = AccessReader(LoopIndices(self.use))
        reads = [access for c in self.crossings for load in c.loads for access in reader.accesses_of(load)]
        for op in [*consumer.block.ops, *self.use.body.block.ops]:
            if op is self.use or self._is_a_step(op):
                continue
            for access in reader.accesses_of(op):
                if access.writes and _meets(access, reads):
                    refuse(
                        op,
                        "may write what the producer loads, and the order of the two is not that of one thread",
                        "load from memory that the consumer leaves alone",
                    )

    def _is_a_step(self, op: Operation) -> bool:
        ours = any(op in (crossing.get.op, crossing.get.release) for crossing in self.crossings)
        return ours or isinstance(op, IncIterOp)


def bounds_of(loop: scf.ForOp) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Lower bound, upper bound and step."""
    return loop.lb, loop.ub, loop.step


def _is_inside(op: Operation, region: Region) -> bool:
    node: Operation | None = op
    while node is not None:
        if node.parent_region() is region:
            return True
        node = node.parent_op()
    return False


def _is_stepped_iterator(stage: SSAValue, end: SSAValue, loop: scf.ForOp) -> bool:
    """Whether `stage` is an iterator of `end` that starts in front of `loop` and makes one step in each iteration."""
    if not isinstance(stage, BlockArgument) or stage.owner is not loop.body.block:
        return False
    start = loop.iter_args[stage.index - 1].owner
    last = end_of(loop.body.block)
    following = last.operands[stage.index - 1].owner
    is_start = isinstance(start, CreateIteratorOp) and start.pipeline is end
    return is_start and isinstance(following, IncIterOp) and following.iterator is stage


def _meets(access: BodyAccess, others: Sequence[BodyAccess]) -> bool:
    return any(
        may_alias(mine, theirs, arguments_alias=False)
        for other in others
        for mine in access.place.objects
        for theirs in other.place.objects
    )
