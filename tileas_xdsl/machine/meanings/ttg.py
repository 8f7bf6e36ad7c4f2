"""
What the ops of `ttg` do: shared memory and its views, `cp.async` and its groups, partitions of warps.

An agent stands for all threads of the function or of a partition. TTGIR is written for them together, and the compiler
puts the barriers in that they need among themselves; so an agent counts as one thread here.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import BlockArgument, Operation

from tileas_xdsl.dialects.triton import ttg
from tileas_xdsl.dialects.triton.partitions import (
    WarpReturnOp,
    WarpSpecializeOp,
    WarpSpecializePartitionsOp,
    WarpYieldOp,
)
from tileas_xdsl.dialects.triton.types import AsyncTokenType, MemDescType, numbers_of
from tileas_xdsl.machine.arguments import binds_type
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.handles import ORDERS_NOTHING
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import effect, pure, refused, suspends, sync, terminators
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation, give_results
from tileas_xdsl.machine.core.synchronization import EndOfAgents
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.tt import access_unfollowed
from tileas_xdsl.machine.parts.blocks_of_triton import must_lie_alike
from tileas_xdsl.machine.parts.copy_groups import CP_ASYNC, commit_copies, start_copy, wait_for_own_copies
from tileas_xdsl.machine.parts.instructions.proxy_fences import note_known
from tileas_xdsl.machine.parts.instructions.register_pool import lower_registers, pool_of, set_registers
from tileas_xdsl.machine.parts.lifetimes import end_lifetime
from tileas_xdsl.machine.parts.memdescs import (
    allocate,
    is_part_of_overlap,
    reinterpreted,
    subview,
    view_of_caller,
)

TOKEN = ORDERS_NOTHING
"""The value of a token."""

terminators(WarpYieldOp, WarpReturnOp, ttg.MaskReturnOp)


@binds_type(MemDescType.name)
def _bind_view(argument: BlockArgument, _given: object, with_data: bool) -> Any:
    """A function that is checked by itself gets memory of its caller's; in a run nobody says what is in it."""
    return UNKNOWN if with_data else view_of_caller(argument)


@binds_type(AsyncTokenType.name)
def _bind_token(_argument: object, _given: object, _with_data: bool) -> Any:
    return TOKEN


def seen(agent: Agent, op: Operation, value: Any) -> View:
    """The view `value`, whose place must be known. Raises `UnsupportedError` where its buffer was deallocated."""
    view: View = agent.known(value, op, "uses shared or tensor memory at")
    if view.base.lifetime_over:
        raise UnsupportedError(op, f"uses '{view.base.name}' after it was deallocated{agent.in_iteration}")
    return view


def give_nothing(_agent: Agent, op: Operation) -> Any:
    """UNKNOWN for a tile, a token for a token."""
    return tuple(TOKEN if result.type == ttg.TOKEN else UNKNOWN for result in op.results)


# Shared memory --------------------------------------------------------------------------------------------------------


@effect(ttg.LocalAllocOp)
def _alloc(agent: Agent, op: ttg.LocalAllocOp, *source: Any) -> View:
    view = allocate(agent, op, op.result.type)
    if source:
        must_lie_alike(agent, op, op.operands[0].type, op.result.type)
        agent.store(view, UNKNOWN, op)
    return view


@effect(ttg.LocalDeallocOp)
def _dealloc(agent: Agent, op: Operation, view: Any) -> None:
    ended = seen(agent, op, view)
    if is_part_of_overlap(agent, ended.base):
        agent.touch(ended, op, write=True, proxy=Proxy.UNSPECIFIED)
    else:
        end_lifetime(agent, op, ended.base)


@pure(ttg.MemdescIndexOp, may_fail=True)
def _index(agent: Agent, op: Operation, view: View, index: int) -> View:
    return _slot(agent, op, view, index)


