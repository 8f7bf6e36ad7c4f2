"""
The state machines of the four ways to wait: tokens (`asynchronous_work.Event`), queues of groups, sequences of marks,
and barriers with phases; further named barriers, groups of promises, and the conditions on which agents wait.

A `Condition` answers four questions: does it hold; which works could make it hold (so that the order `lazy` performs no
others); what does the waiting agent know once it holds; and, if it never does, who waits for what.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event
from tileas_xdsl.machine.core.happens_before import Clock, Knowledge, Mind, Who, join, observe

MOST_NAMED = 8
"""The number of agents that are named where many are waited for."""


class Condition(ABC):
    """What a blocked agent waits for."""

    @abstractmethod
    def holds(self) -> bool: ...

    @abstractmethod
    def helpers(self) -> Iterable[AsyncWork]:
        """Incomplete works that could help the condition to hold."""

    @abstractmethod
    def observe(self, agent: Who) -> None:
        """Hand `agent` what it learns from the condition."""

    @abstractmethod
    def describe(self) -> str:
        """Completes the sentence "waits for ..."."""

    def needed(self) -> str:
        """What is missing for the condition to hold, in words."""
        return self.describe()

    @property
    def subject(self) -> str:
        """What is waited for, in few words: a barrier, a queue, a token."""
        return self.describe()

    @property
    def may_pass_by(self) -> str | None:
        """
        The name of the barrier, if the condition may hold now and not hold later; None for a condition that stays true.
        """
        return None

    def doubt(self) -> str | None:
        """For a condition that never held: why it might have held in another interleaving; None if it cannot have."""
        return None

    def mistake(self) -> Callable[[], None] | None:
        """For a condition that never held: what reports the mistake of who waits for it; None if it is locked out."""
        return None


class NotYetError(Exception):
    """Raised by the meaning of an op that has done nothing so far, and cannot before `condition` holds."""

    def __init__(self, condition: Condition) -> None:
        self.condition = condition
        super().__init__(condition.describe())


# Tokens -------------------------------------------------------------------------------------------------------------


@dataclass
class EventCondition(Condition):
    """A token or a promise is complete."""

    event: Event
    what: str = "token"

    def holds(self) -> bool:
        return self.event.complete

    def helpers(self) -> Iterable[AsyncWork]:
        return self.event.unfinished()

    def observe(self, agent: Who) -> None:
        agent.learn(self.event.knowledge)

    def describe(self) -> str:
        return f"{self.what} ({self.event.label})"

    @property
    def subject(self) -> str:
        return self.event.label


class PromiseGroup:
    """`async.create_group`: a set of promises whose size is fixed in advance."""

    def __init__(self, size: int, op: Operation, name: str) -> None:
        self.size = size
        self.op = op
        self.name = name
        self.members: list[Event] = []
        self.comers: Clock = {}
        """The moment at which each agent added a member last, where ranks matter."""


@dataclass
class GroupCondition(Condition):
    """A group has all its members and each is complete."""

    group: PromiseGroup

    def holds(self) -> bool:
        return len(self.group.members) >= self.group.size and all(m.complete for m in self.group.members)

    def helpers(self) -> Iterable[AsyncWork]:
        return (work for member in self.group.members for work in member.unfinished())

    def observe(self, agent: Who) -> None:
        for member in self.group.members:
            agent.learn(member.knowledge)

    def describe(self) -> str:
        added, size = len(self.group.members), self.group.size
        if added < size:
            return f"a group of {size} to which only {added} were added"
        return f"a group of {size}, of which {sum(m.complete for m in self.group.members)} are complete"


# Queues -------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class CommitGroup:
    """The works that one commit put on a queue as one, possibly none."""

    queue: GroupQueue
    ordinal: int
    """1 for the first group ever committed to the queue."""
    works: list[AsyncWork]
    op: Operation

    @property
    def complete(self) -> bool:
        return all(work.complete for work in self.works)


class GroupQueue:
    """A first-in-first-out queue of groups. Waiting names how many of the youngest may be unfinished."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.groups: list[CommitGroup] = []
        self.known_complete: int = 0
        """The number of groups, counted from the oldest, known to be complete. A cursor: no group is asked twice."""
        self.commits: Clock = {}
        """Moment of each agent's youngest commit."""
        self.waits: Clock = {}
        """Moment of each agent's youngest wait."""
        self._observed: dict[int, int] = {}

    @property
    def committed(self) -> int:
        return len(self.groups)

    def commit(self, works: list[AsyncWork], op: Operation) -> CommitGroup:
        group = CommitGroup(self, len(self.groups) + 1, works, op)
        self.groups.append(group)
        return group

    def complete_up_to(self, ordinal: int) -> bool:
        """Whether the oldest `ordinal` groups are complete."""
        while self.known_complete < ordinal and self.groups[self.known_complete].complete:
            self.known_complete += 1
        return self.known_complete >= ordinal

    def observed_by(self, agent: Who) -> int:
        """How many of the oldest groups `agent` has learnt of through this queue."""
        return self._observed.get(agent.number, 0)

    def unobserved(self, agent: Who, ordinal: int) -> list[AsyncWork]:
        """The works of the oldest `ordinal` groups that `agent` has not learnt of through this queue yet."""
        first = self.observed_by(agent)
        self._observed[agent.number] = max(first, ordinal)
        return [work for group in self.groups[first:ordinal] for work in group.works]


