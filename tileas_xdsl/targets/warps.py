"""
Warps and registers of NVIDIA's multiprocessors, as far as agents divide them (CUDA C++ Programming Guide, "Compute
Capabilities"; PTX ISA, `setmaxnreg`). Registers are 4 bytes each.
"""

from __future__ import annotations

from collections.abc import Sequence

WARP = 32
"""Threads of a warp."""
WARP_GROUP = 4
"""Warps of a warpgroup: the unit of `setmaxnreg`, of `wgmma`, and of a block's size here."""
MOST_WARPS = 32
"""Of a block."""
REGISTERS = 65_536
"""Of a multiprocessor."""
REGISTER_STEP = 8
"""`setmaxnreg` counts in eights."""
LEAST_REGISTERS = 24
MOST_REGISTERS = 256
"""Of a thread, as `setmaxnreg` takes them."""
USABLE_REGISTERS = 255
"""Of a thread: the last number names none."""
PRODUCER_REGISTERS = 40
"""Of a thread that only starts transfers, as CUTLASS's warp-specialised kernels leave it."""
WORKING_REGISTERS = 40
"""Of a thread for addresses and operands, beside the tiles that it keeps."""
CONSUMER_REGISTERS = 232
"""Of a thread that computes, where that many are left."""


def registers_each(agents: int, producers: int, *, hands_over: bool) -> int:
    """
    Registers of a thread of each of `agents` warpgroups that is no producer; `hands_over` says whether the target can
    give a thread more than another one has.
    """
    room = REGISTERS // (WARP_GROUP * WARP)
    share = room // agents
    if hands_over and agents > producers:
        share = min((room - PRODUCER_REGISTERS * producers) // (agents - producers), CONSUMER_REGISTERS)
    return min(share, USABLE_REGISTERS) // REGISTER_STEP * REGISTER_STEP


def up_to_groups(warps: int) -> int:
    """`warps`, or as many more as make whole warpgroups."""
    return -(-warps // WARP_GROUP) * WARP_GROUP


def first_warps(agents: Sequence[int]) -> list[int]:
    """The first warp of each agent, given their warps: in order, each at a multiple of its own number of warps."""
    starts: list[int] = []
    end = 0
    for warps in agents:
        start = -(-end // warps) * warps if warps else end
        starts.append(start)
        end = start + warps
    return starts


def block_warps(agents: Sequence[int]) -> int:
    """The warps of a block whose agents have so many, with the holes between them, in whole warpgroups."""
    return up_to_groups(
        max((start + warps for start, warps in zip(first_warps(agents), agents, strict=True)), default=0)
    )
