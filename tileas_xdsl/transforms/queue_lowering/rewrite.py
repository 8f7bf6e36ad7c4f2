"""Carries out a `QueuePlan`: copies in the place of stores, groups and waits of the target, bodies in place."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.diagnostics import remark
from tileas_xdsl.dialects.async_queue import CommitOp, QueueScope, WaitOp
from tileas_xdsl.transforms.queue_lowering.addresses import Pointers
from tileas_xdsl.transforms.queue_lowering.copies import Copy
from tileas_xdsl.transforms.queue_lowering.plan import QueuePlan
from tileas_xdsl.transforms.queue_lowering.target import QueueTarget


def carry_out(plan: QueuePlan, target: QueueTarget) -> None:
    """Rewrite the module for which `plan` was made, and say what there is to say about it."""
    for note in plan.notes:
        remark(note.op, note.message, note.way_out)
    pointers = Pointers()
    for copies in plan.scopes.values():
        for copy in copies.copies:
            _free_branch(copy)
            target.emit_copy(copy, pointers)
            _erase_store(copy)
    for op, count in plan.waits.items():
        if isinstance(op, WaitOp):
            if count is not None:
                Rewriter.insert_op(target.wait(count), InsertPoint.before(op))
        elif count is None:
            Rewriter.erase_op(op)
        else:
            Rewriter.replace_op(op, target.wait(count))
    for op in reversed(plan.in_place):
        if isinstance(op, CommitOp):
            Rewriter.insert_op(target.commit(), InsertPoint.after(op))
        _put_body_in_place(op)


def _put_body_in_place(op: QueueScope) -> None:
    block = op.body.first_block
    if block is not None:
        Rewriter.inline_block(block, InsertPoint.before(op))
    Rewriter.erase_op(op)


def _free_branch(copy: Copy) -> None:
    """Compute before the branch what its load takes: nothing that could go wrong where the condition is false."""
    if copy.branch is None:
        return
    for op in list(copy.branch.true_region.block.ops):
        if op is copy.load or op.next_op is None:
            continue
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(copy.branch))


def _erase_store(copy: Copy) -> None:
    """Erase the store of a copy, and what brought it its value."""
    brought: Operation | None = copy.branch
    value = copy.store.operands[0].owner
    Rewriter.erase_op(copy.store)
    if brought is None and value is not copy.load and isinstance(value, Operation):
        brought = value
    if brought is not None:
        Rewriter.erase_op(brought)
    if copy.branch is None:
        Rewriter.erase_op(copy.load)
