"""
Threads store what they hold, so a tile that lies in shared memory is read first.

    tiled_store %c[%i], %slot : tensor<16x16xf32, smem>   ->   %held = convert_layout %slot : -> tensor<16x16xf32>
                                                               tiled_store %c[%i], %held

A tile that was copied there for an engine to store it stays: `tileas-assign-load-store-layouts` makes these.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, ConvertLayoutOp
from tileas_xdsl.dialects.nv_tileas.verification import space_of


def read_before_stores(function: Operation) -> None:
    """Put a read in front of each store of a tile that lies in shared memory."""
    for store in [op for op in function.walk() if isinstance(op, TiledStoreOp)]:
        tile = store.value
        if space_of(tile.type) != "smem" or isinstance(tile.owner, AllocTensorOp):
            continue
        kind = cast("TensorType[Attribute]", tile.type)
        read = ConvertLayoutOp(tile, TensorType(kind.element_type, kind.get_shape()))
        read.location = store.location
        read.result.name_hint = tile.name_hint
        Rewriter.insert_op(read, InsertPoint.before(store))
        store.operands = [read.result if operand is tile else operand for operand in store.operands]
