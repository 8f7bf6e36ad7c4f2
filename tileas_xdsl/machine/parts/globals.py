"""Objects that belong to a module, not to a call: one for each global, made when it is first named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.state import Canvas, SharedPart


@dataclass
class Globals(SharedPart):
    """The objects of globals that have been named, by their ops."""

    objects: dict[Operation, MemoryObject] = field(default_factory=dict[Operation, MemoryObject])

    def draw(self, canvas: Canvas) -> None:
        for op, base in self.objects.items():
            canvas.literal(("global", id(op)))
            canvas.thing(base)


def global_object(machine: Machine, op: Operation, make: Callable[[], MemoryObject]) -> MemoryObject:
    """The object of the global `op`, made by `make` at the first call."""
    objects = machine.part(Globals).objects
    if op not in objects:
        objects[op] = make()
    return objects[op]
