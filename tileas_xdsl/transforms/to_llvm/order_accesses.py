"""
Insert the barriers of teams and the proxy fences that accesses to tiles in shared memory and to arrays need.

    nv_tileas.copy %held, %tile                nv_tileas.copy %held, %tile
    %v = convert_layout %tile           ->     nvvm.barrier0
                                               %v = convert_layout %tile

    nv_tileas.copy %held, %tile                nv_tileas.copy %held, %tile
    async.dot %tile, %b, %acc           ->     nvvm.fence.proxy {kind = async.shared}
                                               nvvm.barrier0
                                               async.dot %tile, %b, %acc

In an agent the barrier is `nvvm.barrier` with a number of its own and its count of threads. What has to stand where,
and why, is `analysis/threads/order.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.threads.liveness import agent_of
from tileas_xdsl.analysis.threads.order import Ordering, ordering
from tileas_xdsl.diagnostics import op_name, refuse
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nvvm.attributes import ProxyKind, SharedSpace
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op, BarrierOp
from tileas_xdsl.dialects.nvvm.fence import FenceProxyOp
from tileas_xdsl.transforms.to_llvm.warps import warps_of_agents


@dataclass(frozen=True)
class OrderAccessesPass(ModulePass):
    """
    Order what the threads of a team do to shared tiles, and to arrays in global memory.

    Rewrites:

    - A barrier of the team stands in front of an op that touches what other threads have touched since the last one,
      if one of the two writes; in front of the outermost loop or branch around it that has none of the earlier
      accesses. What agents touch that the code in front of them has touched waits at a barrier of the block, in front
      of all agents.
    - A product that may still be reading what such an op touches is waited for in front of that barrier.
    - A barrier stands where one thread arrives or waits for its whole agent, which TMA's producers do, if the agent
      shares an array with another one that either writes.
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

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.ops if isinstance(each, func.FuncOp) and _has_tiles(each)]
        found = [ordering(function) for function in functions]
        for each in found:
            _refuse_open(each)
        for each in found:
            _insert(each)


def _has_tiles(function: func.FuncOp) -> bool:
    return any(op_name(inner).startswith("nv_tile") for inner in function.walk())


def _refuse_open(found: Ordering) -> None:
    for reason in found.open:
        words = f"touches what '{op_name(reason.earlier.op)}' may still be at, and nobody waits for that in between"
        refuse(reason.later.op, words, "wait for its token before")


def _insert(found: Ordering) -> None:
    for point, token in found.waits.items():
        _built([AsyncWaitOp(token)], point)
    for point in found.barriers:
        _built([*_barrier_for(point)], point)
    for point in found.fences:
        barrier = point
        if point in found.barriers:
            assert point.prev_op is not None
            barrier = point.prev_op
        _built([FenceProxyOp(ProxyKind.ASYNC_SHARED, SharedSpace.CTA)], barrier)


def _built(ops: list[Operation], point: Operation) -> None:
    for op in ops:
        op.location = point.location
    Rewriter.insert_op(ops, InsertPoint.before(point))


def _barrier_for(point: Operation) -> list[Operation]:
    """The barrier of those who run an op, and the numbers that it takes."""
    agent = agent_of(point)
    if agent is None:
        return [Barrier0Op()]
    switch = agent.parent
    assert isinstance(switch, AgentSwitchOp)
    warps = warps_of_agents(switch)[list(switch.bodies).index(agent)]
    numbers = [arith.ConstantOp.from_int_and_width(number, i32) for number in (warps.number, warps.threads)]
    return [*numbers, BarrierOp(*(number.result for number in numbers))]
