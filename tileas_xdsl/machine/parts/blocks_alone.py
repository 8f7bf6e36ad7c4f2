"""
Blocks of a cluster that do not meet, in Triton's words: all do the same, and one is executed for all.

TTGIR is written for all blocks of a cluster together. Shapes are those of the whole, and an encoding says which block
has what (`CGALayout`): for each bit of the number of a block, how far it goes in each dimension. Where it goes nowhere,
the two blocks have a copy each. A barrier of which each block has one is an array with an element for each block. What
reaches into another block is refused: `multicast` and its like where they stand, and here what only the shapes say.
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.triton.encodings import EncodingAttr
from tileas_xdsl.dialects.triton.types import MemDescType
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.violations import UnsupportedError

BLOCKS_OF_CLUSTER = "ttg.num-ctas"
"""Attribute of a module: how many blocks make a cluster."""
BASES_OF_BLOCKS = re.compile(r"CGALayout = \[((?:\[[^\]]*\](?:, )?)*)\]")
"""Matches in an encoding how a tile lies over the blocks of a cluster."""


@per_op
def blocks_of_cluster(op: Operation) -> int:
    """How many blocks make a cluster in the module around `op`."""
    module = op
    while (above := module.parent_op()) is not None:
        module = above
    blocks = module.attributes.get(BLOCKS_OF_CLUSTER)
    return blocks.value.data if isinstance(blocks, IntegerAttr) else 1


def bases_of_blocks(encoding: Attribute) -> list[list[int]]:
    """For each bit of the number of a block in its cluster, how far it goes in each dimension; none if not said."""
    match = BASES_OF_BLOCKS.search(encoding.text) if isinstance(encoding, EncodingAttr) else None
    return [] if match is None else [[*map(int, basis.split(","))] for basis in re.findall(r"\[([^\]]+)\]", match[1])]


def bytes_of_block(view: View, kind: MemDescType) -> int:
    """How many bytes of `view`, of type `kind`, lie in one block of a cluster: all of them, where each has a copy."""
    return view.region.byte_count >> sum(any(basis) for basis in bases_of_blocks(kind.encoding))


def must_be_alone(agent: Agent, op: Operation) -> None:
    """Raises `UnsupportedError` for an op that reaches into other blocks where there are some."""
    blocks = blocks_of_cluster(agent, op)
    if blocks != 1:
        raise UnsupportedError(
            op, f"may reach into other blocks of the cluster of {blocks}; compile it with num_ctas=1 to check a block"
        )


def must_hold_own_barrier(agent: Agent, op: Operation, kind: MemDescType) -> None:
    """Raises `UnsupportedError` for a barrier that blocks of a cluster share: their own have one element for each."""
    blocks = blocks_of_cluster(agent, op)
    if kind.extents[-1] != blocks:
        raise UnsupportedError(
            op,
            f"makes {kind.extents[-1]} barrier{'s' if kind.extents[-1] > 1 else ''} for a cluster of {blocks} blocks, "
            "which then meet there; compile it with num_ctas=1 to check a block alone",
        )


def must_lie_alike(agent: Agent, op: Operation, tile: Attribute, kind: MemDescType) -> None:
    """Raises `UnsupportedError` for an access whose tile lies over the blocks of a cluster otherwise than memory."""
    if blocks_of_cluster(agent, op) == 1:
        return
    above, below = bases_of_blocks(getattr(tile, "encoding", tile)), bases_of_blocks(kind.encoding)
    if above and below and len(above[0]) == len(below[0]) and above != below:
        raise UnsupportedError(
            op, "moves elements between the blocks of a cluster; compile it with num_ctas=1 to check a block alone"
        )
