"""
Insert the barriers of teams and the proxy fences that accesses to tiles in shared memory and to arrays need.

    nv_tileas.copy %held, %tile                nv_tileas.copy %held, %tile
    %v = convert_layout %tile           ->     nvvm.barrier0
                                               %v = convert_layout %tile

    nv_tileas.copy %held, %tile                nv_tileas.copy %held, %tile
    async.dot %tile, %b, %acc           ->     nvvm.fence.proxy {kind = async.shared}
                                               nvvm.barrier0
                                               async.dot %tile, %b, %acc

In an agent the barrier is `nvvm.barrier` with a number of its own and its count of threads, and in a warpgroup as well;
one warp has `nvvm.bar.warp.sync`. What has to stand where, and why, is `analysis/threads/order.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, UnknownLoc, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.threads.accesses import Access, Proxy, Span
from tileas_xdsl.analysis.threads.columns import Columns
from tileas_xdsl.analysis.threads.liveness import agent_of
from tileas_xdsl.analysis.threads.order import Ordering, Reason, ordering
from tileas_xdsl.analysis.threads.places import Place
from tileas_xdsl.analysis.threads.rings import Slots
from tileas_xdsl.analysis.threads.teams import is_of_one_warp
from tileas_xdsl.diagnostics import location_of, op_name, refuse, remark
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nvvm.attributes import ProxyKind, SharedSpace
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op, BarrierOp, SyncWarpOp
from tileas_xdsl.dialects.nvvm.fence import FenceProxyOp
from tileas_xdsl.dialects.nvvm.matrix_attributes import Tcgen05Fence
from tileas_xdsl.dialects.nvvm.registers import ThreadIdXOp
from tileas_xdsl.dialects.nvvm.tcgen05 import Tcgen05FenceOp
from tileas_xdsl.layouts.distributed import WARPGROUP
from tileas_xdsl.transforms.to_llvm.warps import Warps, groups_of_agents, warps_of_agents


@dataclass(frozen=True)
class OrderAccessesPass(ModulePass):
    """
    Order what the threads of a team do to shared tiles, and to arrays in global memory.

    Rewrites:

    - A barrier of the team stands in front of an op that touches what other threads have touched since the last one,
      if one of the two writes; in front of the outermost loop or branch around it that has none of the earlier
      accesses. What agents touch that the code in front of them has touched waits at a barrier of the block, in front
      of all agents.
    - Where each byte stays with the threads of one warp, these meet by `nvvm.bar.warp.sync`; where it stays with those
      of one warpgroup of an agent that has several, by a barrier of the warpgroup.
    - A product that may still be reading what such an op touches is waited for in front of that barrier.
    - A barrier stands where one thread arrives or waits for its whole agent, which TMA's producers do, if the agent
      shares an array with another one that either writes.
    - `nvvm.tcgen05.fence` stands on both sides of a barrier between accesses of threads to tensor memory and others.
    - `nvvm.fence.proxy` stands in front of the barrier between what threads have written and an engine reads.

    Two arguments of a function are two arrays. What TMA copies, or stores, no thread accesses otherwise
    (`lower-tma-load-store-to-async` refuses it).

    Requires: tiles in shared memory have places (`tileas-place-tiles`); pipelines still are ops, and order what is done
    to their slots (`convert-pipeline-to-nvvm`).
    Refuses: an op that touches what an engine may still be at, where nobody waits for that, and no token is at hand.

    Choices: a barrier is dropped again where others order the same, those in the deepest loops first. No barrier stands
    between two accesses by the same threads to the same bytes: the order of the program is theirs.
    """

    name = "tileas-order-accesses"

    remarks: bool = field(default=False, metadata={"help": "say of each barrier and fence what it orders"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.ops if isinstance(each, func.FuncOp) and _has_tiles(each)]
        found = [ordering(function) for function in functions]
        for each in found:
            _refuse_open(each)
        for each in found:
            inserted = _insert(each)
            for made, reason in inserted if self.remarks else ():
                remark(made, words_of(made, reason))


def _has_tiles(function: func.FuncOp) -> bool:
    return any(op_name(inner).startswith("nv_tile") for inner in function.walk())


def _refuse_open(found: Ordering) -> None:
    for reason in found.open:
        words = f"touches what '{op_name(reason.earlier.op)}' may still be at, and nobody waits for that in between"
        refuse(reason.later.op, words, "wait for its token before")


def _insert(found: Ordering) -> list[tuple[Operation, Reason]]:
    """Insert what has to stand where; returns each barrier and fence, and what it is for."""
    inserted: list[tuple[Operation, Reason]] = []
    barriers: dict[Operation, Operation] = {}
    for point, token in found.waits.items():
        _built([AsyncWaitOp(token)], point)
    for point, reason in found.barriers.items():
        ops = _barrier_for(point, found.meeting.get(point))
        barriers[point] = ops[-1]
        inserted.append((ops[-1], reason))
        if point in found.of_tensor_memory:
            ops = [Tcgen05FenceOp(Tcgen05Fence.BEFORE), *ops, Tcgen05FenceOp(Tcgen05Fence.AFTER)]
        _built(ops, point)
    for point, reason in found.fences.items():
        fence = FenceProxyOp(ProxyKind.ASYNC_SHARED, SharedSpace.CTA)
        _built([fence], barriers.get(point, point))
        inserted.append((fence, reason))
    return inserted


def _built(ops: list[Operation], point: Operation) -> None:
    at: Operation | None = point
    while at is not None and isinstance(at.location, UnknownLoc):  # the end of a loop, which nobody has written
        at = at.prev_op or at.parent_op()
    if at is not None:
        for op in ops:
            op.location = at.location
    Rewriter.insert_op(ops, InsertPoint.before(point))


# Remarks --------------------------------------------------------------------------------------------------------------


def words_of(inserted: Operation, reason: Reason) -> str:
    """What a barrier or a fence orders: which op did what, which op does what then, and whose threads they are."""
    earlier, later = reason.earlier, reason.later
    before = f"{_placed(earlier.op)} {_has_done(earlier)}"
    behind = f"{_placed(later.op)} {_does(later)}"
    return f"orders, {_whose(inserted, earlier)}: {before} {_object(earlier, later)}, before {behind}"


def _placed(op: Operation) -> str:
    place = location_of(op)
    return f"'{op_name(op)}'" + (f" at {place}" if place else "")


def _has_done(access: Access) -> str:
    if access.span is Span.FIRST:
        return "has waited, in one thread, before all may touch"
    return "has written" if access.writes else "has read"


def _does(access: Access) -> str:
    if access.span is Span.LAST:
        return "says in one thread that all are done"
    return ("writes" if access.writes else "reads") + (" by an engine" if access.proxy is Proxy.ASYNC else "")


def _object(earlier: Access, later: Access) -> str:
    match earlier.object or later.object:
        case Place() as place:
            return f"bytes {place.offset} to {place.end - 1} of shared memory"
        case Slots() as slots:
            return f"a slot of {_named(slots.ring.results[0]) if isinstance(slots.ring, Operation) else 'a ring'}"
        case Columns() as columns:
            return f"columns {columns.first} to {columns.end - 1} of tensor memory"
        case SSAValue() as array:
            return _named(array)
        case None:
            return "an array"


def _named(value: SSAValue) -> str:
    return f"'%{value.name_hint}'" if value.name_hint else "an array"


def _whose(inserted: Operation, earlier: Access) -> str:
    if isinstance(inserted, FenceProxyOp):
        return "in each thread" + _of_agent(earlier.op)
    threads = "in the threads of each warp" if isinstance(inserted, SyncWarpOp) else "in all threads"
    return threads + (_of_agent(inserted) or " of the block")


def _of_agent(op: Operation) -> str:
    agent = agent_of(op)
    return "" if agent is None or agent.parent is None else f" of agent {agent.parent.regions.index(agent)}"


ALL_LANES = -1
"""The mask of a whole warp."""


# Barriers -------------------------------------------------------------------------------------------------------------


def _barrier_for(point: Operation, meeting: int | None) -> list[Operation]:
    """The barrier of those who run an op, or of each so many warps of them, and the numbers that it takes."""
    agent = agent_of(point)
    if meeting == 1 or is_of_one_warp(point):
        lanes = arith.ConstantOp.from_int_and_width(ALL_LANES, i32)
        return [lanes, SyncWarpOp(lanes.result)]
    if agent is None:
        return [Barrier0Op()]
    switch = agent.parent
    assert isinstance(switch, AgentSwitchOp)
    number = list(switch.bodies).index(agent)
    groups = groups_of_agents(switch)[number] if meeting == WARPGROUP else ()
    if groups:
        return _barrier_of_groups(groups)
    warps = warps_of_agents(switch)[number]
    numbers = [arith.ConstantOp.from_int_and_width(number, i32) for number in (warps.number, warps.threads)]
    return [*numbers, BarrierOp(*(number.result for number in numbers))]


def _barrier_of_groups(groups: Sequence[Warps]) -> list[Operation]:
    """The barrier of the warpgroup that a thread is in: their numbers follow each other."""
    first = groups[0]
    thread = ThreadIdXOp()
    size = arith.ConstantOp.from_int_and_width(first.threads, i32)
    skipped = arith.ConstantOp.from_int_and_width(first.number - first.first // WARPGROUP, i32)
    warpgroup = arith.DivUIOp(thread.res, size.result)
    number = arith.AddiOp(warpgroup.result, skipped.result)
    return [thread, size, skipped, warpgroup, number, BarrierOp(number.result, size.result)]
