"""The order of the family is data; here it is held against its reasons, and the driver against its options."""

from __future__ import annotations

import dataclasses
import re

import pytest
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.utils.exceptions import PassFailedException

from tests.support.ir import ROOT, context, parse, universe
from tileas_xdsl.names import PASSES
from tileas_xdsl.pipelines import DEMANDS, FAMILY, ORDER, STRATEGY_HELP, TileIRPass

NAMES = [step.name for step in FAMILY]


def test_every_pass_stands_once_but_the_one_that_cleans_up_twice() -> None:
    twice = {name for name in NAMES if NAMES.count(name) > 1}
    assert twice == {"tileas-remove-layout-conversions"}
    assert NAMES[-1] not in twice
    around = NAMES.index("tileas-materialize-convert-layout")
    assert NAMES[around - 1] in twice
    assert NAMES[NAMES.index("tileas-assign-load-store-layouts") + 1] in twice


@pytest.mark.parametrize(("before", "after", "why"), ORDER)
def test_family_keeps_the_order(before: str, after: str, why: str) -> None:
    assert NAMES.index(before) < NAMES.index(after), why


ORDERED = [
    ("tileas-queue-to-pipeline", "tileas-materialize-async"),
    ("tileas-materialize-async", "tileas-materialize-schedule"),
    ("tileas-materialize-convert-layout", "tileas-unroll-register-loops"),
    ("tileas-assign-layouts", "tileas-materialize-convert-layout"),
    ("tileas-remove-layout-conversions", "tileas-materialize-convert-layout"),
    ("tileas-materialize-convert-layout", "tileas-legalize-tmem-copy"),
    ("tileas-prepare-for-scheduling", "tileas-generate-schedule"),
    ("tileas-generate-schedule", "tileas-materialize-schedule"),
    ("tileas-unspecialized-pipeline", "tileas-optimize-pipeline-region"),
    ("tileas-materialize-schedule", "optimize-execution-unit-mapping"),
    ("tileas-materialize-schedule", "propagate-execution-unit"),
    ("tileas-dynamic-persistent", "tileas-generate-schedule"),
]
"""(before, after): pairs that the description of TileAS orders."""


@pytest.mark.parametrize("pair", ORDERED)
def test_order_table_has_every_ordered_pair(pair: tuple[str, str]) -> None:
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
        "tileas-hoist-guarded-loads",
        "tileas-stage-plain-tiles",
        "tileas-prepare-for-scheduling",
        "tileas-generate-schedule",
        "tileas-assign-buffers",
        "tileas-materialize-schedule",
        "tileas-unspecialized-pipeline",
        "tileas-optimize-pipeline-region",
        "tileas-remove-dead-work",
        "propagate-execution-unit",
        "optimize-execution-unit-mapping",
    }


def test_strategy_none_leaves_loads_as_they_are_on_the_way_to_threads() -> None:
    for threads in (False, True):
        names = [step.name for step in TileIRPass(pipeline_strategy="none", layouts=True, threads=threads).steps()]
        assert ("tileas-materialize-async" in names) is not threads


@pytest.mark.parametrize(
    ("driver", "needed"),
    [
        (TileIRPass(enable_random_delay=True), None),
    ],
)
def test_option_without_its_pass_is_refused_by_name(driver: TileIRPass, needed: str | None) -> None:
    if needed in PASSES:
        pytest.fail(f"{needed} exists now: move this case to the tests of the option")
    with pytest.raises(PassFailedException, match=needed or "enable-random-delay=true is read by no pass yet"):
        driver.apply(context(), parse("func.func @f() {\n func.return\n}"))


def test_driver_is_a_pass_of_stock_xdsl_opt() -> None:
    assert universe().all_passes["tileir"]() is TileIRPass


# What the target allows -----------------------------------------------------------------------------------------------

BLOCK_SCALED = """
func.func @f(%a: tensor<128x64xf8E4M3FN>, %b: tensor<64x128xf8E4M3FN>, %c: tensor<128x128xf32>,
             %s: tensor<128x2xf8E8M0FNU>, %t: tensor<2x128xf8E8M0FNU>) {
  %d = nv_tileas.block_scaled_mma %a, %b, %c sfa(%s) sfb(%t) : (tensor<128x64xf8E4M3FN>, tensor<64x128xf8E4M3FN>,
    tensor<128x128xf32>, tensor<128x2xf8E8M0FNU>, tensor<2x128xf8E8M0FNU>) -> tensor<128x128xf32>
  func.return
}
"""

