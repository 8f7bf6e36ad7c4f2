"""
Copies for which each thread of an agent has waited by itself.

    nvvm.cp.async.shared.global %mine, ..     %mine = %ring + 16 tid: each thread copies 16 bytes
    nvvm.cp.async.wait.group 0                and waits for its own copies
    %v = llvm.load %other                     %other = %ring + 16 (31 - tid): a race

A wait for groups covers the copies of the thread that waits (PTX ISA, "cp.async.wait_group"). So what the threads touch
before they meet again has to lie in what each has copied itself. That is judged only where it is certain: from the wait
to the next op that hands anything on, or issues another copy; beyond that it is assumed, and the verdict says so
(`HANDS_OVER_BEHIND_BARRIERS` in `machine.parts.divergence`). So no proof rests on what is kept here, and no snapshot
shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Touch
from tileas_xdsl.machine.core.happens_before import Access, Conflict
from tileas_xdsl.machine.core.memory import ByteRegion, ThreadParts
from tileas_xdsl.machine.core.threads.hardware import Several

ELECTED = -1
"""The lane of the thread that an election chooses: always the same one, and nobody says which (PTX ISA, "elect")."""


class Waiter(Several, Protocol):
    """An agent each of whose threads waits for copies of its own."""

    own_waits: list[AsyncWork]

    def report_conflict(self, conflict: Conflict) -> None: ...


def parts_of_some(agent: Waiter, region: ByteRegion) -> ThreadParts | None:
    """Who touches `region` where that is not every thread of `agent`; nothing where it is."""
    if agent.active is None:
        return None
    return _for_each(region, (ELECTED,) if agent.is_elected else agent.lanes)


def _for_each(region: ByteRegion, lanes: Iterable[int]) -> ThreadParts:
    return ThreadParts(region, tuple((lane, region.offset) for lane in lanes))


def note_own_wait(agent: Waiter, works: Iterable[AsyncWork]) -> None:
    """Every thread of `agent` waits now for those of `works` that it has issued itself."""
    if agent.size > 1 and agent.active is None:
        recent = [work for work in agent.own_waits if _is_recent(agent, work)]
        agent.own_waits = [*recent, *(work for work in works if agent.number not in work.observers)]


def judge_own_copies(agent: Waiter, access: Access) -> None:
    """Report a race if by `access` a thread touches what another one has copied, and has just waited for alone."""
    for work in agent.own_waits:
        for touch in work.touches if _is_recent(agent, work) else ():
            if touch.parts is None or not (touch.is_write or access.is_write):
                continue
            if touch.view.region.overlaps(access.region) and _reaches_over(_parts_of(agent, access), touch.parts):
                agent.report_conflict(Conflict(_access_of(work, touch), access))


def _is_recent(agent: Waiter, work: AsyncWork) -> bool:
    """Whether the agent has handed on nothing since it learnt that `work` is complete."""
    return work.observers.get(agent.number) == agent.moment


def _parts_of(agent: Waiter, access: Access) -> ThreadParts:
    region = access.region
    return access.parts or parts_of_some(agent, region) or _for_each(region, range(agent.size))


def _reaches_over(touched: ThreadParts, copied: ThreadParts) -> bool:
    """Whether a thread touches bytes that it has not copied and another one has."""
    return any(_is_of_another(lane, region, copied.regions) for lane, region in touched.regions)


def _is_of_another(lane: int, region: ByteRegion, copied: Sequence[tuple[int, ByteRegion]]) -> bool:
    own = [part for other, part in copied if other == lane]
    if any(part.covers(region) for part in own):
        return False
    others: Sequence[ByteRegion] = [part for other, part in copied if other != lane and part.overlaps(region)]
    return any(not any(mine.covers(part) for mine in own) for part in others)


def _access_of(work: AsyncWork, touch: Touch) -> Access:
    region, proxy = touch.view.region, touch.proxy
    step = work.issue_step
    return Access(region, touch.is_write, proxy, work.op, work.issuer, work, work.moment, work.iteration, step)
