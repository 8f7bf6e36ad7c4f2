"""How each kind of state of the machine is drawn (see `portrait`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType, GeneratorType, MethodType
from typing import Any, cast

from xdsl.ir import Block, Operation, SSAValue

from tileas_xdsl.analysis.pipeline_steps import OwnSteps
from tileas_xdsl.machine.agents import Activation, Agent
from tileas_xdsl.machine.copy_groups import CopyGroups
from tileas_xdsl.machine.happens_before import Knowledge, Mind
from tileas_xdsl.machine.late_values import LateValue
from tileas_xdsl.machine.meanings.nv_tileaa.queues import SourceQueue
from tileas_xdsl.machine.meanings.nv_tileas.tma import Descriptor
from tileas_xdsl.machine.meanings.nvgpu import CopyToken, GroupToken
from tileas_xdsl.machine.meanings.nvvm import BarrierObject, StateCondition
from tileas_xdsl.machine.meanings.rocdl import CounterCondition
from tileas_xdsl.machine.memory import MemoryObject, View
from tileas_xdsl.machine.pointers import Addresses, Pointer
from tileas_xdsl.machine.recurrence.portrait import Painter, UnknownStateError, draws_thing, draws_value
from tileas_xdsl.machine.recurrence.settled import is_settled, is_settled_phase
from tileas_xdsl.machine.resources import CREATED
from tileas_xdsl.machine.rings import Ring, Slot, StageIndex, StageToken
from tileas_xdsl.machine.synchronization import (
    EndOfAgents,
    EventCondition,
    GroupCondition,
    GroupQueue,
    MarkCondition,
    Phase,
    PhaseBarrier,
    PhaseCondition,
    PromiseGroup,
    QueueCondition,
    Rendezvous,
    RendezvousCondition,
)
from tileas_xdsl.machine.tasks import TASKS
from tileas_xdsl.machine.tiled_views import TiledView
from tileas_xdsl.machine.values import ElementType
from tileas_xdsl.machine.works import AsyncWork, Event, Touch

TURN = -1
"""The name, among agents, of the order in which works became ready."""


# The machine ----------------------------------------------------------------------------------------------------------


def paint_machine(painter: Painter) -> None:
    """All of it. Raises `UnknownStateError`."""
    machine = painter.machine
    if machine.violations or machine.indeterminacies or machine.open_questions:
        raise UnknownStateError("a mistake")
    painter.literal(machine.late_values)
    for ring in machine.shared.get("rings", ()):
        _note_turns(painter, ring)
    painter.literal(str([getattr(check, "__qualname__", "") for check in machine.at_end]))
    for agent in machine.live:
        if agent.recording is not None:
            raise UnknownStateError("an asynchronous scope that is half recorded")
        painter.thing(agent)
    painter.value(machine.order.last)
    painter.works(machine.works_under_way())
    painter.works(painter.unsettled.works(machine, painter.witnesses))
    painter.draw_things()
    for key, value in machine.shared.items():
        _paint_shared(painter, key, value)
    painter.draw_things()
    _paint_mbarriers(painter)
    _paint_memory(painter)


def _paint_shared(painter: Painter, key: Any, value: Any) -> None:
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
            if activation in painter.activations:
                painter.literal(("implicit ring", id(root)))
                painter.thing(value)
        case ("mbarrier", _) | "nv_tileas.latest_products":
            pass
        case _ if key == CREATED:
            pass
        case "rings":
            for ring in value:
                if painter.has_drawn(ring) or not _is_idle(ring):
                    painter.thing(ring)
        case "nv_tileaa.addresses":
            painter.sequence(value)
        case _ if key == TASKS:
            _paint_tasks(painter, value)
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


def _paint_tasks(painter: Painter, tasks: list[tuple[Agent, Operation, bool]]) -> None:
    """The tasks that somebody still has to await: see `tasks`."""
    for child, op, is_empty in tasks:
        end = child.moment - 2
        if is_empty or (child.finished and all(one.knows_moment(child.number, end) for one in painter.witnesses)):
            continue
        painter.literal(("task", id(op)))
        painter.thing(child)
        painter.moment(child.number, end)


def _paint_mbarriers(painter: Painter) -> None:
    """Barriers in memory, by their places; a place that nobody can name any more has none."""
    bases = {thing.serial: thing for thing in painter.things if isinstance(thing, MemoryObject)}
    for key, barrier in painter.machine.shared.items():
        if isinstance(key, tuple) and key[0] == "mbarrier":
            serial, offset = cast("tuple[str, tuple[int, int]]", key)[1]
            painter.literal("mbarrier")
            if serial in bases:
                painter.thing(bases[serial])
                painter.number(offset)
            painter.thing(barrier)
    painter.draw_things()


def _paint_memory(painter: Painter) -> None:
    """The accesses on file of all objects that can still be reached, and the products that accumulate there."""
    products: dict[MemoryObject, Event] = painter.machine.shared.get("nv_tileas.latest_products", {})
    place = 0
    while place < len(painter.things):
        base = painter.things[place]
        if isinstance(base, MemoryObject):
            painter.literal(("memory", place))
            for access in painter.unsettled.accesses(painter.machine, base, painter.witnesses):
                painter.access(access)
            if base in products:
                painter.thing(products[base])
            painter.draw_things()
        place += 1


# Agents ---------------------------------------------------------------------------------------------------------------


@draws_thing(Agent)
def _agent(painter: Painter, agent: Agent) -> None:
    painter.literal((agent.threads, agent.first_thread, agent.finished, agent.delegates))
    painter.literal((len(agent.cohort), id(agent.started_by)))
    for other in agent.cohort:
        painter.thing(other)
    painter.moment(agent.number, agent.moment)
    painter.clock(agent.clock)
    painter.fenced(agent.fenced)
    if agent.finished:
        painter.value(agent.last_words)
        return
    if agent.resource is not None:
        raise UnknownStateError("a resource that is held")
    painter.value(agent.waiting_for)
    observed = _transfers_left_out(painter, agent)
    painter.works(agent.transfers[observed:])
    for key, value in sorted(agent.local.items()):
        painter.literal(key)
        _paint_local(painter, agent, key, value)
    _paint_frames(painter, agent)


def _paint_local(painter: Painter, agent: Agent, key: str, value: Any) -> None:
    if key.startswith("rocdl.") and isinstance(value, list):
        painter.works(_without_settled_front(cast("list[AsyncWork]", value), painter))
    elif isinstance(value, CopyGroups):
        painter.works(value.uncommitted)
        _paint_queue(painter, value.queue, agent)
    elif key == "nvvm.cluster":
        barrier, generation = value
        painter.thing(barrier)
        painter.literal(generation - barrier.generation)
    elif key == "nv_tileas.open_stages":
        for ring, k in value:
            _paint_stage(painter, ring, k)
    else:
        painter.value(value)


def _transfers_left_out(painter: Painter, agent: Agent) -> int:
    """How many of the oldest transfers a wait for marks would tell nobody anything of."""
    left_out = agent.transfers_observed
    while left_out < len(agent.transfers) and is_settled(agent.transfers[left_out], painter.witnesses):
        left_out += 1
    return left_out


def _without_settled_front(works: list[AsyncWork], painter: Painter) -> list[AsyncWork]:
    """Transfers are counted from the youngest, so settled ones in front make no difference."""
    for number, work in enumerate(works):
        if not is_settled(work, painter.witnesses):
            return works[number:]
    return []


# Where an agent stands in the code. A frame of the interpreter is told by its code and its place in it; iterators that
# live on its evaluation stack are told by the variables that they have set last.

RUN_BLOCK = Agent.run_block.__code__
RUN_ITERATIONS = Agent.run_iterations.__code__
CALL = Agent.call.__code__
NEEDS_NOTHING = frozenset(
    {
        ("machine/agents.py", "run_region"),
        ("machine/agents.py", "wait"),
        ("machine/barriers.py", "wait_for_parity"),
        ("machine/barriers.py", "wait_for_groups"),
        ("machine/barriers.py", "wait_for_queue"),
        ("machine/forks.py", "fork_and_join"),
        ("machine/forks.py", "_body"),
        ("machine/running.py", "steps"),
        ("meanings/scf.py", "_for"),
        ("meanings/scf.py", "_if"),
        ("meanings/scf.py", "_execute_region"),
        ("meanings/async_queue.py", "_block"),
        ("meanings/func.py", "_call"),
        ("meanings/llvm.py", "_call"),
        ("nv_tileaa/queues.py", "_execute"),
        ("nv_tileas/pipelines.py", "_agent_switch"),
    }
)
"""
Functions whose variables are not needed any more once they have handed over, or are held by other frames or by the
condition that the agent waits for. Of all others every variable is drawn.
"""


WHILE = ("meanings/scf.py", "_while")


@cache
def _place_of(code: CodeType) -> tuple[str, str]:
    return "/".join(Path(code.co_filename).parts[-2:]), code.co_name


NAMES_OF_STAGES = ("k", "turn", "named", "taken")


def _frames(agent: Agent) -> Iterator[tuple[FrameType, bool]]:
    """The frames of the agent's code, outermost first, and whether it is the innermost."""
    generator: Any = agent.steps
    while isinstance(generator, GeneratorType):
        inner = cast("Any", generator.gi_yieldfrom)
        frame = generator.gi_frame
        assert frame is not None
        yield frame, not isinstance(inner, GeneratorType)
        generator = inner


