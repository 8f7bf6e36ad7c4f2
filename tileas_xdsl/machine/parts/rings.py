"""
Pipelines at run time: rings of slots, each with a full and an empty barrier.

    producer:  wait empty[k mod depth]  ->  write the slot  ->  arrive at full[k mod depth]
    consumer:  wait full[k mod depth]   ->  read the slot   ->  arrive at empty[k mod depth]

`k` counts the stages from 0. Stage `k` lies in slot `k mod depth` and takes the phase `k div depth` of its full
barrier. The producer waits for the opposite parity of the empty barrier, so that its first round does not block. Every
consumer agent takes every stage: the empty barrier expects one arrival of each. (CUTLASS, "Synchronization primitives",
has the same protocol.)

Asynchronous writes of a stage are bytes that the full barrier still expects. A ring without depth (an implicit pipeline
that names none, a queue without one) has a slot for every stage; reuse is not judged there. Of such a queue a check
relies on one slot only: a put waits until the stage before has been released, and learns nothing by it, since a deeper
queue would not have made it wait.

A step that nobody does, the op does itself. Dropping the `consumer_release` from the region of a `consume_one` is
therefore no mistake: the op releases by itself. A release that is skipped in one iteration is one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from tileas_xdsl.machine.arguments import default_array
from tileas_xdsl.machine.core.agents import Activation, Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event, Touch
from tileas_xdsl.machine.core.happens_before import Clock, Knowledge, Proxy, Who
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.observer import Look
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation
from tileas_xdsl.machine.core.state import Canvas, OwnPart, SharedPart
from tileas_xdsl.machine.core.synchronization import PhaseBarrier
from tileas_xdsl.machine.core.values import UNKNOWN, ElementType, element_type
from tileas_xdsl.machine.core.violations import (
    Effect,
    MistakeError,
    Misuse,
    Party,
    UnsupportedError,
    Violation,
    ViolationKind,
)
from tileas_xdsl.machine.parts.barriers import arrive, come_for, expect_bytes, promise_bytes, wait_for_phase
from tileas_xdsl.machine.parts.shared_storage import take_storage
from tileas_xdsl.machine.tiles.tiles import VIEW_SPACES, read_tile, residency_of


@dataclass(frozen=True)
class Payload:
    """One element of a slot: its type, its shape and where it lives."""

    type: Attribute
    shape: tuple[int, ...]
    element: ElementType
    space: str
    is_view: bool
    """Whether whoever reads it gets a view of the slot rather than a copy of its contents."""

    @staticmethod
    def of(type_: Attribute, op: Operation) -> Payload:
        """Raises `UnsupportedError` on `op` for a type of which the machine cannot hold values."""
        shaped = isa(type_, TensorType[Attribute])
        element = element_type(type_.element_type if shaped else type_)
        if element is None:
            raise UnsupportedError(op, f"moves values of type {type_} through a pipeline, which have no numbers here")
        residency = residency_of(type_)
        shape = tuple(type_.get_shape()) if shaped else ()
        return Payload(type_, shape, element, VIEW_SPACES.get(residency, "register"), residency in VIEW_SPACES)


@dataclass
class Slot:
    """One slot of a ring."""

    full: PhaseBarrier
    empty: PhaseBarrier
    storage: list[View]
    live: int | None = None
    """The stage whose value is committed and not yet released by every consumer; None if there is none."""
    releases: int = 0


@dataclass(eq=False)
class Ring:
    """A pipeline in one execution."""

    name: str
    op: Operation
    depth: int | None
    payload: tuple[Payload, ...]
    consumers: int
    source: int
    """What abstract produce ops of this ring write is a function of this number and of the stage."""
    buffer: View | None = None
    slots_relied_on: int | None = None
    """How many slots a ring without depth has at least; None where it never blocks."""
    overlays: dict[Ring, None] = field(default_factory=dict["Ring", None])
    """The rings in the same storage (`shared_storage`)."""
    slots: dict[int, Slot] = field(default_factory=dict[int, Slot])
    produced: int = 0
    """Stages handed out to producers that do not name theirs."""
    takers: Clock = field(default_factory=dict[int, int])
    """Which agent took the last of these, at which moment; empty at first."""
    consumed: dict[int, int] = field(default_factory=dict[int, int])
    """Agent -> stages handed out to it as a consumer that does not name them."""
    acquired: set[int] = field(default_factory=set[int])
    works: dict[int, list[AsyncWork]] = field(default_factory=dict[int, list[AsyncWork]])
    """Stage -> asynchronous writes that belong to it."""
    committed: dict[int, Operation] = field(default_factory=dict[int, Operation])
    committed_by: dict[int, tuple[str, tuple[int, ...]]] = field(
        default_factory=dict[int, "tuple[str, tuple[int, ...]]"]
    )
    """Stage -> the agent that committed it, and in which iteration."""
    held: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    """(agent, stage) for every stage that a consumer has taken and not released."""
    log: list[tuple[str, int, int, int]] = field(default_factory=list[tuple[str, int, int, int]])
    """(side, stage, slot, phase) of every stage taken, in order: what no transformation of a pipeline may change."""

    def slot_number(self, k: int) -> int:
        return k if self.depth is None else k % self.depth

    def round(self, k: int) -> int:
        """How often the slot of stage `k` has been filled before: the phase of its full barrier."""
        return 0 if self.depth is None else k // self.depth

    def parity(self, k: int) -> int:
        return self.round(k) & 1

    def take_next_stage(self, agent: Agent, op: Operation) -> int:
        """
        The next stage, for `op` of a producer that does not name its stage. Doubt, if another producer might have come
        first: which stage each gets depends on who does.
        """
        self._come_for_stage(agent, op)
        self.produced += 1
        return self.produced - 1

    def go_on_behind(self, agent: Agent, op: Operation, k: int) -> None:
        """Let those who do not name their stage go on behind stage `k`, which `op` names: in turn with them."""
        self._come_for_stage(agent, op)
        self.produced = k + 1

    def _come_for_stage(self, agent: Agent, op: Operation) -> None:
        what = f"the next stage of {self.name}"
        come_for(agent, op, what, what, self.takers)
        self.takers = {agent.number: agent.moment}

    @property
    def turns(self) -> int:
        """The number of stages after which slot and parity are the same again."""
        return 2 * self.depth if self.depth else 1

    @property
    def has_equal_slots(self) -> bool:
        """
        Whether the slots are objects of their own, so that they differ by nothing but their numbers; false for parts of
        one buffer.
        """
        return self.buffer is None

    def is_past(self, k: int) -> bool:
        """Whether stage `k` has been given back by every consumer, in a ring that has a slot for every stage."""
        slot = self.slots.get(k)
        done = slot is not None and slot.live is None and slot.releases >= self.consumers
        return self.depth is None and done and k in self.committed and not self.overlays

    @property
    def left(self) -> list[int]:
        """The stages that were published and that nobody has taken."""
        taken = {k for side, k, _, _ in self.log if side == "consumer"}
        return sorted(set(self.committed) - taken)

    @property
    def is_idle(self) -> bool:
        """
        Whether no stage or barrier of it is in use, so that a ring that nobody can name any more can be forgotten.
        """
        barriers = [barrier for slot in self.slots.values() for barrier in (slot.full, slot.empty)]
        at_rest = all(b.pending == b.expected and not b.bytes_outstanding and not b.contributors for b in barriers)
        return at_rest and not self.left and not self.held

    def committer(self, k: int, role: str) -> Party:
        """Whoever committed stage `k`, as a party of a violation."""
        agent, iteration = self.committed_by[k]
        return Party(self.committed[k], agent, iteration, role)

    def slot(self, k: int, *, with_data: bool) -> Slot:
        """The slot of stage `k`, without telling the observer; meanings call `slot_of`."""
        number = self.slot_number(k)
        slot = self.slots.get(number)
        if slot is None:
            slot = self.slots[number] = self._make_slot(number, with_data)
        return slot

    def _slot_name(self, number: int, index: int) -> str:
        element = f", value {index}" if len(self.payload) > 1 else ""
        return f"slot {number} of {self.name}{element}"

    def _make_slot(self, number: int, with_data: bool) -> Slot:
        full = PhaseBarrier(f"full[{number}] of {self.name}", 1, self.op)
        empty = PhaseBarrier(f"empty[{number}] of {self.name}", self.consumers, self.op)
        if self.buffer is not None:
            return Slot(full, empty, [self.buffer.index(number)])
        storage = [
            MemoryObject.zeros(self._slot_name(number, i), p.shape, p.element, p.space, with_data=with_data).whole()
            for i, p in enumerate(self.payload)
        ]
        for view in storage:
            view.base.slot = number
            view.base.family = f"a slot of {self.name}"
        return Slot(full, empty, storage)


@dataclass(slots=True, eq=False)
class StageLook(Look):
    """An op looks at the slot of stage `k`."""

    ring: Ring
    k: int


@dataclass
class Rings(SharedPart):
    """The pipelines of an execution."""

    made: list[Ring] = field(default_factory=list[Ring])
    """All of them, in the order in which they were made."""
    implicit: dict[tuple[Hashable, Activation], Ring] = field(default_factory=dict["tuple[Hashable, Activation]", Ring])
    """
    The rings of produce ops that are pipelines by themselves, by the identity of the op and the call in which it
    stands.
    """

    def draw(self, canvas: Canvas) -> None:
        for (key, activation), ring in self.implicit.items():
            if canvas.is_under_way(activation):
                canvas.literal(("implicit ring", key))
                canvas.thing(ring)
        for ring in self.made:
            if canvas.has_drawn(ring) or not ring.is_idle:
                canvas.thing(ring)


@dataclass
class OpenStages(OwnPart):
    """The stages whose produce, consume, write or read regions an agent is in, the innermost last."""

    stages: list[tuple[Ring, int]] = field(default_factory=list["tuple[Ring, int]"])

    def draw(self, canvas: Canvas, agent: Who) -> None:
        for ring, k in self.stages:
            canvas.value(StageIndex(ring, k))


@dataclass(eq=False)
class StageToken:
    """The run-time value of every token type of nv_tileas: which stage of which ring, and what awaiting it means."""

    ring: Ring | None
    side: str
    k: int | None
    event: Event


@dataclass(frozen=True)
class StageIndex:
    """The run-time value of a pipeline iterator."""

    ring: Ring
    k: int


def done_token() -> StageToken:
    """A token of nothing: complete from the start (`create_none`)."""
    return StageToken(None, "", None, Event.completed())


def slot_of(agent: Agent, ring: Ring, k: int, op: Operation) -> Slot:
    """The slot of stage `k`, which `op` uses; the observer is told."""
    machine = agent.machine
    if machine.observer.watches_steps:
        machine.observer.looks(StageLook(op, ring, k))
    return ring.slot(k, with_data=machine.with_data)


# The six steps in the life of a stage --------------------------------------------------------------------------------


def acquire(agent: Agent, ring: Ring, k: int, op: Operation) -> Request:
    """Wait until the slot of stage `k` is empty; the producer owns it then."""
    return _wait_empty(agent, ring, k, op).then(_own, StageIndex(ring, k))


def _wait_empty(agent: Agent, ring: Ring, k: int, op: Operation) -> Request:
    slot = slot_of(agent, ring, k, op)
    if ring.depth is not None:
        return wait_for_phase(agent, slot.empty, ring.round(k) - 1, op)
    if ring.slots_relied_on is None or k < ring.slots_relied_on:
        return Done()
    before = slot_of(agent, ring, k - ring.slots_relied_on, op)
    return wait_for_phase(agent, before.empty, 0, op, acquires=False)


@continuation
def _own(agent: Agent, op: Operation, _: None, stage: StageIndex) -> Answer:
    _take(agent, stage.ring, stage.k, op)


def _take(agent: Agent, ring: Ring, k: int, op: Operation) -> None:
    if k not in ring.acquired:
        take_storage(agent, ring, k, op)
    ring.acquired.add(k)


def write(agent: Agent, ring: Ring, k: int, values: Sequence[Any], op: Operation) -> None:
    """Put `values` into the slot of stage `k`, now."""
    slot = _slot_to_fill(agent, ring, k, op)
    _must_fit(ring, slot, values, op)
    for view, value in zip(slot.storage, values, strict=True):
        if isinstance(value, View) and value.region.key == view.region.key and value.base is view.base:
            continue
        agent.store(view, read_tile(agent, value, op), op, Proxy.UNSPECIFIED)


def write_later(agent: Agent, ring: Ring, k: int, values: Sequence[Any], op: Operation, engine: str) -> AsyncWork:
    """Issue the asynchronous write of `values` into the slot of stage `k`; the stage is full once it is complete."""
    machine = agent.machine
    slot = _slot_to_fill(agent, ring, k, op)
    _must_fit(ring, slot, values, op)
    moves = [
        (view, value)
        for view, value in zip(slot.storage, values, strict=True)
        if not (isinstance(value, View) and value.base is view.base and value.region.key == view.region.key)
    ]
    touches = [Touch(value, False) for _, value in moves if isinstance(value, View)]
    touches += [Touch(view, True) for view, _ in moves]

    def fetch() -> list[Any]:
        return [machine.read(value) if isinstance(value, View) else value for _, value in moves]

    def deliver(data: list[Any]) -> None:
        for (view, _), datum in zip(moves, data, strict=True):
            machine.write(view, datum)

    label = f"the write of stage {k} of {ring.name} (slot {ring.slot_number(k)})"
    work = agent.issue(op, touches, None, label=label, engine=engine, fetch=fetch, deliver=deliver)
    attach(agent, ring, k, work)
    return work


def attach(agent: Agent, ring: Ring, k: int, work: AsyncWork) -> None:
    """Let stage `k` become full only once `work` is complete."""
    slot = slot_of(agent, ring, k, work.op)
    ring.works.setdefault(k, []).append(work)
    expect_bytes(agent, slot.full, work.op, 1)
    promise_bytes(agent, work, slot.full, 1)


def _must_fit(ring: Ring, slot: Slot, values: Sequence[Any], op: Operation) -> None:
    """Raises `UnsupportedError` unless `values` have the sizes of the slot; values of unknown size pass."""
    if len(values) != len(slot.storage):
        raise UnsupportedError(op, f"fills a slot of {len(slot.storage)} values with {len(values)}")
    for view, value in zip(slot.storage, values, strict=True):
        given: Any = getattr(value, "shape", view.shape)
        if given != view.shape:
            reason = f"fills a slot of {ring.name} for {_sizes(view.shape)} elements with {_sizes(given)}"
            raise UnsupportedError(op, f"{reason}; let all that fills it agree")


def _sizes(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def _slot_to_fill(agent: Agent, ring: Ring, k: int, op: Operation) -> Slot:
    slot = slot_of(agent, ring, k, op)
    if k not in ring.acquired and slot.live is not None and slot.live != k:
        role = f"fills slot {ring.slot_number(k)} of {ring.name} with stage {k} while stage {slot.live} is live in it"
        party = Party(op, agent.name, agent.iteration, role)
        violation = Violation(
            ViolationKind.SLOT,
            f"more live values than slots: {ring.name} has {ring.depth}",
            (party, ring.committer(slot.live, f"committed stage {slot.live}")),
            f"a release of stage {slot.live} and an acquire before stage {k} is written, or one more slot",
        )
        agent.report(violation, Misuse(agent, [slot.full, slot.empty], [party]))
    if k not in ring.acquired:
        take_storage(agent, ring, k, op)
    return slot


def commit(agent: Agent, ring: Ring, k: int, op: Operation) -> Event:
    """Publish stage `k`; returns the event that it is full."""
    slot = slot_of(agent, ring, k, op)
    if k in ring.committed:
        raise MistakeError(op, f"commits stage {k} of {ring.name} a second time; commit each stage once", [ring])
    ring.committed[k] = op
    ring.committed_by[k] = (agent.name, agent.iteration)
    ring.log.append(("producer", k, ring.slot_number(k), ring.parity(k)))
    slot.live, slot.releases = k, 0
    works = ring.works.get(k, [])
    knowledge = Knowledge(dict(agent.clock))
    arrive(agent, slot.full, op)
    return Event.all_of([agent.event_of(work) for work in works], f"stage {k} of {ring.name}", extra=knowledge)


def wait_full(agent: Agent, ring: Ring, k: int, op: Operation) -> Request:
    """Wait until stage `k` has been published; the consumer holds it then."""
    slot = slot_of(agent, ring, k, op)
    return wait_for_phase(agent, slot.full, ring.round(k), op).then(_hold, StageIndex(ring, k))


@continuation
def _hold(agent: Agent, _op: Operation, _: None, stage: StageIndex) -> Answer:
    ring, k = stage.ring, stage.k
    ring.held.add((agent.number, k))
    ring.log.append(("consumer", k, ring.slot_number(k), ring.parity(k)))


def slot_value(agent: Agent, ring: Ring, k: int, index: int, op: Operation) -> Any:
    """Element `index` of the slot of stage `k`: a view where the tile lives in memory, else a copy made now."""
    storage = slot_of(agent, ring, k, op).storage
    if index >= len(storage):
        raise UnsupportedError(op, f"takes value {index} of a slot of {ring.name}, which holds {len(storage)}")
    view = storage[index]
    if ring.buffer is not None or ring.payload[index].is_view:
        return view
    return agent.load(view, op, Proxy.UNSPECIFIED)


def release(agent: Agent, ring: Ring, k: int, op: Operation) -> None:
    """Give the slot of stage `k` back."""
    slot = slot_of(agent, ring, k, op)
    if (agent.number, k) not in ring.held:
        raise MistakeError(
            op, f"releases stage {k} of {ring.name}, which {agent.name} does not hold; wait for it first", [ring]
        )
    ring.held.discard((agent.number, k))
    slot.releases += 1
    if slot.releases >= ring.consumers and slot.live == k:
        slot.live = None
    arrive(agent, slot.empty, op)


# Around the ring -----------------------------------------------------------------------------------------------------


def source_values(agent: Agent, ring: Ring, k: int) -> list[Any]:
    """What an abstract produce op writes: a fixed function of the ring and the stage."""
    if not agent.has_data:
        return [UNKNOWN] * len(ring.payload)
    return [source_value(payload, ring.source, k, index) for index, payload in enumerate(ring.payload)]


def source_value(payload: Payload, source: int, k: int, index: int) -> Any:
    """What source number `source` gives at its stage `k` for element `index` of the slot: always the same."""
    array = default_array(payload.shape, payload.element, seed=(source * 7919 + k) * 31 + index)
    return array[()] if payload.shape == () else np.asarray(array)


def report_undrained_rings(first: Agent) -> None:
    """Stages that were produced and that nobody took before the function ended."""
    for ring in first.machine.part(Rings).made:
        if ring.left:
            _report_undrained(first, ring, ring.left)


def _report_undrained(first: Agent, ring: Ring, left: Sequence[int]) -> None:
    slot = ring.slot(left[0], with_data=first.machine.with_data)
    party = ring.committer(left[0], f"publishes stage {left[0]} of {ring.name}, which nobody consumes")
    violation = Violation(
        ViolationKind.UNDRAINED,
        f"{len(left)} stage(s) of {ring.name} are produced and never consumed",
        (party,),
        "a consumer for every stage that is produced, also in the last iterations",
        leads_to=Effect.WRONG,
    )
    first.machine.report(violation, Misuse(first, [slot.full, slot.empty], [party]))


@dataclass(eq=False)
class SourceQueue:
    """A queue that comes from outside: gets read `src(number, turn)`, puts vanish."""

    number: int
    turns: dict[int, int] = field(default_factory=dict[int, int])
