"""
What turns leave behind, gathered in heaps and rows.

Some loops leave more behind with every turn: stores under way for which only the end waits, tasks that nobody has
awaited yet, elements of which somebody has yet to learn, a barrier for each tile. The state grows, and still the rest
of the execution does the same, as long as it treats all that was left behind alike. *Alike* are things of one kind that

- nothing refers to by name: whoever learns of them learns of all at once, through a count (all but the youngest
  groups of a queue), through a group of tasks, or through somebody who knows more;
- everybody knows of, or nobody: no clock that there is lies between two of them, and so none ever will, since clocks
  only come from joining those that there are, and from moments that are still to come.

They are drawn as one heap: of which kind, and which clocks know of them, but not how many they are. Where they have
places in memory, these make *rows*: offsets in even distances. A row grows at its end or is used up from its front;
`separation` looks after who comes across it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Access, Clock, Mind, join
from tileas_xdsl.machine.core.memory import MemoryObject


@dataclass(frozen=True, eq=False)
class Leftover:
    """One thing left behind."""

    kind: tuple[object, ...]
    """What makes it different from things of other kinds."""
    known_by: tuple[Mapping[int, int], ...]
    """Its moments: of each, the agents and their moments one of which somebody has to know, to know of it."""
    base: MemoryObject | None = None
    offset: int = 0
    """Bytes from the beginning of `base`."""
    access: Access | None = None
    work: AsyncWork | None = None
    """What it is, if it is a work."""
    brought_by: tuple[AsyncWork, ...] = ()
    """The works left behind with which it becomes known."""
    minds: tuple[Mind, ...] = ()
    """What whoever observes it learns besides, if it is a work."""
    apart: int = 0
    """What makes it different from others of its kind, but not from its like in another turn: it is not drawn."""


@dataclass(frozen=True)
class Row:
    """Leftovers whose offsets lie `step` bytes apart, nearest to the beginning of the object first; 0 for one place."""

    step: int
    members: tuple[Leftover, ...]


@dataclass(frozen=True)
class Heap:
    """Leftovers that are alike."""

    kind: tuple[object, ...]
    known_by: tuple[bool, ...]
    """For each clock, and each moment of a leftover, whether that is known."""
    rows: tuple[Row, ...]
    """Empty where they have no places."""
    learnt: tuple[Clock, ...]
    """What whoever observes them learns besides: of all moments, and of those that were fenced."""


Key = tuple[tuple[object, ...], tuple[bool, ...], tuple[int, ...], int]
"""The kind of a leftover, who knows of it, by number the heaps of works with which it becomes known, and `apart`."""


def gather(leftovers: Sequence[Leftover], clocks: Sequence[Clock]) -> list[Heap]:
    """The heaps that `leftovers` make for those who know `clocks`, in the order of the first of each."""
    heaps = _alike(leftovers, clocks, {})
    while True:
        # Who observes the works of one heap comes to know what all of them knew: a clock more.
        learnt = [clock for members in heaps.values() for clock in _learnt_from(members)]
        places = {
            m.work: number for number, members in enumerate(heaps.values()) for m in members if m.work is not None
        }
        finer = _alike(leftovers, [*clocks, *learnt], places)
        if len(finer) == len(heaps):
            return [_heap(key, members) for key, members in finer.items()]
        heaps = finer


def _alike(
    leftovers: Iterable[Leftover], clocks: Sequence[Clock], places: Mapping[AsyncWork, int]
) -> dict[Key, list[Leftover]]:
    heaps: dict[Key, list[Leftover]] = {}
    for leftover in leftovers:
        known = tuple(_is_known(moment, clock) for moment in leftover.known_by for clock in clocks)
        brought_by = tuple(sorted(places[work] for work in leftover.brought_by if work in places))
        heaps.setdefault((leftover.kind, known, brought_by, leftover.apart), []).append(leftover)
    return heaps


def _heap(key: Key, members: Sequence[Leftover]) -> Heap:
    kind, known, brought_by, _ = key
    return Heap((*kind, brought_by), known, _rows(members), tuple(_learnt_from(members)))


def _is_known(moment: Mapping[int, int], clock: Clock) -> bool:
    return any(clock.get(agent, -1) >= when for agent, when in moment.items())


def _learnt_from(members: Iterable[Leftover]) -> list[Clock]:
    """What all of the works among `members` knew when they started, and had fenced, each space by itself."""
    known: Clock = {}
    fenced: dict[str, Clock] = {}
    minds = [mind for member in members for mind in member.minds]
    for mind in minds:
        join(known, mind.clock)
        for space, clock in mind.fenced.items():
            join(fenced.setdefault(space, {}), clock)
    return [known, *(fenced[space] for space in sorted(fenced))] if minds else []


def _rows(members: Iterable[Leftover]) -> tuple[Row, ...]:
    """The rows that the places of `members` make, from the beginning of their object on."""
    placed = sorted((m for m in members if m.base is not None), key=lambda member: member.offset)
    places = [(offset, list(found)) for offset, found in groupby(placed, key=lambda member: member.offset)]
    rows: list[Row] = []
    start = 0
    while start < len(places):
        step = places[start + 1][0] - places[start][0] if start + 1 < len(places) else 0
        end = start + 1
        while end < len(places) and places[end][0] - places[end - 1][0] == step:
            end += 1
        rows.append(Row(step, tuple(member for _, found in places[start:end] for member in found)))
        start = end
    return tuple(rows)