@dataclass
class QueueCondition(Condition):
    """At most the youngest groups of a queue, as many as allowed at the time of the wait, are unfinished."""

    queue: GroupQueue
    ordinal: int
    """How many of the oldest groups must be complete."""
    in_flight: int

    def holds(self) -> bool:
        return self.queue.complete_up_to(self.ordinal)

    def helpers(self) -> Iterable[AsyncWork]:
        pending = self.queue.groups[self.queue.known_complete : self.ordinal]
        return (work for group in pending for work in group.works if not work.complete)

    def observe(self, agent: Who) -> None:
        observe(agent, self.queue.unobserved(agent, self.ordinal))

    def describe(self) -> str:
        return f"queue {self.queue.name} to have at most {self.in_flight} groups in flight"

    @property
    def subject(self) -> str:
        return f"queue {self.queue.name}"


# Marks --------------------------------------------------------------------------------------------------------------


class MarkSequence:
    """The marks of one function activation; each covers every transfer that the thread issued before it."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        """Per mark, how many transfers the thread had issued."""

    def covered_by_wait(self, outstanding: int) -> int:
        """How many of the thread's oldest transfers a wait for at most `outstanding` marks completes."""
        newest = len(self.positions) - outstanding - 1
        return self.positions[newest] if newest >= 0 else 0


@dataclass
class MarkCondition(Condition):
    """The thread's oldest transfers, up to a mark, are complete."""

    transfers: list[AsyncWork]
    covered: int
    outstanding: int

    def holds(self) -> bool:
        return all(work.complete for work in self._covered())

    def _covered(self) -> list[AsyncWork]:
        return self.transfers[: self.covered]

    def helpers(self) -> Iterable[AsyncWork]:
        return (work for work in self._covered() if not work.complete)

    def observe(self, agent: Who) -> None:
        first = agent.transfers_observed
        if first < self.covered:
            observe(agent, self.transfers[first : self.covered])
            agent.transfers_observed = self.covered

    def describe(self) -> str:
        return f"at most {self.outstanding} outstanding marks"

    @property
    def subject(self) -> str:
        return "marks"


@dataclass
class CounterCondition(Condition):
    """The oldest transfers that a counter of an AMD wave counts are complete."""

    counter: str
    works: list[AsyncWork]
    outstanding: int

    def holds(self) -> bool:
        return all(work.complete for work in self.works)

    def helpers(self) -> list[AsyncWork]:
        return [work for work in self.works if not work.complete]

    def observe(self, agent: Who) -> None:
        observe(agent, self.works)

    def describe(self) -> str:
        return f"{self.counter} to fall to {self.outstanding}"


# Barriers with phases -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expectation:
    """
    What makes a phase wait for more, and has to come before the phase completes: an agent expects bytes, or adds to
    the pending arrivals, or makes an arrival that must not be the last.
    """

    agent: int
    moment: int
    size: int
    """In bytes; 0 where it is not about bytes."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Bytes that have arrived."""

    after: Clock
    """The moments that happen before their arrival."""
    size: int


