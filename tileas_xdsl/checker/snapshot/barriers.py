"""How to draw barriers and queues, and the conditions that agents wait for."""

from __future__ import annotations

from tileas_xdsl.checker.snapshot.put_off import can_be_left
from tileas_xdsl.checker.snapshot.settled import is_settled_phase
from tileas_xdsl.checker.snapshot.snapshot import Drawing, UnknownStateError, draws_thing, draws_value
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Mind, Who
from tileas_xdsl.machine.core.questions import Hope
from tileas_xdsl.machine.core.synchronization import (
    CounterCondition,
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
    StateCondition,
    StateToken,
)
from tileas_xdsl.machine.core.threads.clusters import ClusterBarrier
from tileas_xdsl.machine.parts.barriers import Signal
from tileas_xdsl.machine.parts.instructions.register_pool import RegisterPool, RegistersCondition
from tileas_xdsl.machine.parts.placed_barriers import PlacedBarrier


@draws_thing(PhaseBarrier)
def _phase_barrier(drawing: Drawing, barrier: PhaseBarrier) -> None:
    """
    Phases are numbered from the present one back, up to one that all know who may still use the barrier: no wait of
    theirs can mean an older one.
    """
    present, users = barrier.current.index, drawing.users_of(barrier)
    drawing.literal((barrier.expected, barrier.pending, barrier.bytes_outstanding, barrier.hands_on))
    drawing.literal(drawing.parity(barrier, present))
    drawing.literal((barrier.counted_by_hand, barrier.valid))
    drawing.works(barrier.contributors)
    _draw_phase(drawing, barrier.current)
    _draw_what_is_open(drawing, barrier.current)
    for phase in reversed(barrier.completed):
        drawing.literal(present - phase.index)
        _draw_phase(drawing, phase)
        if is_settled_phase(phase, users):
            break


def _draw_phase(drawing: Drawing, phase: Phase) -> None:
    drawing.literal((phase.arrived, phase.bytes_arrived))
    drawing.value(phase.knowledge)
    for moments in (phase.arrivals, phase.waits, phase.tests):
        drawing.moments(moments)
    drawing.works(phase.works)


def _draw_what_is_open(drawing: Drawing, phase: Phase) -> None:
    """What decides whether the present phase waits for what it is to wait for: of no account once it is complete."""
    drawing.clock(phase.arrival_order)
    drawing.literal((len(phase.expectations), len(phase.deliveries)))
    for expected in phase.expectations:
        drawing.literal(expected.size)
        drawing.moment(expected.agent, expected.moment)
    for delivery in phase.deliveries:
        drawing.literal(delivery.size)
        drawing.clock(delivery.after)


@draws_thing(PlacedBarrier)
def _placed_barrier(drawing: Drawing, barrier: PlacedBarrier) -> None:
    drawing.thing(barrier.state)
    drawing.moment(barrier.maker.number, barrier.moment)
    drawing.literal((id(barrier.op), barrier.fenced, barrier.is_met))
    # Who knows of a use may invalidate the barrier. Of one that all know of nothing can come.
    drawing.moments({agent: moment for agent, moment in barrier.uses.items() if not _all_know(drawing, agent, moment)})
    drawing.works(work for work in barrier.works if not drawing.is_settled(work))


def _all_know(drawing: Drawing, agent: int, moment: int) -> bool:
    return all(actor.knows_moment(agent, moment) for actor in drawing.actors)


@draws_value(Signal)
def _signal(drawing: Drawing, signal: Signal) -> None:
    drawing.literal((signal.count, signal.what))
    drawing.thing(signal.barrier)


@draws_thing(Rendezvous)
def _rendezvous(drawing: Drawing, barrier: Rendezvous) -> None:
    drawing.literal((barrier.name, barrier.expected, barrier.is_of_all, barrier.arrived))
    drawing.value(barrier.gathering)
    drawing.moments(barrier.gathered)
    drawing.moments(barrier.arrivals)
    drawing.sequence(barrier.passed.get(agent.number, -1) == barrier.generation - 1 for agent in drawing.machine.live)
    for generation in sorted(barrier.opened):
        drawing.literal(generation - barrier.generation)
        drawing.value(barrier.opened[generation])


@draws_thing(ClusterBarrier)
def _cluster_barrier(drawing: Drawing, barrier: ClusterBarrier) -> None:
    drawing.literal((tuple(sorted(barrier.of_blocks.items())), tuple(sorted(barrier.gone))))
    _rendezvous(drawing, barrier)


@draws_thing(GroupQueue)
def _group_queue(drawing: Drawing, queue: GroupQueue) -> None:
    draw_queue(drawing, queue, None)


