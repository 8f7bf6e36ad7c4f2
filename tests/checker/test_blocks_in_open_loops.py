"""
Threads of any block, in loops of which it is open how often they turn: a ring whose warps read and write the part of an
array that the number of the block leads to.
"""

from __future__ import annotations

import pytest

from tests.checker.test_slots_of_threads import checked, ring
from tileas_xdsl.checker.verdict.report import Report

FILLS, USES = "llvm.store %value, %word", "nvvm.mbarrier.try_wait.parity %full"
"""In front of these each warp does what the other one does not know of."""
NUMBERS = """  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %many = arith.constant 65536 : i32
  %of_block = arith.muli %block, %many : i32
  %twice = arith.addi %of_block, %of_block : i32
  %twelve = arith.constant 12 : index
  %tid ="""


def place(name: str, array: str, begin: str) -> str:
    """The word of the present turn and lane, behind `begin` elements of `array`."""
    return f"""%{name}_turn = arith.index_cast %k : index to i32
      %{name}_row = arith.muli %{name}_turn, %c32 : i32
      %{name}_first = arith.addi {begin}, %{name}_row : i32
      %{name}_number = arith.addi %{name}_first, %in_warp : i32
      %{name} = llvm.getelementptr {array}[%{name}_number] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      """


def read(array: str, begin: str) -> str:
    return f"{place('from', array, begin)}%got = llvm.load %from : !llvm.ptr<1> -> f32\n      "


def write(array: str, begin: str) -> str:
    return f"{place('to', array, begin)}llvm.store %value, %to : f32, !llvm.ptr<1>\n      "


def in_turn(number: str, body: str) -> str:
    return f"%is_it = arith.cmpi eq, %k, {number} : index\n      scf.if %is_it {{\n      {body}}}\n      "


def program(fills: str, uses: str, slots: int = 4) -> str:
    """The ring, of which each warp does something more with arrays in global memory."""
    text = ring(slots).replace("%tid =", NUMBERS.lstrip(), 1)
    text = text.replace("%n: index)", "%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %n: index)")
    return text.replace(FILLS, fills + FILLS).replace(USES, uses + USES)


def of_arrays(fills: str, uses: str) -> Report:
    return checked(program(fills, uses))


RIGHT = {
    "each its own array": (read("%a", "%of_block"), write("%b", "%of_block")),
    "two parts that nobody writes": (read("%a", "%of_block"), read("%a", "%twice")),
    "one part that one warp reads and writes": ("", read("%b", "%of_block") + write("%b", "%of_block")),
}


@pytest.mark.parametrize("what", RIGHT)
def test_every_block_is_proved_with_all_its_turns_at_once(what: str) -> None:
    report = of_arrays(*RIGHT[what])
    assert report.is_proved, str(report)
    assert report.proofs_by_decisions
    assert "ctaid" not in report.verdict_line


WRONG = {
    "two warps write one part": (write("%b", "%of_block"), write("%b", "%of_block")),
    "one writes what the other one reads": (read("%b", "%of_block"), write("%b", "%of_block")),
    "two parts at a distance that differs": (read("%b", "%twice"), write("%b", "%of_block")),
    "a late turn reads what is written": (in_turn("%twelve", read("%b", "%of_block")), write("%b", "%of_block")),
    "a late turn reads another part": (in_turn("%twelve", read("%b", "%twice")), write("%b", "%of_block")),
    "a late turn writes what is read": (in_turn("%twelve", write("%b", "%of_block")), read("%b", "%of_block")),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_goes_wrong_in_some_block_is_not_proved(what: str) -> None:
    report = of_arrays(*WRONG[what])
    assert report.findings, str(report)


def test_a_part_that_differs_from_turn_to_turn_is_not_taken_for_one() -> None:
    """Element `k b` of the array: how far two turns are apart differs between blocks."""
    place = """%times = arith.index_cast %k : index to i32
      %number = arith.muli %times, %of_block : i32
      %to = llvm.getelementptr %b[%number] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      """
    report = of_arrays("", f"{place}llvm.store %value, %to : f32, !llvm.ptr<1>\n      ")
    assert not report.proofs_by_decisions or "ctaid.x in 0..3" in report.verdict_line, str(report)
