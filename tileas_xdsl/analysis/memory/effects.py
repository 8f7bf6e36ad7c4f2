"""
The memory effects that an op states: what it reads and writes, and the resources on which it keeps its order.

Input: an op. Output: its `Effect`s, without those of ops nested in it; None where it may touch everything. The first of
these that answers decides:

1. the op itself, where it implements `MemoryAccessOpInterface`;
2. for an op of xDSL, the table in `dialects/upstream_models`;
3. its memory effect traits. An effect on a value goes anywhere in that value's memory. An effect on a resource other
   than the default touches that resource and no memory. An effect on no value touches any memory;
4. otherwise the op is *opaque*: it may do anything, and is ordered with everything that has an effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue
from xdsl.traits import (
    DefaultResource,
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    RecursiveMemoryEffect,
    get_effects,
    is_side_effect_free,
)

from tileas_xdsl.dialects.tiles.traits import OwnStorage, SlotArguments, SlotStorage
from tileas_xdsl.dialects.upstream_models import access_rule, allocates
from tileas_xdsl.interfaces import Effect, EffectResource, MemoryAccessOpInterface, SideOrder, TokenWait

if TYPE_CHECKING:
    from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots


class EffectReader:
    """Reads the effects of ops; caches the pipelines that it found, so it is stale once the IR changes."""

    @cached_property
    def _roots(self) -> PipelineRoots:
        # Only ops on pipelines ask: for all others their dialect, which is large, need not be loaded.
        from tileas_xdsl.analysis.pipeline_root import PipelineRoots

        return PipelineRoots()

    def effects_of(self, op: Operation) -> Sequence[Effect] | None:
        """What `op` itself does, or None where its effects are unknown."""
        said = MemoryAccessOpInterface.of(op)
        if said is not None:
            return list(self._effects(said.memory_accesses))
        rule = access_rule(op)
        return effects_by_traits(op) if rule is None else rule(op)

    def _effects(self, accesses: Sequence[Effect | SideOrder | TokenWait]) -> Iterator[Effect]:
        sides: dict[EffectResource, None] = {}
        for access in accesses:
            match access:
                case Effect():
                    yield access
                case TokenWait():
                    # A wait for a stage orders through its token; any other is what makes some memory readable.
                    if self._roots.of(access.token) is None:
                        yield from self._completed(access.token)
                case SideOrder():
                    sides.update(dict.fromkeys(self._sides(access)))
        yield from (Effect(True, side) for side in sides)

    def _completed(self, token: SSAValue) -> Sequence[Effect]:
        """
        What a wait for `token` completes: what the works that the token may stand for do. Where not all of them are
        known, the wait may make any memory readable.
        """
        from tileas_xdsl.analysis.memory.awaited import works_behind

        works = works_behind(token)
        if works is None:
            return (Effect(True, None),)
        done = [self.effects_of(work) for work in works]
        if any(effects is None for effects in done):
            return (Effect(True, None),)
        return [effect for effects in done for effect in effects or ()]

    def slots_of(self, op: Operation) -> EffectResource | None:
        """
        The slots of the pipeline that `op` works on, where its region's arguments name one of them and no buffer of the
        program does; else None.
        """
        if not op.has_trait(SlotArguments, value_if_unregistered=False):
            return None
        root = self._roots.of_op(op)
        if root is None or root.has_buffers:
            return None
        return EffectResource(f"the slots of {name_of(root)}", root.key)

    def _sides(self, order: SideOrder) -> Iterator[EffectResource]:
        """
        The resources for one side of the op's pipeline, one for each step. Ops whose pipeline is unknown share them.
        """
        of = order.pipeline
        root = self._roots.of(of) if isinstance(of, SSAValue) else self._roots.of_op(of)
        name = f"the {order.side}'s side of {name_of(root)}"
        return (EffectResource(name, (None if root is None else root.key, step)) for step in order.steps)

    def has_own_storage(self, op: Operation) -> bool:
        """Whether the results of `op` lie in storage that no other value names."""
        if allocates(op) or op.has_trait(OwnStorage, value_if_unregistered=False):
            return True
        if not op.has_trait(SlotStorage, value_if_unregistered=False):
            return False
        root = self._roots.of_op(op)
        return root is not None and not root.has_buffers


def name_of(root: PipelineRoot | None) -> str:
    """The name of the pipeline for diagnostics: the number that its copies share, or its SSA name."""
    if root is None:
        return "an unknown pipeline"
    if isinstance(root.key, int):
        return f"pipeline {root.key}"
    name = root.key.results[0].name_hint if root.key.results else None
    return f"pipeline %{name}" if name else "an unnamed pipeline"


def stated_effects(op: Operation) -> Sequence[Effect] | None:
    """What `op` itself does, without the ops in its regions; None where its effects are unknown."""
    return EffectReader().effects_of(op)


def has_no_effects(op: Operation) -> bool:
    """
    Whether `op`, with its regions, reads and writes nothing: it may be recomputed wherever its operands are available.
    """
    reader = EffectReader()
    return all(_is_nothing(reader.effects_of(inner)) for inner in op.walk())


def only_computes(op: Operation) -> bool:
    """Whether `op` has no regions, touches no memory and allocates none."""
    if op.regions or allocates(op):
        return False
    rule = access_rule(op)
    return is_side_effect_free(op) if rule is None else _is_nothing(rule(op))


def _is_nothing(effects: Sequence[Effect] | None) -> bool:
    return effects is not None and not effects


def speaks_for_itself_only(op: Operation) -> bool:
    """Whether the effects of `op` leave out those of the ops in its regions, which are then to be asked too."""
    if MemoryAccessOpInterface.of(op) is not None or access_rule(op) is not None:
        return True
    return all(isinstance(trait, RecursiveMemoryEffect) for trait in op.get_traits_of_type(MemoryEffect))


# What traits tell ---------------------------------------------------------------------------------------------------


def effects_by_traits(op: Operation) -> Sequence[Effect] | None:
    """What the memory effect traits of `op` say; None where it has none, or where they do not decide."""
    traits = op.get_traits_of_type(MemoryEffect)
    if not traits:
        return () if op.has_trait(IsTerminator, value_if_unregistered=False) else None
    if all(isinstance(trait, RecursiveMemoryEffect) for trait in traits):
        return ()
    if (effects := get_effects(op)) is None:
        return None
    operands = {operand: index for index, operand in enumerate(op.operands)}

    def program_order(effect: EffectInstance) -> tuple[int, str, str]:
        position = operands.get(effect.value, -1) if isinstance(effect.value, SSAValue) else -1
        return position, effect.resource.name(), effect.kind.name

    ordered = sorted((e for e in effects if e.kind != MemoryEffectKind.ALLOC), key=program_order)
    return tuple(Effect(effect.kind != MemoryEffectKind.READ, _target_of(effect)) for effect in ordered)


def _target_of(effect: EffectInstance) -> SSAValue | EffectResource | None:
    if not isinstance(effect.resource, DefaultResource):
        return EffectResource(effect.resource.name())
    return effect.value if isinstance(effect.value, SSAValue) else None
