"""Lower bounds of the initiation interval, their witnesses, and cycles of difference constraints."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import permutations

import pytest

from tests.support import slot_kernels as kernels
from tests.support.slot_kernels import kernel
from tileas_xdsl.scheduling.cycles import TimedEdge, earliest_starts, largest_ratio, ratio_of, worst_cycle
from tileas_xdsl.scheduling.exact.bounds import bounds_of
from tileas_xdsl.scheduling.exact.problem import Dependence, ExactProblem, MachineLimits, OpSpec, SlotLimit
from tileas_xdsl.targets.machine_model import SlotUse

GEMM = ["slot 12 (tma): a 8, b 8", "slot 16 (smem_wr): a 8, b 8", "cycle m -> m: 16 in an iteration"]


@pytest.mark.parametrize(
    ("problem", "res_mii", "rec_mii", "witnesses"),
    [
        (kernels.GEMM, 16, 16, GEMM),
        (kernels.TWO_GROUPS, 24, 16, ["slot 12 (tma): ax 8, ay 8, b 8", "slot 16 (smem_wr): ax 8, ay 8, b 8"]),
        (kernels.EPILOGUE, 24, 1, ["slot 12 (tma): a 8, b 8, s 8"]),
        (kernels.WORKED_NUMBERS, 15, 1, ["slot 16 (smem_wr): l 8, w 7"]),
        (kernels.ATTENTION, 20, 20, None),
        (kernels.CHAIN, 31, 16, ["slot 16 (smem_wr): a 8, b 8, c 8, w 7"]),
        (kernels.CONVOLUTION, 16, 16, None),
        (kernels.STENCIL, 29, 1, ["slot 15 (smem_rd): rx 7, ry 7, rz 7, s 8"]),
        (kernels.REDUCTION, 8, 2, None),
        (kernels.LAYER_NORM, 28, 1, None),
        (kernels.BLOCK_SCALED, 32, 16, None),
        (kernels.INTERLOCK, 14, 18, ["cycle a -> b -> c -> a: 18 in an iteration"]),
    ],
)  # fmt: skip
def test_bounds_of_kernels(problem: ExactProblem, res_mii: int, rec_mii: int, witnesses: list[str] | None) -> None:
    bounds = bounds_of(problem)
    assert (bounds.res_mii, bounds.rec_mii, bounds.mii) == (res_mii, rec_mii, max(res_mii, rec_mii))
    if witnesses is not None:
        assert [str(witness) for witness in bounds.binding] == witnesses


def test_a_pool_is_filled_by_amounts() -> None:
    ops = tuple(OpSpec(name, (SlotUse("ports", 3, 2),), 1) for name in "abc")
    bounds = bounds_of(ExactProblem(ops, MachineLimits((SlotLimit("ports", 4),))))
    assert bounds.mii == 5
    assert [str(witness) for witness in bounds.binding] == ["slot ports: a 6, b 6, c 6 of 4 a cycle"]


def test_a_long_footprint_binds_on_a_single_unit_only() -> None:
    """On one unit it meets that of the next iteration; with three, up to three iterations overlap."""
    op = OpSpec("a", (SlotUse("unit", 6),), 1)
    assert bounds_of(ExactProblem((op,), MachineLimits((SlotLimit("unit", 1),)))).footprint is not None
    bounds = bounds_of(ExactProblem((op,), MachineLimits((SlotLimit("unit", 3),))))
    assert (bounds.footprint, bounds.mii) == (None, 2)


def test_nothing_binds() -> None:
    bounds = bounds_of(ExactProblem((OpSpec("a"),), MachineLimits(())))
    assert (bounds.mii, bounds.binding) == (1, ())


def test_a_cycle_over_several_iterations() -> None:
    ops = (OpSpec("a", latency=5), OpSpec("b", latency=4))
    edges = (Dependence("a", "b", 5, 1), Dependence("b", "a", 4, 1))
    bounds = bounds_of(ExactProblem(ops, MachineLimits(()), edges))
    assert bounds.mii == 5
    assert [str(witness) for witness in bounds.binding] == ["cycle a -> b -> a: 9 in 2 iterations"]


def test_the_mii_is_tight() -> None:
    assert bounds_of(kernel("T a b", "a>b")).mii == 16


# Cycles ---------------------------------------------------------------------------------------------------------------


def random_edges(generator: random.Random) -> tuple[int, list[TimedEdge]]:
    """Up to six nodes; edges forward in one iteration, edges of any direction to later ones."""
    nodes = generator.randint(1, 6)
    edges: list[TimedEdge] = []
    for _ in range(generator.randint(1, 12)):
        source, sink = generator.randrange(nodes), generator.randrange(nodes)
        distance = generator.randint(0 if source < sink else 1, 3)
        edges.append(TimedEdge(source, sink, generator.randint(-3, 9), distance))
    return nodes, edges


def ratios(nodes: int, edges: list[TimedEdge]) -> list[Fraction]:
    """Of every simple cycle, by enumeration."""
    best: dict[tuple[int, int], list[TimedEdge]] = {}
    for edge in edges:
        best.setdefault((edge.source, edge.sink), []).append(edge)
    found: list[Fraction] = []
    for length in range(1, nodes + 1):
        for loop in permutations(range(nodes), length):
            if loop[0] == min(loop):
                totals = {(0, 0)}
                for pair in zip(loop, [*loop[1:], loop[0]], strict=True):
                    totals = {(lat + e.latency, dist + e.distance) for lat, dist in totals for e in best.get(pair, [])}
                found += [Fraction(latency, distance) for latency, distance in totals if distance]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_the_largest_ratio_is_that_of_all_cycles(seed: int) -> None:
    nodes, edges = random_edges(random.Random(seed))
    expected = max((ratio for ratio in ratios(nodes, edges) if ratio > 0), default=None)
    cycle = largest_ratio(nodes, edges)
    assert (None if cycle is None else ratio_of(cycle)) == expected
    if cycle is not None:
        assert all(edge.sink == after.source for edge, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


@pytest.mark.parametrize("seed", range(60))
def test_starts_exist_exactly_from_the_largest_ratio_on(seed: int) -> None:
    nodes, edges = random_edges(random.Random(seed))
    cycle = largest_ratio(nodes, edges)
    least = 1 if cycle is None else max(1, -(-ratio_of(cycle) // 1))
    starts = earliest_starts(nodes, edges, least)
    assert starts is not None
    assert all(starts[e.sink] + least * e.distance >= starts[e.source] + e.latency for e in edges)
    if cycle is not None and least > 1:
        assert earliest_starts(nodes, edges, least - 1) is None
        assert worst_cycle(nodes, edges, least - 1) is not None
