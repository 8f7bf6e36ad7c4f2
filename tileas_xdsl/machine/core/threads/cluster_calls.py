"""
Calling a kernel by all blocks of a cluster, where they reach into each other.

    main                    waits for all blocks
      block 0, block 1      each runs the whole function, by one agent or by its warps, with shared memory of its own

A block ends when its function does. Only between its start and its end its shared memory is there (`clusters`).

The function says how many blocks a cluster has:

    llvm.func @k(...) attributes {nvvm.kernel, nvvm.cluster_dim = array<i32: 2, 1, 1>}
      %peer = nvvm.mapa %ring, %rank : !llvm.ptr<3> -> !llvm.ptr<7>        the same place in another block

A kernel *crosses blocks* if it takes addresses in other blocks, copies to several blocks, or lets blocks that know
their ranks meet at the barrier of the cluster. Of any other kernel one block speaks for all of its cluster.

Sources: MLIR's `nvvm` (`cluster_dim`) and `gpu` (`known_cluster_size`) dialects; PTX ISA, "mapa", "cp.async.bulk"
(`.multicast::cluster`) and "Cluster of Cooperative Thread Arrays".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from tileas_xdsl.interfaces import FunctionOpInterface
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import CLUSTER_SIZE
from tileas_xdsl.machine.core.meaning import crossing_of, facts_of
from tileas_xdsl.machine.core.op_facts import Crosses
from tileas_xdsl.machine.core.opaque_numbers import base_of, rebased
from tileas_xdsl.machine.core.standings import Answer, Request, continuation
from tileas_xdsl.machine.core.synchronization import EndOfAgents, RendezvousCondition
from tileas_xdsl.machine.core.threads.block_barriers import threads_left
from tileas_xdsl.machine.core.threads.blocks import body_of, call_by_block
from tileas_xdsl.machine.core.threads.clusters import (
    SHARED,
    BlockOfCluster,
    Cluster,
    ClusterMemory,
    barrier_of_cluster,
    end_block,
    existence,
    start_block,
)
from tileas_xdsl.machine.core.violations import UnsupportedError

Shape = tuple[int, int, int]
"""Extents of a cluster of blocks in x, y and z; block number r is x + X (y + Y z)."""

CLUSTER_SHAPES = ("nvvm.cluster_dim", "gpu.known_cluster_size", "known_cluster_size")
"""Attributes of a function that say the extents of its clusters."""
MASK = "multicast_mask"
"""The operand by which a copy names several blocks."""
RANKS = "cluster.cta"
"""How the names of the numbers begin that tell the blocks of a cluster apart: `ctarank`, `ctaid.x`."""
FEWEST_BLOCKS = 2
"""Of a cluster that says nothing of its size."""


def crosses_blocks(function: Operation) -> bool:
    """Whether blocks that run `function` may reach into other blocks of their cluster, or wait for them by rank."""
    meets = knows_rank = False
    for op in _ops_of(function, {function}):
        facts, crossing = facts_of(op), crossing_of(op)
        if crossing in (Crosses.BY_RANK, Crosses.BY_TYPES) or getattr(op, MASK, None) is not None:
            return True
        meets |= crossing is Crosses.BY_MEETING
        knows_rank |= facts.number_of_block is not None and facts.number_of_block(op).startswith(RANKS)
    return meets and knows_rank


def stated_cluster_shape(function: Operation) -> Shape | None:
    """The extents of the clusters that run `function`; None where it does not say so."""
    for name in CLUSTER_SHAPES:
        attribute = function.properties.get(name) or function.attributes.get(name)
        extents = [int(extent) for extent in attribute.get_values()] if isinstance(attribute, DenseArrayBase) else []
        if 1 <= len(extents) <= 3 and min(extents) >= 1:
            x, y, z = [*extents, 1, 1][:3]
            return x, y, z
    of_module = blocks_of_module(function)
    return None if of_module is None else (of_module, 1, 1)


BLOCKS_OF_CLUSTER = "ttg.num-ctas"
"""Attribute of Triton's modules: how many blocks make a cluster, side by side."""


def blocks_of_module(op: Operation) -> int | None:
    """How many blocks make a cluster in the module around `op`; None where that does not say so."""
    while (above := op.parent_op()) is not None:
        op = above
    blocks = op.attributes.get(BLOCKS_OF_CLUSTER)
    return blocks.value.data if isinstance(blocks, IntegerAttr) else None


def cluster_shape_of(function: Operation) -> Shape:
    """
    The extents of the clusters that run `function`. One that does not say so has two blocks in a row, or as many as
    the constant ranks and multicast masks in it name.
    """
    stated = stated_cluster_shape(function)
    if stated is not None:
        return stated
    named = FEWEST_BLOCKS
    for op in _ops_of(function, {function}):
        if crossing_of(op) is Crosses.BY_RANK:
            named = max(named, 1 + (_constant(op.operands[-1]) or 0))
        mask = getattr(op, MASK, None)
        if mask is not None:
            named = max(named, ((_constant(mask) or 0) & MOST_BITS).bit_length())
    return named, 1, 1


