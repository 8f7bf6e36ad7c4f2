"""
Work of clusters that have not started (PTX ISA, "clusterlaunchcontrol.try_cancel" and ".query_cancel").

The 16 bytes of an answer are a number here: how many programs are left, with the one that the answer gives, and 0 where
it gives none (`parts.programs`). PTX leaves their form open, and only a query may look at them. As a copy does, a
request accesses its mbarrier by the generic proxy, and writes by the asynchronous one. To ask again after it was seen
that nothing is left is undefined: a verdict on a program that asks on says that it is taken not to have looked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation

from tileas_xdsl.dialects.nvvm.attributes import CancelQuery
from tileas_xdsl.dialects.nvvm.cluster_launch import ClusterLaunchControlQueryCancelOp, ClusterLaunchControlTryCancelOp
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import pure, sync
from tileas_xdsl.machine.core.moving_numbers import positive
from tileas_xdsl.machine.core.op_facts import Crosses
from tileas_xdsl.machine.core.values import UNKNOWN, ElementType
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.nvvm.synchronization import barrier_at
from tileas_xdsl.machine.parts.clusters import destinations
from tileas_xdsl.machine.parts.instructions.bulk_copies import start_load
from tileas_xdsl.machine.parts.programs import next_program, one_asker
from tileas_xdsl.machine.tiles.pointers import Pointer

ANSWER = 16
"""Bytes of an answer, and what their address is a multiple of."""
HALF = ElementType(i64, np.dtype(np.int64))


def _crossing(op: Operation) -> Crosses:
    return Crosses.BY_TYPES if getattr(op, "multicast", None) is not None else Crosses.NO


@sync(ClusterLaunchControlTryCancelOp, crosses=_crossing, takes_programs=True)
def _try_cancel(agent: Agent, op: ClusterLaunchControlTryCancelOp, answer: Any, barrier: Any) -> None:
    place: Pointer = agent.known(answer, op, "lets an answer arrive at")
    if place.offset % ANSWER:
        raise UnsupportedError(op, f"lets an answer arrive at byte {place.offset}, which is no multiple of {ANSWER}")
    if agent.threads != 1:
        raise UnsupportedError(op, f"is executed by {agent.threads} threads, each of which asks; let one of them do it")
    one_asker(agent, op)
    program = max(next_program(agent), 0)
    mask = (1 << agent.block.count) - 1 if op.multicast is not None and agent.block is not None else None
    for each in destinations(agent, op, place, agent.known(barrier, op, "uses a barrier at"), mask):
        start_load(
            agent,
            op,
            barrier_at(agent, op, each.barrier),
            [Touch(each.target.bytes(ANSWER), True, Proxy.ASYNC)],
            ANSWER,
            kind="an answer",
            move=_arrival(agent, each.target, program),
        )


def _arrival(agent: Agent, into: Pointer, program: int) -> Callable[[], None]:
    """
    What lets the answer arrive. In a check it is there at once: who reads it too early is told of a race, and a loop
    that goes on by an old answer would not end.
    """

    def write() -> None:
        agent.poke(into.view((), HALF), program)
        agent.poke(into.plus(HALF.size).view((), HALF), 0)

    if agent.has_data:
        return write
    write()
    return _is_there


def _is_there() -> None:
    """Nothing is left to do."""


@pure(ClusterLaunchControlQueryCancelOp, moves=positive)
def _asked(_agent: Agent, op: ClusterLaunchControlQueryCancelOp, response: Any) -> Any:
    return response > 0 if op.query_type.data is CancelQuery.IS_CANCELED else UNKNOWN