@pure(ttg.MemdescSubviewOp, may_fail=True)
def _subview(agent: Agent, op: Any, view: View, *offsets: int) -> View:
    slots = len(offsets) - len(op.result.type.extents)
    for index in offsets[:slots]:
        view = _slot(agent, op, view, index)
    return subview(op, view, list(offsets[slots:]), op.result.type)


def _slot(agent: Agent, op: Operation, view: View, index: int) -> View:
    """Element `index` of the leading dimension of `view`. Raises `UnsupportedError` where there is none."""
    if not 0 <= index < view.shape[0]:
        raise UnsupportedError(
            op, f"takes slot {index} of the {view.shape[0]} of '{view.base.name}'{agent.in_iteration}"
        )
    return view.index(index)


@pure(ttg.MemdescSubsliceOp, may_fail=True)
def _subslice(_agent: Agent, op: ttg.MemdescSubsliceOp, view: View) -> View:
    return subview(op, view, numbers_of(op.offsets), op.result.type)


@pure(ttg.MemdescTransOp)
def _transpose(_agent: Agent, op: ttg.MemdescTransOp, view: View) -> View:
    order = numbers_of(op.order)
    shape, strides = tuple(view.shape[axis] for axis in order), tuple(view.strides[axis] for axis in order)
    return View(view.base, view.offset, shape, strides, view.element)


@pure(ttg.MemdescReshapeOp, ttg.MemdescReinterpretOp, may_fail=True)
def _reinterpret(_agent: Agent, op: Any, view: View) -> View:
    return reinterpreted(op, view, op.result.type)


@effect(ttg.LocalLoadOp, ttg.LocalGatherOp)
def _load(agent: Agent, op: Any, view: Any, *_operands: Any) -> Any:
    must_lie_alike(agent, op, op.result.type, op.src.type)
    return agent.load(seen(agent, op, view), op)


@effect(ttg.LocalStoreOp)
def _store(agent: Agent, op: Any, _tile: Any, view: Any) -> None:
    must_lie_alike(agent, op, op.src.type, op.dst.type)
    agent.store(seen(agent, op, view), UNKNOWN, op)


@effect(ttg.LocalScatterOp)
def _scatter(agent: Agent, op: Operation, view: Any, *_operands: Any) -> None:
    agent.store(seen(agent, op, view), UNKNOWN, op)


@effect(ttg.LocalAtomicScatterRMWOp)
def _scatter_atomically(agent: Agent, op: Operation, view: Any, *_operands: Any) -> Any:
    agent.touch(seen(agent, op, view), op, write=True, is_atomic=True)
    return UNKNOWN


# cp.async -------------------------------------------------------------------------------------------------------------


@sync(ttg.AsyncCopyGlobalToLocalOp, opaque=("src", "mask", "other"))
def _copy(agent: Agent, op: Operation, _pointers: Any, target: Any, *_operands: Any) -> Any:
    view = seen(agent, op, target)
    access_unfollowed(agent, op)
    start_copy(agent, op, [Touch(view, True, Proxy.GENERIC)], view.region.byte_count)
    return TOKEN


@sync(ttg.AsyncCommitGroupOp)
def _commit(agent: Agent, op: Operation, *_tokens: Any) -> Any:
    commit_copies(agent, CP_ASYNC, op)
    return TOKEN


@suspends(ttg.AsyncWaitOp)
def _wait(agent: Agent, op: ttg.AsyncWaitOp, *_tokens: Any) -> Answer:
    return wait_for_own_copies(agent, op, [CP_ASYNC], op.num.value.data).then(_give_token)


@continuation
def _give_token(_agent: Agent, _op: Operation, _: None) -> Answer:
    return TOKEN


# Partitions -----------------------------------------------------------------------------------------------------------


