"""
What all warps of a multiprocessor share: ports, the pipes to shared and global memory, the engine of transfers; and
what the lanes of a warp touch there together.

Each takes one request after the other; a request is over one latency after its turn.

Barriers are what warps wait for together: mbarriers in shared memory, and the barriers of a block.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tileas_xdsl.machine.warps.integers import Known, Numbers
from tileas_xdsl.machine.warps.warp import QUARTERS, Warp
from tileas_xdsl.targets.warp_timing import Port, WarpTiming
from tileas_xdsl.targets.warps import WARP

SHARED_BYTES = 128
"""Bytes a cycle of shared memory."""
LEAST_GAP, MOST_GAP = 4.0, 9.0
"""Cycles between two accesses of a quarter to shared memory: a word a lane, four words (G.ld.shared.*.thr.w1)."""
BACKLOG = 40.0
"""Cycles of accesses to shared memory that may wait before their warps do."""


@dataclass(eq=False)
class Engines:
    """From when on each is free, in cycles."""

    timing: WarpTiming
    issue: list[float] = field(default_factory=lambda: [0.0] * QUARTERS)
    ports: dict[tuple[Port, int], float] = field(default_factory=dict[tuple[Port, int], float])
    shared: float = 0.0
    loads: float = 0.0
    stores: float = 0.0
    rows: float = 0.0
    """The part of the transfer engine that asks for rows."""
    boxes: float = 0.0
    """The part that brings their bytes."""
    boxes_out: float = 0.0

    def port_free(self, port: Port, warp: Warp) -> float:
        return self.ports.get((port, warp.quarter), 0.0)

    def take_port(self, port: Port, warp: Warp, until: float) -> None:
        self.ports[port, warp.quarter] = until

    def access_shared(self, warp: Warp, start: float, cycles: float) -> float:
        """The cycle in which an access that occupies shared memory for `cycles` begins."""
        begin = max(start, self.port_free(Port.SHARED, warp), self.shared)
        self.take_port(Port.SHARED, warp, begin + max(LEAST_GAP, min(2.0 * cycles, MOST_GAP)))
        self.shared = begin + cycles
        warp.next = max(warp.next, begin - BACKLOG)
        return begin

    def load(self, start: float, size: int) -> float:
        """When `size` bytes have come."""
        self.loads = max(start, self.loads) + size / self.timing.global_bytes
        return self.loads + self.timing.l2 + self.timing.l2_far

    def store(self, start: float, size: int) -> float:
        """The cycle until which the warp waits that stores `size` bytes."""
        self.stores = max(start, self.stores) + size / self.timing.store_bytes
        return self.stores - self.timing.store_backlog

    def copy(self, start: float, size: int) -> tuple[float, float]:
        """When a `cp.async` of `size` bytes has been handed over, and when it is complete."""
        begin = max(start, self.shared)
        self.shared = begin + max(size / SHARED_BYTES, 1)
        self.loads = max(begin, self.loads) + size / self.timing.copy_bytes
        return begin, self.loads + self.timing.copy_latency + self.timing.l2_far

    def transfer(self, start: float, rows: int, size: int) -> float:
        """When a box of `rows` rows and `size` bytes has come."""
        asking = rows * self.timing.tma_row
        first = max(start, self.rows)
        self.rows = first + asking
        self.boxes = max(self.boxes, first) + max(size / self.timing.tma_bytes, asking)
        return self.boxes + self.timing.tma_latency + self.timing.l2_far

    def transfer_out(self, start: float, size: int) -> float:
        """When a box of `size` bytes has been written."""
        self.boxes_out = max(self.boxes_out, start) + size / self.timing.tma_store_bytes
        return self.boxes_out + self.timing.tma_store_latency


# What lanes touch together --------------------------------------------------------------------------------------------

BANKS, WORD, SECTOR = 32, 4, 32
"""Of shared memory, in bytes a bank; bytes of a sector (CUDA C++ Programming Guide, "Device Memory Accesses")."""


def wavefronts(address: Numbers, size: int, mask: int) -> int:
    """
    The cycles for which an access of `size` bytes a lane occupies shared memory: in each, every bank gives one word.
    Lanes whose words make up 128 bytes go together.
    """
    words = -(-size // WORD)
    if address is None:
        return words
    first = _of_lanes(address, mask) // WORD
    together = max(WARP // words, 1)
    return max(sum(_cycles(first[at : at + together], words) for at in range(0, len(first), together)), 1)


def _cycles(first: NDArray[np.int64], words: int) -> int:
    touched = np.unique((first[:, None] + np.arange(words)[None, :]).ravel())
    return int(np.bincount(touched % BANKS, minlength=BANKS).max())


def sectors(address: Numbers, size: int, mask: int) -> int:
    """The sectors of global memory that an access of `size` bytes a lane touches."""
    if address is None:
        return max(mask.bit_count() * size // SECTOR, 1)
    lanes = _of_lanes(address, mask)
    return len(np.unique((lanes[:, None] + np.arange(0, size, WORD)[None, :]).ravel() // SECTOR))


def _of_lanes(address: Known, mask: int) -> NDArray[np.int64]:
    lanes = np.array([lane for lane in range(WARP) if mask >> lane & 1], dtype=np.int64)
    return np.full(len(lanes), address, dtype=np.int64) if isinstance(address, int) else address[lanes]


@dataclass(eq=False)
class Waiting:
    """A warp that waits for the end of a phase."""

    warp: Warp
    parity: int
    wake: float
    """Cycles from the end of the phase until it goes on."""


@dataclass(eq=False)
class Mbarrier:
    """An mbarrier (PTX ISA, "mbarrier")."""

    count: int
    left: int
    """Arrivals that the phase still needs."""
    bytes: int = 0
    phase: int = 0
    completed: float = 0.0
    waiting: list[Waiting] = field(default_factory=list[Waiting])

    def is_over(self, parity: int) -> bool:
        """Whether the phase of this parity is complete: then the present one has the other."""
        return (self.phase ^ parity) & 1 == 1

    def settle(self, time: float) -> list[Waiting]:
        """End the phase if nothing is missing; those that waited for it."""
        if self.left > 0 or self.bytes > 0:
            return []
        self.left, self.phase, self.completed = self.count, self.phase + 1, time
        over = [one for one in self.waiting if self.is_over(one.parity)]
        self.waiting = [one for one in self.waiting if not self.is_over(one.parity)]
        return over


@dataclass(eq=False)
class NamedBarrier:
    """One of the sixteen barriers of a block: who is there, and whether they wait."""

    arrived: list[tuple[Warp, bool]] = field(default_factory=list[tuple[Warp, bool]])
