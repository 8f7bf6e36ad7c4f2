"""
Memory effect traits of `nv_tileas` alone: waits and signals, slots, and copies into a destination.

The traits of both tile dialects are in `dialects/tiles/effects.py`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, RecursivelySpeculatable, RecursiveMemoryEffect

from tileas_xdsl.dialects.tiles.effects import READ, WRITE, reads_of_views
from tileas_xdsl.dialects.tiles.views import is_view


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
