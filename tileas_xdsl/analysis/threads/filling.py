"""
What fills the slots of a pipeline: an engine, or threads by ordinary loads and stores.

    produce_one {producer_kind = "tma"} { tiled_load .. }     one thread, by TMA
    produce_one { tiled_load .. }                             threads, by asynchronous copies
    produce_one { %d = alloc_tensor; copy %v, %d; yield %d }  threads, by stores: what they have computed
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import PipelineYieldOp
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, CopyOp
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaLoadOp
from tileas_xdsl.targets.engines import Engine

TMA = Engine.TMA
"""What `producer_kind` says where TMA fills it."""


MULTICAST = "nv_tileas.multicast"
"""The attribute of a load, or of a copy by TMA, that says how many blocks of a cluster share it."""


def multicast_of(op: Operation) -> int:
    """How many blocks share what an op copies; 1 where it is for its own block alone."""
    said = op.attributes.get(MULTICAST)
    return said.value.data if isinstance(said, IntegerAttr) else 1


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


def is_way_to_slot(tile: SSAValue | None) -> bool:
    """Whether a tile is that by way of which a slot is filled: it has no bytes of its own."""
    fillers = [] if tile is None else [use.operation.parent_op() for use in tile.uses]
    return any(isinstance(filler, ProduceOp) and bool(stores_into(filler)) for filler in fillers)
