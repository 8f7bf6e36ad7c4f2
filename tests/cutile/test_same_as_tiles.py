"""A kernel in cuTile Python gets the products, slots, registers and period of the same kernel written in tiles."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tileas_xdsl as tileas
from tests.cutile.exports import require_cutile
from tests.cutile.launches import CASES
from tests.cutile.running import path_of
from tests.support.ptx import require_ptxas
from tileas_xdsl.tools.python.cutile import exported_kernel

GEMM = """
#smem = #nv_tileas.layout<smem>
!array = memref<?x?xf16, strided<[?, 1]>>
func.func @gemm(%A: !array, %B: !array, %D: !array,
                %n: index {tileas.name = "A", tileas.number = "tiles 1 by 64"}) {
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %column = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %total = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) {
    %a = nv_tileaa.tiled_load %A[%row, %k] : (!array, index, index) -> tensor<128x64xf16, #smem>
    %b = nv_tileaa.tiled_load %B[%k, %column] : (!array, index, index) -> tensor<64x128xf16, #smem>
    %next = nv_tileaa.dot %a, %b, %sum
        : (tensor<128x64xf16, #smem>, tensor<64x128xf16, #smem>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %half = arith.truncf %total : tensor<128x128xf32> to tensor<128x128xf16>
  nv_tileaa.tiled_store %D[%row, %column], %half : (!array, tensor<128x128xf16>, index, index) -> ()
  func.return
}
"""

ATTENTION = """
#smem = #nv_tileas.layout<smem>
!array = memref<?x?x?xf16, strided<[?, ?, 1]>>
!q = tensor<64x64xf16, #smem>
!s = tensor<64x64xf32>
!p = tensor<64x64xf16>
!row = tensor<64xf32>
!col = tensor<64x1xf32>
!line = tensor<1x64xi32>
func.func @attention(%Q: !array, %K: !array, %V: !array, %Out: !array, %scale: f32,
                     %n: index {tileas.name = "K", tileas.number = "tiles 1 by 64"},
                     %keys: i32 {tileas.name = "K", tileas.number = "size 1"}) {
  %i = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %h = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : i32
  %log2e = arith.constant 1.4426950408889634 : f32
  %factor = arith.mulf %scale, %log2e : f32
  %zero = arith.constant dense<0.0> : !s
  %lowest = arith.constant dense<0xFF800000> : !row
  %nothing = arith.constant dense<0.0> : !row
  %outside = arith.constant dense<0xFF800000> : !s
  %factors = nv_tileaa.splat %factor : (f32) -> !s
  %ends = nv_tileaa.splat %keys : (i32) -> !line
  %numbers = nv_tileaa.generate {
  ^bb0(%place: tensor<i32>):
    nv_tileaa.yield %place : (tensor<i32>) -> ()
  } : () -> tensor<64xi32>
  %places = nv_tileaa.expand_dims %numbers : (tensor<64xi32>) -> !line
  %qt = nv_tileaa.tiled_load %Q[%h, %i, %c0] : (!array, index, index, index) -> !q
  %top, %sum, %acc = scf.for %j = %c0 to %n step %c1
      iter_args(%m = %lowest, %l = %nothing, %out = %zero) -> (!row, !row, !s) {
    %ji = arith.index_cast %j : index to i32
    %kt = nv_tileaa.tiled_load %K[%h, %j, %c0] : (!array, index, index, index) -> !q
    %turned = nv_tileaa.permute %kt attributes {permutation = array<i64: 1, 0>} : (!q) -> !q
    %s = nv_tileaa.dot %qt, %turned, %zero : (!q, !q, !s) -> !s
    %scaled = arith.mulf %s, %factors : !s
    %start = arith.muli %ji, %c64 : i32
    %starts = nv_tileaa.splat %start : (i32) -> !line
    %own = arith.addi %starts, %places : !line
    %is_inside = arith.cmpi slt, %own, %ends : !line
    %seen = nv_tileaa.broadcast %is_inside : (tensor<1x64xi1>) -> tensor<64x64xi1>
    %inside = arith.select %seen, %scaled, %outside : tensor<64x64xi1>, !s
    %best = nv_tileaa.reduce %inside attributes {axis = 1 : i32} {
    ^bb0(%x: f32, %y: f32):
      %greater = arith.maxnumf %x, %y : f32
      nv_tileaa.yield %greater : (f32) -> ()
    } : (!s) -> !row
    %larger = arith.maxnumf %m, %best : !row
    %below = nv_tileaa.expand_dims %larger : (!row) -> !col
    %wide = nv_tileaa.broadcast %below : (!col) -> !s
    %apart = arith.subf %inside, %wide : !s
    %p = nv_tileaa.exp2 %apart attributes {flush_to_zero} : (!s) -> !s
    %fall = arith.subf %m, %larger : !row
    %old = nv_tileaa.exp2 %fall attributes {flush_to_zero} : (!row) -> !row
    %p_sum = nv_tileaa.reduce %p attributes {axis = 1 : i32} {
    ^bb0(%x: f32, %y: f32):
      %two = arith.addf %x, %y : f32
      nv_tileaa.yield %two : (f32) -> ()
    } : (!s) -> !row
    %l_new = nv_tileaa.fma %l, %old, %p_sum : (!row, !row, !row) -> !row
    %vt = nv_tileaa.tiled_load %V[%h, %j, %c0] : (!array, index, index, index) -> !q
    %half = arith.truncf %p : !s to !p
    %old_col = nv_tileaa.expand_dims %old : (!row) -> !col
    %old_wide = nv_tileaa.broadcast %old_col : (!col) -> !s
    %kept = arith.mulf %out, %old_wide : !s
    %out_new = nv_tileaa.dot %half, %vt, %kept : (!p, !q, !s) -> !s
    scf.yield %larger, %l_new, %out_new : !row, !row, !s
  }
  %l_col = nv_tileaa.expand_dims %sum : (!row) -> !col
  %l_wide = nv_tileaa.broadcast %l_col : (!col) -> !s
  %quotient = nv_tileaa.divf %acc, %l_wide
      attributes {rounding_mode = #nv_tileaa<rounding_mode approx>, flush_to_zero} : (!s, !s) -> !s
  %result = arith.truncf %quotient : !s to !p
  nv_tileaa.tiled_store %Out[%h, %i, %c0], %result : (!array, !p, index, index, index) -> ()
  func.return
}
"""

WRITTEN = {"gemm_f16": GEMM, "attention": ATTENTION}
"""Kernel -> the same in tiles."""
CLOSE = 8
"""Registers that the two may be apart."""


def facts(text: str, target: str) -> tuple[dict[str, Any], int]:
    """What is compared of a kernel, and its registers."""
    kernel = tileas.compile(text, target=target, check=False, cache=False)
    assert kernel.ptx is not None
    data = kernel.contract.as_data()
    products = re.findall(r"\b(?:wgmma\.mma_async|mma\.sync)\.\S+", kernel.ptx)
    slots = [line.partition(": ")[2] for line in kernel.decisions if " bytes of " in line]
    loops = [re.sub(r".*loop: ", "", line) for line in kernel.decisions if "loop: " in line]
    assert kernel.report.registers is not None
    return {
        "products": sorted(products),
        "slots": [re.sub(r"^@\w+: ", "", line.rpartition("@")[2]) for line in slots],
        "period": loops,
        "block": data["block"],
        "spilled": kernel.report.spill_bytes,
    }, kernel.report.registers


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("name", WRITTEN)
def test_a_kernel_in_python_is_compiled_as_one_in_tiles(name: str, target: str) -> None:
    require_cutile()
    require_ptxas()
    python, tiles = (facts(t, target) for t in (exported_kernel(path_of(CASES[name])).text, WRITTEN[name]))
    assert python[0] == tiles[0]
    assert abs(python[1] - tiles[1]) <= CLOSE
