"""
Warps and registers of NVIDIA's multiprocessors, as far as agents divide them (CUDA C++ Programming Guide, "Compute
Capabilities"; PTX ISA, `setmaxnreg`). Registers are 4 bytes each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
FRAGMENT_REGISTERS = 16
"""Of a thread for the factors of `mma.sync`: those of two rows of instructions, one of which is being loaded."""
CONSUMER_REGISTERS = 232
"""Of a thread that computes, where that many are left."""


def registers_each(agents: int, producers: int, *, hands_over: bool, blocks: int = 1) -> int:
    """
    Registers of a thread of each of `agents` warpgroups that is no producer; `hands_over` says whether the target can
    give a thread more than another one has. They all start with an even share, in steps, and that is what there is.
    `blocks` of these agents share a multiprocessor.
    """
    share = REGISTERS // (WARP_GROUP * WARP * agents * blocks) // REGISTER_STEP * REGISTER_STEP
    if hands_over and agents > producers:
        share = min((share * agents - PRODUCER_REGISTERS * producers) // (agents - producers), CONSUMER_REGISTERS)
    return min(share, USABLE_REGISTERS) // REGISTER_STEP * REGISTER_STEP


def up_to_groups(warps: int) -> int:
    """`warps`, or as many more as make whole warpgroups."""
    return -(-warps // WARP_GROUP) * WARP_GROUP


def first_warps(agents: Sequence[int]) -> list[int]:
    """
    The first warp of each agent, given their warps, at a multiple of its own number of warps. They lie in order; or
    that with the most warps lies first, where the block needs fewer warpgroups so.
    """
    in_order = range(len(agents))
    largest_first = sorted(in_order, key=lambda agent: -agents[agent])
    return min((_placed(agents, order) for order in (in_order, largest_first)), key=lambda at: _block_warps(agents, at))


def _placed(agents: Sequence[int], order: Iterable[int]) -> list[int]:
    """The first warp of each agent, where they lie one behind the other in `order`."""
    starts, end = [0] * len(agents), 0
    for agent in order:
        warps = agents[agent]
        starts[agent] = -(-end // warps) * warps if warps else end
        end = starts[agent] + warps
    return starts


def block_warps(agents: Sequence[int]) -> int:
    """The warps of a block whose agents have so many, with the holes between them, in whole warpgroups."""
    return _block_warps(agents, first_warps(agents))


def _block_warps(agents: Sequence[int], starts: Sequence[int]) -> int:
    return up_to_groups(max((start + warps for start, warps in zip(starts, agents, strict=True)), default=0))
