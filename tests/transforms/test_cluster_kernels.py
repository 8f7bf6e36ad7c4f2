"""
Kernels whose blocks form clusters and load together what all of them need (`num-ctas`, sm_90a): each block loads a part
of a tile, and TMA writes it into the slots of all.

The machine runs all blocks of a cluster, and the check follows what they do to each other.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from tests.support.corpora import each
from tests.support.ir import parse, print_generic, run_passes
from tests.support.llvm_ir import assert_prints_as_mlir_translates
from tests.support.mlir import mlir_opt
from tests.support.ptx import assembled, ptx_of
from tests.support.thread_kernels import DOWN
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, recorded_diagnostics
from tileas_xdsl.dialects.nvvm import barrier, bulk, mbarrier
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.machine.running import ORDERS, run
from tileas_xdsl.tools.machine_code.validation import handed_over

GEMM = """
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x64xf16, #smem>
!c = tensor<64x64xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %row = nv_tileaa.get_program_id attributes {axis = ROW : i32} : () -> index
  %col = nv_tileaa.get_program_id attributes {axis = COL : i32} : () -> index
  %r = scf.for %k = %c0 to BOUND step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%row, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %col] : (memref<?x?xf16>, index, index) -> !b
    %sum = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %sum : !c
  }
  nv_tileaa.tiled_store %c[%row, %col], %r : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}
