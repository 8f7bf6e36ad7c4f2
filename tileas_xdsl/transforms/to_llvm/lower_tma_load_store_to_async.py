"""
LowerTMALoadStoreToAsync: tiles that TMA loads and stores become copies by descriptor.

    produce_one_async {producer_kind = "tma"} {            %map = make_tiled_tma_desc %x {box, swizzle_mode, tmaIdx = 0}
    ^bb0(%slot):                                           produce_one_async {producer_kind = "tma"} {
      %v = tiled_load %x[%i, %k]                      ->   ^bb0(%slot):
      yield %v                                               async.tiled_tma_load %map[%i * 128, %k * 64], %slot
    }                                                                                 {tmaIdx = 0, tx_count = 16384}
                                                             yield %slot
                                                           }

    tiled_store %y[%i, %j], %t {TMA}                  ->   %done = async.tiled_tma_store %map[%i * 128, %j * 64], %t
                                                           async.wait %done

    agent_switch {num_warps = [4, 8]} {..}, {              agent_switch {num_warps = [4, 8]} {..}, {
      tiled_store %y[%i, %j], %t {TMA}                ->     %done = async.tiled_tma_store %map[..], %t {warpgroups = 2}
    }                                                      }

    scf.for {                                              %t = alloc_tensor
      %t = alloc_tensor                                    %last = scf.for iter_args(%before = create_none) {
      copy %held, %t                                  ->     async.wait %before
      tiled_store %y[%i, %j], %t {TMA}                       copy %held, %t
    }                                                        %done = async.tiled_tma_store %map[..], %t
                                                             scf.yield %done
                                                           }
                                                           async.wait %last

Coordinates of a tile count tiles, those of a copy elements. The bytes of all copies into a slot are what the barrier of
the slot expects. `tileas-attach-tma-desc-args` makes arguments of the descriptors. (PTX ISA, "cp.async.bulk.tensor".)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.threads.accesses import is_written
from tileas_xdsl.analysis.threads.filling import MULTICAST, filled_with, is_by_tma, multicast_of
from tileas_xdsl.analysis.threads.teams import warpgroups_with_rows
from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.diagnostics import Diagnostic, Severity, rewrite_each
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp, TiledStoreOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.attributes import AtomAttr, SwizzleMode, SwizzleModeAttr
from tileas_xdsl.dialects.nv_tileas.pipeline import ProduceOneAsyncOp
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, CopyOp
from tileas_xdsl.dialects.nv_tileas.tma import MakeTiledTmaDescOp, TiledTmaLoadOp, TiledTmaStoreOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, CreateNoneOp
from tileas_xdsl.dialects.tensor_maps import TensorMap, TensorMapError
from tileas_xdsl.dialects.tiles.functions import KernelFunction
from tileas_xdsl.transforms.rewriting.structure import carry_through
from tileas_xdsl.transforms.to_llvm.building import place
from tileas_xdsl.transforms.to_llvm.tiles.tensor_copies import is_stored_by_tma, map_of

HOST_COUNT, DEVICE_COUNT = "tmaHostNum", "tmaDeviceNum"
"""Attributes of a function: how many descriptors the host makes, and how many the kernel itself."""
NO_PADDING = "TmaLoad only support zero padding now"
NO_BYTES = "failed to get expected tx-count"
NO_BARRIER = "failed to get MBarrier object"
"""What TileAS says of a load that pads with something else, has no bytes, or no slot; byte for byte."""

Access = TiledLoadOp | TiledStoreOp


@dataclass(frozen=True)
class TensorCopy:
    """A load or store that TMA does, by which map, and for a load into which slot."""

    access: Access
    map: TensorMap
    slot: SSAValue | None
    parts: int = 1
    """Of a store: in how many parts of its rows, each by the warpgroup that has written it."""


@dataclass(frozen=True)
class LowerTmaLoadStoreToAsyncPass(ModulePass):
    """
    Make copies by descriptor of the tiles that TMA loads into pipelines, and of those that it stores.

    Rewrites
        As the module's docstring shows: loads that fill the slot of a `produce_one_async` by TMA, and stores that are
        bound to TMA. Descriptors stand at the head of the function, numbered from 0 in the order of their first copies;
        equal ones are shared. The function says how many the host makes (`tmaHostNum`) and how many the kernel
        (`tmaDeviceNum`, always 0). What has become a copy is left alone, so a second run changes nothing.

    Requires
        Tiles with layouts to the bit; pipelines whose regions take their slots as arguments, as schedules leave them. A
        load outside of pipelines has no barrier, and stays.

    Refuses
        Loads that pad with something else than zeros; arrays that are no arguments of the kernel, or no boxes of TMA;
        arrays that TMA reads and the kernel writes, or that it stores to and the kernel accesses otherwise. The
        function stays as it is and gets bit 2, and the errors of all functions come together.

    Choices
        They run behind the schedule, where regions take the slots of their pipelines, so a copy has a barrier; in front
        of it the loads are what is timed, split and given to agents. The token of a load into a slot is not waited for:
        its bytes are counted at the slot's barrier. The box of a descriptor is the tile; the box of the tensor map is
        what one instruction copies of it. Where each of several warpgroups of an agent has written as many rows of a
        tile, it stores them for itself, and waits for no other. Descriptors that the kernel makes itself are not built.
    """

    name = "lower-tma-load-store-to-async"

    DESCRIPTION: ClassVar[str] = (
        "lowering TiledLoad or TiledStore which with tma atom to async tiled load or tiled store"
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = (each for each in op.ops if isinstance(each, KernelFunction) and each.body.blocks)
        rewrite_each(functions, self.name, _problems, lambda function: _lower(function, list(_copies(function))))


# Planning -------------------------------------------------------------------------------------------------------------


def _loads(function: KernelFunction) -> Iterator[tuple[ProduceOneAsyncOp, int, TiledLoadOp]]:
    """The loads that TMA does: the op that fills a slot, which tile of it, and the load."""
    for op in function.body.walk():
        if isinstance(op, ProduceOneAsyncOp) and is_by_tma(op):
            for number, value in enumerate(filled_with(op)):
                if isinstance(value.owner, TiledLoadOp):
                    yield op, number, value.owner


def _stores(function: KernelFunction) -> Iterator[TiledStoreOp]:
    yield from (op for op in function.body.walk() if isinstance(op, TiledStoreOp) and is_stored_by_tma(op))


def _copies(function: KernelFunction) -> Iterator[TensorCopy]:
    for filler, number, load in _loads(function):
        map_ = map_of(load.base.type, load.value.type, multicast_of(load))
        yield TensorCopy(load, map_, filler.body.block.args[number])
    for store in _stores(function):
        parts = warpgroups_with_rows(store)
        yield TensorCopy(store, map_of(store.base.type, store.value.type, parts), None, parts)


# Refusals -------------------------------------------------------------------------------------------------------------


def _problems(function: KernelFunction) -> Iterator[Diagnostic]:
    for filler, number, load in _loads(function):
        if load.mask is not None or load.other is not None:
            words = "a mask or another value than zero outside of the array; load whole tiles"
            yield Diagnostic(Severity.ERROR, load, NO_PADDING, words, verbatim=True)
        elif number >= len(filler.body.block.args):
            words = "the region takes no slot for this tile, so no barrier counts its bytes; schedule the loop before"
            yield Diagnostic(Severity.ERROR, load, NO_BARRIER, words, verbatim=True)
        elif tile_of(load.value.type) is None:
            words = f"the layout of {load.value.type} does not say how many bytes it has; use layouts=true"
            yield Diagnostic(Severity.ERROR, load, NO_BYTES, words, verbatim=True)
        else:
            yield from _problem(load, _no_map(load) or _is_written(load))
    for store in _stores(function):
        yield from _problem(store, _no_store(store))


def _problem(op: Operation, found: tuple[str, str] | None) -> Iterator[Diagnostic]:
    if found is not None:
        yield Diagnostic(Severity.ERROR, op, *found)


def _no_map(access: Access) -> tuple[str, str] | None:
    """Why there is no tensor map for what TMA copies."""
    if not isinstance(access.base, BlockArgument) or not isinstance(access.base.block.parent_op(), KernelFunction):
        return "copies by TMA an array that is no argument of the kernel", "hand the array over"
    try:
        map_of(access.base.type, access.value.type)
    except TensorMapError as error:
        return f"copies by TMA, and the array {error}", "compile it for sm_80, or copy another tile"
    return None


def _is_written(load: TiledLoadOp) -> tuple[str, str] | None:
    if is_written(load):
        return "copies by TMA from an array that the kernel writes", "write another array"
    return None


def _no_store(store: TiledStoreOp) -> tuple[str, str] | None:
    """A copy into memory of its own is fenced for engines; nothing else that shared memory holds is."""
    if store.mask is not None or store.token:
        return "has a mask or tokens", "store whole tiles; what lies outside of the array is left out"
    if not isinstance(store.value.owner, AllocTensorOp):
        return "stores a tile by TMA that threads did not copy into shared memory for it", "copy it by nv_tileas.copy"
    if not all(is_stored_by_tma(use.operation) for use in store.base.uses):
        return "stores by TMA to an array that the kernel accesses otherwise, too", "store to another array"
    return _no_map(store)


# Rewriting ------------------------------------------------------------------------------------------------------------


def _lower(function: KernelFunction, copies: Sequence[TensorCopy]) -> None:
    made: dict[tuple[SSAValue, TensorMap, Attribute], MakeTiledTmaDescOp] = {}
    for copy in copies:
        atom = _atom(copy)
        key = (copy.access.base, copy.map, atom)
        if key not in made:
            made[key] = _descriptor(copy, atom, len(made))
        (_store if copy.slot is None else _load)(copy, made[key])
    first = function.body.block.first_op
    assert first is not None
    if made:
        Rewriter.insert_op(list(made.values()), InsertPoint.before(first))
        function.attributes[HOST_COUNT] = IntegerAttr(len(made), i32)
        function.attributes[DEVICE_COUNT] = IntegerAttr(0, i32)


def _atom(copy: TensorCopy) -> AtomAttr:
    """The atom of the copy, with the box of the whole tile."""
    tile = tile_of(copy.access.value.type)
    assert tile is not None
    label = "tma_store" if copy.slot is None else "tma_load"
    return AtomAttr.of(label, box=_box(tile.layout.shape))


def _box(extents: Sequence[int]) -> Attribute:
    return DenseArrayBase.from_list(i64, list(extents))


def _descriptor(copy: TensorCopy, atom: AtomAttr, number: int) -> MakeTiledTmaDescOp:
    swizzle = SwizzleMode(f"{copy.map.swizzle}B") if copy.map.swizzle else SwizzleMode.NONE
    said = {"swizzle_mode": SwizzleModeAttr(swizzle), "tmaIdx": IntegerAttr(number, i32)}
    made = MakeTiledTmaDescOp(copy.access.base, atom, box=atom.box, properties=said)
    hint = copy.access.base.name_hint
    made.descriptor.name_hint = None if hint is None else f"{hint}_map"
    return place(made, copy.access.location)


def _load(copy: TensorCopy, descriptor: MakeTiledTmaDescOp) -> None:
    load, slot = copy.access, copy.slot
    tile = tile_of(load.value.type)
    assert slot is not None
    assert descriptor.atom is not None
    assert descriptor.tma_idx is not None
    assert tile is not None
    bytes_ = IntegerAttr(tile.bytes, i32)
    made = TiledTmaLoadOp(
        descriptor.descriptor,
        slot,
        _coordinates(load, tile.layout.shape),
        descriptor.atom,
        properties={"tmaIdx": descriptor.tma_idx, "tx_count": bytes_},
    )
    if MULTICAST in load.attributes:
        made.attributes[MULTICAST] = load.attributes[MULTICAST]
    Rewriter.insert_op(place(made, load.location), InsertPoint.before(load))
    load.value.replace_all_uses_with(slot)
    Rewriter.erase_op(load)


def _store(copy: TensorCopy, descriptor: MakeTiledTmaDescOp) -> None:
    store = copy.access
    assert isinstance(store, TiledStoreOp)
    tile = tile_of(store.value.type)
    assert descriptor.atom is not None
    assert descriptor.tma_idx is not None
    assert tile is not None
    staged = _staged_in_loops(store)
    made = TiledTmaStoreOp(
        descriptor.descriptor,
        store.value,
        _coordinates(store, tile.layout.shape),
        descriptor.atom,
        properties={"tmaIdx": descriptor.tma_idx, **_parts(copy)},
    )
    place(made, store.location)
    if staged is None:
        Rewriter.replace_op(store, [made, place(AsyncWaitOp(made.done), store.location)], [])
        return
    Rewriter.replace_op(store, made, [])
    _wait_in_next_turn(made, staged)


def _parts(copy: TensorCopy) -> dict[str, Attribute]:
    return {} if copy.parts == 1 else {"warpgroups": IntegerAttr(copy.parts, i32)}


@dataclass(frozen=True)
class _Staged:
    """A tile that is staged and stored once in each turn of counted loops."""

    tile: AllocTensorOp
    first: CopyOp
    """The op that begins to fill it."""
    loops: Sequence[scf.ForOp]
    """Around its store, the innermost first."""


def _staged_in_loops(store: TiledStoreOp) -> _Staged | None:
    """What is known of the tile of a store; None where it stands in no loop, or something else uses its tile, too."""
    tile, loops, around = store.value.owner, list[scf.ForOp](), store.parent_op()
    while isinstance(around, scf.ForOp):
        loops.append(around)
        around = around.parent_op()
    if not loops or not isinstance(around, KernelFunction | AgentSwitchOp) or not isinstance(tile, AllocTensorOp):
        return None
    fills = [use.operation for use in store.value.uses if use.operation is not store]
    if tile.parent is not store.parent or len(fills) != 1 or not isinstance(fill := fills[0], CopyOp):
        return None
    is_before = fill.parent is store.parent and fill.is_before_in_block(store)
    return _Staged(tile, fill, loops) if is_before and not tile.operands else None


def _wait_in_next_turn(store: TiledTmaStoreOp, staged: _Staged) -> None:
    """Let threads go on behind a store: they wait for it before they fill its tile again, and behind the loops."""
    wait = place(AsyncWaitOp(store.done), store.location)
    Rewriter.insert_op(wait, InsertPoint.before(staged.first))
    token: SSAValue = store.done
    outermost = staged.loops[-1]
    staged.tile.detach()
    none = CreateNoneOp(store.done.type)
    none.result.name_hint = "none"
    Rewriter.insert_op([staged.tile, none], InsertPoint.before(outermost))

    def carried(inner: Sequence[scf.ForOp]) -> Callable[[Block, Sequence[SSAValue]], Sequence[SSAValue]]:
        def body(_: Block, entering: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if inner:
                return carry_through(inner[-1], entering, carried(inner[:-1]), "stored")
            wait.operands[0] = entering[0]
            return [token]

        return body

    (last,) = carry_through(outermost, [none.result], carried(staged.loops[:-1]), "stored")
    behind = last.owner
    assert isinstance(behind, Operation)
    Rewriter.insert_op(place(AsyncWaitOp(last), store.location), InsertPoint.after(behind))


def _coordinates(access: Access, extents: Sequence[int]) -> list[SSAValue]:
    """The first element of the tile at these coordinates; its extent along leading dimensions may be 1, unsaid."""
    found: list[SSAValue] = list(access.indices[: len(access.indices) - len(extents)])
    for index, extent in zip(access.indices[len(found) :], extents, strict=True):
        constant = arith.ConstantOp(IntegerAttr.from_index_int_value(extent))
        product = place(arith.MuliOp(index, constant.result), access.location)
        Rewriter.insert_op([constant, product], InsertPoint.before(access))
        found.append(product.result)
    return found