def draw_queue(drawing: Drawing, queue: GroupQueue, owner: Who | None) -> None:
    """
    Draw the groups of `queue` from the oldest one that matters on.

    A wait counts from the youngest group, so the oldest groups make no difference once they are settled. With `owner`,
    only that agent waits for the queue, and it is enough that it knows of them. Where leftovers are gathered, groups
    older than any count in the program leaves in flight are left out, too.
    """
    drawing.queues += 1
    first = _first_news(drawing, queue, owner)
    old = len(queue.groups) - drawing.unsettled.reach.in_flight
    for number, group in enumerate(queue.groups[first:], first):
        if not _is_no_news(drawing, queue, number, owner):
            # Every wait is for all groups that are as old as this one.
            if number >= old or not all(can_be_left(drawing, work) for work in group.works):
                break
            for work in group.works:
                drawing.passed_over.setdefault(work, []).append(drawing.queues)
        first = number + 1
    drawing.literal(len(queue.groups) - first)
    for group in queue.groups[first:]:
        drawing.works(group.works)
    drawing.literal(max(queue.known_complete, first) - first)
    for agent in drawing.machine.live:
        drawing.literal(max(queue.observed_by(agent), first) - first)
    drawing.moments(queue.commits)
    drawing.moments(queue.waits)


def _first_news(drawing: Drawing, queue: GroupQueue, owner: Who | None) -> int:
    """
    The number of the first group that is news to somebody. Knowledge only grows, so no group in front of it is looked
    at in later snapshots of the execution.
    """
    fronts = drawing.unsettled.fronts
    first = fronts.get((queue, owner), 0)
    while first < len(queue.groups) and _is_no_news(drawing, queue, first, owner):
        first += 1
    fronts[queue, owner] = first
    return first


def _is_no_news(drawing: Drawing, queue: GroupQueue, number: int, owner: Who | None) -> bool:
    """Whether all whom it concerns know that the works of a group are complete."""
    mind = owner.mind if owner is not None and number < queue.known_complete else None
    return all(_is_news_to_nobody(work, drawing, mind) for work in queue.groups[number].works)


def must_be_young(drawing: Drawing, age: int) -> None:
    """
    Refuse to gather leftovers where a wait may be for a group that has `age` younger ones, more than any count in the
    program leaves in flight: it could tell old groups apart. Raises `UnknownStateError`.
    """
    if drawing.gathers_leftovers and age > drawing.unsettled.reach.in_flight:
        raise UnknownStateError("a token for an old group of a queue")


def _is_news_to_nobody(work: AsyncWork, drawing: Drawing, only: Mind | None) -> bool:
    return drawing.is_settled(work) or (only is not None and only.knows_work(work))


# Conditions -----------------------------------------------------------------------------------------------------------


@draws_value(EventCondition)
def _event_condition(drawing: Drawing, condition: EventCondition) -> None:
    drawing.literal("event")
    drawing.thing(condition.event)


@draws_value(GroupCondition)
def _group_condition(drawing: Drawing, condition: GroupCondition) -> None:
    drawing.literal("group")
    drawing.thing(condition.group)


@draws_value(QueueCondition)
def _queue_condition(drawing: Drawing, condition: QueueCondition) -> None:
    must_be_young(drawing, condition.queue.committed - condition.ordinal)
    drawing.literal(("queue", condition.queue.committed - condition.ordinal, condition.in_flight))
    drawing.thing(condition.queue)


@draws_value(MarkCondition)
def _mark_condition(drawing: Drawing, condition: MarkCondition) -> None:
    drawing.literal(("mark", len(condition.transfers) - condition.covered, condition.outstanding))


@draws_value(CounterCondition)
def _counter_condition(drawing: Drawing, condition: CounterCondition) -> None:
    drawing.literal((condition.counter, condition.outstanding))
    drawing.works(condition.works)


@draws_value(PhaseCondition)
def _phase_condition(drawing: Drawing, condition: PhaseCondition) -> None:
    barrier = condition.barrier
    drawing.literal(("phase", drawing.parity(barrier, condition.parity), condition.meant - barrier.current.index))
    drawing.literal(condition.acquires)
    drawing.thing(barrier)


@draws_value(Hope)
def _hope(drawing: Drawing, hope: Hope) -> None:
    drawing.literal(("hope", hope.is_over))
    drawing.value(hope.wanted)


@draws_value(StateCondition)
def _state_condition(drawing: Drawing, condition: StateCondition) -> None:
    drawing.literal(("state", condition.phase - condition.barrier.current.index, condition.acquires))
    drawing.thing(condition.barrier)


@draws_value(StateToken)
def _state_token(drawing: Drawing, state: StateToken) -> None:
    """By how many phases are younger, up to two: no test may name such a one, and none older."""
    drawing.thing(state.barrier)
    drawing.literal(min(state.age, 2))


@draws_value(RendezvousCondition)
def _rendezvous_condition(drawing: Drawing, condition: RendezvousCondition) -> None:
    drawing.literal(("rendezvous", condition.generation - condition.barrier.generation))
    drawing.thing(condition.barrier)


@draws_value(RegisterPool)
def _register_pool(drawing: Drawing, pool: RegisterPool) -> None:
    """What it holds is drawn with the parts of the execution."""
    drawing.literal(pool.name)


@draws_value(RegistersCondition)
def _registers_condition(drawing: Drawing, condition: RegistersCondition) -> None:
    drawing.literal(("registers", condition.warp, condition.count))


@draws_value(EndOfAgents)
def _end_of_agents(drawing: Drawing, condition: EndOfAgents) -> None:
    drawing.sequence(condition.agents)
