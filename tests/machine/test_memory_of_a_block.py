"""Memory that a block shares: whoever allocates it, by which name it goes, and where the text says that it lies."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.running import ORDERS, run

REVERSED = """
  %c63 = arith.constant 63 : index
  {allocation}
  %v = memref.load %src[%t] : memref<64xf32>
  memref.store %v, %buf[%t] : memref<64xf32, 3>
  {barrier}
  %r = arith.subi %c63, %t : index
  %w = memref.load %buf[%r] : memref<64xf32, 3>
  memref.store %w, %out[%t] : memref<64xf32>
"""
FUNCTION = """
func.func @k(%src: memref<64xf32>, %out: memref<64xf32>) attributes {{nvvm.reqntid = array<i32: 64, 1, 1>}} {{
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %t = arith.index_cast %tid : i32 to index
  {body}
  {end}
  func.return
}}
"""
KERNEL = """
gpu.module @m {{
  gpu.func @k(%src: memref<64xf32>, %out: memref<64xf32>) workgroup(%buf: memref<64xf32, 3>) kernel
      attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
    %t = gpu.thread_id x
    {body}
    gpu.return
  }}
}}
"""
ALLOC, ALLOCA = (f"%buf = memref.{word}() : memref<64xf32, 3>" for word in ("alloc", "alloca"))
FREE = "memref.dealloc %buf : memref<64xf32, 3>"


def kernels(*, barrier: bool) -> dict[str, str]:
    """Each way to allocate shared memory, with a barrier between the stores and the loads or without."""
    nvvm, gpu = ("nvvm.barrier0", "gpu.barrier") if barrier else ("", "")
    return {
        "alloc": FUNCTION.format(body=REVERSED.format(allocation=ALLOC, barrier=nvvm), end=""),
        "alloc and dealloc": FUNCTION.format(body=REVERSED.format(allocation=ALLOC, barrier=nvvm), end=FREE),
        "alloca": FUNCTION.format(body=REVERSED.format(allocation=ALLOCA, barrier=nvvm), end=""),
        "attribution": KERNEL.format(body=REVERSED.format(allocation="", barrier=gpu)),
    }


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", kernels(barrier=True))
def test_warps_find_what_the_others_have_stored(name: str, order: str) -> None:
    arrays = [np.arange(64, dtype=np.float32), np.zeros(64, np.float32)]
    outcome = run(parse(kernels(barrier=True)[name]), "k", arrays, order=order)
    assert not outcome.violations
    assert outcome.arrays["out"].tolist() == list(range(63, -1, -1))


@pytest.mark.parametrize("name", kernels(barrier=True))
def test_with_a_barrier_it_is_safe(name: str) -> None:
    assert check(parse(kernels(barrier=True)[name])).verdict_line == "safe for every trip count"
    assert check(parse(kernels(barrier=False)[name])).kinds == ["race"]


LOOP = """
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %two step %one {{
    {}
    {}
  }}
"""


@pytest.mark.parametrize(("last", "kinds"), [("nvvm.barrier0", []), ("", ["race"])])
def test_the_turns_of_a_loop_get_the_same_bytes(last: str, kinds: list[str]) -> None:
    body = LOOP.format(REVERSED.format(allocation=ALLOC, barrier="nvvm.barrier0"), last)
    assert check(parse(FUNCTION.format(body=body, end=""))).kinds == kinds


EXTERNS = """
llvm.mlir.global external @a() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<{a} x i8>
llvm.mlir.global external @b() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<{b} x i8>
func.func @k(%out: !llvm.ptr<1>) {{
  %bytes = arith.constant 16 : i32
  %one = arith.constant 1.0 : f32
  %a = llvm.mlir.addressof @a : !llvm.ptr<3>
  %b = llvm.mlir.addressof @b : !llvm.ptr<3>
  %far = llvm.getelementptr %b[{offset}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  nvvm.cp.async.bulk.global.shared.cta %out, %a, %bytes : <1>, <3>
  nvvm.cp.async.bulk.commit.group
  {before}
  llvm.store %one, %far : f32, !llvm.ptr<3>
  nvvm.cp.async.bulk.wait_group 0
  func.return
}}
"""
WAIT = "nvvm.cp.async.bulk.wait_group 0"


@pytest.mark.parametrize(
    ("a", "b", "offset", "before", "kinds"),
    [
        (0, 0, 0, "", ["race"]),
        (0, 0, 12, "", ["race"]),
        (0, 0, 16, "", []),
        (0, 0, 0, WAIT, []),
        (64, 0, 0, "", []),
        (64, 64, 0, "", []),
    ],
)
def test_external_arrays_of_no_size_begin_at_one_place(
    a: int, b: int, offset: int, before: str, kinds: list[str]
) -> None:
    assert check(parse(EXTERNS.format(a=a, b=b, offset=offset, before=before))).kinds == kinds


OFFSETS = """
#blocked = #ttg.blocked<{{sizePerThread = [1, 64], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [1, 0]}}>
#shared = #ttg.nvmma_shared<{{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:90"}} {{
  tt.func public @stores(%out: !tt.tensordesc<64x64xf16, #shared>, %tile: tensor<64x64xf16, #blocked>, %n: i32) {{
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.for %i = %zero to %n step %one : i32 {{
      %x = ttg.local_alloc %tile {first}
        : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
      ttng.fence_async_shared {{bCluster = false}}
      ttng.async_tma_copy_local_to_global %out[%zero, %zero] %x
        : !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
      {wait}
      {free}
      %y = ttg.local_alloc %tile {second}
        : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
      %v = ttg.local_load %y
        : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf16, #blocked>
      ttng.async_tma_store_wait {{pendings = 0 : i32}}
    }}
    ttng.async_tma_store_wait {{pendings = 0 : i32}}
    tt.return
  }}
}}
"""
DRAINED = "ttng.async_tma_store_wait {pendings = 0 : i32}"
FREE_TILE = "ttg.local_dealloc %x : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>"


def at(offset: int) -> str:
    return f"{{allocation.offset = {offset} : i32}}"


@pytest.mark.parametrize(
    ("first", "second", "wait", "free", "kinds"),
    [
        (at(0), at(0), "", "", ["race"]),
        (at(0), at(8190), "", "", ["race"]),
        (at(8190), at(0), "", "", ["race"]),
        (at(0), at(8192), "", "", []),
        ("", "", "", "", []),
        (at(0), at(0), DRAINED, "", []),
        (at(0), at(0), DRAINED, FREE_TILE, []),
        (at(0), at(0), "", FREE_TILE, ["race"]),
    ],
)
def test_where_the_text_says_that_memory_lies_it_lies(
    first: str, second: str, wait: str, free: str, kinds: list[str]
) -> None:
    report = check(parse(OFFSETS.format(first=first, second=second, wait=wait, free=free)))
    assert report.kinds == kinds, str(report)
