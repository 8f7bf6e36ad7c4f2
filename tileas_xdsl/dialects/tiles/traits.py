"""
Traits by which the tile ops of `nv_tileaa` and `nv_tileas` say which memory a result leads to, what rewrites may do,
and what the ops read and write.

    %v = nv_tileas.view %buffer[%i]            names bytes of %buffer          ViewOfOperand
    %t = nv_tileaa.permute %tile               in memory as well               ViewInMemory
    %q = nv_tileaa.addptr %p, %i               points into what %p points to   LeadsToOperand
    %t = nv_tileas.tiled_load %view[%i]        gives a tile of its own         OwnStorage
    %s = ...pipeline.consumer_read %c          gives the tile in the slot      SlotStorage

A tile in registers is a value, and using it touches no memory. A tile in shared or tensor memory, a slot argument, the
result of an allocation or of a pipeline op, and every view of these is a *view*: an op that uses it reads (as a
destination: writes) the bytes at that moment. So arithmetic is pure on values, and reads memory where an operand is a
view: the effect of an op depends on its operands.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    OpTrait,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
    Resource,
)

from tileas_xdsl.dialects.tiles.policies import is_weak
from tileas_xdsl.dialects.tiles.types import denotes_memory
from tileas_xdsl.interfaces import AllocationOpInterface

# Whose memory ---------------------------------------------------------------------------------------------------------


class LeadsToOperand(OpTrait):
    """The results lead to the memory that operand 0 leads to: as an address, an array, a window or a view."""


class ViewOfOperand(LeadsToOperand):
    """Result 0 names the storage of operand 0, whole or in part: a view exactly when operand 0 is one."""


class ViewInMemory(OpTrait):
    """Result 0 names the storage of operand 0 where both lie in shared or tensor memory, and else is a value."""


class AddsInPlace(OpTrait):
    """Result 0 has the storage of operand 2, the tile that the op adds to."""


class OwnStorage(OpTrait):
    """The results lie in storage that no other value names, if they lie in memory at all."""


class SlotStorage(OpTrait):
    """The results lie in a slot of the pipeline that the op works on."""


class SlotArguments(OpTrait):
    """The arguments of the op's region stand for what lies in a slot of a queue or pipeline."""


# What rewrites may do -------------------------------------------------------------------------------------------------


class TileStructure(OpTrait):
    """The op only arranges tiles: pure rewrites may move, copy and erase it."""


class MemoryConsistency(OpTrait):
    """The op takes part in the order of memory: pure rewrites do not move it, and move nothing across it."""


# Values and views -----------------------------------------------------------------------------------------------------


def names_bytes_of_operand(op: Operation) -> bool:
    """Whether the result of `op` names bytes of its first operand, so that it is a view exactly where that one is."""
    if op.has_trait(ViewInMemory, value_if_unregistered=False):
        return denotes_memory(op.operands[0].type) and denotes_memory(op.results[0].type)
    return op.has_trait(ViewOfOperand, value_if_unregistered=False)


def bytes_of(value: SSAValue) -> SSAValue:
    """The value whose bytes `value` names: itself, but for views, of what they are views of."""
    while isinstance(value.owner, Operation) and names_bytes_of_operand(value.owner):
        value = value.owner.operands[0]
    return value


def is_view(value: SSAValue) -> bool:
    """Whether using `value` reads memory at that moment."""
    while not denotes_memory(value.type):
        owner = value.owner
        if isinstance(owner, Block):
            parent = owner.parent_op()
            return parent is not None and parent.has_trait(SlotArguments, value_if_unregistered=False)
        if not names_bytes_of_operand(owner):
            return AllocationOpInterface.of(owner) is not None
        value = owner.operands[0]
    return True


# Effects --------------------------------------------------------------------------------------------------------------

READ, WRITE = MemoryEffectKind.READ, MemoryEffectKind.WRITE


def reads_of_views(values: Iterable[SSAValue]) -> set[EffectInstance]:
    """The reads that come from using `values`: one of each that is a view."""
    return {EffectInstance(READ, value) for value in values if is_view(value)}


class AllocatesResults(MemoryEffect):
    """Makes the storage that its results name: an unused op may be erased, but two equal ones are never merged."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}


class ReadsViews(MemoryEffect, RecursivelySpeculatable):
    """Reads those operands that are views, and has the effects of its regions; pure where all operands are values."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        inside = RecursiveMemoryEffect.get_effects(op)
        return None if inside is None else {*reads_of_views(op.operands), *inside}


@dataclass(frozen=True)
class Accesses(MemoryEffect):
    """
    Reads and writes the memory behind certain operands, given by position, and reads the others that are views: a
    stored value, a mask or coordinates that lie in memory are read when the op runs.

    A non-weak read takes part in the order among threads. It can be neither merged nor erased, so it counts as a write
    too.
    """

    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        trait = op.get_trait(cls)
        if trait is None:
            return None
        writes = trait.writes if is_weak(op) else (*trait.reads, *trait.writes)
        named = {*trait.reads, *trait.writes}
        others = [value for index, value in enumerate(op.operands) if index not in named]
        return {
            *(EffectInstance(READ, op.operands[index]) for index in trait.reads),
            *(EffectInstance(WRITE, op.operands[index]) for index in writes),
            *reads_of_views(others),
        }


class Synchronizes(MemoryEffect):
    """Waits, signals or transfers ownership: never erased, and no read or write moves across it."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(READ), EffectInstance(WRITE)}


class ReadsSlot(MemoryEffect):
    """Reads a pipeline slot, and has the effects of its region."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        inner = RecursiveMemoryEffect.get_effects(op)
        return None if inner is None else {EffectInstance(READ), *inner}


class CopiesIntoDestination(MemoryEffect):
    """Reads operand 0 where it is a view, and writes operand 1 where there is one."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        source, *destination = op.operands
        return reads_of_views([source]) | {EffectInstance(WRITE, value) for value in destination}


class UpdatesDestination(MemoryEffect, RecursivelySpeculatable):
    """Reads operand 0 and writes operand 1 where they are views; gives a new value where operand 1 is none."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        pairs = zip((READ, WRITE), op.operands[:2], strict=True)
        return {EffectInstance(kind, value) for kind, value in pairs if is_view(value)}


# Queues -------------------------------------------------------------------------------------------


class AccessesQueue(MemoryEffect):
    """Reads and writes the state of the queue, reads the tiles that it puts, and has the effects of its region."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        inside = RecursiveMemoryEffect.get_effects(op)
        if inside is None:
            return None
        queue, *payload = op.operands
        return {EffectInstance(READ, queue), EffectInstance(WRITE, queue), *reads_of_views(payload), *inside}


class StoragePlan(Resource):
    """A resource: the plan of which storage is shared with which. The program never reads it."""

    def name(self) -> str:
        return "<StoragePlan>"


class PlansStorage(MemoryEffect):
    """Writes the storage plan: no effect on data, but the op must survive until storage is assigned."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(WRITE, resource=StoragePlan())}


# Directives ---------------------------------------------------------------------------------------


class Directive(MemoryEffect):
    """Stays in place, and has the effects of its region."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        inside = RecursiveMemoryEffect.get_effects(op)
        return None if inside is None else {EffectInstance(WRITE), *inside}
