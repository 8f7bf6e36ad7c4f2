"""Tiles of no layout that a pipeline brings get slots in shared memory; the numbers stay, on tiles and in threads."""

from __future__ import annotations

import pytest

from tests.support.corpora import each
from tests.support.ir import parse, run_passes
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.thread_kernels import assert_computes
from tests.support.threads_and_tiles import RIGHT, compared, lowered
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncOp

PASS = "tileas-stage-plain-tiles"
BUILT = [kernel for kernel in KERNELS if kernel.name != "block_scaled_gemm"]
TARGETS, STRATEGIES = ("sm_80", "sm_90a"), ("unspecialize", "warp-specialize")


def plain(kernel: Kernel) -> str:
    """The kernel as people write it who do not say where tiles lie."""
    return kernel.text.replace(", #smem>", ">")


@pytest.mark.parametrize("kernel", BUILT, ids=lambda kernel: kernel.name)
def test_tiles_keep_their_numbers(kernel: Kernel) -> None:
    module = run_passes(parse(plain(kernel)), PASS)
    for trips in (0, 1, 3):
        assert_computes(module, kernel, trips, "random")
    assert check(module).verdict is Verdict.SAFE


AS_THREADS = [kernel for kernel in BUILT if kernel.name != "gemm_16x8x8"]
"""No product of the targets has the shape of that one."""
CASES = [(kernel, target, strategy) for kernel in AS_THREADS for target in TARGETS for strategy in STRATEGIES]


@each("case", CASES, 6, ids=lambda case: f"{case[0].name}-{case[1]}-{case[2]}")
def test_threads_compute_the_same(case: tuple[Kernel, str, str]) -> None:
    kernel, target, strategy = case
    options = f"compute-capability={target} pipeline-strategy={strategy} layouts=true threads=true"
    module = run_passes(parse(plain(kernel)), f"tileir{{{options}}}")
    assert "nv_tile" not in str(module).replace("nv_tileas.agents", "").replace("nv_tileas.pass_status", "")
    for trips in (0, 1, 3):
        assert_computes(module, kernel, trips, "random")


def test_products_read_the_slot_itself() -> None:
    (gemm,) = (kernel for kernel in KERNELS if kernel.name == "gemm_64x64x16")
    module = run_passes(parse(plain(gemm)), PASS)
    (product,) = (op for op in module.walk() if isinstance(op, DotOp))
    assert "smem" in str(product.a.type)
    assert "smem" in str(product.b.type)
    assert not any(isinstance(op, ConvertLayoutOp) for op in module.walk())


def test_loads_that_stay_synchronous_keep_their_tiles() -> None:
    text = """
    func.func @f(%x: memref<?x?xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %u = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf32>, index, index) -> tensor<8x32xf32>
      scf.for %k = %c0 to %n step %c1 {
        %v = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> tensor<8x32xf32>
        %w = arith.addf %v, %u : tensor<8x32xf32>
        nv_tileaa.tiled_store %x[%k, %c0], %w : (memref<?x?xf32>, tensor<8x32xf32>, index, index) -> ()
      }
      func.return
    }"""
    before = str(parse(text))
    assert str(run_passes(parse(text), PASS)) == before


NARROW = """
#smem = #nv_tileas.layout<smem>
func.func @f(%p: memref<?x?xi8>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<32x8xf32>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<32x8xf32>) {
    %s = nv_tileaa.tiled_load %p[%c0, %k] : (memref<?x?xi8>, index, index) -> tensor<32x1xi8, #smem>
    %held = nv_tileas.convert_layout %s : (tensor<32x1xi8, #smem>) -> tensor<32x1xi8>
    %wide = arith.sitofp %held : tensor<32x1xi8> to tensor<32x1xf32>
    %all = nv_tileaa.broadcast %wide : (tensor<32x1xf32>) -> tensor<32x8xf32>
    %sum = arith.addf %acc, %all : tensor<32x8xf32>
    scf.yield %sum : tensor<32x8xf32>
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, tensor<32x8xf32>, index, index) -> ()
  func.return
}
"""


@pytest.mark.parametrize("variant", ["sm_80 unspecialize", "sm_80 none", "sm_90a warp-specialize"])
def test_rows_too_narrow_for_copies_go_through_registers(variant: str) -> None:
    """A row has one byte, and cp.async copies four; a slot, and a tile of its own, are filled by stores then."""
    threads = lowered(NARROW, variant)
    assert not any(isinstance(op, CpAsyncOp) for op in threads.walk())
    assert compared(NARROW, threads, (0, 1, 3, 6), 32) == RIGHT
