"""
The slots of a pipeline as memory with a name: for each tile of the payload a buffer that holds `depth` of them.

    a slot of tensor<128x64xf16>, three of them    ->    memref<384x64xf16, 3>, of which tile (slot, 0) is slot's
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp, TiledStoreOp
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.tile_turns import Tile

SHARED = IntegerAttr(3, i64)


@dataclass(frozen=True)
class SlotBuffers:
    """The buffers of one pipeline, one a tile of its payload."""

    buffers: tuple[SSAValue, ...]

    @staticmethod
    def make(tiles: Sequence[Tile], depth: int, hint: str) -> tuple[SlotBuffers, list[Operation]]:
        """The buffers for `depth` times `tiles`, and the ops that make them."""
        ops: list[Operation] = []
        for tile in tiles:
            first, *rest = tile.get_shape()
            kind = MemRefType(tile.element_type, [depth * first, *rest], memory_space=SHARED)
            alloc = memref.AllocOp([], [], kind)
            alloc.memref.name_hint = hint
            ops.append(alloc)
        return SlotBuffers(tuple(op.results[0] for op in ops)), ops

    def store(self, place: int, slot: SSAValue, zero: SSAValue, tile: SSAValue) -> Operation:
        """Puts `tile` into its `place` of a slot."""
        buffer = self.buffers[place]
        operands = [buffer, tile, _coordinates(buffer, slot, zero), [], []]
        return TiledStoreOp(operands=operands, result_types=[[]], regions=[[]], successors=[[]])

    def load(self, place: int, slot: SSAValue, zero: SSAValue, type_: Attribute) -> Operation:
        """Takes a tile of that type out of its `place` of a slot."""
        buffer = self.buffers[place]
        operands = [buffer, _coordinates(buffer, slot, zero), [], [], []]
        return TiledLoadOp(operands=operands, result_types=[type_, []], regions=[[]], successors=[[]])


def _coordinates(buffer: SSAValue, slot: SSAValue, zero: SSAValue) -> list[SSAValue]:
    kind = cast("MemRefType[Attribute]", buffer.type)
    return [slot, *[zero] * (kind.get_num_dims() - 1)]


def in_registers(type_: Tile) -> Tile:
    """`type_` without a layout: a tile that is only passed on to a slot needs no place of its own."""
    return TensorType(type_.element_type, type_.get_shape())
