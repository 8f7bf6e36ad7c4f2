"""The machine as a whole: who acts, what is under way, what agents share, and the accesses on file."""

from __future__ import annotations

from tileas_xdsl.checker.snapshot import agents, asynchronous_work, barriers, rings, values
from tileas_xdsl.checker.snapshot.canvas import PartCanvas
from tileas_xdsl.checker.snapshot.put_off import PutOff
from tileas_xdsl.checker.snapshot.rings import note_turns
from tileas_xdsl.checker.snapshot.settled import Unsettled
from tileas_xdsl.checker.snapshot.snapshot import Painter, Portrait, UnknownStateError
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.parts.rings import Rings

# Each file says how to draw the things and values of its room.
ROOMS = (agents, asynchronous_work, barriers, rings, values)


def draw(machine: Machine, unsettled: Unsettled, *, as_slots_turn: bool, in_piles: bool) -> Portrait:
    """The portrait of `machine`, all agents of which have paused."""
    painter = Painter(machine, unsettled, as_slots_turn, in_piles)
    try:
        paint_machine(painter)
    except UnknownStateError as error:
        return Portrait((), (), (), refusal=f"the state holds {error}")
    return painter.finished()


def paint_machine(painter: Painter) -> None:
    """All of it. Raises `UnknownStateError`."""
    machine = painter.machine
    if machine.violations or machine.indeterminacies or machine.open_questions:
        raise UnknownStateError("a mistake")
    painter.literal(machine.late_values)
    for ring in machine.part(Rings).made:
        note_turns(painter, ring)
    painter.literal(str([getattr(check, "__qualname__", "") for check in machine.at_end]))
    for agent in machine.live:
        if agent.recording is not None:
            raise UnknownStateError("an asynchronous scope that is half recorded")
        painter.thing(agent)
    painter.value(machine.order.last)
    painter.draw_things()
    put_off = PutOff(painter)
    canvas = PartCanvas(painter, put_off)
    for work in dict.fromkeys([*machine.works_under_way(), *painter.unsettled.works(machine, painter.witnesses)]):
        put_off.work(work)
    for part in machine.parts:
        part.draw(canvas)
    painter.draw_things()
    canvas.bases = {thing.serial: thing for thing in painter.things if isinstance(thing, MemoryObject)}
    for part in machine.parts:
        part.draw_places(canvas)
    painter.draw_things()
    _paint_memory(painter, canvas)
    put_off.draw_what_was_named()
    put_off.leave_the_rest()


def _paint_memory(painter: Painter, canvas: PartCanvas) -> None:
    """The accesses on file of all objects that can still be reached, and what parts know of them."""
    place = 0
    while place < len(painter.things):
        base = painter.things[place]
        if isinstance(base, MemoryObject):
            painter.literal(("memory", place))
            for access in painter.unsettled.accesses(painter.machine, base, painter.witnesses):
                canvas.put_off.access(access)
            for part in painter.machine.parts:
                part.draw_object(canvas, base)
            painter.draw_things()
        place += 1
