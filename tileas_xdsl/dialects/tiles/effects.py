"""
Memory effects of tile ops, as traits.

The effect of an op depends on its operands (`views`). A tile in registers is a value, and using it touches no memory. A
view is read at the moment it is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
)

from tileas_xdsl.dialects.tiles.policies import is_weak
from tileas_xdsl.dialects.tiles.views import is_view

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
