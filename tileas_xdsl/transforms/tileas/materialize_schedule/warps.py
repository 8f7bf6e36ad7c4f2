"""
How the warps of a block and the registers of a multiprocessor are divided among agents.

A group of four warps (a warpgroup) is the unit in which registers can be handed over (PTX ISA, `setmaxnreg`) and in
which Hopper's products are issued. A thread has at most 255 registers, a multiprocessor 65,536, a block 32 warps.

A function stays in one agent for the reason that a `NoPartitionError` gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute

from tileas_xdsl.scheduling.op_times import memory_space, tile_bytes
from tileas_xdsl.targets.warps import (
    FRAGMENT_REGISTERS,
    MOST_WARPS,
    PRODUCER_REGISTERS,
    WARP,
    WARP_GROUP,
    WORKING_REGISTERS,
    block_warps,
    registers_each,
)


class NoPartitionError(Exception):
    """There is no partition: `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class WarpPartition:
    """For each agent its warps, and the registers of each of its threads."""

    warps: tuple[int, ...]
    registers: tuple[int, ...]


def warp_partition(
    kept: Sequence[Sequence[Attribute] | None], *, hands_over: bool, width: int = WARP_GROUP, blocks: int = 1
) -> WarpPartition | None:
    """
    The partition for agents of which each is a producer, None in `kept`, or carries tiles of the types there through
    its loops; None where they do not fit. An agent that computes has `width` warps, whole warpgroups that hold a tile
    together. `hands_over` says whether the target can give a thread more registers than another one has; `blocks` share
    the multiprocessor.
    """
    warps = tuple(WARP_GROUP if types is None else width for types in kept)
    if block_warps(warps) > MOST_WARPS:
        return None
    computing = [types for types in kept if types is not None]
    # Where a target hands over no registers, its products read their factors from them.
    working = WORKING_REGISTERS + (0 if hands_over else FRAGMENT_REGISTERS)
    needed = [working + _registers_of(types, width * WARP) for types in computing]
    groups = block_warps(warps) // WARP_GROUP
    share = registers_each(groups, kept.count(None), hands_over=hands_over, blocks=blocks)
    if max(needed, default=0) > share:
        return None
    producer = PRODUCER_REGISTERS if hands_over else share
    registers = tuple(producer if types is None else share for types in kept)
    return WarpPartition(warps, registers)


def _registers_of(types: Iterable[Attribute], threads: int) -> int:
    """The registers of a thread that tiles take, spread over all threads of an agent."""
    return -(-sum(tile_bytes(type_) for type_ in types if memory_space(type_) == "register") // (4 * threads))
