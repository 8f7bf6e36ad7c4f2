"""
State that the rooms of the machine keep: for a whole execution (`SharedPart`) or for one agent of it (`OwnPart`).

    class Tasks(SharedPart):                          machine.part(Tasks).started.append(child)
        started: list[Agent]

A part is made when it is first asked for. Whoever owns it says how it is drawn, so that two states of an execution can
be compared: the names of things and the numbers that move on are left to the `Canvas`. A part that cannot be drawn says
so (`Canvas.refuse`); none is skipped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar

from xdsl.ir import Operation

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.agents import Activation, Agent
    from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
    from tileas_xdsl.machine.core.memory import MemoryObject
    from tileas_xdsl.machine.core.synchronization import GroupQueue


class Canvas(Protocol):
    """What a part is drawn on."""

    @property
    def live(self) -> Sequence[Agent]:
        """The agents that have not come to their ends."""
        ...

    def literal(self, value: object) -> None:
        """Something that two states must have in common."""
        ...

    def value(self, value: object) -> None:
        """What an SSA name or a container may hold."""
        ...

    def thing(self, value: object) -> None:
        """Something with an identity: a barrier, a queue, an object in memory."""
        ...

    def sequence(self, values: Iterable[object]) -> None: ...

    def works(self, works: Iterable[AsyncWork]) -> None: ...

    def without_settled_front(self, works: Sequence[AsyncWork]) -> Sequence[AsyncWork]:
        """`works` without those in front that everybody knows to be complete."""
        ...

    def has_drawn(self, value: object) -> bool: ...

    def is_under_way(self, activation: Activation) -> bool:
        """Whether some agent is in that call."""
        ...

    def own_queue(self, queue: GroupQueue, owner: Agent) -> None:
        """A queue for which only `owner` waits."""
        ...

    def task(self, child: Agent, op: Operation) -> None:
        """A task of `op` that somebody may still have to await."""
        ...

    def placed(self, serial: int, offset: int, value: object) -> None:
        """A thing that is known by its place: byte `offset` of the object with that `serial` number."""
        ...

    def marked(self, agent: Agent, values: Sequence[object]) -> None:
        """Things that are known by their places and of which `agent` remembers something, the same of all of them."""
        ...

    def refuse(self, what: str) -> NoReturn:
        """The state holds `what`, of which nobody knows how it goes on."""
        ...


class SharedPart(ABC):
    """State that one room of the machine keeps for an execution."""

    @abstractmethod
    def draw(self, canvas: Canvas) -> None:
        """Draw what has a name of its own."""

    def draw_places(self, canvas: Canvas) -> None:  # noqa: B027 (most parts have nothing there)
        """Draw what is known by its place in memory, once the objects that can still be named are known."""

    def draw_object(self, canvas: Canvas, base: MemoryObject) -> None:  # noqa: B027
        """Draw what is known of `base`."""


class OwnPart(ABC):
    """State that one room of the machine keeps for an agent."""

    @abstractmethod
    def draw(self, canvas: Canvas, agent: Agent) -> None:
        """Draw it; `agent` is whose it is."""


BaseT = TypeVar("BaseT", bound=SharedPart | OwnPart)
SharedPartT = TypeVar("SharedPartT", bound=SharedPart)
OwnPartT = TypeVar("OwnPartT", bound=OwnPart)
PartT = TypeVar("PartT")


class Parts(Generic[BaseT]):
    """The parts that an execution, or an agent, has come to have."""

    def __init__(self) -> None:
        self._parts: dict[type[object], Any] = {}

    def of(self, kind: type[PartT]) -> PartT:
        """The part of that kind, which is made if there is none."""
        part = self._parts.get(kind)
        if part is None:
            part = self._parts[kind] = kind()
        return part

    def __iter__(self) -> Iterator[BaseT]:
        """All of them, by name: the order in which they were made is nobody's business."""
        return iter(sorted(self._parts.values(), key=lambda part: type(part).__qualname__))
