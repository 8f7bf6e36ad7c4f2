"""
Which commits, and which releases, may become one op: those between which no agent can be kept waiting.

Taken out of their regions, the commits of an iteration become one op behind the last producer, and the releases one
behind the last use. But a commit that moves behind the acquire of another pipeline comes later than before, and a
consumer that waits for the one before it gives back the other would then wait for ever:

    produce A; commit A                         consume A
    produce B; commit B     <- waits for B's slot, which comes back only behind "consume A"

Two pipelines are in *lockstep* when each is filled by one op and drained by one op, the fillers stand side by side in
one loop body, and so do the drainers. Then, when a producer in iteration `k` waits for a slot of iteration `k - depth`
or earlier, everything of the iterations before `k` is committed, which is all that the consumer needs to get there;
and the same holds for consumers and releases. Ops with nothing in between that waits may always be gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from xdsl.dialects import scf
from xdsl.ir import Block, Operation
from xdsl.traits import EffectInstance, IsTerminator, MemoryEffect, MemoryEffectKind, RecursiveMemoryEffect, get_effects

from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.dialects.nv_tileaa.queue import GetOp, PutOp
from tileas_xdsl.dialects.nv_tileas.classified import ConsumeOp, ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerWaitOp, ProducerAcquireOp
from tileas_xdsl.interfaces import AgentLikeOpInterface

SiteT = TypeVar("SiteT")


@dataclass
class _Sides:
    """The ops that fill a pipeline, and those that drain it."""

    fillers: list[Operation] = field(default_factory=list[Operation])
    drainers: list[Operation] = field(default_factory=list[Operation])


class Lockstep:
    """The pipelines of one function that advance together."""

    def __init__(self, function: Operation, roots: PipelineRoots) -> None:
        self._sides: dict[PipelineRoot, _Sides] = {}
        for op in function.walk():
            if isinstance(op, ProduceOp | ProducerAcquireOp) and not isinstance(op.parent_op(), ProduceOp):
                self._note(roots.of_op(op), op, fills=True)
            elif isinstance(op, ConsumeOp | ConsumerWaitOp) and not isinstance(op.parent_op(), ConsumeOp):
                self._note(roots.of_op(op), op, fills=False)

    def _note(self, root: PipelineRoot | None, op: Operation, *, fills: bool) -> None:
        if root is not None:
            sides = self._sides.setdefault(root, _Sides())
            (sides.fillers if fills else sides.drainers).append(op)

    def advance_together(self, first: PipelineRoot | None, second: PipelineRoot | None) -> bool:
        """Whether the two pipelines, which may be unknown, are in lockstep."""
        loops = self._loops(first)
        return loops is not None and loops == self._loops(second)

    def _loops(self, root: PipelineRoot | None) -> tuple[Block, Block] | None:
        """The loop bodies in which the only filler and the only drainer of a pipeline stand."""
        sides = self._sides.get(root) if root is not None else None
        if sides is None or len(sides.fillers) != 1 or len(sides.drainers) != 1:
            return None
        filled, drained = sides.fillers[0].parent_block(), sides.drainers[0].parent_block()
        if filled is None or drained is None:
            return None
        in_loops = all(isinstance(block.parent_op(), scf.ForOp) for block in (filled, drained))
        return (filled, drained) if in_loops else None


@dataclass
class Group(Generic[SiteT]):
    """Sites whose commits, or releases, become one op behind `last`."""

    sites: list[SiteT]
    last: Operation


def gather(
    body: Iterable[Operation], ready: Mapping[Operation, Sequence[SiteT]], passes: Callable[[SiteT, Operation], bool]
) -> list[Group[SiteT]]:
    """
    Group sites, in program order.

    `ready` says behind which op of `body` which sites could be committed, or released. A group is closed by an op that
    may wait, unless every site of it `passes` that op.
    """
    groups: list[Group[SiteT]] = []
    pending: Group[SiteT] | None = None
    for op in body:
        if pending is not None and may_wait(op) and not all(passes(site, op) for site in pending.sites):
            pending = None
        if op not in ready:
            continue
        if pending is None:
            pending = Group([], op)
            groups.append(pending)
        pending.sites.extend(ready[op])
        pending.last = op
    return groups


def may_wait(op: Operation) -> bool:
    """Whether `op`, or an op inside it, may wait for another agent, or that cannot be told."""
    return any(_waits(inner) for inner in op.walk())


def _waits(op: Operation) -> bool:
    if isinstance(op, PutOp | GetOp) or AgentLikeOpInterface.of(op) is not None:
        return True
    traits = op.get_traits_of_type(MemoryEffect)
    if traits and all(isinstance(trait, RecursiveMemoryEffect) for trait in traits):
        return False
    if not traits:
        return not op.has_trait(IsTerminator, value_if_unregistered=False)
    effects = get_effects(op)
    return effects is None or _touches_anything(effects)


def _touches_anything(effects: Iterable[EffectInstance]) -> bool:
    """A write to nothing in particular is how ops that synchronise say so."""
    return any(effect.kind is MemoryEffectKind.WRITE and effect.value is None for effect in effects)
