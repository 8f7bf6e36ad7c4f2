"""
What the ops of `nv_tileaa` do to memory, as traits (spec/tileas-dialects.md 1.4, 1.5 and 2.5.6).

A tile in registers is a value. A tile whose layout lies in shared or tensor memory, an argument of the region of a put
or get, and every view or slice of these is a *view*: whoever uses it reads the bytes at that moment. So arithmetic is
pure on values, and reads memory where an operand is a view.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    OpTrait,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
    Resource,
)

from tileas_xdsl.dialects.nv_tileaa.attributes import MemSemanticAttr
from tileas_xdsl.dialects.nv_tileaa.types import ArrayType, TiledViewType, residency_of
from tileas_xdsl.dialects.tile_memory import MemSemantic

READ, WRITE = MemoryEffectKind.READ, MemoryEffectKind.WRITE


# Values and views ---------------------------------------------------------------------------------


class ViewOfOperand(OpTrait):
    """The result names what operand 0 names, whole or in part."""


class SlotArguments(OpTrait):
    """The arguments of the op's region are the tiles of a queue slot."""


def is_view(value: SSAValue) -> bool:
    """Whether using `value` reads memory at that moment."""
    while not _denotes_memory(value.type):
        owner = value.owner
        if isinstance(owner, Block):
            parent = owner.parent_op()
            return parent is not None and parent.has_trait(SlotArguments, value_if_unregistered=False)
        if not owner.has_trait(ViewOfOperand, value_if_unregistered=False):
            return False
        value = owner.operands[0]
    return True


def _denotes_memory(type_: Attribute) -> bool:
    if isinstance(type_, TiledViewType | ArrayType | MemRefType):
        return True
    return residency_of(type_) in ("smem", "tmem")


def _reads(*values: SSAValue) -> set[EffectInstance]:
    return {EffectInstance(READ, value) for value in values if is_view(value)}


class ReadsViews(MemoryEffect, RecursivelySpeculatable):
    """Reads those operands that are views, and does what its regions do; pure on values."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        inside = RecursiveMemoryEffect.get_effects(op)
        return None if inside is None else {*_reads(*op.operands), *inside}


# Queues -------------------------------------------------------------------------------------------


class AllocatesResults(MemoryEffect):
    """Makes the storage that its results name, so an unused one can go but two never merge."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}


class AccessesQueue(MemoryEffect):
    """Reads and writes the state of the queue, reads what it puts, and does what its region does."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        inside = RecursiveMemoryEffect.get_effects(op)
        if inside is None:
            return None
        queue, *payload = op.operands
        return {EffectInstance(READ, queue), EffectInstance(WRITE, queue), *_reads(*payload), *inside}


class StoragePlan(Resource):
    """Which storage is shared with which: decided once, never read by the program."""

    def name(self) -> str:
        return "<StoragePlan>"


class PlansStorage(MemoryEffect):
    """Has no effect on data, but must survive until storage is assigned."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(WRITE, resource=StoragePlan())}


# Memory -------------------------------------------------------------------------------------------


def is_weak(op: Operation) -> bool:
    """Whether an access may be merged with others: no other thread takes part in its order."""
    semantic = op.properties.get("mem_semantic")
    return not isinstance(semantic, MemSemanticAttr) or semantic.data is MemSemantic.WEAK


class ReadsBase(MemoryEffect):
    """Reads memory at operand 0. A read that other threads take part in cannot merge or vanish."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        base = op.operands[0]
        read = EffectInstance(READ, base)
        return {read} if is_weak(op) else {read, EffectInstance(WRITE, base)}


class WritesBase(MemoryEffect):
    """Writes memory at operand 0; reads the value where it is a view."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        base, *others = op.operands
        return {EffectInstance(WRITE, base), *_reads(*others)}


class UpdatesBase(MemoryEffect):
    """Reads and writes memory at operand 0 in one step."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        base, *others = op.operands
        return {EffectInstance(READ, base), EffectInstance(WRITE, base), *_reads(*others)}


# Directives ---------------------------------------------------------------------------------------


class Directive(MemoryEffect):
    """Stays where it is, and does what its region does."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        inside = RecursiveMemoryEffect.get_effects(op)
        return None if inside is None else {EffectInstance(WRITE), *inside}
