"""Carries out a `LoweringPlan`: copies in the place of stores, groups and waits of the target, bodies in place."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.diagnostics import remark
from tileas_xdsl.dialects.async_queue import CommitOp, QueueScope, WaitOp
from tileas_xdsl.transforms.queues.queue_lowering.addresses import Pointers
from tileas_xdsl.transforms.queues.queue_lowering.buffers import memref_type
from tileas_xdsl.transforms.queues.queue_lowering.copies import Copy, Element
from tileas_xdsl.transforms.queues.queue_lowering.plan import LoweringPlan
from tileas_xdsl.transforms.queues.queue_lowering.target import QueueTarget


def carry_out(plan: LoweringPlan, target: QueueTarget) -> None:
    """Rewrite the module for which `plan` was made, and say what there is to say about it."""
    for note in plan.notes:
        remark(note.op, note.message, note.way_out)
    pointers = Pointers()
    for copies in plan.scopes.values():
        for copy in copies.copies:
            if copy.lanes:
                _emit_tile(copy, target, pointers)
                Rewriter.erase_op(copy.store)
            else:
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


def _emit_tile(copy: Copy, target: QueueTarget, pointers: Pointers) -> None:
    """Copy a tile piece by piece, in a nest of loops over its rows."""
    shape, anchor = memref_type(copy.target.buffer).get_shape(), copy.store
    indices: list[SSAValue] = []
    for axis, extent in enumerate(shape):
        step = copy.lanes if axis == len(shape) - 1 else 1
        builder = Builder(InsertPoint.before(anchor))
        zero = _index(0, builder)
        if extent == step:
            indices.append(zero)
            continue
        end = scf.YieldOp()
        body = Block([end], arg_types=[IndexType()])
        builder.insert(scf.ForOp(zero, _index(extent, builder), _index(step, builder), (), body))
        indices.append(body.args[0])
        anchor = end
    source, to = (Element(whole.buffer, tuple(indices), whole.size) for whole in (copy.source, copy.target))
    target.emit_copy(Copy(anchor, anchor, source, to), pointers)


def _index(number: int, builder: Builder) -> SSAValue:
    return builder.insert(arith.ConstantOp.from_int_and_width(number, IndexType())).result


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
