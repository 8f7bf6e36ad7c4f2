"""
What a pipelined loop does for one trip count, and how two such executions are compared.

An execution is a list of events in program order. Commits, waits and scopes hold the events inside them; an access is
one component at one iteration. Flattened, it is a list of instances: each access with its commit group and with the
groups known to be complete then. So two outputs are compared by what they execute; loop shapes and simplification may
differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

Place = tuple[str, int]
"""A buffer and which of its versions, or an array and which of its elements."""


@dataclass(frozen=True)
class Access:
    """Component `component` does the work of iteration `iteration`."""

    component: int
    iteration: int
    reads: tuple[Place, ...]
    writes: Place


@dataclass(frozen=True)
class Scope:
    """What is issued asynchronously, as one operation."""

    body: tuple[Event, ...]


@dataclass(frozen=True)
class Commit:
    """What becomes one group of `queue`."""

    queue: int
    body: tuple[Event, ...]


@dataclass(frozen=True)
class Wait:
    """All but the `count` youngest groups of `queue` are complete before the body; a negative count waits for none."""

    queue: int
    count: int
    body: tuple[Event, ...]


Event = Access | Scope | Commit | Wait


@dataclass(frozen=True)
class Instance:
    """One access with the synchronisation around it."""

    access: Access
    is_async: bool
    group: tuple[int, int] | None
    """The queue, and how many groups it had before the one that holds this access."""
    finished: tuple[tuple[int, int], ...]
    """For each queue the number of groups that are known to be complete by now."""


def instances(events: Sequence[Event]) -> list[Instance]:
    """Every access of an execution in program order."""
    return list(_flatten(events, None, False, defaultdict(int), defaultdict(int)))


def _flatten(
    events: Sequence[Event],
    queue: int | None,
    is_async: bool,
    committed: defaultdict[int, int],
    finished: defaultdict[int, int],
) -> Iterator[Instance]:
    for event in events:
        match event:
            case Access():
                group = None if queue is None or not is_async else (queue, committed[queue])
                known = tuple(sorted((q, n) for q, n in finished.items() if n))
                yield Instance(event, is_async, group, known)
            case Scope(body):
                yield from _flatten(body, queue, True, committed, finished)
            case Commit(own, body):
                yield from _flatten(body, own, is_async, committed, finished)
                committed[own] += 1
            case Wait(other, count, body):
                if count >= 0:
                    finished[other] = max(finished[other], committed[other] - count)
                yield from _flatten(body, queue, is_async, committed, finished)


def same_schedule(left: Sequence[Instance], right: Sequence[Instance]) -> bool:
    """Whether the same components run for the same iterations in the same order, on the same versions."""
    return [(i.access, i.is_async) for i in left] == [(i.access, i.is_async) for i in right]


def same_sequence(left: Sequence[Instance], right: Sequence[Instance]) -> bool:
    """Whether the same components run for the same iterations in the same order, on whatever versions."""
    return [_turn(i) for i in left] == [_turn(i) for i in right]


def _turn(instance: Instance) -> tuple[int, int, bool]:
    return instance.access.component, instance.access.iteration, instance.is_async


def same_groups(left: Sequence[Instance], right: Sequence[Instance]) -> bool:
    """Whether every access is in the same group of the same queue."""
    return [i.group for i in left] == [i.group for i in right]


def waits_more(left: Sequence[Instance], right: Sequence[Instance]) -> bool:
    """Whether somewhere `left` has forced the completion of accesses that `right` has not, at the same access."""
    return any(_complete(left, k) - _complete(right, k) for k in range(min(len(left), len(right))))


def _complete(execution: Sequence[Instance], at: int) -> frozenset[tuple[int, int]]:
    """The asynchronous accesses known to be complete when access `at` runs: (component, iteration)."""
    finished = dict(execution[at].finished)
    return frozenset(
        (i.access.component, i.access.iteration)
        for i in execution[:at]
        if i.group is not None and i.group[1] < finished.get(i.group[0], 0)
    )


def first_difference(left: Sequence[Instance], right: Sequence[Instance]) -> str:
    """The first place where two executions part, in words; empty where they are equal."""
    for position, (a, b) in enumerate(zip_longest(left, right)):
        if a != b:
            return f"access {position}: {a} / {b}"
    return ""
