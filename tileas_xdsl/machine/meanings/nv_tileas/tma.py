"""
What the ops of `nv_tileas` for the tensor memory accelerator (TMA) do (PTX ISA, "Tensors").

A descriptor names an array and the box that a transfer moves. Coordinates count elements, outermost axis first, as the
hardware's do in reverse; a box may stick out of the array, reading zero (or NaN, as the descriptor says) and writing
nothing there. A barrier that is a pointer to an mbarrier counts the bytes, as in `nvvm`. Where there is none, or it is
a name of nv_tileas, the token stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import BlockArgument, Operation

from tileas_xdsl.dialects.nv_tileas import tma
from tileas_xdsl.dialects.nv_tileas.attributes import AtomAttr
from tileas_xdsl.dialects.nv_tileas.memory import AsyncTiledAtomicRmwOp
from tileas_xdsl.dialects.nv_tileas.types import MBarrierType, TmaDescriptorType
from tileas_xdsl.dialects.tensor_maps import TENSOR_MAP
from tileas_xdsl.machine.arguments import ArgumentError, binds_type, name_of
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import effect, refused, sync
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.nv_tileas.memory import store_later
from tileas_xdsl.machine.meanings.nv_tileas.structure import whole_array
from tileas_xdsl.machine.parts.barrier_lives import check_init_fence, note_signal, use_barrier
from tileas_xdsl.machine.parts.barriers import promise_bytes
from tileas_xdsl.machine.parts.placed_barriers import PlacedBarrier
from tileas_xdsl.machine.parts.rings import StageToken
from tileas_xdsl.machine.parts.tile_works import Move, issue_move
from tileas_xdsl.machine.tiles.numerics import view_of
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.tensor_maps import bind_map, described, map_of_argument
from tileas_xdsl.machine.tiles.tiled_views import Descriptor, Lanes, TiledView, TileWindow, assembled
from tileas_xdsl.machine.tiles.tiles import retyped, storage_of, tile_shape
from tileas_xdsl.targets.engines import Engine


@binds_type(MBarrierType.name)
def _bind_barrier(_argument: BlockArgument, _given: Any, _with_data: bool) -> None:
    """A barrier from outside: nothing at this level looks at it."""


@binds_type(TmaDescriptorType.name)
def _bind_descriptor(argument: BlockArgument, given: Any, with_data: bool) -> Descriptor:
    """A descriptor that the host has made; the argument says of what (`dialects.tensor_maps`)."""
    map_ = map_of_argument(argument)
    if map_ is None:
        raise ArgumentError(f"argument '{name_of(argument)}' is a descriptor; say by {TENSOR_MAP} what it maps")
    found = described(bind_map(argument, map_, given, with_data))
    assert found is not None
    return Descriptor(found.array, None, 0.0)


@effect(tma.MakeTiledTmaDescOp)
def _make_descriptor(agent: Agent, op: tma.MakeTiledTmaDescOp, view: Any, *box_dims: Any) -> Descriptor:
    array = view_of(agent, op, view.array if isinstance(view, TiledView) else view)
    box = tuple(agent.known(extent, op, "makes a box of") for extent in box_dims)
    if op.box is not None:
        box = tuple(int(extent) for extent in op.box.get_values())
    if not box and isinstance(op.atom, AtomAttr):
        box = op.atom.box or ()
    mode = getattr(op.oob_mode, "data", None)
    padding = np.nan if mode is not None and mode.value == "nan" else 0.0
    return Descriptor(array, box or None, padding)


def _window(
    agent: Agent, op: tma.TransferOp, descriptor: Descriptor, coordinates: Sequence[Any], tile: Any
) -> TileWindow:
    """The box at element coordinates; without a box in the descriptor, one of the shape of the tile."""
    start = tuple(agent.known(coordinate, op, "computes an address from") for coordinate in coordinates)
    atom_box = op.atom.box if isinstance(op.atom, AtomAttr) else None
    view = TiledView.plain(descriptor.array, descriptor.box or atom_box or tile_shape(tile), op)
    if len(start) != len(view.tile):
        raise UnsupportedError(op, f"gives {len(start)} coordinates for an array of rank {len(view.tile)}")
    return TileWindow(view, start)


def _descriptor(agent: Agent, op: Operation, value: Any) -> Descriptor:
    return agent.known(value, op, "transfers by")


@sync(tma.TiledTmaLoadOp, may_move=("coords",), indexes=(("coords", "descriptor"),))
def _tma_load(agent: Agent, op: tma.TiledTmaLoadOp, given: Any, destination: Any, *operands: Any) -> StageToken:
    descriptor = _descriptor(agent, op, given)
    target = storage_of(whole_array(op, destination), op)
    window = _window(agent, op, descriptor, operands[: len(op.coords)], op.destination.type)
    told = [use_barrier(agent, op, each) for each in operands[len(op.coords) :] if isinstance(each, Pointer)]
    pieces, machine = window.pieces(), agent.machine
    lanes = Lanes(window.of.tile, descriptor.array.element, descriptor.padding)
    token = issue_move(
        agent,
        op,
        Move(
            [piece.view for piece in pieces],
            [target],
            lambda: assembled(pieces, [machine.read(piece.view) for piece in pieces], lanes),
            lambda data: machine.write(target, retyped(data, target.shape, target.element, op)),
        ),
        label=f"the TMA load into '{target.base.name}'",
        engine=Engine.TMA,
    )
    for barrier in told:
        _count_bytes(agent, op, barrier, token, target.region.byte_count)
    return token


def _count_bytes(agent: Agent, op: Operation, barrier: PlacedBarrier, token: StageToken, size: int) -> None:
    """Let the bytes of a transfer arrive at an mbarrier that the op names by a pointer."""
    check_init_fence(agent, op, barrier)
    for work in token.event.source:
        promise_bytes(agent, work, barrier.state, size * agent.threads)
        note_signal(barrier, work)


@sync(tma.TiledTmaStoreOp, may_move=("coords",), indexes=(("coords", "descriptor"),))
def _tma_store(agent: Agent, op: tma.TiledTmaStoreOp, given: Any, source: Any, *coordinates: Any) -> StageToken:
    window = _window(agent, op, _descriptor(agent, op, given), coordinates, op.source.type)
    return store_later(agent, op, window.pieces(), whole_array(op, source), (), engine=Engine.TMA)


refused(
    "moves lines whose numbers are data, which is not modelled here; use loads or stores of tiles",
    tma.GatherTmaLoadOp,
    tma.ScatterTmaStoreOp,
)
refused(
    "updates a tile asynchronously, which is not modelled here; use a load, arithmetic and a store",
    AsyncTiledAtomicRmwOp,
)
