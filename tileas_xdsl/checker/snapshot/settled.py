"""
What nobody can be surprised by any more.

An access or a work is *settled* when everybody knows of it whom it concerns and who may still act before learning more:
live agents, and works that have not begun. Whoever comes later is started by one of these and knows it, too. So no
race, no missing fence and no undrained work can come of it, and the rest of an execution is the same whether it is on
file or not. An access concerns those who reach its object, and those who start them; undrained work concerns the first
agent, and where a lifetime ends everybody.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tileas_xdsl.checker.snapshot.liveness import Liveness
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Access, Clock, Mind, Proxy
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.synchronization import EndOfAgents, Phase

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.agents import Agent
    from tileas_xdsl.machine.core.execution import Machine


@dataclass(frozen=True)
class Reach:
    """What executions of a function touch, by families of objects. A proof checks that it stays so."""

    fenced: frozenset[str] = frozenset()
    """Those that the asynchronous proxy reaches: a generic access there is settled only when it is fenced, too."""
    read: frozenset[str] = frozenset()
    """Those of which single elements are read, so that it matters what the program stored there."""
    ended: frozenset[str] = frozenset()
    """Those whose lifetime ends, which asks who knows of the works on them."""
    by: frozenset[tuple[str, object]] = frozenset()
    """Which agents (by `role_of`) reach which objects, and the agents that have started these."""
    in_flight: int = 0
    """The largest number of groups that any wait leaves in flight."""

    def __or__(self, other: Reach) -> Reach:
        return Reach(
            self.fenced | other.fenced,
            self.read | other.read,
            self.ended | other.ended,
            self.by | other.by,
            max(self.in_flight, other.in_flight),
        )

    @staticmethod
    def of(accesses: Iterable[Access], in_flight: int) -> Reach:
        fenced: set[str] = set()
        read: set[str] = set()
        ended: set[str] = set()
        by: set[tuple[str, object]] = set()
        for access in accesses:
            base = access.region.base
            if access.proxy is Proxy.ASYNC:
                fenced.add(base.family)
            if not access.is_write and access.region.counts == ():
                read.add(base.family)
            if base.lifetime_over:
                ended.add(base.family)
            agent: Agent | None = access.agent
            while agent is not None and (base.family, role_of(agent)) not in by:
                by.add((base.family, role_of(agent)))
                agent = agent.parent
        return Reach(frozenset(fenced), frozenset(read), frozenset(ended), frozenset(by), in_flight)


def role_of(agent: Agent) -> object:
    """The same for all agents that run the same code: tasks of one op, or the agents of one name."""
    return agent.name if agent.started_by is None else agent.started_by


class Actor:
    """Somebody who will act: what it knows now, or will know by then of what others know now."""

    def __init__(self, agent: Agent, minds: list[Mind]) -> None:
        self.agent = agent
        self.minds = minds

    def knows(self, access: Access) -> bool:
        return any(mind.knows(access) for mind in self.minds)

    def knows_work(self, work: AsyncWork) -> bool:
        return any(mind.knows_work(work) for mind in self.minds)

    def knows_moment(self, agent: int, moment: int) -> bool:
        return any(mind.knows_moment(agent, moment) for mind in self.minds)

    def knows_moments(self, moments: Clock) -> bool:
        return all(self.knows_moment(agent, moment) for agent, moment in moments.items())

    def has_fenced(self, access: Access, space: str) -> bool:
        return any(mind.has_fenced(access, space) for mind in self.minds)

    def has_fenced_all(self, fenced: dict[str, Clock]) -> bool:
        """Whether it has fenced all that is fenced there, each space by itself."""
        moments = [(space, agent, moment) for space, clock in fenced.items() for agent, moment in clock.items()]
        return all(
            any(mind.fenced.get(space, {}).get(agent, -1) >= moment for mind in self.minds)
            for space, agent, moment in moments
        )

    def knows_phase(self, phase: Phase) -> bool:
        return self.knows_moments(phase.arrivals) and all(self.knows_work(work) for work in phase.works)


def actors_of(machine: Machine) -> list[Actor]:
    """Everybody who may act: the live agents, and the works that have not begun."""
    agents = [Actor(agent, _minds_of(agent)) for agent in machine.live]
    return [*agents, *(Actor(w.issuer, [w.mind]) for w in machine.works_under_way() if not w.ready)]


def _minds_of(agent: Agent) -> list[Mind]:
    """Who waits for the end of agents will know by then all that they know."""
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


class Unsettled:
    """Keeps track, over the snapshots of one execution, of what is not settled, and forgets the rest."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.liveness = Liveness()
        self._works: list[AsyncWork] = []
        self._seen = 0

    def works(self, machine: Machine, actors: list[Actor]) -> list[AsyncWork]:
        """The works of which somebody may still have to learn, oldest first."""
        self._works += machine.works[self._seen :]
        self._seen = len(machine.works)
        first = [actor for actor in actors if actor.agent is machine.agents[0]]
        self._works = [w for w in self._works if not is_settled(w, actors if self._ends(w) else first)]
        return self._works

    def _ends(self, work: AsyncWork) -> bool:
        return any(touch.view.base.family in self.reach.ended for touch in work.touches)

    def accesses(self, machine: Machine, base: MemoryObject, actors: list[Actor]) -> list[Access]:
        """The accesses to `base` that are not settled, oldest first; the others are taken off its file."""
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
