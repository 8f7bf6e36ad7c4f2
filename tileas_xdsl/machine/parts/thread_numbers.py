"""Numbers of threads, warps and blocks, and of how many there are, as the ops of each dialect read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import effect
from tileas_xdsl.machine.core.opaque_numbers import block_number
from tileas_xdsl.machine.core.threads.by_thread import per_thread
from tileas_xdsl.machine.core.threads.clusters import number_in_cluster
from tileas_xdsl.machine.core.threads.hardware import Threads
from tileas_xdsl.machine.core.violations import UndecidedError

Reading = Callable[[Threads], Iterable[int]]
"""What each thread of an agent reads."""


def thread_id(dimension: int) -> Reading:
    """The coordinate of each thread in its block along `dimension` (0: x)."""
    return lambda threads: threads.along(dimension)


def block_extent(dimension: int) -> Reading:
    return lambda threads: [threads.shape[dimension]] * threads.count


def lane_ids(threads: Threads) -> list[int]:
    """The number of each thread in its warp."""
    return [number % threads.per_warp for number in threads.numbers]


def warp_ids(threads: Threads) -> list[int]:
    """The number of the warp of each thread in the block."""
    return [number // threads.per_warp for number in threads.numbers]


def warp_sizes(threads: Threads) -> list[int]:
    return [threads.per_warp] * threads.count


def warps_in_block(threads: Threads) -> list[int]:
    return [-(-prod(threads.shape) // threads.per_warp)] * threads.count


def read_by_threads(agent: Agent, op: Operation, reading: Reading) -> Any:
    """
    What `op` reads in each thread of `agent`.

    Raises `UndecidedError` where nothing says how many threads run the function.
    """
    if agent.hardware is None:
        raise UndecidedError(
            op,
            "depends on the number of the thread, or of threads, and nothing says how many there are: give the "
            "function nvvm.reqntid, its agents num_warps, or pass --threads",
        )
    return per_thread(agent, list(reading(agent.hardware)))


def block_ids(name_of: Callable[[Any], str], *ops: type[Operation]) -> None:
    """The ops of these classes read an id of the block, called `name_of(op)`: 0 where there is one block."""
    _read_of_the_grid(name_of, ops, alone=0)


def block_extents(name_of: Callable[[Any], str], *ops: type[Operation]) -> None:
    """The ops of these classes read how many blocks there are, called `name_of(op)`."""
    _read_of_the_grid(name_of, ops, alone=1)


def _read_of_the_grid(name_of: Callable[[Any], str], ops: tuple[type[Operation], ...], *, alone: int) -> None:
    @effect(*ops, number_of_block=name_of)
    def _read(agent: Agent, op: Operation) -> int:
        in_cluster = None if agent.block is None else number_in_cluster(agent.machine, agent.block, name_of(op))
        return block_number(agent.machine, name_of(op), alone) if in_cluster is None else in_cluster
