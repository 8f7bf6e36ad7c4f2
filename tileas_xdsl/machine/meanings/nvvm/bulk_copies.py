"""
What bulk and tensor copies do (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy").

How they are issued, grouped and waited for is in `parts.instructions.bulk_copies`. All of them take the asynchronous
proxy. Boxes of tensor copies move as numbers where the kernel says what its tensor maps map (`dialects.tensor_maps`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.dialects.nvvm import bulk
from tileas_xdsl.dialects.nvvm.attributes import TMAReduxKind
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import suspends, sync
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.op_facts import TakesPerThread
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.threads.hardware import PerThread
from tileas_xdsl.machine.core.threads.own_copies import parts_of_some
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.nvvm.synchronization import barrier_at
from tileas_xdsl.machine.parts.box_sizes import bytes_of_load, bytes_of_store
from tileas_xdsl.machine.parts.clusters import Destination, destinations
from tileas_xdsl.machine.parts.divergence import predicated
from tileas_xdsl.machine.parts.instructions.bulk_copies import commit_stores, start_load, start_store, wait_for_stores
from tileas_xdsl.machine.parts.operand_ranges import BULK_SIZE, require_in_range
from tileas_xdsl.machine.parts.tensor_maps import (
    mover_into,
    reading_box,
    reading_descriptor,
    writer_of,
    writing_box,
)
from tileas_xdsl.machine.tiles.pointers import Pointer

# Into shared memory ---------------------------------------------------------------------------------------------------


@sync(bulk.CpAsyncBulkGlobalToSharedClusterOp, bulk.CpAsyncBulkSharedCTAToSharedClusterOp)
def _bulk_load(agent: Agent, op: Operation, target: Any, source: Any, address: Any, size: Any, *hints: Any) -> None:
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


@sync(bulk.CpAsyncBulkSharedCTAToGlobalOp)
def _bulk_store(agent: Agent, op: Operation, target: Any, source: Any, size: Any, *_hints: Any) -> None:
    count = _size(agent, op, size)
    into: View = agent.known(target, op, "copies to").bytes(count)
    out_of: View = agent.known(source, op, "copies from").bytes(count)

    def put(held: Any) -> None:
        agent.machine.write(into, held)

    _start_store(agent, op, out_of, put, [Touch(into, True, Proxy.ASYNC)], count)


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
    _start_store(agent, op, source.bytes(count), put, [reading_descriptor(descriptor), box], count)


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


def _start_store(
    agent: Agent, op: Operation, out_of: View, put: Callable[[Any], None] | None, writes: list[Touch], count: int
) -> None:
    reading = Touch(out_of, False, Proxy.ASYNC, parts=parts_of_some(agent, out_of.region))
    start_store(agent, op, reading, writes, count, kind="a bulk store", put=put)


@sync(bulk.CpAsyncBulkCommitGroupOp)
def _bulk_commit(agent: Agent, op: Operation) -> None:
    commit_stores(agent, op)


@suspends(bulk.CpAsyncBulkWaitGroupOp)
def _bulk_wait(agent: Agent, op: Any) -> Answer:
    return wait_for_stores(agent, op, op.group.value.data, reads_only=op.read is not None)