def _paint_frames(painter: Painter, agent: Agent) -> None:
    blocks: dict[int, tuple[dict[SSAValue, Any], list[tuple[Block, Operation]]]] = {}
    activations: list[Activation] = [agent.activation]
    observed = _transfers_left_out(painter, agent)
    for frame, is_innermost in _frames(agent):
        names = frame.f_locals
        painter.literal((id(frame.f_code), frame.f_lasti))
        if frame.f_code is RUN_BLOCK:
            values, block, op = names["values"], names["block"], names["step"].op
            painter.literal((id(block), id(op)))
            if is_innermost:
                painter.sequence(names["operands"])
            blocks.setdefault(id(values), (values, []))[1].append((block, op))
        elif frame.f_code is RUN_ITERATIONS:
            painter.value(names["inductions"])
            painter.number(names["induction"])
            if is_innermost:
                painter.sequence(names["values"])
        elif _place_of(frame.f_code) == WHILE:
            painter.sequence(names["values"])
        elif frame.f_code is CALL:
            activations.append(names["caller"])
        elif _place_of(frame.f_code) not in NEEDS_NOTHING:
            _paint_locals(painter, agent, names)
    for values, frames in blocks.values():
        for name in painter.unsettled.liveness.alive(values, frames):
            painter.literal(id(name))
            painter.value(values[name])
    for activation in activations:
        painter.activations.add(id(activation))
        outstanding = len(agent.transfers)
        marks = activation.marks.positions
        painter.literal(tuple(outstanding - position for position in marks if position > observed))
        painter.sequence(activation.endings)


