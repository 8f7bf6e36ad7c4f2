"""
Proofs by states (`checker.decisions`) of what compilers make of loops: warps of a block, roles in branches, slots and
parities that come round by comparisons, prologues with clipped bounds. Each right program stands beside a wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.checker.nest_programs import nest
from tests.checker.test_decisions import proves
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict


def warps(body: str) -> str:
    """A block of two warps that runs `body`."""
    return f"""
func.func @k(%n: i32) attributes {{nvvm.reqntid = array<i32: 64>}} {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %thread = nvvm.read.ptx.sreg.tid.x : i32
{body}
  func.return
}}"""


MEET = "nvvm.barrier id = %c1 number_of_threads = %c64"


def loop(number: str, bound: str, body: str = MEET) -> str:
    return f"scf.for %k{number} = %c0 to {bound} step %c1 : i32 {{\n{body}\n}}\n"


def roles(second: str) -> str:
    """The first warp turns n times, the second as often as `second` says, in a loop of its own."""
    return warps(
        "%first = arith.cmpi slt, %thread, %c32 : i32\n"
        f"scf.if %first {{\n{loop('0', '%n')}}}\n"
        "%more = arith.addi %n, %c1 : i32\n"
        "%second = arith.cmpi sge, %thread, %c32 : i32\n"
        f"scf.if %second {{\n{loop('1', second)}}}"
    )


def prologue(least: int) -> str:
    """One meeting where there is a turn, and those of the other turns in a loop with a clipped bound."""
    return warps(
        f"""%least = arith.constant {least} : i32
  %some = arith.cmpi sgt, %n, %c0 : i32
  scf.if %some {{
    {MEET}
  }}
  %rest = arith.subi %n, %c1 : i32
  %is = arith.cmpi uge, %n, %least : i32
  %turns = arith.select %is, %rest, %c0 : i32
  {loop("0", "%turns")}"""
    )


RIGHT: Mapping[str, str] = {
    "all warps in one loop": warps(loop("0", "%n")),
    "a loop for each role": roles("%n"),
    "clipped where it comes to 0": prologue(1),
    "clipped just before": prologue(2),
    "the greater of it and 0": warps(
        f"%rest = arith.subi %n, %c3 : i32\n%turns = arith.maxsi %rest, %c0 : i32\n{loop('0', '%turns')}"
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_are_proved_and_right_call_by_call(name: str) -> None:
    assert proves(RIGHT[name])
    assert check(parse(RIGHT[name]), trip_counts=range(6), prove=False).verdict is Verdict.SAFE


def test_one_role_that_turns_once_more_is_found() -> None:
    text = roles("%more")
    assert not proves(text)
    report = check(parse(text), timeout=60)
    assert report.findings[0].arguments == {"n": 0}


def test_what_is_clipped_late_is_no_clipped_bound() -> None:
    """From n = 4 on there are n - 1 turns, and below that none: how many there are is not n - 1, clipped at 0."""
    assert not proves(prologue(4))
    assert check(parse(prologue(4)), timeout=60).is_proved, "there is another proof, of one loop alone"


# Slots and parities that the program itself lets come round -----------------------------------------------------------

ROUND = """
      %later = arith.addi %{0}s, %c1 : i32
      %end = arith.cmpi eq, %later, %slots : i32
      %{0}next = arith.select %end, %c0, %later : i32
      %other = arith.xori %{0}p, %c1 : i32
      %{0}flip = arith.select %end, %other, %{0}p : i32"""


def by_select(slots: int, *, flips: bool = True) -> str:
    """A ring of `slots`; both agents carry slot and parity from step to step, and from tile to tile."""

    def agent(parity: str, work: str) -> str:
        name = parity[0]
        carried = ROUND.format(name) if flips else ROUND.format(name).replace("%other, ", f"%{name}p, ")
        return f"""
    %{name}e0, %{name}e1 = scf.for %t = %c0 to %n step %c1
        iter_args(%{name}s0 = %c0, %{name}p0 = %c0) -> (i32, i32) : i32 {{
      %{name}r0, %{name}r1 = scf.for %j = %c0 to %m step %c1
          iter_args(%{name}s = %{name}s0, %{name}p = %{name}p0) -> (i32, i32) : i32 {{
      %f = llvm.getelementptr %full[%{name}s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %e = llvm.getelementptr %empty[%{name}s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %slot = llvm.getelementptr %ring[%{name}s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
{work}{carried}
        scf.yield %{name}next, %{name}flip : i32, i32
      }}
      scf.yield %{name}r0, %{name}r1 : i32, i32
    }}"""

    head, _, _ = nest(slots).partition("  nv_tileaa.execute")
    producer = """      %turned = arith.xori %wp, %c1 : i32
      nvvm.mbarrier.try_wait.parity %e, %turned, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %slot, %src, %f, %bytes : !llvm.ptr<3>, <1>"""
    consumer = """      nvvm.mbarrier.try_wait.parity %f, %rp, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.mbarrier.arrive %e : !llvm.ptr<3>"""
    return f"""{head}
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{{agent("write", producer)}
  }}, {{{agent("read", consumer)}
  }} : () -> ()
  func.return
}}"""


@pytest.mark.parametrize("slots", [2, 3])
def test_slots_that_come_round_by_a_comparison_are_proved(slots: int) -> None:
    text = by_select(slots)
    assert proves(text)
    report = check(parse(text), trip_counts=[0, 1, 2, 3], prove=False)
    assert report.verdict is Verdict.SAFE


def test_a_parity_that_does_not_come_round_is_found() -> None:
    text = by_select(2, flips=False)
    assert not proves(text)
    assert check(parse(text), timeout=60).verdict is Verdict.VIOLATION


FENCE = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}"
NOT_ALWAYS: Mapping[str, tuple[str, dict[str, int]]] = {
    "never": ("%is = arith.cmpi slt, %j, %c0 : i32", {"n": 1, "m": 3}),
    "in the first tile": ("%is = arith.cmpi eq, %t, %c0 : i32", {"n": 3, "m": 2}),
    "not in the first tile": ("%is = arith.cmpi ne, %t, %c0 : i32", {"n": 1, "m": 3}),
    "in the first turn of a tile": ("%is = arith.cmpi eq, %j, %c0 : i32", {"n": 1, "m": 4}),
}


@pytest.mark.parametrize("name", NOT_ALWAYS)
def test_what_was_fenced_before_does_not_pass_for_a_fence(name: str) -> None:
    """States do not tell apart what was fenced of that which is over."""
    condition, call = NOT_ALWAYS[name]
    text = by_select(2).replace(FENCE, f"{condition}\nscf.if %is {{\n{FENCE}\n}}")
    assert not proves(text)
    assert check(parse(text), args=call, prove=False).verdict is Verdict.VIOLATION


def test_the_first_tiles_make_few_states_of_their_own() -> None:
    """A tile is as the one before as soon as all that is left of its reads and fences is over."""
    proof = check(parse(by_select(2)), timeout=60).proofs_by_decisions["k"]
    assert proof.states <= 20
    assert proof.least == {"m": 4}
