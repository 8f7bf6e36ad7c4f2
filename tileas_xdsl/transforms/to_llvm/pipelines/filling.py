"""Who fills the slots of pipelines, and whether the tensor core reads them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Operation

from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.analysis.threads.filling import is_by_tma
from tileas_xdsl.analysis.threads.products import is_of_warpgroup
from tileas_xdsl.analysis.threads.rings import Rings
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReadOp


@dataclass(frozen=True)
class RingAccess:
    """How the slots of a ring are written and read."""

    fillers: tuple[ProduceOp, ...] = ()
    """The ops that fill them."""
    is_read_by_wgmma: bool = False
    """Whether the tensor core reads them itself."""

    @property
    def is_by_tma(self) -> bool:
        """Whether one thread fills them, by TMA."""
        return any(map(is_by_tma, self.fillers))


def ring_accesses(function: func.FuncOp, roots: PipelineRoots) -> dict[Operation, RingAccess]:
    """How each ring of a function is accessed, by its root."""
    fillers: dict[PipelineRoot, list[ProduceOp]] = {}
    for op in function.body.walk():
        for root in roots.all_of_op(op) if isinstance(op, ProduceOp | ConsumerReadOp) else ():
            fillers.setdefault(root, []).extend([op] if isinstance(op, ProduceOp) else [])
    read = _read_by_wgmma(function)
    return {root.op: RingAccess(tuple(ops), root.key in read) for root, ops in fillers.items()}


def _read_by_wgmma(function: func.FuncOp) -> set[Hashable]:
    """The rings whose slots the tensor core reads, under whatever names, by their keys."""
    rings = Rings(function)
    products = [op for op in function.body.walk() if isinstance(op, DotOp | AsyncDotOp) and is_of_warpgroup(op)]
    return {slots.ring for op in products for operand in (op.a, op.b) for slots in rings.of_tile(operand)}