def _paint_locals(painter: Painter, agent: Agent, names: dict[str, Any]) -> None:
    ring = next((value for value in names.values() if isinstance(value, Ring)), None)
    for name, value in names.items():
        if value is agent or value is painter.machine:
            continue
        painter.literal(name)
        if ring is not None and name in NAMES_OF_STAGES and isinstance(value, int):
            _paint_stage(painter, ring, value)
        else:
            painter.value(value)


@draws_value(MethodType)
def _method(painter: Painter, method: MethodType) -> None:
    painter.value(method.__self__)
    painter.value(method.__func__)


@draws_thing(FunctionType)
def _function(painter: Painter, function: FunctionType) -> None:
    """A closure: its code and what it has caught."""
    painter.literal(id(function.__code__))
    for cell in function.__closure__ or ():
        contents = cell.cell_contents
        if isinstance(contents, int):
            # How much is missing yet.
            painter.literal(contents)
        elif contents is not painter.machine:
            painter.value(contents)
    painter.sequence(function.__defaults__ or ())


# Knowledge, works and events ------------------------------------------------------------------------------------------


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


@draws_thing(LateValue)
def _late_value(_painter: Painter, _value: LateValue) -> None:
    raise UnknownStateError("a value that is named before it is there")


@draws_thing(PromiseGroup)
def _promise_group(painter: Painter, group: PromiseGroup) -> None:
    painter.literal(group.size)
    painter.sequence(group.members)


# Barriers, queues, rings ----------------------------------------------------------------------------------------------


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


@draws_thing(BarrierObject)
def _barrier_object(painter: Painter, barrier: BarrierObject) -> None:
    painter.thing(barrier.state)
    painter.moment(barrier.maker.number, barrier.moment)
    painter.literal((id(barrier.op), barrier.fenced))


