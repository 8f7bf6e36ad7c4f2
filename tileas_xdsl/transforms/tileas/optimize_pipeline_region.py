"""
TileASOptimizePipelineRegion: shrink the regions of `produce_one` and `consume_one` to what their yields and
effects need.

    %r = consume_one %t {                        %r = consume_one %t {
      %a = consumer_read %t                        %a = consumer_read %t
      %b = consumer_read %t                        %b = consumer_read %t
      %x = dot %a, %b, %dead             ->        %c = dot %a, %b, %acc
      %c = dot %a, %b, %acc                        consumer_release %t
      consumer_release %t                          yield %c
      yield %c                                   }
    }

After the pipeliner has expanded its stages, regions hold ops that nobody needs there. What stays is the backward slice
of the yielded values, plus every handshake op and every other op that writes memory or is asynchronous, plus the
backward slice of those. A slice ends at block arguments, at values from outside the region, and at `produce_one`. The
ops of a function are shrunk back to front, so that no slice ever meets an op that is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects

from tileas_xdsl.analysis.backward_slice import backward_slice
from tileas_xdsl.diagnostics import failed_softly, refuse
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumeOneOp, PipelineYieldOp, ProduceOneOp
from tileas_xdsl.interfaces import functions_in

PIPELINER = "tileas-unspecialized-pipeline"
"""The pass whose soft failure on a function keeps this one away from it."""

Shrinkable = ProduceOneOp | ConsumeOneOp


@dataclass(frozen=True)
class Shrinkage:
    """The plan for one op: the ops of its body that stay, and those that go, in source order."""

    op: Shrinkable
    kept: tuple[Operation, ...]
    dropped: tuple[Operation, ...]


def plan_shrinkage(op: Shrinkable) -> Shrinkage:
    """Decide which ops of the body of `op` stay. Linear in the size of the body."""
    block = op.body.block
    terminator = block.last_op
    body = [inner for inner in block.ops if inner is not terminator]
    roots = [inner for inner in body if not is_droppable(inner)]
    yielded = terminator.operands if terminator is not None else ()
    needed = backward_slice(op.body, yielded, roots, boundary=ProduceOneOp)
    kept = tuple(inner for inner in body if inner in needed)
    dropped = tuple(inner for inner in body if inner not in needed)
    return Shrinkage(op, kept, dropped)


def refuse_malformed(op: Shrinkable) -> None:
    """The attributes of these ops are discardable entries; a property would be lost when the op is rebuilt."""
    if op.properties:
        names = ", ".join(sorted(op.properties))
        refuse(op, f"has properties ({names}), which would be lost", "move them to the discardable attributes")


def is_droppable(op: Operation) -> bool:
    """Whether `op` may go when nobody uses its results: it is pure, or it only reads."""
    if op.has_trait(IsTerminator, value_if_unregistered=True):
        return False
    effects = get_effects(op)
    return effects is not None and all(effect.kind is MemoryEffectKind.READ for effect in effects)


def shrink(plan: Shrinkage) -> None:
    """Carry out `plan`; a plan that drops nothing changes nothing."""
    if not plan.dropped:
        return
    if isinstance(plan.op, ConsumeOneOp):
        _rebuild_consumer(plan.op, plan.kept)
    else:
        _drop_in_place(plan)


def _rebuild_consumer(op: ConsumeOneOp, kept: tuple[Operation, ...]) -> None:
    """A fresh op with a fresh region and yield takes the kept ops, in source order, and the place of `op`."""
    old = op.body.block
    terminator = old.last_op
    block = Block(arg_types=[argument.type for argument in old.args])
    for argument, fresh_argument in zip(old.args, block.args, strict=True):
        fresh_argument.name_hint = argument.name_hint
        argument.replace_all_uses_with(fresh_argument)
    for inner in kept:
        inner.detach()
        block.add_op(inner)
    fresh_yield = PipelineYieldOp(*(terminator.operands if terminator is not None else ()))
    if terminator is not None:
        fresh_yield.location = terminator.location
    block.add_op(fresh_yield)
    fresh = ConsumeOneOp.create(
        operands=list(op.operands),
        result_types=[result.type for result in op.results],
        attributes=dict(op.attributes),
        regions=[Region(block)],
        location=op.location,
    )
    for result, fresh_result in zip(op.results, fresh.results, strict=True):
        fresh_result.name_hint = result.name_hint
    Rewriter.insert_op(fresh, InsertPoint.before(op))
    for result, fresh_result in zip(op.results, fresh.results, strict=True):
        result.replace_all_uses_with(fresh_result)
    Rewriter.erase_op(op, safe_erase=False)


def _drop_in_place(plan: Shrinkage) -> None:
    """
    A produce op keeps its yield, and its ops are moved to one of three anchors.

    Ops that a guard (`scf.if`) of the region uses go before its first op, those up to the `producer_acquire` before
    the acquire, all others before the yield. They are taken in source order, so a kept op never passes another one:
    what the anchors leave behind is the dropped ops.
    """
    for inner in reversed(plan.dropped):
        Rewriter.erase_op(inner, safe_erase=False)


@dataclass(frozen=True)
class OptimizePipelineRegionPass(ModulePass):
    """
    Shrink the regions of produce_one and consume_one.

    Rewrites: regions, as the module's docstring shows. `consume_one` is rebuilt: a fresh op, region and yield take the
    slice in source order. `produce_one` keeps its yield. The `_async` variants are left alone. Requires: nothing. A
    function on which `tileas-unspecialized-pipeline` has set bit 2 is skipped. Refuses: a produce or consume op with
    properties (such an op does not verify). Emits nothing else, and sets no status.
    """

    name = "tileas-optimize-pipeline-region"

    DESCRIPTION: ClassVar[str] = "Optimize the region scope of tileas.async.pipeline.produce_one/consume_one ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_in(op):
            if failed_softly(function, PIPELINER):
                continue
            candidates = [
                inner
                for inner in function.walk()
                if isinstance(inner, ProduceOneOp | ConsumeOneOp) and inner.body.first_block is not None
            ]
            for candidate in candidates:
                refuse_malformed(candidate)
            for candidate in reversed(candidates):
                shrink(plan_shrinkage(candidate))
