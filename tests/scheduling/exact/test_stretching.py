"""
A schedule at one interval is one at every larger interval, by the independent validator; where it need not be; and what
halving makes of that.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import slot_kernels as kernels
from tests.support.corpora import each
from tests.support.random_problems import NOT_MONOTONE, random_problem, with_queues
from tileas_xdsl.scheduling.exact.bounds import bounds_of, schedules_stretch, serial_ii, stretched
from tileas_xdsl.scheduling.exact.halving import Halving
from tileas_xdsl.scheduling.exact.model import Formulation
from tileas_xdsl.scheduling.exact.problem import ExactProblem
from tileas_xdsl.scheduling.exact.result import ExactSchedule
from tileas_xdsl.scheduling.exact.schedule import Schedule
from tileas_xdsl.scheduling.exact.search import Limits, any_schedule, solve
from tileas_xdsl.scheduling.exact.solver import Answer, Limit
from tileas_xdsl.scheduling.exact.validate import validate
from tileas_xdsl.scheduling.exact.variables import Query

MOST = 60


def answer(problem: ExactProblem, ii: int) -> tuple[Answer, Schedule | None]:
    run, schedule = Formulation(Query(problem, ii, 1)).solve(Limit(10, 600))
    return run.answer, schedule


def late_enough(problem: ExactProblem) -> ExactProblem:
    """Without what must come soon enough, and with one unit that does two things at once."""
    slots = (replace(problem.machine.slots[0], capacity=2), *problem.machine.slots[1:])
    dependences = tuple(it for it in problem.dependences if it.latency >= 0)
    return replace(problem, dependences=dependences, machine=replace(problem.machine, slots=slots))


@each("seed", range(60), 15)
@pytest.mark.parametrize("registers", [False, True])
def test_every_schedule_stretches(seed: int, *, registers: bool) -> None:
    problem = late_enough(random_problem(seed, registers=registers))
    assert schedules_stretch(problem)
    found = next(schedule for ii in range(1, MOST) if (schedule := answer(problem, ii)[1]) is not None)
    for longer in (*range(found.ii, found.ii + 6), 3 * found.ii + 1):
        assert validate(problem, stretched(found, longer)) == ()


@each("seed", range(60), 15)
def test_schedules_stretch_where_each_op_of_an_engine_waits_for_one(seed: int) -> None:
    queued = with_queues(late_enough(random_problem(seed)))
    late = {op for queue in queued.queues for op in queue}
    issued = tuple(it for it in queued.dependences if it.sink not in late or it.distance == 0)
    problem = replace(queued, dependences=issued)
    assert problem.queues
    assert schedules_stretch(problem)
    found = next(schedule for ii in range(1, MOST) if (schedule := answer(problem, ii)[1]) is not None)
    for longer in (*range(found.ii, found.ii + 6), 3 * found.ii + 1):
        assert validate(problem, stretched(found, longer)) == ()


@each("seed", range(60), 10)
def test_the_solver_never_says_otherwise(seed: int) -> None:
    problem = late_enough(random_problem(seed, registers=True))
    answers = [answer(problem, ii)[0].has_solution for ii in range(1, 24)]
    assert answers == sorted(answers)


@each("seed", range(60), 15)
def test_halving_finds_what_refuting_each_interval_proves(seed: int) -> None:
    problem = late_enough(random_problem(seed, registers=True))
    result = solve(problem, Limits(seconds=30, explain=False, phases=False))
    assert isinstance(result, ExactSchedule)
    assert result.proven
    roomy = any_schedule(problem, serial_ii(problem, 1), 1)
    assert roomy is not None
    halving = Halving(problem, bounds_of(problem).mii - 1, roomy, seconds=10)
    halving.run()
    assert (halving.schedule.ii, halving.refuted_up_to) == (result.ii, result.ii - 1)
    assert validate(problem, halving.schedule) == ()
    trail = replace(result.trail, refuted=tuple(halving.refuted))
    assert replace(result, trail=trail).proven, "the last refutation stands for all smaller ones"


def test_halving_without_seconds_says_what_it_knows() -> None:
    problem = late_enough(random_problem(3, registers=True))
    roomy = any_schedule(problem, serial_ii(problem, 1), 1)
    assert roomy is not None
    halving = Halving(problem, 0, roomy, seconds=0)
    halving.run()
    assert (halving.schedule, halving.refuted_up_to, halving.refuted) == (roomy, 0, [])


@pytest.mark.parametrize("problem", [kernels.GEMM, kernels.ATTENTION, kernels.STENCIL, kernels.INTERLOCK])
def test_kernels_stretch(problem: ExactProblem) -> None:
    found = next(schedule for ii in range(1, 64) if (schedule := answer(problem, ii)[1]) is not None)
    assert validate(problem, stretched(found, found.ii + 5)) == ()


def test_what_must_come_soon_enough_does_not() -> None:
    assert not schedules_stretch(NOT_MONOTONE)
    _, schedule = answer(NOT_MONOTONE, 2)
    assert schedule is not None
    assert validate(NOT_MONOTONE, stretched(schedule, 3)) != ()
    assert answer(NOT_MONOTONE, 3)[0] is Answer.INFEASIBLE


@pytest.mark.parametrize("fields", [{"serial": True}, {"agents": 2}, {"queue": 3}, {"ceiling": 90}])
def test_limits_from_above_do_not(fields: dict[str, int]) -> None:
    own = {name: value for name, value in fields.items() if name in ("serial", "agents")}
    machine = {name: value for name, value in fields.items() if name not in own}
    problem = replace(kernels.GEMM, machine=replace(kernels.GEMM.machine, **machine), **own)
    assert schedules_stretch(kernels.GEMM)
    assert not schedules_stretch(problem)
