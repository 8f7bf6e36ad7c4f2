"""What an earlier grid may still write is touched behind `griddepcontrol.wait` only."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.running import run

KERNEL = """
func.func @k(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %bar: !llvm.ptr<3>, %n: i32)
    attributes {{nvvm.reqntid = array<i32: 64>}} {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %size = arith.constant 16 : i32
  %value = arith.constant 1.0 : f32
  %ticks = arith.constant 1000 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %first = arith.cmpi ult, %tid, %c32 : i32
  %alone = arith.cmpi eq, %tid, %zero : i32
  %src = llvm.getelementptr %a[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %mine = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %own = llvm.getelementptr %tile[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  {}
  func.return
}}
"""
WAIT, LAUNCH, MEET = "nvvm.griddepcontrol wait", "nvvm.griddepcontrol launch_dependents", "nvvm.barrier0"
LOAD = "%v = llvm.load %src : !llvm.ptr<1> -> f32"
STORE = "llvm.store %value, %mine : f32, !llvm.ptr<1>"
LOCAL = "llvm.store %value, %own : f32, !llvm.ptr<3>"
ASYNC = "nvvm.cp.async.shared.global %own, %src, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>\n"
DONE = "nvvm.cp.async.commit.group\nnvvm.cp.async.wait.group 0"
BULK = (
    "nvvm.mbarrier.init %bar, %one : !llvm.ptr<3>, i32\nnvvm.fence.mbarrier.init\n"
    "nvvm.mbarrier.arrive.expect_tx %bar, %size : !llvm.ptr<3>, i32\n"
)
COPY = "nvvm.cp.async.bulk.shared.cluster.global %tile, %a, %bar, %size : !llvm.ptr<3>, <1>\n"
SEEN = "nvvm.mbarrier.try_wait.parity %bar, %zero, %ticks : !llvm.ptr<3>, i32, i32\n"


def lines(*ops: str) -> str:
    return "\n".join(ops)


def when(condition: str, *ops: str) -> str:
    return f"scf.if {condition} {{\n{lines(*ops)}\n}}"


RIGHT = {
    "every thread waits": lines(LOCAL, WAIT, LOAD, STORE, LAUNCH),
    "one warp waits, and the others learn of it": lines(when("%first", WAIT), MEET, LOAD, STORE),
    "one thread waits": lines(when("%alone", WAIT), MEET, LOAD, STORE),
    "only those who read wait": lines(LOCAL, when("%first", WAIT, LOAD), LAUNCH),
    "a copy": lines(WAIT, ASYNC, DONE),
    "a bulk copy": when("%alone", BULK, WAIT, COPY, SEEN),
    "in a loop": lines(WAIT, "scf.for %i = %zero to %n step %one : i32 {", LOAD, STORE, "}"),
    "nothing of global memory": lines(LOCAL, LAUNCH, WAIT),
}
WRONG = {
    "one warp does not wait": lines(when("%first", WAIT, LOAD), "%w = llvm.load %src : !llvm.ptr<1> -> f32"),
    "read too early": lines(LOAD, WAIT),
    "written too early": lines(STORE, WAIT),
    "the others do not learn of it": lines(when("%first", WAIT), LOAD),
    "the barrier comes before": lines(MEET, when("%first", WAIT), LOAD),
    "a copy": lines(ASYNC, WAIT, DONE),
    "a bulk copy": when("%alone", BULK, COPY, WAIT, SEEN),
    "a wait in a loop without turns": lines("scf.for %i = %zero to %n step %one : i32 {", WAIT, "}", LOAD),
    "in the first turn": lines("scf.for %i = %zero to %n step %one : i32 {", LOAD, WAIT, "}"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_accesses_behind_the_wait_are_safe(name: str) -> None:
    report = check(parse(KERNEL.format(RIGHT[name])))
    assert report.verdict_line == "safe for every trip count", str(report)
    assert "earlier grid" not in report.last_line


@pytest.mark.parametrize("name", WRONG)
def test_accesses_before_it_race_with_the_earlier_grid(name: str) -> None:
    report = check(parse(KERNEL.format(WRONG[name])))
    assert report.kinds == ["race"], str(report)
    assert "an earlier grid" in str(report)


def test_a_kernel_that_only_lets_others_start_says_what_it_rests_on() -> None:
    report = check(parse(KERNEL.format(lines(LOAD, LAUNCH))))
    assert "no earlier grid writes what the kernel reads while it runs" in report.last_line
    assert "earlier grid" not in check(parse(KERNEL.format(LOAD))).last_line


def test_numbers_stay_what_they_were() -> None:
    arrays = [np.ones(64, np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32), np.zeros(1, np.int64), 2]
    outcome = run(parse(KERNEL.format(RIGHT["in a loop"])), "k", arrays)
    assert not outcome.violations
    assert outcome.arrays["out"].tolist() == [1.0] * 64


TTGIR = """
#blocked = #ttg.blocked<{{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>
#shared = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @k(%a: !tt.ptr<f32>, %n: i32) {{
    %p = tt.splat %a : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #blocked>
    %buf = ttg.local_alloc : () -> !ttg.memdesc<1024xf32, #shared, #smem, mutable>
    {}
    tt.return
  }}
}}
"""
TT_WAIT, TT_LAUNCH = "tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents"
TT_LOAD = "%v = tt.load %p : tensor<1024x!tt.ptr<f32>, #blocked>"
TT_COPY = (
    "%c = ttg.async_copy_global_to_local %p, %buf : tensor<1024x!tt.ptr<f32>, #blocked> -> "
    "<1024xf32, #shared, #smem, mutable>\n%g = ttg.async_commit_group tokens %c"
)
TT_DONE = "%w = ttg.async_wait %g {num = 0 : i32}"


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        (lines(TT_WAIT, TT_LOAD), []),
        (lines(TT_WAIT, TT_COPY, TT_LAUNCH, TT_DONE), []),
        (lines(TT_LOAD, TT_WAIT), ["race"]),
        (lines(TT_COPY, TT_WAIT, TT_DONE), ["race"]),
        (lines(TT_LOAD, TT_LAUNCH), []),
        (TT_LOAD, []),
    ],
)
def test_triton_kernels_wait_alike(body: str, kinds: list[str]) -> None:
    report = check(parse(TTGIR.format(body)))
    assert report.kinds == kinds, str(report)
    assert ("no earlier grid" in report.last_line) == (TT_LAUNCH in body and TT_WAIT not in body)
