"""
TMA: one thread starts the copy of a whole tile, box by box, and the bytes that arrive are counted at the barrier.

    async.tiled_tma_load %x_map[%i, %k], %slot barrier(%full)        in a branch of one thread

    cp.async.bulk.tensor %slot, %x_map, %full, box[k, i]             for each box of the tile

    async.wait (async.tiled_tma_store %c_map[%i, %j], a tile of shared memory)

    cp.async.bulk.tensor %c_map, box[j, i], tile                     by the first thread, when all have written it
    cp.async.bulk.commit_group
    cp.async.bulk.wait_group 0                                       where the wait stands, by the same thread; at
                                                                     the end wait_group.read 0

The maps are arguments, which the host makes. What sticks out of the array arrives as zeros, and counts as bytes.
(PTX ISA, "cp.async.bulk.tensor"; CUDA Driver API, `cuTensorMapEncodeTiled`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntAttr, MemRefType, NoneAttr, StridedLayoutAttr, i16, i32
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tileas_xdsl.analysis.threads.filling import multicast_of
from tileas_xdsl.analysis.threads.stores import is_last, stores_behind, waits_at_once
from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.dialects.extensions.llvm import AddrSpaceCastOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp
from tileas_xdsl.dialects.nv_tileas.attributes import AtomFamily, bound_atom
from tileas_xdsl.dialects.nv_tileas.layout import form_of
from tileas_xdsl.dialects.nv_tileas.tma import MakeTiledTmaDescOp, TiledTmaLoadOp, TiledTmaStoreOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nv_tileas.types import TmaDescriptorType
from tileas_xdsl.dialects.nvvm.bulk import (
    CpAsyncBulkCommitGroupOp,
    CpAsyncBulkTensorGlobalToSharedClusterOp,
    CpAsyncBulkTensorSharedCTAToGlobalOp,
    CpAsyncBulkWaitGroupOp,
)
from tileas_xdsl.dialects.nvvm.registers import ClusterIdOp
from tileas_xdsl.dialects.tensor_maps import TensorMap, TensorMapError, tensor_map_of
from tileas_xdsl.dialects.tiles.functions import KernelFunction
from tileas_xdsl.dialects.upstream import pointer_type
from tileas_xdsl.layouts.atoms import box_of
from tileas_xdsl.layouts.forms import Swizzled
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.values import Nothing, SharedTile

CLUSTER_SPACE = 7
NOT_ATTACHED = "expect lower MakeTiledTMADescOp"
"""What TileAS says of a descriptor that has not become an argument; byte for byte."""
BEFORE = "run lower-tma-load-store-to-async and tileas-attach-tma-desc-args before"


# Maps -----------------------------------------------------------------------------------------------------------------


def map_of(array: Attribute, copied: Attribute, parts: int = 1) -> TensorMap:
    """
    The map by which a tile of an array is copied, in so many parts of its rows; the host says how far apart rows are,
    and a tile of lower rank has an extent of 1 along the leading dimensions. Raises `TensorMapError` where TMA does not
    copy it.
    """
    tile, form = tile_of(copied), form_of(copied)
    box = None if tile is None else box_of(tile.layout, tile.bits)
    if tile is None or box is None or not isinstance(form, Swizzled) or not isinstance(array, MemRefType):
        raise TensorMapError(f"is copied as {copied}, which is no boxes of TMA")
    described = cast("MemRefType[Attribute]", array)
    if not _has_rows(described.layout):
        raise TensorMapError(f"is a {described}, and the host describes arrays whose rows are dense")
    rows = MemRefType(described.element_type, described.get_shape())
    if parts > 1:
        box = (*box[:-2], box[-2] // parts, box[-1])
    return TensorMap(rows, (1,) * (len(rows.get_shape()) - len(box)) + box, form.width)


def _has_rows(layout: Attribute) -> bool:
    """Whether rows are dense and follow each other, or lie as far apart as the host says."""
    if not isinstance(layout, StridedLayoutAttr):
        return isinstance(layout, NoneAttr)
    *outer, inner = layout.strides.data
    return layout.get_offset() == 0 and inner == IntAttr(1) and all(isinstance(stride, NoneAttr) for stride in outer)


def is_stored_by_tma(op: Operation) -> bool:
    """Whether an op stores its tile from shared memory by TMA."""
    if isinstance(op, TiledTmaStoreOp):
        return True
    atom = bound_atom(op)
    return isinstance(op, TiledStoreOp) and atom is not None and atom.family is AtomFamily.TMA_STORE


def described_by(argument: SSAValue) -> TensorMap | None:
    """What an argument of the kernel says of the descriptor that it is; None where it is none, or says nothing."""
    function = argument.block.parent_op() if isinstance(argument, BlockArgument) else None
    if not isinstance(function, KernelFunction) or not isinstance(argument, BlockArgument):
        return None
    if function.arg_attrs is None or not isinstance(argument.type, TmaDescriptorType):
        return None
    return tensor_map_of(function.arg_attrs.data[argument.index].data)


# Copies ---------------------------------------------------------------------------------------------------------------


def by_first_thread(threads: Threads, build: Callable[[], None], parts: int = 1) -> None:
    """Do what `build` builds in one thread of the team, or of each of so many equal parts of it."""

    def is_first() -> SSAValue:
        number = threads.thread
        if parts > 1:
            number = threads.compute(arith.AndIOp, number, threads.team.warps.threads // parts - 1)
        return threads.compare(number, "eq", 0)

    first = threads.once(("first", parts), is_first)
    assert first is not None
    threads.when(first, build)


@rule(TiledTmaLoadOp)
def _load(op: TiledTmaLoadOp, threads: Threads) -> None:
    pointer, barrier = threads.of(op.descriptor), threads.of(op.barrier[0])
    blocks = multicast_of(op)
    mask = threads.number((1 << blocks) - 1, i16) if blocks > 1 else None
    for slot, coordinates in _boxes(threads, op, threads.tile(op.destination)):
        target = threads.result(AddrSpaceCastOp.create(operands=[slot], result_types=[pointer_type(CLUSTER_SPACE)]))
        copy = CpAsyncBulkTensorGlobalToSharedClusterOp(target, pointer, barrier, coordinates, multicast_mask=mask)
        threads.insert(copy)
    threads.give(op.done, Nothing())


@rule(TiledTmaStoreOp)
def _store(op: TiledTmaStoreOp, threads: Threads) -> None:
    """The first thread starts the copies of a tile that all have written and fenced; or that of each warpgroup."""
    pointer, held = threads.of(op.descriptor), threads.tile(op.source)

    wait = op.next_op

    def build() -> None:
        for slot, coordinates in _boxes(threads, op, held):
            threads.insert(CpAsyncBulkTensorSharedCTAToGlobalOp(pointer, slot, coordinates))
        threads.insert(CpAsyncBulkCommitGroupOp())
        if waits_at_once(op) and isinstance(wait, AsyncWaitOp):
            threads.insert(CpAsyncBulkWaitGroupOp(0, read=is_last(wait)))

    by_first_thread(threads, build, op.parts)
    threads.give(op.done, Nothing())


def await_stores(op: AsyncWaitOp, threads: Threads) -> None:
    """
    The first thread waits until all copies that it has started are done: then the memory of the tiles is free. At the
    end it is enough that their sources have been read.
    """

    def build() -> None:
        threads.insert(CpAsyncBulkWaitGroupOp(0, read=is_last(op)))

    by_first_thread(threads, build, max(store.parts for store in stores_behind(op.token)))


def _boxes(
    threads: Threads, copy: TiledTmaLoadOp | TiledTmaStoreOp, held: SharedTile
) -> Iterator[tuple[SSAValue, list[SSAValue]]]:
    """
    Where each copy of a box lies in shared memory, and its place in the array; PTX has the innermost first. Of a tile
    that several blocks load together each takes the rows of its rank.
    """
    map_, shape, repeats = described_by(copy.descriptor), held.tile.layout.shape, held.tile.repeats
    assert map_ is not None
    starts = [threads.result(arith.IndexCastOp(threads.of(start), i32)) for start in copy.coords]
    pointer, parts = held.pointer, copy.parts if isinstance(copy, TiledTmaStoreOp) else multicast_of(copy)
    if parts > 1:
        part = _own_part(threads, copy, parts)
        pointer = threads.shifted(pointer, threads.compute(arith.MuliOp, part, map_.box_bytes))
        starts[-2] = threads.compute(arith.AddiOp, starts[-2], threads.compute(arith.MuliOp, part, map_.box[-2]))
    for number in range(shape[-1] // map_.box[-1]):
        across = threads.compute(arith.AddiOp, starts[-1], number * map_.box[-1]) if number else starts[-1]
        for behind in repeats:
            distance = number * parts * len(repeats) * map_.box_bytes + behind
            yield threads.shifted(pointer, distance), [across, *reversed(starts[:-1])]


def _own_part(threads: Threads, copy: TiledTmaLoadOp | TiledTmaStoreOp, parts: int) -> SSAValue:
    """Which part of the rows is copied here: of a store that of the warpgroup, of a load that of the block."""
    if isinstance(copy, TiledTmaStoreOp):
        return threads.compute(arith.DivUIOp, threads.thread, threads.team.warps.threads // parts)
    rank = threads.once("rank", lambda: threads.result(ClusterIdOp()))
    assert rank is not None
    return rank


# Refusals -------------------------------------------------------------------------------------------------------------


@refusal(MakeTiledTmaDescOp)
def _not_attached(_op: MakeTiledTmaDescOp) -> tuple[str, str] | None:
    return f"is made by the kernel: {NOT_ATTACHED}", BEFORE


@refusal(TiledTmaStoreOp)
def _no_store(op: TiledTmaStoreOp) -> tuple[str, str] | None:
    if op.done.first_use is None:
        return "is not waited for", "wait for it by nv_tileas.async.wait, before its tile is written again or the end"
    return _no_map(op, op.source.type, op.parts)


@refusal(TiledTmaLoadOp)
def _no_load(op: TiledTmaLoadOp) -> tuple[str, str] | None:
    if not op.barrier or not isinstance(op.barrier[0].type, LLVMPointerType):
        return "copies by TMA, and names no mbarrier that counts its bytes", "run convert-pipeline-to-nvvm before"
    if op.done.first_use is not None:
        return "is waited for by its token, and its bytes are counted at the barrier of the slot", "leave the wait out"
    return _no_map(op, op.destination.type, multicast_of(op))


def _no_map(op: TiledTmaLoadOp | TiledTmaStoreOp, copied: Attribute, parts: int = 1) -> tuple[str, str] | None:
    """The host's map and the tile have to agree on boxes, or other bytes would arrive."""
    try:
        map_ = described_by(op.descriptor)
        if map_ is None:
            return "copies by a descriptor of which nobody says what it maps", BEFORE
        fits = map_ == map_of(map_.array, copied, parts)
    except TensorMapError as error:
        return f"copies by TMA, and the array {error}", "compile it for sm_80, or copy another tile"
    return None if fits else (f"copies {copied} by boxes of {map_.box}, swizzled by {map_.swizzle}", BEFORE)


def undescribed(argument: BlockArgument) -> str | None:
    """Why the host cannot make the descriptor that an argument is, whether anything is copied by it or not."""
    if not isinstance(argument.type, TmaDescriptorType):
        return None
    try:
        return None if described_by(argument) is not None else "is a descriptor of nothing"
    except TensorMapError as error:
        return str(error)
