"""
What the ops of `amdg` do: copies into LDS and their groups, the tensor data mover (TDM), barriers in LDS.

AMD's GPUs have no proxies: what copies asynchronously orders like any access. An agent is one thread here (see `ttg`).
A barrier in LDS counts as the hardware does, and Gluon's examples with it: `arrive_barrier` and
`async_copy_mbarrier_arrive` arrive once for each thread, an op of the TDM once for each warp. Source: Triton's op
definitions, and its examples for gfx1250.

A barrier in LDS counts as Gluon's examples for gfx1250 count: `amdg.arrive_barrier` and
`amdg.async_copy_mbarrier_arrive` arrive once for each thread, an op of the tensor data mover once for each warp. The
predicate in a descriptor of the mover is not followed: what it switches off counts as done. `ttg.async_wait` counts
groups there too, though the compiler may wait for less, for the copies of its tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.dialects.triton import amdg
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Touch
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import effect, pure, refused, suspends, sync
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.standings import Answer, continuation
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.meanings.tt import access_global, access_unfollowed
from tileas_xdsl.machine.meanings.ttg import TOKEN, seen
from tileas_xdsl.machine.meanings.ttng import barrier_at, number_of, threads_around, threads_of_warp
from tileas_xdsl.machine.parts.barrier_lives import make_barrier, note_signal
from tileas_xdsl.machine.parts.barriers import arrive, promise_arrival, wait_for_parity, wait_for_queue
from tileas_xdsl.machine.parts.copy_groups import arrive_behind_copies, commit_copies, copy_groups, start_copy
from tileas_xdsl.machine.parts.memdescs import place_of_barrier

TDM = "tdm"
"""The engine that moves boxes, and the family of its ops, each a group of its own."""

effect(amdg.BufferLoadOp, amdg.BufferStoreOp, amdg.BufferAtomicRMWOp, amdg.BufferAtomicCASOp, opaque=("*",))(
    access_global
)


# Copies ---------------------------------------------------------------------------------------------------------------


@sync(amdg.BufferLoadToLocalOp, opaque=("ptr", "offsets", "mask", "other", "stride"))
def _copy_in(agent: Agent, op: amdg.BufferLoadToLocalOp, target: Any, *_operands: Any) -> Any:
    _copy(agent, op, seen(agent, op, target), is_write=True)
    return TOKEN


@sync(amdg.AsyncCopyLocalToGlobalOp, opaque=("dst", "mask"))
def _copy_out(agent: Agent, op: Operation, source: Any, *_operands: Any) -> Any:
    _copy(agent, op, seen(agent, op, source), is_write=False)
    return TOKEN


def _copy(agent: Agent, op: Operation, view: View, *, is_write: bool) -> None:
    """A copy that belongs to the next group of the agent; of the two places only the one in LDS is followed."""
    access_unfollowed(agent, op)
    start_copy(agent, op, [Touch(view, is_write, Proxy.GENERIC)], view.region.byte_count)


@effect(amdg.LocalLoadPackedTransposedOp)
def _load(agent: Agent, op: Operation, view: Any, *_token: Any) -> Any:
    return agent.load(seen(agent, op, view), op)


# The tensor data mover ------------------------------------------------------------------------------------------------


@sync(amdg.AsyncTDMCopyGlobalToLocalOp, amdg.AsyncTDMGatherOp)
def _tdm_in(agent: Agent, op: amdg.AsyncTDMCopyGlobalToLocalOp | amdg.AsyncTDMGatherOp, *operands: Any) -> Any:
    target = op.result if isinstance(op, amdg.AsyncTDMCopyGlobalToLocalOp) else op.dst
    return _move(agent, op, operands, target, is_write=True)


@sync(amdg.AsyncTDMCopyLocalToGlobalOp, amdg.AsyncTDMScatterOp)
def _tdm_out(agent: Agent, op: amdg.AsyncTDMCopyLocalToGlobalOp | amdg.AsyncTDMScatterOp, *operands: Any) -> Any:
    return _move(agent, op, operands, op.src, is_write=False)


@sync(amdg.AsyncTDMFusedCopyGlobalToLocalOp)
def _tdm_fused(agent: Agent, op: amdg.AsyncTDMFusedCopyGlobalToLocalOp, *operands: Any) -> Any:
    """One op of the TDM, which moves several boxes."""
    views = [seen(agent, op, value) for value in operands[len(op.descs) :]]
    _issue_move(agent, op, views, is_write=True)
    return TOKEN


def _move(agent: Agent, op: Any, operands: Sequence[Any], local: Any, *, is_write: bool) -> Any:
    """An op of the TDM: a group of its own, and where there is a barrier, an arrival of each warp at it."""
    values = dict(zip(op.operands, operands, strict=True))
    placed = None if op.barrier is None else barrier_at(agent, op, values[op.barrier])
    work = _issue_move(agent, op, [seen(agent, op, values[local])], is_write=is_write)
    if placed is not None:
        promise_arrival(agent, work, placed.state, threads_around(agent, op) // threads_of_warp(agent, op))
        note_signal(placed, work)
    return TOKEN


def _issue_move(agent: Agent, op: Operation, views: Sequence[View], *, is_write: bool) -> AsyncWork:
    """The work of an op of the TDM on `views`, in a group of its own."""
    access_unfollowed(agent, op)
    label = f"a move of {sum(view.region.byte_count for view in views)} bytes"
    touches = [Touch(view, is_write, Proxy.GENERIC) for view in views]
    work = agent.issue(op, touches, None, label=label, engine=TDM)
    copy_groups(agent, TDM).uncommitted.append(work)
    commit_copies(agent, TDM, op)
    return work


@suspends(amdg.AsyncTDMWaitOp)
def _tdm_wait(agent: Agent, op: amdg.AsyncTDMWaitOp, *_tokens: Any) -> Answer:
    return wait_for_queue(agent, copy_groups(agent, TDM).queue, number_of(op.num), op).then(_give_token)


@continuation
def _give_token(_agent: Agent, _op: Operation, _: None) -> Answer:
    return TOKEN


MOVED = ("add_offsets", "set_bounds")


@effect(amdg.UpdateTensorDescriptorOp, may_move=MOVED, opaque=MOVED)
def _update(_agent: Agent, _op: Operation, *_operands: Any) -> Any:
    """Another box of the same array. Its predicate is not followed: what it switches off counts as done."""
    return UNKNOWN


# Barriers in LDS ------------------------------------------------------------------------------------------------------


@sync(amdg.InitBarrierOp)
def _init(agent: Agent, op: amdg.InitBarrierOp, view: Any) -> None:
    make_barrier(agent, op, place_of_barrier(agent, op, view), number_of(op.count), fenced=True)


@sync(amdg.ArriveBarrierOp)
def _arrive(agent: Agent, op: amdg.ArriveBarrierOp, view: Any) -> int:
    """Gives the parity of the phase that it arrives at."""
    barrier = barrier_at(agent, op, view).state
    parity = barrier.phases_completed & 1
    arrive(agent, barrier, op, number_of(op.count) * threads_around(agent, op))
    return parity


@suspends(amdg.WaitBarrierOp)
def _wait(agent: Agent, op: amdg.WaitBarrierOp, view: Any, phase: Any) -> Answer:
    barrier = barrier_at(agent, op, view).state
    return wait_for_parity(agent, barrier, agent.known(phase, op, "waits for") & 1, op)


@sync(amdg.AsyncCopyMBarrierArriveOp)
def _arrive_behind_copies(agent: Agent, op: Operation, view: Any) -> None:
    """Every thread of the agent arrives, as the barrier was made to expect."""
    arrive_behind_copies(agent, op, barrier_at(agent, op, view), threads_around(agent, op), increments=False)


# The rest -------------------------------------------------------------------------------------------------------------


@pure(*amdg.COMPUTING)
def _compute(_agent: Agent, _op: Operation, *_operands: Any) -> Any:
    return UNKNOWN


refused(
    "counts instructions, which there are not in TTGIR; dump the module before the pass that counts them "
    "(tritonamdgpu-update-async-wait-count)",
    amdg.AsyncWaitOp,
    amdg.AsyncTDMIntrinsicWaitOp,
)
refused(
    "lets some warps of the block run ahead of the others, and an agent is one thread here; compile it without "
    "TRITON_HIP_USE_BLOCK_PINGPONG",
    amdg.CondBarrierOp,
)
refused(
    "lets the blocks of a cluster meet, and one block is executed here; check a kernel of single blocks",
    amdg.ClusterBarrierArriveOp,
    amdg.ClusterBarrierWaitOp,
)