@dataclass
class Phase:
    """
    One phase of a barrier: what its completion makes known, and which agents and works took part.

    A phase completes as soon as no arrival is pending and no byte is outstanding (PTX ISA, "Phase Completion of the
    mbarrier object"). So what makes it wait for more may come too late, after it was complete without that:
    `mbarrier.expect_tx`, and the increment by `cp.async.mbarrier.arrive` without `.noinc`. Such an *expectation* comes
    in time if the phase cannot complete without something that comes after it (`comes_after`). What the expectation
    itself has brought about, its own copies and its own asynchronous arrivals, is none of that: without it the phase
    does not wait for them. What counts is

    - each arrival that the init count counts, by an agent or by a work: all of them must come (`arrival_order`);
    - the bytes that such an arrival makes the phase wait for, if only deliveries after the expectation can bring them.
    """

    index: int
    knowledge: Knowledge = field(default_factory=Knowledge)
    arrived: int = 0
    bytes_arrived: int = 0
    arrivals: Clock = field(default_factory=dict)
    """Latest moment of each agent that arrived."""
    works: list[AsyncWork] = field(default_factory=list)
    expectations: list[Expectation] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    waits: Clock = field(default_factory=dict)
    """Latest moment of each agent that waited for this phase and went on."""
    tests: Clock = field(default_factory=dict)
    """Latest moment of each agent that tested for this phase by its state, whatever the answer."""
    arrival_order: Clock = field(default_factory=dict)
    """What happens before one of the arrivals that the init count counts, beside what they make known."""

    def all_known_to(self, mind: Mind) -> bool:
        """Whether every arrival of the phase happens before what `mind` does now."""
        return mind.knows_moments(self.arrivals) and all(map(mind.knows_work, self.works))

    def is_behind(self, agent: Who) -> bool:
        """Whether the phase is complete before what `agent` does now: it has waited for it, or knows its arrivals."""
        return agent.number in self.waits or self.all_known_to(agent.mind)

    @property
    def expects_in_time(self) -> bool:
        """Whether the phase cannot complete without any of its expectations."""
        return all(self.comes_after(expected.agent, expected.moment) for expected in self.expectations)

    def comes_after(self, agent: int, moment: int) -> bool:
        """
        Whether the phase cannot complete before `moment` of `agent`, in whatever order things happen that are not
        ordered.

        Either an arrival that has to come is after it, or bytes are missing: what can be delivered without it is less
        than what such arrivals expect.
        """
        if self._precedes_arrival(agent, moment):
            return True
        certain = sum(each.size for each in self.expectations if self._precedes_arrival(each.agent, each.moment))
        return self._deliverable_without(agent, moment) < certain

    def _precedes_arrival(self, agent: int, moment: int) -> bool:
        return self.knowledge.clock.get(agent, -1) >= moment or self.arrival_order.get(agent, -1) >= moment

    def _deliverable_without(self, agent: int, moment: int) -> int:
        """
        The most bytes that can come without `moment` of `agent`, less those for which the phase then has to wait beside
        the certain ones: who needs an expectation that is not certain brings at most what is beyond that.
        """
        left = [(each.after, each.size) for each in self.deliveries if each.after.get(agent, -1) < moment]
        for expected in self.expectations:
            owed = 0 if self._precedes_arrival(expected.agent, expected.moment) else expected.size
            for place, (after, size) in enumerate(left):
                if after.get(expected.agent, -1) >= expected.moment:
                    paid = min(owed, size)
                    owed, left[place] = owed - paid, (after, size - paid)
        return sum(size for _, size in left)


