"""What Triton's ops do to memory, as far as passes have to know: those that synchronise or touch memory stay put."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind


class TouchesMemory(MemoryEffect):
    """Reads and writes, any memory."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)}
