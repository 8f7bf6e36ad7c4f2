"""
Counts to tokens: groups of `async_queue` become tasks of `async`, waits for a count become awaits of the tokens that it
forces, and a rotating window of tokens says which those are.

    scf.for %i = ... {                       %w1, %w0 = scf.for %i = ... iter_args(%a = %done, %b = %done) {
      async_queue.commit 0 {                   %t = async.execute { ... }
        async_queue.scope { ... }
      }                                ->
      async_queue.wait 0, 2 { ... }            async.await %b            // the third youngest: two may be unfinished
    }                                          ...
                                               scf.yield %t, %a
                                             }

Source: TVM RFC 0077, "Asynchronous stage in software pipeline" (Masuda and Lin, 2022), where it compares counts with
tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tileas_xdsl.transforms.queues.convert_queue_to_async.plan import plan_windows
from tileas_xdsl.transforms.queues.convert_queue_to_async.rewrite import TokenRewriter


@dataclass(frozen=True)
class ConvertQueueToAsyncPass(ModulePass):
    """
    Turn groups and counts of `async_queue` into tasks and tokens of `async`.

    Rewrites:

    - `scope` -> a task. A group of one scope is its token, a group of several a task without a body that depends on
      them, an empty group a token that is complete.
    - `commit` -> its token enters the window of its queue; the window is as long as groups may be unfinished at that
      point (`analysis.in_flight`), and loops and branches carry it. Where any number may be, the tokens that fall off
      the end are joined into one, `older`, which stands for "all groups before those in the window".
    - `wait q, n` -> awaits of every token in the window but the `n` youngest, the oldest first. With a computed count
      each of them stands in an `scf.if`.
    - A computed queue id among finitely many: each of these queues has its window, and an `scf.if` picks.

    No task depends on the one before it: the groups of a queue *complete* in order and are performed in any. A wait for
    a count sees all the older groups complete, and so does who awaits every one of their tokens (or `older`).

    Requires: sources that may be read until completion (`capture=completion`): a task reads when it runs. Queues that
    are empty when the function is called.

    Refuses: queues that cannot be followed (`followable_queues`); a computed count without a limit where any number of
    groups may be unfinished; a window of more than 64 tokens; a scope whose addresses or branches come from data that
    it may overwrite itself.
    """

    name = "convert-queue-to-async"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plans = plan_windows(op)
        for facts in plans:
            TokenRewriter(facts).run()
