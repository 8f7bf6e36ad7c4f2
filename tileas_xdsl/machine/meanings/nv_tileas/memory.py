"""
What the loads, stores and copies of `nv_tileas` and their asynchronous forms do.

A synchronous access first waits for the token it takes; its own token is complete from the start. An asynchronous one
is issued, reads and writes after its token, and completes some time later. Where threads arrive at mbarriers behind
their copies (`cp.async.mbarrier.arrive`), an asynchronous tiled load is such a copy. A tiled load that sticks out of
its array reads the padding value, zero unless the op says; a tiled store stays in bounds unless it says otherwise.

Storage and values. Loads, copies and conversions into shared or tensor memory make fresh storage; products and
arithmetic always give values.

`alloc_tensor` with `stages` gets a leading axis, unless its type already has it. A shuffle permutes the last axis, or
the whole tile where the permutation is that long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, BlockArgument, Operation

from tileas_xdsl.dialects.nv_tileas import memory, pointers
from tileas_xdsl.dialects.nv_tileas.types import TiledViewType
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncMBarrierArriveOp
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.machine.arguments import binds_type
from tileas_xdsl.machine.array_arguments import bind_tiled_view
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import suspends, sync
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation
from tileas_xdsl.machine.core.synchronization import EventCondition
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.nv_tileas.structure import whole_array
from tileas_xdsl.machine.meanings.nv_tileas.tokens import as_token
from tileas_xdsl.machine.parts.copy_groups import CP_ASYNC, copy_groups
from tileas_xdsl.machine.parts.rings import StageToken, done_token
from tileas_xdsl.machine.parts.tile_works import Move, issue_move
from tileas_xdsl.machine.tiles.numerics import element_of
from tileas_xdsl.machine.tiles.tile_access import Place, bounds_of, load_tile, padding_of, pieces_at, store_tile
from tileas_xdsl.machine.tiles.tiled_views import Lanes, Piece, TiledView, assembled, put_pieces
from tileas_xdsl.machine.tiles.tiles import placed, read_tile, retyped, storage_of, tile_shape


@binds_type(TiledViewType.name)
def _bind_tiled_view(argument: BlockArgument, given: Any, with_data: bool) -> TiledView:
    kind = argument.type
    assert isinstance(kind, TiledViewType)
    return bind_tiled_view(argument, kind.get_shape(), kind.element_type, given, with_data)


class _Operands:
    """The run-time operands of an op, taken group by group in the order of its definition."""

    def __init__(self, op: Operation, operands: Sequence[Any]) -> None:
        self.op = op
        self.rest: Iterator[Any] = iter(operands)

    def one(self) -> Any:
        return next(self.rest)

    def group(self, name: str) -> list[Any]:
        return [next(self.rest) for _ in getattr(self.op, name)]

    def optional(self, name: str) -> Any:
        """The only value of a group, or None."""
        return next(iter(self.group(name)), None)


def _coordinates(agent: Agent, op: Any, given: _Operands) -> list[Any]:
    """Tile coordinates of a tiled op. A leading offset counts elements of the first axis."""
    coordinates = given.group("coords")
    if op.leading_offset is not None:
        raise UnsupportedError(op, "has a leading offset, which no array is known to have here; fold it into the view")
    return coordinates


def _refuse_offsets(op: Operation, offsets: Sequence[Any]) -> None:
    if offsets:
        raise UnsupportedError(op, "takes offsets besides coordinates; fold them into the coordinates")


def _await(agent: Agent, op: Operation, tokens: Sequence[Any]) -> Request:
    """Block until the token that a synchronous access takes, if it takes one, is complete."""
    token = next(iter(tokens), None)
    return Done() if token is None else agent.wait(EventCondition(as_token(token).event), op)


# Synchronous accesses -------------------------------------------------------------------------------------------------


@suspends(memory.TiledLoadOp, may_move=("coords",), indexes=(("coords", "view"),))
def _tiled_load(agent: Agent, op: memory.TiledLoadOp, *operands: Any) -> Answer:
    given = _Operands(op, operands)
    view, coordinates = given.one(), _coordinates(agent, op, given)
    _refuse_offsets(op, given.group("offsets"))
    ready = _await(agent, op, given.group("token"))
    place = Place(view, coordinates, True, bounds_of(op.in_bounds))
    return ready.then(_load_from, place, given.optional("mask"), None)


@continuation
def _load_from(
    agent: Agent, op: memory.TiledLoadOp | pointers.LoadOp, _: None, place: Place, mask: Any, other: Any
) -> Answer:
    value = placed(agent, op, load_tile(agent, op, place, op.results[0].type, mask, other))
    return (value, done_token()) if op.done else value


@suspends(memory.TiledStoreOp, may_move=("coords",), indexes=(("coords", "view"),))
def _tiled_store(agent: Agent, op: memory.TiledStoreOp, *operands: Any) -> Answer:
    given = _Operands(op, operands)
    view, value, coordinates = given.one(), given.one(), _coordinates(agent, op, given)
    _refuse_offsets(op, given.group("offsets"))
    ready = _await(agent, op, given.group("token"))
    place = Place(view, coordinates, True, _store_bounds(op.in_bounds, op.value.type))
    return ready.then(_store_to, place, value, given.optional("mask"))


@continuation
def _store_to(
    agent: Agent, op: memory.TiledStoreOp | pointers.StoreOp, _: None, place: Place, value: Any, mask: Any
) -> Answer:
    store_tile(agent, op, place, value, op.value.type, mask)
    return done_token() if op.done else None


def _store_bounds(in_bounds: DenseArrayBase[Any] | None, tile: Attribute) -> Sequence[bool]:
    """A store without `in_bounds` stays in bounds."""
    stated = bounds_of(in_bounds)
    return [True] * len(tile_shape(tile)) if stated is None else stated


@suspends(pointers.LoadOp)
def _load(agent: Agent, op: pointers.LoadOp, *operands: Any) -> Answer:
    given = _Operands(op, operands)
    place = Place(given.one(), (), False)
    mask, other = given.optional("mask"), given.optional("other")
    return _await(agent, op, given.group("token")).then(_load_from, place, mask, other)


@suspends(pointers.StoreOp)
def _store(agent: Agent, op: pointers.StoreOp, *operands: Any) -> Answer:
    given = _Operands(op, operands)
    place, value, mask = Place(given.one(), (), False), given.one(), given.optional("mask")
    return _await(agent, op, given.group("token")).then(_store_to, place, value, mask)


# Asynchronous accesses ------------------------------------------------------------------------------------------------


@sync(memory.AsyncTiledLoadOp, may_move=("coords",), indexes=(("coords", "view"),))
def _async_tiled_load(agent: Agent, op: memory.AsyncTiledLoadOp, *operands: Any) -> StageToken:
    given = _Operands(op, operands)
    view, destination, coordinates = given.one(), given.one(), _coordinates(agent, op, given)
    _refuse_offsets(op, given.group("offsets"))
    tokens, mask = given.group("token"), given.optional("mask")
    place = Place(view, coordinates, True, bounds_of(op.in_bounds))
    token = load_later(agent, op, place, destination, tokens, mask=mask)
    if agent.code.fact(_arrives_behind_copies, enclosing_function(op) or op):
        copy_groups(agent, CP_ASYNC).uncommitted += token.event.source
    return token


def _arrives_behind_copies(function: Operation) -> bool:
    """Whether threads arrive at an mbarrier when the copies that they have started are complete."""
    return any(isinstance(op, CpAsyncMBarrierArriveOp) for op in function.walk())


@sync(pointers.AsyncLoadOp)
def _async_load(agent: Agent, op: pointers.AsyncLoadOp, *operands: Any) -> StageToken:
    given = _Operands(op, operands)
    place, destination = Place(given.one(), (), False), given.one()
    mask, other, tokens = given.optional("mask"), given.optional("other"), given.group("token")
    return load_later(agent, op, place, destination, tokens, mask=mask, other=other)


def load_later(
    agent: Agent,
    op: memory.AsyncTiledLoadOp | pointers.AsyncLoadOp,
    place: Place,
    destination: Any,
    tokens: Sequence[Any],
    *,
    mask: Any = None,
    other: Any = None,
) -> StageToken:
    """Issue a load of the tile at `place` into `destination`; mask and fallback are read at issue."""
    target, tile = storage_of(destination, op), op.destination.type
    mask, other = read_tile(agent, mask, op), read_tile(agent, other, op)
    pieces = pieces_at(agent, op, place, tile, mask, reads=True)
    machine = agent.machine
    lanes = Lanes(tile_shape(tile), element_of(op, tile), padding_of(op), mask, other)
    return issue_move(
        agent,
        op,
        Move(
            [piece.view for piece in pieces],
            [target],
            lambda: assembled(pieces, [machine.read(piece.view) for piece in pieces], lanes),
            lambda data: machine.write(target, retyped(data, target.shape, target.element, op)),
        ),
        label=f"the load into '{target.base.name}'",
        engine="copy",
        dependencies=[as_token(token).event for token in tokens],
    )


@sync(pointers.AsyncStoreOp)
def _async_store(agent: Agent, op: pointers.AsyncStoreOp, *operands: Any) -> StageToken:
    given = _Operands(op, operands)
    place, value, mask = Place(given.one(), (), False), given.one(), given.optional("mask")
    tokens = given.group("token")
    mask = read_tile(agent, mask, op)
    return store_later(agent, op, pieces_at(agent, op, place, op.value.type, mask), value, tokens, mask=mask)


def store_later(
    agent: Agent,
    op: Operation,
    pieces: Sequence[Piece],
    value: Any,
    tokens: Sequence[Any],
    *,
    mask: Any = None,
    engine: str = "copy",
) -> StageToken:
    """Issue a store of the tile `value` (a view is read when the work is performed) to `pieces`."""
    names = dict.fromkeys(piece.view.base.name for piece in pieces)
    return issue_move(
        agent,
        op,
        Move(
            [value],
            [piece.view for piece in pieces],
            _contents(agent, value),
            lambda data: put_pieces(agent, pieces, data, mask),
        ),
        label=f"the store to '{', '.join(names)}'",
        engine=engine,
        dependencies=[as_token(token).event for token in tokens],
    )


def _contents(agent: Agent, value: Any) -> Callable[[], Any]:
    """A function that reads a tile when asynchronous work is performed."""
    machine = agent.machine
    return lambda: machine.read(value) if isinstance(value, View) else value


@sync(memory.AsyncCopyOp)
def _async_copy(agent: Agent, op: memory.AsyncCopyOp, source: Any, destination: Any, *tokens: Any) -> StageToken:
    origin = whole_array(op, source)
    target = storage_of(whole_array(op, destination), op)
    machine = agent.machine
    return issue_move(
        agent,
        op,
        Move(
            [origin],
            [target],
            _contents(agent, origin),
            lambda data: machine.write(target, retyped(np.asarray(data), target.shape, target.element, op)),
        ),
        label=f"the copy to '{target.base.name}'",
        engine="copy",
        dependencies=[as_token(token).event for token in tokens],
    )