MOST_BITS = 0xFFFF
"""Of a multicast mask."""


def _constant(value: SSAValue) -> int | None:
    """The number that `value` is wherever the function runs; None where nothing says so."""
    op = value.owner
    attribute = (op.properties.get("value") or op.attributes.get("value")) if isinstance(op, Operation) else None
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def _ops_of(function: Operation, seen: set[Operation]) -> Iterator[Operation]:
    """The ops in `function` and in the functions that it calls."""
    for op in function.walk():
        yield op
        symbol = getattr(op, "callee", None)
        callee = None if symbol is None else SymbolTable.lookup_symbol(op, symbol)
        if callee is not None and callee not in seen:
            seen.add(callee)
            yield from _ops_of(callee, seen)


MOST_BLOCKS = 16
"""Of a cluster (CUDA C++ Programming Guide, "Thread Block Clusters": 8, and 16 where the launch allows it)."""


def call_by_grid(agent: Agent, function: Operation, arguments: Sequence[Any], given: int | None) -> Request:
    """
    Call `function` by a block of `given` threads that stands for all of them; by the blocks of a cluster where these
    reach into each other. The outcome is what it returns to the first of them.
    """
    if not agent.code.fact(crosses_blocks, function):
        return call_by_block(agent, function, arguments, given)
    cluster = agent.shared(Cluster)
    blocks = _blocks_of(agent, function)
    _share_out(agent.shared(ClusterMemory), blocks, arguments)
    for block in blocks:
        child = agent.fork(f"block {block.rank}", function, _run_block, tuple(arguments), given, captures=[])
        child.block = block
        cluster.blocks.append(child)
        agent.note(function, "fork", f"starts {child.name}", on=child)
    end = EndOfAgents(cluster.blocks)
    return agent.wait(end, function).then(_take_results, end)


def _blocks_of(agent: Agent, function: Operation) -> list[BlockOfCluster]:
    shape = cluster_shape_of(function)
    if prod(shape) > MOST_BLOCKS:
        raise UnsupportedError(function, f"has clusters of {prod(shape)} blocks; there are at most {MOST_BLOCKS}")
    if stated_cluster_shape(function) is None:
        agent.assume(CLUSTER_SIZE.about(str(prod(shape))))
    return [BlockOfCluster(rank, shape) for rank in range(prod(shape))]


def _share_out(memory: ClusterMemory, blocks: Sequence[BlockOfCluster], arguments: Sequence[Any]) -> None:
    """Give each of `blocks` objects of its own instead of those in shared memory that `arguments` name."""
    named = dict.fromkeys(base for value in arguments if (base := base_of(value)) is not None)
    for base in named:
        if base.space == SHARED:
            memory.give_each_block_its_own(base, blocks)


@continuation
def _run_block(agent: Agent, function: Operation, _: None, arguments: Sequence[Any], given: int | None) -> Answer:
    memory, block = agent.shared(ClusterMemory), agent.block
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
    interface = FunctionOpInterface.of(function)
    if interface is None or not interface.meets_at_end:
        return _end(agent, function, results)
    met = _meet(agent, last_op(function))
    return agent.wait(met, last_op(function)).then(_end_behind_meeting, results)


def _meet(agent: Agent, op: Operation) -> RendezvousCondition:
    """`agent`, which stands for its block, arrives at the barrier of the cluster with all that it knows."""
    assert agent.block is not None
    barrier = barrier_of_cluster(agent)
    agent.shares(barrier.name, alone=True)
    agent.note(op, "arrive", f"arrives at {barrier.name}", on=barrier, turn=barrier.generation)
    moment, told = agent.moment, existence(agent)
    told.merge(agent.release())
    generation = barrier.arrive_in(agent.block.rank, told, agent.number, moment, agent.threads, threads_left(agent))
    return RendezvousCondition(barrier, generation)


@continuation
def _end_behind_meeting(agent: Agent, op: Operation, _: None, results: Any) -> Answer:
    return _end(agent, op, results)


def _end(agent: Agent, op: Operation, results: Any) -> Answer:
    end_block(agent, last_op(op) if op.regions else op)
    return results


def last_op(function: Operation) -> Operation:
    """The op at the end of `function`, for messages."""
    block = body_of(function).last_block
    return function if block is None or block.last_op is None else block.last_op


@continuation
def _take_results(agent: Agent, function: Operation, _: None, end: EndOfAgents) -> Answer:
    agent.note(function, "wait", f"sees the end of {len(end.agents)} blocks", on=end)
    return end.agents[0].outcome or ()
