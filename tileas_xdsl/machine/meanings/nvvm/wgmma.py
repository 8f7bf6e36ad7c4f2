"""
What the ops of `wgmma` do (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions").

The four warps of a warpgroup execute them together. Each of these agents starts a work of its own, which is taken to
read both matrices whole, and waits for its own groups.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.dialects.nvvm import wgmma
from tileas_xdsl.dialects.nvvm.matrix_attributes import MMALayout
from tileas_xdsl.layouts.descriptors import wgmma_operand
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import issues, suspends, sync
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.parts.barriers import wait_for_queue
from tileas_xdsl.machine.parts.copy_groups import commit_copies, copy_groups
from tileas_xdsl.machine.parts.register_works import RegistersInFlight, fence_registers, take_accumulator
from tileas_xdsl.machine.parts.tensor_core import must_be_whole_warp, start_in_order
from tileas_xdsl.machine.tiles.matrix_operands import operand_view
from tileas_xdsl.machine.tiles.pointers import Addresses

WGMMA = "wgmma"
"""The family of these works among those that are waited for by groups."""
WARPGROUP = 128
K_BYTES = 32
"""Of one row along K, whatever the elements are."""


@sync(wgmma.WgmmaFenceAlignedOp)
def _fence(agent: Agent, op: Operation) -> None:
    must_be_whole_warp(agent, op)
    fence_registers(agent)


@issues(wgmma.WgmmaMmaAsyncOp)
def _mma(agent: Agent, op: wgmma.WgmmaMmaAsyncOp, accumulator: Any, a: Any, b: Any) -> Answer:
    must_be_whole_warp(agent, op)
    _must_be_warpgroup(agent, op)
    take_accumulator(agent, op, accumulator)
    m, n, k = op.shape.m.data, op.shape.n.data, op.shape.k.data
    touches = [
        _reading(agent, op, a, (m, k), k_major=op.layout_a.data is MMALayout.ROW),
        _reading(agent, op, b, (n, k), k_major=op.layout_b.data is MMALayout.COL),
    ]
    work = start_in_order(agent, op, touches, f"a product of {m} x {n} x {k}")
    copy_groups(agent, WGMMA).uncommitted.append(work)
    agent.machine.late_values = True
    return RegistersInFlight(op, work, wgmma.WgmmaWaitGroupSyncOp.name)


def _must_be_warpgroup(agent: Agent, op: Operation) -> None:
    threads = sum(member.size for member in agent.cohort)
    if agent.hardware is not None and threads < WARPGROUP:
        raise UnsupportedError(op, f"takes a warpgroup of {WARPGROUP} threads, and the block has {threads}")


def _reading(agent: Agent, op: Operation, word: Any, extents: tuple[int, int], *, k_major: bool) -> Touch:
    """The read of a matrix of (rows, K) elements through the descriptor `word`."""
    rows, k = extents
    number = agent.known(word, op, "reads a matrix through")
    shape = (rows, K_BYTES) if k_major else (k, rows * K_BYTES // k)
    view = operand_view(agent.machine.part(Addresses), op, number, wgmma_operand, *shape, k_major=k_major)
    return Touch(view, False, Proxy.ASYNC)


@sync(wgmma.WgmmaGroupSyncAlignedOp)
def _commit(agent: Agent, op: Operation) -> None:
    commit_copies(agent, WGMMA, op)


@suspends(wgmma.WgmmaWaitGroupSyncOp)
def _wait(agent: Agent, op: Any) -> Answer:
    return wait_for_queue(agent, copy_groups(agent, WGMMA).queue, op.group.value.data, op)
