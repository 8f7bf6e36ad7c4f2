"""
Branches on a mask whose elements are not computed: what they access counts as accessed, and nothing else counts at all.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict

KERNEL = """
func.func @k(%bar: !llvm.ptr<3>, %x: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {{nvvm.reqntid = array<i32: 64>}} {{
  %c1 = arith.constant 1 : i32
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %ticks = arith.constant 1000 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %is_first = arith.cmpi eq, %tid, %c0 : i32
  scf.if %is_first {{
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
  }}
  nvvm.barrier0
  %v = llvm.load %x : !llvm.ptr<1> -> i32
  %mask = arith.cmpi eq, %v, %c0 : i32
  %one_warp = arith.cmpi ult, %tid, %c32 : i32
  scf.if %one_warp {{
    {first}
  }} else {{
    {second}
  }}
  func.return
}}
"""
ARRIVAL = "scf.if %is_first { nvvm.mbarrier.arrive %bar : !llvm.ptr<3> }"
WAIT = "nvvm.mbarrier.try_wait.parity %bar, %c0, %ticks : !llvm.ptr<3>, i32, i32"
STORE = "llvm.store %c1, %out : i32, !llvm.ptr<1>"
LOAD = "%w = llvm.load %out : !llvm.ptr<1> -> i32"


def masked(body: str, otherwise: str = "") -> str:
    return f"scf.if %mask {{ {body} }} else {{ {otherwise} }} {{nv_tileas.masked}}"


def judged(first: str, second: str) -> Report:
    return check(parse(KERNEL.format(first=first, second=second)), judge_waits=False)


def test_an_access_by_a_mask_races_as_any_other() -> None:
    report = judged(masked(STORE), LOAD)
    assert report.verdict is Verdict.VIOLATION
    assert report.kinds == ["race"]
    assert judged(masked(LOAD), LOAD).verdict is Verdict.SAFE


@pytest.mark.parametrize("body", [masked(ARRIVAL), masked(LOAD, ARRIVAL)], ids=["taken", "not taken"])
def test_an_arrival_by_a_mask_may_never_come(body: str) -> None:
    """Whatever the branch says of itself."""
    assert judged(body, WAIT).verdict is Verdict.UNDECIDED
    assert judged(ARRIVAL, WAIT).verdict is Verdict.SAFE


def test_what_a_mask_chooses_is_not_known() -> None:
    chosen = "%w = scf.if %mask -> (i32) { scf.yield %c0 : i32 } else { scf.yield %c1 : i32 } {nv_tileas.masked}"
    branch = f"%is_zero = arith.cmpi eq, %w, %c0 : i32 scf.if %is_zero {{ {ARRIVAL} }}"
    assert judged(f"{chosen} {branch}", WAIT).verdict is Verdict.UNDECIDED
