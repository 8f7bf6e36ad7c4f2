"""
Registers bind: of a loop whose tiles have to fit the registers of the agents that hold them, the least interval.

    without registers     II = 1051, and what is refuted below it is refuted with registers, too
    does it fit?          then the proof holds as it stands
    another one at 1051?  sought in few stages
    else                  between 1051 and the serial interval, by halving: `exact/halving.py`

So an interval that registers lengthen is found and bounded, where the problem is too large to refute each interval on
its own: nothing in the problem of a loop has to come soon enough, so that one refutation does for all below it.
"""

from __future__ import annotations

from dataclasses import replace

from tileas_xdsl.scheduling.exact.bounds import bounds_of
from tileas_xdsl.scheduling.exact.explain import pool_text
from tileas_xdsl.scheduling.exact.halving import Halving
from tileas_xdsl.scheduling.exact.horizon import serial_ii
from tileas_xdsl.scheduling.exact.problem import ExactProblem
from tileas_xdsl.scheduling.exact.registers_at_once import crowded_op
from tileas_xdsl.scheduling.exact.result import ExactSchedule, ScheduleSource, Trail
from tileas_xdsl.scheduling.exact.schedule import Schedule
from tileas_xdsl.scheduling.exact.search import any_schedule
from tileas_xdsl.scheduling.exact.stretching import schedules_stretch
from tileas_xdsl.scheduling.exact.validate import validate
from tileas_xdsl.scheduling.modulo.schedule import IntervalProof
from tileas_xdsl.scheduling.proven import ProvenSchedule, as_exact, exact_problem, starts_of
from tileas_xdsl.scheduling.register_tiles import TilesInRegisters


def in_registers(found: ProvenSchedule, tiles: TilesInRegisters, seconds: float) -> ProvenSchedule:
    """
    `found`, if `tiles` fit their registers in it; else the schedule with the least interval in which they do, as far as
    it is found in about so many deterministic seconds; else `found`, with what it would need in its proof.
    """
    problem = exact_problem(found.schedule.problem, tiles)
    breaches = validate(problem, as_exact(found.schedule))
    if not breaches:
        return found
    same = None if crowded_op(problem) else any_schedule(problem, found.schedule.ii, seconds / 2)
    if same is not None:
        return replace(found, schedule=replace(found.schedule, starts=starts_of(problem, same)))
    roomy = _some_schedule(problem, found, seconds / 2) if schedules_stretch(problem) else None
    if roomy is not None:
        return _later(found, problem, roomy, seconds)
    proof = _proof_of(found)
    why = crowded_op(problem) or breaches[0].text
    text = f"{proof.text}; registers do not suffice: {why}"
    return replace(found, schedule=replace(found.schedule, proof=replace(proof, text=text)), fits=False)


def _some_schedule(problem: ExactProblem, found: ProvenSchedule, seconds: float) -> Schedule | None:
    """The heuristic's, if it fits; else one in which iterations need not overlap."""
    heuristic = as_exact(_proof_of(found).heuristic)
    if not validate(problem, heuristic):
        return heuristic
    return None if crowded_op(problem) else any_schedule(problem, serial_ii(problem, 1), seconds)


def _later(found: ProvenSchedule, problem: ExactProblem, roomy: Schedule, seconds: float) -> ProvenSchedule:
    """The least interval between that of `found` and that of `roomy`."""
    halving = Halving(problem, found.result.lower_bound - 1, roomy, seconds)
    halving.run()
    schedule = any_schedule(problem, halving.schedule.ii, seconds / 2) or halving.schedule
    trail = Trail(
        bounds_of(problem),
        (*found.result.trail.refuted, *halving.refuted),
        tuple(range(halving.refuted_up_to + 1, halving.schedule.ii)),
        found.result.trail.seconds + halving.spent,
        (),
        nondeterministic=found.result.trail.nondeterministic,
    )
    result = ExactSchedule(problem, schedule, ScheduleSource.SOLVER, trail, (), fewest_proven=True)
    full = " and ".join(pool_text(problem, pool.name) for pool in problem.machine.pools)
    relation = "=" if found.result.proven else "<="
    text = f"{result.text}; {full}; without regard to them, II {relation} {found.schedule.ii}"
    before = _proof_of(found)
    fits = not validate(problem, as_exact(before.heuristic))
    proof = IntervalProof(text, result.lower_bound, before.heuristic, heuristic_fits=fits)
    starts = starts_of(problem, schedule)
    return ProvenSchedule(replace(found.schedule, ii=result.ii, starts=starts, proof=proof), result)


def _proof_of(found: ProvenSchedule) -> IntervalProof:
    assert found.schedule.proof is not None, "it was proven"
    return found.schedule.proof
