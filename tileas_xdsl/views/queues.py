"""
The contents of a queue over time: which groups are in it, and how old each is.

A group enters at age 0 when it is committed. Each later commit makes it one older. It leaves at the first wait that
demands it, or never. A wait for a count of 2 empties the rows from age 2 on.

              commit   commit   commit   wait 2
    age 0     [ 0     ][ 1     ][ 2             ...
    age 1              [ 0     ][ 1             ...
    age 2                       [ 0    ]                  leaves at the wait
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, takewhile

from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.synchronization import GroupQueue
from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.machine.time.simulation import TimedRun
from tileas_xdsl.views.charts import Chart, ChartBar
from tileas_xdsl.views.timeline.picture import timeline
from tileas_xdsl.views.timeline.style import headline

KEY = "pale: in flight; strong: complete, and not waited for yet; the number counts the groups of the queue; red: stays"


@dataclass(frozen=True)
class Group:
    """A group in its queue, in cycles."""

    ordinal: int
    """1 for the first of its queue."""
    complete: int
    ages: tuple[int, ...]
    """When it entered, and when each later group came while it was there."""
    left: int | None
    """When a wait that demanded it went through; None where none did."""


def groups(queue: GroupQueue, steps: Sequence[Happening], completion: Mapping[AsyncWork, int]) -> list[Group]:
    """
    The groups of `queue`, whose commits and waits are `steps`; `completion` has the cycle in which a work was complete.
    Linear in the steps and in the bars that are drawn of them.
    """
    left: list[int] = []
    for step in steps:
        if step.kind == "wait":
            left += [_time(step)] * (step.turn - len(left))
    commits = [step for step in steps if step.kind == "commit"]
    entered = [_time(step) for step in commits]
    found: list[Group] = []
    for number, step in enumerate(commits):
        end = left[number] if number < len(left) else None
        later = islice(entered, number, None)
        ages = tuple(takewhile(lambda time, end=end: end is None or time < end, later)) or (entered[number],)
        works = queue.groups[step.turn - 1].works
        complete = max((completion.get(work, ages[0]) for work in works), default=ages[0])
        found.append(Group(step.turn, complete, ages, end))
    return found


def _time(step: Happening) -> int:
    assert step.time is not None, "the run has a clock"
    return step.time


def queues_chart(run: TimedRun) -> Chart:
    """The chart of the queues of groups in a simulated run. It has no rows where nothing is committed."""
    steps: dict[GroupQueue, list[Happening]] = {}
    for step in run.machine.trace.happenings:
        if isinstance(step.on, GroupQueue):
            steps.setdefault(step.on, []).append(step)
    completion = {service.work: service.complete for service in run.clock.services if service.work is not None}
    picture = timeline(run)
    rows: list[str] = []
    bars: list[ChartBar] = []
    for queue, mine in steps.items():
        found = groups(queue, mine, completion)
        bars += [bar for group in found for bar in _bars(group, len(rows), picture.until, queue)]
        rows += [f"queue {queue.name}, age {age}" for age in range(max((len(g.ages) for g in found), default=0))]
    return Chart(
        f"{headline(picture)}; contents of queues",
        rows,
        bars,
        sorted(wait for mine in steps.values() for wait in _waits(mine)),
        picture.until,
        KEY,
        [f"{mark.kind}: {mark.message}" for mark in picture.marks],
    )


def _waits(steps: Sequence[Happening]) -> list[tuple[int, str]]:
    """When each wait of a queue went through, and how many groups it left."""
    committed = 0
    waits: list[tuple[int, str]] = []
    for step in steps:
        committed += step.kind == "commit"
        if step.kind == "wait":
            waits.append((_time(step), f"wait {committed - step.turn}"))
    return waits


def _bars(group: Group, first: int, until: int, queue: GroupQueue) -> list[ChartBar]:
    """A bar for each age that the group reaches."""
    end = until if group.left is None else group.left
    said = f"group {group.ordinal} of queue {queue.name}: committed in cycle {group.ages[0]:,}, complete in "
    said += f"{group.complete:,}, " + ("never waited for" if group.left is None else f"waited for in {group.left:,}")
    return [
        ChartBar(first + age, start, max(group.complete, start), stop, group.ordinal - 1, said, group.left is None)
        for age, (start, stop) in enumerate(pairwise([*group.ages, end]))
    ]
