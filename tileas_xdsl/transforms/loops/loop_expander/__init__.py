"""
The one place that peels and overlaps loops.

Enters an `scf.for` and a stage and an order for each op of its body; leaves a prologue, a loop in which ops of
different stages work on different iterations, and an epilogue, that compute the same:

    scf.for %i = %c0 to %c10 step %c1 {           %a = memref.load %A[%c0]                       // Prologue
      %a = memref.load %A[%i]     // stage 0      %r = scf.for %i = %c0 to %c9 step %c1
      %b = arith.addf %a, %cf     // stage 1               iter_args(%x = %a) -> (f32) {         // Kernel
      memref.store %b, %R[%i]     // stage 1        %b = arith.addf %x, %cf
    }                                               memref.store %b, %R[%i]
                                                    %j = arith.addi %i, %c1
                                                    %n = memref.load %A[%j]
                                                    scf.yield %n
                                                  }
                                                  %e = arith.addf %r, %cf                        // Epilogue
                                                  memref.store %e, %R[%c9]

`plan_expansion` decides everything and refuses what cannot be done (`plan.py`, `streams.py`); `expand_loop` then only
carries the plan out (`phases.py`), and lets its caller adapt each copy (`hooks.py`). Three passes stand on it: the
unspecialised pipeline, the asynchronous software pipeline, and the schedule materialiser, which expands the slice of
the loop that each agent keeps.

A value that nothing can stand for, under a guard, is refused and not made poison. Memory decides legality too, which
MLIR does not check; different arguments of a function do not alias unless told.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.transforms.loops.loop_expander.hooks import ExpansionHooks
from tileas_xdsl.transforms.loops.loop_expander.phases import Phases
from tileas_xdsl.transforms.loops.loop_expander.plan import ExpansionPlan


@dataclass(frozen=True)
class Expansion:
    """What stands in place of the loop: setup, prologue, kernel and epilogue, in this order. Parts may be empty."""

    setup: tuple[Operation, ...]
    """Constants, bounds, guards and placeholders."""
    prologue: tuple[Operation, ...]
    kernel: scf.ForOp | None
    """None where constant bounds leave it no trip."""
    epilogue: tuple[Operation, ...]
    kernel_positions: tuple[int | None, ...]
    """
    For each carried argument of the loop its position among those of the kernel. None where the kernel carries no such
    value: it never changes, or is only read by ops that come behind the one that makes it.
    """

    @property
    def pieces(self) -> tuple[Operation, ...]:
        """All that stands in place of the loop, in order."""
        kernel = () if self.kernel is None else (self.kernel,)
        return (*self.setup, *self.prologue, *kernel, *self.epilogue)


def expand_loop(plan: ExpansionPlan, hooks: ExpansionHooks | None = None) -> Expansion:
    """
    Put the parts that `plan` describes in place of its loop. Linear in the ops that it makes.

    An exception from a hook passes through, and leaves the IR as it was.
    """
    phases = Phases(plan, hooks or ExpansionHooks())
    try:
        results = phases.build()
    except BaseException:
        phases.drop()
        raise
    parts = [phases.setup.block, phases.prologue.site.block, phases.epilogue.site.block]
    setup, prologue, epilogue = (tuple(block.ops) for block in parts)
    loop = plan.loop
    Rewriter.inline_block(parts[0], InsertPoint.before(loop))
    Rewriter.inline_block(parts[1], InsertPoint.before(loop))
    if phases.kernel is not None:
        Rewriter.insert_op(phases.kernel, InsertPoint.before(loop))
    Rewriter.inline_block(parts[2], InsertPoint.before(loop))
    for result, value in zip(loop.res, results, strict=True):
        if value is not None:
            result.replace_all_uses_with(value)
    Rewriter.erase_op(loop)
    return Expansion(setup, prologue, phases.kernel, epilogue, phases.kernel_positions())
