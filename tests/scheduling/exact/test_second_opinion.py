"""What the exact scheduler proves, another solver and enumeration prove too."""

from __future__ import annotations

from dataclasses import replace

from tests.support.corpora import each
from tests.support.random_problems import NOT_MONOTONE, random_problem, with_queues
from tests.support.second_solver import all_rows_say, z3_says
from tests.support.self_timed import self_timed_period
from tileas_xdsl.scheduling.exact.problem import ExactProblem
from tileas_xdsl.scheduling.exact.result import ExactSchedule
from tileas_xdsl.scheduling.exact.search import Limits, solve
from tileas_xdsl.scheduling.exact.validate import validate

QUICK = Limits(seconds=30, explain=False, phases=False)


def answer(problem: ExactProblem) -> ExactSchedule:
    result = solve(problem, QUICK)
    assert isinstance(result, ExactSchedule), result.text
    assert result.proven, result.text
    return result


@each("seed", range(60), 15)
def test_z3_agrees(seed: int) -> None:
    """From the bound, where a witness is the proof, to the interval: it has an answer to each question."""
    result = answer(small(seed))
    tried = range(max(1, result.trail.bounds.mii - 1), result.ii + 1)
    assert [z3_says(result.problem, ii) for ii in tried] == [False] * (len(tried) - 1) + [True]


def small(seed: int) -> ExactProblem:
    return random_problem(seed, ops=(4, 7), rows=5)


@each("seed", range(300, 360), 15)
def test_z3_agrees_on_engines_that_serve_in_order(seed: int) -> None:
    result = answer(with_queues(small(seed)))
    tried = range(max(1, result.trail.bounds.mii - 1), result.ii + 1)
    assert [z3_says(result.problem, ii) for ii in tried] == [False] * (len(tried) - 1) + [True]


def test_schedules_without_that_order_are_wrong() -> None:
    """Else the test above would say nothing of it. The judge, who shares no line with the formulation, finds them."""
    problems = [with_queues(small(seed)) for seed in range(300, 330)]
    wrong = [it for it in problems if validate(it, answer(replace(it, queues=())).schedule)]
    assert len(wrong) >= 3
    for problem in wrong:
        assert {breach.kind for breach in validate(problem, answer(replace(problem, queues=())).schedule)} == {"queue"}
        assert validate(problem, answer(problem).schedule) == ()


@each("seed", range(100, 160), 20)
def test_enumeration_agrees(seed: int) -> None:
    problem = random_problem(seed, ops=(3, 5), rows=3)
    result = answer(problem)
    for ii in range(1, min(result.ii, 6) + 1):
        assert all_rows_say(problem, ii) == (ii == result.ii), ii


@each("seed", range(60), 15)
def test_no_order_runs_below_the_proven_interval(seed: int) -> None:
    problem = random_problem(seed)
    result = answer(problem)
    assert result.ii - 1 < self_timed_period(problem, result.schedule) <= result.ii


@each("seed", range(200, 230), 10)
def test_registers_only_slow_down(seed: int) -> None:
    """With registers the order alone may run faster than the interval, never slower."""
    problem = random_problem(seed, registers=True)
    result = answer(problem)
    assert self_timed_period(problem, result.schedule) <= result.ii


def test_the_graphs_are_not_all_easy() -> None:
    """Of the 60 graphs at least a third have a least interval above the bound, to be proven by search."""
    answers = [answer(small(seed)) for seed in range(60)]
    assert sum(it.ii > it.trail.bounds.mii for it in answers) >= 20


def test_the_second_solver_would_object() -> None:
    """It does not say the same of every interval: two rows on one unit, exactly three cycles apart, fit 2 and not 3."""
    assert [z3_says(NOT_MONOTONE, ii) for ii in (1, 2, 3, 4)] == [False, True, False, True]
    assert [all_rows_say(NOT_MONOTONE, ii) for ii in (1, 2, 3, 4)] == [False, True, False, True]
