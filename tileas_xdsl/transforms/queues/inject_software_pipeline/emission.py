"""
The rewrite of one planned loop: it goes through the loop expander, and each copy of a component gets its scopes.

    unit { block { A } block { B } }     ->      async_queue.commit q {
                                                   async_queue.wait p, n { async_queue.scope { A } }
                                                   async_queue.scope { B }
                                                 }
    unit { block { C } }                 ->      async_queue.wait q, n { C }

A *unit* is what one slot emits together: a group, or a component that is not asynchronous. The expander decides where
copies go and on which iteration each works; a hook gives each the version of its iteration, and the waits of its slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.dependence import DependenceGraph, Placement
from tileas_xdsl.analysis.induction import constant_integer, static_trip_count
from tileas_xdsl.dialects.async_queue import BlockOp, CommitOp, ScopeOp, WaitOp
from tileas_xdsl.dialects.async_queue_annotations import erase_annotations
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.scheduling.async_pipeline.waits import CountedWait
from tileas_xdsl.scheduling.timetable import Section
from tileas_xdsl.transforms.loops.loop_expander import Expansion, expand_loop
from tileas_xdsl.transforms.loops.loop_expander.hooks import ExpansionHooks, OpCopy
from tileas_xdsl.transforms.loops.loop_expander.plan import plan_expansion
from tileas_xdsl.transforms.queues.inject_software_pipeline.buffers import VersionUse, allocate_versions
from tileas_xdsl.transforms.queues.inject_software_pipeline.counters import Counters, count_commits, is_countable
from tileas_xdsl.transforms.queues.inject_software_pipeline.plan import PipelinePlan


@dataclass(frozen=True)
class PipelinedLoop:
    """The ops that stand in place of a loop, part by part."""

    setup: tuple[Operation, ...]
    parts: tuple[tuple[Operation, ...], tuple[Operation, ...], tuple[Operation, ...]]
    """Prologue, body, epilogue; the epilogue has the drains."""


def emit_pipeline(plan: PipelinePlan, *, dynamic_counts: bool = False) -> PipelinedLoop:
    """
    Put prologue, body and epilogue in place of the loop of `plan`. Linear in the ops that come out.

    With `dynamic_counts` groups whose number depends are counted at run time; the parts then hand on values.
    """
    loop = plan.body.loop
    erase_annotations(loop)
    places = _count_groups(plan) if dynamic_counts else {}
    placements = _make_units(plan)
    expansion_plan = plan_expansion(loop, placements, dependences=DependenceGraph(loop, tuple(placements), ()))
    drains = [_drain(plan, queue) for queue in plan.drained]
    for drain in reversed(drains):
        Rewriter.insert_op(drain, InsertPoint.after(loop))
    scopes = _Scopes(plan, dict(zip(placements, plan.units, strict=True)), places)
    expansion = expand_loop(expansion_plan, scopes)
    for buffer in plan.versions:
        if buffer.first_use is None:
            Rewriter.erase_op(cast(Operation, buffer.owner))
    parts = (expansion.prologue, _body_of(expansion), (*expansion.epilogue, *drains))
    if scopes.counters.waits:
        scopes.counters.resolve([op for part in parts for op in part], scopes.zero)
    return PipelinedLoop(expansion.setup, parts)


def _count_groups(plan: PipelinePlan) -> dict[int, int]:
    """
    Let the components whose number of groups depends count them, where they can.

    Returns, for the key of each such queue, the place of the op that says the number among the component's.
    """
    places: dict[int, int] = {}
    for key, owner in plan.own_queues.items():
        component = plan.body.components[owner.component]
        if owner.commits is None and is_countable(component.body.block, owner.queue):
            places[key] = count_commits(component, owner.queue)
    return places


def _drain(plan: PipelinePlan, queue: int) -> WaitOp:
    drain = WaitOp(plan.queue_of(queue), 0, Region(Block()))
    drain.location = plan.body.loop.location
    return drain


def _make_units(plan: PipelinePlan) -> dict[Operation, Placement]:
    """
    Gather the components of each unit in one op. Returns the ops with the stage and order of each, in the order of the
    slot.
    """
    placements: dict[Operation, Placement] = {}
    terminator = end_of(plan.body.loop.body.block)
    for place, members in enumerate(plan.units):
        blocks = [plan.body.components[member] for member in members]
        for block in blocks:
            block.detach()
        unit = BlockOp(Region(Block(blocks)))
        unit.location = blocks[0].location
        Rewriter.insert_op(unit, InsertPoint.before(terminator))
        placements[unit] = Placement(plan.annotations.stages[members[0]], place)
    return placements


def _body_of(expansion: Expansion) -> tuple[Operation, ...]:
    """The body loop; what is in it, where it makes one trip."""
    kernel = expansion.kernel
    if kernel is None or static_trip_count(kernel) != 1:
        return (kernel,) if kernel is not None else ()
    inside = kernel.body.block
    terminator = end_of(inside)
    Rewriter.erase_op(terminator)
    ops = tuple(inside.ops)
    Rewriter.inline_block(inside, InsertPoint.before(kernel), [kernel.lb])
    Rewriter.erase_op(kernel)
    return ops


class _Scopes(ExpansionHooks):
    """Gives each copy of a unit its version, its waits and its scopes."""

    def __init__(self, plan: PipelinePlan, units: dict[Operation, tuple[int, ...]], places: Mapping[int, int]) -> None:
        self.plan = plan
        self.places = places
        self.counters = Counters()
        self.units = units
        self.loop = plan.body.loop
        self.type = cast(IndexType | IntegerType, self.loop.lb.type)
        self.versioned = {buffer: allocate_versions(buffer, count) for buffer, count in plan.versions.items()}
        self.only_one_trip = plan.pipeline.trip_count == plan.pipeline.timetable.lead + 1
        self._constants: dict[tuple[int, IndexType | IntegerType], SSAValue] = {
            (number, self.type): bound
            for bound in (self.loop.step, self.loop.lb)
            if (number := constant_integer(bound)) is not None
        }

    def on_copy(self, copy: OpCopy) -> None:
        self._use_versions(copy)
        members = self.units[copy.original]
        waits = self.plan.waits[copy.iteration.slot]
        blocks = [block for block in copy.op.regions[0].block.ops if isinstance(block, BlockOp)]
        emitted: list[Operation] = []
        for member, block in zip(members, blocks, strict=True):
            own_key = -1 - member
            counting = list(block.body.block.ops)[self.places[own_key]] if own_key in self.places else None
            ops = _without_blocks(block)
            if self.plan.is_async(member):
                ops = [_located(ScopeOp(Region(Block(ops))), block)]
            if counting is not None:
                # The number of groups must be seen behind the waits, so these stand in front and not around.
                self.counters.numbers[counting] = own_key
                emitted.extend(_located(self._wait(wait, []), block) for wait in waits.get(member, ()))
            else:
                for wait in reversed(waits.get(member, ())):
                    ops = [_located(self._wait(wait, ops), block)]
            emitted.extend(ops)
        if self.plan.is_async(members[0]):
            queue = self.plan.queue_of(self.plan.pipeline.groups.queue_of(members[0]))
            emitted = [_located(CommitOp(queue, Region(Block(emitted))), copy.op)]
        for op in emitted:
            Rewriter.insert_op(op, InsertPoint.before(copy.op))
        Rewriter.erase_op(copy.op)

    @property
    def zero(self) -> SSAValue:
        return self._constant(0)

    def _wait(self, wait: CountedWait, ops: Sequence[Operation]) -> WaitOp:
        """A wait around `ops`. What counts executions waits for all groups, unless their number can be computed."""
        owner = self.plan.own_queues.get(wait.queue)
        queue, body = self.plan.queue_of(wait.queue), Region(Block(ops))
        if owner is None or owner.commits is not None:
            return WaitOp(queue, wait.count, body)
        if wait.count == 0 or wait.queue not in self.places:
            return WaitOp(queue, 0, body)
        op = WaitOp(queue, self.zero, body)
        self.counters.waits[op] = (wait.queue, wait.count)
        return op

    # Versions ---------------------------------------------------------------------------------------------------------

    def _use_versions(self, copy: OpCopy) -> None:
        indices: dict[int, SSAValue | int] = {}
        uses: dict[SSAValue, VersionUse] = {}
        for op in list(copy.op.walk()):
            for buffer in dict.fromkeys(operand for operand in op.operands if operand in self.versioned):
                if buffer not in uses:
                    count = self.plan.versions[buffer]
                    if count not in indices:
                        indices[count] = self._version_index(copy, count)
                    uses[buffer] = VersionUse(buffer, self.versioned[buffer], indices[count], copy.op)
                index = uses[buffer].index
                uses[buffer].rewrite(op, self._constant(index) if isinstance(index, int) else index)

    def _version_index(self, copy: OpCopy, count: int) -> SSAValue | int:
        """Which of `count` versions the iteration of `copy` has: its number modulo `count`."""
        iteration = copy.iteration
        number = iteration.number
        if number is None and iteration.slot.section is Section.KERNEL and self.only_one_trip:
            number = iteration.offset
        if number is not None:
            return number % count
        ordinal = iteration.ordinal()
        remainder = arith.RemUIOp(ordinal, self._constant(count, self.type))
        return self._as_index(self._insert(remainder, copy.op), copy.op)

    def _as_index(self, value: SSAValue, before: Operation) -> SSAValue:
        if isinstance(value.type, IndexType):
            return value
        return self._insert(arith.IndexCastOp(value, IndexType()), before)

    def _insert(self, op: Operation, before: Operation) -> SSAValue:
        op.location = self.loop.location
        Rewriter.insert_op(op, InsertPoint.before(before))
        op.results[0].name_hint = "version"
        return op.results[0]

    def _constant(self, number: int, of_type: IndexType | IntegerType | None = None) -> SSAValue:
        """A constant in front of the loop, the same one each time."""
        key = (number, of_type or IndexType())
        if key not in self._constants:
            op = arith.ConstantOp.from_int_and_width(number, key[1])
            op.location = self.loop.location
            op.result.name_hint = f"c{number}"
            Rewriter.insert_op(op, InsertPoint.before(self.loop))
            self._constants[key] = op.result
        return self._constants[key]


def _without_blocks(block: BlockOp) -> list[Operation]:
    """The ops of `block`, detached, with the blocks nested in it dissolved."""
    for inner in [op for op in block.walk(reverse=True, region_first=True) if isinstance(op, BlockOp)]:
        if inner is not block:
            if inner.body.first_block is not None:
                Rewriter.inline_block(inner.body.block, InsertPoint.before(inner))
            Rewriter.erase_op(inner)
    ops = list(block.body.block.ops)
    for op in ops:
        op.detach()
    return ops


def _located(op: Operation, source: Operation) -> Operation:
    op.location = source.location
    return op