@draws_thing(Rendezvous)
def _rendezvous(painter: Painter, barrier: Rendezvous) -> None:
    painter.literal((barrier.name, barrier.expected, barrier.arrived))
    painter.value(barrier.gathering)
    for generation in sorted(barrier.opened):
        painter.literal(generation - barrier.generation)
        painter.value(barrier.opened[generation])


@draws_thing(GroupQueue)
def _group_queue(painter: Painter, queue: GroupQueue) -> None:
    _paint_queue(painter, queue, None)


def _paint_queue(painter: Painter, queue: GroupQueue, owner: Agent | None) -> None:
    """
    A wait counts from the youngest group, so groups in front that are settled make no difference. Of a queue that only
    `owner` waits for nobody else learns.
    """
    first = 0
    for number, group in enumerate(queue.groups):
        mind = owner.mind if owner is not None and number < queue.known_complete else None
        if not all(_is_news_to_nobody(work, painter, mind) for work in group.works):
            break
        first = number + 1
    painter.literal(len(queue.groups) - first)
    for group in queue.groups[first:]:
        painter.works(group.works)
    painter.literal(max(queue.known_complete, first) - first)
    for agent in painter.machine.live:
        painter.literal(max(queue.observed_by(agent), first) - first)
    painter.moments(queue.commits)
    painter.moments(queue.waits)


def _is_news_to_nobody(work: AsyncWork, painter: Painter, only: Mind | None) -> bool:
    return is_settled(work, painter.witnesses) or (only is not None and only.knows_work(work))


@draws_value(CopyToken)
def _copy_token(painter: Painter, token: CopyToken) -> None:
    """Whether its copy is in a group shows in the copies of the thread."""
    painter.thing(token.work)


@draws_value(GroupToken)
def _group_token(painter: Painter, token: GroupToken) -> None:
    """By the age of its group; only the thread that made it can wait for it, and for what it has seen it does not."""
    queue, ordinal = token.group.queue, token.group.ordinal
    has_seen = queue.observed_by(token.owner) >= ordinal
    painter.thing(token.owner)
    painter.literal("seen" if has_seen else queue.committed - ordinal)


@draws_thing(Ring)
def _ring(painter: Painter, ring: Ring) -> None:
    """Stages count from the first free one."""
    free = _first_free(ring)
    painter.rings.append((len(painter.numbers), ring))
    painter.number(free)
    painter.literal((id(ring.op), ring.depth, ring.consumers, None if _turns(painter, ring) else free % ring.turns))
    painter.value(ring.buffer)
    for k in (ring.produced, *(ring.consumed.get(agent.number, 0) for agent in painter.machine.live)):
        _paint_count(painter, ring, k, free)
    painter.literal(str(sorted(k - free for k in ring.acquired if k not in ring.committed)))
    painter.literal(str([k - free for k in _left(ring)]))
    for agent, k in sorted(ring.held):
        painter.thing(painter.machine.agents[agent])
        painter.literal(k - free)
    for k, works in ring.works.items():
        if k not in ring.committed:
            painter.literal(k - free)
            painter.works(works)
    for place, slot in _slots_in_order(painter, ring, free):
        painter.literal((place, None if slot.live is None else slot.live - free, slot.releases))
        painter.thing(slot.full)
        painter.thing(slot.empty)
        painter.sequence(slot.storage)


def _turns(painter: Painter, ring: Ring) -> bool:
    """Whether a slot is told by its turn, not by its number."""
    return painter.as_slots_turn and ring.has_equal_slots


def _note_turns(painter: Painter, ring: Ring) -> None:
    """From which turn of each slot the parities of its barriers count."""
    if not _turns(painter, ring):
        return
    assert ring.depth is not None
    free = _first_free(ring)
    for place, slot in _slots_in_order(painter, ring, free):
        for barrier in (slot.full, slot.empty):
            painter.turns[id(barrier)] = (free + place) // ring.depth


def _slots_in_order(painter: Painter, ring: Ring, free: int) -> list[tuple[int, Slot]]:
    """The slots with their numbers, or with the places in which their turns come."""
    if not _turns(painter, ring):
        return sorted(ring.slots.items())
    return sorted((ring.slot_number(number - free), slot) for number, slot in ring.slots.items())


