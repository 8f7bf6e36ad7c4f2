"""How to draw the machine as a whole: agents, works in flight, shared parts, and access histories."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from tileas_xdsl.checker.snapshot import agents, asynchronous_work, barriers, rings, values
from tileas_xdsl.checker.snapshot.canvas import PartCanvas
from tileas_xdsl.checker.snapshot.put_off import PutOff
from tileas_xdsl.checker.snapshot.rings import note_turns
from tileas_xdsl.checker.snapshot.settled import Unsettled
from tileas_xdsl.checker.snapshot.snapshot import NO_DEMANDS, Demand, Drawing, Snapshot, UnknownStateError
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.opaque_numbers import PartsOfArrays
from tileas_xdsl.machine.parts.rings import Rings

# Importing these files registers how things and values are drawn.
ROOMS = (agents, asynchronous_work, barriers, rings, values)

PARTS_OF_A_STEP = 4
"""So many parts of a shape are drawn in the time of a step of the machine."""


def take_snapshot(
    machine: Machine,
    unsettled: Unsettled,
    *,
    as_slots_turn: bool,
    gathers_leftovers: bool,
    demands: Mapping[SSAValue, Demand] = NO_DEMANDS,
) -> Snapshot:
    """
    Take a snapshot of `machine`, all agents of which have paused.

    `as_slots_turn`, `gathers_leftovers` and `demands` are explained in `snapshot`. A state that cannot be drawn gives a
    snapshot with a `refusal`.
    """
    drawing = Drawing(machine, unsettled, as_slots_turn, gathers_leftovers, demands)
    try:
        draw_machine(drawing)
    except UnknownStateError as error:
        return Snapshot((), (), (), refusal=f"the state holds {error}")
    finally:
        machine.deadline.spend(len(drawing.shape) // PARTS_OF_A_STEP)
    return drawing.finished()


def draw_machine(drawing: Drawing) -> None:
    """Draw the whole state. Raises `UnknownStateError` for what cannot be drawn."""
    machine = drawing.machine
    if machine.violations or machine.indeterminacies or machine.open_questions:
        raise UnknownStateError("a mistake")
    drawing.unsettled.shorten_chains(machine, drawing.actors)
    drawing.literal((machine.late_values, machine.late_numbers))
    for ring in machine.part(Rings).made:
        note_turns(drawing, ring)
    drawing.literal(str([getattr(check, "__qualname__", "") for check in machine.at_end]))
    for agent in machine.live:
        if agent.recording is not None:
            raise UnknownStateError("an asynchronous scope that is half recorded")
        drawing.thing(agent)
    drawing.value(machine.order.last)
    drawing.draw_things()
    put_off = PutOff(drawing)
    canvas = PartCanvas(drawing, put_off)
    for work in dict.fromkeys([*machine.works_under_way(), *drawing.unsettled.works(machine, drawing.actors)]):
        put_off.work(work)
    for part in machine.parts:
        part.draw(canvas)
    drawing.draw_things()
    canvas.bases = {thing.serial: thing for thing in drawing.things if isinstance(thing, MemoryObject)}
    for part in machine.parts:
        part.draw_places(canvas)
    drawing.draw_things()
    _draw_memory(drawing, canvas)
    put_off.draw_what_was_named()
    put_off.leave_the_rest()


def _draw_parts(drawing: Drawing, base: MemoryObject) -> None:
    """Draw the parts of an array that have unsettled accesses: who names the array can name them again."""
    machine = drawing.machine
    for part in machine.part(PartsOfArrays).of(base):
        if part is not base and any(True for _ in drawing.unsettled.accesses(machine, part, drawing.actors)):
            drawing.thing(part)


def _draw_memory(drawing: Drawing, canvas: PartCanvas) -> None:
    """Draw the unsettled accesses to all objects that can still be named, and what parts keep about these objects."""
    place = 0
    while place < len(drawing.things):
        base = drawing.things[place]
        if isinstance(base, MemoryObject):
            drawing.literal(("memory", place))
            for access in drawing.unsettled.accesses(drawing.machine, base, drawing.actors):
                canvas.put_off.access(access)
            for part in drawing.machine.parts:
                part.draw_object(canvas, base)
            _draw_parts(drawing, base)
            drawing.draw_things()
        place += 1
