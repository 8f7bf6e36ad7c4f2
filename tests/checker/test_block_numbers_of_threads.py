"""Numbers that differ between blocks and between threads, as `64 b + tid` does: one bias for each column of a block."""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report


def checked(body: str) -> Report:
    """What a check says of two warps that run `body`: `%i` is `64 b + tid`, and `%low` holds in half of each warp."""
    text = f"""
func.func @f(%bias: !llvm.ptr<1>, %out: !llvm.ptr<1>, %shared: !llvm.ptr<3>)
    attributes {{nvvm.reqntid = array<i32: 64>}} {{
  %zero = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %c31 = arith.constant 31 : i32
  %c64 = arith.constant 64 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %lane = arith.andi %tid, %c31 : i32
  %low = arith.cmpi ult, %lane, %c16 : i32
  %b = nvvm.read.ptx.sreg.ctaid.x : i32
  %at = arith.muli %b, %c64 : i32
  %i = arith.addi %at, %tid : i32
  {body}
  func.return
}}"""
    return check(parse(text), judge_waits=False)


def at(array: str, index: str, space: int = 1) -> str:
    return f"llvm.getelementptr %{array}[%{index}] : (!llvm.ptr<{space}>, i32) -> !llvm.ptr<{space}>, i32"


def copied(index: str) -> str:
    """Each thread loads from place `%i` of one array, and stores to place `index` of the other one."""
    return f"""%p = {at("bias", "i")}
  %v = llvm.load %p : !llvm.ptr<1> -> i32
  %q = {at("out", index)}
  llvm.store %v, %q : i32, !llvm.ptr<1>"""


def test_each_thread_has_its_place_in_the_part_of_its_block() -> None:
    report = checked(copied("i"))
    assert report.is_proved
    assert "ctaid" not in report.verdict_line


def test_threads_of_one_block_in_one_place_are_found() -> None:
    assert checked(copied("at")).kinds == ["race"]


def test_threads_that_are_shifted_by_a_warp_are_found() -> None:
    """Warp 0 stores where warp 1 does, in the part of the block."""
    body = f"""%half = arith.constant 32 : i32
  %over = arith.addi %i, %half : i32
  %p = {at("out", "i")}
  llvm.store %tid, %p : i32, !llvm.ptr<1>
  %q = {at("out", "over")}
  llvm.store %tid, %q : i32, !llvm.ptr<1>"""
    assert checked(body).kinds == ["race"]


def test_parts_of_two_forms_are_tried_block_by_block() -> None:
    """What a block writes at `64 b + tid`, all of its threads read at 64: a race in block 1 alone."""
    body = f"""%p = {at("out", "i")}
  llvm.store %tid, %p : i32, !llvm.ptr<1>
  %q = {at("out", "c64")}
  %v = llvm.load %q : !llvm.ptr<1> -> i32"""
    report = checked(body)
    assert report.kinds == ["race"]
    assert report.findings[0].arguments == {"ctaid.x": 1}


@pytest.mark.parametrize("arms", ["%zero, %b", "%b, %zero"])
def test_a_number_of_some_threads_is_not_that_of_all(arms: str) -> None:
    """In block 0 all threads have 0. In others half of each warp goes where both warps store."""
    body = f"""%x = arith.select %low, {arms} : i32
  %is = arith.cmpi ne, %x, %zero : i32
  scf.if %is {{
    llvm.store %tid, %out : i32, !llvm.ptr<1>
  }}"""
    assert checked(body).kinds == ["race"]


def test_a_number_that_only_some_threads_add_is_no_index_of_all() -> None:
    """The distance of two threads differs from block to block: blocks are tried one by one."""
    body = f"""%x = arith.select %low, %tid, %i : i32
  %q = {at("out", "x")}
  llvm.store %tid, %q : i32, !llvm.ptr<1>"""
    report = checked(body)
    assert not report.findings
    assert not report.is_proved


def test_such_a_number_is_no_place_in_shared_memory_for_every_block() -> None:
    body = f"""%q = {at("shared", "i", 3)}
  llvm.store %tid, %q : i32, !llvm.ptr<3>"""
    assert "ctaid.x" in str(checked(body))
