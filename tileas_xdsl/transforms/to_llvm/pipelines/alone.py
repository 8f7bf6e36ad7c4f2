"""
An agent of which only the first thread does anything leaves its loops to that thread.

    scf.for %k .. {                                scf.if %is_first {
      %slot = ..                                     scf.for %k .. {
      scf.if %is_first {                               %slot = ..
        try_wait; expect_tx; tma_load        ->        try_wait; expect_tx; tma_load
      }                                              }
    }                                              }

A warp whose other lanes come along through the loop has to wait for them at the end of each branch: a product whose
operands TMA brings took 7 percent longer so on an H200.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.memory.effects import only_computes


def leave_to_first(block: Block, first: SSAValue) -> None:
    """Let only the first thread run what stands behind `first` in `block`, if no other thread does anything there."""
    assert isinstance(first.owner, Operation)
    rest = list(_behind(first.owner))
    branches = [op for outer in rest for op in outer.walk() if _is_of(op, first)]
    if not branches or not all(_is_idle(op, first) for op in rest):
        return
    body = Block()
    for op in rest:
        op.detach()
        body.add_op(op)
    body.add_op(scf.YieldOp())
    block.add_op(scf.IfOp(first, [], Region(body)))
    for branch in branches:
        _inlined(branch)


def _behind(op: Operation) -> Iterator[Operation]:
    while (following := op.next_op) is not None:
        yield following
        op = following


def _is_of(op: Operation, first: SSAValue) -> TypeGuard[scf.IfOp]:
    """Whether an op is a branch of the first thread."""
    return isinstance(op, scf.IfOp) and op.cond is first and not op.results and not op.false_region.blocks


def _is_idle(op: Operation, first: SSAValue) -> bool:
    """Whether threads other than the first do nothing in an op but to count."""
    if _is_of(op, first) or op.has_trait(IsTerminator):
        return True
    if isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp):
        return all(_is_idle(inner, first) for region in op.regions for block in region.blocks for inner in block.ops)
    return only_computes(op)


def _inlined(branch: scf.IfOp) -> None:
    """The ops of a branch that is always taken, in its place."""
    block = branch.true_region.block
    assert block.last_op is not None
    Rewriter.erase_op(block.last_op)
    Rewriter.inline_block(block, InsertPoint.before(branch))
    Rewriter.erase_op(branch)
