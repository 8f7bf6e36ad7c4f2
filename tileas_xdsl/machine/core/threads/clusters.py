"""
The blocks of a cluster: which one an agent belongs to, what shared memory each has, and where a block finds that of
the others.

    %peer = nvvm.mapa %ring, %rank       block 0 names 'ring of block 0', and gets the place in 'ring of block %rank'

Each block runs the whole function, with agents, shared memory and barriers of its own. What lies in shared memory lies
in an object for each block; these are *peers*, and a place in one has its like in all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from xdsl.ir import Operation

from tileas_xdsl.machine.core.assumptions import BLOCKS_ALONE
from tileas_xdsl.machine.core.happens_before import Access, Knowledge, Proxy
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.opaque_numbers import OpaqueNumber, SumOfIds
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.core.synchronization import Rendezvous
from tileas_xdsl.machine.core.threads.hardware import BlockOfCluster

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.agents import Agent
    from tileas_xdsl.machine.core.execution import Machine

SHARED = "shared"
"""The state space of which each block has its own."""


# Ranks and ids --------------------------------------------------------------------------------------------------------

AXES = "xyz"
FROM_CLUSTERS = {"ctaid": "clusterid", "block_id": "clusterid", "nctaid": "nclusterid", "grid_dim": "nclusterid"}
"""Ids and extents of blocks -> those of clusters that they are computed from."""


def number_in_cluster(machine: Machine, block: BlockOfCluster, name: str) -> int | None:
    """
    The id or extent called `name` as `block` reads it; None for one that is the same in all blocks of the cluster.

    The id of a block in the grid is that of its cluster times the extent of the cluster, and its own in the cluster.
    """
    if name == "cluster.ctarank":
        return block.rank
    if name == "cluster.nctarank":
        return block.count
    kind, _, axis = name.rpartition(".")
    if kind == "cluster.ctaid":
        return block.along(AXES.index(axis))
    if kind == "cluster.nctaid":
        return block.shape[AXES.index(axis)]
    if kind not in FROM_CLUSTERS:
        return None
    return _number_in_grid(machine, block, kind, axis)


def _number_in_grid(machine: Machine, block: BlockOfCluster, kind: str, axis: str) -> int:
    grid, number = machine.grid, AXES.index(axis)
    extent, is_id = block.shape[number], FROM_CLUSTERS[kind] == "clusterid"
    clusters = f"{FROM_CLUSTERS[kind]}.{axis}"
    own = block.along(number) if is_id else 0
    if clusters in grid.numbers:
        return grid.numbers[clusters] * extent + own
    if not grid.is_opaque:
        given = grid.numbers.get(f"{kind}.{axis}")
        of_cluster = (0 if is_id else extent) if given is None else given // extent * extent
        return of_cluster + own
    machine.assume(BLOCKS_ALONE)
    machine.opaque_names |= {clusters}
    alone = own if is_id else extent
    return OpaqueNumber(alone, SumOfIds(((clusters, extent),)), frozenset([clusters]))


# Shared memory --------------------------------------------------------------------------------------------------------


@dataclass
class ClusterMemory(SharedPart):
    """The objects in the shared memory of the blocks of a cluster."""

    firsts: list[MemoryObject] = field(default_factory=list[MemoryObject])
    """Those of block 0, in the order in which they were made. Each names its like in the other blocks (`peers`)."""

    def draw(self, canvas: Canvas) -> None:
        """Each object: whoever names one can name its peers."""
        for first in self.firsts:
            canvas.sequence(first.peers)

    def owner(self, base: MemoryObject) -> int | None:
        """The rank of the block in whose memory `base` lies; None where it is no block's, or where nobody else can."""
        return base.peers.index(base) if base.peers else None

    def of_block(self, base: MemoryObject, rank: int) -> MemoryObject | None:
        """What block `rank` has instead of `base`; None for an object that other blocks do not find."""
        return base.peers[rank] if base.peers else None

    def objects_of(self, rank: int) -> list[MemoryObject]:
        """The objects of block `rank`, in the order in which they were made."""
        return [first.peers[rank] for first in self.firsts]

    def give_each_block_its_own(self, base: MemoryObject, blocks: Sequence[BlockOfCluster]) -> None:
        """Make `base` that of the first block, and an object with the same contents for each other one."""
        name = base.name
        peers = [base, *(_like(base) for _ in blocks[1:])]
        for block, peer in zip(blocks, peers, strict=True):
            peer.name = block.named(name)
            peer.peers = tuple(peers)
        self.firsts.append(base)


def _like(base: MemoryObject) -> MemoryObject:
    data = None if base.data is None else np.array(base.data)
    copy = MemoryObject(base.name, base.shape, base.element, base.space, data, family=base.family, zero=base.zero)
    copy.is_open = base.is_open
    return copy


def is_in_another_block(agent: Agent, base: MemoryObject) -> bool:
    """Whether `base` lies in the shared memory of another block than that of `agent`."""
    if agent.block is None:
        return False
    owner = agent.shared(ClusterMemory).owner(base)
    return owner is not None and owner != agent.block.rank


# The barrier of the cluster -------------------------------------------------------------------------------------------


