"""Works, events, and what they make known."""

from __future__ import annotations

from tileas_xdsl.checker.snapshot.settled import is_settled
from tileas_xdsl.checker.snapshot.snapshot import Painter, UnknownStateError, draws_thing, draws_value
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event, Following, Joining
from tileas_xdsl.machine.core.execution import Completion, Countdown
from tileas_xdsl.machine.core.happens_before import Knowledge
from tileas_xdsl.machine.core.late_values import LateValue
from tileas_xdsl.machine.core.synchronization import (
    PromiseGroup,
)

TURN = -1
"""The name, among agents, of the order in which works became ready."""


@draws_value(Knowledge)
def _knowledge(painter: Painter, knowledge: Knowledge) -> None:
    painter.clock(knowledge.clock)
    painter.fenced(knowledge.fenced)
    painter.works(knowledge.works)


@draws_thing(AsyncWork)
def _work(painter: Painter, work: AsyncWork) -> None:
    painter.literal((id(work.op), work.complete, work.ready))
    painter.fenced(work.mind.fenced)
    if is_settled(work, painter.witnesses):
        return
    if work.resource is not None or work.look is not None:
        raise UnknownStateError("work that looks at its operands when it is performed")
    painter.thing(work.issuer)
    painter.clock(work.mind.clock)
    painter.works(work.mind.works)
    painter.moments(work.observers)
    painter.moment(TURN, work.turn)
    for touch in work.touches:
        painter.thing(touch.view.base)
    if not work.ready:
        painter.sequence(work.touches)
    painter.sequence(work.blockers)
    if not work.complete:
        painter.sequence(work.signals)


@draws_thing(Event)
def _event(painter: Painter, event: Event) -> None:
    painter.literal(event.complete)
    if event.complete:
        painter.value(event.knowledge)
        painter.value(event.payload)
    else:
        painter.value(event.task)
        painter.sequence(event.waits_for())


# Those who are told of a completion ----------------------------------------------------------------------------------


@draws_value(Completion)
def _completion(painter: Painter, completion: Completion) -> None:
    painter.thing(completion.event)


@draws_value(Following)
def _following(painter: Painter, following: Following) -> None:
    painter.thing(following.event)
    painter.thing(following.other)


@draws_thing(Joining)
def _joining(painter: Painter, joining: Joining) -> None:
    painter.literal(joining.missing)
    painter.thing(joining.joined)
    painter.value(joining.extra)
    painter.sequence(joining.parts)


@draws_thing(Countdown)
def _countdown(painter: Painter, countdown: Countdown) -> None:
    painter.literal(countdown.missing)
    painter.thing(countdown.work)
    painter.sequence(countdown.dependencies)


# Values and groups ---------------------------------------------------------------------------------------------------


@draws_thing(LateValue)
def _late_value(_painter: Painter, _value: LateValue) -> None:
    raise UnknownStateError("a value that is named before it is there")


@draws_thing(PromiseGroup)
def _promise_group(painter: Painter, group: PromiseGroup) -> None:
    """Who waits for it learns what all its members know, so those that are complete count as one."""
    missing = group.size - len(group.members)
    painter.literal(missing == 0)
    painter.number(len(group.members))
    if missing:
        painter.countdowns.append(len(painter.numbers))
        painter.number(missing)
    known = Knowledge()
    for member in group.members:
        if member.complete:
            known.merge(member.knowledge)
    known.works = [work for work in dict.fromkeys(known.works) if not is_settled(work, painter.witnesses)]
    painter.value(known)
    painter.sequence(member for member in group.members if not member.complete)
