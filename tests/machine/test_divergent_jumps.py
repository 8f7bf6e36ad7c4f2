"""Branches between blocks that some threads of a warp take: like the `scf.if` that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.running import ORDERS, run

HEAD = """
func.func @f(%x: memref<64xi32>) attributes {nvvm.reqntid = array<i32: 64>} {
  %c1 = arith.constant 1 : i32
  %c7 = arith.constant 7 : i32
  %c40 = arith.constant 40 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %place = arith.index_cast %tid : i32 to index
"""

STRUCTURED = """
  %few = arith.cmpi ult, %tid, %c7 : i32
  %twice = arith.addi %tid, %tid : i32
  %v = scf.if %few -> (i32) { scf.yield %twice : i32 } else { scf.yield %c1 : i32 }
  memref.store %v, %x[%place] : memref<64xi32>
  func.return
}"""

BLOCKS = """
  %few = arith.cmpi ult, %tid, %c7 : i32
  cf.cond_br %few, ^small, ^join(%c1 : i32)
^small:
  %twice = arith.addi %tid, %tid : i32
  cf.br ^join(%twice : i32)
^join(%v: i32):
  memref.store %v, %x[%place] : memref<64xi32>
  func.return
}"""

NESTED = """
  %some = arith.cmpi ult, %tid, %c40 : i32
  cf.cond_br %some, ^inner, ^join(%c1 : i32)
^inner:
  %few = arith.cmpi ult, %tid, %c7 : i32
  %twice = arith.addi %tid, %tid : i32
  cf.cond_br %few, ^join(%twice : i32), ^more
^more:
  %thrice = arith.addi %twice, %tid : i32
  cf.br ^join(%thrice : i32)
^join(%v: i32):
  memref.store %v, %x[%place] : memref<64xi32>
  func.return
}"""

RETURNING = """
  %few = arith.cmpi ult, %tid, %c7 : i32
  cf.cond_br %few, ^stores, ^leaves
^stores:
  memref.store %c7, %x[%place] : memref<64xi32>
  func.return
^leaves:
  func.return
}"""

SAME_BLOCK = """
  %few = arith.cmpi ult, %tid, %c7 : i32
  cf.cond_br %few, ^join(%c7 : i32), ^join(%c1 : i32)
^join(%v: i32):
  memref.store %v, %x[%place] : memref<64xi32>
  func.return
}"""

TID = np.arange(64, dtype=np.int32)
FEW = TID < 7
RESULTS = {
    STRUCTURED: np.where(FEW, 2 * TID, 1),
    BLOCKS: np.where(FEW, 2 * TID, 1),
    NESTED: np.where(TID < 40, np.where(FEW, 2 * TID, 3 * TID), 1),
    RETURNING: np.where(FEW, 7, 0),
    SAME_BLOCK: np.where(FEW, 7, 1),
}


@pytest.mark.parametrize("order", [order for order in ORDERS if order != "timed"])
@pytest.mark.parametrize("body", RESULTS)
def test_each_thread_has_its_numbers(body: str, order: str) -> None:
    outcome = run(parse(HEAD + body), "f", {"x": np.zeros(64, np.int32)}, order=order)
    assert not outcome.violations
    np.testing.assert_array_equal(outcome.arrays["x"], RESULTS[body])


@pytest.mark.parametrize("body", RESULTS)
def test_it_is_safe(body: str) -> None:
    assert judged(HEAD + body).verdict is Verdict.SAFE


def judged(text: str) -> Report:
    return check(parse(text), prove=False)


BARRIER = """
func.func @f(%bar: !llvm.ptr<3>) attributes {nvvm.reqntid = array<i32: 32>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ticks = arith.constant 1000 : i32
  %first = nvvm.elect.sync -> i1
  cf.cond_br %first, ^make, ^join
^make:
  nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
  cf.br ^join
^join:
  nvvm.barrier0
  cf.cond_br %first, ^arrive, ^wait
^arrive:
  nvvm.mbarrier.arrive %bar : !llvm.ptr<3>
  cf.br ^wait
^wait:
  nvvm.mbarrier.try_wait.parity %bar, %c0, %ticks : !llvm.ptr<3>, i32, i32
  func.return
}"""


def test_one_elected_thread_arrives_once() -> None:
    assert judged(BARRIER).verdict is Verdict.SAFE
    unelected = judged(BARRIER.replace("cf.cond_br %first, ^arrive, ^wait", "cf.br ^arrive"))
    assert unelected.kinds == ["phase"]


UNDECIDED = {
    """
  %few = arith.cmpi ult, %tid, %c7 : i32
  cf.cond_br %few, ^one, ^other
^one:
  memref.store %c1, %x[%place] : memref<64xi32>
  cf.br ^join
^other:
  memref.store %c7, %x[%place] : memref<64xi32>
  cf.br ^join
^join:
  func.return
}""": "lets threads of one warp take both arms",
    """
  cf.br ^head(%tid : i32)
^head(%i: i32):
  %more = arith.cmpi ult, %i, %c40 : i32
  cf.cond_br %more, ^turn, ^behind
^turn:
  %next = arith.addi %i, %c1 : i32
  cf.br ^head(%next : i32)
^behind:
  func.return
}""": "lets threads of one warp leave a loop in different turns",
}


@pytest.mark.parametrize("body", UNDECIDED)
def test_what_depends_on_how_a_warp_is_scheduled_is_undecided(body: str) -> None:
    report = judged(HEAD + body)
    assert report.verdict is Verdict.UNDECIDED
    assert UNDECIDED[body] in report.undecided[0]
