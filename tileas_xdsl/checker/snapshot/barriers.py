"""Barriers and queues, and the conditions that agents wait for."""

from __future__ import annotations

from tileas_xdsl.checker.snapshot.put_off import can_be_left
from tileas_xdsl.checker.snapshot.settled import is_settled, is_settled_phase
from tileas_xdsl.checker.snapshot.snapshot import Painter, UnknownStateError, draws_thing, draws_value
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Mind
from tileas_xdsl.machine.core.synchronization import (
    EndOfAgents,
    EventCondition,
    GroupCondition,
    GroupQueue,
    MarkCondition,
    Phase,
    PhaseBarrier,
    PhaseCondition,
    QueueCondition,
    Rendezvous,
    RendezvousCondition,
)
from tileas_xdsl.machine.meanings.nvvm import StateCondition
from tileas_xdsl.machine.meanings.rocdl import CounterCondition
from tileas_xdsl.machine.parts.barriers import Signal
from tileas_xdsl.machine.parts.placed_barriers import PlacedBarrier


@draws_thing(PhaseBarrier)
def _phase_barrier(painter: Painter, barrier: PhaseBarrier) -> None:
    """Phases count from the present one; older ones than one that all know cannot be meant by anybody."""
    present = barrier.current.index
    painter.literal((barrier.expected, barrier.pending, barrier.bytes_outstanding, barrier.hands_on))
    painter.literal(painter.parity(barrier, present))
    painter.literal((barrier.counted_by_hand, barrier.valid))
    painter.works(barrier.contributors)
    _paint_phase(painter, barrier.current)
    for phase in reversed(barrier.completed):
        painter.literal(present - phase.index)
        _paint_phase(painter, phase)
        if is_settled_phase(phase, painter.witnesses):
            break


def _paint_phase(painter: Painter, phase: Phase) -> None:
    painter.literal((phase.arrived, phase.bytes_arrived))
    painter.value(phase.knowledge)
    for moments in (phase.arrivals, phase.expectations, phase.waits):
        painter.moments(moments)
    painter.works(phase.works)


@draws_thing(PlacedBarrier)
def _placed_barrier(painter: Painter, barrier: PlacedBarrier) -> None:
    painter.thing(barrier.state)
    painter.moment(barrier.maker.number, barrier.moment)
    painter.literal((id(barrier.op), barrier.fenced))


@draws_value(Signal)
def _signal(painter: Painter, signal: Signal) -> None:
    painter.literal((signal.count, signal.is_bytes))
    painter.thing(signal.barrier)


@draws_thing(Rendezvous)
def _rendezvous(painter: Painter, barrier: Rendezvous) -> None:
    painter.literal((barrier.name, barrier.expected, barrier.arrived))
    painter.value(barrier.gathering)
    for generation in sorted(barrier.opened):
        painter.literal(generation - barrier.generation)
        painter.value(barrier.opened[generation])


@draws_thing(GroupQueue)
def _group_queue(painter: Painter, queue: GroupQueue) -> None:
    paint_queue(painter, queue, None)


def paint_queue(painter: Painter, queue: GroupQueue, owner: Agent | None) -> None:
    """
    A wait counts from the youngest group, so groups in front that are settled make no difference. Of a queue that only
    `owner` waits for nobody else learns.
    """
    painter.queues += 1
    first = 0
    old = len(queue.groups) - painter.unsettled.reach.in_flight
    for number, group in enumerate(queue.groups):
        mind = owner.mind if owner is not None and number < queue.known_complete else None
        if not all(_is_news_to_nobody(work, painter, mind) for work in group.works):
            # Every wait is for all groups that are as old as this one.
            if number >= old or not all(can_be_left(painter, work) for work in group.works):
                break
            for work in group.works:
                painter.passed_over.setdefault(work, []).append(painter.queues)
        first = number + 1
    painter.literal(len(queue.groups) - first)
    for group in queue.groups[first:]:
        painter.works(group.works)
    painter.literal(max(queue.known_complete, first) - first)
    for agent in painter.machine.live:
        painter.literal(max(queue.observed_by(agent), first) - first)
    painter.moments(queue.commits)
    painter.moments(queue.waits)


def must_be_young(painter: Painter, age: int) -> None:
    """
    Refuse to draw in piles where somebody waits, or may wait, for the groups that are older than the youngest `age`,
    though no wait leaves as many in flight. Raises `UnknownStateError`.
    """
    if painter.in_piles and age > painter.unsettled.reach.in_flight:
        raise UnknownStateError("a token for an old group of a queue")


def _is_news_to_nobody(work: AsyncWork, painter: Painter, only: Mind | None) -> bool:
    return is_settled(work, painter.witnesses) or (only is not None and only.knows_work(work))


# Conditions -----------------------------------------------------------------------------------------------------------


@draws_value(EventCondition)
def _event_condition(painter: Painter, condition: EventCondition) -> None:
    painter.literal("event")
    painter.thing(condition.event)


@draws_value(GroupCondition)
def _group_condition(painter: Painter, condition: GroupCondition) -> None:
    painter.literal("group")
    painter.thing(condition.group)


@draws_value(QueueCondition)
def _queue_condition(painter: Painter, condition: QueueCondition) -> None:
    must_be_young(painter, condition.queue.committed - condition.ordinal)
    painter.literal(("queue", condition.queue.committed - condition.ordinal, condition.in_flight))
    painter.thing(condition.queue)


@draws_value(MarkCondition)
def _mark_condition(painter: Painter, condition: MarkCondition) -> None:
    painter.literal(("mark", len(condition.transfers) - condition.covered, condition.outstanding))


@draws_value(CounterCondition)
def _counter_condition(painter: Painter, condition: CounterCondition) -> None:
    painter.literal((condition.counter, condition.outstanding))
    painter.works(condition.works)


@draws_value(PhaseCondition)
def _phase_condition(painter: Painter, condition: PhaseCondition) -> None:
    barrier = condition.barrier
    painter.literal(("phase", painter.parity(barrier, condition.parity), condition.meant - barrier.current.index))
    painter.thing(barrier)


@draws_value(StateCondition)
def _state_condition(painter: Painter, condition: StateCondition) -> None:
    painter.literal(("state", condition.phase - condition.barrier.current.index))
    painter.thing(condition.barrier)


@draws_value(RendezvousCondition)
def _rendezvous_condition(painter: Painter, condition: RendezvousCondition) -> None:
    painter.literal(("rendezvous", condition.generation - condition.barrier.generation))
    painter.thing(condition.barrier)


@draws_value(EndOfAgents)
def _end_of_agents(painter: Painter, condition: EndOfAgents) -> None:
    painter.sequence(condition.agents)
