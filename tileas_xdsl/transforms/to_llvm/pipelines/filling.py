"""By which proxies the slots of pipelines are filled and read (PTX ISA, "Async proxy")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.analysis.threads.filling import is_by_tma
from tileas_xdsl.analysis.threads.liveness import agent_of
from tileas_xdsl.analysis.threads.products import is_read_by_wgmma
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReadOp, ConsumerReleaseOp, CreatePipelineOp


@dataclass(frozen=True)
class RingAccess:
    """How the slots of a ring are written and read."""

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
        own = [op for op in self.releases if agent_of(op) is agent_of(release)]
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
        if reached is op and isinstance(op, AgentSwitchOp) and agent_of(filler) is not agent_of(release):
            return True
        if around is None or isinstance(around, func.FuncOp):
            return False
        op = around
    return True


def _is_read_by_products(tile: SSAValue) -> bool:
    return all(isinstance(use.operation, DotOp | AsyncDotOp) for use in tile.uses)
