"""
The canvas on which the parts of the machine draw themselves: a drawing, and what it puts off (`put_off`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.ir import Operation

from tileas_xdsl.checker.snapshot.barriers import draw_queue
from tileas_xdsl.checker.snapshot.put_off import PutOff
from tileas_xdsl.checker.snapshot.snapshot import Drawing, UnknownStateError
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.synchronization import GroupQueue
from tileas_xdsl.machine.parts.placed_barriers import PlacedBarrier
from tileas_xdsl.machine.parts.tasks import end_of


@dataclass
class PartCanvas:
    """The `Canvas` of one snapshot (see `machine.core.state`)."""

    drawing: Drawing
    put_off: PutOff
    bases: dict[int, MemoryObject] = field(default_factory=dict[int, MemoryObject])
    """Serial number -> object, for those that can still be named."""

    @property
    def live(self) -> Sequence[Agent]:
        return self.drawing.machine.live

    def literal(self, value: object) -> None:
        self.drawing.literal(value)

    def value(self, value: object) -> None:
        self.drawing.value(value)

    def thing(self, value: object) -> None:
        self.drawing.thing(value)

    def sequence(self, values: Iterable[object]) -> None:
        self.drawing.sequence(values)

    def moment(self, agent: Who, moment: int) -> None:
        self.drawing.moment(agent.number, moment)

    def moments(self, moments: Mapping[int, int]) -> None:
        self.drawing.moments(dict(moments))

    def works(self, works: Iterable[AsyncWork]) -> None:
        self.drawing.works(works)

    def without_settled_front(self, works: Sequence[AsyncWork]) -> Sequence[AsyncWork]:
        for number, work in enumerate(works):
            if not self.drawing.is_settled(work):
                return works[number:]
        return ()

    def has_drawn(self, value: object) -> bool:
        return self.drawing.has_drawn(value)

    def is_under_way(self, activation: object) -> bool:
        return id(activation) in self.drawing.activations

    def own_queue(self, queue: GroupQueue, owner: Who) -> None:
        draw_queue(self.drawing, queue, owner)

    def task(self, child: Who, op: Operation) -> None:
        known = (actor.knows_moment(child.number, end_of(child)) for actor in self.drawing.actors)
        if not (child.finished and all(known)):
            self.put_off.task(child, op)

    def placed(self, serial: int, offset: int, value: object) -> None:
        assert isinstance(value, PlacedBarrier)
        self.put_off.barrier(self.bases.get(serial), offset, value)

    def marked(self, agent: Who, values: Sequence[object]) -> None:
        if self.drawing.gathers_leftovers:
            # A fence fences all of them; which ones they are is said where they are drawn.
            self.drawing.unfenced.update(dict.fromkeys(map(id, values), self.drawing.name_of(agent)))
        else:
            self.drawing.sequence(values)

    def refuse(self, what: str) -> NoReturn:
        raise UnknownStateError(what)
