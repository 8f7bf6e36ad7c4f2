"""Who fills the slots of pipelines, and whether the tensor core reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Operation

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.analysis.threads.filling import is_by_tma
from tileas_xdsl.analysis.threads.products import is_read_by_wgmma
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
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
    found: dict[Operation, list[Operation]] = {}
    for op in function.body.walk():
        if isinstance(op, ProduceOp | ConsumerReadOp):
            for root in roots.all_of_op(op):
                found.setdefault(root.op, []).append(op)
    return {ring: _access(ops) for ring, ops in found.items()}


def _access(ops: Sequence[Operation]) -> RingAccess:
    tiles = [tile for op in ops if isinstance(op, ConsumerReadOp) for tile in op.value_results]
    fillers = tuple(op for op in ops if isinstance(op, ProduceOp))
    return RingAccess(fillers, any(map(is_read_by_wgmma, tiles)))
