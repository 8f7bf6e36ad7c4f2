"""
Classification of ops: what brings tiles into a loop, what computes with them, which instructions fill a stage.

A *load chain* starts at an op that brings tiles into the loop (a load, or a get from a queue that comes from outside),
runs through ops that only arrange tiles, and ends in a *tile compute op*:

    %a = tiled_load %m[%i]           the load
    %v = extract_slice %a            arranges
    %f = convert_layout %v           arranges
    %d = dot %f, %b, %acc            computes: the chain is complete

The test is the chain, not the instruction: a load that cannot use TMA makes a chain as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue, Use
from xdsl.traits import IsTerminator
from xdsl.utils.hints import isa

from tileas_xdsl.dialects.nv_tileaa import compute, control, elementwise, memory, structure
from tileas_xdsl.dialects.nv_tileaa.queue import GetOp, PutOp
from tileas_xdsl.dialects.nv_tileas import compute as tileas_compute
from tileas_xdsl.dialects.nv_tileas import memory as tileas_memory
from tileas_xdsl.dialects.nv_tileas import pointers as tileas_pointers
from tileas_xdsl.dialects.nv_tileas import tma
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.slices import InsertSliceOp
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, CopyOp, ShuffleOp
from tileas_xdsl.dialects.nv_tileas.types import is_stage, is_token
from tileas_xdsl.dialects.nv_tileas.verification import space_of
from tileas_xdsl.dialects.tiles.traits import names_bytes_of_operand
from tileas_xdsl.dialects.upstream_arithmetic import ON_TILES, is_of
from tileas_xdsl.interfaces import LoopLikeOpInterface
from tileas_xdsl.targets.engines import Engine

TMA, ASYNC_COPY, SYNC = Engine.TMA, "async_copy", "sync"
"""The instruction families, as `producer_kind` names them."""

TILED_LOADS = (memory.TiledLoadOp, tileas_memory.TiledLoadOp)
LOADS = (*TILED_LOADS, memory.LoadOp, tileas_pointers.LoadOp)
"""Ops that bring a tile from memory, and are done when control goes on."""

ASYNC_COPIES = (tileas_memory.AsyncCopyOp, tileas_pointers.AsyncLoadOp)
TMA_COPIES = (tma.TiledTmaLoadOp, tma.TiledTmaStoreOp, tma.GatherTmaLoadOp, tma.ScatterTmaStoreOp)

ARRANGING = (
    structure.BroadcastOp,
    structure.CatOp,
    structure.PermuteOp,
    structure.SplatOp,
    control.AssumeOp,
    ConvertLayoutOp,
    CopyOp,
    InsertSliceOp,
    ShuffleOp,
)
"""Ops that give the elements they take, besides those that name the bytes of their operand."""

COMPUTING = (
    compute.DotOp,
    compute.CombiningOp,
    compute.ConvDotOp,
    elementwise.ElementwiseOp,
    structure.ExtractOp,
    tileas_compute.AbstractDotOp,
    tileas_compute.BlockScaledMmaOp,
    tileas_compute.CombiningOp,
    PutOp,
)
"""
Ops that end a load chain. Taking one element out of a tile is computing with it, and so is handing it to a queue that
is drained elsewhere.
"""


# Chains ---------------------------------------------------------------------------------------------------------------


def is_load(op: Operation) -> bool:
    """
    Whether `op` is a load of one tile, or a get from a queue. A tile that threads load under a mask into registers is
    none: no engine, and no copy of threads, leaves elements out.
    """
    if isinstance(op, memory.TiledLoadOp) and op.mask is not None and space_of(op.value.type) != "smem":
        return False
    return isinstance(op, (*LOADS, GetOp))


def payload_of(op: Operation) -> Sequence[SSAValue]:
    """The results of a load or get that are tiles or other data, its memory tokens left out."""
    return op.results if isinstance(op, GetOp) else op.results[:1]


def fits_in_slot(types: Iterable[Attribute]) -> bool:
    """Whether values of `types` can be the payload of a stage: there are some, and none is a token or a number."""
    listed = list(types)
    return bool(listed) and not any(is_stage(type_) or is_token(type_) for type_ in listed)


def reaches_tile_compute(values: Iterable[SSAValue]) -> bool:
    """Whether one of `values`, as it is or rearranged, is computed with. Linear in the uses that are followed."""
    names = list(dict.fromkeys(values))
    seen = set(names)
    for name in names:
        for use in name.uses:
            if is_tile_compute(use.operation):
                return True
            for result in _rearranged(use):
                if result not in seen:
                    seen.add(result)
                    names.append(result)
    return False


def is_tile_compute(op: Operation) -> bool:
    """Whether `op`, which takes a tile, ends a load chain."""
    if isinstance(op, COMPUTING):
        return True
    return is_of(op, ON_TILES) and any(isa(o.type, TensorType[Attribute]) for o in op.operands)


def _rearranged(use: Use) -> Sequence[SSAValue]:
    """The values that hold the elements of a tile behind a use that only arranges or carries them."""
    op, index = use.operation, use.index
    if isinstance(op, CopyOp):
        return op.outputs if op.destination is None else [op.destination] if index == 0 else ()
    arranges = isinstance(op, ARRANGING) or names_bytes_of_operand(op)
    if arranges:
        return op.results[:1]
    if isinstance(op, scf.ForOp):
        return () if index < 3 else (op.body.block.args[index - 2], op.results[index - 3])
    if op.has_trait(IsTerminator, value_if_unregistered=False) and (parent := op.parent_op()) is not None:
        loop = LoopLikeOpInterface.of(parent)
        carried = () if loop is None else loop.carried_arguments[index : index + 1]
        return (*carried, *parent.results[index : index + 1])
    return ()


# Families -------------------------------------------------------------------------------------------------------------


def load_kind(op: Operation) -> str:
    """The family of the stage that a load or get fills: by where its tile lies, and whether it is a box of an array."""
    in_shared_memory = all(space_of(value.type) == "smem" for value in payload_of(op))
    if not in_shared_memory:
        return SYNC
    return TMA if isinstance(op, (*TILED_LOADS, GetOp)) else ASYNC_COPY


def producer_kind(op: ProduceOp, loads: Iterable[Operation] = ()) -> str | None:
    """
    The family of instructions of a produce op: what its `producer_kind` says, else that of the ops in its region; None
    for an abstract op.

    `loads` are loads in front of it that will move into the region.
    """
    if op.producer_kind is not None:
        return op.producer_kind.data
    if op.is_abstract:
        return None
    families = {_family(inner) for inner in (*op.walk(), *loads) if inner is not op}
    return next((family for family in (TMA, ASYNC_COPY) if family in families), SYNC)


def _family(op: Operation) -> str:
    if isinstance(op, TMA_COPIES):
        return TMA
    if isinstance(op, ASYNC_COPIES):
        return ASYNC_COPY
    return load_kind(op) if is_load(op) else SYNC
