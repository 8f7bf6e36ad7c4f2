"""
Asynchronous transfers to LDS on AMD targets: their sizes, and the counters that count them.

On gfx942 and gfx950 the transfers are counted with the other vector memory loads, in `vmcnt`, and `s_waitcnt` names all
counters in one bit field. gfx1250 has a counter of its own for them, and another one for tensor transfers. Source:
LLVM's User Guide for AMDGPU Backend.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

AMDTargetName = Literal["gfx942", "gfx950", "gfx1250"]

Counter = Literal["vmcnt", "asynccnt", "tensorcnt"]


@dataclass(frozen=True)
class AMDTarget:
    """The transfers and counters of one target."""

    name: AMDTargetName
    transfer_bytes: tuple[int, ...]
    """The bytes that a transfer may move for each lane."""
    counters: tuple[Counter, ...]
    """The counters that count transfers."""
    counter_bits: int = 6
    """The width of these counters in bits; a wait names a number of this width."""

    @property
    def most_in_flight(self) -> int:
        """The largest number of operations that a wait can leave in flight."""
        return (1 << self.counter_bits) - 1


AMD_TARGETS: dict[str, AMDTarget] = {
    "gfx942": AMDTarget("gfx942", (1, 2, 4), ("vmcnt",)),
    "gfx950": AMDTarget("gfx950", (1, 2, 4, 12, 16), ("vmcnt",)),
    "gfx1250": AMDTarget("gfx1250", (1, 4, 8, 16), ("asynccnt", "tensorcnt")),
}


def waitcnt_field(vmcnt: int) -> int:
    """The bit field of gfx9's `s_waitcnt` that waits for `vmcnt` alone: bits 0-3 and 14-15; all others are ones."""
    exports, lds = 7 << 4, 15 << 8
    return (vmcnt & 15) | exports | lds | (vmcnt >> 4) << 14
