"""
A pipeline of TileAS that one agent fills and empties in turn becomes a queue.

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

- Tiles that travel in the slots are stored to, and loaded from, buffers with as many slots (`slots.py`), by the agent
  itself: that is who copies them now. Iterators become the numbers of the turns.

Requires: asynchronous work in `async_queue.scope`s.

Refuses: a pipeline whose ends belong to different agents, for a count only waits for what its own thread committed; a
stage that is not seen to be the next one (`turn_numbers.py`); turns that hand over tiles and do more besides, or issue
work with tokens of its own; consume ops that are reached with different numbers of full stages, or none; a produce op
that would wait for its own agent; stages that nobody consumes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.in_flight import LEGS, ancestors
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import CommitOp, QueueScope, WaitOp
from tileas_xdsl.dialects.nv_tileas.classified import RegionOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneOp,
    ConsumerReadOp,
    CreateIteratorOp,
    CreatePipelineOp,
    ProduceOneOp,
    ProducerWriteOp,
)
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType
from tileas_xdsl.interfaces import AgentLikeOpInterface, AsyncRegionOpInterface, enclosing_function, end_of
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.full_stages import FullStages
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.slots import SlotBuffers
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.tile_turns import (
    Tile,
    TileGet,
    TilePut,
    get_of,
    give_back,
    put_of,
)
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.turn_numbers import TurnNumbers, require_known_uses


@dataclass
class OneAgent:
    """The plan for one pipeline that one agent fills and empties."""

    root: CreatePipelineOp
    holding: set[Operation] = field(default_factory=set[Operation])
    """Control flow with turns of the pipeline in it."""
    puts: dict[ProduceOneOp, TilePut] = field(default_factory=dict[ProduceOneOp, TilePut])
    gets: dict[ConsumeOneOp, TileGet] = field(default_factory=dict[ConsumeOneOp, TileGet])
    """The turns that hand over tiles."""

    @property
    def function(self) -> Operation | None:
        return enclosing_function(self.root)

    def make(self) -> None:
        """The plan for one pipeline. Raises `RefusedError` where counts cannot express its turns."""
        if self.root.buffers:
            refuse(
                self.root,
                "has a buffer whose slots travel through the pipeline, and a queue hands over nothing",
                "let the bodies use the buffer by name, and create the pipeline without it",
            )
        self.numbers = TurnNumbers(self.root)
        for end in (self.root.producer, self.root.consumer):
            for use in end.uses:
                self._require_known_use(use.operation)
        self._require_one_kind_of_slot()
        self.full_stages = FullStages(self.root, self.numbers, self.holding)
        self._require_all_followed()
        if self.full_stages.left != {0}:
            refuse(
                self.root,
                "is left with stages that nobody consumes",
                "consume every stage before the function returns",
            )

    # What the ops are -------------------------------------------------------------------------------------------------

    def _require_known_use(self, op: Operation) -> None:
        """Refuse a use of a pipeline end that is no turn, no step in the body of one, and does not make an iterator."""
        turn = op.parent_op()
        ends = (self.root.producer, self.root.consumer)
        is_step = isinstance(turn, ProduceOneOp | ConsumeOneOp) and turn.token in ends
        if not isinstance(op, CreateIteratorOp) and not is_step:
            self._require_turn(op)

    def _require_all_followed(self) -> None:
        """Refuse a turn in a block that the analysis has not reached."""
        followed = {*self.full_stages.produces, *self.full_stages.counts}
        for end in (self.root.producer, self.root.consumer):
            for use in end.uses:
                turn = use.operation
                if isinstance(turn, ProduceOneOp | ConsumeOneOp) and turn not in followed:
                    refuse(
                        turn, "stands in another block than its pipeline, and jumps are not followed", "lower to scf"
                    )
        require_known_uses(self.root)

    def _require_one_kind_of_slot(self) -> None:
        """Refuse a pipeline of which one side hands over tiles and the other does not."""
        kinds = {tuple(tile.type for tile in put.tiles) for put in self.puts.values()}
        if len(kinds) > 1:
            refuse(self.root, "has turns that put different tiles into a slot", "put the same types in every turn")
        tiles = next(iter(kinds), ())
        for get in self.gets.values():
            for result, place in get.results:
                if place >= len(tiles) or tiles[place] != result.type:
                    refuse(get.op, "takes other tiles out of the slot than are put in", "put and take the same types")

    def _require_turn(self, op: Operation) -> None:
        if not isinstance(op, ProduceOneOp | ConsumeOneOp):
            refuse(
                op,
                "uses an end of a pipeline otherwise than by a produce_one or consume_one with a body, and only these "
                "are groups and waits",
                "let produce_one and consume_one do all their steps themselves, in order, without iterators",
            )
        self._require_one_agent(op)
        if _hands_over_tiles(op):
            self._require_tiles(op)
            return
        if any(result.first_use is not None for result in op.results):
            refuse(op, "has results that are used, and a queue has none to give", "use the pipeline's own tokens")
        self._require_plain_body(op)

    def _require_tiles(self, op: ProduceOneOp | ConsumeOneOp) -> None:
        if op.stage is None:
            refuse(op, "does not say the number of its slot, which holds tiles", "give it an iterator")
        if isinstance(op, ConsumeOneOp):
            self.gets[op] = get_of(op)
            return
        if any(result.first_use is not None for result in op.results):
            refuse(op, "has results that are used, and a queue has none to give", "use the pipeline's own tokens")
        self.puts[op] = put_of(op)

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
        last = end_of(op.body.block)
        if op.body.block.args or last.operands:
            refuse(
                op, "moves tiles through the slot in a body that does more", "put and take tiles in turns of their own"
            )
        for nested in op.walk():
            if any(isinstance(result.type, AsyncTokenType) for result in nested.results):
                refuse(
                    nested,
                    "issues work whose token fills the stage, and a group holds scopes only",
                    "do it in an async_queue.scope",
                )

    # The rewrite ------------------------------------------------------------------------------------------------------

    def rewrite(self, queue: int) -> None:
        self.numbers.make_numbers()
        self._make_slots()
        for produce in self.full_stages.produces:
            if produce in self.puts:
                _put_in_place(produce, CommitOp(queue, self._stores(produce)))
            else:
                _put_in_place(produce, CommitOp(queue, _body(produce), dict(produce.attributes)))
        for consume, count in self.full_stages.counts.items():
            if consume in self.gets:
                self._take_tiles(self.gets[consume], queue, count)
            else:
                _put_in_place(consume, WaitOp(queue, count, _body(consume), dict(consume.attributes)))
        Rewriter.erase_op(self.root)

    def _make_slots(self) -> None:
        if not self.puts:
            return
        depth, zero = (arith.ConstantOp(IntegerAttr(number, IndexType())) for number in (self.depth, 0))
        self.depth_value, self.zero = depth.result, zero.result
        tiles = [cast("Tile", tile.type) for tile in next(iter(self.puts.values())).tiles]
        name = (self.root.producer.name_hint or "ring").removesuffix("_p")
        self.slots, allocations = SlotBuffers.make(tiles, self.depth, name)
        Rewriter.insert_op([depth, zero, *allocations], InsertPoint.before(self.root))

    @property
    def depth(self) -> int:
        return self.root.num_stages.value.data

    def _slot_of(self, turn: ProduceOneOp | ConsumeOneOp) -> SSAValue:
        assert turn.stage is not None
        slot = arith.RemUIOp(turn.stage, self.depth_value)
        Rewriter.insert_op(slot, InsertPoint.before(turn))
        slot.result.name_hint = "slot"
        return slot.result

    def _stores(self, produce: ProduceOneOp) -> Region:
        """Stores of the tiles to their slots, by the agent itself, as part of its turn."""
        slot, tiles = self._slot_of(produce), self.puts[produce].tiles
        stores = [self.slots.store(place, slot, self.zero, tile) for place, tile in enumerate(tiles)]
        return Region(Block(stores))

    def _take_tiles(self, get: TileGet, queue: int, count: int) -> None:
        slot = self._slot_of(get.op)
        loads = [self.slots.load(place, slot, self.zero, result.type) for result, place in get.results]
        Rewriter.insert_op([WaitOp(queue, count), *loads], InsertPoint.before(get.op))
        for (result, _), load in zip(get.results, loads, strict=True):
            load.results[0].name_hint = result.name_hint
            result.replace_all_uses_with(load.results[0])
        give_back(get)
        Rewriter.erase_op(get.op)


def _hands_over_tiles(op: ProduceOneOp | ConsumeOneOp) -> bool:
    """Whether the slot itself carries something from iteration to iteration."""
    if op.is_abstract:
        return False
    steps = (ProducerWriteOp, ConsumerReadOp)
    return bool(op.yielded) or any(isinstance(step, steps) for step in op.body.block.ops)


def _body(op: RegionOp) -> Region:
    """The body of `op` without its terminator, taken out of it."""
    last = end_of(op.body.block)
    Rewriter.erase_op(last)
    return op.detach_region(op.body) if op.body.block.first_op is not None else Region()


def _put_in_place(op: Operation, new: Operation) -> None:
    block = op.parent
    assert isinstance(block, Block)
    new.location = op.location
    block.insert_op_before(new, op)
    Rewriter.erase_op(op)
