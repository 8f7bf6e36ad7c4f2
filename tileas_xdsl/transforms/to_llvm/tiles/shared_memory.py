"""
Where everything lies in the shared memory of a kernel: one array, whose size the launch asks for.

    slots of rings and tiles       behind one another, at multiples of what the pattern of their swizzle takes, or 1024
    barriers                       behind them: for each ring full[0], .., full[d - 1], empty[0], .., empty[d - 1]
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from tileas_xdsl.transforms.to_llvm.tiles.filling import RingAccess

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
    access: RingAccess

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
        unit = _unit(size)
        start = -(-self.size // unit) * unit
        self.size = start + size
        return start

    def place_ring(self, key: Hashable, name: str, depth: int, payload: list[int], access: RingAccess) -> RingStorage:
        """Place `depth` slots that hold tiles of so many bytes, and their barriers."""
        unit = _unit(max(payload))
        starts: list[int] = []
        slot = 0
        for size in payload:
            starts.append(slot)
            slot = -(-(slot + size) // unit) * unit
        offset = self.place(depth * slot, f"{depth} slots of '{name}'")
        barriers = self.place(2 * depth * BARRIER_BYTES, "barriers")
        self.rings[key] = RingStorage(offset, slot, depth, tuple(starts), barriers, access)
        return self.rings[key]


def _unit(size: int) -> int:
    """At multiples of what so many bytes begin: the pattern of a swizzle is no longer than the tile, nor than 1024."""
    return min(LARGE, max(SMALL, 1 << size.bit_length() - 1))
