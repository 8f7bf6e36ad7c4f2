"""
Calling a kernel by all blocks of a cluster, where they reach into each other (`crossing`).

    main                    waits for all blocks
      block 0, block 1      each runs the whole function, by one agent or by its warps, with shared memory of its own

A block ends when its function does. Only between its start and its end its shared memory is there (`clusters`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import CLUSTER_SIZE
from tileas_xdsl.machine.core.opaque_numbers import base_of, rebased
from tileas_xdsl.machine.core.standings import Answer, Request, continuation
from tileas_xdsl.machine.core.synchronization import EndOfAgents
from tileas_xdsl.machine.core.threads.blocks import body_of, call_by_block
from tileas_xdsl.machine.core.threads.clusters import (
    SHARED,
    BlockOfCluster,
    Cluster,
    ClusterMemory,
    end_block,
    start_block,
)
from tileas_xdsl.machine.core.threads.crossing import cluster_shape_of, crosses_blocks, stated_cluster_shape
from tileas_xdsl.machine.core.violations import UnsupportedError

MOST_BLOCKS = 16
"""Of a cluster (CUDA C++ Programming Guide, "Thread Block Clusters": 8, and 16 where the launch allows it)."""


def call_by_grid(agent: Agent, function: Operation, arguments: Sequence[Any], given: int | None) -> Request:
    """
    Call `function` by a block of `given` threads that stands for all of them; by the blocks of a cluster where these
    reach into each other. The outcome is what it returns to the first of them.
    """
    if not agent.machine.code.fact(crosses_blocks, function):
        return call_by_block(agent, function, arguments, given)
    cluster = agent.machine.part(Cluster)
    blocks = _blocks_of(agent, function)
    _share_out(agent.machine.part(ClusterMemory), blocks, arguments)
    for block in blocks:
        child = agent.fork(f"block {block.rank}", function, _run_block, tuple(arguments), given, captures=[])
        child.block = block
        cluster.blocks.append(child)
        agent.machine.happened(agent, function, "fork", f"starts {child.name}", on=child)
    end = EndOfAgents(cluster.blocks)
    return agent.wait(end, function).then(_take_results, end)


def _blocks_of(agent: Agent, function: Operation) -> list[BlockOfCluster]:
    shape = cluster_shape_of(function)
    if prod(shape) > MOST_BLOCKS:
        raise UnsupportedError(function, f"has clusters of {prod(shape)} blocks; there are at most {MOST_BLOCKS}")
    if stated_cluster_shape(function) is None:
        agent.machine.assume(CLUSTER_SIZE.about(str(prod(shape))))
    return [BlockOfCluster(rank, shape) for rank in range(prod(shape))]


def _share_out(memory: ClusterMemory, blocks: Sequence[BlockOfCluster], arguments: Sequence[Any]) -> None:
    """Give each of `blocks` objects of its own in the place of those in shared memory that `arguments` name."""
    named = dict.fromkeys(base for value in arguments if (base := base_of(value)) is not None)
    for base in named:
        if base.space == SHARED:
            memory.give_each_block_its_own(base, blocks)


@continuation
def _run_block(agent: Agent, function: Operation, _: None, arguments: Sequence[Any], given: int | None) -> Answer:
    memory, block = agent.machine.part(ClusterMemory), agent.block
    assert block is not None
    own = [_in_block(memory, value, block.rank) for value in arguments]
    start_block(agent, function)
    return call_by_block(agent, function, own, given).then(_leave)


def _in_block(memory: ClusterMemory, value: Any, rank: int) -> Any:
    """What `value`, an argument, is in block `rank`."""
    base = base_of(value)
    own = None if base is None else memory.of_block(base, rank)
    return value if own is None else rebased(value, own)


@continuation
def _leave(agent: Agent, function: Operation, results: Any) -> Answer:
    end_block(agent, last_op(function))
    return results


def last_op(function: Operation) -> Operation:
    """The op at the end of `function`, for messages."""
    block = body_of(function).last_block
    return function if block is None or block.last_op is None else block.last_op


@continuation
def _take_results(agent: Agent, function: Operation, _: None, end: EndOfAgents) -> Answer:
    agent.machine.happened(agent, function, "wait", f"sees the end of {len(end.agents)} blocks", on=end)
    return end.agents[0].outcome or ()
