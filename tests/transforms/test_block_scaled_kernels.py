"""
Block-scaled products for sm_100a and sm_103a, down to `tcgen05.mma` with `.block_scale`: their scale factors go through
shared memory into columns of tensor memory, and a tile with fewer rows than the instruction has some of them again.

The machine runs the threads lane by lane. No Blackwell GPU has run them.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tests.support.corpora import each
from tests.support.ir import ROOT, print_generic, run_passes
from tests.support.llvm_ir import assert_prints_as_mlir_translates
from tests.support.mlir import mlir_opt
from tests.support.ptx import assembled, ptx_of
from tests.support.thread_kernels import DOWN
from tests.support.threads_and_tiles import RIGHT, compared, lowered
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, op_name
from tileas_xdsl.dialects.nvvm import barrier, mbarrier, tcgen05
from tileas_xdsl.transforms.to_llvm.tiles.tensor_memory.allocation import is_repeated

PRODUCT = """
#smem = #nv_tileas.layout<smem>
!a = tensor<{m}x{k}x{of_a}, #smem>
!b = tensor<{k}x{n}x{of_b}, #smem>
!sfa = tensor<{m}x{s}xf8E8M0FNU, #smem>
!sfb = tensor<{s}x{n}xf8E8M0FNU, #smem>
!c = tensor<{m}x{n}xf32>
func.func @f(%a: memref<?x?x{of_a}>, %b: memref<?x?x{of_b}>, %p: memref<?x?xf8E8M0FNU>, %q: memref<?x?xf8E8M0FNU>,
             %c: memref<?x?xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {{
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?x{of_a}>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?x{of_b}>, index, index) -> !b
    %pt = nv_tileaa.tiled_load %p[%c0, {row}] : (memref<?x?xf8E8M0FNU>, index, index) -> !sfa
    %qt = nv_tileaa.tiled_load %q[%k, %c0] : (memref<?x?xf8E8M0FNU>, index, index) -> !sfb
    %sum = nv_tileaa.dot %at, %bt, %acc sfa(%pt) sfb(%qt) : (!a, !b, !c, !sfa, !sfb) -> !c
    scf.yield %sum : !c
  }}
  nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}}
