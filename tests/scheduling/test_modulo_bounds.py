"""The reservation table and the four bounds: worked numbers, and no bound above what trying everything finds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.corpora import each
from tests.support.scheduling_problems import is_feasible, optimum, random_problem
from tileas_xdsl.scheduling.cycles import TimedEdge
from tileas_xdsl.scheduling.modulo.bounds import (
    Bounds,
    bounds_of,
    dep_mii,
    fine_mii,
    rec_mii,
    res_mii,
    span_of_one_stage,
)
from tileas_xdsl.scheduling.modulo.distances import NO_PATH, DependenceCycleError, distance_matrix
from tileas_xdsl.scheduling.modulo.problem import Constraints, ModuloProblem, TimedOp
from tileas_xdsl.scheduling.modulo.reservation import ReservationTable
from tileas_xdsl.targets.machine_model import SlotUse
from tileas_xdsl.targets.machine_models import PUBLISHED


def published(name: str, vector: str) -> TimedOp:
    """An op of the published model."""
    found = PUBLISHED.vectors[vector]
    return TimedOp(name, tuple(SlotUse(use.slot, use.rows, use.amount) for use in found.uses), found.latency)


WORKED = ModuloProblem(
    (
        published("load", "tma_load"),
        published("write", "shared_write"),
        published("product", "product"),
        published("read", "shared_read"),
    ),
    capacities=PUBLISHED.capacities,
)
"""One TMA load, one write of shared memory, one WGMMA, one read of shared memory."""


def test_the_worked_resource_bound_is_fifteen() -> None:
    bound = res_mii(WORKED)
    assert (bound.value, bound.reason) == (15, "slot tp_smem_wr: load 8, write 7")


def test_at_eight_the_write_finds_no_seat() -> None:
    table = ReservationTable(WORKED, 8)
    for op in (0, 2):
        start = table.first_fit(op, 0, 7)
        assert start == 0
        table.enter(op, start)
    assert table.first_fit(1, 0, 7) is None
    assert table.first_fit(3, 0, 7) == 0
    wider = ReservationTable(WORKED, 15)
    wider.enter(0, 0)
    assert wider.first_fit(1, 0, 14) == 8


# The table ------------------------------------------------------------------------------------------------------------


def test_footprints_fold_round_the_end() -> None:
    table = ReservationTable(ModuloProblem((TimedOp("a", (SlotUse("x", 3),)), TimedOp("b", (SlotUse("x", 2),)))), 5)
    table.enter(0, 4)
    assert list(table.fitting(1, 0, 100)) == [2]
    assert list(table.fitting(1, 3, 6)) == []
    table.remove(0)
    assert list(table.fitting(1, 3, 6)) == [3, 4, 5, 6]


def test_a_footprint_longer_than_the_interval_meets_itself() -> None:
    table = ReservationTable(ModuloProblem((TimedOp("a", (SlotUse("x", 6),)),)), 5)
    assert table.first_fit(0, 0, 10) is None
    twice = ReservationTable(ModuloProblem((TimedOp("a", (SlotUse("x", 6),)),), capacities={"x": 2}), 5)
    assert twice.first_fit(0, 0, 10) == 0


def test_pools_are_counted() -> None:
    ops = tuple(TimedOp(name, (SlotUse("pool", 2, 2),)) for name in "abc")
    table = ReservationTable(ModuloProblem(ops, capacities={"pool": 4}), 3)
    table.enter(0, 0)
    assert table.first_fit(1, 0, 2) == 0
    table.enter(1, 0)
    assert table.first_fit(2, 0, 2) is None
    table.remove(1)
    assert table.first_fit(2, 0, 2) == 0


def test_asking_changes_nothing_and_names_who_stands_in_the_way() -> None:
    table = ReservationTable(WORKED, 15)
    table.enter(0, 0)
    assert not table.fits(1, 3)
    assert table.holders(1, 3) == [0]
    assert table.starts == {0: 0}
    assert table.taken_in_row(3) == 2


# Bounds ---------------------------------------------------------------------------------------------------------------


def test_the_recurrence_bound_names_its_cycle() -> None:
    ops = tuple(TimedOp(name, (), 3) for name in "abc")
    edges = (TimedEdge(0, 1, 3), TimedEdge(1, 2, 3), TimedEdge(2, 0, 3, 2))
    bound = rec_mii(ModuloProblem(ops, edges))
    assert bound.value == 5
    assert "9 cycles over 2 iterations" in bound.reason
    assert set(bound.ops) == {0, 1, 2}


def test_the_fine_bound_sees_ops_that_exclude_each_other_in_pairs() -> None:
    """Each slot alone asks for 8 cycles; no two of the three ops overlap."""
    ops = (
        TimedOp("ab", (SlotUse("a", 4), SlotUse("b", 4))),
        TimedOp("bc", (SlotUse("b", 4), SlotUse("c", 4))),
        TimedOp("ca", (SlotUse("c", 4), SlotUse("a", 4))),
    )
    problem = ModuloProblem(ops)
    assert res_mii(problem).value == 8
    assert fine_mii(problem).value == 12
    assert bounds_of(problem).mii == 12
    assert not is_feasible(problem, 11)


def test_the_depth_bound_follows_from_the_stages_allowed() -> None:
    ops = (TimedOp("a", (), 20), TimedOp("b", (), 1))
    edges = (TimedEdge(0, 1, 20),)
    assert dep_mii(ModuloProblem(ops, edges)).value == 0
    assert dep_mii(ModuloProblem(ops, edges, most_stages=2)).value == 11
    deep = (ops[0], TimedOp("b", (), 1, Constraints(max_depth=1)))
    assert dep_mii(ModuloProblem(deep, edges)).value == 21


def test_the_depth_bound_counts_transfers_one_after_the_other() -> None:
    loads = (TimedOp("a", (SlotUse("tma", 8),), 10), TimedOp("b", (SlotUse("tma", 8),), 10))
    problem = ModuloProblem((*loads, TimedOp("wait")), (TimedEdge(0, 2, 10), TimedEdge(1, 2, 10)), most_stages=1)
    assert dep_mii(problem).value == 19
    assert is_feasible(problem, 19)


def test_one_stage_spans_the_ops_of_a_slot() -> None:
    """A wait, work elsewhere and a product: the agent is there from the wait to what it does behind the product."""
    agent = tuple(
        TimedOp(name, (SlotUse("agent", rows),), rows) for name, rows in (("issue", 1), ("use", 8), ("end", 2))
    )
    copy = TimedOp("copy", (SlotUse("tma", 4),), 10)
    edges = (TimedEdge(0, 3, 1), TimedEdge(3, 1, 10), TimedEdge(1, 2, 8))
    problem = ModuloProblem((*agent, copy), edges, most_stages=1)
    assert bounds_of(problem).mii == 20
    assert span_of_one_stage(problem) == 21
    assert not is_feasible(problem, 20)
    assert is_feasible(problem, 21)
    assert span_of_one_stage(replace(problem, most_stages=2)) == 0


SPANS = range(120)


@each("seed", SPANS, 30)
def test_nothing_fits_into_one_stage_below_its_span(seed: int) -> None:
    problem = random_problem(seed, most_stages=1)
    try:
        least = bounds_of(problem).mii
    except DependenceCycleError:
        return
    span = span_of_one_stage(problem)
    for ii in range(least, span):
        assert not is_feasible(problem, ii), ii


def test_the_span_is_more_than_the_bounds_say_somewhere() -> None:
    """So that the test above has something to refute."""
    problems = [random_problem(seed, most_stages=1) for seed in SPANS]
    assert sum(span_of_one_stage(problem) > bounds_of(problem).mii for problem in problems) > 5


@pytest.mark.parametrize("bound", ["res", "rec", "fine", "dep"])
def test_each_bound_is_the_largest_somewhere(bound: str) -> None:
    problems = {
        "res": ModuloProblem(tuple(TimedOp(name, (SlotUse("x", 8), SlotUse("y", 2))) for name in "ab")),
        "rec": ModuloProblem((TimedOp("a", (), 9),), (TimedEdge(0, 0, 9, 1),)),
        "fine": ModuloProblem(tuple(TimedOp(p, tuple(SlotUse(s, 4) for s in p)) for p in ("ab", "bc", "ca"))),
        "dep": ModuloProblem((TimedOp("a", (), 9), TimedOp("b")), (TimedEdge(0, 1, 9),), most_stages=1),
    }
    bounds = bounds_of(problems[bound])
    assert bounds.binding is getattr(bounds, bound)
    others = [other for other in bounds.all if other is not bounds.binding]
    assert all(other.value < bounds.mii for other in others)


def test_a_cycle_within_one_iteration_is_named() -> None:
    ops = tuple(TimedOp(name, (), 1) for name in "abc")
    with pytest.raises(DependenceCycleError, match=r"within one iteration: (b -> c -> b|c -> b -> c)"):
        bounds_of(ModuloProblem(ops, (TimedEdge(0, 1, 1), TimedEdge(1, 2, 1), TimedEdge(2, 1, 0))))


def test_distances_are_longest_paths() -> None:
    ops = tuple(TimedOp(name) for name in "abcd")
    edges = (TimedEdge(0, 1, 2), TimedEdge(1, 2, 3), TimedEdge(0, 2, 4), TimedEdge(2, 0, 1, 1))
    matrix = distance_matrix(ModuloProblem(ops, edges), 10)
    assert matrix[0, 2] == 5
    assert matrix[2, 1] == 1 - 10 + 2
    assert matrix[0, 3] == matrix[3, 0] == NO_PATH


def exceeded(bounds: Bounds, best: int) -> list[str]:
    return [bound.name for bound in bounds.all if bound.value > best]


@each("seed", range(400), 60)
def test_no_bound_exceeds_the_optimum(seed: int) -> None:
    problem = random_problem(seed, most_ops=5, most_stages=(1 << 30, 1, 2)[seed % 3])
    bounds = bounds_of(problem)
    best = optimum(problem, 1, 24)
    assert best is not None
    assert exceeded(bounds, best) == []
