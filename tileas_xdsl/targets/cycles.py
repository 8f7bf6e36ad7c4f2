"""
The timing tables of the targets, in cycles of one streaming multiprocessor.

A number without a citation is an estimate, and is marked as one. The tables serve to compare schedules with each other,
not to predict measured times. Peak rates follow from published peaks: 989 TFLOPS of dense f16 on an H100 are 4096
operations a cycle on each of its 132 multiprocessors at 1.83 GHz. Copies are taken to hit the second-level cache, which
neighbouring blocks share.

A table has rates and latencies of one streaming multiprocessor. Throughput and latency are separate. Work *occupies*
its engine for its bytes (or operations) divided by the engine's rate, in cycles; then the engine accepts the next work.
The work is *complete* one latency after the occupancy ends.

    copy of 16 KiB, 64 bytes a cycle, latency 260:   occupies 256 cycles, complete 516 cycles after it started
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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


CUDA_GUIDE = "CUDA C++ Programming Guide, arithmetic instructions: results a clock cycle and multiprocessor"
SHARED_GUIDE = "CUDA C++ Programming Guide, shared memory: 32 banks of 4 bytes a cycle"
LATENCIES = "Luo et al., Dissecting the Nvidia Hopper GPU Architecture (arXiv 2402.13499): latencies of that order"
BLACKWELL = (
    "Jarmusch et al., Dissecting the NVIDIA Blackwell Architecture (arXiv 2507.10789): latencies are near Hopper's"
)
SIGNALS = "estimate: cycles of mbarrier arrivals, commits and waits; 64 bytes a cycle from the second-level cache"

FREE = Rate(1 << 40, 0)
"""The rate of accesses that cost nothing: registers, and the reservation of memory."""


def _copies(latency: int, tma: int) -> dict[str, Rate]:
    """The copy engines of a target: 64 bytes a cycle each; TMA has a latency of its own."""
    return {"copy": Rate(64, latency), "cp.async": Rate(64, latency), "tma": Rate(64, tma), "memory": FREE}


def _memory(far: int, near: int, host: int) -> dict[str, Rate]:
    """
    The rates at which an agent itself accesses global memory, memory on the multiprocessor and memory of the host.
    """
    on_chip = Rate(128, near)
    return {
        "global": Rate(64, far),
        "shared": on_chip,
        "tensor": on_chip,
        "host": Rate(64, host),
        "register": FREE,
        "private": FREE,
    }


GENERIC = TimingTable(
    target="generic",
    copies=_copies(500, tma=500),
    memory=_memory(500, near=30, host=500),
    tensor_core=TensorCore({4: 8192, 8: 4096, 16: 2048, 32: 1024, 64: 128}, latency=20),
    arithmetic=Rate(128, 4),
    special=Rate(16, 20),
    instruction=1,
    signal=10,
    sources=("round numbers of no machine in particular, made for calculating by hand",),
)

SM_80 = TimingTable(
    target="sm_80",
    copies=_copies(260, tma=260),
    memory=_memory(260, near=29, host=470),
    tensor_core=TensorCore({4: 8192, 8: 4096, 16: 2048, 32: 1024, 64: 128}, latency=18),
    arithmetic=Rate(64, 4),
    special=Rate(16, 18),
    instruction=1,
    signal=10,
    sources=(
        "NVIDIA A100 Tensor Core GPU Architecture (whitepaper): 312 TFLOPS of dense f16, 108 SMs at 1.41 GHz",
        CUDA_GUIDE,
        SHARED_GUIDE,
        LATENCIES,
        SIGNALS,
    ),
)

SM_90 = TimingTable(
    target="sm_90",
    copies=_copies(263, tma=430),
    memory=_memory(263, near=29, host=479),
    tensor_core=TensorCore({8: 8192, 16: 4096, 32: 2048, 64: 256}, latency=18),
    arithmetic=Rate(128, 4),
    special=Rate(16, 18),
    instruction=1,
    signal=10,
    sources=(
        "NVIDIA H100 Tensor Core GPU Architecture (whitepaper): 989 TFLOPS of dense f16, 132 SMs at 1.83 GHz",
        CUDA_GUIDE,
        SHARED_GUIDE,
        LATENCIES,
        "estimate: a TMA load takes some 170 cycles more than a load by a thread",
        SIGNALS,
    ),
)

SM_100 = replace(
    SM_90,
    target="sm_100",
    tensor_core=TensorCore({4: 32768, 8: 16384, 16: 8192, 32: 4096, 64: 128}, latency=18),
    sources=(
        "NVIDIA Blackwell Architecture (technical brief): B200, 2.25 PFLOPS of dense f16, 148 SMs at 1.85 GHz",
        CUDA_GUIDE,
        SHARED_GUIDE,
        BLACKWELL,
        "estimate: a TMA load takes as long as on sm_90",
        SIGNALS,
    ),
)

TABLES = {table.target: table for table in (GENERIC, SM_80, SM_90, SM_100)}

TARGETS = tuple(TABLES)
"""The targets that have a table, older ones first."""


def timing_table(target: str) -> TimingTable:
    """
    The table of `target`: the one of that name, else of the nearest older target (`sm_103a` is timed as `sm_100`).

    Raises `ValueError`, naming the choices, where there is none.
    """
    name = target.rstrip("af")
    if name in TABLES:
        return TABLES[name]
    number = name.removeprefix("sm_")
    if name.startswith("sm_") and number.isdecimal():
        older = [known for known in TARGETS if known.startswith("sm_") and int(known[3:]) <= int(number)]
        if older:
            return TABLES[older[-1]]
    raise ValueError(f"no cycles are known of the target '{target}': choose one of {', '.join(TARGETS)}")
