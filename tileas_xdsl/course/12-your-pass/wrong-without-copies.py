"""A wrong answer: without copies there is no race, and there are no numbers."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tileas_xdsl.dialects.async_queue import CommitOp, WaitOp


@dataclass(frozen=True)
class DropImpliedWaits(ModulePass):
    """Remove waits that an earlier one implies."""

    name = "drop-implied-waits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            for region in inner.regions:
                for block in region.blocks:
                    drop_in(block)
        for inner in [inner for inner in op.walk() if isinstance(inner, CommitOp)]:
            Rewriter.erase_op(inner)


def drop_in(block: Block) -> None:
    """`left`: how many groups of each queue are unfinished at most, since the last wait."""
    left: dict[int, int] = {}
    for op in list(block.ops):
        if isinstance(op, WaitOp) and isinstance(op.queue, int) and isinstance(op.count, int):
            known = left.get(op.queue)
            if known is not None and known <= op.count and is_empty(op):
                Rewriter.erase_op(op)
                continue
            left[op.queue] = op.count if known is None else min(known, op.count)
        if may_commit(op):
            left.clear()


def is_empty(wait: WaitOp) -> bool:
    """Whether nothing stands in the region of the wait."""
    return all(block.is_empty for region in wait.regions for block in region.blocks)


def may_commit(op: Operation) -> bool:
    """Whether groups may be committed in `op`: it is a commit, holds one, or calls what may."""
    return isinstance(op, CallOp) or any(isinstance(inner, CommitOp | CallOp) for inner in op.walk())
