"""
Bulk and tensor copies: what the ops of `nvvm` do, and those of `ttng` that become them.

The bytes of a load arrive at an mbarrier. A store is two works: the reading of its source in shared memory, for which
`wait_group {read}` waits, and the writing of global memory behind it, for which `wait_group` waits as well. Stores
belong to groups of the thread that issues them. (PTX ISA, "cp.async.bulk.commit_group", "cp.async.bulk.wait_group".)

The end of the grid completes what is on its way to global memory. It does not complete the readings: shared memory
belongs to another block as soon as this one has ended (NVIDIA/TransformerEngine#3417; CUTLASS ends its kernels with
`tma_store_wait<0>`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.parts.barrier_lives import check_init_fence, note_signal
from tileas_xdsl.machine.parts.barriers import promise_bytes
from tileas_xdsl.machine.parts.copy_groups import commit_copies, copy_groups, wait_for_own_copies
from tileas_xdsl.machine.parts.placed_barriers import PlacedBarrier
from tileas_xdsl.targets.engines import Engine

BULK_READS, BULK = "bulk reads", "bulk"
"""Families of groups: the readings of stores, and the stores."""


def start_load(
    agent: Agent,
    op: Operation,
    barrier: PlacedBarrier,
    touches: Sequence[Touch],
    size: int,
    *,
    kind: str,
    move: Callable[[], None] | None = None,
) -> None:
    """Issue a copy of which `size` bytes for each thread arrive at `barrier` when it is complete; `move` does it."""
    check_init_fence(agent, op, barrier)
    work = agent.issue(op, list(touches), move, label=f"{kind} of {size} bytes", engine=Engine.TMA)
    promise_bytes(agent, work, barrier.state, size * agent.threads)
    note_signal(barrier, work)


def start_store(
    agent: Agent,
    op: Operation,
    readings: Sequence[Touch],
    writes: Sequence[Touch],
    *,
    label: str,
    fetch: Callable[[], Any] | None = None,
    put: Callable[[Any], None] | None = None,
) -> None:
    """Issue a read of the source, and then the writes: `put` does them with what `fetch` gives."""
    machine = agent.machine
    held: list[Any] = []
    take = (lambda: held.append(fetch())) if machine.with_data and fetch is not None else None
    deliver = (lambda: put(held.pop())) if machine.with_data and put is not None else None
    read = agent.issue(op, list(readings), take, label=f"the reading of {label}", engine=Engine.TMA)
    behind = [machine.event_of(read, "the source is read")]
    written = agent.issue(op, list(writes), deliver, label=label, engine="memory", dependencies=behind)
    written.ends_with_grid = True
    copy_groups(agent, BULK_READS).uncommitted.append(read)
    copy_groups(agent, BULK).uncommitted.append(written)
    if machine.order.reads_sources_at_once:
        machine.perform(read)


def commit_stores(agent: Agent, op: Operation) -> None:
    """The stores that are in no group yet become one."""
    commit_copies(agent, BULK_READS, op)
    commit_copies(agent, BULK, op)


def wait_for_stores(agent: Agent, op: Operation, in_flight: int, *, reads_only: bool) -> Answer:
    """Wait until at most `in_flight` groups are unfinished; with `reads_only` until their sources are read."""
    return wait_for_own_copies(agent, op, [BULK_READS] if reads_only else [BULK_READS, BULK], in_flight)
