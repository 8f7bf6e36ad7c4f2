"""
Asynchronous work: what an agent issues and the machine performs later.

    issued --(all dependencies complete)--> ready --(some time before a wait needs it)--> complete

A work reads and writes somewhere between issue and completion. With `capture=issue` it reads its sources when it is
issued. An `Event` is the completion that others wait for: of a work, of a task, of a region, or of several of these
together.

When checking, nobody computes what asynchronous work writes, so a scalar that was known there is known no more: a
branch on it leaves the verdict open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Required, TypedDict

from xdsl.ir import Operation

from tileas_xdsl.machine.core.happens_before import Knowledge, Mind, Proxy, Who, youngest
from tileas_xdsl.machine.core.memory import ThreadParts, View


class Exclusive(Protocol):
    """What at most one work or launch holds at a time (`resources.Resource`)."""

    name: str
    performed: list[AsyncWork]

    @property
    def is_free(self) -> bool: ...

    def in_the_way(self) -> Iterable[AsyncWork]:
        """Works that must complete before it is free."""
        ...

    def describe(self) -> str: ...


@dataclass(slots=True, eq=False)
class Touch:
    """Bytes that a work will read or write, and the proxy that it takes."""

    view: View
    is_write: bool
    proxy: Proxy = Proxy.UNSPECIFIED
    is_atomic: bool = False
    parts: ThreadParts | None = None
    """The part of each thread that issues the work, by its lane, where not all touch all of it."""


class _Listeners:
    """
    Calls those who listen for completions one after another, never recursively: a chain of events may be longer than
    Python's stack is deep.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._telling = False

    def tell(self, listeners: Iterable[Callable[[], None]]) -> None:
        """Call `listeners` after those that are queued already. A call from inside a listener only queues them."""
        self._waiting.extend(listeners)
        if self._telling:
            return
        self._telling = True
        try:
            while self._waiting:
                self._waiting.popleft()()
        finally:
            self._waiting.clear()
            self._telling = False


_LISTENERS = _Listeners()


class Event:
    """Something that completes once. Carries what its completion makes known, and the payload of a promise."""

    __slots__ = ("_listeners", "_parts", "_works", "complete", "knowledge", "label", "payload", "task")

    def __init__(self, label: str = "token") -> None:
        self.label = label
        self.complete = False
        self.knowledge = Knowledge()
        self.payload: Any = None
        self.task: Who | None = None
        """The agent whose end, or progress, brings the completion, where it is one."""
        self._works: list[AsyncWork] = []
        self._parts: list[Event] = []
        self._listeners: list[Callable[[], None]] = []

    def comes_from(self, work: AsyncWork) -> None:
        """Note that the event waits for `work`."""
        self._works.append(work)

    @property
    def source(self) -> list[AsyncWork]:
        """The works whose completion completes this event, those that are complete already among them."""
        return list(self._walk(all_parts=True))

    def unfinished(self) -> Iterator[AsyncWork]:
        """The works of `source` that are not complete yet: what the order `lazy` performs first."""
        return (work for work in self._walk(all_parts=False) if not work.complete)

    def _walk(self, *, all_parts: bool) -> Iterator[AsyncWork]:
        stack: list[Event] = [self]
        seen: set[Event] = {self}
        while stack:
            event = stack.pop()
            if event.complete and not all_parts:
                continue
            yield from event._works
            for part in reversed(event._parts):
                if part not in seen:
                    seen.add(part)
                    stack.append(part)

    def waits_for(self) -> tuple[list[AsyncWork], list[Event], list[Callable[[], None]]]:
        """(works, events, listeners): what the event waits for, and who is called when it completes."""
        return self._works, self._parts, self._listeners

    def finish(self, knowledge: Knowledge) -> None:
        """
        Complete the event and call its listeners: before this returns, unless other listeners are being called now.
        """
        if self.complete:
            return
        self.knowledge.merge(knowledge)
        self.complete = True
        if self._listeners:
            listeners, self._listeners = self._listeners, []
            _LISTENERS.tell(listeners)

    def when_complete(self, listener: Callable[[], None]) -> None:
        """Call `listener` at completion; at once when the event is complete already."""
        if self.complete:
            listener()
        else:
            self._listeners.append(listener)

    def follow(self, other: Event) -> None:
        """Complete when `other` does, and know what it knows."""
        self._parts.append(other)
        self.task = self.task or other.task
        other.when_complete(Following(self, other))

    @staticmethod
    def completed(knowledge: Knowledge | None = None, label: str = "token") -> Event:
        event = Event(label)
        event.finish(knowledge if knowledge is not None else Knowledge())
        return event

    @staticmethod
    def all_of(events: Iterable[Event], label: str = "token", *, extra: Knowledge | None = None) -> Event:
        """Complete when each of `events` is; knows what all of them know, and `extra`."""
        parts = list(dict.fromkeys(events))
        joined = Event(label)
        if not parts:
            # Nobody listens to a new event, so there is nobody to tell.
            joined.complete = True
            if extra is not None:
                joined.knowledge = extra.copy()
                joined.knowledge.works = youngest(extra.works)
            return joined
        joined._parts = parts
        joining = Joining(joined, parts, extra, sum(not part.complete for part in parts))
        if joining.missing == 0:
            joining.finish()
            return joined
        for part in parts:
            if not part.complete:
                joined.task = joined.task or part.task
                part.when_complete(joining)
        return joined