class PhaseBarrier:
    """
    An mbarrier (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").

    It counts pending arrivals and outstanding bytes. When both are 0 the phase is complete, and the next one begins
    with as many arrivals pending as the first did. A wait names the parity of the phase that must be complete. On a
    fresh barrier a wait for parity 1 passes and one for parity 0 blocks.
    """

    HISTORY = 4

    def __init__(self, name: str, expected: int, op: Operation, *, counted_by_hand: bool = False) -> None:
        self.name = name
        self.op = op
        self.counted_by_hand = counted_by_hand
        """Whether the program itself gives the parities, the arrivals and the bytes, as with an mbarrier."""
        self.expected = expected
        self.pending = expected
        self.bytes_outstanding = 0
        self.current = Phase(0)
        self.completed: list[Phase] = [Phase(-1)]
        """The last few completed phases, oldest first. At the start the phase before phase 0, number -1."""
        self._hands_on = False
        """Whether each phase makes known what the phases before it made known (`hand_on`)."""
        self.contributors: dict[AsyncWork, None] = {}
        """Works under way that will signal this barrier."""
        self.is_relaxed = False
        """Whether some arrival has handed over nothing, or some wait has learnt nothing."""
        self.valid = True

    @property
    def phases_completed(self) -> int:
        return self.current.index

    @property
    def last_completed(self) -> Phase:
        return self.completed[-1]

    def passes(self, parity: int) -> bool:
        """Whether a wait for `parity` goes through now."""
        return (self.current.index & 1) != parity

    def phase_named(self, parity: int, agent: Who) -> int:
        """
        The number of the phase that a wait of `agent` for `parity` means: the last phase that it knows to be complete
        if that has this parity, else the one after it. -1 is the phase before phase 0.
        """
        known = -1
        for phase in reversed(self.completed):
            if phase.is_behind(agent):
                known = phase.index
                break
        return known if (known & 1) == parity else known + 1

    def arrive(self, knowledge: Knowledge, agent: int, moment: int, count: int, *, hands_over: bool = True) -> None:
        """
        Count `count` arrivals of `agent`, which knows `knowledge`, and hands it over or not. It does it at `moment`.
        """
        phase = self.current
        if hands_over:
            phase.knowledge.merge(knowledge)
        else:
            self.is_relaxed = True
            join(phase.arrival_order, knowledge.clock)
        phase.arrivals[agent] = moment
        phase.arrived += count
        self.pending -= count
        self._flip_if_complete()

    def report_bytes(self, knowledge: Knowledge, agent: int, moment: int, size: int) -> None:
        """Count `size` bytes that `agent`, which knows `knowledge` and hands nothing over, reports at `moment`."""
        self.is_relaxed = True
        self.current.arrivals[agent] = moment
        self._deliver(knowledge.clock, size)

    def _deliver(self, after: Clock, size: int) -> None:
        self.current.deliveries.append(Delivery(after, size))
        self.current.bytes_arrived += size
        self.bytes_outstanding -= size
        self._flip_if_complete()

    @property
    def hands_on(self) -> bool:
        """Whether each phase makes known what the phases before it made known."""
        return self._hands_on

    def hand_on(self) -> None:
        """
        From this phase on, let each phase make known what the phases before it made known.

        Called when an agent takes part in a phase without knowing of the one before. Every arrival is a
        read-modify-write of the barrier, so whatever was released before it is released with it.
        """
        if not self._hands_on:
            self.current.knowledge.merge(self.last_completed.knowledge)
        self._hands_on = True

    def expect(self, bytes_expected: int, agent: int, moment: int) -> None:
        """Let the present phase complete only after `bytes_expected` bytes more, as `agent` announces at `moment`."""
        self.current.expectations.append(Expectation(agent, moment, bytes_expected))
        self.bytes_outstanding += bytes_expected

    def add_pending(self, count: int, agent: int, moment: int) -> None:
        """Let the present phase complete only after `count` arrivals more, as `agent` announces at `moment`."""
        self.must_not_end_before(agent, moment)
        self.pending += count

    def must_not_end_before(self, agent: int, moment: int) -> None:
        """The present phase has to wait for `moment` of `agent`; whether it does is judged when it is complete."""
        self.current.expectations.append(Expectation(agent, moment, 0))

    def complete_bytes(self, work: AsyncWork, bytes_arrived: int) -> None:
        self._take_part(work)
        self._deliver(work.mind.clock, bytes_arrived)

    def arrive_by(self, work: AsyncWork, count: int, *, was_added: bool = False) -> None:
        """
        Count `count` arrivals made by asynchronous work when it completes; they were added to those that the init count
        counts, or are among them.
        """
        self._take_part(work)
        if not was_added:
            join(self.current.arrival_order, work.mind.clock)
        self.current.arrived += count
        self.pending -= count
        self._flip_if_complete()

    def _take_part(self, work: AsyncWork) -> None:
        self.contributors.pop(work, None)
        self.current.knowledge.merge(work.event_knowledge)
        self.current.works.append(work)

    def _flip_if_complete(self) -> None:
        if self.pending > 0 or self.bytes_outstanding != 0:
            return
        self.completed.append(self.current)
        del self.completed[: -self.HISTORY]
        self.pending = self.expected
        self.current = Phase(self.current.index + 1)
        if self._hands_on:
            self.current.knowledge.merge(self.last_completed.knowledge)


