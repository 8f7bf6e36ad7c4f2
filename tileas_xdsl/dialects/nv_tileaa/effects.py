"""
Memory effect traits of `nv_tileaa` alone: queues, and directives that must stay in place.

The traits of both tile dialects are in `dialects/tiles/effects.py`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, RecursiveMemoryEffect, Resource

from tileas_xdsl.dialects.tiles.effects import READ, WRITE, reads_of_views

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
