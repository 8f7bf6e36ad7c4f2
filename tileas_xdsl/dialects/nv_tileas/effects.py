"""
What the ops of `nv_tileas` do to memory, as traits (spec/tileas-dialects.md 2.3 and 2.5.6).

A tile in registers is a value. A tile in shared or tensor memory, a slot argument, what
`alloc_tensor` or a pipeline names, and every view of these is a *view*: whoever uses it reads (as a
destination: writes) the bytes at that moment. So the effect of `dot` or `copy` depends on its
operands: none on values, reads on views.

Two marks tell rewrites how far they may go: `TileStructure` ops may be moved, copied and erased by
pure rewrites, `MemoryConsistency` ops may not, and nothing may be moved across them.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    OpTrait,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
)

from tileas_xdsl.dialects.nv_tileaa import types as nv_tileaa
from tileas_xdsl.dialects.nv_tileas.attributes import MemSemanticAttr
from tileas_xdsl.dialects.nv_tileas.types import TiledViewType
from tileas_xdsl.dialects.nv_tileas.verification import layout_of
from tileas_xdsl.dialects.tile_memory import MemSemantic
from tileas_xdsl.interfaces import AllocationOpInterface

READ, WRITE = MemoryEffectKind.READ, MemoryEffectKind.WRITE


class TileStructure(OpTrait):
    """The op only arranges tiles: pure rewrites may move, copy and erase it."""


class MemoryConsistency(OpTrait):
    """The op takes part in the order of memory: pure rewrites leave it where it is."""


class ViewOfOperand(OpTrait):
    """Result 0 names the storage of operand 0, whole or in part."""


class SlotArguments(OpTrait):
    """The block arguments of the op's region stand for a pipeline slot."""


# Values and views --------------------------------------------------------------------------------


def storage_root(value: SSAValue) -> SSAValue:
    """The value behind views and slices of it: where the walk back over `ViewOfOperand` ops ends."""
    while isinstance(op := value.owner, Operation) and op.has_trait(ViewOfOperand, value_if_unregistered=False):
        value = op.operands[0]
    return value


def is_view(value: SSAValue) -> bool:
    """Whether using `value` reads memory at that moment (2.5.6, values and storage)."""
    root = storage_root(value)
    if _denotes_memory(value.type) or _denotes_memory(root.type):
        return True
    owner = root.owner
    if isinstance(owner, Block):
        parent = owner.parent_op()
        return parent is not None and parent.has_trait(SlotArguments, value_if_unregistered=False)
    return AllocationOpInterface.of(owner) is not None


def _denotes_memory(type_: Attribute) -> bool:
    if isinstance(type_, TiledViewType | MemRefType | nv_tileaa.TiledViewType | nv_tileaa.ArrayType):
        return True
    layout = layout_of(type_)
    return layout is not None and layout.space.data in ("smem", "tmem")


# Effects -----------------------------------------------------------------------------------------


class Synchronizes(MemoryEffect):
    """Waits, signals or hands over ownership: never erased, never crossed by reads or writes."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(READ), EffectInstance(WRITE)}


class ReadsSlot(MemoryEffect):
    """Reads a pipeline slot, and does what its region does."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        inner = RecursiveMemoryEffect.get_effects(op)
        return None if inner is None else {EffectInstance(READ), *inner}


class AllocatesResults(MemoryEffect):
    """Names fresh storage; goes away when nobody uses it."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}


class ReadsViews(MemoryEffect, RecursivelySpeculatable):
    """Reads those operands that are views, and does what its regions do; pure on values."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        inner = RecursiveMemoryEffect.get_effects(op)
        if inner is None:
            return None
        views = {EffectInstance(READ, operand) for operand in op.operands if is_view(operand)}
        return {*views, *inner}


class CopiesIntoDestination(MemoryEffect):
    """Reads operand 0 where it is a view, and writes operand 1 where there is one."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        source, *destination = op.operands
        read = {EffectInstance(READ, source)} if is_view(source) else set[EffectInstance]()
        return read | {EffectInstance(WRITE, value) for value in destination}


class UpdatesDestination(MemoryEffect, RecursivelySpeculatable):
    """Reads operand 0 and writes operand 1 where they are views; gives a new value where operand 1 is none."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        pairs = zip((READ, WRITE), op.operands[:2], strict=True)
        return {EffectInstance(kind, value) for kind, value in pairs if is_view(value)}


@dataclass(frozen=True)
class Accesses(MemoryEffect):
    """
    Reads and writes the memory behind certain operands, given by position.

    A read that other threads take part in (non-weak) can neither merge nor vanish, so it writes too.
    """

    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        trait = op.get_trait(cls)
        if trait is None:
            return None
        writes = trait.writes if is_weak(op) else (*trait.reads, *trait.writes)
        return {
            *(EffectInstance(READ, op.operands[index]) for index in trait.reads),
            *(EffectInstance(WRITE, op.operands[index]) for index in writes),
        }


def is_weak(op: Operation) -> bool:
    """Whether no other thread takes part in the order of this access."""
    semantic = op.properties.get("mem_semantic")
    return not isinstance(semantic, MemSemanticAttr) or semantic.data is MemSemantic.WEAK
