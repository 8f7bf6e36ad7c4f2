"""
An independent judge of schedules: it runs iterations and looks at every cycle.

It shares nothing with the formulation for the solver but the records. What is wrong is named by the kind of constraint
and told in numbers; a schedule without findings is right.
"""

from __future__ import annotations

from tileas_xdsl.scheduling.exact.problem import ExactProblem
from tileas_xdsl.scheduling.exact.schedule import Schedule
from tileas_xdsl.scheduling.exact.unrolled import Breach
from tileas_xdsl.scheduling.exact.validate_memory import MemoryFindings
from tileas_xdsl.scheduling.exact.validate_partition import PartitionFindings
from tileas_xdsl.scheduling.exact.validate_timing import TimingFindings

JUDGES = (TimingFindings, MemoryFindings, PartitionFindings)


def validate(problem: ExactProblem, schedule: Schedule) -> tuple[Breach, ...]:
    """What is wrong with the schedule; empty if it is right."""
    misfit = _misfit(problem, schedule)
    if misfit is not None:
        return (Breach("shape", misfit),)
    return tuple(finding for judge in JUDGES for finding in judge(problem, schedule).findings())


def _misfit(problem: ExactProblem, schedule: Schedule) -> str | None:
    """Whether the schedule is one of another problem."""
    lengths = {len(schedule.starts), len(schedule.issues), len(schedule.agents)}
    if lengths != {len(problem.ops)} or len(schedule.copies) != len(problem.rings):
        return "the schedule has not one entry for each op and each ring"
    if schedule.ii < 1 or set(schedule.agents) != set(range(len(schedule.origins))):
        return "the interval is not positive, or the agents are not numbered from 0 without gaps"
    return None
