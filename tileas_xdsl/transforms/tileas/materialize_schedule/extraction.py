"""
The code of one agent: copies of the ops of its share, in loops that carry no more than the agent needs.

    %r:3 = scf.for ... iter_args(%acc, %in, %out)      %in_end = scf.for ... iter_args(%in)     the producer's
                                                  ->   %r:2 = scf.for ... iter_args(%acc, %out) the consumer's

Values that cross are given and taken where they are made and used. The ops that are copied stay; nothing but the new
block changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.dialects.nv_tileaa.control import IsValidProgramIdOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.transforms.loops.persistent_loop import carried_id, is_persistent_loop
from tileas_xdsl.transforms.tileas.materialize_schedule.crossing import ORDER, Crossing, given, taken
from tileas_xdsl.transforms.tileas.materialize_schedule.partition import Partition, Share

ControlT = TypeVar("ControlT", scf.ForOp, scf.IfOp, scf.WhileOp)

BEFORE, AT, AFTER = -1, 0, 1
"""Where an op stands beside those of the same order."""


@dataclass
class Extracted:
    """The code of one agent, and those of its ops that it shares with nobody: all but repeated arithmetic."""

    region: Region
    own: set[Operation] = field(default_factory=set[Operation])


def extract(found: Partition, share: Share, rings: Mapping[Crossing, CreatePipelineOp]) -> Extracted:
    """The code of the agent of `share`."""
    block = Block()
    code = Extracted(Region(block))
    _Extraction(found, share, rings, code).copy(found.inside, block)
    return code


class _Extraction:
    def __init__(
        self, found: Partition, share: Share, rings: Mapping[Crossing, CreatePipelineOp], code: Extracted
    ) -> None:
        self._found = found
        self._share = share
        self._rings = rings
        self._code = code
        self._values: dict[SSAValue, SSAValue] = {}
        self._gives: dict[Operation, list[Crossing]] = {}
        self._takes: dict[Operation, list[Crossing]] = {}
        self._side: dict[Operation, int] = {}
        """`BEFORE` or `AFTER` of the ops that let values cross."""
        for crossing in rings:
            if found.ownership.owners[crossing.value.op] == share.agent:
                self._gives.setdefault(crossing.anchor, []).append(crossing)
            if share.agent in crossing.takers:
                self._takes.setdefault(crossing.takers[share.agent], []).append(crossing)

    def copy(self, ops: Sequence[Operation], into: Block) -> None:
        for op in ops:
            self._take(op, into)
            if op not in self._share.ops:
                continue
            if isinstance(op, scf.ForOp):
                into.add_op(self._loop(op))
            elif is_persistent_loop(op):
                into.add_op(self._persistent(op))
            elif isinstance(op, scf.IfOp):
                into.add_op(self._branch(op))
            else:
                into.add_op(self._leaf(op))
            self._give(op, into)

    def _leaf(self, op: Operation) -> Operation:
        copy = op.clone(self._values)
        if self._found.ownership.is_own(op):
            self._code.own.add(copy)
        return copy

    def _take(self, op: Operation, into: Block) -> None:
        for crossing in self._takes.get(op, ()):
            ops, value = taken(crossing, self._rings[crossing], self._share.agent)
            self._values[crossing.value] = value
            self._add(ops, into, BEFORE)

    def _give(self, op: Operation, into: Block) -> None:
        for crossing in self._gives.get(op, ()):
            self._add(given(crossing, self._rings[crossing], self._now(crossing.value)), into, AFTER)

    def _add(self, ops: Sequence[Operation], into: Block, side: int) -> None:
        for op in ops:
            into.add_op(op)
            self._side[op] = side
            self._code.own.add(op)

    def _kept(self, op: Operation, count: int) -> list[int]:
        return [number for number in range(count) if (op, number) in self._share.carried]

    def _now(self, value: SSAValue) -> SSAValue:
        return self._values.get(value, value)

    def _loop(self, loop: scf.ForOp) -> scf.ForOp:
        kept = self._kept(loop, len(loop.iter_args))
        old = loop.body.block
        arguments = [old.args[0], *(old.args[number + 1] for number in kept)]
        block = Block(arg_types=[argument.type for argument in arguments])
        self._stand_for(arguments, block.args)
        inits = [self._now(loop.iter_args[number]) for number in kept]
        self._body(old, block, kept)
        copy = scf.ForOp(self._now(loop.lb), self._now(loop.ub), self._now(loop.step), inits, block)
        return self._finished(loop, copy, kept)

    def _persistent(self, loop: scf.WhileOp) -> scf.WhileOp:
        kept = self._kept(loop, len(loop.arguments))
        types = [loop.arguments[number].type for number in kept]
        head, body = Block(arg_types=types), Block(arg_types=types)
        old_head, old_body = loop.before_region.block, loop.after_region.block
        inits = [self._now(loop.arguments[number]) for number in kept]
        self._stand_for([old_head.args[number] for number in kept], head.args)
        more = IsValidProgramIdOp(head.args[kept.index(carried_id(loop))])
        head.add_ops([more, scf.ConditionOp(more.result, *head.args)])
        self._stand_for([old_body.args[number] for number in kept], body.args)
        self._body(old_body, body, kept)
        return self._finished(loop, scf.WhileOp(inits, types, Region(head), Region(body)), kept)

    def _branch(self, branch: scf.IfOp) -> scf.IfOp:
        kept = self._kept(branch, len(branch.results))
        arms: list[Region] = []
        for region in branch.regions:
            block = Block()
            if region.first_block is not None:
                self._body(region.block, block, kept)
            arms.append(Region(block) if region.first_block is not None else Region())
        copy = scf.IfOp(self._now(branch.cond), [branch.results[number].type for number in kept], arms[0], arms[1])
        return self._finished(branch, copy, kept)

    def _body(self, old: Block, block: Block, kept: Sequence[int]) -> None:
        last = end_of(old)
        self.copy([op for op in old.ops if op is not last], block)
        self._take(last, block)
        self._order_anew(block)
        block.add_op(scf.YieldOp(*(self._now(last.operands[number]) for number in kept)))

    def _order_anew(self, block: Block) -> None:
        """Number the ops of a scheduled body in their order, those that let values cross beside their neighbours."""
        ops = list(block.ops)
        if not any(op in self._side for op in ops) or not all(ORDER in op.attributes for op in ops):
            return
        ranked = sorted(ops, key=lambda op: (_order(op), self._side.get(op, AT)))
        for number, op in enumerate(ranked):
            op.attributes[ORDER] = IntegerAttr(number, i32)

    def _finished(self, old: ControlT, copy: ControlT, kept: Sequence[int]) -> ControlT:
        copy.attributes.update(old.attributes)
        copy.location = old.location
        self._stand_for([old.results[number] for number in kept], copy.results)
        return copy

    def _stand_for(self, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> None:
        for before, after in zip(old, new, strict=True):
            after.name_hint = before.name_hint
            self._values[before] = after


def _order(op: Operation) -> int:
    value = op.attributes[ORDER]
    assert isinstance(value, IntegerAttr), "tags that are no integers were refused before (`inconsistent_tags`)"
    return value.value.data
