"""
Trip counts that reach a loop through other ops: out of a branch, out of a loop, into a group of agents; and addresses
by shifts of `llvm`, which move on as products do.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict

STORES = """
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %x = arith.constant 1.0 : f32
    scf.for %i = %zero to %turns step %one {
      memref.store %x, %all[<place>] : memref<4xf32>
    }"""


def agents(bound: str, before: str, group: str, place: str = "%zero") -> str:
    """Two agents that store `bound` times each; `group` is how the region of both, or of each, begins."""
    body = f"{{\n{group}\n{STORES.replace('<place>', place)}\n  }}"
    bodies, sizes = (body, "2") if "%me" in group else (f"{body}, {body}", "1, 1")
    return f"""
func.func @k(%n: index, %flag: i1, %a: memref<4xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {before}
  nv_tileaa.execute {bound}, %a attributes {{num_agents_per_group = array<i32: {sizes}>}} {bodies} :
    (index, memref<4xf32>) -> ()
  func.return
}}"""


ALONE = "^bb0(%turns: index, %all: memref<4xf32>):"
IN_A_GROUP = "^bb0(%me: index, %turns: index, %all: memref<4xf32>):"
BRANCH = "%m = scf.if %flag -> (index) {\n scf.yield %n : index\n} else {\n scf.yield %c0 : index\n}"
LOOP = "%m = scf.for %t = %c0 to %c1 step %c1 iter_args(%w = %c0) -> (index) {\n scf.yield %n : index\n}"
FROM = {"a branch": ("%m", BRANCH, ALONE), "a loop": ("%m", LOOP, ALONE), "a group of two": ("%n", "", IN_A_GROUP)}


@pytest.mark.parametrize("name", FROM)
def test_a_bound_is_varied_wherever_it_comes_from(name: str) -> None:
    report = check(parse(agents(*FROM[name])))
    assert report.kinds == ["race"]
    assert report.findings[0].arguments["n"] == 1


def test_agents_of_a_group_that_store_to_different_places_are_safe() -> None:
    report = check(parse(agents("%n", "", IN_A_GROUP, place="%me")))
    assert report.verdict is Verdict.SAFE
    assert not report.left_out


SHIFTED = """
func.func @k(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    %far = <shift> : i32
    %from = llvm.getelementptr %src[%far] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    nvvm.cp.async.shared.global %tile, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group <left>
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
  }
  nvvm.cp.async.wait.group 0
  func.return
}"""


@pytest.mark.parametrize("shift", ["llvm.shl %k, %c4", "arith.shli %k, %c4"])
def test_an_address_by_a_shift_is_proved_for_every_trip_count(shift: str) -> None:
    proved = check(parse(SHIFTED.replace("<shift>", shift).replace("<left>", "0")))
    assert proved.verdict_line.startswith("safe for every trip count")
    wrong = check(parse(SHIFTED.replace("<shift>", shift).replace("<left>", "1")))
    assert wrong.kinds
