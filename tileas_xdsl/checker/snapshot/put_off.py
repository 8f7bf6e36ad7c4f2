"""
Which works, accesses, tasks and barriers are leftovers: those that nothing refers to by name.

That is known only when all else has been drawn, so candidates are put off until then. Those that have been named by the
end are drawn one by one; the others are leftovers, and gathered (see `leftovers`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.ir import Operation

from tileas_xdsl.checker.snapshot.leftovers import Leftover
from tileas_xdsl.checker.snapshot.settled import is_settled_phase
from tileas_xdsl.checker.snapshot.snapshot import Drawing, UnknownStateError
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Access, Clock, Who
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.synchronization import Phase, PhaseBarrier
from tileas_xdsl.machine.parts.placed_barriers import PlacedBarrier
from tileas_xdsl.machine.parts.tasks import end_of

Item = TypeVar("Item")
Placed = tuple[MemoryObject | None, int, PlacedBarrier]
"""(object, byte offset, barrier in memory). The object is None where it cannot be named any more."""


def can_be_left(drawing: Drawing, work: AsyncWork) -> bool:
    """
    Whether `work` may be a leftover if nothing refers to it by name.

    All that may be left to happen is that agents learn of it: it is ready, and its completion signals nothing. The same
    must hold for the works that an agent learns of with it, and these must bring no further ones.
    """
    besides = _known_besides(drawing, work)
    return _only_waits(drawing, work) and all(
        _only_waits(drawing, before) and not _known_besides(drawing, before) for before in besides
    )


def _only_waits(drawing: Drawing, work: AsyncWork) -> bool:
    tells_somebody = not work.complete and bool(work.signals)
    is_plain = work.resource is None and work.look is None
    return drawing.gathers_leftovers and work.ready and is_plain and not tells_somebody


def _known_besides(drawing: Drawing, work: AsyncWork) -> list[AsyncWork]:
    """The works, if not settled, that an agent learns of with `work`."""
    return [before for before in work.mind.works if not drawing.is_settled(before)]


@dataclass
class PutOff:
    """The candidates for leftovers of one snapshot."""

    drawing: Drawing
    works: list[AsyncWork] = field(default_factory=list[AsyncWork])
    accesses: list[Access] = field(default_factory=list[Access])
    tasks: list[tuple[Who, Operation]] = field(default_factory=list[tuple[Who, Operation]])
    barriers: list[Placed] = field(default_factory=list[Placed])

    def work(self, work: AsyncWork) -> None:
        """Put off, or draw, a work that is in flight or of which some actor may still have to learn."""
        if can_be_left(self.drawing, work):
            self.works.append(work)
        else:
            self.drawing.thing(work)

    def access(self, access: Access) -> None:
        """Put off, or draw, an access that may still race with a later one."""
        work = access.work
        is_done = work is None or can_be_left(self.drawing, work)
        if self.drawing.gathers_leftovers and is_done and not access.is_to_be_repeated:
            self.accesses.append(access)
        else:
            self.drawing.access(access)

    def task(self, child: Who, op: Operation) -> None:
        """Put off, or draw, a task of `op` that is still to be awaited."""
        if self.drawing.gathers_leftovers and child.finished:
            self.tasks.append((child, op))
        else:
            self._draw_task((child, op))

    def barrier(self, base: MemoryObject | None, offset: int, barrier: PlacedBarrier) -> None:
        """Put off, or draw, a barrier at byte `offset` of `base`, which is None if it cannot be named any more."""
        signalled = all(self.drawing.is_settled(work) for work in barrier.works)
        if self.drawing.gathers_leftovers and signalled and _is_at_rest(self.drawing, barrier.state):
            self.barriers.append((base, offset, barrier))
        else:
            self._draw_barrier((base, offset, barrier))

    def _draw_task(self, task: tuple[Who, Operation]) -> None:
        child, op = task
        self.drawing.literal(("task", id(op)))
        self.drawing.thing(child)
        self.drawing.moment(child.number, end_of(child))

    def _has_drawn_barrier(self, placed: Placed) -> bool:
        barrier = placed[2]
        return self.drawing.has_drawn(barrier) or self.drawing.has_drawn(barrier.state)

    def _draw_barrier(self, placed: Placed) -> None:
        drawing, (base, offset, barrier) = self.drawing, placed
        drawing.literal("mbarrier")
        if base is not None:
            drawing.thing(base)
            drawing.barriers.append((len(drawing.numbers), base))
            drawing.number(offset)
        drawing.thing(barrier)
        drawing.literal(drawing.unfenced.get(id(barrier)))

    # The end ----------------------------------------------------------------------------------------------------------

    def draw_what_was_named(self) -> None:
        """Draw the candidates to which something has turned out to refer by name."""
        drawing = self.drawing
        drawn = -1
        while drawn != len(drawing.things):
            drawn = len(drawing.things)
            self.works = _sifted(self.works, drawing.has_drawn, drawing.thing)
            self.accesses = _sifted(self.accesses, lambda access: drawing.has_drawn(access.work), drawing.access)
            self.tasks = _sifted(self.tasks, lambda task: drawing.has_drawn(task[0]), self._draw_task)
            self.barriers = _sifted(self.barriers, self._has_drawn_barrier, self._draw_barrier)
            drawing.draw_things()

    def leave_the_rest(self) -> None:
        """
        Make leftovers of the other candidates.

        Raises `UnknownStateError` if a work of an old group of a queue has been named otherwise.
        """
        drawing = self.drawing
        if any(drawing.has_drawn(work) for work in drawing.passed_over):
            raise UnknownStateError("an old group of a queue, some work of which is known by another name")
        bring: dict[AsyncWork, list[AsyncWork]] = {}
        for work in self.works:
            for before in _known_besides(drawing, work):
                bring.setdefault(before, []).append(work)
        drawing.leftovers += [_left_work(drawing, work, bring) for work in self.works]
        drawing.leftovers += [_left_access(drawing, access, bring) for access in self.accesses]
        drawing.leftovers += [_left_task(child, op) for child, op in self.tasks]
        drawing.leftovers += [_left_barrier(drawing, *barrier) for barrier in self.barriers]


def _sifted(items: list[Item], is_named: Callable[[Item], bool], draw: Callable[[Item], None]) -> list[Item]:
    """Draw those of `items` that are named; returns the others."""
    left: list[Item] = []
    for item in items:
        if is_named(item):
            draw(item)
        else:
            left.append(item)
    return left


Bringers = dict[AsyncWork, list[AsyncWork]]
"""Work -> the leftover works with which an agent learns of it."""


def _left_work(drawing: Drawing, work: AsyncWork, bring: Bringers) -> Leftover:
    touched = tuple(sorted({touch.view.base.family for touch in work.touches}))
    kind = ("work", id(work.op), work.engine, work.complete, touched, _queues_of(drawing, work))
    minds = (work.mind, *(before.mind for before in _known_besides(drawing, work)))
    return Leftover(kind, (work.observers,), work=work, brought_by=tuple(bring.get(work, ())), minds=minds)


def _queues_of(drawing: Drawing, work: AsyncWork) -> tuple[int, ...]:
    """The queues in an old group of which `work` is: a wait for one queue tells nothing of works in others."""
    return tuple(drawing.passed_over.get(work, ()))


def _left_access(drawing: Drawing, access: Access, bring: Bringers) -> Leftover:
    region, work = access.region, access.work
    form = (region.form, access.relative_parts)
    kind = ("access", id(access.op), drawing.name_of(region.base), form, access.is_write, access.proxy, work is None)
    kind = (*kind, access.is_atomic)
    if work is None:
        return Leftover(kind, ({access.agent.number: access.moment},), region.base, region.offset, access)
    kind = (*kind, _queues_of(drawing, work))
    brought_by = (work, *bring.get(work, ()))
    return Leftover(kind, (work.observers,), region.base, region.offset, access, brought_by=brought_by)


def _left_task(child: Who, op: Operation) -> Leftover:
    return Leftover(("task", id(op)), ({child.number: end_of(child)},))


def _left_barrier(drawing: Drawing, base: MemoryObject | None, offset: int, barrier: PlacedBarrier) -> Leftover:
    state = barrier.state
    last = state.last_completed
    moments = [{agent: clock[agent]} for clock in (*_moments_of(last), barrier.uses) for agent in sorted(clock)]
    kind = (
        "barrier",
        id(barrier.op),
        None if base is None else drawing.name_of(base),
        barrier.fenced,
        drawing.unfenced.get(id(barrier)),
        (state.expected, state.counted_by_hand, state.valid, drawing.parity(state, state.current.index)),
        (last.arrived, last.bytes_arrived, *map(len, _moments_of(last)), len(barrier.uses)),
    )
    known_by = ({barrier.maker.number: barrier.moment}, *moments)
    return Leftover(kind, known_by, base, offset, apart=state.current.index)


def _moments_of(phase: Phase) -> tuple[Clock, ...]:
    return (phase.arrivals, phase.waits, phase.tests)


def _is_at_rest(drawing: Drawing, barrier: PhaseBarrier) -> bool:
    """Whether the present phase has not begun, and all actors know of the one before and of what it hands over."""
    present, last = barrier.current, barrier.last_completed
    untouched = barrier.pending == barrier.expected and not barrier.bytes_outstanding and not barrier.contributors
    nobody = not (present.arrivals or present.expectations or present.waits or present.tests or present.works)
    if not (untouched and nobody) or barrier.hands_on:
        return False
    fenced = all(actor.has_fenced_all(last.knowledge.fenced) for actor in drawing.actors)
    return fenced and is_settled_phase(last, drawing.actors)
