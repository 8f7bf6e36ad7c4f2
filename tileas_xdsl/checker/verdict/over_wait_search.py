"""
Waits of a case that are stronger than they need be: each is tried weaker in every call that was found right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tileas_xdsl.checker.verdict.cases import Case
from tileas_xdsl.checker.verdict.over_waits import Cost, OverWait, over_waits
from tileas_xdsl.machine.core.calling import execute
from tileas_xdsl.machine.core.orders import Lazy
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.core.what_if import Relaxation, WhatIf
from tileas_xdsl.machine.time.simulated_time import Timed
from tileas_xdsl.machine.time.simulation import timed_run
from tileas_xdsl.targets.cycles import timing_table

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine

TIMED_AS = "generic"
"""The target with whose cycles the cost of a wait is told."""


def look_for_over_waits(case: Case) -> None:
    """Report the waits that could be weaker, one by one, at each of the trip counts that were executed."""
    for relaxation, counts in over_waits(case.waits, lambda relaxation: _is_right_with(case, relaxation)):
        case.report.warnings.append(OverWait(case.name, relaxation, counts, _cost_of(case, relaxation)))


def _is_right_with(case: Case, relaxation: Relaxation) -> bool:
    return all(_execute_relaxed(case, values, relaxation) for values in case.right)


def _execute_relaxed(case: Case, values: Sequence[int], relaxation: Relaxation) -> bool:
    case.tell(f"{case.call(values)}: waits that could be weaker")
    machine = case.subject.machine(Lazy())
    machine.what_if = WhatIf(relaxed=relaxation)
    return _is_right(case, machine, values)


def _is_right(case: Case, machine: Machine, values: Sequence[int]) -> bool:
    """Whether one execution, of which nobody will be told, is right beyond doubt."""
    machine.trace.recording = False
    try:
        case.subject.execute(machine, case.scalars(values))
    except (UndecidedError, UnsupportedError):
        return False
    return machine.is_right_beyond_doubt


def _cost_of(case: Case, relaxation: Relaxation) -> Cost | None:
    """Cycles of the call with the largest values, under the order `timed`."""
    try:
        cycles = [_cycles_of(case, relaxed) for relaxed in (None, relaxation)]
    except (UndecidedError, UnsupportedError):
        return None
    return Cost(case.call(case.right[-1]), *cycles)


def _cycles_of(case: Case, relaxed: Relaxation | None) -> int:
    machine = case.subject.machine(Timed(timing_table(TIMED_AS)))
    machine.what_if = WhatIf(relaxed=relaxed)
    arguments = case.subject.arguments(case.scalars(case.right[-1]))
    return timed_run(case.name, machine, execute(machine, case.subject.op, arguments)).cycles
