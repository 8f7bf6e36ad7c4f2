"""
What only ops of `nv_tileaa` do to memory, as traits: queues, and directives that stay where they are.

What both tile dialects do is in `dialects/tiles/effects.py`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, RecursiveMemoryEffect, Resource

from tileas_xdsl.dialects.tiles.effects import READ, WRITE, reads_of_views

# Queues -------------------------------------------------------------------------------------------


class AccessesQueue(MemoryEffect):
    """Reads and writes the state of the queue, reads what it puts, and does what its region does."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        inside = RecursiveMemoryEffect.get_effects(op)
        if inside is None:
            return None
        queue, *payload = op.operands
        return {EffectInstance(READ, queue), EffectInstance(WRITE, queue), *reads_of_views(payload), *inside}


class StoragePlan(Resource):
    """Which storage is shared with which: decided once, never read by the program."""

    def name(self) -> str:
        return "<StoragePlan>"


class PlansStorage(MemoryEffect):
    """Has no effect on data, but must survive until storage is assigned."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(WRITE, resource=StoragePlan())}


# Directives ---------------------------------------------------------------------------------------


class Directive(MemoryEffect):
    """Stays where it is, and does what its region does."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        inside = RecursiveMemoryEffect.get_effects(op)
        return None if inside is None else {EffectInstance(WRITE), *inside}
