"""
Tiles in registers that one agent makes and another one uses, in the problem of a loop that agents share.

    agent 1: exp2 %p, acquire, store %p to the slot, commit
    agent 2: wait, load %p from the slot, release, product of %p

The maker is kept longer by the store and its two signals, the first user in program order by the load and its two; the
value is there when the maker is done. The slots are a ring of their own: memory that competes with that of the others.
The timed machine gives the tile a place in shared memory and copies it into the slot from there, so that is charged.

In a loop of the IR the two acts are parts of ops: materialisation gives a value right behind its maker and takes it in
front of its first user, so the cycles are theirs, and the taker's first use is the first one in program order. The port
of the memory counts as held for the op, too; no interval is too small for that, and some may be larger than they need
be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, OpResult

from tileas_xdsl.analysis.costs.op_costs import access_costs
from tileas_xdsl.dialects.tiles.traits import is_view
from tileas_xdsl.scheduling.cycles import TimedEdge
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem, RingDemand, RingUse, TimedOp
from tileas_xdsl.scheduling.op_times import memory_space, tile_bytes
from tileas_xdsl.targets.cycles import TimingTable
from tileas_xdsl.targets.machine_model import SlotUse

SHARED = "shared"

SPARE_COPIES = 2
"""Slots that the ring of a moved value has beyond those that the schedule fills, so that no agent waits for another."""


@dataclass(frozen=True)
class MovedTile:
    """A tile on its way from one agent to another."""

    value: OpResult
    given_at: int
    """The op of the problem behind which the maker gives it: that which makes it, or the wait for a product."""
    users: tuple[int, ...]
    """The ops of the taker that use it, in program order: it is taken in front of the first one."""
    giver: str
    """The slot that the maker keeps."""
    taker: str

    @property
    def bytes(self) -> int:
        return tile_bytes(self.value.type)


def may_move(value: OpResult) -> bool:
    """Whether `value` is a tile of fixed size in registers, which a slot of shared memory can hold."""
    if not isinstance(value.type, TensorType) or is_view(value):
        return False
    type_ = cast("TensorType[Attribute]", value.type)
    return tile_bytes(type_) > 0 and memory_space(type_) == "register"


def given_cycles(size: int, table: TimingTable) -> int:
    """For how long the maker is kept: a signal, the store of `size` bytes, their copy into the slot, a signal."""
    return _given(size, table).agent


def taken_cycles(size: int, table: TimingTable) -> int:
    """For how long the taker is kept: a signal, the load of `size` bytes, a signal."""
    return _taken(size, table).agent


@dataclass(frozen=True)
class _Side:
    """For how long a side keeps its agent, and from its begin on the port of the memory."""

    agent: int
    port: str | None
    busy: int


def _given(size: int, table: TimingTable) -> _Side:
    return _side([size, 2 * size], table)


def _taken(size: int, table: TimingTable) -> _Side:
    return _side([size], table)


def _side(sizes: Sequence[int], table: TimingTable) -> _Side:
    """Accesses to so many bytes each, one after the other, between two signals."""
    costs = [cost for size in sizes for cost in access_costs({SHARED: size}, table)]
    cycles = sum(cost.occupancy + cost.latency for cost in costs)
    port = next((cost.engine for cost in costs), None)
    return _Side(2 * table.signal + cycles, port, table.signal + cycles - costs[-1].latency if costs else 0)


def with_moves(problem: ModuloProblem, moves: Sequence[MovedTile], table: TimingTable) -> ModuloProblem:
    """`problem`, of ops that have their agents as slots, with what the moves cost, and what they wait for."""
    for move in moves:
        problem = _with_move(problem, move, table)
    return problem


def _with_move(problem: ModuloProblem, move: MovedTile, table: TimingTable) -> ModuloProblem:
    given, taken, (first, *later) = _given(move.bytes, table), _taken(move.bytes, table), move.users
    ops = list(problem.ops)
    ops[move.given_at] = _longer(ops[move.given_at], move.giver, given)
    ops[first] = _longer(ops[first], move.taker, taken)
    edges = [_behind(edge, first, taken.agent) for edge in problem.edges]
    edges.append(TimedEdge(move.given_at, first, _rows(ops[move.given_at], move.giver), 0, "the value that is moved"))
    edges += [TimedEdge(first, user, _rows(ops[first], move.taker), 0, "the taker's first use") for user in later]
    maker = problem.ops[move.given_at].name
    ring = RingDemand(f"moved {maker}", SHARED, move.bytes, move.given_at, (RingUse(first, taken.agent),))
    space = dict(problem.space_bytes)
    if SHARED in space:
        space[SHARED] = max(0, space[SHARED] - SPARE_COPIES * move.bytes)
    return replace(problem, ops=tuple(ops), edges=tuple(edges), rings=(*problem.rings, ring), space_bytes=space)


def _rows(op: TimedOp, slot: str) -> int:
    return sum(use.rows for use in op.uses if use.slot == slot)


def _longer(op: TimedOp, agent: str, side: _Side) -> TimedOp:
    """
    `op` with a side of a move. That of the maker accesses the memory when the op is over, that of the taker before it
    begins: for either the port is held from the first cycle on, and for the op, since a footprint begins with its op.
    """
    uses = {use.slot: use.rows for use in op.uses}
    before = uses.get(agent, 0)
    uses[agent] = before + side.agent
    if side.port is not None:
        uses[side.port] = max(uses.get(side.port, 0), before) + side.busy
    return replace(op, uses=tuple(SlotUse(slot, rows) for slot, rows in uses.items()), latency=op.latency + side.agent)


def _behind(edge: TimedEdge, taker: int, cycles: int) -> TimedEdge:
    """What waits for the taker waits for its load, too."""
    return replace(edge, latency=edge.latency + cycles) if edge.source == taker else edge
