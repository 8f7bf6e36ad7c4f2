"""
A second judge of programs of threads, beside the checker: what PTX orders of one run, found in its trace.

The trace says who did what, at which phase of which barrier; the accesses come with it. From these alone a graph is
made, and of every two accesses that conflict one has to be reachable from the other. Nothing of the checker's own
account of who knows what is used. (PTX ISA, "Memory Consistency Model", "mbarrier", "Async proxy".)

An edge leads from each step of an agent to its next, from an arrival to the waits for its phase and for later ones,
from the start of a work to its completion, from there to the waits for its group or for the phase that it signals, from
copies to the arrival behind them, and from those who arrive at a barrier of threads to all that pass it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncMBarrierArriveOp, CpAsyncOp
from tileas_xdsl.dialects.nvvm.fence import FenceMbarrierInitOp
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Access, AccessHistory, Mind, Proxy, may_conflict
from tileas_xdsl.machine.core.observer import Observer
from tileas_xdsl.machine.core.synchronization import EndOfAgents, GroupQueue, PhaseBarrier
from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.machine.running import Outcome


class Accesses(Observer):
    """All accesses of a run, as they come."""

    def __init__(self) -> None:
        self.found: list[Access] = []

    def access(self, access: Access, mind: Mind, history: AccessHistory) -> None:
        self.found.append(access)


Step = Happening | Access


class Order:
    """Which step of a run comes before which, in every run that meets the same phases."""

    def __init__(self, outcome: Outcome, accesses: list[Access]) -> None:
        own = [access for access in accesses if access.work is None]
        self.steps: list[Step] = sorted([*outcome.trace.happenings, *own], key=lambda step: step.step)
        self.number = {id(step): number for number, step in enumerate(self.steps)}
        self.started: dict[int, int] = {}
        self.completed: dict[int, int] = {}
        self.before: list[int] = []
        """Of each step, those that come before it: one bit for each."""
        self._copies: list[int] = []
        """Those of `cp.async`, which an arrival behind copies waits for."""
        self._first_half: dict[int, int] = {}
        """Of what writes the target of a store: the work that reads its source, started right before."""
        self._issued: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._told: dict[int, list[tuple[int, int]]] = {}
        """Of a barrier: the steps that signal it, and the phase that each counts for."""
        for number, step in enumerate(self.steps):
            self.before.append(self._all_before(step))
            self._note(number, step)

    def comes_before(self, one: int, other: int) -> bool:
        return bool(self.before[other] >> one & 1)

    def _all_before(self, step: Step) -> int:
        found = 0
        for number in self._just_before(step):
            found |= self.before[number] | 1 << number
        return found

    def _just_before(self, step: Step) -> Iterator[int]:
        if isinstance(step, Happening) and step.kind == "complete":
            yield self.started[id(step.on)]
            if isinstance(step.op, CpAsyncMBarrierArriveOp):
                begun = self.started[id(step.on)]
                yield from (self.completed[copy] for copy in self._copies if self._begins_before(copy, begun))
            if id(step.on) in self._first_half:
                yield self.completed[self._first_half[id(step.on)]]
            return
        last = self._last.get(_agent(step))
        if last is not None:
            yield last
        if not isinstance(step, Happening) or step.kind != "wait":
            return
        if isinstance(step.on, GroupQueue):
            yield from (self.completed[id(work)] for group in step.on.groups[: step.turn] for work in group.works)
        elif isinstance(step.on, EndOfAgents):
            yield from (self._last[agent.number] for agent in step.on.agents)
        else:
            yield from (number for number, phase in self._told.get(id(step.on), ()) if phase <= step.turn)

    def _begins_before(self, copy: int, begun: int) -> bool:
        """Whether the thread that begins something at step `begun` has started `copy` before."""
        start = self.started[copy]
        return start < begun and _agent(self.steps[start]) == _agent(self.steps[begun])

    def _note(self, number: int, step: Step) -> None:
        if not isinstance(step, Happening):
            self._last[_agent(step)] = number
            return
        work: Any = step.on
        if step.kind == "complete":
            self.completed[id(work)] = number
            for barrier, phase in work.phases:
                self._told.setdefault(id(barrier), []).append((number, phase))
            return
        self._last[step.agent] = number
        if step.kind == "issue":
            self.started[id(work)] = number
            if work.ends_with_grid:
                self._first_half[id(work)] = self._issued[step.agent]
            self._issued[step.agent] = id(work)
            if isinstance(step.op, CpAsyncOp):
                self._copies.append(id(work))
        elif step.kind == "arrive":
            self._told.setdefault(id(step.on), []).append((number, step.turn))
        elif step.kind == "fork":
            self._last[work.number] = number


def _agent(step: Step) -> int:
    return step.agent if isinstance(step, Happening) else step.agent.number


def disorders(outcome: Outcome, accesses: list[Access]) -> list[str]:
    """What PTX does not order in a run, in words; nothing where all that conflicts is ordered."""
    order = Order(outcome, accesses)
    return [*_races(order, accesses), *_unseen_barriers(order), *_left_over(order)]


def _races(order: Order, accesses: list[Access]) -> Iterator[str]:
    objects: dict[int, list[Access]] = {}
    for access in accesses:
        if access.proxy is not Proxy.TENSORMAP:
            objects.setdefault(id(access.region.base), []).append(access)
    for touching in objects.values():
        for one, other in combinations(touching, 2):
            if may_conflict(one, other) and not _same(one, other) and one.region.overlaps(other.region):
                if not _is_ordered(order, one, other) and not _is_ordered(order, other, one):
                    yield f"{one.op.name} and {other.op.name} of {one.agent.name} and {other.agent.name}"


def _same(one: Access, other: Access) -> bool:
    """Whether one warp or one work does both."""
    return one.work is other.work if one.work or other.work else one.agent is other.agent


def _is_ordered(order: Order, one: Access, other: Access) -> bool:
    """Whether `one` is over, and visible to the proxy of `other`, before `other` begins."""
    end = order.number[id(one)] if one.work is None else order.completed.get(id(one.work))
    start = order.number[id(other)] if other.work is None else order.started[id(other.work)]
    needs_fence = one.proxy is Proxy.GENERIC and other.proxy is Proxy.ASYNC
    return end is not None and order.comes_before(end, start) and (not needs_fence or _is_fenced(order, end, start))


def _is_fenced(order: Order, end: int, start: int) -> bool:
    return any(
        isinstance(step, Happening)
        and step.kind == "fence"
        and "shared" in step.text
        and order.comes_before(end, number)
        and order.comes_before(number, start)
        for number, step in enumerate(order.steps)
    )


def _unseen_barriers(order: Order) -> Iterator[str]:
    """Barriers that are used before they are made, or signalled by works whose proxy cannot see them yet."""
    made = {step.on: n for n, step in enumerate(order.steps) if isinstance(step, Happening) and step.kind == "init"}
    for number, step in enumerate(order.steps):
        if isinstance(step, Access) or not isinstance(step.on, PhaseBarrier | AsyncWork):
            continue
        if isinstance(step.on, PhaseBarrier):
            if step.kind != "init" and not order.comes_before(made[step.on], number):
                yield f"{step} does not know of its barrier"
        elif step.kind == "issue" and any(access.is_write for access in step.on.touches):
            for barrier, _ in step.on.phases:
                if step.op.name.startswith("nvvm.cp.async.bulk") and not _is_shown(order, made[barrier], number):
                    yield f"{step} signals a barrier that no fence has shown"


def _is_shown(order: Order, made: int, used: int) -> bool:
    step = order.steps[made]
    assert isinstance(step, Happening)
    following = step.op
    while following is not None and not isinstance(following, FenceMbarrierInitOp):
        following = following.next_op
    return order.comes_before(made, used) and (following is not None or _is_fenced(order, made, used))


def _left_over(order: Order) -> Iterator[str]:
    """Works that touch shared memory and of which no agent knows at its end that they are over."""
    ends = [n for n, step in enumerate(order.steps) if isinstance(step, Happening) and step.kind == "finish"]
    for work, number in order.completed.items():
        start = order.steps[order.started[work]]
        assert isinstance(start, Happening)
        assert isinstance(start.on, AsyncWork)
        if not (start.on.ends_with_grid or any(order.comes_before(number, end) for end in ends)):
            yield f"{start} is waited for by nobody"
