"""The machine as a whole: who acts, what is under way, what agents share, and the accesses on file."""

from __future__ import annotations

from types import FunctionType
from typing import Any, cast

from xdsl.ir import Operation

from tileas_xdsl.checker.snapshot import agents, barriers, rings, values
from tileas_xdsl.checker.snapshot import asynchronous_work as works
from tileas_xdsl.checker.snapshot.put_off import PutOff
from tileas_xdsl.checker.snapshot.rings import is_idle, note_turns
from tileas_xdsl.checker.snapshot.snapshot import Painter, UnknownStateError
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Event
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.parts.resources import CREATED
from tileas_xdsl.machine.parts.tasks import TASKS, end_of
from tileas_xdsl.machine.tiles.pointers import Addresses

# Each file says how to draw the things and values of its room.
ROOMS = (agents, barriers, rings, values, works)


def paint_machine(painter: Painter) -> None:
    """All of it. Raises `UnknownStateError`."""
    machine = painter.machine
    if machine.violations or machine.indeterminacies or machine.open_questions:
        raise UnknownStateError("a mistake")
    painter.literal(machine.late_values)
    for ring in machine.shared.get("rings", ()):
        note_turns(painter, ring)
    painter.literal(str([getattr(check, "__qualname__", "") for check in machine.at_end]))
    for agent in machine.live:
        if agent.recording is not None:
            raise UnknownStateError("an asynchronous scope that is half recorded")
        painter.thing(agent)
    painter.value(machine.order.last)
    painter.draw_things()
    put_off = PutOff(painter)
    for work in dict.fromkeys([*machine.works_under_way(), *painter.unsettled.works(machine, painter.witnesses)]):
        put_off.work(work)
    for key, value in machine.shared.items():
        _paint_shared(painter, key, value, put_off)
    painter.draw_things()
    _paint_mbarriers(painter, put_off)
    _paint_memory(painter, put_off)
    put_off.draw_what_was_named()
    put_off.leave_the_rest()


def _paint_shared(painter: Painter, key: Any, value: Any, put_off: PutOff) -> None:
    match key:
        case ("queue", number):
            painter.literal(("queue", number))
            painter.thing(value)
        case ("global", op):
            painter.literal(("global", id(op)))
            painter.thing(value)
        case ("rendezvous", name, cohort):
            if any(id(agent.cohort) == cohort for agent in painter.machine.live):
                painter.literal(("rendezvous", name))
                painter.thing(value)
        case ("implicit ring", root, activation):
            if id(activation) in painter.activations:
                painter.literal(("implicit ring", id(root)))
                painter.thing(value)
        case ("mbarrier", _) | "nv_tileas.latest_products":
            pass
        case _ if key == CREATED:
            pass
        case "rings":
            for ring in value:
                if painter.has_drawn(ring) or not is_idle(ring):
                    painter.thing(ring)
        case "nv_tileaa.addresses":
            painter.sequence(value)
        case _ if key == TASKS:
            _paint_tasks(painter, value, put_off)
        case _ if key is Addresses:
            painter.sequence(value.objects)
        case FunctionType():
            _paint_facts(painter, key, value)
        case _:
            raise UnknownStateError(f"{key}, which cannot be compared from turn to turn")


def _paint_facts(painter: Painter, key: FunctionType, facts: dict[Any, Any]) -> None:
    """The objects of globals."""
    for op, base in facts.items():
        painter.literal(("global", id(op)))
        painter.value(base)


def _paint_tasks(painter: Painter, tasks: list[tuple[Agent, Operation, bool]], put_off: PutOff) -> None:
    """The tasks that somebody still has to await: see `tasks`."""
    for child, op, is_empty in tasks:
        knows = (witness.knows_moment(child.number, end_of(child)) for witness in painter.witnesses)
        if not is_empty and not (child.finished and all(knows)):
            put_off.task(child, op)


def _paint_mbarriers(painter: Painter, put_off: PutOff) -> None:
    """Barriers in memory, by their places; a place that nobody can name any more has none."""
    bases = {thing.serial: thing for thing in painter.things if isinstance(thing, MemoryObject)}
    for key, barrier in painter.machine.shared.items():
        if isinstance(key, tuple) and key[0] == "mbarrier":
            serial, offset = cast("tuple[str, tuple[int, int]]", key)[1]
            put_off.barrier(bases.get(serial), offset, barrier)
    painter.draw_things()


def _paint_memory(painter: Painter, put_off: PutOff) -> None:
    """The accesses on file of all objects that can still be reached, and the products that accumulate there."""
    products: dict[MemoryObject, Event] = painter.machine.shared.get("nv_tileas.latest_products", {})
    place = 0
    while place < len(painter.things):
        base = painter.things[place]
        if isinstance(base, MemoryObject):
            painter.literal(("memory", place))
            for access in painter.unsettled.accesses(painter.machine, base, painter.witnesses):
                put_off.access(access)
            if base in products:
                painter.thing(products[base])
            painter.draw_things()
        place += 1
