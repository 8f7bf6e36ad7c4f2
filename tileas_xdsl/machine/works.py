"""
Asynchronous work: what an agent issues and the machine performs later.

    issued --(all dependencies complete)--> ready --(some time before a wait needs it)--> complete

A work reads and writes somewhere between issue and completion. With `capture=issue` it reads its sources when it is
issued. An `Event` is the completion that others wait for: of a work, of a task, of a region, or of several of these
together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation

from tileas_xdsl.machine.happens_before import Knowledge, Mind, Proxy
from tileas_xdsl.machine.memory import View

if TYPE_CHECKING:
    from tileas_xdsl.machine.agents import Agent


@dataclass(frozen=True)
class Touch:
    """Bytes that a work will read or write, and the proxy that it takes."""

    view: View
    is_write: bool
    proxy: Proxy = Proxy.UNSPECIFIED


class Event:
    """Something that completes once. Carries what its completion makes known, and the payload of a promise."""

    __slots__ = ("_listeners", "complete", "knowledge", "label", "payload", "source", "task")

    def __init__(self, label: str = "token") -> None:
        self.label = label
        self.complete = False
        self.knowledge = Knowledge()
        self.payload: Any = None
        self.source: list[AsyncWork] = []
        """Works whose performance brings the completion nearer; what a lazy machine performs first."""
        self.task: Agent | None = None
        """The agent whose end, or progress, brings the completion, where it is one."""
        self._listeners: list[Callable[[], None]] = []

    def finish(self, knowledge: Knowledge) -> None:
        """Complete the event; those who listen are told at once."""
        if self.complete:
            return
        self.knowledge.merge(knowledge)
        self.complete = True
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def when_complete(self, listener: Callable[[], None]) -> None:
        """Call `listener` at completion; at once when the event is complete already."""
        if self.complete:
            listener()
        else:
            self._listeners.append(listener)

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
        missing = sum(not part.complete for part in parts)
        total = Knowledge() if extra is None else extra.copy()

        def one_less() -> None:
            nonlocal missing
            missing -= 1
            if missing == 0:
                finish()

        def finish() -> None:
            for part in parts:
                total.merge(part.knowledge)
            joined.finish(total)

        if missing == 0:
            finish()
            return joined
        joined.source = [work for part in parts for work in part.source]
        for part in parts:
            if not part.complete:
                joined.task = joined.task or part.task
                part.when_complete(one_less)
        return joined


@dataclass(eq=False)
class AsyncWork:
    """One asynchronous operation in one iteration."""

    op: Operation
    issuer: Agent
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
    signals: list[Callable[[AsyncWork], None]] = field(default_factory=list[Callable[["AsyncWork"], None]])
    """Called in order once the work is performed: barriers to tell, events to finish."""
    observers: dict[int, int] = field(default_factory=dict[int, int])
    """Agent number -> the moment of that agent from which on the completion is known."""
    ready: bool = False
    complete: bool = False
    blockers: list[Event] = field(default_factory=list[Event])
    """The dependencies that were incomplete at issue."""
    resource: object | None = None
    """What it occupies exclusively while it runs, if anything."""
    issue_step: int = 0
    complete_step: int | None = None
    bytes_moved: int = 0
    channels: list[object] = field(default_factory=list[object])
    """What tells of its completion, for witnesses: queues, counters, barriers."""
    phases: list[tuple[object, int]] = field(default_factory=list[tuple[object, int]])
    """The barriers that it told, and for which phase of each it counted."""

    @property
    def event_knowledge(self) -> Knowledge:
        """What the completion of this work makes known."""
        return Knowledge(works=[self])
