"""
What the asynchronous ops of `gpu` do on the host's side (alloc, dealloc, memcpy, wait), and the numbers of threads.

A `!gpu.async.token` is an `Event`. An op with a token result is asynchronous: it is issued, and performed after its
dependencies. One without blocks until it is done. Launching a kernel is refused; run the kernel function itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import gpu
from xdsl.ir import Operation

from tileas_xdsl.interfaces import HandleType
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Event, Touch
from tileas_xdsl.machine.core.meaning import effect, pure, refused, suspends, terminators
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation
from tileas_xdsl.machine.core.synchronization import EventCondition
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.memref import allocate, same_shape
from tileas_xdsl.machine.meanings.rocdl import fenced_barrier
from tileas_xdsl.machine.parts.lifetimes import end_lifetime
from tileas_xdsl.machine.parts.thread_numbers import (
    Reading,
    block_extent,
    block_extents,
    block_ids,
    lane_ids,
    read_by_threads,
    thread_id,
    warp_ids,
    warp_sizes,
    warps_in_block,
)
from tileas_xdsl.machine.tiles.numerics import view_of

HandleType.holds_for(gpu.AsyncTokenType)

terminators(gpu.ReturnOp, gpu.TerminatorOp, gpu.YieldOp)


def _wait_for(agent: Agent, op: Operation, tokens: Sequence[Event]) -> Request:
    if not tokens:
        return Done()
    event = Event.all_of(tokens, "gpu token")
    return agent.wait(EventCondition(event), op).then(_saw_tokens, event, len(tokens))


@continuation
def _saw_tokens(agent: Agent, op: Operation, _: None, event: Event, count: int) -> Answer:
    agent.note(op, "wait", f"sees {count} gpu tokens complete", on=event)


@suspends(gpu.WaitOp)
def _wait(agent: Agent, op: gpu.WaitOp, *tokens: Event) -> Answer:
    return Event.all_of(tokens, op.name) if op.asyncToken is not None else _wait_for(agent, op, tokens)


@suspends(gpu.AllocOp)
def _alloc(agent: Agent, op: gpu.AllocOp, *operands: Any) -> Answer:
    count = len(op.asyncDependencies)
    tokens, sizes = operands[:count], operands[count : count + len(op.dynamicSizes)]
    if op.asyncToken is None:
        return _wait_for(agent, op, tokens).then(_allocate, sizes)
    return allocate(agent, op, op.result.type, sizes), Event.all_of(tokens, op.name)


@continuation
def _allocate(agent: Agent, op: gpu.AllocOp, _: None, sizes: Sequence[Any]) -> Answer:
    return allocate(agent, op, op.result.type, sizes)


@suspends(gpu.MemcpyOp)
def _memcpy(agent: Agent, op: gpu.MemcpyOp, *operands: Any) -> Answer:
    *tokens, target, source = operands
    from_view, to_view = same_shape(agent, op, source, target)
    if op.asyncToken is None:
        return _wait_for(agent, op, tokens).then(_copy, from_view, to_view)
    machine = agent.machine
    work = agent.issue(
        op,
        [Touch(from_view, False), Touch(to_view, True)],
        None,
        label=f"{op.name} to '{to_view.base.name}'",
        dependencies=tokens,
        fetch=lambda: machine.read(from_view),
        deliver=lambda data: machine.write(to_view, data),
    )
    return machine.event_of(work, op.name)


@continuation
def _copy(agent: Agent, op: gpu.MemcpyOp, _: None, source: View, target: View) -> Answer:
    agent.store(target, agent.load(source, op), op)


@suspends(gpu.DeallocOp)
def _dealloc(agent: Agent, op: gpu.DeallocOp, *operands: Any) -> Answer:
    *tokens, buffer = operands
    base = view_of(agent, op, buffer).base
    if op.asyncToken is None:
        return _wait_for(agent, op, tokens).then(_end, base)

    def end() -> None:
        base.lifetime_over = True

    work = agent.issue(
        op,
        [Touch(base.whole(), True)],
        end,
        label=f"{op.name} of '{base.name}'",
        engine="memory",
        dependencies=tokens,
    )
    return agent.event_of(work, op.name)


@continuation
def _end(agent: Agent, op: gpu.DeallocOp, _: None, base: MemoryObject) -> Answer:
    end_lifetime(agent, op, base)


# Threads --------------------------------------------------------------------------------------------------------------

DIMENSIONS = ("x", "y", "z")
THREAD_NUMBERS: dict[type[Operation], Reading] = {
    gpu.LaneIdOp: lane_ids,
    gpu.SubgroupIdOp: warp_ids,
    gpu.SubgroupSizeOp: warp_sizes,
    gpu.NumSubgroupsOp: warps_in_block,
}


@pure(*THREAD_NUMBERS, may_fail=True)
def _thread_number(agent: Agent, op: Operation) -> Any:
    return read_by_threads(agent, op, THREAD_NUMBERS[type(op)])


@pure(gpu.ThreadIdOp, may_fail=True)
def _thread_id(agent: Agent, op: gpu.ThreadIdOp) -> Any:
    return read_by_threads(agent, op, thread_id(DIMENSIONS.index(op.dimension.data.value)))


@pure(gpu.BlockDimOp)
def _block_dim(agent: Agent, op: gpu.BlockDimOp) -> Any:
    return read_by_threads(agent, op, block_extent(DIMENSIONS.index(op.dimension.data.value)))


def _along_axis(name: str) -> Callable[[Any], str]:
    return lambda op: f"{name}.{op.dimension.data}"


block_ids(_along_axis("block_id"), gpu.BlockIdOp)
block_extents(_along_axis("grid_dim"), gpu.GridDimOp)


@effect(gpu.LaunchFuncOp, gpu.LaunchOp)
def _launch(_agent: Agent, op: gpu.LaunchFuncOp | gpu.LaunchOp, *_operands: Any) -> None:
    raise UnsupportedError(op, "launches a kernel, which is not simulated from the host; run the kernel's function")


@suspends(gpu.BarrierOp)
def _barrier(agent: Agent, op: gpu.BarrierOp) -> Answer:
    """
    All threads of the work-group, whose earlier accesses are visible to all behind it, as MLIR's page says. On AMD's
    GPUs it becomes `rocdl.barrier`, for which the transfers of the wave are accesses, too.
    """
    return fenced_barrier(agent, op)


refused("exchanges values between threads, and an agent has one flow of control", gpu.AllReduceOp)
