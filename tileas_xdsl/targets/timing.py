"""
How long things take on one streaming multiprocessor: what a table of cycles holds. The tables are in `cycles.py`.

Throughput and latency are kept apart. Work *occupies* its engine for as many cycles as it has bytes (or operations)
divided by the engine's rate; the engine then takes up the next. The work is *complete* one latency later.

    copy of 16 KiB, 64 bytes a cycle, latency 260:   occupies 256 cycles, complete 516 cycles after it started
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Rate:
    """What one engine does."""

    per_cycle: int
    """Bytes, or results of arithmetic, that it takes up in a cycle."""
    latency: int
    """Cycles from the end of the occupancy to the completion."""

    def occupancy(self, amount: int) -> int:
        """Cycles for which `amount` keeps the engine."""
        return ceil(amount / self.per_cycle)


@dataclass(frozen=True)
class TensorCore:
    """All tensor cores of one multiprocessor."""

    flops_per_cycle: Mapping[int, int]
    """Bits of an element of the factors -> multiplications and additions a cycle."""
    latency: int

    def rate(self, bits: int) -> Rate:
        """The rate for factors of `bits`; wider elements than any that is known go at the rate of the widest."""
        known = sorted(self.flops_per_cycle)
        nearest = next((width for width in known if width >= bits), known[-1])
        return Rate(self.flops_per_cycle[nearest], self.latency)


@dataclass(frozen=True)
class TimingTable:
    """The cycles of one target. Every number has its origin in `sources`."""

    target: str
    copies: Mapping[str, Rate]
    """Engine that performs asynchronous copies -> bytes a cycle. An engine that is not listed is as `copy`."""
    memory: Mapping[str, Rate]
    """Memory space -> bytes a cycle of loads and stores that an agent makes itself and waits for."""
    tensor_core: TensorCore
    arithmetic: Rate
    """Elements of tiles that one agent computes in a cycle: additions, products, conversions."""
    special: Rate
    """The same for square roots, exponentials and the like."""
    instruction: int
    """Cycles that an agent needs for an operation on scalars, or to issue asynchronous work."""
    signal: int
    """Cycles of an arrival, a commit, a fence, or a wait that finds what it waits for."""
    sources: tuple[str, ...]

    def copy_rate(self, engine: str) -> Rate:
        """The rate of a copying `engine`."""
        return self.copies.get(engine, self.copies["copy"])

    def memory_rate(self, space: str) -> Rate:
        """The rate of an agent's own accesses to `space`; what is not listed is as far away as global memory."""
        return self.memory.get(space, self.memory["global"])