"""
TILE, DEPTH, EXTENT = 64, 16, 128


def gemm(row: int = 0, col: int = 1, bound: str = "%n") -> str:
    """A product of matrices, whose rows and columns follow these axes of the grid."""
    return GEMM.replace("ROW", str(row)).replace("COL", str(col)).replace("BOUND", bound)


def lowered(text: str, blocks: int, strategy: str = "warp-specialize") -> ModuleOp:
    """The threads of a program in clusters of so many blocks."""
    options = f"compute-capability=sm_90a pipeline-strategy={strategy} num-ctas={blocks} layouts=true threads=true"
    with recorded_diagnostics():
        return run_passes(parse(text), f"tileir{{{options}}}")


@cache
def threads_of(strategy: str = "warp-specialize") -> ModuleOp:
    """The threads of clusters of two; nobody changes them."""
    return lowered(gemm(), 2, strategy)


def of(module: ModuleOp, kind: type[Operation]) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, kind)]


STRATEGIES = ("warp-specialize", "unspecialize")
CASES = [(trips, order, strategy) for trips in range(8) for order in ORDERS for strategy in STRATEGIES]


@each("case", CASES, 6, ids=str)
def test_all_blocks_of_a_cluster_compute_their_tiles(case: tuple[int, str, str]) -> None:
    """Its two blocks are neighbours along x, which is that of the rows; what other blocks compute stays."""
    trips, order, strategy = case
    numbers = np.random.default_rng(trips)
    a, b = (numbers.integers(-2, 3, (EXTENT, EXTENT)).astype(np.float16) for _ in range(2))
    c = np.full((EXTENT, EXTENT), 7, np.float32)
    given = {"a": a, "b": b, "c": c, "n": trips}
    code = threads_of(strategy)
    found = run(code, "f", handed_over(given, find_function(code, "f")[1]), order=order, seed=trips)
    assert not found.violations
    expected = c.copy()
    expected[:, :TILE] = a.astype(np.float32)[:, : DEPTH * trips] @ b.astype(np.float32)[: DEPTH * trips, :TILE]
    assert np.array_equal(found.arrays["c"], expected)


def test_a_cluster_is_safe_for_every_trip_count() -> None:
    report = check(threads_of(), judge_waits=False, timeout=None)
    assert report.verdict_line == "safe for every trip count", str(report)


def test_each_block_loads_a_part_for_all() -> None:
    """B is the same along x: each of two blocks loads half of its rows, and gives a slot back in both."""
    kind = bulk.CpAsyncBulkTensorGlobalToSharedClusterOp
    loads = [op for op in threads_of().walk() if isinstance(op, kind)]
    assert [load.multicast_mask is not None for load in loads] == [False, True]
    assert len(of(threads_of(), barrier.MapaOp)) % 2 == 0
    assert len(of(threads_of(), barrier.ClusterWaitOp)) == 2


def test_ptxas_spills_nothing() -> None:
    for blocks in (2, 4):
        module = lowered(gemm(1, 0).replace("64x16x", "64x32x").replace("16x64x", "32x64x"), blocks)
        ptx = ptx_of(run_passes(module, DOWN), "sm_90a", "")
        assert f".reqnctapercluster 1, {blocks}, 1" in ptx or f".reqnctapercluster {blocks}, 1, 1" in ptx
        assert ".multicast::cluster" in ptx
        assert assembled(ptx, "sm_90a").spills == 0


def test_llvm_says_the_same() -> None:
    module = run_passes(threads_of().clone(), DOWN)
    assert "llvm.nvvm.mapa" in assert_prints_as_mlir_translates(module, "default<O1>")
    assert '"nvvm.' not in mlir_opt(print_generic(threads_of()))


def test_what_blocks_do_not_share_is_refused() -> None:
    """How often a loop turns has to be the same in all blocks; a program of one block has no axis to follow."""
    with pytest.raises(RefusedError, match="nothing that 2 blocks of a cluster would load together"):
        lowered(gemm(0, 1, "%row").replace("%c[%row, %col]", "%c[%row, %row]").replace("[%k, %col]", "[%k, %c0]"), 2)
    with pytest.raises(PassFailedException, match="a power of two up to 8"):
        lowered(gemm(), 3)


FILLED_IN_ROUNDS = """
!tile = tensor<16x64xf16, #nv_tileas.layout<smem, swizzle<128>>>
func.func @f(%b: memref<?x?xf16>, %flags: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0 : i32
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %col = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %ring, %end = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %in = nv_tileas.async.pipeline.create_iterator %ring : (!nv_tileas.producer_token) -> !nv_tileas.pipeline_iter<!tile>
  scf.while : () -> () {
    CONDITION
    scf.condition(%more)
  } do {
    %own = nv_tileas.async.pipeline.producer_acquire %ring, %in : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<!tile>) -> !nv_tileas.producer_token
    %filled, %0 = nv_tileas.async.pipeline.produce_one_async %own, %in attributes {producer_types = [!tile], producer_kind = "tma"} {
    ^bb0(%slot: !tile):
      %bt = nv_tileaa.tiled_load %b[%c0, %col] : (memref<?x?xf16>, index, index) -> !tile
      nv_tileas.async.pipeline.yield %bt : (!tile) -> ()
    } : (!nv_tileas.producer_token, !nv_tileas.pipeline_iter<!tile>) -> (!nv_tileas.producer_token, !nv_tileas.token)
    scf.yield
  }
  func.return
}
"""  # noqa: E501
PLAN = "tileas-plan-cta{num-ctas=2}"
SAME = "%more = arith.cmpi sgt, %col, %c0 : index"
DIFFERENT = "%more = arith.cmpi sgt, %row, %c0 : index"
LOADED = """%flag = nv_tileaa.load %flags[%row] : (memref<?xi32>, index) -> i32
    %more = arith.cmpi ne, %flag, %none : i32"""


def test_a_loop_that_ends_in_all_blocks_at_once_is_shared() -> None:
    (function,) = run_passes(parse(FILLED_IN_ROUNDS.replace("CONDITION", SAME)), PLAN).ops
    assert str(function.attributes["nvvm.cluster_dim"]) == "array<i32: 2, 1, 1>"
    assert "nv_tileas.multicast = 2" in str(function)


@pytest.mark.parametrize("condition", [DIFFERENT, LOADED])
def test_a_loop_that_ends_in_some_blocks_before_others_is_refused(condition: str) -> None:
    """Slots are filled together: a block that has gone on would be waited for."""
    with pytest.raises(RefusedError, match="nothing that 2 blocks of a cluster would load together"):
        run_passes(parse(FILLED_IN_ROUNDS.replace("CONDITION", condition)), PLAN)


# Mutants --------------------------------------------------------------------------------------------------------------

NEEDED = (
    *(barrier.ClusterWaitOp, barrier.ClusterArriveOp, mbarrier.MBarrierTryWaitParityOp),
    *(mbarrier.MBarrierArriveExpectTxOp, mbarrier.MBarrierArriveOp),
)
PLACES = [(kind, number) for kind in NEEDED for number in range(len(of(threads_of(), kind)))]


@each("place", PLACES, 3, ids=str)
def test_what_is_left_out_is_missed(place: tuple[type[Operation], int]) -> None:
    kind, number = place
    module = threads_of().clone()
    Rewriter.erase_op(of(module, kind)[number])
    report = check(module, trip_counts=[0, 1, 5, 9], judge_waits=False, timeout=None, prove=False)
    assert report.findings, f"{kind.name} number {number}"
