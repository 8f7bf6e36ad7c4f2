"""
What nobody needs once a loop is pipelined: ops whose results nobody uses, wherever they are, and waits for what is over
or what another wait covers.

    %x = mulf %a, %a                               (nobody uses %x)
    async.wait %full                          ->
    %h = consume_one %filled                       %h = consume_one %filled       (waits for the same stage)
    %g = consumer_release %r                       %g = consumer_release %r
    async.wait %g                                                                 (nothing reads the stage later)

TileASMaterializeAsync has fixed sequences, which hold for every use of a stage; which of its waits a program does not
need shows when everything is in its place. TileASOptimizePipelineRegion looks into `produce_one` and `consume_one`
only, and only for what its slice leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects

from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.transforms.tileas.remove_dead_work.waits import needless_waits


@dataclass(frozen=True)
class RemoveDeadWorkPass(ModulePass):
    """
    Remove ops whose results nobody uses, and waits that order nothing.

    Rewrites: each function, as the module's docstring shows. An op goes if it has results, nobody uses them, and it
    does no more than compute and read; a `while` loop stays, since it may not end. A wait goes if its token is complete
    when it is made, if the consumers behind it wait for the same stages, or if it announces a wait that follows.

    Requires: verified IR. Refuses: nothing.

    Choices
        The sequences of materialize-async are published, so its waits are all made; those that order nothing go at the
        end of the driver, in a pass of ours.
    """

    name = "tileas-remove-dead-work"

    DESCRIPTION: ClassVar[str] = "Remove what nobody uses, and waits for what is over or waited for again"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_in(op):
            for wait in needless_waits(function):
                Rewriter.erase_op(wait)
            remove_unused(function)


def remove_unused(function: Operation) -> None:
    """Erase the ops in `function` that nobody needs, last ones first. Linear in the ops and their operands."""
    waiting = list(function.walk())[1:]
    gone: set[Operation] = set()
    while waiting:
        op = waiting.pop()
        if op in gone or not _is_unused(op):
            continue
        makers = [value.owner for inner in op.walk() for value in inner.operands]
        waiting += [maker for maker in makers if isinstance(maker, Operation) and not op.is_ancestor(maker)]
        gone.update(op.walk())
        Rewriter.erase_op(op)


def _is_unused(op: Operation) -> bool:
    if not op.results or any(result.first_use is not None for result in op.results):
        return False
    if op.has_trait(IsTerminator, value_if_unregistered=True):
        return False
    if any(isinstance(inner, scf.WhileOp) for inner in op.walk()):
        return False
    effects = get_effects(op)
    return effects is not None and all(effect.kind is MemoryEffectKind.READ for effect in effects)