@dataclass
class PhaseCondition(Condition):
    """The phase of a barrier with a given parity is complete."""

    barrier: PhaseBarrier
    parity: int
    meant: int
    """The phase that the waiting agent means (`PhaseBarrier.phase_named`)."""
    acquires: bool = True
    """Whether the agent learns what the arrivals have handed over."""

    def holds(self) -> bool:
        return self.barrier.passes(self.parity)

    def helpers(self) -> Iterable[AsyncWork]:
        return (work for work in self.barrier.contributors if not work.complete)

    def observe(self, agent: Who) -> None:
        phase = self.barrier.last_completed
        self.barrier.is_relaxed |= not self.acquires
        if self.acquires:
            agent.learn(phase.knowledge)
        phase.waits[agent.number] = agent.moment

    def describe(self) -> str:
        barrier = self.barrier
        missing: list[str] = []
        if barrier.pending:
            missing.append(f"{barrier.pending} of {barrier.expected} arrivals missing")
        if barrier.bytes_outstanding:
            missing.append(f"{barrier.bytes_outstanding} bytes outstanding")
        state = ", ".join(missing) if missing else "complete"
        return (
            f"phase {barrier.current.index} (parity {barrier.current.index & 1}) of {barrier.name}"
            f", asking for parity {self.parity}: {state}"
        )

    def needed(self) -> str:
        barrier = self.barrier
        lacking: list[str] = []
        if barrier.pending > 0:
            lacking.append(f"{barrier.pending} more arrival{'s' * (barrier.pending != 1)}")
        if barrier.bytes_outstanding > 0:
            lacking.append(f"{barrier.bytes_outstanding} more bytes")
        if barrier.bytes_outstanding < 0:
            lacking.append(f"the announcement of {-barrier.bytes_outstanding} bytes that arrived")
        return f"{' and '.join(lacking) or 'a phase'} at {barrier.name} in phase {barrier.current.index}"

    @property
    def subject(self) -> str:
        return self.barrier.name

    @property
    def may_pass_by(self) -> str | None:
        return self.barrier.name

    def doubt(self) -> str | None:
        barrier = self.barrier
        if barrier.phases_completed > self.meant:
            return f"missed phase {self.meant} of {barrier.name}, with which it is unordered"
        return None


# Barriers of agents -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StateToken:
    """What an arrival returns where a proof looks on: the phase of `barrier` that was current then, and no number."""

    barrier: PhaseBarrier
    phase: int

    @property
    def age(self) -> int:
        """How many phases were completed since."""
        return self.barrier.phases_completed - self.phase


@dataclass
class StateCondition(Condition):
    """The phase that was current when a state token was taken is complete."""

    barrier: PhaseBarrier
    phase: int
    acquires: bool = True

    def holds(self) -> bool:
        return self.barrier.phases_completed > self.phase

    def helpers(self) -> list[AsyncWork]:
        return [work for work in self.barrier.contributors if not work.complete]

    def observe(self, agent: Who) -> None:
        self.barrier.is_relaxed |= not self.acquires
        for phase in self.barrier.completed:
            if phase.index == self.phase:
                if self.acquires:
                    agent.learn(phase.knowledge)
                phase.waits[agent.number] = agent.moment

    def describe(self) -> str:
        return f"phase {self.phase} of {self.barrier.name}, {self.barrier.pending} arrivals missing"

    @property
    def subject(self) -> str:
        return self.barrier.name

    @property
    def may_pass_by(self) -> str | None:
        """The state of a phase becomes too old to be tested."""
        return self.barrier.name


