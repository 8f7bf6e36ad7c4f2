"""
Whether the blocks of a cluster reach into each other in a kernel, and how many of them a cluster has.

    llvm.func @k(...) attributes {nvvm.kernel, nvvm.cluster_dim = array<i32: 2, 1, 1>}
      %peer = nvvm.mapa %ring, %rank : !llvm.ptr<3> -> !llvm.ptr<7>        the same place in another block

A kernel *crosses blocks* if it takes addresses in other blocks, copies to several blocks, or lets blocks that know
their ranks meet at the barrier of the cluster. Of any other kernel one block speaks for all of its cluster.

Sources: MLIR's `nvvm` (`cluster_dim`) and `gpu` (`known_cluster_size`) dialects; PTX ISA, "mapa", "cp.async.bulk"
(`.multicast::cluster`) and "Cluster of Cooperative Thread Arrays".
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from tileas_xdsl.machine.core.meaning import facts_of
from tileas_xdsl.machine.core.op_facts import Crosses

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
        facts = facts_of(op)
        if facts.crosses is Crosses.BY_RANK or getattr(op, MASK, None) is not None:
            return True
        meets |= facts.crosses is Crosses.BY_MEETING
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
    return None


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
        if facts_of(op).crosses is Crosses.BY_RANK:
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
