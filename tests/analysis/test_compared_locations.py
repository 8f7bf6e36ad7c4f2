"""
Which accesses of a loop body are compared: leaving pairs out that cannot meet changes no graph, and keeps it linear.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects import scf
from xdsl.ir import Operation

from bench.schedules import many_pairs
from tests.support.corpora import each
from tests.support.ir import parse, run_passes
from tests.support.random_loops import random_loop
from tests.support.scheduled_kernels import KERNELS, Kernel
from tileas_xdsl.analysis import dependence
from tileas_xdsl.analysis.dependence import dependence_graph
from tileas_xdsl.analysis.pipeline_dependence import pipeline_edges
from tileas_xdsl.diagnostics import recorded_diagnostics

NEIGHBOURS = "_Neighbours"


def every_pair(self: object, index: int) -> Sequence[int]:
    """All locations from number `index` on."""
    locations: Sequence[object] = getattr(self, "locations")  # noqa: B009
    return range(index, len(locations))


def graphs(module: Operation, alias: bool) -> list[tuple[object, ...]]:
    loops = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    return [dependence_graph(loop, arguments_alias=alias, providers=[pipeline_edges]).edges for loop in loops]


def assert_nothing_is_missed(module: Operation, monkeypatch: pytest.MonkeyPatch) -> None:
    for alias in (False, True):
        found = graphs(module, alias)
        with monkeypatch.context() as patched:
            patched.setattr(getattr(dependence, NEIGHBOURS), "of", every_pair)
            assert found == graphs(module, alias)


@each("seed", range(400), 60)
def test_no_edge_of_a_random_loop_is_missed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_nothing_is_missed(parse(random_loop(seed).function("f", scheduled=False)), monkeypatch)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("prepare", ["", ",tileas-prepare-for-scheduling{compute-capability=sm_90}"])
def test_no_edge_of_a_kernel_is_missed(kernel: Kernel, prepare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = parse(kernel.text)
    assert_nothing_is_missed(module, monkeypatch)
    with recorded_diagnostics():
        run_passes(module, f"tileas-materialize-async{prepare}")
    assert_nothing_is_missed(module, monkeypatch)


def test_rings_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many load chains, twice as many pairs."""
    compared: list[int] = []
    asked = getattr(dependence, "may_alias")  # noqa: B009

    def counting(*arguments: object, **options: bool) -> bool:
        compared[-1] += 1
        return asked(*arguments, **options)

    monkeypatch.setattr(dependence, "may_alias", counting)
    for pairs in (20, 40):
        module = run_passes(parse(many_pairs(pairs)), "tileas-materialize-async")
        compared.append(0)
        graphs(module, False)
    assert compared[1] <= 2.1 * compared[0]
