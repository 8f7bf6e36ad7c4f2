"""
Where everything lies in the shared memory of a kernel: one array, whose size the launch asks for.

    tiles                          where tileas-place-tiles has placed them
    slots of rings                 behind one another, at multiples of what the pattern of their swizzle takes, or 1024
    barriers                       behind the slots of their ring, or of all rings where tiles lie over these
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.ir import Operation

from tileas_xdsl.analysis.threads.places import Place

LARGE, SMALL = 1024, 128
MOST_STATIC = 48 << 10
"""Bytes of which a kernel may say itself that it has them; more the launch has to ask for (CUDA C++ Programming Guide,
"Technical Specifications per Compute Capability")."""


@dataclass
class SharedMemory:
    """What has been placed so far."""

    size: int = 0
    rings: int = 0
    """Where the slots of rings begin, if tiles lie over these."""
    parts: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """What has been placed, in words, and how many bytes it takes."""
    slots: dict[Operation, tuple[int, int]] = field(default_factory=dict[Operation, tuple[int, int]])
    """By the op that allocates them: the offset of the first one, and the distance to the next."""
    places: list[Place] = field(default_factory=list[Place])
    """Those of tiles, each once."""
    globals: dict[str, int] = field(default_factory=dict[str, int])
    """The offsets of what was a global of its own, by name."""

    def take(self, op: Operation, place: Place, name: str | None) -> None:
        """
        The place of the tiles that an op allocates, which is chosen already. One over the slots of rings is taken when
        these are placed, and what else it takes lies behind them.
        """
        if place.over_rings:
            place = replace(place, offset=self.rings + place.offset)
        elif all(place.number != other.number for other in self.places):
            self.places.append(place)
            tile = "a tile" if name is None else f"tile '{name}'"
            self.parts.append((tile if place.slots == 1 else f"{place.slots} slots of '{name}'", place.extent))
        self.slots[op] = place.offset, place.bytes
        self.size = max(self.size, place.end)

    def begin_rings(self) -> None:
        """From here on the slots of rings are placed."""
        self.rings = self.size = -(-self.size // LARGE) * LARGE

    def place(self, size: int, words: str, period: int = 1) -> int:
        """The offset of so many bytes more, for what `words` say, at a multiple of `period`."""
        self.parts.append((words, size))
        unit = _unit(size, period)
        start = -(-self.size // unit) * unit
        self.size = start + size
        return start

    def place_slots(self, depth: int, size: int, period: int, name: str) -> tuple[int, int]:
        """The offset of `depth` slots of so many bytes, and the distance from one to the next."""
        unit = _unit(size, period)
        distance = -(-size // unit) * unit
        return self.place(depth * distance, f"{depth} slots of '{name}'", period), distance


def _unit(size: int, period: int) -> int:
    """
    At multiples of what so many bytes begin. A swizzle is a function of the address: TMA finds its pattern at multiples
    of the `period` of the pattern, however few rows of it the tile has (PTX ISA, "Swizzling Modes").
    """
    return max(period, min(LARGE, max(SMALL, 1 << size.bit_length() - 1)))