@suspends(WarpSpecializeOp)
def _specialize(agent: Agent, op: WarpSpecializeOp) -> Answer:
    inside = op.partitions_op
    captures = tuple(agent.value(value) for value in inside.captures)
    note_known(agent)
    started: list[Agent] = []
    for number, (region, warps) in enumerate(zip(inside.partitions, op.warps, strict=True)):
        if region.block.first_op is region.block.last_op:
            _lower_idle(agent, op, number)
            continue
        name = f"partition {number} ({warps} warp{'s' if warps != 1 else ''})"
        child = agent.fork(name, op, _take_registers, number, captures, captures=[])
        note_known(child)
        agent.note(op, "fork", f"starts {child.name}", on=child)
        started.append(child)
    return _moved(agent, op, 0).then(_begin_default, tuple(started))


@continuation
def _begin_default(agent: Agent, op: WarpSpecializeOp, _: None, started: tuple[Agent, ...]) -> Answer:
    return agent.run_region(op.default).then(_join, tuple(started))


@continuation
def _take_registers(child: Agent, op: WarpSpecializeOp, _: None, number: int, captures: tuple[Any, ...]) -> Answer:
    return _moved(child, op, number + 1).then(_begin_partition, number, captures)


def _moved(agent: Agent, op: WarpSpecializeOp, number: int) -> Request:
    """
    The default region (0) or a partition takes the registers that Triton has assigned to it: its lowering puts a
    `setmaxnreg` at the begin of each. Without `actualRegisters` none are moved, whatever is requested.
    """
    counts = op.registers
    if not counts:
        return Done()
    pool_of(agent, op.threads_of_block)
    return set_registers(agent, op, op.warp_numbers[number], counts[number])


@continuation
def _begin_partition(child: Agent, op: WarpSpecializeOp, _: None, number: int, captures: tuple[Any, ...]) -> Answer:
    return child.run_region(op.partitions_op.partitions[number], captures)


@continuation
def _join(agent: Agent, op: Operation, results: tuple[Any, ...], started: tuple[Agent, ...]) -> Answer:
    end = EndOfAgents(list(started))
    return agent.wait(end, op).then(_saw_end, end, results)


@continuation
def _saw_end(agent: Agent, op: WarpSpecializeOp, _: None, end: EndOfAgents, results: tuple[Any, ...]) -> Answer:
    agent.note(op, "wait", f"sees the end of {len(end.agents)} partitions", on=end)
    note_known(agent)
    _give_registers_back(agent, op)
    return Done(results).then(give_results) if op.results else None


def _lower_idle(agent: Agent, op: WarpSpecializeOp, number: int) -> None:
    """A partition that does nothing gives its registers back, for which Triton pads warpgroups with such ones."""
    if op.registers:
        pool_of(agent, op.threads_of_block)
        lower_registers(agent, op, op.warp_numbers[number + 1], op.registers[number + 1])


def _give_registers_back(agent: Agent, op: WarpSpecializeOp) -> None:
    """All warps have again what they started with: who has more gives it back before the others take it."""
    counts = op.registers
    if not counts:
        return
    pool, numbered = pool_of(agent), list(zip(op.warp_numbers, counts, strict=True))
    for warps, _ in sorted(numbered, key=lambda each: -each[1]):
        pool.restore(agent, op, warps)


refused("is run by the op around it, and not by itself", WarpSpecializePartitionsOp)


# The rest -------------------------------------------------------------------------------------------------------------


@effect(ttg.BarrierOp)
def _barrier(_agent: Agent, _op: Operation) -> None:
    """The threads of the agent meet, which is one here."""


@effect(ttg.GlobalScratchAllocOp)
def _scratch(_agent: Agent, _op: Operation) -> Any:
    return UNKNOWN


@effect(ttg.WarpIdOp)
def _warp(_agent: Agent, _op: Operation) -> Any:
    """Each warp has another."""
    return UNKNOWN


@pure(*ttg.COMPUTING)
def _compute(_agent: Agent, _op: Operation, *_operands: Any) -> Any:
    return UNKNOWN


refused(
    "is left by the pipeliner between two of its steps; dump the module after the passes that pipeline it",
    ttg.MaskOp,
    ttg.PredicateStageOp,
)
