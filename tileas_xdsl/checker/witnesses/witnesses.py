"""
The search for a witness: the few steps of a trace that explain a mistake, in the order of the execution.

A mistake is about two points of an execution that nothing orders: two accesses, or an issue and the end of a function.
All steps that happen before either point had to take place, and almost none of them explains why the two are unordered.
Shown are

- the last step of each side that the other one knows of, and the chain of arrivals and waits by which it learnt of it;
- the issue of asynchronous work, and each later step of the two agents on what tells of its completion: the commit of
  its group, waits on its queue, phases of its barrier;
- the last wait that each side passed, whatever it was for;
- the start of an agent for which there is none of these.

The other steps that happen before the two points are counted (`... 12 steps of agent 0`) for each agent that is shown.
A program that goes wrong in iteration 300 thus has a witness as short as one that goes wrong in iteration 3. Finding it
takes a few passes over the trace, and is done only for mistakes that are reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tileas_xdsl.checker.witnesses.witness import Elision, Witness
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event
from tileas_xdsl.machine.core.happens_before import Access, Clock, Mind, Who, join
from tileas_xdsl.machine.core.synchronization import (
    EndOfAgents,
    GroupQueue,
    PhaseCondition,
    PromiseGroup,
    RendezvousCondition,
)
from tileas_xdsl.machine.core.trace import Happening, Trace

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine
    from tileas_xdsl.machine.core.violations import Party

FIRST_SHOWN, LAST_SHOWN = 6, 14
"""How many steps of a longer witness are shown from its beginning, and from its end."""
LAST_ABOUT = 8
"""How many of the steps on a barrier are shown where the barrier itself is the subject."""
LAST_OF_BLOCKED = 3
"""How many steps of a blocked agent are shown, fewer where many agents are blocked."""
LAST_ENDED = 4
"""How many of the agents that have ended are shown in the witness of a deadlock: they will arrive nowhere."""
GIFTS = ("arrive", "commit", "finish")


@dataclass(frozen=True)
class Point:
    """One side of a mistake: a step of `agent`, and what it knows there; with `work`, the issue of that."""

    agent: Who
    step: int
    past: Mind
    work: AsyncWork | None = None

    def has_seen(self, happening: Happening) -> bool:
        """Whether `happening` lies in the past of this point."""
        if isinstance(happening.on, AsyncWork) and happening.kind == "complete":
            return self.past.knows_work(happening.on)
        if happening.agent == self.agent.number and happening.step > self.step:
            return False
        return self.past.knows_moment(happening.agent, happening.moment)


def point_of(machine: Machine, access: Access) -> Point:
    """The point of `access`, or of the issue of the work that makes it."""
    if access.work is not None:
        return point_of_work(access.work)
    agent = access.agent
    clock: Clock = {}
    for happening in machine.trace.happenings:
        if happening.step <= access.step and _taught(happening) == agent.number and happening.learnt is not None:
            clock = happening.learnt
    return Point(agent, access.step, Mind({**clock, agent.number: access.moment}, {}))


def point_of_work(work: AsyncWork) -> Point:
    """The point of the issue of `work`. Its past includes the works that it depends on."""
    clock: Clock = {}
    stack, seen = [work], {work}
    while stack:
        current = stack.pop()
        join(clock, current.mind.clock)
        earlier = [other for other in current.mind.works if other not in seen]
        seen.update(earlier)
        stack.extend(earlier)
    return Point(work.issuer, work.issue_step, Mind(clock, {}, work.mind.works), work)


def here(machine: Machine, agent: Who) -> Point:
    """The point at which `agent` is now."""
    return Point(agent, machine.step_number, Mind({**agent.clock, agent.number: agent.moment}, {}))


def _taught(happening: Happening) -> int | None:
    """The number of the agent that learns something by `happening`."""
    if happening.kind == "fork":
        return getattr(happening.on, "number", None)
    return happening.agent if happening.kind == "wait" else None


# Witnesses ------------------------------------------------------------------------------------------------------------


def witness_between(
    machine: Machine, earlier: Point, later: Point, parties: Sequence[Party], *, with_fences: bool = False
) -> Witness:
    """
    The witness of a race or of undrained work: `earlier` does not happen before `later`.

    `parties` are shown as what collides. `with_fences` also shows fences, for a mistake in which one is missing.
    """
    sides = _Sides(machine, earlier, later)
    shown = sides.explanation()
    if with_fences:
        shown += sides.fences()
    return _assembled(machine, shown, [earlier, later], parties)


def witness_about(machine: Machine, agent: Who, things: Sequence[object], parties: Sequence[Party]) -> Witness:
    """The witness of a mistake in the use of `things` (barriers, tasks): the last steps on them, up to now."""
    shown = machine.trace.about(things)[-LAST_ABOUT:]
    points = [here(machine, machine.agents[number]) for number in dict.fromkeys(h.agent for h in shown)]
    return _assembled(machine, shown, [*points, here(machine, agent)], parties)


def witness_of_standstill(machine: Machine, blocked: Sequence[Who], parties: Sequence[Party]) -> Witness:
    """The witness of a deadlock: the last steps of the blocked agents, and the arrivals at what they wait for."""
    each = max(1, min(LAST_OF_BLOCKED, 12 // max(len(blocked), 1)))
    shown: list[Happening] = []
    for agent in blocked:
        shown += machine.trace.of(agent.number)[-each:]
        shown += _come_where_waited(machine.trace, agent)
    ended = [agent for agent in machine.agents if agent.finished]
    shown += [h for h in machine.trace.about(ended[-LAST_ENDED:]) if h.kind == "finish"]
    return _assembled(machine, shown, [here(machine, agent) for agent in blocked], parties)


def _come_where_waited(trace: Trace, agent: Who) -> list[Happening]:
    """The arrivals that did take place at what a blocked agent waits for."""
    match agent.waiting_for:
        case PhaseCondition() as condition:
            barrier, turn = condition.barrier, condition.barrier.current.index
        case RendezvousCondition() as condition:
            barrier, turn = condition.barrier, condition.barrier.generation
        case _:
            return []
    return [h for h in trace.about([barrier]) if h.kind == "arrive" and h.turn == turn]


# The steps that explain -----------------------------------------------------------------------------------------------


class _Sides:
    """The two sides of a mistake, and the search for the steps that explain it."""

    def __init__(self, machine: Machine, earlier: Point, later: Point) -> None:
        self.machine = machine
        self.trace = machine.trace
        self.earlier = earlier
        self.later = later

    def explanation(self) -> list[Happening]:
        """The steps to be shown, in any order, some perhaps twice."""
        shown: list[Happening] = []
        for side in (self.earlier, self.later):
            shown += self._issue(side)
            shown += self._dependencies(side)
        shown += self._hearsay(self.later, self.earlier)
        shown += self._hearsay(self.earlier, self.later)
        shown += self._news_of_work()
        if self.earlier.agent is not self.later.agent:
            shown += self._last_wait(self.earlier)
        shown += self._last_wait(self.later)
        shown = [h for h in shown if h.kind != "fork"]
        for side in (self.earlier, self.later):
            if not any(h.agent == side.agent.number for h in shown):
                shown += [h for h in self.trace.about([side.agent]) if h.kind == "fork"]
        return shown

    def fences(self) -> list[Happening]:
        """The fences that the two agents did execute between the two points."""
        agents = (self.earlier.agent.number, self.later.agent.number)
        return [
            h
            for h in self.trace.happenings
            if h.kind == "fence" and h.agent in agents and h.step >= self.earlier.step and self._has_been(h)
        ]

    def _issue(self, side: Point) -> list[Happening]:
        return [h for h in self.trace.about([side.work]) if h.kind == "issue"] if side.work is not None else []

    def _dependencies(self, side: Point) -> list[Happening]:
        """The completions that the work of `side` waited for."""
        return [h for h in self.trace.about(side.past.works) if h.kind == "complete"]

    def _last_wait(self, side: Point) -> list[Happening]:
        waits = [h for h in self.trace.of(side.agent.number) if h.kind == "wait" and h.step <= side.step]
        return waits[-1:]

    def _news_of_work(self) -> list[Happening]:
        """Steps of the two agents, from the issue of the earlier work on, on what tells of its completion."""
        work = self.earlier.work
        if work is None:
            return []
        agents = (self.earlier.agent.number, self.later.agent.number)
        return [
            h
            for h in self.trace.happenings
            if h.agent in agents and h.step >= work.issue_step and h.kind != "complete" and tells_of(h, work)
            if self._has_been(h)
        ]

    def _has_been(self, happening: Happening) -> bool:
        return self.earlier.has_seen(happening) or self.later.has_seen(happening)

    def _hearsay(self, reader: Point, other: Point) -> list[Happening]:
        """The chain of steps by which `reader` came to know the last that it knows of the agent of `other`."""
        source, who, before = other.agent.number, reader.agent.number, reader.step
        moment = reader.past.clock.get(source)
        if moment is None:
            return []
        if reader is self.later and other.work is None and moment >= _own_moment(other):
            # The two are ordered and something else is missing: show the first news of the other, not the last.
            moment = _own_moment(other)
        chain: list[Happening] = []
        while who != source:
            lesson = next((h for h in self._lessons(who, before) if _knows(h, source, moment)), None)
            if lesson is None:
                break
            gifts = self._gifts(lesson)
            giver = next((g for g in gifts if self._could_tell(g, source, moment)), None)
            chain += [lesson, *(gifts if len(gifts) <= LAST_ABOUT else [giver] if giver is not None else [])]
            if lesson.kind == "fork":
                who, before = lesson.agent, lesson.step
            elif giver is not None and isinstance(giver.on, AsyncWork):
                chain += [h for h in self.trace.about([giver.on]) if h.kind == "issue"]
                who, before = giver.on.issuer.number, giver.on.issue_step
            elif giver is not None:
                who, before = giver.agent, giver.step
            else:
                break
        return chain

    def _lessons(self, agent: int, before: int) -> list[Happening]:
        """The waits and forks, up to step `before`, from which `agent` learnt something."""
        return [h for h in self.trace.happenings if h.step <= before and _taught(h) == agent]

    def _could_tell(self, gift: Happening, source: int, moment: int) -> bool:
        """Whether the agent or work behind `gift` knew of `moment` of agent `source` by then."""
        if isinstance(gift.on, AsyncWork):
            return gift.on.mind.clock.get(source, -1) >= moment
        if gift.agent == source:
            return gift.moment >= moment
        return any(_knows(h, source, moment) for h in self._lessons(gift.agent, gift.step))

    def _gifts(self, lesson: Happening) -> list[Happening]:
        """The arrivals, commits and completions without which the wait `lesson` would not have gone through."""
        on = lesson.on
        events = list(on.members) if isinstance(on, PromiseGroup) else [on] if isinstance(on, Event) else []
        works = [work for event in events for work in event.source]
        if isinstance(on, GroupQueue) and 0 < lesson.turn <= len(on.groups):
            works += on.groups[lesson.turn - 1].works
        tasks = [event.task for event in events if event.task is not None]
        if isinstance(on, EndOfAgents):
            tasks += on.agents
        found: list[Happening] = []
        for h in self.trace.happenings:
            if h.step > lesson.step:
                break
            if h.kind == "complete":
                if any(h.on is work for work in works) or _counts_for(h.on, lesson):
                    found.append(h)
            elif h.kind in GIFTS and ((h.on is on and h.turn == lesson.turn) or any(h.on is task for task in tasks)):
                found.append(h)
        return found


def _own_moment(point: Point) -> int:
    return point.past.clock[point.agent.number]


def _knows(lesson: Happening, agent: int, moment: int) -> bool:
    return lesson.learnt is not None and lesson.learnt.get(agent, -1) >= moment


def _counts_for(work: object, wait: Happening) -> bool:
    """Whether the completion of `work` counted for the phase that `wait` saw."""
    return isinstance(work, AsyncWork) and any(b is wait.on and phase == wait.turn for b, phase in work.phases)


def tells_of(happening: Happening, work: AsyncWork) -> bool:
    """Whether `happening` is a step on a queue, barrier, counter or token that tells of the completion of `work`."""
    on = happening.on
    if isinstance(on, Event):
        return any(work is source for source in on.source)
    if isinstance(on, PromiseGroup):
        return any(work is source for member in on.members for source in member.source)
    return on is not None and any(on is channel for channel in work.channels)


# Putting together -----------------------------------------------------------------------------------------------------


def _as_step(machine: Machine, party: Party) -> Happening:
    """The party as the line of a witness that says what collides."""
    agent = next(agent for agent in reversed(machine.agents) if agent.name == party.agent)
    return Happening(
        step=machine.step_number,
        agent=agent.number,
        agent_name=party.agent,
        moment=agent.moment,
        op=party.op,
        iteration=party.iteration,
        kind="access",
        text=party.role,
    )


def _assembled(
    machine: Machine, shown: Iterable[Happening], points: Sequence[Point], parties: Sequence[Party]
) -> Witness:
    """
    `shown` in the order of the execution, the number of steps of the same agents left out in between, and the parties
    as what collides. A single step that would be left out is shown, too: it takes no more room than its number.
    """
    collision = tuple(_as_step(machine, party) for party in parties)
    chosen = set(shown)
    in_order = [h for h in machine.trace.happenings if h in chosen]
    if len(in_order) > FIRST_SHOWN + LAST_SHOWN:
        chosen -= set(in_order[FIRST_SHOWN:-LAST_SHOWN])
    agents = {h.agent for h in chosen} | {h.agent for h in collision}
    steps: list[Happening | Elision] = []
    skipped: list[Happening] = []

    def skip() -> None:
        if len(skipped) == 1:
            steps.append(skipped[0])
        elif skipped:
            steps.append(Elision(tuple(Counter(h.agent_name for h in skipped).items())))
        skipped.clear()

    for h in machine.trace.happenings:
        if h in chosen:
            skip()
            steps.append(h)
        elif h.agent in agents and h.kind != "complete" and any(point.has_seen(h) for point in points):
            skipped.append(h)
    skip()
    return Witness(tuple(steps), collision)
