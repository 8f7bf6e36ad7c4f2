"""
What is settled, and so left out of snapshots: accesses and works of which no mistake can come any more.

An access or a work is *settled* when every actor that it concerns knows of it. The *actors* are those that may still
act: the live agents, and the works that are not ready yet. Later agents and works are started by one of these and know
what it knows. So no race, no missing fence and no undrained work can come of what is settled, and the rest of an
execution is the same whether it is in the access history or not. An access concerns the agents that reach its object,
and those that start them; a work concerns the first agent (is it drained?), and every actor where a lifetime ends.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Access, Clock, Mind, Proxy, Who, join
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.synchronization import EndOfAgents, Phase
from tileas_xdsl.machine.parts.placed_barriers import BarrierLook

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine
    from tileas_xdsl.machine.core.synchronization import GroupQueue


@dataclass(frozen=True)
class Reach:
    """What executions of a function touch, by families of objects. A proof checks that larger ones touch no more."""

    fenced: frozenset[str] = frozenset()
    """Families that the asynchronous proxy reaches: generic accesses there are settled only when fenced, too."""
    read: frozenset[str] = frozenset()
    """Families of which single elements are read: the numbers stored there are part of the state."""
    ended: frozenset[str] = frozenset()
    """Families whose lifetime ends: works on them concern every actor."""
    by: frozenset[tuple[str, object]] = frozenset()
    """(family, role): the agents that reach a family, and those that have started them, by `role_of`."""
    looks: frozenset[tuple[str, object]] = frozenset()
    """The same for the barriers in a family: the agents that make, use or remove any of them."""
    in_flight: int = 0
    """The largest number of groups that any wait leaves in flight."""

    def __or__(self, other: Reach) -> Reach:
        return Reach(
            self.fenced | other.fenced,
            self.read | other.read,
            self.ended | other.ended,
            self.by | other.by,
            self.looks | other.looks,
            max(self.in_flight, other.in_flight),
        )

    @staticmethod
    def of(accesses: Iterable[Access], looks: Iterable[BarrierLook], in_flight: int) -> Reach:
        fenced: set[str] = set()
        read: set[str] = set()
        ended: set[str] = set()
        by: set[tuple[str, object]] = set()
        for access in accesses:
            base = access.region.base
            if access.proxy in (Proxy.ASYNC, Proxy.TENSORMAP):
                fenced.add(base.family)
            if not access.is_write and access.region.counts == () and not access.region.copies:
                read.add(base.family)
            if base.lifetime_over:
                ended.add(base.family)
            _add_with_parents(by, base.family, access.agent)
        used: set[tuple[str, object]] = set()
        for look in looks:
            _add_with_parents(used, look.base.family, look.agent)
        return Reach(frozenset(fenced), frozenset(read), frozenset(ended), frozenset(by), frozenset(used), in_flight)


def _add_with_parents(found: set[tuple[str, object]], family: str, agent: Who | None) -> None:
    """Add `agent` and those that have started it to those that reach `family`."""
    while agent is not None and (family, role_of(agent)) not in found:
        found.add((family, role_of(agent)))
        agent = agent.parent


class _All(frozenset[Any]):
    """A set that has everything in it."""

    def __contains__(self, item: object) -> bool:
        return True


EVERYTHING = Reach(_All(), _All(), _All(), _All(), _All(), 1 << 30)
"""The reach of executions of which nothing is known: they may touch everything, from everywhere."""


def role_of(agent: Who) -> object:
    """A key that agents share if they run the same code: the op that started a task, else the name of the agent."""
    return agent.name if agent.started_by is None else agent.started_by


class Actor:
    """
    An agent, or a work that is not ready: it may still act.

    `agent` is that agent, or the issuer of the work. `minds` is what it knows now, and what it will have learnt from
    others before it acts.
    """

    def __init__(self, agent: Who, minds: list[Mind]) -> None:
        self.agent = agent
        self.minds = minds

    def knows(self, access: Access) -> bool:
        return any(mind.knows(access) for mind in self.minds)

    def knows_work(self, work: AsyncWork) -> bool:
        return any(mind.knows_work(work) for mind in self.minds)

    def knows_moment(self, agent: int, moment: int) -> bool:
        for mind in self.minds:  # noqa: SIM110 (asked for each arrival in a snapshot; nearly always there is one mind)
            if mind.clock.get(agent, -1) >= moment:
                return True
        return False

    def knows_moments(self, moments: Clock) -> bool:
        return all(self.knows_moment(agent, moment) for agent, moment in moments.items())

    def has_fenced(self, access: Access, space: str) -> bool:
        return any(mind.has_fenced(access, space) for mind in self.minds)

    def has_fenced_all(self, fenced: dict[str, Clock]) -> bool:
        """Whether it has fenced all of `fenced` (memory space -> clock)."""
        moments = [(space, agent, moment) for space, clock in fenced.items() for agent, moment in clock.items()]
        return all(
            any(mind.fenced.get(space, {}).get(agent, -1) >= moment for mind in self.minds)
            for space, agent, moment in moments
        )

    def knows_phase(self, phase: Phase) -> bool:
        return self.knows_moments(phase.arrivals) and all(self.knows_work(work) for work in phase.works)


def actors_of(machine: Machine) -> list[Actor]:
    """The actors: the live agents, and the works that are not ready."""
    agents = [Actor(agent, _minds_of(agent)) for agent in machine.live]
    return [*agents, *(Actor(w.issuer, [w.mind]) for w in machine.works_under_way() if not w.ready)]


def _minds_of(agent: Who) -> list[Mind]:
    """What `agent` knows; if it waits for the end of other agents, what these know, too."""
    minds = [agent.mind]
    if isinstance(agent.waiting_for, EndOfAgents):
        for child in agent.waiting_for.agents:
            minds += _minds_of(child)
    return minds


def is_settled(work: AsyncWork, actors: Iterable[Actor]) -> bool:
    """Whether all of `actors` know that `work` is complete."""
    return work.complete and all(actor.knows_work(work) for actor in actors)


def is_settled_phase(phase: Phase, actors: Iterable[Actor]) -> bool:
    """Whether all of `actors` know that `phase` is complete."""
    return all(actor.knows_phase(phase) for actor in actors)


def _shorten(work: AsyncWork, matter: Container[AsyncWork]) -> None:
    """Let `work` take over what works before it depend on, where these are over and none of those that `matter`."""
    mind = work.mind
    waiting, named = list(mind.works[::-1]), dict[AsyncWork, None]()
    while waiting:
        before = waiting.pop()
        if before in matter or not _is_over(before):
            named[before] = None
            continue
        for space, clock in before.mind.fenced.items():
            join(mind.fenced.setdefault(space, {}), clock)
        waiting.extend(before.mind.works[::-1])
    mind.works = tuple(named)


def _is_over(work: AsyncWork) -> bool:
    """Whether `work` is complete, its issuer knows that, and no barrier tells anybody else."""
    return work.complete and work.issuer.number in work.observers and not work.phases


class Unsettled:
    """Keeps track, from snapshot to snapshot of one execution, of what is not settled, and forgets the rest."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.fronts: dict[tuple[GroupQueue, Who | None], int] = {}
        """(queue, the agent that alone waits for it) -> how many of its oldest groups were settled when last drawn."""
        self._works: list[AsyncWork] = []
        self._seen = 0
        self._dependent: list[AsyncWork] = []
        """Works that name, or will name, others before them."""

    def works(self, machine: Machine, actors: list[Actor]) -> list[AsyncWork]:
        """The works that are not settled, oldest first."""
        fresh = machine.works[self._seen :]
        self._seen = len(machine.works)
        self._works += fresh
        self._dependent += fresh
        first = [actor for actor in actors if actor.agent is machine.agents[0]]
        self._works = [w for w in self._works if not is_settled(w, actors if self._ends(w) else first)]
        return self._works

    def shorten_chains(self, machine: Machine, actors: list[Actor]) -> None:
        """
        Have works forget those before them that do not matter by themselves: they take over what these depend on. Else
        each product of a chain, which adds to the one before, would keep all of them.

        What the others make known is in the clock of a work from the moment when it is ready.
        """
        matter = {*self.works(machine, actors), *machine.works_under_way(), *machine.works_in_histories()}
        for work in self._dependent:
            if work.ready:
                _shorten(work, matter)
        self._dependent = [work for work in self._dependent if work.mind.works or not work.ready]

    def forget_old_groups(self) -> None:
        """Have queues forget what is in groups that are news to nobody, as of the last snapshot."""
        for (queue, _), front in self.fronts.items():
            for group in queue.groups[:front]:
                group.works.clear()

    def leave_out_the_others(self, machine: Machine) -> None:
        """Have `machine` forget the works that are settled; it must not have issued any since the last snapshot."""
        machine.works[:] = self._works
        self._seen = len(machine.works)

    def _ends(self, work: AsyncWork) -> bool:
        return any(touch.view.base.family in self.reach.ended for touch in work.touches)

    def accesses(self, machine: Machine, base: MemoryObject, actors: list[Actor]) -> list[Access]:
        """The accesses to `base` that are not settled, oldest first; the others are removed from its history."""
        history = machine.history_of(base)
        if history is None:
            return []
        concerned = [actor for actor in actors if (base.family, role_of(actor.agent)) in self.reach.by]
        left: list[Access] = []
        for access in history.all():
            if self._is_settled(access, base, concerned):
                history.forget(access)
            else:
                left.append(access)
        return left

    def _is_settled(self, access: Access, base: MemoryObject, concerned: list[Actor]) -> bool:
        if not all(actor.knows(access) for actor in concerned):
            return False
        if access.proxy is not Proxy.GENERIC or base.family not in self.reach.fenced:
            return True
        return all(actor.has_fenced(access, base.space) for actor in concerned)
