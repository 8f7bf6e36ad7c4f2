"""
Leftovers, the things that turns of a loop leave behind, gathered in heaps and rows.

Some loops leave more behind with every turn: stores in flight for which only the end waits, tasks that are not awaited
yet, elements of which another agent has yet to learn, a barrier for each tile. The state grows, and still the rest of
the execution does the same as long as it treats all leftovers of a kind alike. Leftovers of one kind are *alike* if

- nothing refers to them by name: whoever learns of one learns of all, through a count (all but the youngest groups of a
  queue), through a group of tasks, or through an agent that knows all of them;
- no vector clock knows one and not another. Then none ever will, since later clocks come only from joining those that
  there are, and from moments that are still to come.

Leftovers that are alike are drawn as one *heap*: their kind and which clocks know of them, but not how many. That is
a summary node of shape analysis (Sagiv, Reps and Wilhelm, "Parametric Shape Analysis via 3-Valued Logic", 2002). Where
they have places in memory, these make *rows*: offsets at even distances. A row grows at its end, or is used up from its
front; `proof.separation` checks which accesses may come to overlap it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Access, Clock, Mind, join
from tileas_xdsl.machine.core.memory import MemoryObject


@dataclass(frozen=True, eq=False)
class Leftover:
    """One thing that a turn has left behind: a work, an access, a task or a barrier."""

    kind: tuple[object, ...]
    """What leftovers of one heap have in common."""
    known_by: tuple[Mapping[int, int], ...]
    """What there is to know of it: for each item, agent -> moment. A clock knows it if it knows one of these."""
    base: MemoryObject | None = None
    offset: int = 0
    """Bytes from the beginning of `base`."""
    access: Access | None = None
    work: AsyncWork | None = None
    """The work, if the leftover is one."""
    brought_by: tuple[AsyncWork, ...] = ()
    """Leftover works: an agent that learns of one of them learns of this leftover, too."""
    minds: tuple[Mind, ...] = ()
    """What an agent that observes its completion learns besides, if it is a work."""
    apart: int = 0
    """Keeps it out of the heaps of its kind with another number; it is not drawn, and may differ between turns."""


@dataclass(frozen=True)
class Row:
    """Leftovers at offsets that are `step` bytes apart, least offset first; `step` is 0 for a single place."""

    step: int
    members: tuple[Leftover, ...]


@dataclass(frozen=True)
class Heap:
    """Leftovers of one kind that are alike."""

    kind: tuple[object, ...]
    known_by: tuple[int, ...]
    """
    For each item of `Leftover.known_by`, the set of the clocks that know it, bit by bit in the order drawn; of accesses
    then the same of the clocks of what was fenced.
    """
    rows: tuple[Row, ...]
    """Their places in memory; empty if they have none."""
    learnt: tuple[Clock, ...]
    """What an agent that observes them learns besides: a clock of all moments, and one for each fenced space."""


Key = tuple[tuple[object, ...], tuple[int, ...], tuple[int, ...], int]
"""The kind of a leftover, which clocks know of it, the numbers of the heaps of `brought_by`, and `apart`."""


def gather(leftovers: Sequence[Leftover], clocks: Sequence[Clock], fences: Sequence[Clock] = ()) -> list[Heap]:
    """
    Gather `leftovers` in heaps, such that none of `clocks` tells two members of a heap apart, nor two accesses one of
    `fences`, which is asked for accesses only.

    The heaps are in the order of their first members. They are refined to a fixpoint: an agent that observes the works
    of one heap learns what these knew, which is one more clock.
    """
    heaps = _alike(leftovers, clocks, fences, {})
    while True:
        learnt = [clock for members in heaps.values() for clock in _learnt_from(members)]
        places = {
            m.work: number for number, members in enumerate(heaps.values()) for m in members if m.work is not None
        }
        finer = _alike(leftovers, [*clocks, *learnt], fences, places)
        if len(finer) == len(heaps):
            return [_heap(key, members) for key, members in finer.items()]
        heaps = finer


def _alike(
    leftovers: Iterable[Leftover], clocks: Sequence[Clock], fences: Sequence[Clock], places: Mapping[AsyncWork, int]
) -> dict[Key, list[Leftover]]:
    heaps: dict[Key, list[Leftover]] = {}
    knowers, fencers = _Knowers(clocks), _Knowers(fences)
    for leftover in leftovers:
        known = tuple(map(knowers.of, leftover.known_by))
        if leftover.access is not None:
            known += tuple(map(fencers.of, leftover.known_by))
        brought_by = tuple(sorted(places[work] for work in leftover.brought_by if work in places))
        heaps.setdefault((leftover.kind, known, brought_by, leftover.apart), []).append(leftover)
    return heaps


def _heap(key: Key, members: Sequence[Leftover]) -> Heap:
    kind, known, brought_by, _ = key
    return Heap((*kind, brought_by), known, _rows(members), tuple(_learnt_from(members)))


class _Knowers:
    """Which of many clocks know a moment, as a set of bits: asked once for each leftover, of which there are many."""

    def __init__(self, clocks: Sequence[Clock]) -> None:
        self.clocks = clocks
        self._by_agent: dict[int, tuple[list[int], list[int]]] = {}
        """Agent -> the moments up to which clocks know it, rising, and which clocks know each of these."""

    def of(self, moments: Mapping[int, int]) -> int:
        """The clocks that know one of `moments` (agent -> moment)."""
        found = 0
        for agent, moment in moments.items():
            known, knowers = self._by_agent.get(agent) or self._of_agent(agent)
            found |= knowers[bisect_left(known, moment)]
        return found

    def _of_agent(self, agent: int) -> tuple[list[int], list[int]]:
        just_up_to: dict[int, int] = {}
        for number, clock in enumerate(self.clocks):
            moment = clock.get(agent, -1)
            just_up_to[moment] = just_up_to.get(moment, 0) | 1 << number
        known = sorted(just_up_to)
        knowers = [*reversed(list(accumulate((just_up_to[moment] for moment in reversed(known)), int.__or__))), 0]
        self._by_agent[agent] = known, knowers
        return known, knowers


def _learnt_from(members: Iterable[Leftover]) -> list[Clock]:
    """What the works among `members` knew when they started: a clock of all, and one for each fenced space."""
    known: Clock = {}
    fenced: dict[str, Clock] = {}
    minds = [mind for member in members for mind in member.minds]
    for mind in minds:
        join(known, mind.clock)
        for space, clock in mind.fenced.items():
            join(fenced.setdefault(space, {}), clock)
    return [known, *(fenced[space] for space in sorted(fenced))] if minds else []


def _rows(members: Iterable[Leftover]) -> tuple[Row, ...]:
    """The rows that the places of `members` make, by rising offset."""
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
