"""
Ids and extents of the grid in a check: which loops are over blocks, and what the ids are that decide something.

Mostly an id decides nothing, and one execution speaks for every block (`machine.core.opaque_numbers`). One that decides
alone is an argument like any that bounds loops. Several, or one beside such arguments, are tried: ids from 0 to 3, in
grids of 1 to 4 blocks.

    %b = ctaid.x      %g = nctaid.x      scf.for %t = %b to %n step %g        a loop over blocks

How often such a loop turns is an argument instead of those that its upper bound is computed from: for every n,
block 0 of 1 turns n times, and every block of any grid turns some number of times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tileas_xdsl.checker.verdict.loop_bounds import deciding_uses
from tileas_xdsl.machine.arguments import argument_names, is_integer_scalar
from tileas_xdsl.machine.core.meaning import facts_of
from tileas_xdsl.machine.core.moving_numbers import unchanged
from tileas_xdsl.machine.core.threads.cluster_calls import crosses_blocks

MOST_BLOCKS = 4
"""Extents that are tried go from 1 to this, ids from 0 on below it: fewer where that gives too many combinations."""
MOST_ASSIGNMENTS = 64
"""The number of combinations of ids and extents that is not too large."""
TURNS = "turns over blocks"
"""The argument that says how often loops over blocks turn. No name of an argument has spaces."""
TRIP_COUNT = "trip count"
"""What a verdict calls an argument that says how often loops turn, and which the user's function does not have."""
PROGRAMS = "number of programs"
"""The argument that says how many programs a block with a persistent loop may compute."""
OF_CLUSTERS = "clusterid."
"""How the names of ids begin that all blocks of a cluster share."""
UPPER_BOUND = 1
"""Which operand of an `scf.for` is its upper bound."""


def extent_of(name: str) -> str | None:
    """The name of the extent below which the id called `name` lies; None for an extent, and where there is none."""
    kind, _, axis = name.rpartition(".")
    return {
        "ctaid": f"nctaid.{axis}",
        "clusterid": f"nclusterid.{axis}",
        "cluster.ctaid": f"cluster.nctaid.{axis}",
        "program_id": f"num_programs.{axis}",
        "block_id": f"grid_dim.{axis}",
    }.get(kind, "cluster.nctarank" if name == "cluster.ctarank" else None)


def is_extent(name: str) -> bool:
    """Whether `name` is that of an extent of the grid, from 1 up."""
    return name.startswith(("nctaid", "nclusterid", "cluster.nctaid", "cluster.nctarank", "num_programs", "grid_dim"))


def assignments(names: Sequence[str]) -> list[dict[str, int]]:
    """The numbers that are tried for the ids and extents called `names`: all in which each id lies below its extent."""
    found: list[dict[str, int]] = []
    for blocks in range(MOST_BLOCKS, 1, -1):
        found = list(_assignments(names, blocks))
        if len(found) <= MOST_ASSIGNMENTS:
            break
    return found[:MOST_ASSIGNMENTS]


def _assignments(names: Sequence[str], blocks: int) -> Iterator[dict[str, int]]:
    ranges = [range(1, blocks + 1) if is_extent(name) else range(blocks) for name in names]
    for numbers in product(*ranges):
        found = dict(zip(names, numbers, strict=True))
        if all(found[name] < found.get(extent_of(name) or "", blocks) for name in names if not is_extent(name)):
            yield found


# Loops over blocks ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LoopsOverBlocks:
    """The loops of a function that begin with an id and go on by its extent, all to one upper bound."""

    loops: frozenset[Operation]
    arguments: tuple[str, ...]
    """The arguments that the upper bound is computed from. They decide nothing else."""


def loops_over_blocks(body: Region) -> LoopsOverBlocks | None:
    """
    The loops over blocks of the function with that body. None where it has none, where they differ in anything, and
    where their upper bound is computed from anything but arguments that decide nothing else.
    """
    found = [op for op in body.walk() if isinstance(op, scf.ForOp) and _block_number_behind(op.lb) is not None]
    starts = {(_block_number_behind(op.lb), _block_number_behind(op.step), op.ub) for op in found}
    if len(starts) != 1:
        return None
    start, extent, upper = starts.pop()
    if extent is None or start is None or extent_of(start) != extent or _tells_blocks_apart(start, body):
        return None
    arguments = _arguments_behind(upper, body)
    ends = {(id(op), UPPER_BOUND) for op in found}
    if not arguments or any({(id(u.operation), u.index) for u in deciding_uses(a)} != ends for a in arguments):
        return None
    names = argument_names(body)
    return LoopsOverBlocks(frozenset(found), tuple(names[argument.index] for argument in arguments))


def _tells_blocks_apart(start: str, body: Region) -> bool:
    """
    Whether all blocks of a cluster are executed, and turn a loop that begins with `start` for different numbers of
    times: not where they begin with the id of their cluster.
    """
    function = body.parent_op()
    return not start.startswith(OF_CLUSTERS) and function is not None and crosses_blocks(function)


def _block_number_behind(value: SSAValue) -> str | None:
    """The name of the id or extent that `value` is, under another type perhaps."""
    op = value.owner
    while isinstance(op, Operation) and facts_of(op).moves is unchanged and len(op.operands) == 1:
        op = op.operands[0].owner
    if not isinstance(op, Operation):
        return None
    name = facts_of(op).number_of_block
    return None if name is None else name(op)


def _arguments_behind(value: SSAValue, body: Region) -> list[BlockArgument]:
    """
    The integer arguments of the function that `value` is computed from; none where anything else goes into it that is
    no constant.
    """
    found: dict[BlockArgument, None] = {}
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, BlockArgument):
            if each.block is not body.first_block or not is_integer_scalar(each.type):
                return []
            found[each] = None
        elif isinstance(each.owner, Operation):
            if each.owner.regions or (facts_of(each.owner).moves is None and each.owner.operands):
                return []
            stack += each.owner.operands
    return list(found)