"""


def product(m: int = 128, n: int = 32, k: int = 32, elements: tuple[str, str] = ("f8E4M3FN", "f8E4M3FN")) -> str:
    """A loop that adds block-scaled products of tiles."""
    return PRODUCT.format(m=m, n=n, k=k, s=k // 32, of_a=elements[0], of_b=elements[1], row="%k")


PROGRAMS = {
    "the kernel": (ROOT / "tests/kernels/block_scaled_gemm.mlir").read_text(),
    "128 rows": product(),
    "32 rows": product(m=32, n=64),
    "256 rows": product(m=256),
    "e5m2": product(elements=("f8E5M2", "f8E4M3FN")),
    "four scales": product(k=128),
    "256 columns": product(n=256, k=64),
}
STRATEGIES = ("warp-specialize", "unspecialize", "none")
CASES = [(name, strategy) for name in PROGRAMS for strategy in STRATEGIES]
KERNEL = ("the kernel", "warp-specialize")


@cache
def threads_of(name: str, strategy: str, target: str = "sm_100a") -> ModuleOp:
    """The threads of a program; nobody changes them."""
    return lowered(PROGRAMS[name], f"{target} {strategy}")


def count(module: ModuleOp) -> Counter[str]:
    """How many ops of each name the threads have."""
    return Counter(op_name(op).removeprefix("nvvm.tcgen05.") for op in module.walk())


@each("case", CASES, 4, ids="-".join)
def test_numbers(case: tuple[str, str]) -> None:
    """Those of the tiles, for each trip count around the stages and in each order."""
    threads = threads_of(*case)
    assert count(threads)["mma.block_scale"]
    assert compared(PROGRAMS[case[0]], threads, (0, 1, 2, 3, 7), 512) == RIGHT


@each("name", ["the kernel", "four scales"], 1)
def test_threads_are_safe_for_every_trip_count(name: str) -> None:
    report = check(threads_of(name, "warp-specialize"), judge_waits=False, timeout=None)
    assert report.verdict_line == "safe for every trip count", str(report)


def test_the_tensor_core_copies_the_scales() -> None:
    """Of each product both, in front of it; threads neither store nor wait for any."""
    found = count(threads_of(*KERNEL))
    assert found["cp"] == 2 * found["mma.block_scale"]
    assert found["st"] == 1


def test_four_scales_are_told_apart_by_the_descriptor() -> None:
    """Four steps along K read the bytes of one word."""
    found = count(threads_of("four scales", "none"))
    assert (found["cp"], found["mma.block_scale"]) == (2, 4)


@pytest.mark.parametrize("target", ["sm_100a", "sm_103a"])
def test_ptxas_spills_nothing(target: str) -> None:
    for strategy in STRATEGIES:
        module = run_passes(threads_of("the kernel", strategy, target).clone(), DOWN)
        ptx = ptx_of(module, target, "")
        assert "tcgen05.cp.cta_group::1.32x128b.warpx4" in ptx
        assert assembled(ptx, target).spills == 0


def test_llvm_says_the_same() -> None:
    module = run_passes(threads_of("the kernel", "none").clone(), DOWN)
    assert "mxf8f6f4.block_scale" in assert_prints_as_mlir_translates(module, "default<O1>")
    assert '"nvvm.' not in mlir_opt(print_generic(threads_of(*KERNEL)))


NAMELESS = """
#smem = #nv_tileas.layout<smem>
func.func @f(%a: tensor<128x64x!nv_tileas.f4E0M3, #smem>, %b: tensor<64x32x!nv_tileas.f4E0M3, #smem>,
             %p: tensor<128x4xf8E4M3FN, #smem>, %q: tensor<4x32xf8E4M3FN, #smem>, %c: tensor<128x32xf32>) {
  %d = nv_tileas.block_scaled_mma %a, %b, %c sfa(%p) sfb(%q)
    : (tensor<128x64x!nv_tileas.f4E0M3, #smem>, tensor<64x32x!nv_tileas.f4E0M3, #smem>, tensor<128x32xf32>,
       tensor<128x4xf8E4M3FN, #smem>, tensor<4x32xf8E4M3FN, #smem>) -> tensor<128x32xf32>
  func.return
}
"""


def test_elements_without_ptx_are_refused_by_name() -> None:
    """FP4 of the form E0M3 is one of TileAS alone; pairs of FP4 share bytes, which nobody moves yet."""
    with pytest.raises(RefusedError, match="E0M3, which PTX does not have"):
        lowered(NAMELESS, "sm_100a none")
    with pytest.raises(RefusedError, match="share a byte"):
        lowered(product(k=64, elements=("f4E2M1FN", "f4E2M1FN")), "sm_100a none")


def test_scales_without_tensor_memory_are_refused() -> None:
    with pytest.raises(RefusedError, match="only products with sums in tensor memory take"):
        lowered(product(), "sm_120a none")


# Mutants --------------------------------------------------------------------------------------------------------------

NEEDED = (
    *(tcgen05.Tcgen05CommitOp, tcgen05.Tcgen05WaitOp, mbarrier.MBarrierArriveExpectTxOp, mbarrier.MBarrierArriveOp),
    *(barrier.Barrier0Op, barrier.BarrierOp, tcgen05.Tcgen05DeallocOp),
)
"""Of waits at mbarriers one is enough for both rings that threads fill with scale factors, for these take turns."""


def needed(module: ModuleOp, kind: type[Operation]) -> list[Operation]:
    """The ops of a kind that give nothing; of commits those in the loop, for behind it no slot is filled again."""
    found = [op for op in module.walk() if isinstance(op, kind) and not any(result.uses for result in op.results)]
    return [op for op in found if not isinstance(op, tcgen05.Tcgen05CommitOp) or is_repeated(op)]


PLACES = [(kind, number) for kind in NEEDED for number in range(len(needed(threads_of(*KERNEL), kind)))]


@each("place", PLACES, 4, ids=str)
def test_what_is_left_out_is_missed(place: tuple[type[Operation], int]) -> None:
    kind, number = place
    module = threads_of(*KERNEL).clone()
    Rewriter.erase_op(needed(module, kind)[number])
    report = check(module, trip_counts=[0, 1, 4, 7], judge_waits=False, timeout=None, prove=False)
    assert report.findings, f"{kind.name} number {number}"