def _paint_count(painter: Painter, ring: Ring, k: int, free: int) -> None:
    """A count of stages, for those who do not name theirs. Where all do it is far behind, or stays at 0."""
    painter.number(k)
    follows = free - k <= ring.turns and (k > 0 or not _turns(painter, ring))
    painter.literal((None if _turns(painter, ring) else k % ring.turns, k - free if follows else None))


@draws_value(Slot)
def _slot(painter: Painter, slot: Slot) -> None:
    """A slot that code at hand refers to: it is drawn with its ring."""
    painter.thing(slot.full)


def _first_free(ring: Ring) -> int:
    return max(max(ring.committed, default=-1), max(ring.acquired, default=-1)) + 1


def _left(ring: Ring) -> list[int]:
    """Stages that were published and that nobody has taken."""
    taken = {k for side, k, _, _ in ring.log if side == "consumer"}
    return sorted(set(ring.committed) - taken)


def _is_idle(ring: Ring) -> bool:
    """Whether nothing can come of a ring that nobody can name any more."""
    barriers = [barrier for slot in ring.slots.values() for barrier in (slot.full, slot.empty)]
    at_rest = all(b.pending == b.expected and not b.bytes_outstanding and not b.contributors for b in barriers)
    return at_rest and not _left(ring) and not ring.held


def _paint_stage(painter: Painter, ring: Ring, k: int) -> None:
    painter.thing(ring)
    painter.literal((k - _first_free(ring), k in ring.committed))


@draws_value(StageToken)
def _stage_token(painter: Painter, token: StageToken) -> None:
    painter.literal(token.side)
    if token.ring is not None and token.k is not None:
        _paint_stage(painter, token.ring, token.k)
    else:
        painter.value(token.ring)
    painter.thing(token.event)


@draws_value(StageIndex)
def _stage_index(painter: Painter, index: StageIndex) -> None:
    _paint_stage(painter, index.ring, index.k)


@draws_thing(SourceQueue)
def _source_queue(painter: Painter, queue: SourceQueue) -> None:
    """What it brings is not known when checking, whatever the turn."""
    painter.literal(queue.number)


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


# Memory and containers ------------------------------------------------------------------------------------------------


@draws_thing(MemoryObject)
def _object(painter: Painter, base: MemoryObject) -> None:
    painter.literal((base.shape, base.element.dtype.str, base.space, base.lifetime_over))
    if base.name in painter.unsettled.reach.read:
        for offset, value in sorted(base.cells.items()):
            painter.literal(offset)
            painter.value(value)


@draws_value(View)
def _view(painter: Painter, view: View) -> None:
    painter.thing(view.base)
    painter.literal((view.shape, view.strides, view.element.dtype.str))
    painter.number(view.offset)
    painter.number(view.origin)


@draws_value(Pointer)
def _pointer(painter: Painter, pointer: Pointer) -> None:
    painter.thing(pointer.base)
    painter.number(pointer.offset)


@draws_value(TiledView)
def _tiled_view(painter: Painter, view: TiledView) -> None:
    painter.value(view.array)
    painter.literal((view.tile, view.groups))


@draws_value(Descriptor)
def _descriptor(painter: Painter, descriptor: Descriptor) -> None:
    painter.value(descriptor.array)
    painter.literal((descriptor.box, str(descriptor.padding)))


@draws_value(Touch)
def _touch(painter: Painter, touch: Touch) -> None:
    painter.value(touch.view)
    painter.literal((touch.is_write, touch.proxy))


@draws_value(OwnSteps)
def _own_steps(painter: Painter, steps: OwnSteps) -> None:
    """What the body of an op leaves to the op."""
    painter.literal(steps)


@draws_value(ElementType)
def _element(painter: Painter, element: ElementType) -> None:
    painter.literal(element.dtype.str)


@draws_value(tuple, list)
def _sequence(painter: Painter, values: Any) -> None:
    painter.sequence(values)


@draws_value(dict)
def _mapping(painter: Painter, values: dict[Any, Any]) -> None:
    painter.literal(len(values))
    for key, value in values.items():
        painter.value(key)
        painter.value(value)


@draws_value(range)
def _range(painter: Painter, values: range) -> None:
    painter.number(values.start)
    painter.number(values.stop)
    painter.literal(values.step)
