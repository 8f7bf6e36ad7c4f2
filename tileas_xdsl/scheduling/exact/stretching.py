"""
A schedule at one interval is one at every larger interval, where nothing asks that something come soon enough.

Give each stage `longer - ii` more rows, at its end, in which nothing starts: every op keeps its stage and its row. Then

- what came late enough still does: of two ops whose distance in time is not negative, the later one is in the same
  stage or in a later one, and time between stages only grows;
- a row that there was holds no more than before: what reaches into a later stage reaches no further into it;
- a row that is new holds no more than the last one that there was: what lies there lay there, too.

This is so for slots of any capacity, and for registers. It fails where a latency is negative, so that one op must
follow another one soon enough, where an iteration must end in time, and where an issue may be ahead of its execution by
so many cycles only. (Hence two ops exactly 3 cycles apart on one unit fit intervals of 2 and 4 and not of 3.)

So where schedules stretch, the refutation of one interval refutes every smaller one.
"""

from __future__ import annotations

from dataclasses import replace

from tileas_xdsl.scheduling.exact.problem import ExactProblem
from tileas_xdsl.scheduling.exact.schedule import Schedule


def schedules_stretch(problem: ExactProblem) -> bool:
    """Whether each schedule of the problem is one at every larger interval."""
    machine = problem.machine
    is_free = machine.queue == 0 and machine.ceiling is None and not problem.serial
    return is_free and problem.agents == 1 and all(it.latency >= 0 for it in problem.dependences)


def stretched(schedule: Schedule, longer: int) -> Schedule:
    """A schedule of one agent at a larger interval."""
    (origin,) = schedule.origins
    places = [divmod(start - origin, schedule.ii) for start in schedule.starts]
    starts = tuple(origin + longer * stage + row for stage, row in places)
    return replace(schedule, ii=longer, starts=starts, issues=starts)