@dataclass(frozen=True, eq=False)
class Following:
    """Listener of `other`: completes `event` with what `other` makes known."""

    event: Event
    other: Event

    def __call__(self) -> None:
        self.event.finish(self.other.knowledge)


@dataclass(eq=False)
class Joining:
    """Listener of each of `parts`: counts those that are incomplete, and completes `joined` after the last."""

    joined: Event
    parts: list[Event]
    extra: Knowledge | None
    """What `joined` makes known beside what its parts make known."""
    missing: int

    def __call__(self) -> None:
        self.missing -= 1
        if self.missing == 0:
            self.finish()

    def finish(self) -> None:
        total = Knowledge() if self.extra is None else self.extra.copy()
        for part in self.parts:
            total.merge(part.knowledge)
        total.works = youngest(total.works)
        self.joined.finish(total)


class HowIssued(TypedDict, total=False):
    """What is known of a work when it is issued. It is performed at some time after its dependencies are complete."""

    label: Required[str]
    engine: str
    dependencies: Sequence[Event]
    fetch: Callable[[], Any] | None
    """Reads the sources; `capture=issue` takes that apart from what `deliver` does."""
    deliver: Callable[[Any], None] | None
    """Writes the destination, given what `fetch` has read."""
    resource: Exclusive | None
    """The work is performed while nobody holds that."""
    look: Callable[[AsyncWork], list[Touch]] | None
    """For work that looks at its operands only then: what it touches."""
    needs: Sequence[Any]
    """The late values among these have to be there."""


@dataclass(eq=False)
class AsyncWork:
    """One asynchronous operation in one iteration."""

    op: Operation
    issuer: Who
    serial: int
    iteration: tuple[int, ...]
    moment: int
    mind: Mind
    touches: list[Touch]
    label: str
    engine: str
    """Which hardware unit performs it, for timelines: `copy`, `tma`, `tensor core`, `task`, ..."""
    perform: Callable[[], None] | None = None
    """Moves the data; None when only synchronisation is checked."""
    signals: list[Callable[[AsyncWork], None]] = field(default_factory=list)
    """Called in order once the work is performed: barriers to tell, events to finish."""
    barriers: list[str] = field(default_factory=list)
    """Names of the barriers among those told."""
    observers: dict[int, int] = field(default_factory=dict)
    """Agent number -> the moment of that agent from which on the completion is known."""
    ready: bool = False
    turn: int = -1
    """Its number in the order in which works became ready. A work comes after all works that it depends on."""
    complete: bool = False
    blockers: list[Event] = field(default_factory=list)
    """The dependencies that were incomplete at issue."""
    resource: Exclusive | None = None
    """What it occupies exclusively while it runs, if anything."""
    look: Callable[[AsyncWork], list[Touch]] | None = None
    """For work that looks at its operands only when it is performed: gives what it touches."""
    needs: Sequence[Any] = ()
    """The operands that may be missing then: late values."""
    ends_with_grid: bool = False
    """Whether the end of the grid completes it: nobody reads what it writes before, or the compiler waits for it."""
    issue_step: int = 0
    complete_step: int | None = None
    bytes_moved: int = 0
    channels: list[object] = field(default_factory=list)
    """What tells of its completion, for witnesses: queues, counters, barriers."""
    phases: list[tuple[object, int]] = field(default_factory=list)
    """(barrier, phase) for each barrier that it signalled: the phase that its signal counted for."""

    @property
    def can_start(self) -> bool:
        """Whether it may be performed now: nothing that it depends on is missing, and nobody holds its resource."""
        return self.ready and not self.complete and (self.resource is None or self.resource.is_free)

    def held_up_by(self) -> Iterable[AsyncWork]:
        """Works that have to complete before it can start."""
        if self.ready and self.resource is not None:
            return self.resource.in_the_way()
        return (work for event in self.blockers for work in event.unfinished())

    @property
    def event_knowledge(self) -> Knowledge:
        """What the completion of this work makes known."""
        return Knowledge(works=[self])
