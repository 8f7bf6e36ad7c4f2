"""
Numbers that nobody needs yet come behind the first product that a turn has to start soon.

    %next = addi %slot, 1; ..             mbarrier.try_wait
    mbarrier.try_wait              ->     wgmma
    wgmma                                 %next = addi %slot, 1; ..
    wgmma                                 wgmma

Between the last product of a turn and the first one of the next turn the tensor core has little left to do. So threads
compute the next slot while it multiplies, and not in between.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierTryWaitParityOp
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaMmaAsyncOp


def delay_numbers(root: Operation) -> None:
    """Move such numbers, in each block of `root` that waits at a barrier and then starts a product of a warpgroup."""
    for op in root.walk():
        for region in op.regions:
            for block in region.blocks:
                _delay(block)


def _delay(block: Block) -> None:
    waits = [op for op in block.ops if isinstance(op, MBarrierTryWaitParityOp)]
    started = waits[-1] if waits else None
    while started is not None and not isinstance(started, WgmmaMmaAsyncOp):
        started = started.next_op
    if started is None:
        return
    behind, op = InsertPoint.after(started), waits[-1].prev_op
    while op is not None:
        before = op.prev_op
        if _is_number(op) and _is_needed_behind(op, started):
            op.detach()
            Rewriter.insert_op(op, behind)
            behind = InsertPoint.before(op)
        op = before


def _is_number(op: Operation) -> bool:
    if op.regions or not is_side_effect_free(op):
        return False
    return all(isinstance(result.type, IndexType | IntegerType) for result in op.results)


def _is_needed_behind(op: Operation, point: Operation) -> bool:
    """Whether all that use an op stand behind `point`, in its block or within what stands there."""
    block = point.parent
    assert block is not None
    users = [block.find_ancestor_op_in_block(use.operation) for result in op.results for use in result.uses]
    return bool(users) and all(user is not None and point.is_before_in_block(user) for user in users)
