"""
The blocks of a cluster in Triton's words: who has what, who speaks for whom, and what each finds in the others.

TTGIR is written for all blocks of a cluster together. Shapes are those of the whole, and an encoding says which block
has what (`CGALayout`): for each bit of the number of a block, how far it goes in each dimension. Where it goes nowhere,
the blocks on its two sides have a copy each. Of a barrier they share one, which is that of the block with the least
number, their *leader*:

    !ttg.memdesc<2xi64, CGALayout = [[1]]>      each of two blocks has a barrier
    !ttg.memdesc<1xi64, CGALayout = [[0]]>      block 0 has one for both

Blocks that do not reach into each other do the same, and one is executed for all; otherwise all are. What lies in
shared and tensor memory lies in an object of each block, of the shape of the whole. Accesses of tiles by threads stay
in their block here: where the elements of a tile cross blocks, Triton puts barriers of the cluster around that
(`ClusterBarrierInsertion`), which is trusted as all is that it adds.

Behind the last barrier that is made, Triton lets the blocks meet where barriers are used from other blocks, unless the
program does that itself (`runCrossCTAMBarrierInitSyncInsertion`). The meeting tells that the barriers are made, and
nothing else. Where loops make all barriers and use them, Triton refuses the kernel; here nothing lets the blocks meet.
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.triton import ttng
from tileas_xdsl.dialects.triton.encodings import EncodingAttr
from tileas_xdsl.dialects.triton.types import MemDescType
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import BLOCKS_ALIKE, ORDERED_BY_COMPILER
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.op_facts import Crosses
from tileas_xdsl.machine.core.opaque_numbers import rebased
from tileas_xdsl.machine.core.threads.cluster_calls import blocks_of_module
from tileas_xdsl.machine.core.threads.clusters import START, Cluster, ClusterMemory, bound_object
from tileas_xdsl.machine.core.violations import UnsupportedError

BASES_OF_BLOCKS = re.compile(r"CGALayout = \[((?:\[[^\]]*\](?:, )?)*)\]")
"""Matches in an encoding how a tile lies over the blocks of a cluster."""
PAIR = 1
"""The bit in which the numbers of the two blocks of a pair differ."""


def _blocks_of_cluster(op: Operation) -> int:
    return blocks_of_module(op) or 1


@per_op
def blocks_of_cluster(op: Operation) -> int:
    """How many blocks make a cluster in the module around `op`."""
    return _blocks_of_cluster(op)


def bases_of_blocks(encoding: Attribute) -> list[list[int]]:
    """For each bit of the number of a block in its cluster, how far it goes in each dimension; none if not said."""
    match = BASES_OF_BLOCKS.search(encoding.text) if isinstance(encoding, EncodingAttr) else None
    return [] if match is None else [[*map(int, basis.split(","))] for basis in re.findall(r"\[([^\]]+)\]", match[1])]


def bits_in_common(kind: MemDescType, blocks: int) -> int:
    """
    The bits of the number of a block that make no difference to where it is in a tile, or which barrier is its own.
    Where the encoding does not say it, all blocks have the same, but for as many barriers as blocks.
    """
    bases = bases_of_blocks(kind.encoding)
    if not bases:
        return 0 if kind.element == i64 and kind.extents[-1] == blocks else blocks - 1
    return sum(1 << bit for bit, basis in enumerate(bases) if not any(basis))


def bytes_of_block(view: View, kind: MemDescType) -> int:
    """How many bytes of `view`, of type `kind`, lie in one block of a cluster: all of them, where each has a copy."""
    return view.region.byte_count >> sum(any(basis) for basis in bases_of_blocks(kind.encoding))


# Who reaches into others ----------------------------------------------------------------------------------------------


REACHING = ("multicast", "two_ctas", "fromCTA")
ALWAYS_REACHING = (
    ttng.ClusterBarrierOp,
    ttng.ClusterArriveOp,
    ttng.ClusterWaitOp,
    ttng.CLCTryCancelOp,
    ttng.AsyncSharedStoreOp,
)


def crossing(op: Operation) -> Crosses:
    """Whether `op` reaches into other blocks of its cluster, or shares a barrier with them."""
    blocks = _blocks_of_cluster(op)
    if blocks == 1:
        return Crosses.NO
    reaches = isinstance(op, ALWAYS_REACHING) or any(getattr(op, name, None) is not None for name in REACHING)
    reaches |= bool(getattr(op, "descs", ())) or arrives_in(op) != 0 or uses_pairs(op)
    return Crosses.BY_TYPES if reaches or any(_is_shared(v.type, blocks) for v in op.operands) else Crosses.NO


def _is_shared(kind: Attribute, blocks: int) -> bool:
    return isinstance(kind, MemDescType) and kind.element == i64 and bits_in_common(kind, blocks) != 0


def arrives_in(op: Operation) -> int:
    """The bits of the numbers of blocks in which an arrival goes to several of them."""
    attribute = getattr(op, "multicastCTA", None)
    return 0 if attribute is None else attribute.value.data


def uses_pairs(op: Operation) -> bool:
    """Whether `op` is one of the tensor core in a module whose products are those of two blocks."""
    module = op
    while (above := module.parent_op()) is not None:
        module = above
    said = module.attributes.get("ttng.two-ctas")
    is_of_pair = isinstance(op, ttng.TCGen5CommitOp) and said is not None and "true" in str(said)
    return is_of_pair or getattr(op, "two_ctas", None) is not None


# The blocks -----------------------------------------------------------------------------------------------------------


def rank_of(agent: Agent) -> int:
    """The number of the block of `agent` in its cluster."""
    return 0 if agent.block is None else agent.block.rank


def blocks_alike(rank: int, bits: int) -> list[int]:
    """The numbers of the blocks that differ from `rank` in `bits` alone."""
    found = [rank & ~bits]
    for bit in (1 << number for number in range(bits.bit_length()) if bits >> number & 1):
        found += [each | bit for each in found]
    return sorted(found)


def leader_of(agent: Agent, op: Operation, kind: Attribute) -> int:
    """The block whose barrier it is that `agent` uses under that type."""
    assert isinstance(kind, MemDescType)
    return rank_of(agent) & ~bits_in_common(kind, blocks_of_cluster(agent, op))


def leads(agent: Agent, op: Operation, kind: Attribute) -> bool:
    """Whether the barrier of that type lies in the block of `agent`."""
    return leader_of(agent, op, kind) == rank_of(agent)


def view_in_block(agent: Agent, op: Operation, view: View, rank: int) -> View:
    """What block `rank` has instead of `view`."""
    if agent.block is None or rank == agent.block.rank:
        return view
    base = agent.shared(ClusterMemory).of_block(view.base, rank) if rank < agent.block.count else None
    if base is None:
        raise UnsupportedError(op, f"reaches for '{view.base.name}' in block {rank}, which other blocks do not find")
    return rebased(view, base)


# Their memory ---------------------------------------------------------------------------------------------------------


def take_as_alike(agent: Agent, op: Operation) -> None:
    """Note that one block is executed for all of its cluster, where that has several."""
    if agent.block is None and blocks_of_cluster(agent, op) != 1:
        agent.assume(BLOCKS_ALIKE)


def path_in_block(agent: Agent) -> tuple[str, ...]:
    """The names of `agent` and of those that have started it, in its block: the same for its like in other blocks."""
    first = agent.shared(Cluster).blocks[rank_of(agent)]
    names: list[str] = []
    each: Agent | None = agent
    while each is not None and each is not first:
        names.append(each.name.removesuffix(agent.block.named("")) if agent.block is not None else each.name)
        each = each.parent
    return tuple(names)


def object_of_block(agent: Agent, base: MemoryObject) -> MemoryObject:
    """What the block of `agent` has instead of `base`."""
    own = None if agent.block is None else agent.shared(ClusterMemory).of_block(base, agent.block.rank)
    return base if own is None else own


def is_in_all_blocks(agent: Agent, base: MemoryObject) -> bool:
    """Whether each block has an object instead of `base`."""
    return agent.shared(ClusterMemory).owner(base) is not None


def give_to_all_blocks(agent: Agent, op: Operation, base: MemoryObject) -> None:
    """
    Let each block of the cluster have an object instead of `base`, which `op` allocates: Triton's memory is there
    from the start of a block to its end.
    """
    if agent.block is None:
        return
    cluster, memory = agent.shared(Cluster), agent.shared(ClusterMemory)
    firsts = cluster.blocks
    memory.give_each_block_its_own(base, [first.block for first in firsts if first.block is not None])
    for rank, first in enumerate(firsts):
        own = memory.of_block(base, rank)
        assert own is not None
        own.holds_barriers = base.holds_barriers
        bound_object(first, op, own, START)
        if rank in cluster.ended:
            bound_object(*cluster.ended[rank], own, first.moment)


def must_lie_alike(agent: Agent, op: Operation, tile: Attribute, kind: MemDescType) -> None:
    """Note that Triton orders an access whose tile lies over the blocks of a cluster otherwise than memory."""
    if blocks_of_cluster(agent, op) == 1:
        return
    above, below = bases_of_blocks(getattr(tile, "encoding", tile)), bases_of_blocks(kind.encoding)
    if above and below and len(above[0]) == len(below[0]) and above != below:
        agent.assume(ORDERED_BY_COMPILER)


# Their first meeting --------------------------------------------------------------------------------------------------


BARRIER_USERS = (
    *(ttng.BarrierExpectOp, ttng.ArriveBarrierOp, ttng.WaitBarrierOp, ttng.AsyncTMACopyGlobalToLocalOp),
    *(ttng.AsyncTMAGatherOp, ttng.TCGen5MMAOp, ttng.TCGen5MMAScaledOp, ttng.TCGen5CommitOp, ttng.CLCTryCancelOp),
    ttng.AsyncSharedStoreOp,
)


def _last_init(op: Operation) -> Operation | None:
    """
    The op behind which Triton lets the blocks meet, of the function around `op`: the last that makes a barrier; None
    where the program does it itself, before any barrier is used, and where Triton has no place for it.

    Raises `UnsupportedError` where barriers are made in more than one branch.
    """
    function = enclosing_function(op)
    assert function is not None
    ops = list(function.walk())
    inits = [each for each in ops if isinstance(each, ttng.InitBarrierOp)]
    if all(_is_used_within(each, function) for each in inits):
        return None
    if any(each.parent is not inits[0].parent for each in inits) or inits[0].parent_op() is not function:
        raise UnsupportedError(op, "makes a barrier of a cluster in a branch; make all in one block of the function")
    for each in ops[ops.index(inits[-1]) + 1 :]:
        if isinstance(each, ttng.ClusterBarrierOp):
            return None
        if isinstance(each, BARRIER_USERS):
            break
    return inits[-1]


def _is_used_within(init: Operation, function: Operation) -> bool:
    """
    Whether a loop or branch of the function makes a barrier and uses one, too. The blocks would meet between the two,
    and Triton lets them meet outside of loops and branches alone: it compiles no such kernel.
    """
    around = init
    while (parent := around.parent_op()) is not None and parent is not function:
        around = parent
    return around is not init and any(isinstance(each, BARRIER_USERS) for each in around.walk())


@per_op
def last_init(op: Operation) -> Operation | None:
    """See `_last_init`."""
    return _last_init(op)
