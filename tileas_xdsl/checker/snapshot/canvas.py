"""
What the parts of the machine are drawn on: a painter, and what it puts off until it is known which names are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.ir import Operation

from tileas_xdsl.checker.snapshot.barriers import paint_queue
from tileas_xdsl.checker.snapshot.put_off import PutOff
from tileas_xdsl.checker.snapshot.settled import is_settled
from tileas_xdsl.checker.snapshot.snapshot import Painter, UnknownStateError
from tileas_xdsl.machine.core.agents import Activation, Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.synchronization import GroupQueue
from tileas_xdsl.machine.parts.placed_barriers import PlacedBarrier
from tileas_xdsl.machine.parts.tasks import end_of


@dataclass
class PartCanvas:
    """The `Canvas` of one snapshot (see `machine.core.state`)."""

    painter: Painter
    put_off: PutOff
    bases: dict[int, MemoryObject] = field(default_factory=dict[int, MemoryObject])
    """By serial number, the objects that can still be named."""

    @property
    def live(self) -> Sequence[Agent]:
        return self.painter.machine.live

    def literal(self, value: object) -> None:
        self.painter.literal(value)

    def value(self, value: object) -> None:
        self.painter.value(value)

    def thing(self, value: object) -> None:
        self.painter.thing(value)

    def sequence(self, values: Iterable[object]) -> None:
        self.painter.sequence(values)

    def works(self, works: Iterable[AsyncWork]) -> None:
        self.painter.works(works)

    def without_settled_front(self, works: Sequence[AsyncWork]) -> Sequence[AsyncWork]:
        for number, work in enumerate(works):
            if not is_settled(work, self.painter.witnesses):
                return works[number:]
        return ()

    def has_drawn(self, value: object) -> bool:
        return self.painter.has_drawn(value)

    def is_under_way(self, activation: Activation) -> bool:
        return id(activation) in self.painter.activations

    def own_queue(self, queue: GroupQueue, owner: Agent) -> None:
        paint_queue(self.painter, queue, owner)

    def task(self, child: Agent, op: Operation) -> None:
        known = (witness.knows_moment(child.number, end_of(child)) for witness in self.painter.witnesses)
        if not (child.finished and all(known)):
            self.put_off.task(child, op)

    def placed(self, serial: int, offset: int, value: object) -> None:
        assert isinstance(value, PlacedBarrier)
        self.put_off.barrier(self.bases.get(serial), offset, value)

    def marked(self, agent: Agent, values: Sequence[object]) -> None:
        if self.painter.in_piles:
            # A fence fences all of them; which ones they are is said where they are drawn.
            self.painter.unfenced.update(dict.fromkeys(map(id, values), self.painter.name_of(agent)))
        else:
            self.painter.sequence(values)

    def refuse(self, what: str) -> NoReturn:
        raise UnknownStateError(what)
