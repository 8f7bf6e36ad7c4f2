"""
Queues become pipelines: `tileas-queue-to-pipeline`.

Enters TileAA queues, which say that tiles flow from some agents to others; leaves rings of slots with a handshake,
which say how:

    %q = create_queue                          %p, %c = create_pipeline {numStages = 3}
    execute {                                  %pi = create_iterator %p
      scf.for %i = ... {                       %ci = create_iterator %c
        queue.put %q, %x                       agent_switch %p, %pi, %c, %ci {
      }                                          scf.for %i = ... iter_args(%it = %pi) {
    }, {                                           produce_one %p, %it {
      scf.for %i = ... {                ->           %own = producer_acquire %p, %it
        %y = queue.get %q                            %full = producer_write %own, %it { yield %x }
        use %y                                       producer_commit %full
      }                                              yield
    }                                              }
                                                   %next = inc_iter %it
                                                   scf.yield %next
                                                 }
                                               }, {
                                                 ...
                                                   %y = consume_one %c, %it {
                                                     %got = consumer_wait %c, %it
                                                     %v, %done = consumer_read %got, %it
                                                     consumer_release %done
                                                     yield %v
                                                   }
                                                 ...

Four steps: a plan, which refuses before anything is touched (`plan.py`, and `views.py` for the releases); five
patterns, applied greedily (`patterns.py`); the iterators, carried through control flow (`iterators.py`), and their
types, propagated to a fixed point (`iterator_types.py` of this family); the erasure of what is left of the queues. The
rewrite is one-way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker
from xdsl.rewriter import Rewriter

from tileas_xdsl.diagnostics import refuse, remark
from tileas_xdsl.transforms.tileas.iterator_types import iterator_types, propagate_iterator_types
from tileas_xdsl.transforms.tileas.queue_to_pipeline.iterators import thread_iterators
from tileas_xdsl.transforms.tileas.queue_to_pipeline.patterns import Rewriting
from tileas_xdsl.transforms.tileas.queue_to_pipeline.plan import plan_queues
from tileas_xdsl.transforms.tileas.queue_to_pipeline.views import plan_releases


@dataclass(frozen=True)
class QueueToPipelinePass(ModulePass):
    """
    Rewrite queues, puts, gets and execute into pipelines with explicit handshakes.

    Rewrites
        `nv_tileaa.execute` -> `agent_switch`; `create_queue` -> `create_pipeline` with an iterator for each side;
        `queue.put` -> `produce_one`; `queue.get` -> `consume_one`; `mark_for_reuse` onto the producer tokens. Iterators
        are carried by every `scf.for`, `scf.if` and `scf.while` around a put or get, and advanced once behind it.

    Requires
        Verified IR. Nothing else: queues that are not made by a `create_queue` stay queues, and IR without queues and
        without `execute` is left as it is.

    Refuses
        A queue that flows through any other op than `execute`; puts in two agent regions, gets in regions of two ops,
        and turns inside ops that cannot carry an iterator; a slot index that does not count the turns; a view of a slot
        that escapes the iteration, is held across as many gets as there are slots, or while a queue in the same storage
        is filled;
        `mark_for_reuse` on something else than queues;
        iterators of different types that meet.

    `default_depth` is the number of slots of a queue that does not say.

    Choices
        Several regions that get from one queue take every stage each, as several agents of a group do: the pipeline
        names the first of them. Each region has an iterator. Where the numbers that they name differ modulo the number
        of regions, they take turns: each stage has one consumer, and each slot is always the same one's. (Blocks of
        stages in turn need a queue for each consumer: an agent cannot tell by the parity how many rounds another one
        has made.)

        Puts by a group of several agents are refused, elected or not; so are turns in nested agents, and an `execute`
        in a loop with a queue from outside it. A get inside the body of a put is one turn of its side, advanced behind
        the outermost put.

        Holding a slot until the last use of its view leaves fewer slots free. A program that needs every slot of one
        queue to make progress on another can block where it did not; `check` shows it, the pass does not refuse it.
    """

    name = "tileas-queue-to-pipeline"

    DESCRIPTION: ClassVar[str] = "Rewrite queues, puts, gets and execute into pipelines with explicit handshakes"

    default_depth: int = field(default=2, metadata={"help": "slots of a queue that has no depth"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_queues(op, self.default_depth)


def rewrite_queues(module: ModuleOp, default_depth: int = 2) -> None:
    """
    Make pipelines of the queues of `module`; `default_depth` is the number of slots of those that do not say.

    Raises `RefusedError` with nothing changed. Linear in the size of the module.
    """
    if default_depth < 1:
        refuse(module, f"cannot have pipelines of {default_depth} slots", "choose a default-depth of at least 1")
    plan = plan_queues(module, default_depth)
    plan_releases(plan)
    iterator_types(module)
    for queue in plan.queues:
        if not queue.says_depth:
            remark(
                queue.op,
                f"has no depth: its pipeline gets default-depth={default_depth} slots",
                "write the depth into the queue's type",
            )
    rewriting = Rewriting(plan)
    patterns = GreedyRewritePatternApplier(rewriting.patterns(), dce_enabled=False)
    PatternRewriteWalker(patterns).rewrite_module(module)
    thread_iterators(rewriting.rotating_turns())
    propagate_iterator_types(module)
    for queue in plan.queues:
        Rewriter.erase_op(queue.op)
