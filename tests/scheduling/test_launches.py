"""Waves of blocks, what a block needs, and what programs of a grid read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.scheduling.launches import BlockTime, Launched, Traffic, launched
from tileas_xdsl.scheduling.program_work import Grid, ProgramWork, work_of
from tileas_xdsl.targets.cycles import timing_table
from tileas_xdsl.targets.gpu_timing import BlockNeeds
from tileas_xdsl.targets.measured.h200 import H200_GPU
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.transforms.tileas.group_programs import GroupProgramsPass

GPU = replace(H200_GPU, multiprocessors=10, block_start=0, launch_seconds=0, clock=1.0, products_clock=1.0)
"""Ten multiprocessors whose seconds are cycles."""
IN_CACHE = Traffic(array_bytes=0)


def launch(blocks: int, together: int = 1, traffic: Traffic = IN_CACHE) -> Launched:
    """Blocks of 100 turns; what a turn takes is the number of blocks on the multiprocessor."""
    return launched(blocks, together, lambda sharing: BlockTime(sharing, 50, 100), traffic, 0.0, GPU)


@pytest.mark.parametrize(("blocks", "cycles"), [(1, 150), (10, 150), (11, 300), (20, 300), (35, 600)])
def test_blocks_run_in_waves(blocks: int, cycles: float) -> None:
    assert launch(blocks).seconds == cycles


def test_blocks_share_multiprocessors_as_few_as_there_are() -> None:
    assert launch(10, together=3).seconds == 150
    assert launch(11, together=3).seconds == 250
    assert launch(30, together=3).seconds == 350
    assert launch(32, together=3).seconds == 350 + 150


@pytest.mark.parametrize(("programs", "cycles"), [(1, 150), (10, 150), (11, 257), (20, 257), (35, 471)])
def test_a_block_computes_one_program_after_the_other(programs: int, cycles: float) -> None:
    """What stands in front of the turns and behind them is there once, and 7 cycles between two programs."""
    found = launched(programs, 1, lambda _: BlockTime(1, 50, 100), IN_CACHE, 0.0, GPU, between=7)
    assert found.seconds == cycles


def test_memory_binds_persistent_blocks_too() -> None:
    traffic = Traffic(array_bytes=1 << 30, distinct=0.5, turn_bytes=10 * GPU.memory_bytes)
    found = launched(20, 1, lambda _: BlockTime(1, 50, 100), traffic, 0.0, GPU, between=7)
    assert found.bound == "memory"
    assert found.seconds == pytest.approx(50 + 2 * 100 * 5 + 7)


def test_memory_binds_where_arrays_are_larger_than_the_cache() -> None:
    traffic = Traffic(array_bytes=1 << 30, distinct=0.5, turn_bytes=10 * GPU.memory_bytes)
    found = launch(10, traffic=traffic)
    assert found.bound == "memory"
    assert found.seconds == pytest.approx(50 + 100 * 5)
    assert launch(10, traffic=replace(traffic, array_bytes=1 << 20)).bound == "block"


def test_the_clock_falls_while_the_tensor_cores_are_busy() -> None:
    gpu = replace(GPU, clock=2.0)
    idle, busy = (launched(10, 1, lambda _: BlockTime(1, 0, 100), IN_CACHE, product, gpu) for product in (0, 100))
    assert idle.seconds == 50
    assert busy.seconds == 100
    assert busy.busy == 1


# What a block needs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("needs", "together"),
    [
        (BlockNeeds(threads=256, registers=232, shared_bytes=132_144), 1),
        (BlockNeeds(threads=128, registers=158, shared_bytes=99_360), 2),
        (BlockNeeds(threads=128, registers=66, shared_bytes=66_608), 3),
        (BlockNeeds(threads=128, registers=168, shared_bytes=115_776), 1),  # 64 bytes too many for two
        (BlockNeeds(threads=128, registers=128, shared_bytes=0), 4),
        (BlockNeeds(threads=32, registers=16, shared_bytes=0), 32),
        (BlockNeeds(threads=1024, registers=16, shared_bytes=0), 2),
        (BlockNeeds(threads=1024, registers=80, shared_bytes=0), 0),
        (BlockNeeds(threads=128, registers=16, shared_bytes=1 << 20), 0),
    ],
)
def test_blocks_share_registers_and_memory(needs: BlockNeeds, together: int) -> None:
    assert needs.together(H200_GPU.shared_bytes) == together


# What programs read ---------------------------------------------------------------------------------------------------

GEMM = """
#smem = #nv_tileas.layout<smem>
func.func @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %col = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %product = scf.for %k = %c0 to BOUND step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %at = nv_tileaa.tiled_load %a[%row, %k] : (memref<?x?xf16>, index, index) -> tensor<128x64xf16, #smem>
    %bt = nv_tileaa.tiled_load %b[%k, %col] : (memref<?x?xf16>, index, index) -> tensor<64x128xf16, #smem>
    %sum = nv_tileaa.dot %at, %bt, %acc
      : (tensor<128x64xf16, #smem>, tensor<64x128xf16, #smem>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %sum : tensor<128x128xf32>
  }
  %out = arith.truncf %product : tensor<128x128xf32> to tensor<128x128xf16>
  nv_tileaa.tiled_store %c[%row, %col], %out : (memref<?x?xf16>, tensor<128x128xf16>, index, index) -> ()
  func.return
}
"""
SIZES = {"a": (2048, 512), "b": (512, 1024), "c": (2048, 1024)}


def gemm(grid: Grid = (16, 8, 1), *, group: int = 0, text: str = GEMM.replace("BOUND", "%n")) -> ProgramWork:
    context = full_context()
    module = parse_module(text, "gemm", context)
    if group:
        GroupProgramsPass(rows=group).apply(context, module)
    function, _ = find_function(module, None)
    return work_of(function, {"n": 8}, SIZES, grid, timing_table("sm_90"))


def test_a_program_reads_and_multiplies_in_each_turn() -> None:
    work = gemm()
    assert work.turns == 8
    assert work.turn_bytes == 2 * 128 * 64 * 2
    assert work.product == 8 * 512
    assert work.array_bytes(SIZES) == 2 * 512 * (2048 + 1024)


def test_an_extent_of_an_array_bounds_a_loop() -> None:
    sized = GEMM.replace("BOUND", "%turns").replace(
        "  %row =",
        "  %depth = memref.dim %a, %c1 : memref<?x?xf16>\n  %c64 = arith.constant 64 : index\n"
        "  %turns = arith.ceildivui %depth, %c64 : index\n  %row =",
    )
    assert gemm(text=sized).turns == 8


def test_programs_in_a_column_share_one_tile_and_those_of_groups_more() -> None:
    # 16 programs in a column read 16 tiles of rows and 1 of columns; in groups of 4 rows, 4 of each.
    assert gemm().distinct(16) == pytest.approx((16 + 1) / 32)
    assert gemm(group=4).distinct(16) == pytest.approx((4 + 4) / 32)
    assert gemm().distinct(1) == 1


def test_a_place_that_depends_on_data_is_shared_with_none() -> None:
    unknown = GEMM.replace("BOUND", "%n").replace("%n: index)", "%n: index, %at_row: index)")
    work = gemm(text=unknown.replace("%a[%row, %k]", "%a[%at_row, %k]"))
    assert work.distinct(16) == pytest.approx((16 + 1) / 32)
