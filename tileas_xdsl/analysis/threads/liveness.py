"""
Until where the tile behind a name is read, under this name or under one that it is handed on by.

    %now: arg of a loop      scf.for iter_args(%now = %first) {
                               %next = alloc_tensor             %now is read behind this point: it is live
                               convert_layout %now
                               scf.yield %next                  %next is handed on, and read in the next iteration
                             }

Of the regions of loops, branches and agents each has one block, as in all code of tiles. So the place of two ops in the
block where the name is made decides, and inside a loop in that block everything comes behind everything: by the next
iteration. An asynchronous product reads its operands until it is waited for; where its token leaves the block, until
the end of the block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue, Use

from tileas_xdsl.analysis.value_flow import carried_to, names_behind
from tileas_xdsl.dialects.nv_tileaa.structure import PermuteOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp

SUM = 2
"""The number of the operand that a product adds to."""
REARRANGES = (ViewOp, PermuteOp)
"""Ops that see a tile with other coordinates: of one in shared memory the bytes are the same."""


def uses_of(name: SSAValue) -> Iterator[Use]:
    """The uses of a tile, and those of what sees it with other coordinates: its bytes are the same."""
    for use in name.uses:
        if isinstance(use.operation, REARRANGES):
            yield from uses_of(use.operation.result)
        else:
            yield use


def seen_from(tile: SSAValue) -> SSAValue:
    """The tile whose bytes a name stands for: where it is seen with other coordinates, the one that is seen so."""
    while isinstance(tile.owner, REARRANGES):
        tile = tile.owner.source
    return tile


def agent_of(op: Operation) -> Region | None:
    """The region of the agent that runs an op; None outside of agents."""
    region = op.parent_region()
    while region is not None and not isinstance(region.parent, AgentSwitchOp):
        region = region.parent_region()
    return region


class Liveness:
    """Of `names`, all names of tiles that matter."""

    def __init__(self, names: Iterable[SSAValue]) -> None:
        self._readers: dict[SSAValue, list[Operation]] = {}
        """By name: the ops up to which it is live."""
        self._goes_on: dict[SSAValue, set[Operation]] = {}
        """By name: the ops behind which its tile is read under another name."""
        names = list(names)
        handed_on: dict[SSAValue, list[tuple[SSAValue, Operation]]] = {}
        for name in names:
            self._readers[name] = []
            for use in uses_of(name):
                behind = names_behind(use)
                if behind is None:
                    self._readers[name] += _last_readers(use)
                for each in behind or ():
                    handed_on.setdefault(each, []).append((name, use.operation))
        self._add_handed_on(handed_on)

    def _add_handed_on(self, handed_on: dict[SSAValue, list[tuple[SSAValue, Operation]]]) -> None:
        """A name that is handed on is live up to there, where anybody reads it under the other name."""
        read = [name for name, readers in self._readers.items() if readers]
        seen = set(read)
        while read:
            for name, op in handed_on.get(read.pop(), ()):
                self._readers[name].append(op)
                self._goes_on.setdefault(name, set()).add(op)
                if name not in seen:
                    seen.add(name)
                    read.append(name)

    def is_live_behind(self, name: SSAValue, point: Operation) -> bool:
        """Whether a path leads from `point` to a reader of the tile that the name has at `point`."""
        block = name.owner if isinstance(name.owner, Block) else name.owner.parent
        if block is None or not _is_made(name, point, block):
            return False
        goes_on = point in self._goes_on.get(name, ())
        return goes_on or any(comes_behind(reader, point, block) for reader in self._readers.get(name, ()))


def _is_made(name: SSAValue, point: Operation, block: Block) -> bool:
    """Whether a name has a tile by the time of `point`."""
    if isinstance(name.owner, Block):
        return block.find_ancestor_op_in_block(point) is not None
    reached = block.find_ancestor_op_in_block(point)
    return reached is not None and name.owner is not reached and name.owner.is_before_in_block(reached)


def _last_readers(taken: Use) -> Iterator[Operation]:
    """The ops at which a user has read what it takes. A tile that a product adds to is its sum from then on."""
    user = taken.operation
    yield user
    if not isinstance(user, AsyncDotOp) or taken.index == SUM:
        return
    for use in user.done.uses:
        yield use.operation
    leaves = any(carried_to(use) is not None for use in user.done.uses) or user.done.first_use is None
    if leaves and user.parent is not None and user.parent.last_op is not None:
        yield user.parent.last_op


def comes_behind(op: Operation, point: Operation, block: Block) -> bool:
    """Whether control may reach `op` from `point` without leaving `block`, in which both stand at some depth."""
    reached, start = block.find_ancestor_op_in_block(op), block.find_ancestor_op_in_block(point)
    if reached is None or start is None:
        return False
    if reached is not start:
        return start.is_before_in_block(reached)
    if start is point or reached is op:
        return start is point and reached is not op
    if isinstance(start, scf.ForOp | scf.WhileOp):
        return True
    inner = [region for region in start.regions if region.is_ancestor(op)]
    own = [region for region in start.regions if region.is_ancestor(point)]
    if inner != own:
        return isinstance(start, AgentSwitchOp)
    return any(comes_behind(op, point, each) for region in own for each in region.blocks)
