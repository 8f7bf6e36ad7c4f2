"""
What blocks of a cluster do to each other: places in their memory, copies to several of them, the barrier at which all
of their threads meet.

Clusters. One cluster is executed where its blocks reach into each other, and one block of it elsewhere: two blocks of a
kernel that does not cross can only meet in global memory, where blocks are not compared anyway. A cluster that says
nothing of its size has two blocks, the smallest number at which blocks differ. The start and the end of a block are
writes of its shared memory, so that one rule finds both an access that comes too early and one that comes too late. A
relaxed arrival tells that its block has started, since the wait cannot pass before, and what `fence.mbarrier.init` has
published: this is how CUTLASS begins its kernels. To arrive twice without a wait is undefined, and `phase`. All blocks
are compared on global memory, so two that write to one place race, whatever else they do. A barrier that is not made
yet in another block is a race, not a `phase`: in another interleaving it may be there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.standings import Answer, Request, continuation
from tileas_xdsl.machine.core.synchronization import Rendezvous, RendezvousCondition
from tileas_xdsl.machine.core.threads.block_barriers import threads_left
from tileas_xdsl.machine.core.threads.clusters import (
    BlockOfCluster,
    ClusterMemory,
    barrier_of_cluster,
    existence,
    is_in_another_block,
)
from tileas_xdsl.machine.core.violations import (
    Effect,
    MistakeError,
    Misuse,
    Party,
    UnsupportedError,
    Violation,
    ViolationKind,
)
from tileas_xdsl.machine.parts.placed_barriers import MADE, ClusterArrival
from tileas_xdsl.machine.tiles.pointers import Pointer

# Places ---------------------------------------------------------------------------------------------------------------


class NoSuchBlockError(MistakeError):
    """An op names a block that the cluster does not have."""

    leads_to = Effect.FAULT


def block_of(agent: Agent, op: Operation) -> BlockOfCluster:
    """The block of `agent`. Raises `UnsupportedError` where one block is executed for its whole cluster."""
    if agent.block is None:
        raise UnsupportedError(op, "reaches into another block, and one block is executed")
    return agent.block


def place_in_block(agent: Agent, op: Operation, place: Pointer, rank: int) -> Pointer:
    """
    Where block `rank` of the cluster has what lies at `place`.

    Raises `NoSuchBlockError` where there is no such block, and `UnsupportedError` for memory that other blocks do not
    find.
    """
    block = block_of(agent, op)
    if not 0 <= rank < block.count:
        rule = f'a rank from 0 to {block.count - 1} (PTX ISA, "Cluster of Cooperative Thread Arrays")'
        raise NoSuchBlockError(op, f"names block {rank} of a cluster of {block.count}; {rule}")
    base = agent.shared(ClusterMemory).of_block(place.base, rank)
    if base is None:
        raise UnsupportedError(
            op,
            f"takes '{place.base.name}' in another block; what is found there is shared memory that an argument of the "
            "kernel or a global names",
        )
    return Pointer(base, place.offset)


def must_be_own(agent: Agent, op: Operation, place: Pointer, does: str) -> None:
    """Raises `UnsupportedError` where `place` is in another block, in which no op may do what `does` says."""
    if is_in_another_block(agent, place.base):
        raise UnsupportedError(op, f"{does} in another block, and only threads of that block may do that")


@dataclass(frozen=True)
class Destination:
    """Where a copy goes in one block, and the barrier that is told of it there."""

    target: Pointer
    barrier: Pointer


def destinations(agent: Agent, op: Operation, target: Pointer, barrier: Pointer, mask: Any) -> list[Destination]:
    """
    Where a copy to `target` goes that tells `barrier`: to both places in each block that `mask` names, bit by bit;
    where it is None, there alone. (PTX ISA, "cp.async.bulk": the same offsets in each destination.)

    Raises `UnsupportedError` where the barrier is in another block than what it is told of.
    """
    if mask is None:
        return [Destination(target, _with_its_target(agent, op, target, barrier))]
    return [
        Destination(place_in_block(agent, op, target, rank), place_in_block(agent, op, barrier, rank))
        for rank in ranks_in(agent, op, mask)
    ]


def ranks_in(agent: Agent, op: Operation, mask: Any) -> Iterator[int]:
    """The ranks whose bits `mask` has. Raises `UnsupportedError` where it has none."""
    bits = agent.known(mask, op, "takes as its mask") & 0xFFFF
    if not bits:
        raise UnsupportedError(op, "names no block in its mask")
    return (rank for rank in range(bits.bit_length()) if bits >> rank & 1)


def _with_its_target(agent: Agent, op: Operation, target: Pointer, barrier: Pointer) -> Pointer:
    memory = agent.shared(ClusterMemory)
    owner, other = memory.owner(target.base), memory.owner(barrier.base)
    if owner is not None and other is not None and owner != other:
        raise UnsupportedError(
            op, f"copies to block {owner} and tells a barrier of block {other}; both have to be in one block"
        )
    return barrier


# Meeting --------------------------------------------------------------------------------------------------------------


def pass_barrier(agent: Agent, op: Operation, barrier: Rendezvous, generation: int) -> Request:
    """Wait until all arrivals of `generation` at `barrier` are there."""
    condition = RendezvousCondition(barrier, generation)
    return agent.wait(condition, op).then(_saw_generation, condition)


@continuation
def _saw_generation(agent: Agent, op: Operation, _: None, condition: RendezvousCondition) -> Answer:
    barrier, generation = condition.barrier, condition.generation
    agent.note(op, "wait", f"passes {barrier.name}", on=barrier, turn=generation)
    agent.let_threads_meet()


# The barrier of the cluster -------------------------------------------------------------------------------------------


def arrive_in_cluster(agent: Agent, op: Operation, *, hands_over: bool) -> None:
    """`agent` arrives at the barrier of the cluster, and hands over what it knows, unless not."""
    block, machine, barrier = block_of(agent, op), agent.machine, barrier_of_cluster(agent)
    arrival, left = agent.part(ClusterArrival), threads_left(agent)
    machine.shares(barrier.name, alone=True)
    if arrival.barrier is not None:
        _report(agent, op, "arrives again without having waited", "an nvvm.cluster.wait behind each arrival")
    elif barrier.missing(block.rank, left) < agent.threads:
        _report(agent, op, "arrives with more threads than its block has left", "one arrival of each thread")
    if barrier.is_ahead(agent.number, agent.mind):
        machine.doubt(op, f"arrives at {barrier.name}, unordered with its last generation")
    text = f"arrives at {barrier.name}{'' if hands_over else ', and hands over nothing: it is relaxed'}"
    machine.happened(agent, op, "arrive", text, on=barrier, turn=barrier.generation)
    moment, told = agent.moment, existence(agent)
    knowledge = agent.release()
    if hands_over:
        told.merge(knowledge)
    elif MADE in agent.fenced:
        told.fenced[MADE] = dict(agent.fenced[MADE])
    arrival.barrier = barrier
    arrival.generation = barrier.arrive_in(block.rank, told, agent.number, moment, agent.threads, left)


def wait_in_cluster(agent: Agent, op: Operation) -> Request:
    """Wait at the barrier of the cluster for the arrival that `agent` has made there."""
    arrival = agent.part(ClusterArrival)
    barrier, arrival.barrier = arrival.barrier, None
    if barrier is None:
        rule = 'an arrival before each wait (PTX ISA, "barrier.cluster")'
        raise MistakeError(op, f"waits at the cluster barrier without having arrived at it; {rule}")
    return pass_barrier(agent, op, barrier, arrival.generation)


def _report(agent: Agent, op: Operation, does: str, missing: str) -> None:
    party = Party(op, agent.name, agent.iteration, f"{does} at the cluster barrier")
    violation = Violation(ViolationKind.PHASE, f"{agent.name} {does} at the cluster barrier", (party,), missing)
    agent.report(violation, Misuse(agent, (), (party,)))
