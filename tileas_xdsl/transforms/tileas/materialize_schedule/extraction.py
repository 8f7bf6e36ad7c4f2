"""
The code of one agent: copies of the ops of its share, in loops that carry no more than the agent needs.

    %r:3 = scf.for ... iter_args(%acc, %in, %out)      %in_end = scf.for ... iter_args(%in)     the producer's
                                                  ->   %r:2 = scf.for ... iter_args(%acc, %out) the consumer's

The ops that are copied stay; nothing but the new block changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.transforms.tileas.materialize_schedule.partition import Share

ControlT = TypeVar("ControlT", scf.ForOp, scf.IfOp)


def extract(ops: Sequence[Operation], share: Share) -> Region:
    """A region with the copies of those of `ops` that `share` has."""
    block = Block()
    _Extraction(share).copy(ops, block)
    return Region(block)


class _Extraction:
    def __init__(self, share: Share) -> None:
        self._share = share
        self._values: dict[SSAValue, SSAValue] = {}

    def copy(self, ops: Sequence[Operation], into: Block) -> None:
        for op in ops:
            if op not in self._share.ops:
                continue
            if isinstance(op, scf.ForOp):
                into.add_op(self._loop(op))
            elif isinstance(op, scf.IfOp):
                into.add_op(self._branch(op))
            else:
                into.add_op(op.clone(self._values))

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
        self.copy(list(old.ops), block)
        last = old.last_op
        assert last is not None
        block.add_op(scf.YieldOp(*(self._now(last.operands[number]) for number in kept)))

    def _finished(self, old: ControlT, copy: ControlT, kept: Sequence[int]) -> ControlT:
        copy.attributes.update(old.attributes)
        copy.location = old.location
        self._stand_for([old.results[number] for number in kept], copy.results)
        return copy

    def _stand_for(self, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> None:
        for before, after in zip(old, new, strict=True):
            after.name_hint = before.name_hint
            self._values[before] = after
