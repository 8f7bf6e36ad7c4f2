"""
Parts: state that modules of the machine keep, for a whole execution (`SharedPart`) or for one agent (`OwnPart`).

    class Tasks(SharedPart):                          machine.part(Tasks).started.append(child)
        started: list[Agent]

A part is made when it is first asked for. Its owner says how it is drawn in a snapshot, so that two states of an
execution can be compared. The `Canvas` deals with names and with numbers that move on. A part that cannot be drawn says
so (`Canvas.refuse`); none is skipped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar

from xdsl.ir import Operation

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
    from tileas_xdsl.machine.core.happens_before import Who
    from tileas_xdsl.machine.core.memory import MemoryObject
    from tileas_xdsl.machine.core.synchronization import GroupQueue


class Canvas(Protocol):
    """A snapshot under construction: parts draw their state on it."""

    @property
    def live(self) -> Sequence[Who]:
        """The agents that have not finished."""
        ...

    def literal(self, value: object) -> None:
        """Draw a value that must be equal in two states for them to be alike."""
        ...

    def value(self, value: object) -> None:
        """Draw a run-time value: whatever an SSA name or a container may hold."""
        ...

    def thing(self, value: object) -> None:
        """Draw something with an identity: a barrier, a queue, an object in memory."""
        ...

    def sequence(self, values: Iterable[object]) -> None: ...

    def moment(self, agent: Who, moment: int) -> None:
        """Draw a moment of `agent`."""
        ...

    def moments(self, moments: Mapping[int, int]) -> None:
        """Draw one moment each of several agents, by their numbers."""
        ...

    def works(self, works: Iterable[AsyncWork]) -> None: ...

    def without_settled_front(self, works: Sequence[AsyncWork]) -> Sequence[AsyncWork]:
        """`works` without the settled ones at the front: those that every agent knows to be complete."""
        ...

    def has_drawn(self, value: object) -> bool: ...

    def is_under_way(self, activation: object) -> bool:
        """Whether some agent is still in that call (`agents.Activation`)."""
        ...

    def own_queue(self, queue: GroupQueue, owner: Who) -> None:
        """Draw a queue for which only `owner` waits."""
        ...

    def task(self, child: Who, op: Operation) -> None:
        """Draw a task of `op` that somebody may still have to await."""
        ...

    def placed(self, serial: int, offset: int, value: object) -> None:
        """Draw a thing that is found by its place: byte `offset` of the object number `serial`."""
        ...

    def marked(self, agent: Who, values: Sequence[object]) -> None:
        """Draw that `agent` remembers the same fact about each of `values`, which are found by their places."""
        ...

    def refuse(self, what: str) -> NoReturn:
        """The state holds `what`, which no snapshot can show: the proof fails."""
        ...


class SharedPart(ABC):
    """State that one module of the machine keeps for an execution."""

    @abstractmethod
    def draw(self, canvas: Canvas) -> None:
        """Draw what the rest of the execution can reach by names of its own."""

    def draw_places(self, canvas: Canvas) -> None:  # noqa: B027 (most parts have nothing there)
        """Draw what is found by its place in memory. Called after all objects that can still be named are drawn."""

    def draw_object(self, canvas: Canvas, base: MemoryObject) -> None:  # noqa: B027
        """Draw what this part knows of the object `base`."""


class OwnPart(ABC):
    """State that one module of the machine keeps for an agent."""

    @abstractmethod
    def draw(self, canvas: Canvas, agent: Who) -> None:
        """Draw the part of `agent`."""


BaseT = TypeVar("BaseT", bound=SharedPart | OwnPart)
SharedPartT = TypeVar("SharedPartT", bound=SharedPart)
OwnPartT = TypeVar("OwnPartT", bound=OwnPart)
PartT = TypeVar("PartT")


class Parts(Generic[BaseT]):
    """The parts of one execution or of one agent, by their types."""

    def __init__(self) -> None:
        self._parts: dict[type[object], Any] = {}

    def of(self, kind: type[PartT]) -> PartT:
        """The part of type `kind`, made at the first call."""
        part = self._parts.get(kind)
        if part is None:
            part = self._parts[kind] = kind()
        return part

    def __iter__(self) -> Iterator[BaseT]:
        """All parts, sorted by name, so that nothing depends on the order in which they were made."""
        return iter(sorted(self._parts.values(), key=lambda part: type(part).__qualname__))
