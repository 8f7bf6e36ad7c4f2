"""The order of the family is data; here it is held against its reasons, and the driver against its options."""

from __future__ import annotations

import pytest
from xdsl.utils.exceptions import PassFailedException

from tests.support.ir import context, parse, universe
from tileas_xdsl.pipelines import FAMILY, ORDER, TileIRPass
from tileas_xdsl.universe import PASSES

NAMES = [step.name for step in FAMILY]


def test_every_pass_stands_once() -> None:
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(("before", "after", "why"), ORDER)
def test_family_keeps_the_order(before: str, after: str, why: str) -> None:
    assert NAMES.index(before) < NAMES.index(after), why


SECTION_19 = [
    ("tileas-queue-to-pipeline", "tileas-materialize-async"),
    ("tileas-materialize-async", "tileas-materialize-schedule"),
    ("tileas-materialize-convert-layout", "tileas-unroll-register-loops"),
    ("tileas-materialize-convert-layout", "tileas-legalize-tmem-copy"),
    ("tileas-prepare-for-scheduling", "tileas-generate-schedule"),
    ("tileas-generate-schedule", "tileas-materialize-schedule"),
    ("tileas-unspecialized-pipeline", "tileas-optimize-pipeline-region"),
    ("tileas-materialize-schedule", "optimize-execution-unit-mapping"),
    ("tileas-dynamic-persistent", "tileas-generate-schedule"),
]
"""The invariants of spec/tileas-passes.md section 19 that speak of two passes."""


@pytest.mark.parametrize("pair", SECTION_19)
def test_order_table_covers_section_19(pair: tuple[str, str]) -> None:
    assert pair in {(before, after) for before, after, _ in ORDER}


def test_region_optimiser_runs_right_after_the_pipeliner() -> None:
    assert NAMES.index("tileas-optimize-pipeline-region") == NAMES.index("tileas-unspecialized-pipeline") + 1


def test_driver_has_the_options_and_defaults_of_the_original() -> None:
    driver = TileIRPass()
    assert (driver.num_warps, driver.num_ctas, driver.compute_capability) == (4, 1, "sm_80")
    assert (driver.opt_level, driver.v2_opt_level, driver.pipeline_strategy) == (2, 0, "none")
    assert (driver.index_bitwidth, driver.unspecialized_pipeline_num_stages) == (32, 4)
    assert (driver.rrt_size_threshold, driver.max_constraint_iterations) == (4096, 10)
    assert (driver.dynamic_persistent, driver.schedule_trace_file, driver.enable_random_delay) == (False, "", False)


def test_strategy_none_leaves_out_scheduling_and_pipelining() -> None:
    pipelined = {step.name for step in FAMILY if "none" not in step.strategies}
    assert pipelined == {
        "tileas-generate-schedule",
        "tileas-materialize-schedule",
        "tileas-unspecialized-pipeline",
        "tileas-optimize-pipeline-region",
        "optimize-execution-unit-mapping",
    }


@pytest.mark.parametrize(
    ("driver", "needed"),
    [
        (TileIRPass(pipeline_strategy="warp-specialize"), "tileas-materialize-schedule"),
        (TileIRPass(dynamic_persistent=True), "tileas-dynamic-persistent"),
        (TileIRPass(schedule_trace_file="trace.json"), "tileas-generate-schedule"),
        (TileIRPass(rrt_size_threshold=0), "tileas-generate-schedule"),
        (TileIRPass(num_ctas=2), "tileas-plan-cta"),
    ],
)
def test_option_without_its_pass_is_refused_by_name(driver: TileIRPass, needed: str) -> None:
    if needed in PASSES:
        pytest.fail(f"{needed} exists now: move this case to the tests of the option")
    with pytest.raises(PassFailedException, match=needed):
        driver.apply(context(), parse("func.func @f() {\n func.return\n}"))


def test_driver_is_a_pass_of_stock_xdsl_opt() -> None:
    assert universe().all_passes["tileir"]() is TileIRPass
