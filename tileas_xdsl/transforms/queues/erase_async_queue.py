"""
Drop the scopes of `async_queue`, for targets that have no asynchronous work.

    async_queue.commit 0 {                          memref.copy %a, %slot
      async_queue.scope {                    ->     memref.copy %slot, %b
        memref.copy %a, %slot
      }
    }
    async_queue.wait 0, 0 {
      memref.copy %slot, %b
    }

What was issued is done on the spot: the *eager* schedule, one of those that the scopes allow. So a program that is free
of races computes what it did, whatever its counts were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.async_queue import CommitOp, ScopeOp, WaitOp


@dataclass(frozen=True)
class EraseAsyncQueuePass(ModulePass):
    """
    Replace `async_queue.scope`, `commit` and `wait` by their bodies.

    Rewrites: as the module's docstring shows. What computed queues and counts stays, for `dce`. `async_queue.block`
    stays too: it marks a statement of a loop and says nothing of asynchrony. Requires: a program without races, if the
    result is to be the only one there was. Refuses: nothing.
    """

    name = "erase-async-queue"

    DESCRIPTION: ClassVar[str] = "Drop the scopes of async_queue: everything is done where it is issued"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        scopes = [inner for inner in op.walk() if isinstance(inner, ScopeOp | CommitOp | WaitOp)]
        for scope in scopes:
            if scope.body.first_block is not None:
                Rewriter.inline_block(scope.body.block, InsertPoint.before(scope))
            Rewriter.erase_op(scope)
