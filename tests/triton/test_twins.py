"""
An op of `ttg`, `ttng` or `amdg` means what the ops mean that it becomes: programs of TTGIR beside the programs of
`nvvm` or `rocdl` that Triton makes of them (`Conversion/TritonGPUToLLVM` and its like), right and wrong.

Each file of `twins/` has a pair of programs, and variants of it:

    // Two buffers, and a wait that leaves one copy in flight.
    // right: safe
    // drains-too-little: undrained
    ttg.async_wait {num = 0 : i32}                 // not: drains-too-little
    ttg.async_wait {num = 1 : i32}                 // only: drains-too-little
    // becomes
    nvvm.cp.async.wait.group 0                     // not: drains-too-little
    ...

What both are given is in `Target`. A pair is added by a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.corpora import each
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.tools.inputs import full_context, parse_module

TWINS = Path(__file__).parent / "twins"
SHORT = {
    "$buf": "!ttg.memdesc<64x64xf16, #shared, #smem, mutable>",
    "$two": "!ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>",
    "$to": "<64x64xf16, #shared, #smem, mutable>",
    "$bar": "!ttg.memdesc<1xi64, #line, #smem, mutable>",
    "$tile": "tensor<64x64xf16, #tile>",
    "$sum": "tensor<64x64xf32, #mma>",
    "$ptrs": "tensor<64x64x!tt.ptr<f16>, #tile>",
    "$desc": "!tt.tensordesc<64x64xf16, #shared>",
    "$row": "!tt.tensordesc<1x64xf16, #shared>",
    "$a": "!ttg.memdesc<128x64xf16, #shared, #smem, mutable>",
    "$acc": "!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>",
    "$plain": "!ttg.memdesc<128x64xf32, #words, #smem, mutable>",
    "$a8": "!ttg.memdesc<128x64xf8E4M3FN, #bytes, #smem, mutable>",
    "$b8": "!ttg.memdesc<64x64xf8E4M3FN, #bytes, #smem, mutable>",
    "$factors": "!ttg.memdesc<128x2xi8, #factors, #ttng.tensor_memory, mutable>",
    "$scales": "tensor<128x2xi8, #wide>",
    "$regs": "tensor<128x64xf32, #wide>",
    "$ready": "nvvm.mbarrier.try_wait.parity",
    "$ticks": "%ticks : !llvm.ptr<3>, i32, i32",
    "$fence": "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}",
    "$one": "ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>",
    "$wgmma": "<m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>]",
    "$registers": "!llvm.struct<(f32, f32, f32, f32)>",
}
"""What stands for types and attributes that are written often."""
ABOVE = """
#tile = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#wide = #ttg.blocked<{sizePerThread = [1, 64], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
#four = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [1, 0]}>
#rows = #ttg.slice<{dim = 0, parent = #four}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#line = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#words = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#bytes = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#factors = #ttng.tensor_memory_scales_encoding<>
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "TARGET",
    "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @kernel(%d: $desc, %row: $row, %p: $ptrs, %g: !tt.ptr<f16>, %at: tensor<64xi32, #rows>,
      %offsets: tensor<64x64xi32, #tile>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %true = arith.constant true
    %false = arith.constant false
    %ones = arith.constant dense<1.0> : $tile
    %zeros = arith.constant dense<0.0> : $sum
