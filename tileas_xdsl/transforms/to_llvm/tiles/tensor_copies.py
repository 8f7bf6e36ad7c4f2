"""
TMA: one thread starts the copy of a whole tile, box by box, and the bytes that arrive are counted at the barrier.

    produce_one_async {producer_kind = "tma"} { tiled_load %x[%i, %k] }

    mbarrier.arrive.expect_tx full[slot], bytes of the tiles         by the first thread of the producer
    cp.async.bulk.tensor slot, %x, full[slot], box[k * 64, i * 128]  for each box of each tile

    tiled_store %c[%i, %j], a tile of shared memory

    cp.async.bulk.tensor %c, box[j * 128, i * 128], tile             by the first thread, when all have written it
    cp.async.bulk.commit_group; wait_group 0

The host makes a tensor map of the array, which takes its place among the arguments. An array that is used otherwise too
stays, and the map comes behind all other arguments. What sticks out of the array arrives as zeros, and counts as bytes.
(PTX ISA, "cp.async.bulk.tensor"; CUDA Driver API, `cuTensorMapEncodeTiled`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    MemRefType,
    NoneAttr,
    i32,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from tileas_xdsl.dialects.extensions.llvm import AddrSpaceCastOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp, TiledStoreOp, WriteOp
from tileas_xdsl.dialects.nv_tileas.attributes import AtomFamily, bound_atom
from tileas_xdsl.dialects.nv_tileas.layout import form_of
from tileas_xdsl.dialects.nv_tileas.pipeline import ProduceOneAsyncOp
from tileas_xdsl.dialects.nvvm.bulk import (
    CpAsyncBulkCommitGroupOp,
    CpAsyncBulkTensorGlobalToSharedClusterOp,
    CpAsyncBulkTensorSharedCTAToGlobalOp,
    CpAsyncBulkWaitGroupOp,
)
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierArriveExpectTxOp
from tileas_xdsl.dialects.tensor_maps import TENSOR_MAP, TensorMap, TensorMapError
from tileas_xdsl.dialects.upstream import pointer_type
from tileas_xdsl.layouts.atoms import box_of
from tileas_xdsl.layouts.forms import Swizzled
from tileas_xdsl.transforms.to_llvm.tiles.filling import filled_with, is_by_tma
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.tiles.values import SharedTile, tile_of

CLUSTER_SPACE = 7


# Maps -----------------------------------------------------------------------------------------------------------------


def map_of(access: TiledLoadOp | TiledStoreOp) -> TensorMap:
    """The map by which a tile is copied. Raises `TensorMapError` where TMA does not copy it."""
    tile, form, array = tile_of(access.value.type), form_of(access.value.type), access.base.type
    box = None if tile is None else box_of(tile.layout, tile.bits)
    if tile is None or box is None or not isinstance(form, Swizzled) or not isinstance(array, MemRefType):
        raise TensorMapError(f"is copied as {access.value.type}, which is no boxes of TMA")
    described = cast("MemRefType[Attribute]", array)
    if not isinstance(described.layout, NoneAttr):
        raise TensorMapError(f"is a {described}, and the host describes arrays whose rows are dense")
    return TensorMap(described, box, form.width)


@dataclass(frozen=True)
class Parameter:
    """An argument of the function of threads: an array as before, or a tensor map of one."""

    argument: BlockArgument
    """Of the function of tiles."""
    map: TensorMap | None = None
    is_behind: bool = False
    """Whether the map is one more argument, behind the others."""

    @property
    def name(self) -> str | None:
        hint = self.argument.name_hint
        return f"{hint}_map" if self.is_behind and hint is not None else hint

    @property
    def type(self) -> Attribute:
        return self.argument.type if self.map is None else pointer_type(0)

    @property
    def attributes(self) -> dict[str, Attribute]:
        """What the machine and the host are told of it."""
        return {} if self.map is None else {TENSOR_MAP: self.map.attribute}


def tma_loads(function: func.FuncOp) -> Iterator[TiledLoadOp]:
    """The loads of a function that TMA does."""
    for op in function.body.walk():
        if isinstance(op, ProduceOneAsyncOp) and is_by_tma(op):
            yield from (value.owner for value in filled_with(op) if isinstance(value.owner, TiledLoadOp))


def is_stored_by_tma(op: Operation) -> bool:
    """Whether an op stores its tile from shared memory by TMA."""
    atom = bound_atom(op)
    return isinstance(op, TiledStoreOp) and atom is not None and atom.family is AtomFamily.TMA_STORE


def tma_stores(function: func.FuncOp) -> Iterator[TiledStoreOp]:
    """The stores of a function that TMA does."""
    yield from (op for op in function.body.walk() if isinstance(op, TiledStoreOp) and is_stored_by_tma(op))


def parameters_of(function: func.FuncOp) -> list[Parameter]:
    """The arguments of the function of threads, in order."""
    copies = [*tma_loads(function), *tma_stores(function)]
    wanted: dict[SSAValue, list[TensorMap]] = {}
    for access in copies:
        found = wanted.setdefault(access.base, [])
        if map_of(access) not in found:
            found.append(map_of(access))
    own: list[Parameter] = []
    behind: list[Parameter] = []
    for argument in function.body.block.args:
        maps = [Parameter(argument, each) for each in wanted.get(argument, [])]
        if len(maps) == 1 and all(use.operation in copies for use in argument.uses):
            own += maps
        else:
            own.append(Parameter(argument))
            behind += [replace(each, is_behind=True) for each in maps]
    return [*own, *behind]


def bind_parameters(threads: Threads, parameters: Sequence[Parameter], block: Block) -> None:
    """Arrays and numbers are what they were; maps are found by the array and the box."""
    for parameter, argument in zip(parameters, block.args, strict=True):
        if parameter.map is None:
            threads.bind([parameter.argument], [argument])
        else:
            threads.maps[parameter.argument, parameter.map] = argument
        argument.name_hint = parameter.name


def attributes_of(parameters: Sequence[Parameter]) -> ArrayAttr[DictionaryAttr] | None:
    """The attributes of the arguments; None where none has any."""
    found = [parameter.attributes for parameter in parameters]
    return ArrayAttr(map(DictionaryAttr, found)) if any(found) else None


# Copies ---------------------------------------------------------------------------------------------------------------


def copy_by_tma(threads: Threads, barrier: SSAValue, tiles: Sequence[tuple[TiledLoadOp, SharedTile]]) -> None:
    """The first thread starts the copies of all tiles of a slot, and says how many bytes they are."""

    def build() -> None:
        total = sum(held.tile.bytes for _, held in tiles)
        threads.insert(MBarrierArriveExpectTxOp(barrier, threads.number(total)))
        for load, held in tiles:
            _copy_boxes(threads, barrier, load, held)

    by_first_thread(threads, build)


def by_first_thread(threads: Threads, build: Callable[[], None]) -> None:
    """Do what `build` builds in one thread of the team."""
    first = threads.once("first", lambda: threads.compare(threads.thread, "eq", 0))
    assert first is not None
    threads.when(first, build)


def _copy_boxes(threads: Threads, barrier: SSAValue, load: TiledLoadOp, held: SharedTile) -> None:
    pointer = threads.maps[cast(BlockArgument, load.base), map_of(load)]
    for slot, coordinates in _boxes(threads, load, held):
        target = threads.result(AddrSpaceCastOp.create(operands=[slot], result_types=[pointer_type(CLUSTER_SPACE)]))
        threads.insert(CpAsyncBulkTensorGlobalToSharedClusterOp(target, pointer, barrier, coordinates))


def store_by_tma(threads: Threads, store: TiledStoreOp, held: SharedTile) -> None:
    """
    The first thread starts the copies of a tile that all have written and fenced, and waits until they are done: then
    its memory is free, and what has been stored is there when the kernel ends.
    """
    pointer = threads.maps[cast(BlockArgument, store.base), map_of(store)]

    def build() -> None:
        for slot, coordinates in _boxes(threads, store, held):
            threads.insert(CpAsyncBulkTensorSharedCTAToGlobalOp(pointer, slot, coordinates))
        threads.insert(CpAsyncBulkCommitGroupOp())
        threads.insert(CpAsyncBulkWaitGroupOp(0))

    by_first_thread(threads, build)


def _boxes(
    threads: Threads, access: TiledLoadOp | TiledStoreOp, held: SharedTile
) -> Iterator[tuple[SSAValue, list[SSAValue]]]:
    """Where each box of a tile lies in shared memory, and its place in the array; PTX has the innermost first."""
    map_, shape = map_of(access), held.tile.layout.shape
    starts = [
        threads.result(arith.IndexCastOp(threads.compute(arith.MuliOp, threads.of(index), extent), i32))
        for index, extent in zip(access.indices, shape, strict=True)
    ]
    for number in range(shape[-1] // map_.box[-1]):
        across = threads.compute(arith.AddiOp, starts[-1], number * map_.box[-1]) if number else starts[-1]
        yield threads.shifted(held.pointer, number * map_.box_bytes), [across, *reversed(starts[:-1])]


# Refusals -------------------------------------------------------------------------------------------------------------


def no_map(access: TiledLoadOp | TiledStoreOp) -> tuple[str, str] | None:
    """Why there is no tensor map for what TMA copies."""
    if not isinstance(access.base, BlockArgument) or not isinstance(access.base.block.parent_op(), func.FuncOp):
        return "copies by TMA an array that is no argument of the kernel", "hand the array over"
    try:
        map_of(access)
    except TensorMapError as error:
        return f"copies by TMA, and the array {error}", "compile it for sm_80, or copy another tile"
    return None


def no_copy(op: ProduceOneAsyncOp) -> tuple[str, str] | None:
    """Why TMA does not fill a slot."""
    for value in filled_with(op):
        load = value.owner
        assert isinstance(load, TiledLoadOp)
        problem = no_map(load)
        if problem is not None:
            return problem
        if any(isinstance(use.operation, WriteOp) for use in load.base.uses):
            return "copies by TMA from an array that the kernel writes", "write another array"
    return None
