"""What structured ops touch of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation

from tileas_xdsl.dialects.upstream_models import accesses, touches_nothing
from tileas_xdsl.interfaces import Effect

accesses(linalg.IndexOp)(touches_nothing)


def _on_buffers(reads: Sequence[Any], writes: Sequence[Any]) -> Sequence[Effect]:
    """Reads and writes of those operands that are buffers; tensors are values."""
    effects = [(False, value) for value in reads] + [(True, value) for value in writes]
    return [Effect(is_write, value) for is_write, value in effects if isinstance(value.type, MemRefType)]


@accesses(linalg.FillOp, linalg.CopyOp)
def _(op: linalg.FillOp | linalg.CopyOp) -> Sequence[Effect]:
    return _on_buffers(op.inputs, op.outputs)


@accesses(
    linalg.GenericOp,
    linalg.TransposeOp,
    linalg.MatmulOp,
    linalg.QuantizedMatmulOp,
    linalg.AddOp,
    linalg.SubOp,
    linalg.MulOp,
    linalg.MaxOp,
    linalg.MinOp,
    linalg.ExpOp,
    linalg.LogOp,
    linalg.SqrtOp,
    linalg.SelectOp,
    linalg.PoolingNchwMaxOp,
    linalg.Conv2DNchwFchwOp,
    linalg.Conv2DNgchwFgchwOp,
    linalg.Conv2DNgchwGfchwOp,
    linalg.Conv2DNhwc_FhwcOp,
    linalg.Conv2DNhwc_HwcfOp,
    linalg.Conv2DNhwgcGfhwcOp,
)
def _(op: LinalgStructuredOperation) -> Sequence[Effect]:
    """The outputs may be added to, so they are read as well."""
    return _on_buffers((*op.inputs, *op.outputs), op.outputs)


@accesses(linalg.BroadcastOp)
def _(op: linalg.BroadcastOp) -> Sequence[Effect]:
    return _on_buffers((op.input,), (op.init,))


@accesses(linalg.ReduceOp)
def _(op: linalg.ReduceOp) -> Sequence[Effect]:
    return _on_buffers((op.input, op.init), (op.init,))
