"""What the ops of `vector` touch of buffers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Attribute

from tileas_xdsl.dialects.upstream_models import accesses
from tileas_xdsl.interfaces import Effect


@accesses(vector.LoadOp)
def _(op: vector.LoadOp) -> Sequence[Effect]:
    return (Effect(False, op.base, op.indices, vector_extents(op.result.type, len(op.indices))),)


@accesses(vector.StoreOp)
def _(op: vector.StoreOp) -> Sequence[Effect]:
    return (Effect(True, op.base, op.indices, vector_extents(op.vector.type, len(op.indices))),)


@accesses(vector.TransferReadOp, vector.TransferWriteOp)
def _(op: vector.TransferReadOp | vector.TransferWriteOp) -> Sequence[Effect]:
    """Neighbouring elements; any of the buffer where a mask or a permutation says which."""
    writes = isinstance(op, vector.TransferWriteOp)
    if not isinstance(op.source.type, MemRefType):
        return ()
    if op.mask is not None or not op.permutation_map.data.is_minor_identity():
        return (Effect(writes, op.source),)
    vector_type = op.vector.type if isinstance(op, vector.TransferWriteOp) else op.result.type
    return (Effect(writes, op.source, op.indices, vector_extents(vector_type, len(op.indices))),)


def vector_extents(vector_type: Attribute, rank: int) -> tuple[int, ...]:
    """How many elements along each of `rank` axes a vector covers: its shape, on the last axes."""
    assert isinstance(vector_type, VectorType)
    shape = vector_type.get_shape()
    return (*(1 for _ in range(rank - len(shape))), *shape)
