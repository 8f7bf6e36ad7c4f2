"""
Conversions of layouts, as `tileas-materialize-convert-layout` has planned them.

    alloc_tensor, copy     a place in shared memory, and a store into it
    shuffle, copy          registers of other lanes, or other registers of the same: `exchanges.py`
    convert_layout         tag 1: a load from shared memory; tag 0: registers get other names
    view                   the same registers under another type; of slots, see `slots.py`
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tileas_xdsl.analysis.threads.places import place_of
from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.dialects.cute import CuteAtomAttr
from tileas_xdsl.dialects.nv_tileas.attributes import AtomPlanAttr
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, ConvertLayoutOp, CopyOp, ShuffleOp, ViewOp
from tileas_xdsl.layouts import f2
from tileas_xdsl.layouts.access import LaneAccess, accesses, store_accesses
from tileas_xdsl.layouts.distributed import representatives
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.exchange import exchange
from tileas_xdsl.transforms.to_llvm.tiles.accesses import load, store
from tileas_xdsl.transforms.to_llvm.tiles.exchanges import exchange_registers, no_exchange
from tileas_xdsl.transforms.to_llvm.tiles.packing import elements, packed
from tileas_xdsl.transforms.to_llvm.tiles.slots import is_storage, storage, viewed
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.tensor_memory import lies_in_tensor_memory, no_copy, put, take
from tileas_xdsl.transforms.to_llvm.tiles.values import Registers, SharedTile


@rule(AllocTensorOp)
def _allocate(op: AllocTensorOp, threads: Threads) -> None:
    tile = tile_of(op.tensor.type)
    if op.stages is not None:
        threads.give(op.tensor, storage(op, threads))
        return
    assert tile is not None
    offset, _ = threads.memory.slots[op]
    threads.give(op.tensor, SharedTile(tile, threads.at_shared(offset)))


@refusal(AllocTensorOp)
def _has_no_place(op: AllocTensorOp) -> tuple[str, str] | None:
    if op.stages is not None or place_of(op) is not None:
        return None
    return "has no place in shared memory", "run tileas-place-tiles before"


@rule(CopyOp)
def _copy(op: CopyOp, threads: Threads) -> None:
    if any(map(lies_in_tensor_memory, _types(op))):
        (take if lies_in_tensor_memory(op.source.type) else put)(op, threads)
        return
    if op.results:
        exchange_registers(op, threads)
        return
    held, target = threads.registers(op.operands[0]), threads.tile(op.operands[1])
    access = _access(held.tile, target.tile, op.atom_descriptor, "st")
    assert access is not None
    for behind in target.tile.repeats:
        store(threads, held, SharedTile(target.tile, threads.shifted(target.pointer, behind)), access)


def _types(op: CopyOp) -> list[Attribute]:
    return [value.type for value in (*op.operands, *op.outputs)]


rule(ShuffleOp)(exchange_registers)


@rule(ViewOp)
def _view(op: ViewOp, threads: Threads) -> None:
    if op.indices:
        threads.give(op.result, viewed(op, threads))
        return
    held, tile = threads.registers(op.operands[0]), tile_of(op.result.type)
    assert tile is not None
    threads.give(op.result, Registers(tile, held.values))


@refusal(ViewOp)
def _of_no_slot(op: ViewOp) -> tuple[str, str] | None:
    if not op.indices and not is_storage(op.source):
        return None
    tile = tile_of(op.result.type)
    if len(op.indices) == 1 and is_storage(op.source) and tile is not None and not tile.in_registers:
        return None
    return "names no slot of a storage of slots in shared memory", "allocate slots with stages, and name one of them"


@rule(ConvertLayoutOp)
def _convert(op: ConvertLayoutOp, threads: Threads) -> None:
    source, target = tile_of(op.source.type), tile_of(op.result.type)
    assert source is not None
    assert target is not None
    if not source.in_registers:
        access = _access(target, source, _atom(op), "ld")
        assert access is not None
        threads.give(op.result, load(threads, threads.tile(op.source), target, access))
        return
    held = elements(threads, threads.registers(op.source))
    threads.give(op.result, packed(threads, target, [held[number] for number in _renamed(source, target)]))


def _atom(op: ConvertLayoutOp) -> object:
    return op.atom_plan.atom_descriptor if isinstance(op.atom_plan, AtomPlanAttr) else None


def _access(registers: Tile, memory: Tile, atom: object, verb: str) -> LaneAccess | None:
    """The access that an atom names; the best one where none is named."""
    ways = accesses if verb == "ld" else store_accesses
    found = ways(registers.layout, memory.layout, registers.bits, matrix=True)
    if isinstance(atom, CuteAtomAttr):
        return next((each for each in found if _text(each, verb) == _words(atom)), None)
    return found[0] if found else None


def _words(atom: CuteAtomAttr) -> str:
    return next((part.data for part in atom.parameters if isinstance(part, StringAttr)), "")


def _text(access: LaneAccess, verb: str) -> str:
    """The instruction of an access, as the atom of an op names it."""
    if access.kind == "plain":
        return f"{verb}.shared {access.width} bytes"
    trans = ".trans" if access.kind == "matrix.trans" else ""
    return f"{'ldmatrix' if verb == 'ld' else 'stmatrix'}.x{access.matrices}{trans}"


def _renamed(source: Tile, target: Tile) -> list[int]:
    """For each register of the target, that of the source with the same element, in every thread."""
    plan = exchange(source.layout, target.layout, source.bits)
    assert plan.is_relabelling
    columns = plan.sources.with_outputs(["register"]).table
    own = {f2.combination(plan.registers, place): columns[place] for place in range(1 << len(plan.registers))}
    same = representatives(target.layout, plan.registers)
    return [own[same[number]] for number in range(target.count)]


# Refusals -------------------------------------------------------------------------------------------------------------

NO_ACCESS = "names an instruction that does not move the tile"


@refusal(ConvertLayoutOp)
def _no_instruction(op: ConvertLayoutOp) -> tuple[str, str] | None:
    source, target = tile_of(op.source.type), tile_of(op.result.type)
    if source is None or target is None:
        return None
    if not target.in_registers:
        return "writes shared memory as a value", "run tileas-materialize-convert-layout before"
    if source.in_registers:
        return _stays(source, target)
    if source.bits < 8:
        return f"moves elements of {source.bits} bits, several of which share a byte", "convert them as bytes"
    return None if _access(target, source, _atom(op), "ld") is not None else (NO_ACCESS, "leave out the atom")


def _stays(source: Tile, target: Tile) -> tuple[str, str] | None:
    way_out = "run tileas-materialize-convert-layout before: it plans the exchange"
    try:
        plan = exchange(source.layout, target.layout, source.bits)
    except LayoutError as error:
        return f"brings elements to other threads: {error}", way_out
    return None if plan.is_relabelling else ("brings elements to other threads", way_out)


@refusal(CopyOp)
def _copies_otherwise(op: CopyOp) -> tuple[str, str] | None:
    if op.outputs and any(map(lies_in_tensor_memory, _types(op))):
        return no_copy(op)
    tiles = [tile_of(value.type) for value in op.operands]
    if op.results:
        return no_exchange(op)
    if len(tiles) != 2 or not all(tile is not None for tile in tiles):
        return "copies something else than a tile of registers into one of shared memory", "copy tiles with layouts"
    registers, memory = cast("list[Tile]", tiles)
    if not registers.in_registers or memory.in_registers:
        return "copies from memory to memory", "load the tile first"
    atom = op.atom_descriptor
    return None if _access(registers, memory, atom, "st") is not None else (NO_ACCESS, "leave out the atom")


refusal(ShuffleOp)(no_exchange)
