"""Programs in groups: each tile is computed once, whatever the grid, and neighbours in time share rows and columns."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.utils.exceptions import PassFailedException

from tests.support.ir import ROOT, parse, print_custom, run_passes
from tests.support.threads_and_tiles import AGENTS, lowered
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.running import run

COUNTED = """
!t = tensor<1x1xf32>
func.func @f(%c: memref<?x?xf32>) {{
  %one = arith.constant dense<1.0> : !t
  %row = nv_tileaa.get_program_id attributes {{axis = 0 : i32}} : () -> {kind}
  %col = nv_tileaa.get_program_id attributes {{axis = 1 : i32}} : () -> {kind}
  {casts}
  %old = nv_tileaa.tiled_load %c[%i, %j] : (memref<?x?xf32>, index, index) -> !t
  %new = arith.addf %old, %one : !t
  nv_tileaa.tiled_store %c[%i, %j], %new : (memref<?x?xf32>, !t, index, index) -> ()
  func.return
}}"""
"""Each program adds 1 to its element."""
AS_I32 = COUNTED.format(
    kind="i32", casts="%i = arith.index_cast %row : i32 to index %j = arith.index_cast %col : i32 to index"
)
AS_INDEX = COUNTED.format(kind="index", casts="").replace("%i,", "%row,").replace("%j]", "%col]")
GRIDS = [(1, 1), (1, 5), (5, 1), (2, 3), (3, 2), (4, 4), (7, 3), (3, 7), (9, 2)]


def grouped(rows: int) -> str:
    return f"tileas-group-programs{{rows={rows}}}"


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: "x".join(map(str, grid)))
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("text", [AS_I32, AS_INDEX], ids=["i32", "index"])
def test_each_program_is_computed_once(text: str, rows: int, grid: tuple[int, int]) -> None:
    found = run(run_passes(parse(text), grouped(rows)), "f", {"c": np.zeros(grid, np.float32)}, programs=grid)
    assert not found.violations
    assert np.array_equal(found.arrays["c"], np.ones(grid))


def test_each_program_that_a_block_takes_over_is_computed_once() -> None:
    module = run_passes(parse(AS_INDEX), f"{grouped(2)},tileas-dynamic-persistent")
    found = run(module, "f", {"c": np.zeros((5, 3), np.float32)}, programs=(5, 3))
    assert np.array_equal(found.arrays["c"], np.ones((5, 3)))


ORDERED = AS_INDEX.replace("%c: memref<?x?xf32>", "%c: memref<?x?xf32>, %x: memref<?xf32>").replace(
    "  %old =",
    """  %c0 = arith.constant 0 : index
  %next = nv_tileaa.tiled_load %x[%c0] : (memref<?xf32>, index) -> tensor<1xf32>
  %more = arith.addf %next, %step : tensor<1xf32>
  nv_tileaa.tiled_store %x[%c0], %more : (memref<?xf32>, tensor<1xf32>, index) -> ()
  %wide = nv_tileaa.expand_dims %next : (tensor<1xf32>) -> !t
  %old =""",
)


def test_neighbours_in_time_share_rows_and_columns() -> None:
    """Each program writes down how many there were before; a machine of one block starts them in order."""
    text = ORDERED.replace("arith.addf %old, %one", "arith.addf %old, %wide").replace(
        "  %row =", "  %step = arith.constant dense<1.0> : tensor<1xf32>\n  %row =", 1
    )
    arrays = {"c": np.zeros((6, 4), np.float32), "x": np.zeros(1, np.float32)}
    found = run(run_passes(parse(text), grouped(2)), "f", arrays, programs=(6, 4)).arrays["c"]
    assert found[:4].tolist() == [[0, 2, 4, 6], [1, 3, 5, 7], [8, 10, 12, 14], [9, 11, 13, 15]]


ONE_AXIS = """
func.func @f(%c: memref<?x?xf32>) {
  %zero = arith.constant dense<0.0> : tensor<1x1xf32>
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  nv_tileaa.tiled_store %c[%row, %row], %zero : (memref<?x?xf32>, tensor<1x1xf32>, index, index) -> ()
  func.return
}"""


def test_one_axis_stays_as_it_is() -> None:
    module = parse(ONE_AXIS)
    before = print_custom(module)
    assert print_custom(run_passes(module, grouped(8))) == before


@pytest.mark.parametrize("rows", [0, -1])
def test_a_group_has_a_row(rows: int) -> None:
    with pytest.raises(PassFailedException, match="a group has one row or more"):
        run_passes(parse(AS_INDEX), grouped(rows))


def test_a_product_in_groups_is_safe() -> None:
    """Also what its threads do, of which each computes the numbers for itself."""
    text = (ROOT / "examples" / "gemm_loop.mlir").read_text()
    options = "compute-capability=sm_90a pipeline-strategy=warp-specialize group-programs=4"
    agents = run_passes(parse(text), f"tileir{{{options}}}")
    assert check(agents).verdict.value == "safe"
    threads = lowered(print_custom(run_passes(parse(text), grouped(4))), AGENTS)
    names = [op.name for op in threads.walk()]
    assert names.count("gpu.grid_dim") > 0
    assert "nv_tileaa.get_num_programs" not in names
