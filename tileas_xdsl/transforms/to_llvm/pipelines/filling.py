"""
What fills the slots of a pipeline, and who reads them: an engine, or threads by ordinary loads and stores.

    produce_one {producer_kind = "tma"} { tiled_load .. }     one thread, by TMA
    produce_one { tiled_load .. }                             threads, by asynchronous copies
    produce_one { %d = alloc_tensor; copy %v, %d; yield %d }  threads, by stores: what they have computed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.ir import Operation, Region, SSAValue

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReadOp, ConsumerReleaseOp, CreatePipelineOp, PipelineYieldOp
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, CopyOp
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaLoadOp
from tileas_xdsl.transforms.to_llvm.wgmma_reads import is_read_by_wgmma

TMA = "tma"
"""What `producer_kind` says where TMA fills it."""


def is_by_tma(op: Operation) -> bool:
    """Whether an op fills its slot by TMA."""
    return isinstance(op, ProduceOp) and op.producer_kind is not None and op.producer_kind.data == TMA


def is_by_loads(op: ProduceOp) -> bool:
    """Whether threads fill the slot by asynchronous copies."""
    tiles = filled_with(op)
    return not is_by_tma(op) and bool(tiles) and all(isinstance(tile.owner, TiledLoadOp) for tile in tiles)


def filled_with(op: ProduceOp) -> Sequence[SSAValue]:
    """The tiles that an op puts into its slot."""
    last = op.body.block.last_op if op.body.blocks else None
    return last.operands if isinstance(last, PipelineYieldOp) else ()


def copies_into(op: ProduceOp) -> Sequence[TiledTmaLoadOp]:
    """The copies by descriptor that fill the slot; none where an op fills it otherwise, or not all of it."""
    copies = [inner for inner in op.body.block.ops if isinstance(inner, TiledTmaLoadOp)]
    slots = [copy.destination for copy in copies]
    return copies if slots == list(filled_with(op)) == list(op.body.block.args) else ()


def stores_into(op: ProduceOp) -> Sequence[CopyOp]:
    """
    The copies of what threads hold that fill the slot, one for each tile; none where an op fills it otherwise.

    Each goes by way of a tile of its own, which nobody else uses: that is the slot.
    """
    stores = [_store_into(tile, op) for tile in filled_with(op)]
    return [store for store in stores if store is not None] if None not in stores else ()


def _store_into(tile: SSAValue, op: ProduceOp) -> CopyOp | None:
    if not isinstance(tile.owner, AllocTensorOp) or tile.owner.stages is not None:
        return None
    users = [use.operation for use in tile.uses]
    store = next((user for user in users if isinstance(user, CopyOp) and user.destination is tile), None)
    if store is None or len(users) != 2 or op.body.block.last_op not in users:
        return None
    block = op.parent_block()
    is_before = store.parent_block() is block and store.is_before_in_block(op)
    return store if is_before or store.parent_block() is op.body.block else None


@dataclass(frozen=True)
class RingAccess:
    """By which proxies the slots of a ring are written and read (PTX ISA, "Async proxy")."""

    is_by_tma: bool
    """Whether one thread fills them, by TMA."""
    is_read_by_threads: bool
    """Whether threads read them by ordinary loads, and not only the tensor core by wgmma."""
    is_read_by_wgmma: bool
    """Whether the tensor core reads them itself."""

    fillers: tuple[Operation, ...] = ()
    """The ops that fill them."""
    releases: tuple[Operation, ...] = ()
    """The ops that give them back."""
    depth: int = 0
    """How many there are."""

    def needs_fence(self, release: Operation) -> bool:
        """Whether the slot that is given back was read by another proxy than the one that may fill it again."""
        if not self.is_by_tma or not self.is_read_by_threads or self._is_one_of_the_last(release):
            return False
        return any(_may_run(op, release) for op in self.fillers)

    def _is_one_of_the_last(self, release: Operation) -> bool:
        """
        Whether an agent gives back no more slots from here on than there are. Then this one is not filled again: a
        stage that nobody takes is a fault of its own.
        """
        own = [op for op in self.releases if _agent_of(op) is _agent_of(release)]
        left = [op for op in own if op is release or _may_run(op, release)]
        return len(left) <= self.depth and not any(_may_run(op, op) for op in left)


def ring_accesses(function: func.FuncOp, roots: PipelineRoots) -> dict[Operation, RingAccess]:
    """How each ring of a function is accessed, by its root."""
    found: dict[Operation, list[Operation]] = {}
    for op in function.body.walk():
        if isinstance(op, ProduceOp | ConsumerReadOp | ConsumerReleaseOp):
            for root in roots.all_of_op(op):
                found.setdefault(root.op, []).append(op)
    return {ring: _access(ring, ops) for ring, ops in found.items()}


def _access(ring: Operation, ops: Sequence[Operation]) -> RingAccess:
    fillers = tuple(op for op in ops if isinstance(op, ProduceOp))
    tiles = [tile for op in ops if isinstance(op, ConsumerReadOp) for tile in op.value_results]
    return RingAccess(
        is_by_tma=any(map(is_by_tma, fillers)),
        is_read_by_threads=not all(map(_is_read_by_products, tiles)),
        is_read_by_wgmma=any(map(is_read_by_wgmma, tiles)),
        fillers=fillers,
        releases=tuple(op for op in ops if isinstance(op, ConsumerReleaseOp)),
        depth=ring.depth if isinstance(ring, CreatePipelineOp) else 0,
    )


def _agent_of(op: Operation) -> Region | None:
    """The region of the agent that runs an op."""
    region = op.parent_region()
    while region is not None and not isinstance(region.parent, AgentSwitchOp):
        region = region.parent_region()
    return region


def _may_run(filler: Operation, release: Operation) -> bool:
    """
    Whether `filler` may run when `release` has run: it stands behind it, a loop around both goes on, or another agent
    runs it. In an epilogue nothing is filled again.
    """
    op = release
    while (block := op.parent) is not None:
        reached, around = block.find_ancestor_op_in_block(filler), block.parent_op()
        if reached is None and (block.parent is None or len(block.parent.blocks) > 1):
            return True
        if reached is not None and (reached is not op and op.is_before_in_block(reached)):
            return True
        if reached is not None and isinstance(around, scf.ForOp | scf.WhileOp):
            return True
        if reached is op and isinstance(op, AgentSwitchOp) and _agent_of(filler) is not _agent_of(release):
            return True
        if around is None or isinstance(around, func.FuncOp):
            return False
        op = around
    return True


def _is_read_by_products(tile: SSAValue) -> bool:
    return all(isinstance(use.operation, DotOp | AsyncDotOp) for use in tile.uses)