class ClusterBarrier(Rendezvous):
    """
    The barrier of a cluster. It opens when all threads that are left have arrived, in each block that has any (PTX
    ISA, "barrier.cluster"). Its counts, `arrived` and `expected`, are of whole blocks.
    """

    def __init__(self, blocks: int) -> None:
        super().__init__("the cluster barrier", blocks)
        self.blocks = blocks
        self.of_blocks: dict[int, tuple[int, int]] = {}
        """Rank -> how many of its threads have arrived in this generation, and how many have to."""
        self.gone: dict[int, None] = {}
        """The blocks all of whose threads have left."""

    def missing(self, rank: int, expected: int) -> int:
        """How many threads of block `rank`, which has `expected` left, have not arrived yet."""
        return expected - self.of_blocks.get(rank, (0, expected))[0]

    def arrive_in(self, rank: int, knowledge: Knowledge, agent: int, moment: int, count: int, expected: int) -> int:
        """
        Count the `count` threads of `agent`, one of `expected` that block `rank` has left, at `moment`; returns the
        generation that they arrive in.
        """
        mine = self.generation
        self.is_relaxed |= agent not in knowledge.clock
        self.gathering.merge(knowledge)
        self.gathered[agent] = moment
        self.of_blocks[rank] = (self.of_blocks.get(rank, (0, expected))[0] + count, expected)
        self._count_blocks()
        return mine

    def leave_in(self, rank: int, agent: int, count: int, left: int) -> None:
        """`agent` of block `rank` is gone, with `count` threads; the block has `left` threads left."""
        if rank in self.of_blocks and agent not in self.gathered:
            arrived, expected = self.of_blocks[rank]
            self.of_blocks[rank] = (arrived, expected - count)
        if not left:
            self.gone[rank] = None
        self._count_blocks()

    def _count_blocks(self) -> None:
        counts = self.of_blocks
        self.expected = sum(rank in counts or rank not in self.gone for rank in range(self.blocks))
        self.arrived = sum(arrived == expected for arrived, expected in counts.values())
        if self.arrived == self.expected > 0:
            self.of_blocks = {}
            self._open_if_complete()


@dataclass
class Cluster(SharedPart):
    """The cluster that an execution runs, if it runs one."""

    blocks: list[Agent] = field(default_factory=list["Agent"])
    """What runs each block, in the order of ranks."""
    barrier: ClusterBarrier | None = None
    """Made at the first arrival."""
    ended: dict[int, tuple[Agent, Operation]] = field(default_factory=dict[int, "tuple[Agent, Operation]"])
    """Rank -> what has run that block to its end, and the op there."""
    at_end_of_block: dict[Callable[[Agent, Operation], None], None] = field(
        default_factory=dict["Callable[[Agent, Operation], None]", None]
    )
    """What to do with an agent that has run a block to its end, and the op that ends it."""

    def draw(self, canvas: Canvas) -> None:
        if self.barrier is not None:
            canvas.thing(self.barrier)


def existence(agent: Agent) -> Knowledge:
    """What any arrival at the barrier of the cluster tells, relaxed or not: that the block of `agent` has started."""
    assert agent.block is not None
    first = agent.shared(Cluster).blocks[agent.block.rank]
    return Knowledge({first.number: START})


def barrier_of_cluster(agent: Agent) -> ClusterBarrier:
    """The barrier of the cluster of `agent`."""
    cluster = agent.shared(Cluster)
    if cluster.barrier is None:
        cluster.barrier = ClusterBarrier(len(cluster.blocks))
    return cluster.barrier


# The life of a block --------------------------------------------------------------------------------------------------


def start_block(agent: Agent, op: Operation) -> None:
    """
    `agent` starts its block at `op`, and its shared memory is there.

    The start counts as a write of all of that memory, and so does the end. So whoever touches it from another block has
    to come between the two by happens-before (CUDA C++ Programming Guide, "Distributed Shared Memory"), or is reported
    (`ViolationKind.ABSENT`).
    """
    assert agent.block is not None
    for base in agent.shared(ClusterMemory).objects_of(agent.block.rank):
        bound_object(agent, op, base, START)
    # What it does itself comes later than its start.
    agent.release()


def end_block(agent: Agent, op: Operation) -> None:
    """`agent` has run its block to the end, which is at `op`: its shared memory is gone."""
    machine, block = agent.machine, agent.block
    assert block is not None
    cluster = machine.part(Cluster)
    machine.happened(agent, op, "leave", "ends its block, and the shared memory of it")
    for judge in cluster.at_end_of_block:
        judge(agent, op)
    cluster.ended[block.rank] = agent, op
    for base in machine.part(ClusterMemory).objects_of(block.rank):
        if not base.lifetime_over:
            bound_object(agent, op, base, agent.moment)
    if cluster.barrier is not None:
        machine.shares(cluster.barrier.name, alone=True)
        cluster.barrier.leave_in(block.rank, agent.number, 0, 0)


START = 0
"""The moment at which an agent that runs a block starts it."""


def bound_object(agent: Agent, op: Operation, base: MemoryObject, moment: int) -> None:
    """`base`, in the shared memory of the block that `agent` runs, is there from `moment` on, or no more."""
    machine = agent.machine
    region, step = base.whole().region, machine.step_number
    bound = Access(region, True, Proxy.UNSPECIFIED, op, agent, None, moment, (), step, bounds_block=True)
    machine.note_access(bound, agent.mind)
