"""
Where everything lies in the shared memory of a kernel: one array, whose size the launch asks for.

    slots of rings and tiles       behind one another, large ones at multiples of 1024 bytes (what the swizzle needs)
    barriers                       behind them: for each ring full[0], .., full[d - 1], empty[0], .., empty[d - 1]
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

LARGE, SMALL = 1024, 128
MOST_STATIC = 48 << 10
"""Bytes of which a kernel may say itself that it has them; more the launch has to ask for (CUDA C++ Programming Guide,
"Technical Specifications per Compute Capability")."""
BARRIER_BYTES = 8
"""Of an mbarrier (PTX ISA, "Size and alignment of mbarrier object")."""


@dataclass(frozen=True)
class RingStorage:
    """The slots of a pipeline and their barriers."""

    offset: int
    slot_bytes: int
    depth: int
    payload_offsets: tuple[int, ...]
    """Where in a slot each tile of its payload begins."""
    barriers: int
    """The offset of full[0]."""

    def full(self, slot: int = 0) -> int:
        """The offset of a full barrier."""
        return self.barriers + BARRIER_BYTES * slot

    def empty(self, slot: int = 0) -> int:
        """The offset of an empty barrier."""
        return self.full(self.depth + slot)


@dataclass
class SharedMemory:
    """What has been placed so far."""

    size: int = 0
    parts: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """What has been placed, in words, and how many bytes it takes."""
    rings: dict[Hashable, RingStorage] = field(default_factory=dict[Hashable, RingStorage])

    def place(self, size: int, words: str) -> int:
        """The offset of so many bytes more, for what `words` say."""
        self.parts.append((words, size))
        unit = LARGE if size >= LARGE else SMALL
        start = -(-self.size // unit) * unit
        self.size = start + size
        return start

    def place_ring(self, key: Hashable, name: str, depth: int, payload: list[int]) -> RingStorage:
        """Place `depth` slots that hold tiles of so many bytes, and their barriers."""
        unit = LARGE if max(payload) >= LARGE else SMALL
        starts: list[int] = []
        slot = 0
        for size in payload:
            starts.append(slot)
            slot = -(-(slot + size) // unit) * unit
        offset = self.place(depth * slot, f"{depth} slots of '{name}'")
        barriers = self.place(2 * depth * BARRIER_BYTES, "barriers")
        self.rings[key] = RingStorage(offset, slot, depth, tuple(starts), barriers)
        return self.rings[key]
