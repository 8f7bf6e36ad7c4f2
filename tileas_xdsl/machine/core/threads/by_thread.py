"""
Steps on values that differ between the threads of an agent (`hardware`): done once for each of its active threads.

    %p = llvm.getelementptr %ring[%tid]          an address for each thread
    %v = llvm.load %p                            one access, to the places of all threads

What they touch together is the union of what each touches, in as few windows as say it. An op whose meaning does not
say that it may be done so (`Facts.per_thread`) takes one value for all threads, or leaves the verdict open.

Threads of one warp are taken to run in step where one touches what another writes, and a verdict that rests on that
says so. PTX promises no order since sm_70; much code of warps relies on it all the same. A barrier, or `bar.warp.sync`
with all threads in its mask, ends the assumption; a handshake by mbarriers does not, since not every thread need take
part.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from xdsl.ir import Operation

from tileas_xdsl.machine.core.assumptions import RUN_IN_STEP
from tileas_xdsl.machine.core.happens_before import Access, Conflict, Proxy, may_conflict
from tileas_xdsl.machine.core.meaning import Kind
from tileas_xdsl.machine.core.memory import ThreadParts, View
from tileas_xdsl.machine.core.op_facts import TakesPerThread
from tileas_xdsl.machine.core.threads.hardware import (
    Elections,
    PerThread,
    Several,
    Varies,
    WhichLaneError,
    common_value,
)
from tileas_xdsl.machine.core.threads.slices import Sliced, stores_one_value
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UndecidedError

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.assumptions import Assumption
    from tileas_xdsl.machine.core.code import Code, Step
    from tileas_xdsl.machine.core.deadline import Deadline
    from tileas_xdsl.machine.core.happens_before import AccessHistory
    from tileas_xdsl.machine.core.memory import MemoryObject
    from tileas_xdsl.machine.core.observer import AnyObserver


class Execution(Sliced, Protocol):
    """What is asked here of an execution."""

    deadline: Deadline
    opaque_names: frozenset[str]
    step_number: int
    tells_threads_apart: bool

    @property
    def scatters(self) -> bool: ...


class ByThread(Several, Protocol):
    """An agent that does a step thread by thread."""

    gathering: Gathered | None
    threads_met: int

    @property
    def machine(self) -> Execution: ...

    @property
    def code(self) -> Code: ...

    @property
    def observer(self) -> AnyObserver: ...

    @property
    def elections(self) -> Elections: ...

    @property
    def recording(self) -> object | None: ...

    def assume(self, assumption: Assumption) -> None: ...

    def history_of(self, base: MemoryObject) -> AccessHistory | None: ...

    def report_conflict(self, conflict: Conflict) -> None: ...

    def touch(
        self,
        view: View,
        op: Operation,
        *,
        write: bool,
        proxy: Proxy = ...,
        is_atomic: bool = ...,
        parts: ThreadParts | None = ...,
    ) -> None: ...


PASSED_ON = frozenset({Kind.PURE, Kind.CONTROL, Kind.TERMINATOR, Kind.JUMP})
"""Kinds of ops that hand such values on, or compute from them; what decides something there has to be known."""


def per_thread(agent: ByThread, values: Sequence[Any], varies: Varies = Varies.BY_THREAD) -> Any:
    """One value for each thread of `agent`: itself where it is the same in all active ones."""
    return _of_threads(agent, values, agent.lanes, varies)


def per_thread_of_warp(agent: ByThread, values: Sequence[Any]) -> Any:
    """The same, for what a work gives all threads of `agent`, whichever are active when it is performed."""
    return _of_threads(agent, values, range(agent.size), Varies.BY_THREAD)


def _of_threads(agent: ByThread, values: Sequence[Any], lanes: Iterable[int], varies: Varies) -> Any:
    is_common, value = common_value(values, lanes)
    if is_common:
        return value
    agent.machine.tells_threads_apart = True
    return PerThread(tuple(values), varies)


def known_to_all(agent: ByThread, value: PerThread, op: Operation, use: str) -> Any:
    """
    What `value` is in every active thread of `agent`.

    Raises `UndecidedError` where it differs between them; `use` says what for ("branches on").
    """
    if agent.is_elected:
        if value.varies is Varies.BY_ELECTION:
            return value.values[agent.lanes[0]]
        if all(each is UNKNOWN for each in value.values):
            return UNKNOWN
        if agent.elections is Elections.ASKED:
            raise WhichLaneError
        raise UndecidedError(op, f"{use} a number of the thread that was elected, and nobody says which one that is")
    is_common, common = common_value(value.values, agent.lanes)
    if not is_common or Varies.BY_ELECTION in value.varies:
        raise UndecidedError(op, f"{use} a value that differs between the threads of one warp")
    return common


def compute(agent: ByThread, step: Step, operands: Sequence[Any]) -> Any:
    """The outcome of a step that only computes, thread by thread; of integers that have been there before, the same."""
    key = _integers(agent, step, operands)
    if key is None:
        return _computed(agent, step, operands)
    known = agent.code.outcomes
    if key not in known:
        if len(known) >= MOST_OUTCOMES:
            known.clear()
        known[key] = _computed(agent, step, operands)
    return known[key]


THREADS_OF_A_STEP = 4
"""So many threads compute something in the time of a step of an agent."""
STEPS_OF_AN_EFFECT = 8
"""So many steps take as long as an effect of one thread, whose accesses are compared with those of others."""
MOST_OUTCOMES = 50_000
"""Which are kept at the same time."""


def _integers(agent: ByThread, step: Step, operands: Sequence[Any]) -> Hashable | None:
    """What the outcome of a step depends on, if all its operands are integers; else None."""
    key: list[Any] = [id(step.op), agent.lanes]
    for operand in operands:
        values = operand.values if type(operand) is PerThread else (operand,)
        if any(kind is not int for kind in set(map(type, values))):
            return None
        key += (values, operand.varies) if type(operand) is PerThread else values
    return tuple(key)


def _computed(agent: ByThread, step: Step, operands: Sequence[Any]) -> Any:
    varies = what_varies(operands)
    width = agent.size
    outcomes: list[Any] = [UNKNOWN] * width
    agent.machine.deadline.spend(width // THREADS_OF_A_STEP)
    if not step.gives_float or agent.observer.follows_floats:
        for lane in agent.lanes:
            row = [_of(operand, lane) for operand in operands]
            if not any(operand is UNKNOWN for operand in row):
                outcomes[lane] = step.function(agent, step.op, *row)
    if len(step.results) == 1:
        return per_thread(agent, outcomes, varies)
    columns = [[row if row is UNKNOWN else row[number] for row in outcomes] for number in range(len(step.results))]
    return tuple(per_thread(agent, column, varies) for column in columns)


def act(agent: ByThread, step: Step, operands: Sequence[Any]) -> Any:
    """The answer of a step with an effect, of which some operand differs between the threads of `agent`."""
    if step.takes is TakesPerThread.ITSELF:
        return step.function(agent, step.op, *operands)
    varies = what_varies(operands)
    if step.takes is TakesPerThread.NO or agent.is_elected or Varies.BY_ELECTION in varies:
        return step.function(agent, step.op, *(_for_all(agent, operand, step.op) for operand in operands))
    outcomes = step.at_once(agent, step.op, *operands) if step.at_once is not None else None
    if outcomes is None:
        agent.machine.deadline.spend(agent.size * STEPS_OF_AN_EFFECT)
        outcomes = _one_by_one(agent, step, operands)
    else:
        agent.machine.deadline.spend(agent.size // THREADS_OF_A_STEP)
    if isinstance(outcomes, PerThread):
        return outcomes
    return per_thread(agent, outcomes, varies) if step.results else None


def _one_by_one(agent: ByThread, step: Step, operands: Sequence[Any]) -> Sequence[Any]:
    """The outcome of the step in each thread."""
    gathered = Gathered()
    outcomes: list[Any] = [UNKNOWN] * agent.size
    agent.gathering = gathered
    try:
        for lane in agent.lanes:
            gathered.lane = lane
            row = [_of(operand, lane) for operand in operands]
            outcomes[lane] = step.function(agent, step.op, *row)
    finally:
        agent.gathering = None
    gathered.note(agent, step.op, same_unknown=any(operand is UNKNOWN for operand in operands))
    return outcomes


def sees_plain_numbers(agent: ByThread) -> bool:
    """Whether all threads of `agent` are active, and none of their numbers can be one that differs between blocks."""
    return agent.active is None and not agent.machine.opaque_names


def what_varies(operands: Iterable[Any]) -> Varies:
    """What the values that differ between threads depend on."""
    found = Varies(0)
    for operand in operands:
        if isinstance(operand, PerThread):
            found |= operand.varies
    return found


def _of(value: Any, lane: int) -> Any:
    return value.values[lane] if isinstance(value, PerThread) else value


def _for_all(agent: ByThread, value: Any, op: Operation) -> Any:
    return known_to_all(agent, value, op, "takes") if isinstance(value, PerThread) else value


def rows_of_threads(agent: ByThread, operands: Sequence[Any]) -> list[tuple[int, list[Any]]]:
    """(lane, operands) of each active thread of `agent`; of one for all, where they have the same or one is elected."""
    if agent.is_elected or not any(isinstance(operand, PerThread) for operand in operands):
        return [(0, list(operands))]
    return [(lane, [_of(operand, lane) for operand in operands]) for lane in agent.lanes]


# What threads touch together ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ThreadWindow:
    """The union of what some threads of an agent touch, and the part of each."""

    view: View
    parts: ThreadParts


class Gathered:
    """What the threads of an agent touch in one step, thread by thread."""

    def __init__(self) -> None:
        self.lane = 0
        """The thread whose turn it is."""
        self._touched: dict[tuple[int, View, bool, Proxy, bool], list[tuple[int, View]]] = {}
        self._written: list[tuple[int, View, Any]] = []

    def touch(self, view: View, *, write: bool, proxy: Proxy, is_atomic: bool = False) -> None:
        """The thread touches `view`."""
        for kind, touched in self._touched.items():
            if kind[0] == view.base.serial and kind[2:] == (write, proxy, is_atomic) and _are_alike(kind[1], view):
                touched.append((self.lane, view))
                return
        self._touched[view.base.serial, view, write, proxy, is_atomic] = [(self.lane, view)]

    def write(self, view: View, value: Any) -> None:
        """The thread writes `value` to `view`."""
        self._written.append((self.lane, view, value))

    def note(self, agent: ByThread, op: Operation, *, same_unknown: bool) -> None:
        """
        Note the accesses of all threads as made by `agent` in one step, and two that write different values to one
        place as a race. `same_unknown`: what is written and not known is the same for all threads.
        """
        report_collisions(agent, op, self._written, same_unknown=same_unknown)
        for (_, _, write, proxy, is_atomic), touched in self._touched.items():
            for window in windows(agent, touched):
                agent.touch(window.view, op, write=write, proxy=proxy, is_atomic=is_atomic, parts=window.parts)


def touch_at_once(
    agent: ByThread, op: Operation, like: View, places: Sequence[tuple[int, int]], *, write: bool
) -> bool:
    """
    Note what all active threads touch in one step: each a view like `like`, which begins at the byte that stands beside
    its lane in `places`.

    Says no, and notes nothing, where each has to be looked at by itself: where one reaches outside of the object, two
    write to one place, or something is known of what the object holds.
    """
    machine, base, region = agent.machine, like.base, like.region
    if machine.with_data or agent.recording is not None or base.cells:
        return False
    first, last, closest = _reach(tuple(places))
    before, behind = region.start - like.offset, region.stop - like.offset
    if first + before < 0 or last + behind > base.size or (write and closest < behind - before):
        return False
    for window in _windows(agent, like, places):
        agent.touch(window.view, op, write=write, parts=window.parts)
    return True


@lru_cache(maxsize=1 << 14)
def _reach(places: Places) -> tuple[int, int, float]:
    """The first and the last byte at which views begin, and the least distance of two of them."""
    starts = sorted(offset for _, offset in places)
    return starts[0], starts[-1], min((following - start for start, following in pairwise(starts)), default=inf)


def report_collisions(
    agent: ByThread, op: Operation, written: Sequence[tuple[int, View, Any]], *, same_unknown: bool = False
) -> None:
    """Report a race if two threads write different values to one place: each entry is a lane, a place and a value."""
    for view, other in _colliding(written, same_unknown):
        if not stores_one_value(agent.machine, op):
            _report_collision(agent, op, view, other)


def _are_alike(one: View, other: View) -> bool:
    return (one.shape, one.strides, one.element) == (other.shape, other.strides, other.element)


def windows_of_all(agent: ByThread, touched: Sequence[tuple[int, View]]) -> list[ThreadWindow]:
    """The views of several threads of `agent`, in whatever objects and of whatever shapes, as windows."""
    alike: list[list[tuple[int, View]]] = []
    for lane, view in touched:
        group = next((g for g in alike if g[0][1].base is view.base and _are_alike(g[0][1], view)), None)
        if group is None:
            alike.append([(lane, view)])
        else:
            group.append((lane, view))
    return [window for group in alike for window in windows(agent, group)]


def windows(agent: ByThread, touched: Sequence[tuple[int, View]]) -> list[ThreadWindow]:
    """
    The views of several threads of `agent`, all alike but for their offsets, as windows on the bytes that they cover
    together.

    Offsets at even distances make one window of one dimension more. Others make one scattered window where nobody will
    be told of it, and else one for each run of even distances.
    """
    return _windows(agent, touched[0][1], [(lane, view.offset) for lane, view in touched])


def _windows(agent: ByThread, like: View, places: Sequence[tuple[int, int]]) -> list[ThreadWindow]:
    """The same for views like `like`: the lane of each thread, and the byte at which its view begins."""
    runs = _runs(tuple(places), agent.machine.scatters and not like.region.is_empty)
    return [ThreadWindow(_view_of(like, run), ThreadParts(like.region, run.places)) for run in runs]


Places = tuple[tuple[int, int], ...]
"""The lane of each thread, and the byte at which its view begins."""


class _Run(NamedTuple):
    """Views at even distances, or scattered ones at the distances `copies` from the first."""

    first: int
    step: int
    times: int
    places: Places
    copies: tuple[int, ...] = ()


@lru_cache(maxsize=1 << 14)
def _runs(places: Places, scatters: bool) -> Sequence[_Run]:
    """The fewest runs of all views; `scatters` says whether one may be scattered."""
    offsets = sorted({offset for _, offset in places})
    if scatters and not _are_even(offsets):
        return [_Run(offsets[0], 0, 1, places, tuple(offset - offsets[0] for offset in offsets))]
    found: list[_Run] = []
    while offsets:
        step = offsets[1] - offsets[0] if len(offsets) > 1 else 0
        times = 1
        while times < len(offsets) and offsets[times] - offsets[times - 1] == step:
            times += 1
        members = set(offsets[:times])
        found.append(_Run(offsets[0], step, times, tuple(place for place in places if place[1] in members)))
        del offsets[:times]
    return found


def _are_even(offsets: Sequence[int]) -> bool:
    """Whether rising offsets are at even distances."""
    step = offsets[1] - offsets[0] if len(offsets) > 2 else 0
    return not step or all(following - offset == step for offset, following in pairwise(offsets))


def _view_of(like: View, run: _Run) -> View:
    shape, strides = like.shape, like.strides
    if run.times > 1:
        shape, strides = (run.times, *shape), (run.step, *strides)
    return View(like.base, run.first, shape, strides, like.element, like.origin, run.copies)


def _colliding(written: Sequence[tuple[int, View, Any]], same_unknown: bool) -> Iterator[tuple[View, View]]:
    """A pair of places that overlap, and to which two threads write different values; or nothing."""
    spans = sorted(written, key=lambda entry: (entry[1].base.serial, entry[1].region.start))
    for (_, view, value), (_, other, another) in pairwise(spans):
        if view.base is not other.base or other.region.start >= view.region.stop:
            continue
        is_same = same_unknown and value is another is UNKNOWN
        if view.offset != other.offset or not (is_same or common_value((value, another), (0, 1))[0]):
            yield view, other
            return


def _report_collision(agent: ByThread, op: Operation, view: View, other: View) -> None:
    machine = agent.machine
    one, two = (
        Access(each.region, True, Proxy.GENERIC, op, agent, None, agent.moment, agent.iteration, machine.step_number)
        for each in (view, other)
    )
    agent.report_conflict(Conflict(one, two))


def note_exchange(agent: ByThread, access: Access) -> None:
    """
    Note that the execution rests on threads that run in step, if `access` meets an earlier one of another thread of
    `agent`, one of the two is a write, and the threads have not met since.
    """
    history = agent.history_of(access.region.base)
    for other in history.overlapping(access.region) if history is not None else ():
        is_own = other.agent is agent and other.work is None and other.moment >= agent.threads_met
        if is_own and (other.parts or access.parts) and may_conflict(other, access):
            if not same_part_only(_spans(agent, other), _spans(agent, access)):
                agent.assume(RUN_IN_STEP)
                return


def _spans(agent: ByThread, access: Access) -> list[tuple[int, int, int]]:
    region = access.region
    return access.parts.spans() if access.parts else [(region.start, region.stop, lane) for lane in agent.lanes]


def same_part_only(spans: Iterable[tuple[int, int, int]], others: Iterable[tuple[int, int, int]]) -> bool:
    """Whether no thread reaches with its part into the part of another: (first byte, byte after the last, lane)."""
    reach: dict[int, int] = {}
    for start, stop, lane in sorted([*spans, *others]):
        if any(end > start for other, end in reach.items() if other != lane):
            return False
        reach = {other: end for other, end in reach.items() if end > start}
        reach[lane] = max(reach.get(lane, 0), stop)
    return True
