"""
What AMD targets have for asynchronous transfers to LDS (spec/mlir-surface.md section 8, spec/backend.md).

Up to gfx10 the transfers are counted with the other vector memory loads, in `vmcnt`, and the wait names all counters in
one bit field. gfx1250 has a counter of its own for them, and another for tensor transfers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

AMDTargetName = Literal["gfx942", "gfx950", "gfx1250"]

Counter = Literal["vmcnt", "asynccnt", "tensorcnt"]


@dataclass(frozen=True)
class AMDTarget:
    """One target."""

    name: AMDTargetName
    transfer_bytes: tuple[int, ...]
    """How many bytes a transfer may move for each lane."""
    counters: tuple[Counter, ...]
    """The counters that transfers are counted by."""
    counter_bits: int = 6
    """The width of these counters: what a wait can name."""

    @property
    def most_in_flight(self) -> int:
        """The largest number that a wait for a counter can name."""
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
