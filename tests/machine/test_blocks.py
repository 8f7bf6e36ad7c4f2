"""Launches of many blocks, foretold from the code that ran on an H200, beside what they took there."""

from __future__ import annotations

from math import isclose

import pytest

from bench import launches
from bench.gpu.speed import SHAPES
from tests.machine.test_warps import CONTRACT, HEAD, measured
from tests.support.corpora import each
from tileas_xdsl.kernels.tuning.result import spearman
from tileas_xdsl.machine.warps.blocks import SimulatedBlocks, timing_beside_others
from tileas_xdsl.machine.warps.code import code_of
from tileas_xdsl.scheduling.launches import BlockTime
from tileas_xdsl.targets.measured.h200 import H200, H200_GPU, UNDER_LOAD, WHOLE

# Blocks beside each other ---------------------------------------------------------------------------------------------


def time_of(body: str, together: int, *, n: int = 100, threads: int = 32, loops: tuple[str, ...] = ("n",)) -> BlockTime:
    """What a block takes whose loop has `body`."""
    blocks = SimulatedBlocks(
        code=code_of(HEAD.format(threads=threads, before="", body=body), H200),
        contract=CONTRACT,
        timing=H200,
        serialized=False,
        numbers={"n": n},
        loops=loops,
        turns=n,
    )
    return blocks(together)


PRODUCTS = "mad.lo.s32 %r1, %r2, %r3, %r4;\n" * 40
CHAIN = "ex2.approx.ftz.f32 %r1, %r1;\n" * 10


def test_blocks_that_keep_a_port_busy_share_it() -> None:
    of_one = 40 * H200.instructions["multiply"].interval
    assert of_one <= time_of(PRODUCTS, 1, threads=128).turn <= 1.3 * of_one
    assert time_of(PRODUCTS, 2, threads=128).turn == pytest.approx(2 * of_one, rel=0.05)


def test_a_block_that_waits_leaves_room_for_another() -> None:
    assert time_of(CHAIN, 2).turn == pytest.approx(time_of(CHAIN, 1).turn, rel=0.05)


def test_small_trip_counts_stand_for_large_ones() -> None:
    few = time_of(CHAIN, 1, n=10)
    many = time_of(CHAIN, 1, n=1000)
    assert few.turn == pytest.approx(many.turn, rel=0.02)
    assert many.cycles == pytest.approx(few.rest + 1000 * few.turn, rel=0.02)


def test_without_a_number_for_its_loop_a_block_runs_as_it_is() -> None:
    whole = time_of(CHAIN, 1, n=30, loops=())
    assert whole.rest == 0
    assert whole.cycles == pytest.approx(time_of(CHAIN, 1, n=30).cycles, rel=0.02)


def test_few_multiprocessors_have_the_cache_to_themselves() -> None:
    one, half, all_ = (timing_beside_others(H200_GPU, blocks, 0.0) for blocks in (1, 66, 1000))
    assert one == H200
    assert all_ == H200_GPU.loaded
    assert H200.tma_bytes > half.tma_bytes > all_.tma_bytes


def test_what_comes_from_memory_comes_later() -> None:
    near, far = (timing_beside_others(H200_GPU, 1000, part) for part in (0.0, 0.5))
    assert far.l2_far - near.l2_far == H200_GPU.memory_latency / 2


# Figures --------------------------------------------------------------------------------------------------------------

FIGURES = {**UNDER_LOAD, **WHOLE}
MEGAHERTZ = ("clock", "products_clock")


@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if figure.source[1] == "."])
def test_a_measured_figure_is_the_one_that_was_measured(name: str) -> None:
    source = FIGURES[name].source
    if " less " in source:
        longer, _, shorter = source.partition(" less ")
        assert FIGURES[name].value == measured(longer) - measured(shorter)
        return
    unit = 1e6 if name in MEGAHERTZ else 1e-6 if name == "launch_seconds" else 1
    assert isclose(FIGURES[name].value, measured(source) * unit, rel_tol=0.01)


# Products that ran ----------------------------------------------------------------------------------------------------


@each("product", launches.products(), 6, ids=lambda product: product.name)
def test_the_kept_seconds_are_what_the_model_foretells(product: launches.Product) -> None:
    assert launches.foretold(product).seconds == pytest.approx(launches.kept()[product.name], rel=1e-3)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_order_of_programs_is_foretold(shape: launches.Shape) -> None:
    chosen = [product for product in launches.products() if product.shape == shape]
    foretold = launches.kept()
    assert len(chosen) == 33
    assert spearman([foretold[one.name] for one in chosen], [one.seconds for one in chosen]) >= 0.9


def test_foretold_seconds_are_near_the_measured_ones() -> None:
    foretold = launches.kept()
    errors = sorted(abs(foretold[one.name] / one.seconds - 1) for one in launches.products())
    assert len(errors) == 132
    assert errors[len(errors) // 2] <= 0.10
    assert errors[-1] <= 0.50


def test_ranks_that_are_equal_are_shared() -> None:
    assert spearman([1, 2, 3], [10, 20, 30]) == 1
    assert spearman([1, 2, 3], [3, 2, 1]) == -1
    assert spearman([1, 1, 2], [1, 2, 3]) == pytest.approx(0.866, abs=1e-3)
    assert spearman([1], [1]) == 0
    assert spearman([1, 1], [1, 2]) == 0
