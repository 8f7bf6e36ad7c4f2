"""What fills the slots of a pipeline, and who reads them: an engine, or threads by ordinary loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReadOp, PipelineYieldOp, ProduceOneAsyncOp
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaLoadOp

TMA = "tma"
"""What `producer_kind` says where TMA fills it."""


def is_by_tma(op: Operation) -> bool:
    """Whether an op fills its slot by TMA."""
    return isinstance(op, ProduceOneAsyncOp) and op.producer_kind is not None and op.producer_kind.data == TMA


def filled_with(op: ProduceOneAsyncOp) -> Sequence[SSAValue]:
    """The tiles that an op puts into its slot."""
    last = op.body.block.last_op if op.body.blocks else None
    return last.operands if isinstance(last, PipelineYieldOp) else ()


def copies_into(op: ProduceOneAsyncOp) -> Sequence[TiledTmaLoadOp]:
    """The copies by descriptor that fill the slot; none where an op fills it otherwise, or not all of it."""
    copies = [inner for inner in op.body.block.ops if isinstance(inner, TiledTmaLoadOp)]
    slots = [copy.destination for copy in copies]
    return copies if slots == list(filled_with(op)) == list(op.body.block.args) else ()


@dataclass(frozen=True)
class RingAccess:
    """By which proxies the slots of a ring are written and read (PTX ISA, "Async proxy")."""

    is_by_tma: bool
    """Whether one thread fills them, by TMA."""
    is_read_by_threads: bool
    """Whether threads read them by ordinary loads, and not only the tensor core by wgmma."""

    fillers: tuple[Operation, ...] = ()
    """The ops that fill them."""

    def needs_fence(self, release: Operation) -> bool:
        """Whether the slot that is given back was read by another proxy than the one that may fill it again."""
        return self.is_by_tma and self.is_read_by_threads and any(_may_run(op, release) for op in self.fillers)


def ring_accesses(function: func.FuncOp, roots: PipelineRoots) -> dict[Operation, RingAccess]:
    """How each ring of a function is accessed, by its root."""
    fillers: dict[Operation, list[Operation]] = {}
    by_tma: set[Operation] = set()
    by_threads: set[Operation] = set()
    for op in function.body.walk():
        root = roots.of_op(op) if isinstance(op, ProduceOneAsyncOp | ConsumerReadOp) else None
        if root is None:
            continue
        if isinstance(op, ProduceOneAsyncOp):
            fillers.setdefault(root.op, []).append(op)
        if is_by_tma(op):
            by_tma.add(root.op)
        if isinstance(op, ConsumerReadOp) and not all(map(_is_read_by_products, op.value_results)):
            by_threads.add(root.op)
    rings = (*by_tma, *by_threads)
    return {root: RingAccess(root in by_tma, root in by_threads, tuple(fillers.get(root, ()))) for root in rings}


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
        if reached is op and isinstance(op, AgentSwitchOp):
            return True
        if around is None or isinstance(around, func.FuncOp):
            return False
        op = around
    return True


def _is_read_by_products(tile: SSAValue) -> bool:
    return all(isinstance(use.operation, DotOp | AsyncDotOp) for use in tile.uses)
