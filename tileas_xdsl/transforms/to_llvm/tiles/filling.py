"""What fills the slots of a pipeline, and who reads them: an engine, or threads by ordinary loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
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

    @property
    def needs_fence(self) -> bool:
        """Whether a slot that is given back has been read by another proxy than the one that fills it again."""
        return self.is_by_tma and self.is_read_by_threads


def ring_accesses(function: func.FuncOp, roots: PipelineRoots) -> dict[Operation, RingAccess]:
    """How each ring of a function is accessed, by its root."""
    by_tma: set[Operation] = set()
    by_threads: set[Operation] = set()
    for op in function.body.walk():
        root = roots.of_op(op) if isinstance(op, ProduceOneAsyncOp | ConsumerReadOp) else None
        if root is None:
            continue
        if is_by_tma(op):
            by_tma.add(root.op)
        if isinstance(op, ConsumerReadOp) and not all(map(_is_read_by_products, op.value_results)):
            by_threads.add(root.op)
    return {root: RingAccess(root in by_tma, root in by_threads) for root in (*by_tma, *by_threads)}


def _is_read_by_products(tile: SSAValue) -> bool:
    return all(isinstance(use.operation, DotOp | AsyncDotOp) for use in tile.uses)


def is_read_by_wgmma(tile: SSAValue) -> bool:
    """Whether the tensor core reads a tile of shared memory itself."""
    return any(isinstance(use.operation, DotOp | AsyncDotOp) for use in tile.uses)
