"""
The form of a timing table: rates and latencies of one streaming multiprocessor. The tables are in `cycles.py`.

Throughput and latency are separate. Work *occupies* its engine for its bytes (or operations) divided by the engine's
rate, in cycles; then the engine accepts the next work. The work is *complete* one latency after the occupancy ends.

    copy of 16 KiB, 64 bytes a cycle, latency 260:   occupies 256 cycles, complete 516 cycles after it started
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Rate:
    """Throughput and latency of one engine."""

    per_cycle: int
    """Bytes, or results of arithmetic, that the engine accepts per cycle."""
    latency: int
    """Cycles from the end of the occupancy to the completion."""

    def occupancy(self, amount: int) -> int:
        """Cycles for which `amount` occupies the engine."""
        return ceil(amount / self.per_cycle)


@dataclass(frozen=True)
class TensorCore:
    """All tensor cores of one multiprocessor."""

    flops_per_cycle: Mapping[int, int]
    """Bits of an element of the factors -> multiplications and additions per cycle."""
    latency: int

    def rate(self, bits: int) -> Rate:
        """The rate for factors of `bits`; wider elements than any in the table have the rate of the widest."""
        known = sorted(self.flops_per_cycle)
        nearest = next((width for width in known if width >= bits), known[-1])
        return Rate(self.flops_per_cycle[nearest], self.latency)


@dataclass(frozen=True)
class TimingTable:
    """The timing of one target. `sources` cites the origin of every number."""

    target: str
    copies: Mapping[str, Rate]
    """Engine that performs asynchronous copies -> its rate. An engine that is not listed has the rate of `copy`."""
    memory: Mapping[str, Rate]
    """Memory space -> the rate of loads and stores that an agent makes itself and waits for."""
    tensor_core: TensorCore
    arithmetic: Rate
    """The rate of one agent's arithmetic on tiles: elements per cycle of additions, products and conversions."""
    special: Rate
    """The rate of one agent's square roots, exponentials and the like: elements of tiles per cycle."""
    instruction: int
    """Cycles that an agent needs for an operation on scalars, or to issue asynchronous work."""
    signal: int
    """Cycles of an arrival, a commit, a fence, or a wait that finds what it waits for."""
    sources: tuple[str, ...]

    def copy_rate(self, engine: str) -> Rate:
        """The rate of a copying `engine`."""
        return self.copies.get(engine, self.copies["copy"])

    def memory_rate(self, space: str) -> Rate:
        """The rate of an agent's own accesses to `space`; a space that is not listed has the rate of global memory."""
        return self.memory.get(space, self.memory["global"])
