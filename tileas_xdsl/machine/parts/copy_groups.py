"""
Asynchronous copies that a thread commits by groups and waits for by counting: `cp.async`, and its relatives.

The groups of one thread and of one family of copies (`cp.async`, `bulk`, `wgmma`) are a queue; they finish in the order
in which they were committed. The ops of `nvvm`, `nvgpu`, `ttg` and `amdg` speak of the same copies and groups.

A group that is counted by hardware (`cp.async`, bulk, wgmma) belongs to the agent; a queue of `async_queue` belongs to
the execution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Touch
from tileas_xdsl.machine.core.happens_before import Proxy, Who
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.state import Canvas, OwnPart
from tileas_xdsl.machine.core.synchronization import CommitGroup, GroupQueue
from tileas_xdsl.machine.core.threads.by_thread import report_collisions, windows_of_all
from tileas_xdsl.machine.core.threads.own_copies import parts_of_some
from tileas_xdsl.machine.parts.barrier_lives import note_signal
from tileas_xdsl.machine.parts.barriers import (
    commit,
    expect_arrivals,
    promise_added_arrival,
    promise_arrival,
    wait_for_queue,
)
from tileas_xdsl.machine.parts.divergence import rests_on_own_copies
from tileas_xdsl.machine.parts.placed_barriers import PlacedBarrier
from tileas_xdsl.targets.engines import Engine

CP_ASYNC = Engine.CP_ASYNC
"""The family of copies from global to shared memory through the generic proxy, and the engine that makes them."""


@dataclass(frozen=True)
class CopyToken:
    """What names a copy until it is put into a group."""

    work: AsyncWork


@dataclass(frozen=True)
class GroupToken:
    """What names a group of the thread `owner`."""

    owner: Agent
    group: CommitGroup


@dataclass
class CopyGroups:
    """Copies of one thread that complete by groups: not committed yet, and committed."""

    queue: GroupQueue
    uncommitted: list[AsyncWork] = field(default_factory=list[AsyncWork])

    def issued(self) -> list[AsyncWork]:
        """Everything not known to be complete."""
        groups = self.queue.groups[self.queue.known_complete :]
        return [*(work for group in groups for work in group.works), *self.uncommitted]


@dataclass
class CopiesOfThread(OwnPart):
    """The copies of an agent, by family."""

    families: dict[str, CopyGroups] = field(default_factory=dict[str, CopyGroups])

    def draw(self, canvas: Canvas, agent: Who) -> None:
        for family, groups in self.families.items():
            canvas.literal(family)
            canvas.works(groups.uncommitted)
            canvas.own_queue(groups.queue, agent)


def copy_groups(agent: Agent, family: str) -> CopyGroups:
    """The copies of `family` that `agent` has issued, and their groups."""
    families = agent.part(CopiesOfThread).families
    if family not in families:
        families[family] = CopyGroups(GroupQueue(f"{family} of {agent.name}"))
    return families[family]


def copies_in_flight(agent: Agent, family: str) -> list[AsyncWork]:
    """The copies of `family` that `agent` does not know to be complete. Of the others none is waited for again."""
    groups = copy_groups(agent, family)
    groups.uncommitted = [work for work in groups.uncommitted if not agent.mind.knows_work(work)]
    return groups.issued()


def commit_copies(agent: Agent, family: str, op: Operation) -> CommitGroup:
    """All copies of `family` that are not committed become a group, possibly an empty one."""
    groups = copy_groups(agent, family)
    works, groups.uncommitted = groups.uncommitted, []
    return commit(agent, groups.queue, works, op)


@dataclass(frozen=True)
class CopyOfThread:
    """What the thread `lane` of an agent copies: two windows of one dimension."""

    lane: int
    source: View
    target: View
    """Where it is longer than the source, the rest is filled with zeros."""


def issue_copy(agent: Agent, op: Operation, source: View, target: View) -> AsyncWork:
    """Issue a `cp.async` of the same bytes by all threads of `agent` that are active."""
    read = Touch(source, False, Proxy.GENERIC, parts=parts_of_some(agent, source.region))
    written = Touch(target, True, Proxy.GENERIC, parts=parts_of_some(agent, target.region))
    return _issue(agent, op, [read, written], [CopyOfThread(0, source, target)])


def issue_copies(agent: Agent, op: Operation, copies: Sequence[CopyOfThread]) -> AsyncWork:
    """
    Issue a `cp.async` of which each thread copies bytes of its own, as one work. Reports a race if two of them copy
    from different places to one.
    """
    report_collisions(agent, op, [(copy.lane, copy.target, copy.source) for copy in copies])
    sources = windows_of_all(agent, [(copy.lane, copy.source) for copy in copies])
    targets = windows_of_all(agent, [(copy.lane, copy.target) for copy in copies])
    read = [Touch(window.view, False, Proxy.GENERIC, parts=window.parts) for window in sources]
    written = [Touch(window.view, True, Proxy.GENERIC, parts=window.parts) for window in targets]
    return _issue(agent, op, [*read, *written], copies)


def _issue(agent: Agent, op: Operation, touches: list[Touch], copies: Sequence[CopyOfThread]) -> AsyncWork:
    machine = agent.machine

    def deliver(data: Sequence[Any]) -> None:
        for copy, taken in zip(copies, data, strict=True):
            machine.write(copy.target, _with_zeros(taken, copy.target))

    size = sum(copy.target.region.byte_count for copy in copies)
    work = start_copy(
        agent, op, touches, size, fetch=lambda: [machine.read(copy.source) for copy in copies], deliver=deliver
    )
    # What reads nothing is a copy that a predicate has switched off: the zeros that it writes end with the block.
    work.ends_with_grid = all(copy.source.region.is_empty for copy in copies)
    return work


def start_copy(
    agent: Agent,
    op: Operation,
    touches: Sequence[Touch],
    size: int,
    *,
    fetch: Callable[[], Any] | None = None,
    deliver: Callable[[Any], None] | None = None,
) -> AsyncWork:
    """Issue a `cp.async` of `size` bytes, which belongs to the group that is committed next."""
    label = f"a copy of {size} bytes"
    work = agent.issue(op, list(touches), None, label=label, engine=CP_ASYNC, fetch=fetch, deliver=deliver)
    copy_groups(agent, CP_ASYNC).uncommitted.append(work)
    return work


def arrive_behind_copies(agent: Agent, op: Operation, barrier: PlacedBarrier, count: int, *, increments: bool) -> None:
    """
    Arrive `count` times once every copy of the agent is complete. With `increments` the barrier expects these arrivals
    in addition to those that it was made for (PTX ISA, "cp.async.mbarrier.arrive": without `.noinc`).
    """
    if increments:
        expect_arrivals(agent, barrier.state, op, count)
    events = [agent.event_of(work) for work in copies_in_flight(agent, CP_ASYNC)]
    work = agent.issue(op, [], None, label="an arrival behind copies", engine=CP_ASYNC, dependencies=events)
    promise = promise_added_arrival if increments else promise_arrival
    promise(agent, work, barrier.state, count)
    note_signal(barrier, work)


def wait_for_own_copies(agent: Agent, op: Operation, families: Sequence[str], in_flight: int) -> Answer:
    """Each thread waits for the groups that it has committed itself: those of the last family know the others."""
    covered = [work for name in families for work in works_waited_for(copy_groups(agent, name), in_flight)]
    rests_on_own_copies(agent, covered)
    return wait_for_queue(agent, copy_groups(agent, families[-1]).queue, in_flight, op)


def works_waited_for(groups: CopyGroups, in_flight: int) -> list[AsyncWork]:
    """The works that a wait covers which leaves so many groups unfinished, but for those known to be complete."""
    queue = groups.queue
    covered = queue.groups[queue.known_complete : max(queue.committed - max(in_flight, 0), 0)]
    return [work for group in covered for work in group.works]


def _with_zeros(data: Any, target: View) -> Any:
    filled = np.zeros(target.shape, target.element.dtype)
    filled[: len(data)] = data
    return filled
