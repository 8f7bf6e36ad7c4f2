"""
Where everything lies in the shared memory of a kernel: one array, whose size the launch asks for.

    slots of rings and tiles       behind one another, at multiples of what the pattern of their swizzle takes, or 1024
    barriers                       behind the slots of their ring
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation

LARGE, SMALL = 1024, 128
MOST_STATIC = 48 << 10
"""Bytes of which a kernel may say itself that it has them; more the launch has to ask for (CUDA C++ Programming Guide,
"Technical Specifications per Compute Capability")."""


@dataclass
class SharedMemory:
    """What has been placed so far."""

    size: int = 0
    parts: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """What has been placed, in words, and how many bytes it takes."""
    slots: dict[Operation, tuple[int, int]] = field(default_factory=dict[Operation, tuple[int, int]])
    """By the op that allocates them: the offset of the first one, and the distance to the next."""
    globals: dict[str, int] = field(default_factory=dict[str, int])
    """The offsets of what was a global of its own, by name."""

    def place(self, size: int, words: str) -> int:
        """The offset of so many bytes more, for what `words` say."""
        self.parts.append((words, size))
        unit = _unit(size)
        start = -(-self.size // unit) * unit
        self.size = start + size
        return start

    def place_slots(self, depth: int, size: int, name: str) -> tuple[int, int]:
        """The offset of `depth` slots of so many bytes, and the distance from one to the next."""
        unit = _unit(size)
        distance = -(-size // unit) * unit
        return self.place(depth * distance, f"{depth} slots of '{name}'"), distance


def _unit(size: int) -> int:
    """At multiples of what so many bytes begin: the pattern of a swizzle is no longer than the tile, nor than 1024."""
    return min(LARGE, max(SMALL, 1 << size.bit_length() - 1))
