"""
What takes bytes of shared memory without an allocation: loads there, and operands of wgmma that threads hold.

    %a = tiled_load %x[%i, %j] -> smem         %a = alloc_tensor; %t = async.tiled_load %x[%i, %j], %a; async.wait %t
        of rows too narrow for cp.async        %h = tiled_load %x[%i, %j]; %a = alloc_tensor; copy %h, %a
    %s = dot %held, %b, %acc                   %a = alloc_tensor; copy %held, %a; %s = dot %a, %b, %acc
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.memory.rows import row_alignment
from tileas_xdsl.analysis.thread_blocks import block_shape_of
from tileas_xdsl.analysis.threads.filling import is_by_tma
from tileas_xdsl.analysis.threads.liveness import agent_of
from tileas_xdsl.analysis.threads.products import reads_shared_memory
from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.attributes import AtomAttr, AtomFamily, bound_atom
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ProduceOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, element_bits, form_of
from tileas_xdsl.dialects.nv_tileas.memory import AsyncTiledLoadOp
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, CopyOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.layouts.defaults import VECTOR_BITS, coalesced
from tileas_xdsl.layouts.distributed import WARP_SIZE
from tileas_xdsl.layouts.forms import ScaleFactors
from tileas_xdsl.layouts.scale_factors import WORD_SCALES
from tileas_xdsl.targets.engines import Family
from tileas_xdsl.transforms.to_llvm.tiles.global_memory import widths
from tileas_xdsl.transforms.to_llvm.tiles.register_products import takes_registers
from tileas_xdsl.transforms.to_llvm.tiles.warpgroup_products import no_staging, staged_tile
from tileas_xdsl.transforms.to_llvm.warps import warps_of_agents

BY_CP_ASYNC = Family.CP_ASYNC
"""The atom of a load by threads that says no other."""


def load_into(op: TiledLoadOp, base: SSAValue, tile: SSAValue, places: Sequence[SSAValue]) -> AsyncTiledLoadOp:
    """The same load, as one that goes on by itself and fills a tile of shared memory."""
    atom = bound_atom(op)
    if atom is None or atom.family is AtomFamily.TMA_LOAD:
        atom = AtomAttr.of(BY_CP_ASYNC)
    properties: dict[str, Attribute] = {"atom": atom}
    if op.in_bounds is not None:
        properties["in_bounds"] = op.in_bounds
    return AsyncTiledLoadOp(base, tile, places, properties=properties)


def make_loads_explicit(function: func.FuncOp) -> None:
    """Loads into shared memory outside of rings: an allocation, a load into it, and a wait for the load."""
    for op in list(function.walk()):
        if not isinstance(op, TiledLoadOp) or not _is_whole(op):
            continue
        if is_too_narrow(op):
            _go_through_registers(op)
        elif _fills_shared_memory(op):
            room = AllocTensorOp(op.value.type)
            room.tensor.name_hint = op.value.name_hint
            load = load_into(op, op.base, room.tensor, op.indices)
            wait = AsyncWaitOp(load.done)
            for made in (room, load, wait):
                made.location = op.location
            Rewriter.replace_op(op, [room, load, wait], [room.tensor])


def is_too_narrow(op: TiledLoadOp) -> bool:
    """
    Whether threads fill shared memory with a tile of which `cp.async` copies no 4 bytes at a time, since its rows or
    those of the array are too narrow, or with scale factors, which the tensor core reads: behind stores a fence is
    enough.
    """
    tile, filler = tile_of(op.value.type), op.parent_op()
    if tile is None or tile.in_registers or tile.bits % 8:
        return False
    if _is_step(op) and not (isinstance(filler, ProduceOp) and not is_by_tma(filler)):
        return False
    if isinstance(form_of(op.value.type), ScaleFactors):
        return True
    rows = max(row_alignment(op.base, tile.bits), tile.bits // 8)
    return not any(width <= rows for width in widths(tile.layout.shape, tile.layout, tile.bits, 1))


def _go_through_registers(op: TiledLoadOp) -> None:
    """Load a tile into registers, at most a word of scale factors at a time, and copy it from there."""
    tile, tile_bits = cast("TensorType[Attribute]", op.value.type), element_bits(op.value.type)
    assert tile_bits is not None
    shape = tile.get_shape()
    form = coalesced(shape, max(tile_bits, VECTOR_BITS // WORD_SCALES), _warps_of(op))
    held = TiledLoadOp.create(
        operands=op.operands,
        result_types=[TensorType(tile.element_type, shape, LayoutAttr.of("rmem", form=form))],
        properties={name: value for name, value in op.properties.items() if name != "atom"},
    )
    room = AllocTensorOp(tile)
    copy = CopyOp(held.results[0], room.tensor)
    held.results[0].name_hint = room.tensor.name_hint = op.value.name_hint
    for made in (held, room, copy):
        made.location = op.location
    Rewriter.replace_op(op, [held, room, copy], [room.tensor])


def _warps_of(op: Operation) -> int:
    """How many warps run an op."""
    agent = agent_of(op)
    if agent is not None and isinstance(agent.parent, AgentSwitchOp):
        return warps_of_agents(agent.parent)[list(agent.parent.bodies).index(agent)].count
    function = enclosing_function(op)
    assert function is not None
    shape = block_shape_of(function)
    assert shape is not None
    return prod(shape) // WARP_SIZE


def _is_whole(op: TiledLoadOp) -> bool:
    return op.mask is None and op.other is None and not op.token


def _fills_shared_memory(op: TiledLoadOp) -> bool:
    tile = tile_of(op.value.type)
    return tile is not None and not tile.in_registers and not _is_step(op)


def _is_step(op: Operation) -> bool:
    """Whether an op stands in a step of a pipeline, whose slot it fills."""
    around = op.parent_op()
    while around is not None and not isinstance(around, ClassifiedOp):
        around = around.parent_op()
    return around is not None


def stage_operands(function: func.FuncOp) -> None:
    """Operands of wgmma in registers that cannot stay there: an allocation, and a copy into it."""
    for op in list(function.walk()):
        if not isinstance(op, DotOp | AsyncDotOp) or not reads_shared_memory(op):
            continue
        held = tile_of(op.a.type)
        if held is None or not held.in_registers or takes_registers(op) or no_staging(held) is not None:
            continue
        room = AllocTensorOp(staged_tile(held).type)
        room.tensor.name_hint = op.a.name_hint
        copy = CopyOp(op.a, room.tensor)
        for made in (room, copy):
            made.location = op.location
        Rewriter.insert_op([room, copy], InsertPoint.before(op))
        op.operands[0] = room.tensor