NOT_HERE = "mma block scale is not supported by compute capability < sm100"


@pytest.mark.parametrize(
    ("target", "refusal"),
    [
        ("sm_80", NOT_HERE),
        ("sm_90a", NOT_HERE),
        ("sm_100", None),
        ("sm_121a", None),
        ("hopper", "failed to get the target spec"),
    ],
)
def test_block_scaled_multiplication_needs_a_target_that_has_it(target: str, refusal: str | None) -> None:
    module = parse(BLOCK_SCALED)
    before = str(module)
    driver = TileIRPass(compute_capability=target)
    if refusal is None:
        driver.apply(context(), module)
    else:
        with pytest.raises(PassFailedException, match=refusal):
            driver.apply(context(), module)
        assert str(module) == before


def test_what_the_ir_says_of_its_target_wins_over_the_option() -> None:
    module = parse(BLOCK_SCALED)
    module.attributes["nv_tileaa.compute_capability"] = IntegerAttr(90, i32)
    with pytest.raises(PassFailedException, match=NOT_HERE):
        TileIRPass(compute_capability="sm_100").apply(context(), module)


def test_options_carry_the_help_texts_of_the_original() -> None:
    texts = {field.name: field.metadata.get("help") for field in dataclasses.fields(TileIRPass) if field.init}
    assert texts["num_warps"] == "number of warps"
    assert texts["num_ctas"] == "number of ctas in a cga"
    assert texts["compute_capability"] == "compute capability"
    assert texts["opt_level"] == (
        "Optimization level for NVVM compilation. Please notice that the default value is 2 and can be set from 0 to 3."
    )
    assert texts["v2_opt_level"] == "Optimization level for tile_ir V2 pass pipeline."
    assert texts["pipeline_strategy"] == "Select the strategy of pipelining optimization."
    assert texts["index_bitwidth"] == "Bitwidth of the index type, 0 to use size of machine word."
    assert texts["unspecialized_pipeline_num_stages"] == "numStages for unspecialized pipeline pass."
    assert texts["dynamic_persistent"] == "Enable dynamic persistent transformation"
    assert texts["enable_random_delay"] == "enable random delay"
    assert STRATEGY_HELP == {
        "none": "no pipelining optimization",
        "unspecialize": "do pipelining for unspecialized flow",
        "warp-specialize": "do pipelining for warp specialized flow",
    }


# The driver's tables --------------------------------------------------------------------------------------------------


def test_every_option_of_the_driver_is_handed_on_or_demands_a_pass_or_is_the_drivers_own() -> None:
    options = {field.name for field in dataclasses.fields(TileIRPass) if field.init}
    handed_on = {source for member in FAMILY for _, source in member.options}
    handed_on |= {member.switch for member in FAMILY if member.switch is not None}
    handed_on -= {name for name, entry in vars(TileIRPass).items() if isinstance(entry, property)}
    demanding = {demand.option for demand in DEMANDS}
    assert handed_on | demanding | {"compute_capability"} == options
    assert not handed_on & demanding
    assert {demand.needed for demand in DEMANDS if demand.needed is not None} <= set(NAMES)


def test_options_that_are_handed_on_are_options_of_the_pass() -> None:
    (pipeliner,) = [
        step
        for step in TileIRPass(pipeline_strategy="unspecialize", unspecialized_pipeline_num_stages=7).steps()
        if step.name == "tileas-unspecialized-pipeline"
    ]
    assert pipeliner.num_stages == 7


@pytest.mark.parametrize(
    ("driver", "spelled"),
    [
        (TileIRPass(pipeline_strategy="warp-specialize"), "pipeline-strategy=warp-specialize"),
        (TileIRPass(enable_random_delay=True), "enable-random-delay=true"),
        (TileIRPass(index_bitwidth=64), "index-bitwidth=64"),
        (TileIRPass(v2_opt_level=1), "v2-opt-level=1"),
    ],
)
def test_a_demand_is_spelled_as_in_a_pass_pipeline(driver: TileIRPass, spelled: str) -> None:
    assert [demand.spelled_for(driver) for demand in DEMANDS if demand.is_made_by(driver)] == [spelled]


def test_the_gap_table_says_which_passes_are_built() -> None:
    rows = re.findall(r"^\| .*?\| `([\w-]+)` \| (yes|in part|no) \|", (ROOT / "docs/gap-table.md").read_text(), re.M)
    assert [name for name, _ in rows[: len(FAMILY)]] == [step.name for step in FAMILY]
    assert [built != "no" for _, built in rows] == [name in PASSES for name, _ in rows]