BODY
    tt.return
  }
}
"""
BELOW = """
llvm.mlir.global internal @s() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<16384 x i8>
llvm.mlir.global internal @t() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<16384 x i8>
func.func @kernel(%g: !llvm.ptr<1>, %h: !llvm.ptr<1>, %bar: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %word: !llvm.ptr<3>,
    %n: i32) {
  %s = llvm.mlir.addressof @s : !llvm.ptr<3>
  %t = llvm.mlir.addressof @t : !llvm.ptr<3>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %bytes = arith.constant 8192 : i32
  %ticks = arith.constant 1000 : i32
  %one = arith.constant 1.0 : f16
  %no = arith.constant false
  %yes = arith.constant true
BODY
  func.return
}
"""


@dataclass(frozen=True)
class Twin:
    """One variant of a pair."""

    pair: str
    variant: str
    kinds: tuple[str, ...]
    """What is found in both programs; nothing in those that are right."""
    above: str
    below: str

    def __str__(self) -> str:
        return f"{self.pair}-{self.variant}"


def _of_variant(text: str, variant: str) -> str:
    """The lines that the variant has."""
    kept: list[str] = []
    for line in text.splitlines():
        code, _, mark = line.partition("  // ")
        word, _, names = mark.partition(": ")
        named = variant in names.split(", ")
        if not mark or (word == "only" and named) or (word == "not" and not named):
            kept.append(code)
    return "\n".join(kept)


def _within(frame: str, body: str) -> str:
    text = frame.replace("BODY", body)
    for short in sorted(SHORT, key=len, reverse=True):
        text = text.replace(short, SHORT[short])
    return text


def twins_of(path: Path) -> list[Twin]:
    """The variants of the pair in a file."""
    head, _, rest = path.read_text().partition("\n\n")
    above, _, below = rest.partition("// becomes\n")
    target = "hip:gfx1250" if "amdg." in above else "cuda:100"
    found: list[Twin] = []
    for variant, kinds in re.findall(r"^// ([\w-]+): ([\w, -]+)$", head, re.MULTILINE):
        programs = (_within(frame, _of_variant(text, variant)) for frame, text in ((ABOVE, above), (BELOW, below)))
        found.append(Twin(path.stem, variant, () if kinds == "safe" else tuple(kinds.split(", ")), *programs))
    return [Twin(t.pair, t.variant, t.kinds, t.above.replace("TARGET", target), t.below) for t in found]


ALL = [twin for path in sorted(TWINS.glob("*.twins")) for twin in twins_of(path)]


def judged(name: str, text: str) -> Report:
    return check(parse_module(text, name, full_context()), timeout=None)


def said(report: Report) -> tuple[list[str], Verdict, bool]:
    """What two programs have to agree on: the kinds, the verdict, and whether it holds for every trip count."""
    return sorted(report.kinds), report.verdict, report.is_proved


@each("twin", ALL, 30, ids=str)
def test_a_program_of_ttgir_is_judged_as_what_it_becomes(twin: Twin) -> None:
    above, below = judged(f"{twin}.ttgir", twin.above), judged(f"{twin}.mlir", twin.below)
    assert said(above) == said(below)
    assert sorted(above.kinds) == sorted(twin.kinds)
    assert above.kinds or above.is_proved


def test_there_are_many_pairs_right_and_wrong() -> None:
    assert len(ALL) >= 60
    assert sum(bool(twin.kinds) for twin in ALL) >= 30
    assert sum(not twin.kinds for twin in ALL) >= 20


IN_PAIRS = {
    "ttg": (
        "async_copy_global_to_local",
        "async_commit_group",
        "async_wait",
        "warp_specialize",
        "local_store",
        "local_load",
    ),
    "ttng": (
        "init_barrier",
        "inval_barrier",
        "barrier_expect",
        "arrive_barrier",
        "wait_barrier",
        "async_copy_mbarrier_arrive",
        "async_tma_copy_global_to_local",
        "async_tma_gather",
        "async_tma_copy_local_to_global",
        "async_tma_reduce",
        "async_tma_scatter",
        "async_tma_store_wait",
        "fence_async_shared",
        "warp_group_dot",
        "warp_group_dot_wait",
        "tc_gen5_mma",
        "tc_gen5_commit",
        "tc_gen5_mma_scaled",
        "tmem_copy",
        "tmem_alloc",
        "tmem_load",
        "tmem_store",
    ),
    "amdg": (
        "buffer_load_to_local",
        "async_copy_local_to_global",
        "async_tdm_copy_global_to_local",
        "async_tdm_gather",
        "async_tdm_copy_local_to_global",
        "async_tdm_scatter",
        "async_tdm_wait",
        "init_barrier",
        "arrive_barrier",
        "wait_barrier",
        "async_copy_mbarrier_arrive",
    ),
}
"""The ops that start asynchronous work, that count it, or that wait."""


@pytest.mark.parametrize("name", [f"{dialect}.{op}" for dialect, ops in IN_PAIRS.items() for op in ops])
def test_an_op_that_synchronises_is_in_a_right_and_in_a_wrong_program(name: str) -> None:
    used = [twin for twin in ALL if re.search(rf"\b{re.escape(name)}\b", twin.above)]
    assert any(twin.kinds for twin in used)
    assert any(not twin.kinds for twin in used)
