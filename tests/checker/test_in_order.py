"""Functions of tiles that do one thing after the other: right whatever data decide, unless a call shows a mistake."""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.in_order import is_in_order
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.arguments import find_function

HEAD = """
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%b = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
%n32 = nv_tileaa.load %lengths[%b] : (memref<?xi32>, index) -> i32
%n = arith.index_cast %n32 : i32 to index
"""
LOADED_BOUND = """
scf.for %j = %c0 to %n step %c1 {
  %x = nv_tileaa.tiled_load %x0[%j] : (memref<?xf32>, index) -> tensor<8xf32>
  nv_tileaa.tiled_store %y[%b], %x : (memref<?xf32>, tensor<8xf32>, index) -> ()
}
"""
LOADED_BRANCH = """
%some = arith.cmpi sgt, %n, %c0 : index
scf.if %some {
  %x = nv_tileaa.tiled_load %x0[%n] : (memref<?xf32>, index) -> tensor<8xf32>
  nv_tileaa.tiled_store %y[%b], %x : (memref<?xf32>, tensor<8xf32>, index) -> ()
}
"""
UNTIL_DATA = """
%end = scf.while (%i = %n) : (index) -> (index) {
  %m32 = nv_tileaa.load %lengths[%i] : (memref<?xi32>, index) -> i32
  %m = arith.index_cast %m32 : i32 to index
  %more = arith.cmpi sgt, %m, %c0 : index
  scf.condition(%more) %m : index
} do {
^bb0(%i: index):
  scf.yield %i : index
}
"""
FOR_EVER = UNTIL_DATA.replace("nv_tileaa.load %lengths[%i] : (memref<?xi32>, index) -> i32", "arith.constant 1 : i32")
LOADED_STEP = LOADED_BOUND.replace("step %c1", "step %n")


def function_of(body: str) -> str:
    return f"func.func @k(%lengths: memref<?xi32>, %x0: memref<?xf32>, %y: memref<?xf32>) {{\n{HEAD}{body}\nreturn }}"


def judged(body: str) -> Report:
    return check(parse(function_of(body)), judge_waits=False)


@pytest.mark.parametrize(
    ("body", "assumed"),
    [(LOADED_BOUND, "indices stay inside"), (LOADED_BRANCH, "indices stay inside"), (UNTIL_DATA, "'scf.while' ends")],
)
def test_what_data_decide_is_right_where_nothing_is_asynchronous(body: str, assumed: str) -> None:
    report = judged(body)
    assert report.holds_for_every_trip_count, str(report)
    assert assumed in report.last_line
    assert "blocks do not race" in report.last_line


@pytest.mark.parametrize("body", [FOR_EVER, LOADED_STEP])
def test_what_may_never_end_is_left_open(body: str) -> None:
    assert not is_in_order(find_function(parse(function_of(body)), "k")[0])


def test_memory_of_its_own_and_work_that_goes_on_are_left_to_executions() -> None:
    for body in ("%z = memref.alloc() : memref<8xf32>", "%q = nv_tileaa.create_mem_token : () -> !nv_tileaa.mem_token"):
        assert not is_in_order(find_function(parse(function_of(body)), "k")[0])


def test_trip_counts_that_are_given_are_those_that_are_tried() -> None:
    report = check(parse(function_of(LOADED_BOUND)), judge_waits=False, trip_counts=[0, 1])
    assert report.verdict is Verdict.UNDECIDED
