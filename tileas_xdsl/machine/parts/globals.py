"""Objects that belong to a module, not to a call: one for each global, made when it is first named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.core.threads.clusters import (
    SHARED,
    START,
    BlockOfCluster,
    Cluster,
    ClusterMemory,
    bound_object,
)


@dataclass
class Globals(SharedPart):
    """The objects of globals that have been named, by their ops."""

    objects: dict[Operation, MemoryObject] = field(default_factory=dict[Operation, MemoryObject])
    """For a global in shared memory that of the first block."""

    def draw(self, canvas: Canvas) -> None:
        for op, base in self.objects.items():
            canvas.literal(("global", id(op)))
            canvas.thing(base)


def global_object(agent: Agent, op: Operation, make: Callable[[], MemoryObject]) -> MemoryObject:
    """The object of the global `op` as `agent` finds it, made by `make` at the first call."""
    objects, block = agent.shared(Globals).objects, agent.block
    if op not in objects:
        base = objects[op] = make()
        if block is not None and base.space == SHARED:
            blocks = [BlockOfCluster(rank, block.shape) for rank in range(block.count)]
            memory = agent.shared(ClusterMemory)
            memory.give_each_block_its_own(base, blocks)
            _bound(agent.shared(Cluster), op, base.peers)
    if block is None:
        return objects[op]
    return agent.shared(ClusterMemory).of_block(objects[op], block.rank) or objects[op]


def _bound(cluster: Cluster, op: Operation, peers: Sequence[MemoryObject]) -> None:
    """Each block has had its own of `peers` from its start on, and until its end if it is over."""
    for rank, (base, agent) in enumerate(zip(peers, cluster.blocks, strict=True)):
        bound_object(agent, op, base, START)
        if rank in cluster.ended:
            _, end = cluster.ended[rank]
            bound_object(agent, end, base, agent.moment)
