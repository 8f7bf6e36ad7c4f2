"""Loads and stores of tiles: from arrays into shared memory or registers, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import SSAValue

from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp, TiledStoreOp
from tileas_xdsl.dialects.nv_tileas.memory import AsyncTiledLoadOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncCommitGroupOp, CpAsyncWaitGroupOp
from tileas_xdsl.transforms.to_llvm.tiles.global_memory import (
    Window,
    array_at,
    bounds,
    copy_in,
    load_masked,
    load_registers,
    store_masked,
    store_registers,
    widths,
)
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.tensor_copies import BEFORE, is_stored_by_tma
from tileas_xdsl.transforms.to_llvm.tiles.values import LAYOUTS, Nothing, SharedTile


def _window(op: TiledLoadOp | TiledStoreOp | AsyncTiledLoadOp, value: SSAValue, threads: Threads) -> Window:
    tile = tile_of(value.type)
    assert tile is not None
    given, places = (op.view, op.coords) if isinstance(op, AsyncTiledLoadOp) else (op.base, op.indices)
    array = array_at(threads, given)
    coordinates = [threads.of(index) for index in places]
    promised: DenseArrayBase[Any] | None = op.in_bounds
    return Window.at(threads, array, coordinates, tile.layout.shape, tile.bits, bounds(promised, len(coordinates)))


def _copy_tile(window: Window, target: SharedTile) -> None:
    """Start to copy a tile into shared memory."""
    tile = target.tile
    possible = widths(tile.layout.shape, tile.layout, tile.bits, window.threads.warps)
    width = next(each for each in possible if each <= window.width)
    for behind in tile.repeats:
        copy_in(window, tile, SharedTile(tile, window.threads.shifted(target.pointer, behind)), width)


@rule(AsyncTiledLoadOp)
def _load_into(op: AsyncTiledLoadOp, threads: Threads) -> None:
    """What the threads have started is complete behind the wait for it, or when their arrivals are behind it."""
    _copy_tile(_window(op, op.destination, threads), threads.tile(op.destination))
    threads.give(op.done, Nothing())


def await_loads(threads: Threads) -> None:
    """Each thread waits for all copies that it has started."""
    threads.insert(CpAsyncCommitGroupOp())
    threads.insert(CpAsyncWaitGroupOp(0))


@rule(TiledLoadOp)
def _load(op: TiledLoadOp, threads: Threads) -> None:
    tile = tile_of(op.value.type)
    assert tile is not None
    window = _window(op, op.value, threads)
    if op.mask is None:
        threads.give(op.value, load_registers(window, tile))
        return
    other = None if op.other is None else threads.registers(op.other)
    threads.give(op.value, load_masked(window, tile, threads.registers(op.mask), other))


@rule(TiledStoreOp)
def _store(op: TiledStoreOp, threads: Threads) -> None:
    window, held = _window(op, op.value, threads), threads.registers(op.value)
    if op.mask is None:
        store_registers(window, held)
    else:
        store_masked(window, held, threads.registers(op.mask))


@refusal(TiledLoadOp)
def _load_of_a_kind(op: TiledLoadOp) -> tuple[str, str] | None:
    if op.token or (op.mask is None and op.other is not None):
        return TOKENS
    tile = tile_of(op.value.type)
    if op.mask is not None and tile is not None:
        return masked_otherwise(tile, [op.mask, op.other])
    if tile is not None and not tile.in_registers:
        return "loads into shared memory without a place there", "run tileas-place-tiles before"
    return None if tile is None else _moves_otherwise(tile)


def masked_otherwise(tile: Tile, others: Sequence[SSAValue | None]) -> tuple[str, str] | None:
    """Why a tile cannot be moved under a mask."""
    if not tile.in_registers:
        return "has a mask, and its tile lies in shared memory", "leave out the layout of the tile: threads load it"
    for value in others:
        own = None if value is None else tile_of(value.type)
        if own is not None and own.layout != tile.layout:
            return f"has a mask, or values for what it leaves out, in another layout than {tile.type}", LAYOUTS
    return None if tile.bits >= 8 else _moves_otherwise(tile)


TOKENS = ("has tokens, or other values without a mask", "leave them out; what lies outside of the array reads as zero")
WHOLE_TILES = ("has a mask or tokens", "load whole tiles; what lies outside of the array reads as zero")


@refusal(AsyncTiledLoadOp)
def _load_into_a_kind(op: AsyncTiledLoadOp) -> tuple[str, str] | None:
    if op.mask or op.token or op.offsets or op.leading_offset is not None or op.padding_value is not None:
        return WHOLE_TILES
    if any(not isinstance(use.operation, AsyncWaitOp) for use in op.done.uses):
        return "hands on its token", "wait for the load by nv_tileas.async.wait, or at a barrier"
    tile = tile_of(op.destination.type)
    if tile is None or tile.in_registers:
        return "fills a tile of registers", "load into shared memory"
    return _moves_otherwise(tile)


def _moves_otherwise(tile: Tile) -> tuple[str, str] | None:
    """Why a tile cannot be loaded."""
    if tile.bits < 8:
        return f"moves elements of {tile.bits} bits, several of which share a byte", "load them as bytes"
    if not tile.in_registers and not _copies(tile):
        return (
            f"fills a tile of {tile.layout.shape[-1]} elements a row, which cp.async cannot copy by 4 bytes or more",
            "load wider rows",
        )
    return None


def _copies(tile: Tile) -> bool:
    return bool(widths(tile.layout.shape, tile.layout, tile.bits, 1))


@refusal(TiledStoreOp)
def _store_of_a_kind(op: TiledStoreOp) -> tuple[str, str] | None:
    if op.token:
        return "has tokens", "leave them out: stores of one program have its order"
    tile = tile_of(op.value.type)
    if op.mask is not None and tile is not None and tile.in_registers:
        return masked_otherwise(tile, [op.mask])
    if is_stored_by_tma(op):
        return "stores by TMA, and names no descriptor", BEFORE
    if tile is not None and not tile.in_registers:
        return "stores a tile of shared memory", "bring it into registers by nv_tileas.convert_layout"
    if tile is not None and tile.bits < 8:
        return f"moves elements of {tile.bits} bits, several of which share a byte", "store them as bytes"
    return None
