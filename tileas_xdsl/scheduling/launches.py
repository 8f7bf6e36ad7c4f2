"""
How long a launch of many blocks takes: waves of them over the multiprocessors, what they share, and the clock.

    multiprocessor 0   block 0 | block 264 | ...          two at a time on each of 132: waves of 264
                       block 132 | block 396 | ...        the last wave may be smaller

Blocks that compute many programs are there once, and each takes every n-th:

    multiprocessor 0   block 0: program 0 | 132 | 264 | ...    what is before a loop, and behind it, is there once;
                                                               between two programs stands what nothing hides

A block takes a part before and behind its loop, and a period for each turn (`BlockTime`); both depend on how many
blocks share its multiprocessor. Whoever foretells them (the schedule, or the code of the threads) is not this module's
matter. No turn is shorter than what it loads from memory, if the arrays are larger than the second-level cache. Tiles
that blocks of one wave share come from memory once: the order of programs decides how many.

The clock falls while the tensor cores are busy: on the line between its two measured figures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tileas_xdsl.targets.gpu_timing import GPUTiming

RESIDENT = 0.8
"""Part of the second-level cache that arrays may fill and still be found there by the next launch: assumed."""


@dataclass(frozen=True)
class BlockTime:
    """Cycles of a block: `turns` turns, and what is before and behind them."""

    turn: float
    rest: float
    turns: float

    @property
    def cycles(self) -> float:
        """All of it."""
        return self.rest + self.turn * self.turns


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What the blocks of a launch read of global memory."""

    array_bytes: int
    """Of all arrays that are read."""
    distinct: float = 1.0
    """Bytes of different tiles that the blocks of a wave read in a turn, by all that they read."""
    turn_bytes: float = 0.0
    """That one block reads in a turn."""

    def from_memory(self, gpu: GPUTiming) -> float:
        """The part of what is read that comes from memory."""
        return self.distinct if self.array_bytes > RESIDENT * gpu.cache_bytes else 0.0


@dataclass(frozen=True, kw_only=True)
class Launched:
    """What is foretold of a launch."""

    seconds: float
    waves: float
    """Of blocks, the last one counted by its part."""
    together: int
    """Blocks on a multiprocessor at a time."""
    turn: float
    """Cycles of a turn of one block, in a full wave."""
    bound: str
    """What binds a turn: `block`, or `memory`."""
    busy: float
    """Part of the cycles in which the tensor cores work."""


def launched(
    blocks: int,
    together: int,
    time_of: Callable[[int], BlockTime],
    traffic: Traffic,
    product: float,
    gpu: GPUTiming,
    between: float | None = None,
) -> Launched:
    """
    A launch of `blocks` blocks, `together` on a multiprocessor, each with `product` cycles of the tensor cores in all.
    `time_of` says what a block takes if so many share a multiprocessor. Where blocks compute many programs, `blocks`
    counts these, and `between` are the cycles from the turns of one to those of the next.
    """
    at_once = gpu.multiprocessors * together
    if between is not None:
        return _persistent(blocks, together, time_of(min(together, blocks)), traffic, product, gpu, between)
    full, left = divmod(blocks, at_once)
    cycles, bound, turn = 0.0, "block", 0.0
    for waves, sharing in ((full, together), (min(left, 1), -(-left // gpu.multiprocessors))):
        if not waves:
            continue
        time = time_of(sharing)
        memory = sharing * traffic.turn_bytes * traffic.from_memory(gpu) / gpu.memory_bytes
        if not turn:
            turn, bound = max(time.turn, memory), "memory" if memory > time.turn else "block"
        cycles += waves * (time.rest + time.turns * max(time.turn, memory) + gpu.block_start)
    return _timed(cycles, blocks, together, turn, bound, product, gpu)


def _persistent(
    programs: int,
    together: int,
    time: BlockTime,
    traffic: Traffic,
    product: float,
    gpu: GPUTiming,
    between: float,
) -> Launched:
    """A launch of as many blocks as there is room for. The last to end decides: it may have a program more."""
    memory = together * traffic.turn_bytes * traffic.from_memory(gpu) / gpu.memory_bytes
    turn, bound = max(time.turn, memory), "memory" if memory > time.turn else "block"
    most = -(-programs // (gpu.multiprocessors * together))
    cycles = gpu.block_start + time.rest + most * time.turns * turn + (most - 1) * between
    return _timed(cycles, programs, together, turn, bound, product, gpu)


def _timed(
    cycles: float, blocks: int, together: int, turn: float, bound: str, product: float, gpu: GPUTiming
) -> Launched:
    busy = min(blocks * product / gpu.multiprocessors / cycles, 1.0)
    clock = gpu.clock - (gpu.clock - gpu.products_clock) * busy
    return Launched(
        seconds=cycles / clock + gpu.launch_seconds,
        waves=blocks / (gpu.multiprocessors * together),
        together=together,
        turn=turn,
        bound=bound,
        busy=busy,
    )
