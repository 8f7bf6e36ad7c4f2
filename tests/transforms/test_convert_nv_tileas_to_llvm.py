"""
Tile code as the code of single threads: the same numbers, the same verdicts, and machine code that assembles.

Each kernel goes through the driver for sm_80, then down to threads. The machine runs its four warps lane by lane.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tests.support.corpora import each
from tests.support.ir import ROOT, parse, print_generic, run_passes
from tests.support.llvm_ir import assert_prints_as_mlir_translates
from tests.support.mlir import mlir_opt
from tests.support.mutated_threads import EDITS
from tests.support.ptx import assembled, ptx_of
from tests.support.scheduled_kernels import KERNELS, Kernel
from tests.support.thread_kernels import (
    BY_NAME,
    DOWN,
    TO_THREADS,
    assert_computes,
    assert_no_code,
    convert,
    driver_of,
    threads_of,
    tiles_of,
)
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.dialects.nvvm import barrier, cp_async, mbarrier
from tileas_xdsl.dialects.nvvm.warp_matrix import LdMatrixOp, MmaSyncOp
from tileas_xdsl.machine.running import run

WITHOUT = {
    "gemm_16x8x8": "multiplies tiles that do not all lie in registers",
    "block_scaled_gemm": None,
}
"""Kernels that have no code for sm_80: what the pass says, or None where the driver has said it before."""
LOWERED = [kernel for kernel in KERNELS if kernel.name not in WITHOUT]


# Numbers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", LOWERED, ids=lambda kernel: kernel.name)
def test_numbers(kernel: Kernel) -> None:
    """More turns than stages."""
    assert_computes(threads_of(kernel.name), kernel, 4, "random")


CASES = [(kernel, trips, order) for kernel in LOWERED for trips in range(6) for order in ("eager", "lazy", "random")]


@each("case", CASES, 8, ids=lambda case: f"{case[0].name}-{case[1]}-{case[2]}")
def test_numbers_at_every_edge(case: tuple[Kernel, int, str]) -> None:
    kernel, trips, order = case
    assert_computes(threads_of(kernel.name), kernel, trips, order)


TAILS = {
    "gemm_64x64x16": {"a": (40, 40), "b": (40, 56), "c": (40, 56)},
    "elementwise": {"x": (40, 12), "y": (40, 12), "c": (40, 12)},
    "attention_64": {"q": (48, 16), "k": (16, 48), "v": (48, 16), "c": (48, 16)},
}
"""Arrays that are no multiples of tiles; their rows are multiples of 16 bytes, as the host promises."""


@pytest.mark.parametrize("name", TAILS)
def test_tiles_that_stick_out(name: str) -> None:
    """What lies outside is read as zero and not written: as tile code does it."""
    rng = np.random.default_rng(1)
    kernel = BY_NAME[name]
    arrays = {
        array: rng.integers(-2, 3, extents).astype(np.float16 if array in kernel.element else np.float32)
        for array, extents in TAILS[name].items()
    }
    arguments = {**arrays, "n": 3}
    tiles, threads = (
        run(module, "f", {key: np.copy(value) for key, value in arguments.items()}).arrays["c"]
        for module in (tiles_of(name), threads_of(name))
    )
    assert np.allclose(tiles, threads, rtol=2.0**-10, atol=2.0**-10)
    assert not np.array_equal(tiles, arrays["c"])


# Verdicts -------------------------------------------------------------------------------------------------------------


LONG = [BY_NAME[name] for name in ("gemm_64x128x32", "three_loads")]
"""A proof takes about a minute."""


@each("kernel", LOWERED, 2, ids=lambda kernel: kernel.name, slow=LONG)
def test_threads_are_safe_for_every_trip_count(kernel: Kernel) -> None:
    report = check(threads_of(kernel.name), timeout=None)
    assert report.verdict_line == "safe for every trip count", str(report)
    assert "indices stay inside" in str(report)


SYNCHRONISING = (
    *(mbarrier.MBarrierInitOp, mbarrier.MBarrierArriveOp, cp_async.CpAsyncMBarrierArriveOp, barrier.Barrier0Op),
    *(mbarrier.MBarrierTestWaitOp, scf.WhileOp),
)
"""What can be left out or altered: barriers, arrivals, waits (as loops of tests)."""


def _sites(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, SYNCHRONISING)]


def _mutants(name: str) -> list[tuple[str, int, str]]:
    found: list[tuple[str, int, str]] = []
    for number, op in enumerate(_sites(threads_of(name))):
        match op:
            case mbarrier.MBarrierTestWaitOp():
                found.append((name, number, "parity"))
            case mbarrier.MBarrierInitOp():
                found += [(name, number, "drop"), (name, number, "more")]
            case _:
                found.append((name, number, "drop"))
    return found


FRESH = {9, 11, 15, 17}
"""Waits of `elementwise` for slots that nobody has used: they wait for nothing."""
SHARED = {27, 29}
"""Its waits for the slots of two rings: each covers the other, since one thread gives back both before it waits."""
LAST = {37, 38, 43, 44}
"""Its arrivals for slots that nobody fills again: behind the last turns nobody waits for them."""


@each("mutant", _mutants("elementwise"), 6, ids=lambda mutant: f"{mutant[1]}-{mutant[2]}")
def test_what_is_left_out_is_found(mutant: tuple[str, int, str]) -> None:
    name, number, change = mutant
    module = threads_of(name).clone()
    EDITS[change](_sites(module)[number])
    report = check(module, trip_counts=[0, 1, 2, 3, 4, 5], timeout=None)
    is_equivalent = change == "drop" and number in FRESH | SHARED | LAST
    assert report.verdict_line.startswith("safe" if is_equivalent else "unsafe"), f"{mutant}: {report.verdict_line}"


def test_both_waits_for_slots_left_out_is_a_race() -> None:
    module = threads_of("elementwise").clone()
    sites = _sites(module)
    for number in SHARED:
        Rewriter.erase_op(sites[number])
    assert "race" in check(module, trip_counts=[5], timeout=None).verdict_line


# Machine code ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", LOWERED, ids=lambda kernel: kernel.name)
def test_kernels_assemble_without_spills(kernel: Kernel) -> None:
    threads = threads_of(kernel.name)
    ptx = ptx_of(threads.clone(), "sm_80", DOWN)
    report = assembled(ptx, "sm_80")
    assert 0 < report.registers <= 255
    for op, pattern in ((MmaSyncOp, r"mma\.sync\.aligned\.m16n8k"), (LdMatrixOp, r"ldmatrix\.sync\.aligned")):
        assert len(re.findall(pattern, ptx)) == sum(isinstance(each_, op) for each_ in threads.walk())
    assert ".reqntid 128" in ptx
    assert "cp.async.mbarrier.arrive.noinc.shared" in ptx


@pytest.mark.parametrize("name", ["gemm_64x64x16"])
def test_our_llvm_ir_is_that_of_mlir(name: str) -> None:
    module = run_passes(threads_of(name).clone(), DOWN)
    assert_prints_as_mlir_translates(module, "default<O1>")


@pytest.mark.parametrize("name", ["gemm_64x64x16", "layer_norm"])
def test_mlir_reads_the_threads(name: str) -> None:
    """Every op is one that MLIR knows: it comes back in its custom form, unquoted."""
    text = mlir_opt(print_generic(threads_of(name)))
    assert not re.findall(r'^\s*(?:%.* = )?"', text, re.MULTILINE)


# Refusals -------------------------------------------------------------------------------------------------------------


def test_a_tile_that_no_instruction_takes() -> None:
    problem = str(WITHOUT["gemm_16x8x8"])
    assert_no_code(tiles_of("gemm_16x8x8").clone(), TO_THREADS, "sm_80", problem)


NO_LAYOUT = r"layout does not say who holds what(?s:.*)layouts=true"


def test_tiles_without_a_layout_are_refused() -> None:
    """Nobody knows how many threads they are for; nor is that all that they lack."""
    text = (ROOT / "examples/gemm_loop.mlir").read_text()
    assert_no_code(parse(text), TO_THREADS, "sm_80", NO_LAYOUT)
    said = parse(text.replace("%n: index) {", "%n: index) attributes {nvvm.reqntid = array<i32: 128>} {"))
    assert_no_code(said, TO_THREADS[-1:], "sm_80", NO_LAYOUT)


def test_more_shared_memory_than_there_is() -> None:
    driver = driver_of("sm_86", "unspecialize")
    module = run_passes(parse((ROOT / "examples/gemm_loop.mlir").read_text()), driver)
    problem = r"132,128 bytes of shared memory \(65,536 for .*\), and the target has 101,376"
    assert_no_code(module, TO_THREADS, "sm_86", problem)


def test_across_warps() -> None:
    """The sum of rows that four warps share."""
    text = """func.func @f(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf32>, index, index) -> tensor<8x128xf32, #nv_tileas.layout<rmem, blocked<[1, 1], [8, 4], [1, 4], order = [1, 0]>>>
  %s = nv_tileaa.reduce %v attributes {axis = 1 : i32} {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    nv_tileaa.yield %sum : (f32) -> ()
  } : (tensor<8x128xf32, #nv_tileas.layout<rmem, blocked<[1, 1], [8, 4], [1, 4], order = [1, 0]>>>) -> tensor<8xf32, #nv_tileas.layout<rmem, slice<1, blocked<[1, 1], [8, 4], [1, 4], order = [1, 0]>>>>
  nv_tileaa.tiled_store %y[%c0], %s : (memref<?xf32>, tensor<8xf32, #nv_tileas.layout<rmem, slice<1, blocked<[1, 1], [8, 4], [1, 4], order = [1, 0]>>>>, index) -> ()
  func.return
}"""  # noqa: E501
    assert_no_code(parse(text), TO_THREADS, "sm_80", "combines elements that several warps hold")
    one_warp = text.replace("[1, 4], order", "[1, 1], order")
    given = np.arange(8 * 128, dtype=np.float32).reshape(8, 128)
    found = run(run_passes(parse(one_warp), convert()), "f", {"x": given, "y": np.zeros(8, np.float32)}).arrays["y"]
    assert np.array_equal(found, given.sum(1))


ALONE = """func.func @f(%x: memref<?x?xf32>, %i: index) attributes {nvvm.reqntid = array<i32: 32>} {
  %slots = nv_tileas.alloc_tensor attributes {stages = 2 : i32} : () -> tensor<2x8x16xf32, #nv_tileas.layout<smem>>
  %s = nv_tileas.view %slots[%i] : (tensor<2x8x16xf32, #nv_tileas.layout<smem>>, index) -> !slot
  %t = nv_tileas.async.tiled_load %x[%i, %i], %s : (memref<?x?xf32>, !slot, index, index) -> !nv_tileas.token
  %v = nv_tileaa.tiled_load %x[%i, %i] : (memref<?x?xf32>, index, index) -> !held
  nv_tileaa.tiled_store %x[%i, %i], %v : (memref<?x?xf32>, !held, index, index) -> ()
  func.return
}"""
PARTED = "  %n = nvvm.read.ptx.sreg.tid.x : i32\n  %p = arith.index_cast %n : i32 to index\n"
NEEDS_BARRIERS = {
    "does not say by nvvm.reqntid": ("attributes {nvvm.reqntid = array<i32: 32>} ", ""),
    "hands on its token": ("  %v", "  nv_tileas.async.future_wait %t : (!nv_tileas.token) -> ()\n  %v"),
    "loads into shared memory without a place": (
        "  %v",
        "  %q = nv_tileaa.tiled_load %x[%i, %i] : (memref<?x?xf32>, index, index) -> !slot\n  %v",
    ),
    "has no place in shared memory": ("  %v", "  %room = nv_tileas.alloc_tensor : () -> !slot\n  %v"),
    "names no slot of a storage": (
        "  %v",
        "  %w = nv_tileas.view %s[%i, %i] : (!slot, index, index) -> tensor<1xf32, "
        "#nv_tileas.layout<smem, row_major>>\n  %v",
    ),
    "takes a number that differs between threads": ("  %slots", f"{PARTED}  %slots"),
    "gives its agents registers": (
        "  %v",
        "  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1>, "
        "max_regs = array<i32: 40>, num_warps = array<i32: 1>, warp_id = array<i32: 0>} {\n"
        "%one = arith.constant 1 : index\n} : () -> ()\n  %v",
    ),
    "names no array of numbers in shared memory": ("  %v", "  %g = llvm.mlir.addressof @nothing : !llvm.ptr<3>\n  %v"),
    "lets all threads of the block meet, in an agent": (
        "  %v",
        "  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1>, "
        "num_warps = array<i32: 1>, warp_id = array<i32: 0>} {\nnvvm.barrier0\n} : () -> ()\n  %v",
    ),
    "run convert-pipeline-to-nvvm before": (
        "  %v",
        "  %e = nv_tileas.async.pipeline.create_null_token : () -> !nv_tileas.producer_token\n  %v",
    ),
}
"""What the pass says where it comes to something that the passes before would not have left -> what is changed."""


@pytest.mark.parametrize("said", NEEDS_BARRIERS)
def test_what_the_passes_before_leave_is_asked_for(said: str) -> None:
    old, new = NEEDS_BARRIERS[said]
    assert old in ALONE
    text = ALONE.replace(old, new, 1)
    if PARTED in text:
        text = text.replace("tiled_load %x[%i, %i] :", "tiled_load %x[%p, %i] :")
    slot = "tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>"
    held = "tensor<8x16xf32, #nv_tileas.layout<rmem, blocked<[1, 4], [8, 4], [1, 1], order = [1, 0]>>>"
    assert_no_code(parse(text.replace("!slot", slot).replace("!held", held)), TO_THREADS[-1:], "sm_80", said)
