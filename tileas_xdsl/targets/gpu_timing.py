"""
The form of what is known of a whole GPU: its multiprocessors, what they share, and how many blocks each holds.

The figures of a device are in `measured/`. A multiprocessor has so many threads, registers and bytes of shared memory,
and a block takes its part of each until it ends:

    registers   65,536 of 4 bytes; a warp takes them in units of 256        64 warps, 32 blocks
    shared      228 KiB; 1 KiB of it is kept for each block

Source: CUDA C++ Programming Guide, "Compute Capabilities", of 8.0 and 9.0.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileas_xdsl.targets.machine_model import KEPT_BYTES
from tileas_xdsl.targets.warp_timing import WarpTiming
from tileas_xdsl.targets.warps import WARP

REGISTERS, REGISTERS_AT_ONCE = 65_536, 256
MOST_REGISTERS = 255
"""Of a thread."""
MOST_WARPS, MOST_BLOCKS = 64, 32


@dataclass(frozen=True, kw_only=True)
class GPUTiming:
    """What launches of many blocks take. Cycles are those of multiprocessors, bytes a cycle those of each."""

    device: str
    multiprocessors: int
    shared_bytes: int
    """Of a multiprocessor."""
    alone: WarpTiming
    """One multiprocessor while the others do nothing."""
    loaded: WarpTiming
    """One multiprocessor while all others load, too."""
    cache_bytes: int
    """Of the second-level cache: what larger arrays are read from is memory."""
    memory_bytes: float
    """Bytes a cycle that memory gives to each multiprocessor if all ask."""
    memory_latency: float
    """Cycles by which a load from memory takes longer than one from the cache."""
    spilled_bytes: float
    """Bytes of spilled registers that a multiprocessor moves in a cycle."""
    block_start: float
    """Cycles from the end of a block to the first instruction of the next."""
    launch_seconds: float
    """A launch behind another one."""
    clock: float
    """Cycles a second while little is done."""
    products_clock: float
    """Cycles a second while the tensor cores are always busy."""


@dataclass(frozen=True, kw_only=True)
class BlockNeeds:
    """What a block takes of its multiprocessor."""

    threads: int
    registers: int
    """Of a thread."""
    shared_bytes: int

    def together(self, shared_bytes: int) -> int:
        """How many such blocks a multiprocessor with so much shared memory holds at a time; 0 if none fits."""
        warps = -(-self.threads // WARP)
        of_warp = -(-self.registers * WARP // REGISTERS_AT_ONCE) * REGISTERS_AT_ONCE
        by_registers = REGISTERS // (of_warp * warps)
        by_shared = shared_bytes // (self.shared_bytes + KEPT_BYTES)
        return min(MOST_BLOCKS, MOST_WARPS // warps, by_registers, by_shared)
