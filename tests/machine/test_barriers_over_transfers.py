"""A bare `s_barrier` hands over no transfer that is in flight; a wait before it does, and a fenced barrier."""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check

KERNEL = """
llvm.func @k(%src: !llvm.ptr<1>, %lds: !llvm.ptr<3>)
    attributes {{rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 128, 1, 1>, target = "gfx942"}} {{
  %c64 = llvm.mlir.constant(64 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %tid = gpu.thread_id x
  %t = arith.index_cast %tid : index to i32
  %wave = llvm.udiv %t, %c64 : i32
  %other = llvm.sub %c1, %wave : i32
  %from = llvm.getelementptr %src[%wave] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %mine = llvm.getelementptr %lds[%wave] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %theirs = llvm.getelementptr %lds[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  {transfer}
  {barrier}
  %v = llvm.load %theirs : !llvm.ptr<3> -> f32
  llvm.return
}}
"""
COUNTED = "rocdl.load.to.lds %from, %mine, 4, 0, 0 : !llvm.ptr<1>"
SPLIT = "rocdl.s.barrier.signal id = -1\nrocdl.s.barrier.wait id = -1"
WAITS = "rocdl.s.waitcnt 3952\n"


@pytest.mark.parametrize(
    ("barrier", "kinds"),
    [
        ("rocdl.s.barrier", ["race"]),
        (SPLIT, ["race"]),
        (WAITS + "rocdl.s.barrier", []),
        (WAITS + SPLIT, []),
        ("rocdl.s.barrier\n" + WAITS, ["race"]),
        ("rocdl.barrier", []),
        ("gpu.barrier", []),
    ],
)
def test_the_wave_that_reads_relies_on_a_wait_before_the_barrier(barrier: str, kinds: list[str]) -> None:
    assert check(parse(KERNEL.format(transfer=COUNTED, barrier=barrier))).kinds == kinds
