"""
Rings that threads keep themselves: a slot and a parity in registers, that begin again after the last slot.

Beside the warps that fill and use the slots is one that only counts them, as the idle warps of an agent do. Its last
turns, with the slots 0, 1, 2, 3, look as if the number of the slot went up for ever.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report


def loop(role: str, body: str, slots: int) -> str:
    """A loop of `%n` turns that counts slots, with what `role` does to the barriers of its slot."""
    return f"""
    scf.for %k = %c0 to %n step %c1 iter_args(%slot = %zero, %parity = %zero) -> (i32, i32) {{
      %next = arith.addi %slot, %one : i32
      %over = arith.cmpi eq, %next, %slots : i32
      %after = arith.select %over, %zero, %next : i32
      %turned = arith.xori %parity, %one : i32
      %then = arith.select %over, %turned, %parity : i32
      %at = arith.muli %slot, %eight : i32
      %full = llvm.getelementptr %fulls[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      %empty = llvm.getelementptr %empties[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      %words = arith.muli %slot, %c128 : i32
      %lane = arith.addi %words, %in_warp : i32
      %word = llvm.getelementptr %tiles[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      {body}
      scf.yield %after, %then : i32, i32
    }} {{role = "{role}", slots = {slots} : i32}}"""


def ring(slots: int) -> str:
    """A warp that fills `slots` slots, one that uses them, and one that only counts them."""
    fills = """%free = arith.xori %parity, %one : i32
      nvvm.mbarrier.try_wait.parity %empty, %free, %ticks : !llvm.ptr<3>, i32, i32
      llvm.store %value, %word : f32, !llvm.ptr<3>
      nvvm.mbarrier.arrive %full : !llvm.ptr<3>"""
    uses = """nvvm.mbarrier.try_wait.parity %full, %parity, %ticks : !llvm.ptr<3>, i32, i32
      %read = llvm.load %word : !llvm.ptr<3> -> f32
      nvvm.mbarrier.arrive %empty : !llvm.ptr<3>"""
    names = [f"%{kind}{slot}" for kind in ("f", "e") for slot in range(slots)]
    arrays = [("%fulls", slot) for slot in range(slots)] + [("%empties", slot) for slot in range(slots)]
    makes = "\n".join(
        f"""    {name} = llvm.getelementptr {array}[{8 * slot}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      nvvm.mbarrier.init {name}, %c32 : !llvm.ptr<3>, i32"""
        for name, (array, slot) in zip(names, arrays, strict=True)
    )
    return f"""
func.func @ring(%fulls: !llvm.ptr<3>, %empties: !llvm.ptr<3>, %tiles: !llvm.ptr<3>, %n: index)
    attributes {{nvvm.reqntid = array<i32: 96>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %slots = arith.constant {slots} : i32
  %ticks = arith.constant 1000000 : i32
  %value = arith.constant 1.0 : f32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %mask = arith.constant 31 : i32
  %in_warp = arith.andi %tid, %mask : i32
  %first = arith.cmpi eq, %tid, %zero : i32
  scf.if %first {{
{makes}
  }}
  nvvm.barrier0
  %fills = arith.cmpi ult, %tid, %c32 : i32
  %works = arith.cmpi ult, %tid, %c64 : i32
  scf.if %fills {{{loop("fills", fills, slots)}
  }} else {{
    scf.if %works {{{loop("uses", uses, slots)}
    }} else {{{loop("counts", "", slots)}
    }}
  }}
  func.return
}}"""


def checked(text: str) -> Report:
    return check(parse(text), judge_waits=False)


@pytest.mark.parametrize("slots", [2, 3, 4, 5, 6])
def test_a_ring_of_any_depth_is_proved(slots: int) -> None:
    report = checked(ring(slots))
    assert report.is_proved, str(report)


WRONG = {
    "nobody waits for a free slot": (
        "nvvm.mbarrier.try_wait.parity %empty, %free, %ticks : !llvm.ptr<3>, i32, i32",
        "",
    ),
    "nobody waits for a full slot": (
        "nvvm.mbarrier.try_wait.parity %full, %parity, %ticks : !llvm.ptr<3>, i32, i32",
        "",
    ),
    "no arrival of who used it": ("nvvm.mbarrier.arrive %empty : !llvm.ptr<3>", ""),
    "no arrival of who filled it": ("nvvm.mbarrier.arrive %full : !llvm.ptr<3>", ""),
    "the parity of the next turn": ("%free = arith.xori %parity, %one", "%free = arith.ori %parity, %parity"),
    "two slots in one place": ("arith.muli %slot, %c128", "arith.muli %slot, %one"),
    "the parity never turns": ("arith.select %over, %turned, %parity", "arith.select %over, %parity, %parity"),
}


@pytest.mark.parametrize("slots", [3, 4, 6])
@pytest.mark.parametrize("fault", WRONG)
def test_what_is_wrong_with_a_ring_is_found(slots: int, fault: str) -> None:
    right, wrong = WRONG[fault]
    text = ring(slots)
    assert right in text
    report = checked(text.replace(right, wrong))
    assert report.findings, str(report)


@pytest.mark.parametrize("slots", [3, 4, 6])
def test_who_only_counts_keeps_no_state_apart(slots: int) -> None:
    """What an idle warp does not know makes no state: there are two rounds until all are alike, and two that are."""
    (proof,) = checked(ring(slots)).proofs_by_decisions.values()
    assert proof.states <= 4 * slots


@pytest.mark.parametrize("turn", [0, 5, 12, 40])
def test_who_counts_and_then_waits_is_found(turn: int) -> None:
    """A warp that nobody waits for asks for a phase of which it knows nothing, be it late."""
    late = f"""%late = arith.constant {turn} : index
      %now = arith.cmpi eq, %k, %late : index
      scf.if %now {{
        nvvm.mbarrier.try_wait.parity %full, %parity, %ticks : !llvm.ptr<3>, i32, i32
      }}"""
    text = ring(4)
    begin = text.rindex("scf.yield")
    report = checked(f"{text[:begin]}{late}\n      {text[begin:]}")
    assert not report.is_proved, str(report)


def test_one_slot_too_few_is_found() -> None:
    """Who fills counts five slots where there are four: the fifth has no barriers."""
    text = ring(4).replace("%over = arith.cmpi eq, %next, %slots", "%over = arith.cmpi eq, %next, %five", 1)
    report = checked(text.replace("%slots =", "%five = arith.constant 5 : i32\n  %slots ="))
    assert report.findings, str(report)
