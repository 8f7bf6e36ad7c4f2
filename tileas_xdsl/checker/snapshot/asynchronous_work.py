"""How to draw works and events, and the knowledge that a completion hands over."""

from __future__ import annotations

from tileas_xdsl.checker.snapshot.snapshot import Drawing, UnknownStateError, draws_thing, draws_value
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event, Following, Joining
from tileas_xdsl.machine.core.execution import Completion, Countdown
from tileas_xdsl.machine.core.happens_before import Clock, Knowledge, join
from tileas_xdsl.machine.core.late_values import LateValue
from tileas_xdsl.machine.core.synchronization import (
    PromiseGroup,
)
from tileas_xdsl.machine.parts.register_works import RegistersInFlight

TURN = -1
"""Stands for an agent: its moments are the order in which works became ready."""


@draws_value(Knowledge)
def _knowledge(drawing: Drawing, knowledge: Knowledge) -> None:
    drawing.clock(knowledge.clock)
    drawing.fenced(knowledge.fenced)
    drawing.works(knowledge.works)


@draws_thing(AsyncWork)
def _work(drawing: Drawing, work: AsyncWork) -> None:
    drawing.literal((id(work.op), work.complete, work.ready))
    drawing.fenced(work.mind.fenced)
    if drawing.is_settled(work):
        return
    if work.resource is not None or work.look is not None:
        raise UnknownStateError("work that looks at its operands when it is performed")
    drawing.thing(work.issuer)
    drawing.clock(work.mind.clock)
    _works_before(drawing, work)
    drawing.moments(work.observers)
    drawing.moment(TURN, work.turn)
    for touch in work.touches:
        drawing.thing(touch.view.base)
    if not work.ready:
        drawing.sequence(work.touches)
    drawing.sequence(work.blockers)
    if not work.complete:
        drawing.sequence(work.signals)


def _works_before(drawing: Drawing, work: AsyncWork) -> None:
    """
    What whoever learns of `work` learns with it: of the works that it depends on, however indirectly, those that matter
    by themselves, and all that the others make known. So a product that depends on the one before, and so on, does not
    draw them all.
    """
    known: Clock = {}
    fenced: dict[str, Clock] = {}
    stack, seen = list(work.mind.works), {work}
    named: list[AsyncWork] = []
    while stack:
        before = stack.pop()
        if before in seen or drawing.is_settled(before):
            continue
        seen.add(before)
        if before in drawing.works_that_matter:
            named.append(before)
            continue
        join(known, before.mind.clock)
        for space, clock in before.mind.fenced.items():
            join(fenced.setdefault(space, {}), clock)
        stack.extend(before.mind.works)
    drawing.works(sorted(named, key=_serial))
    drawing.clock(known)
    drawing.fenced(fenced)
    drawing.brought_along(seen.difference(named, [work]))


def _serial(work: AsyncWork) -> int:
    return work.serial


@draws_thing(Event)
def _event(drawing: Drawing, event: Event) -> None:
    drawing.literal(event.complete)
    if event.complete:
        drawing.value(event.knowledge)
        drawing.value(event.payload)
    else:
        drawing.value(event.task)
        drawing.sequence(event.waits_for())


# What is done on completion -------------------------------------------------------------------------------------------


@draws_value(Completion)
def _completion(drawing: Drawing, completion: Completion) -> None:
    drawing.thing(completion.event)


@draws_value(Following)
def _following(drawing: Drawing, following: Following) -> None:
    drawing.thing(following.event)
    drawing.thing(following.other)


@draws_thing(Joining)
def _joining(drawing: Drawing, joining: Joining) -> None:
    drawing.literal(joining.missing)
    drawing.thing(joining.joined)
    drawing.value(joining.extra)
    drawing.sequence(joining.parts)


@draws_thing(Countdown)
def _countdown(drawing: Drawing, countdown: Countdown) -> None:
    drawing.literal(countdown.missing)
    drawing.thing(countdown.work)
    drawing.sequence(countdown.dependencies)


# Values and groups ---------------------------------------------------------------------------------------------------


@draws_thing(LateValue)
def _late_value(_drawing: Drawing, _value: LateValue) -> None:
    raise UnknownStateError("a value that is named before it is there")


@draws_thing(RegistersInFlight)
def _registers(drawing: Drawing, registers: RegistersInFlight) -> None:
    assert isinstance(registers.maker, AsyncWork)
    drawing.literal(id(registers.op))
    drawing.thing(registers.maker)


@draws_thing(PromiseGroup)
def _promise_group(drawing: Drawing, group: PromiseGroup) -> None:
    """A wait for the group learns what all members know, so the members that are complete are drawn as one."""
    missing = group.size - len(group.members)
    drawing.literal(missing == 0)
    drawing.number(len(group.members))
    if missing:
        drawing.countdowns.append(len(drawing.numbers))
        drawing.number(missing)
    known = Knowledge()
    for member in group.members:
        if member.complete:
            known.merge(member.knowledge)
    known.works = [work for work in dict.fromkeys(known.works) if not drawing.is_settled(work)]
    drawing.value(known)
    drawing.sequence(member for member in group.members if not member.complete)
    drawing.moments(group.comers)
