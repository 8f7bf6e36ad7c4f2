"""
Two agents become one thread: the rewrite that `two_agents.py` has planned. Nothing here can fail.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.backward_slice import backward_slice
from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.dialects.async_queue import CommitOp, ScopeOp, WaitOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp, IncIterOp, ProduceOneOp
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.slots import SlotBuffers, in_registers
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.tile_turns import Tile, give_back
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.turn_numbers import iterators_of, names_of
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.two_agents import Crossing, TwoAgents, bounds_of
from tileas_xdsl.transforms.rewriting.index_arithmetic import IndexBuilder
from tileas_xdsl.transforms.rewriting.structure import ending, remove_values


class Merging:
    """Puts the producer's transfers into the consumer, and replaces the switch by the consumer."""

    def __init__(self, plan: TwoAgents) -> None:
        self.plan = plan
        self.numbers = IndexBuilder(plan.function)

    def merge(self, first_queue: int) -> None:
        self._inline_arithmetic()
        slots: list[SlotBuffers] = []
        for crossing in self.plan.crossings:
            kinds = [_tile_type(tile) for tile in crossing.put.tiles]
            ring, allocations = SlotBuffers.make(kinds, crossing.depth, _name_of(crossing.root))
            for op in allocations:
                self.numbers.insert(op, self.plan.switch)
            slots.append(ring)
        for queue, (crossing, ring) in enumerate(zip(self.plan.crossings, slots, strict=True), first_queue):
            self._prologue(crossing, ring, queue)
        for queue, (crossing, ring) in enumerate(zip(self.plan.crossings, slots, strict=True), first_queue):
            self._turn(crossing, ring, queue)
        for queue in reversed(range(first_queue, first_queue + len(self.plan.crossings))):
            Rewriter.insert_op(WaitOp(queue, 0), InsertPoint.after(self.plan.use))
        self._remove_the_rest()
        self.numbers.tidy()

    def _inline_arithmetic(self) -> None:
        """Move in front of the switch what the producer computes in front of its loop: the consumer needs it now."""
        block = self.plan.fill.parent
        assert isinstance(block, Block)
        for op in list(block.ops):
            if op is self.plan.fill:
                return
            op.detach()
            self.numbers.insert(op, self.plan.switch)

    def _prologue(self, crossing: Crossing, slots: SlotBuffers, queue: int) -> None:
        at, _, step = bounds_of(self.plan.fill)
        for number in range(crossing.depth):
            self._issue(crossing, slots, queue, at, self.numbers.constant(number), self.plan.switch)
            at = self._sum(at, step, self.plan.switch)

    def _sum(self, left: SSAValue, right: SSAValue, anchor: Operation) -> SSAValue:
        numbers = constant_integer(left), constant_integer(right)
        if numbers[0] is not None and numbers[1] is not None:
            return self.numbers.constant(numbers[0] + numbers[1])
        if numbers[1] is not None:
            return self.numbers.plus(left, numbers[1], anchor, "ahead")
        return self.numbers.computed(arith.AddiOp(left, right), anchor, "ahead")

    def _issue(
        self, crossing: Crossing, slots: SlotBuffers, queue: int, at: SSAValue, slot: SSAValue, anchor: Operation
    ) -> None:
        """Commit a group for iteration `at`: its transfer, or nothing where the loop is over."""
        upper = bounds_of(self.plan.fill)[1]
        condition = self.numbers.computed(arith.CmpiOp(at, upper, "slt"), anchor)
        body = ending()
        branch = scf.IfOp(condition, [], Region(body))
        self.numbers.insert(CommitOp(queue, Region(Block([branch]))), anchor)
        end = end_of(body)
        renamed: dict[SSAValue, SSAValue] = {self.plan.fill.body.block.args[0]: at}
        for op in self._needed_for(crossing):
            body.insert_op_before(op.clone(renamed), end)
        moves: list[Operation] = []
        for place, load in enumerate(crossing.loads):
            copy = load.clone(renamed)
            Rewriter.replace_value_with_new_type(copy.value, in_registers(_tile_type(copy.value)))
            zero = self.numbers.constant(0)
            moves += [copy, slots.store(place, slot, zero, copy.value)]
        body.insert_op_before(ScopeOp(Region(Block(moves))), end)

    def _needed_for(self, crossing: Crossing) -> Iterable[Operation]:
        """The arithmetic in the producer's loop that computes the addresses of the transfers of `crossing`."""
        operands = [operand for load in crossing.loads for operand in load.operands]
        needed = backward_slice(self.plan.fill.body, operands, (), ProduceOneOp)
        return [op for op in self.plan.fill.body.block.ops if op in needed]

    def _turn(self, crossing: Crossing, slots: SlotBuffers, queue: int) -> None:
        """Wait for the oldest group, take its tiles, and fill the slot again when it is given back."""
        get = crossing.get
        depth = self.numbers.constant(crossing.depth)
        slot = self.numbers.computed(arith.RemUIOp(self._number_of_turn(get.op), depth), get.op, "slot")
        self.numbers.insert(WaitOp(queue, crossing.depth - 1), get.op)
        for result, place in get.results:
            load = slots.load(place, slot, self.numbers.constant(0), result.type)
            self.numbers.insert(load, get.op)
            load.results[0].name_hint = result.name_hint
            result.replace_all_uses_with(load.results[0])
        anchor = get.given_back_at.next_op
        assert anchor is not None
        at = self._sum(self.plan.use.body.block.args[0], self._distance(crossing.depth, anchor), anchor)
        self._issue(crossing, slots, queue, at, slot, anchor)

    def _distance(self, turns: int, anchor: Operation) -> SSAValue:
        """The distance that the induction variable moves in that many iterations."""
        step = constant_integer(self.plan.use.step)
        if step is not None:
            return self.numbers.constant(turns * step)
        return self.numbers.computed(arith.MuliOp(self.plan.use.step, self.numbers.constant(turns)), anchor)

    def _number_of_turn(self, anchor: Operation) -> SSAValue:
        lower, _, step = bounds_of(self.plan.use)
        number: SSAValue = self.plan.use.body.block.args[0]
        if constant_integer(lower) != 0:
            number = self.numbers.computed(arith.SubiOp(number, lower), anchor)
        if constant_integer(step) != 1:
            number = self.numbers.computed(arith.DivUIOp(number, step), anchor)
        return number

    def _remove_the_rest(self) -> None:
        """The steps of the consumer, the iterators, the producer and the switch itself."""
        for crossing in self.plan.crossings:
            give_back(crossing.get)
            Rewriter.erase_op(crossing.get.op)
        block = self.plan.use.parent
        assert isinstance(block, Block)
        makers = [maker for root in self.plan.roots for maker in iterators_of(root)]
        gone = {name for maker in makers for name in names_of(maker.iterator)}
        steps = [op for op in block.walk() if isinstance(op, IncIterOp) and op.iterator in gone]
        for op in steps:
            op.operands = []
        for op in list(block.ops):
            op.detach()
            self.numbers.insert(op, self.plan.switch)
        Rewriter.erase_op(self.plan.switch)
        remove_values(self.plan.function, lambda value: value in gone)
        for op in [*steps, *makers]:
            Rewriter.erase_op(op)
        for crossing in self.plan.crossings:
            Rewriter.erase_op(crossing.root)


def _name_of(root: CreatePipelineOp) -> str:
    return (root.producer.name_hint or "ring").removesuffix("_p")


def _tile_type(value: SSAValue) -> Tile:
    return cast("Tile", value.type)
