"""
What bulk and tensor copies do (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy").

How they are issued, grouped and waited for is in `parts.instructions.bulk_copies`. All of them take the asynchronous
proxy. Boxes of tensor copies move as numbers where the kernel says what its tensor maps map (`dialects.tensor_maps`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.dialects.nvvm import bulk
from tileas_xdsl.dialects.nvvm.attributes import TMAReduxKind
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import effect, suspends, sync
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.op_facts import TakesPerThread
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.threads.by_thread import report_collisions, rows_of_threads, windows_of_all
from tileas_xdsl.machine.core.threads.hardware import Active, PerThread
from tileas_xdsl.machine.core.threads.own_copies import parts_of_some
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.nvvm.synchronization import barrier_at
from tileas_xdsl.machine.parts.box_sizes import bytes_of_load, bytes_of_store
from tileas_xdsl.machine.parts.clusters import Destination, destinations
from tileas_xdsl.machine.parts.copy_groups import CopyOfThread
from tileas_xdsl.machine.parts.divergence import predicated
from tileas_xdsl.machine.parts.instructions.bulk_copies import commit_stores, start_load, start_store, wait_for_stores
from tileas_xdsl.machine.parts.instructions.operand_ranges import BULK_SIZE, require_in_range
from tileas_xdsl.machine.parts.tensor_maps import (
    mover_into,
    reading_box,
    reading_descriptor,
    writer_of,
    writing_box,
)
from tileas_xdsl.machine.tiles.pointers import Pointer

# Filling --------------------------------------------------------------------------------------------------------------

EIGHT_BYTES = 8
"""What the address and the size of `st.bulk` are multiples of (PTX ISA, "st.bulk")."""


@effect(bulk.StBulkOp, per_thread=TakesPerThread.ONE_BY_ONE)
def _fill(agent: Agent, op: Operation, address: Any, size: Any) -> None:
    """An ordinary write of zeros by the thread itself: other threads see it as any store."""
    count = agent.known(size, op, "fills")
    place: Pointer = agent.known(address, op, "fills")
    if count < 0 or count % EIGHT_BYTES or place.offset % EIGHT_BYTES:
        raise UnsupportedError(op, f"fills {count} bytes from byte {place.offset} on: both are multiples of 8")
    agent.store(place.bytes(count), np.zeros(count, np.uint8) if agent.has_data else UNKNOWN, op)


# Into shared memory ---------------------------------------------------------------------------------------------------


@sync(
    bulk.CpAsyncBulkGlobalToSharedClusterOp,
    bulk.CpAsyncBulkSharedCTAToSharedClusterOp,
    per_thread=TakesPerThread.ITSELF,
)
def _bulk_load(agent: Agent, op: Operation, *operands: Any) -> None:
    """Where threads have places of their own, each of them starts a copy of its own."""
    rows = rows_of_threads(agent, operands)
    if len(rows) == 1:
        _load_run(agent, op, *rows[0][1])
        return
    outside = agent.active
    for lane, row in rows:
        agent.active = Active((lane,))
        _load_run(agent, op, *row)
    agent.active = outside


def _load_run(agent: Agent, op: Operation, target: Any, source: Any, address: Any, size: Any, *hints: Any) -> None:
    count = _size(agent, op, size)
    out_of: View = agent.known(source, op, "copies from").bytes(count)
    mask = None if getattr(op, "multicast_mask", None) is None else hints[0]
    for place in _destinations(agent, op, target, address, mask):
        into = place.target.bytes(count)
        touches = [Touch(out_of, False, Proxy.ASYNC), Touch(into, True, Proxy.ASYNC)]
        _start_load(agent, op, place.barrier, touches, _mover(agent, into, out_of), count)


def _size(agent: Agent, op: Operation, size: Any) -> int:
    """How many bytes a bulk copy moves."""
    count = agent.known(size, op, "copies")
    require_in_range(agent, op, count, BULK_SIZE)
    return count


def _destinations(agent: Agent, op: Operation, target: Any, barrier: Any, mask: Any) -> list[Destination]:
    into: Pointer = agent.known(target, op, "copies to")
    return destinations(agent, op, into, agent.known(barrier, op, "uses a barrier at"), mask)


def _mover(agent: Agent, into: View, out_of: View) -> Callable[[], None] | None:
    """What moves the data, where there are any."""
    machine = agent.machine
    return (lambda: machine.write(into, machine.read(out_of))) if machine.with_data else None


@sync(
    bulk.CpAsyncBulkTensorGlobalToSharedClusterOp,
    may_move=("coordinates",),
    opaque=("coordinates",),
    per_thread=TakesPerThread.ITSELF,
)
def _tensor_load(agent: Agent, op: Any, *operands: Any) -> None:
    values = dict(zip(op.operands, operands, strict=True))
    with predicated(agent, op, values.get(op.predicate, True)) as threads:
        if threads:
            _load_box(agent, op, values)


def _load_box(agent: Agent, op: Any, values: dict[SSAValue, Any]) -> None:
    descriptor: Pointer = agent.known(values[op.tma_descriptor], op, "takes as its tensor map")
    count = bytes_of_load(agent, op, descriptor)
    coordinates = [_for_all(agent, op, values[each]) for each in op.coordinates]
    box = reading_box(agent, op, descriptor, coordinates)
    mask = None if op.multicast_mask is None else values[op.multicast_mask]
    for place in _destinations(agent, op, values[op.dst_mem], values[op.mbar], mask):
        touches = [reading_descriptor(descriptor), box, Touch(place.target.bytes(count), True, Proxy.ASYNC)]
        move = mover_into(agent, op, descriptor, coordinates, place.target)
        _start_load(agent, op, place.barrier, touches, move, count)


def _start_load(
    agent: Agent, op: Operation, address: Any, touches: list[Touch], move: Callable[[], None] | None, count: int
) -> None:
    """Issue a copy whose bytes arrive at the barrier at `address` when it is complete."""
    start_load(agent, op, barrier_at(agent, op, address), touches, count, kind="a bulk copy", move=move)


# Out of shared memory -------------------------------------------------------------------------------------------------


@sync(bulk.CpAsyncBulkSharedCTAToGlobalOp, per_thread=TakesPerThread.ITSELF)
def _bulk_store(agent: Agent, op: Operation, *operands: Any) -> None:
    """Each thread stores from a place of its own to a place of its own: one work for all of them."""
    copies = [_stored_by_thread(agent, op, lane, row) for lane, row in rows_of_threads(agent, operands)]
    if len(copies) == 1:
        sources = [(copies[0].source, parts_of_some(agent, copies[0].source.region))]
        targets = [(copies[0].target, parts_of_some(agent, copies[0].target.region))]
    else:
        report_collisions(agent, op, [(copy.lane, copy.target, copy.source) for copy in copies])
        sources = [(w.view, w.parts) for w in windows_of_all(agent, [(copy.lane, copy.source) for copy in copies])]
        targets = [(w.view, w.parts) for w in windows_of_all(agent, [(copy.lane, copy.target) for copy in copies])]

    def put(held: Sequence[Any]) -> None:
        for copy, data in zip(copies, held, strict=True):
            agent.poke(copy.target, data)

    start_store(
        agent,
        op,
        [Touch(view, False, Proxy.ASYNC, parts=parts) for view, parts in sources],
        [Touch(view, True, Proxy.ASYNC, parts=parts) for view, parts in targets],
        label=f"a bulk store of {sum(copy.source.region.byte_count for copy in copies)} bytes",
        fetch=lambda: [agent.peek(copy.source) for copy in copies],
        put=put,
    )


def _stored_by_thread(agent: Agent, op: Operation, lane: int, operands: Sequence[Any]) -> CopyOfThread:
    target, source, size, *_hints = operands
    count = _size(agent, op, size)
    out_of: View = agent.known(source, op, "copies from").bytes(count)
    return CopyOfThread(lane, out_of, agent.known(target, op, "copies to").bytes(count))


@sync(
    bulk.CpAsyncBulkTensorSharedCTAToGlobalOp,
    bulk.CpAsyncBulkTensorReduceOp,
    may_move=("coordinates",),
    per_thread=TakesPerThread.ITSELF,
    opaque=("coordinates",),
)
def _tensor_store(agent: Agent, op: Any, *operands: Any) -> None:
    values = dict(zip(op.operands, operands, strict=True))
    with predicated(agent, op, values.get(getattr(op, "predicate", None), True)) as threads:
        if threads:
            _store_box(agent, op, values)


def _for_all(agent: Agent, op: Operation, coordinate: Any) -> Any:
    """A coordinate, known or not, which must be the same for all threads."""
    return agent.known(coordinate, op, "takes as a coordinate") if isinstance(coordinate, PerThread) else coordinate


def _store_box(agent: Agent, op: Any, values: dict[SSAValue, Any]) -> None:
    descriptor: Pointer = agent.known(values[op.tma_descriptor], op, "takes as its tensor map")
    count = bytes_of_store(agent, op, op.src_mem, descriptor)
    source: Pointer = agent.known(values[op.src_mem], op, "copies from")
    coordinates = [values[coordinate] for coordinate in op.coordinates]
    is_atomic = isinstance(op, bulk.CpAsyncBulkTensorReduceOp)
    box = writing_box(agent, op, descriptor, coordinates, is_atomic=is_atomic)
    put = writer_of(agent, op, descriptor, coordinates, source, _combining(op) if is_atomic else None)
    out_of = source.bytes(count)
    start_store(
        agent,
        op,
        [Touch(out_of, False, Proxy.ASYNC, parts=parts_of_some(agent, out_of.region))],
        [reading_descriptor(descriptor), *([] if box is None else [box])],
        label=f"a bulk store of {count} bytes",
        fetch=lambda: agent.peek(out_of),
        put=put,
    )


REDUCTIONS: dict[TMAReduxKind, Callable[[Any, Any], Any]] = {
    TMAReduxKind.ADD: np.add,
    TMAReduxKind.MIN: np.minimum,
    TMAReduxKind.MAX: np.maximum,
    TMAReduxKind.AND: np.bitwise_and,
    TMAReduxKind.OR: np.bitwise_or,
    TMAReduxKind.XOR: np.bitwise_xor,
}


def _combining(op: bulk.CpAsyncBulkTensorReduceOp) -> Callable[[Any, Any], Any]:
    """How a reduction combines; counting up and down has no numbers here."""

    def combine(old: Any, given: Any) -> Any:
        if op.red_kind.data not in REDUCTIONS:
            raise UnsupportedError(op, f"computes {op.red_kind.data.value}, which has no numbers here")
        with np.errstate(all="ignore"):
            return REDUCTIONS[op.red_kind.data](old, given)

    return combine


@sync(bulk.CpAsyncBulkCommitGroupOp)
def _bulk_commit(agent: Agent, op: Operation) -> None:
    commit_stores(agent, op)


@suspends(bulk.CpAsyncBulkWaitGroupOp)
def _bulk_wait(agent: Agent, op: Any) -> Answer:
    return wait_for_stores(agent, op, op.group.value.data, reads_only=op.read is not None)
