"""Rings under load: how long a turn takes, how many slots it needs, and the schedules that give it as many."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from xdsl.dialects import scf

from tests.support.ir import ROOT, parse, run_passes
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReleaseOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.scheduling.loaded_schedules import Ring, latency_under_load, period_under_load, slots_needed
from tileas_xdsl.scheduling.modulo.problem import NO_LIMIT
from tileas_xdsl.scheduling.modulo.validator import faults
from tileas_xdsl.targets.machine_models import machine_model
from tileas_xdsl.targets.measured.h200 import H200
from tileas_xdsl.transforms.tileas.generate_schedule import GenerateSchedulePass, plan_module

GEMM = Ring(slots=2, slot_bytes=32 * 1024, product=512, released_late=True)


def test_latency_grows_with_what_is_on_its_way() -> None:
    found = [latency_under_load(1024 * size, H200) for size in (0, 8, 32, 48, 64, 96, 200)]
    assert found == sorted(found)
    assert found[-1] == found[-2]


def test_a_turn_is_never_shorter_than_its_product() -> None:
    for slots in range(1, 9):
        for late in (True, False):
            ring = replace(GEMM, slots=slots, released_late=late)
            assert period_under_load(ring, H200) >= 512


def test_more_slots_are_no_slower() -> None:
    for late in (True, False):
        found = [period_under_load(replace(GEMM, slots=n, released_late=late), H200) for n in range(1, 9)]
        assert all(more <= less + 0.5 for less, more in pairwise(found))


@pytest.mark.parametrize(("product", "expected"), [(512, 5), (1024, 3), (4096, 2)])
def test_longer_products_need_fewer_slots(product: int, expected: int) -> None:
    assert slots_needed(replace(GEMM, product=product), H200, 8) == expected


# Schedules ------------------------------------------------------------------------------------------------------------

BEFORE = "tileas-materialize-async,tileas-prepare-for-scheduling{compute-capability=TARGET}"


def scheduled(text: str, target: str, stages: int = 4, blocks: int = 1) -> tuple[int, int, list[int]]:
    """(interval, stages, slots of each ring) of the only loop of a program."""
    module = run_passes(parse(text), BEFORE.replace("TARGET", target))
    options = GenerateSchedulePass(compute_capability=target, num_stages=stages, under_load=True, blocks=blocks)
    (found,) = plan_module(module, options)
    assert isinstance(found.loop, scf.ForOp)
    return found.schedule.ii, found.schedule.peeled_stages, list(found.schedule.copies)


def gemm(rows: int = 128, depth: int = 64) -> str:
    """The example with tiles of other extents."""
    text = (ROOT / "examples" / "gemm_loop.mlir").read_text()
    extents = {"128x64x": f"{rows}x{depth}x", "64x128x": f"{depth}x128x", "128x128x": f"{rows}x128x"}
    return re.sub("|".join(extents), lambda match: extents[match[0]], text)


def test_a_product_gets_a_fourth_slot_since_three_are_too_few_under_load() -> None:
    assert scheduled(gemm(), "sm_90") == (530, 4, [4, 4])


def test_a_limit_of_stages_holds() -> None:
    assert scheduled(gemm(), "sm_90", stages=3) == (530, 3, [3, 3])
    assert scheduled(gemm(), "sm_90", stages=8) == scheduled(gemm(), "sm_90")


def test_the_slots_end_where_shared_memory_does() -> None:
    """Two slots of 96 KiB are 192 KiB; a third one has no room."""
    ii, _, slots = scheduled(gemm(256, 128), "sm_90", stages=8)
    assert ii > 2000
    assert slots == [2, 2]


def test_each_of_two_blocks_has_half_of_the_memory() -> None:
    assert scheduled(gemm(), "sm_90", blocks=2) == (530, 3, [3, 3])


# Several warpgroups ---------------------------------------------------------------------------------------------------

WIDE = """
#smem = #nv_tileas.layout<smem>
func.func @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf16>, %n: index, %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  BEGIN
  %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x256xf32>) {
    %at = nv_tileaa.tiled_load %a[%row, %k] : (memref<?x?xf16>, index, index) -> tensor<128x64xf16, #smem>
    %bt = nv_tileaa.tiled_load %b[%k, %col] : (memref<?x?xf16>, index, index) -> tensor<64x256xf16, #smem>
    %sum = nv_tileaa.dot %at, %bt, %acc
      : (tensor<128x64xf16, #smem>, tensor<64x256xf16, #smem>, tensor<128x256xf32>) -> tensor<128x256xf32>
    scf.yield %sum : tensor<128x256xf32>
  }
  %out = arith.truncf %product : tensor<128x256xf32> to tensor<128x256xf16>
  nv_tileaa.tiled_store %c[%row, %col], %out : (memref<?x?xf16>, tensor<128x256xf16>, index, index) -> ()
  END
  func.return
}
"""
ONE_TILE = WIDE.replace("BEGIN", "%col = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index").replace(
    "  END\n", ""
)
MANY_TILES = WIDE.replace("BEGIN", "scf.for %col = %c0 to %tiles step %c1 {").replace("END", "}")


def slots_of_two_warpgroups(text: str, stages: int = 4) -> list[int]:
    module = run_passes(parse(text), BEFORE.replace("TARGET", "sm_90"))
    options = GenerateSchedulePass(compute_capability="sm_90", num_stages=stages, num_warps=8, agents=True)
    (found,) = plan_module(module, options)
    return list(found.schedule.copies)


def test_two_warpgroups_have_four_slots_each_of_48_kib() -> None:
    """The result of 64 KiB has room in the slots: behind the only loop of a kernel nobody fills them any more."""
    assert slots_of_two_warpgroups(ONE_TILE) == [4, 4]


def test_a_warpgroup_of_two_waits_for_its_product_in_the_turn_that_starts_it() -> None:
    """The other one multiplies meanwhile, so nothing is lost, and each slot is free a turn sooner."""
    module = run_passes(parse(ONE_TILE), BEFORE.replace("TARGET", "sm_90"))
    options = GenerateSchedulePass(compute_capability="sm_90", num_stages=4, num_warps=8, agents=True)
    (found,) = plan_module(module, options)
    stages = {type(op): found.schedule.stage(number) for number, op in enumerate(found.problem.ops)}
    assert stages[AsyncDotOp] == stages[AsyncWaitOp] == stages[ConsumerReleaseOp]
    problem = replace(found.schedule.problem, most_stages=NO_LIMIT)
    assert faults(problem, found.schedule.ii, found.schedule.starts) == []
    (alone,) = plan_module(module, replace(options, num_warps=4, under_load=True))
    stages = {type(op): alone.schedule.stage(number) for number, op in enumerate(alone.problem.ops)}
    assert stages[AsyncDotOp] < stages[AsyncWaitOp]


def test_the_number_of_stages_limits_the_slots_that_an_agent_fills() -> None:
    assert slots_of_two_warpgroups(ONE_TILE, stages=3) == [3, 3]


def test_a_result_that_is_staged_while_slots_are_filled_has_room_beside_them() -> None:
    """Three slots and 64 KiB are 208 of the 227 KiB."""
    assert slots_of_two_warpgroups(MANY_TILES) == [3, 3]


def test_without_the_option_nothing_leads() -> None:
    module = run_passes(parse(gemm()), BEFORE.replace("TARGET", "sm_90"))
    (found,) = plan_module(module, GenerateSchedulePass(compute_capability="sm_90"))
    assert list(found.schedule.copies) == [3, 3]


@pytest.mark.parametrize(("target", "expected"), [("sm_80", [2, 2]), ("sm_100", [3, 2])])
def test_targets_without_measured_figures_keep_their_schedules(target: str, expected: list[int]) -> None:
    assert machine_model(target).measured is None
    _, _, slots = scheduled(gemm(), target)
    assert slots == expected


def test_interval_and_rows_stay() -> None:
    module = run_passes(parse(gemm()), BEFORE.replace("TARGET", "sm_90"))
    few, many = (
        plan_module(module, GenerateSchedulePass(compute_capability="sm_90", num_stages=stages, under_load=True))[
            0
        ].schedule
        for stages in (3, 5)
    )
    assert [many.row(op) for op in range(len(many.starts))] == [few.row(op) for op in range(len(few.starts))]
    assert all(edge.slack(many.start_of, many.ii) >= 0 for edge in many.problem.edges)
