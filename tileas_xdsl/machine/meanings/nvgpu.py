"""
What the device copies of `nvgpu` do: `cp.async` by token (MLIR's `nvgpu` dialect; PTX ISA, `cp.async`).

A copy is asynchronous work of the thread that issues it. A group consists of the copies whose tokens it takes. The
groups of a thread, those of `nvvm.cp.async` among them, complete in the order in which they were made, so a wait for a
token waits for the older groups as well. A wait with `numGroups` leaves that many of the youngest groups unfinished,
whatever its token. `bypassL1` affects only the speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.dialects.nvgpu import DeviceAsyncCopyOp, DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.meaning import suspends, sync
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.violations import MistakeError
from tileas_xdsl.machine.meanings.memref import element_at
from tileas_xdsl.machine.parts.barriers import commit, wait_for_groups, wait_for_queue
from tileas_xdsl.machine.parts.copy_groups import CP_ASYNC, CopyToken, GroupToken, copy_groups, issue_copy
from tileas_xdsl.machine.tiles.numerics import view_of


@sync(DeviceAsyncCopyOp, may_move=("dst_indices", "src_indices"), indexes=(("src_indices", "src"),))
def _copy(agent: Agent, op: Any, *operands: Any) -> CopyToken:
    into, indices, source, source_indices, *read = _segments(op, operands)
    count = op.dst_elements.value.data
    wanted = agent.known(read[0][0], op, "reads") if read[0] else count
    if not 0 <= wanted <= count:
        raise MistakeError(op, f"reads {wanted} of {count} elements, which has no meaning; read 0 to {count}")
    target = _elements(agent, op, into[0], indices, count)
    # What reads nothing may have an address outside: that is how programs fill with zeros at the edge of an array.
    out_of = _elements(agent, op, source[0], source_indices, wanted) if wanted else _nothing(agent, op, source[0])
    return CopyToken(issue_copy(agent, op, out_of, target))


def _segments(op: Any, operands: Sequence[Any]) -> list[Sequence[Any]]:
    """`operands` by the names that they have in the op: `dst`, its indices, `src`, its indices, `src_elements`."""
    sizes = [1, len(op.dst_indices), 1, len(op.src_indices), int(op.src_elements is not None)]
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return [operands[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _elements(agent: Agent, op: Operation, buffer: Any, indices: Sequence[Any], count: int) -> View:
    """`count` neighbours in memory, from `indices` on."""
    first = element_at(agent, op, buffer, indices)
    return View(first.base, first.offset, (count,), (first.element.size,), first.element, first.origin)


def _nothing(agent: Agent, op: Operation, buffer: Any) -> View:
    view = view_of(agent, op, buffer)
    return View(view.base, 0, (0,), (view.element.size,), view.element)


@sync(DeviceAsyncCreateGroupOp)
def _create_group(agent: Agent, op: Operation, *tokens: Any) -> GroupToken:
    copies = copy_groups(agent, CP_ASYNC)
    named = {_copy_of(agent, op, token): None for token in tokens}
    works = [work for work in copies.uncommitted if work in named]
    copies.uncommitted = [work for work in copies.uncommitted if work not in named]
    return GroupToken(agent, commit(agent, copies.queue, works, op))


def _copy_of(agent: Agent, op: Operation, token: Any) -> AsyncWork:
    known = agent.known(token, op, "makes a group of")
    if not isinstance(known, CopyToken):
        raise MistakeError(op, "makes a group of a group; name the tokens of its copies")
    if known.work not in copy_groups(agent, CP_ASYNC).uncommitted:
        raise MistakeError(op, "names a copy that is in a group already, or of another thread; name each copy once")
    return known.work


@suspends(DeviceAsyncWaitOp)
def _wait(agent: Agent, op: Any, token: Any) -> Answer:
    queue = copy_groups(agent, CP_ASYNC).queue
    if op.num_groups is not None:
        return wait_for_queue(agent, queue, op.num_groups.value.data, op)
    known = agent.known(token, op, "waits for")
    if not isinstance(known, GroupToken):
        raise MistakeError(op, "waits for a copy, and only groups can be waited for; put the copy into a group")
    if known.owner is not agent:
        raise MistakeError(
            op, f'waits for a group of {known.owner.name}; a wait in that thread (PTX ISA, "cp.async.wait_group")'
        )
    waits, _ = agent.allows(op, None)
    if not waits:
        return None
    ordinal = known.group.ordinal
    return wait_for_groups(agent, queue, ordinal, queue.committed - ordinal, op)