class Rendezvous:
    """
    A named or cluster barrier: when `expected` arrivals are there it opens, and its next generation begins, which may
    expect another number (PTX ISA, `barrier`: a barrier that has completed can be used again at once).
    """

    def __init__(self, name: str, expected: int) -> None:
        self.name = name
        self.expected = expected
        self.is_of_all = False
        """Whether the generation that gathers waits for all threads of the block that have not left."""
        self.arrived = 0
        self.generation = 0
        self.gathering = Knowledge()
        self.gathered: Clock = {}
        """The moment of each agent's arrival in the present generation, though it may hand over nothing."""
        self.opened: dict[int, Knowledge] = {}
        self.arrivals: Clock = {}
        """The same as `gathered` for the last complete generation."""
        self.passed: dict[int, int] = {}
        """The last generation that each agent has waited for and seen complete."""
        self.is_relaxed = False
        """Whether some arrival has handed over nothing."""

    def is_ahead(self, agent: int, mind: Mind) -> bool:
        """
        Whether `agent`, which knows `mind`, might arrive, in another interleaving, before the last generation was
        complete.
        """
        return self.passed.get(agent, -1) < self.generation - 1 and not mind.knows_moments(self.arrivals)

    def arrive(self, knowledge: Knowledge, agent: int, moment: int, count: int) -> int:
        """Count an arrival of `agent` at `moment`; returns the generation that it belongs to."""
        mine = self.generation
        self.is_relaxed |= not knowledge.clock
        self.gathering.merge(knowledge)
        self.gathered[agent] = moment
        self.arrived += count
        self._open_if_complete()
        return mine

    def leave(self, agent: int, count: int) -> None:
        """`agent` is gone, with `count` threads: where it waits for all of the block, it does not wait for these."""
        if self.is_of_all and self.arrived and agent not in self.gathered:
            self.expected -= count
            self._open_if_complete()

    def _open_if_complete(self) -> None:
        if not 0 < self.expected <= self.arrived:
            return
        self.opened[self.generation] = self.gathering
        self.opened.pop(self.generation - 2, None)
        self.gathering = Knowledge()
        self.arrivals, self.gathered = self.gathered, {}
        self.arrived = 0
        self.generation += 1


@dataclass
class RendezvousCondition(Condition):
    """A generation of a rendezvous has all its arrivals."""

    barrier: Rendezvous
    generation: int

    def holds(self) -> bool:
        return self.barrier.generation > self.generation

    def helpers(self) -> Iterable[AsyncWork]:
        return ()

    def observe(self, agent: Who) -> None:
        knowledge = self.barrier.opened.get(self.generation)
        if knowledge is not None:
            agent.learn(knowledge)
        self.barrier.passed[agent.number] = self.generation

    def describe(self) -> str:
        return f"{self.barrier.name}: {self.barrier.arrived} of {self.barrier.expected} arrived"

    @property
    def subject(self) -> str:
        return self.barrier.name

    def needed(self) -> str:
        return f"{self.barrier.expected - self.barrier.arrived} more arrivals at {self.barrier.name}"


@dataclass
class EndOfAgents(Condition):
    """The given agents have finished."""

    agents: Sequence[Who]

    def holds(self) -> bool:
        return all(agent.finished for agent in self.agents)

    def helpers(self) -> Iterable[AsyncWork]:
        return ()

    def observe(self, agent: Who) -> None:
        for child in self.agents:
            agent.learn(child.final_knowledge)

    def describe(self) -> str:
        running = [agent.name for agent in self.agents if not agent.finished]
        more = f" and {len(running) - MOST_NAMED} more" if len(running) > MOST_NAMED else ""
        return f"the end of {', '.join(running[:MOST_NAMED])}{more}"

    @property
    def subject(self) -> str:
        return f"the end of {len(self.agents)} agents"
