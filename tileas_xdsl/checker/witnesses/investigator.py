"""
The observer that explains mistakes: it adds a witness to each, and names a wrong phase where that is the cause.
"""

from __future__ import annotations

from tileas_xdsl.checker.witnesses.blame import at_fault
from tileas_xdsl.checker.witnesses.diagnosis import name_wrong_phases, phase_that_cannot_complete
from tileas_xdsl.checker.witnesses.witness import Witness, shown
from tileas_xdsl.checker.witnesses.witnesses import (
    Point,
    here,
    point_of,
    point_of_work,
    witness_about,
    witness_between,
    witness_of_standstill,
)
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.happens_before import Access
from tileas_xdsl.machine.core.observer import AnyObserver
from tileas_xdsl.machine.core.violations import Evidence, Misuse, Side, Standstill, Unordered, Violation


class Investigator(AnyObserver):
    """Adds a witness to every mistake. The machine has to record a trace."""

    def explained(self, machine: Machine, violation: Violation, evidence: Evidence) -> Violation:
        return shown(violation, _witness(machine, evidence), at_fault(machine, evidence))

    def standstill(self, machine: Machine) -> Violation | None:
        return phase_that_cannot_complete(machine)

    def ended(self, machine: Machine) -> None:
        name_wrong_phases(machine)


def _witness(machine: Machine, evidence: Evidence) -> Witness:
    match evidence:
        case Unordered(earlier, later, parties, lacks_fence):
            points = _point(machine, earlier), _point(machine, later)
            return witness_between(machine, *points, parties, with_fences=lacks_fence)
        case Misuse(agent, things, parties):
            return witness_about(machine, agent, things, parties)
        case Standstill(blocked, parties):
            return witness_of_standstill(machine, blocked, parties)


def _point(machine: Machine, side: Side) -> Point:
    if isinstance(side, Access):
        return point_of(machine, side)
    return point_of_work(side) if isinstance(side, AsyncWork) else here(machine, side)
