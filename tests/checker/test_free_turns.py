"""`scf.while` loops that data end, or a number that does not go on by a step: right however often they turn."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf

from tests.support.ir import ROOT, parse
from tests.support.threads_and_tiles import VARIANTS, lowered
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.free_turns import with_free_turns
from tileas_xdsl.interfaces import functions_in

PEOPLE = ROOT / "tests" / "kernels" / "people"
TILES = {name: (PEOPLE / f"{name}.mlir").read_text() for name in ("until_stop", "halving_search")}

KERNEL = """
func.func @f(%stop: !llvm.ptr<1>, %y: !llvm.ptr<1>, %slot: !llvm.ptr<3>, %n: i32) attributes {{{threads}}} {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %first = arith.cmpi eq, %tid, %c0 : i32
  {around}
  %last = scf.while (%i = %c1) : (i32) -> i32 {{
    %at = llvm.getelementptr %stop[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %flag = llvm.load %at : !llvm.ptr<1> -> i32
    %more = arith.cmpi {condition} : i32
    scf.condition(%more) %i : i32
  }} do {{
  ^bb0(%i: i32):
    {body}
    %next = arith.{step} : i32
    scf.yield %next : i32
  }}
  {end}
  func.return
}}
"""
EXCHANGED = """scf.if %first { llvm.store %i, %slot : i32, !llvm.ptr<3> }
    nvvm.barrier0
    %v = llvm.load %slot : !llvm.ptr<3> -> i32
    nvvm.barrier0"""
UNTIL_A_FLAG, UNTIL_N, BY_THREAD = "ne, %flag, %c0", "slt, %i, %n", "slt, %i, %tid"
NEXT, TWICE = "addi %i, %c1", "muli %i, %c2"


def written(
    body: str, condition: str = UNTIL_A_FLAG, *, step: str = NEXT, threads: int = 64, around: str = "", end: str = ""
) -> str:
    size = f"nvvm.reqntid = array<i32: {threads}>"
    return KERNEL.format(body=body, condition=condition, step=step, threads=size, around=around, end=end)


def is_counted(text: str) -> bool:
    """Whether the loop of a function turns as often as an argument says, in a copy."""
    (function,) = functions_in(parse(text))
    return with_free_turns(function) is not None


@pytest.mark.parametrize("name", sorted(TILES))
@pytest.mark.parametrize("variant", VARIANTS)
def test_kernels_are_proved_whatever_ends_their_loops(name: str, variant: str) -> None:
    assert check(parse(TILES[name])).holds_for_every_trip_count
    assert check(lowered(TILES[name], variant), judge_waits=False).holds_for_every_trip_count


@pytest.mark.parametrize("condition", [UNTIL_A_FLAG, UNTIL_N])
@pytest.mark.parametrize("step", [NEXT, TWICE])
def test_threads_that_wait_for_each_other_in_such_a_loop_are_safe(condition: str, step: str) -> None:
    assert check(parse(written(EXCHANGED, condition, step=step))).holds_for_every_trip_count


@pytest.mark.parametrize("missing", [0, 1])
def test_without_one_of_the_barriers_nothing_is_proved(missing: int) -> None:
    before, between, behind = EXCHANGED.split("nvvm.barrier0")
    body = [f"{before}{between}nvvm.barrier0{behind}", f"{before}nvvm.barrier0{between}{behind}"][missing]
    assert not check(parse(written(body))).is_proved
    assert check(parse(written(body, UNTIL_N))).kinds == ["race"]


def test_what_runs_behind_the_last_turn_runs_in_the_copy() -> None:
    """The condition is computed once more than the loop turns: what it reads may be what the loop has written."""
    text = written("", end="scf.if %first { llvm.store %c1, %stop : i32, !llvm.ptr<1> }")
    assert not is_counted(text)
    counted = with_free_turns(next(iter(functions_in(parse(written(EXCHANGED))))))
    assert counted is not None
    loads = [op for op in counted.op.walk() if op.name == "llvm.load" and not isinstance(op.parent_op(), scf.ForOp)]
    assert len(loads) == 1


def test_threads_that_end_at_other_turns_are_not_counted() -> None:
    assert is_counted(written(EXCHANGED))
    assert not is_counted(written(EXCHANGED, BY_THREAD))
    assert not is_counted(written(EXCHANGED, step="addi %i, %tid"))
    for number in ("laneid", "warpid", "lanemask.lt", "cluster.ctarank"):
        around = f"%own = nvvm.read.ptx.sreg.{number} : i32"
        assert not is_counted(written(EXCHANGED, step="addi %i, %own", around=around))


@pytest.mark.parametrize(
    "body",
    [
        "llvm.store %i, %stop : i32, !llvm.ptr<1>",
        "%p = llvm.getelementptr %stop[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
        "    %o = llvm.atomicrmw add %p, %i monotonic : !llvm.ptr<1>, i32",
    ],
    ids=["stores", "updates"],
)
def test_a_flag_that_the_kernel_writes_may_differ_between_threads(body: str) -> None:
    assert not is_counted(written(body))


def test_a_loop_that_runs_several_times_may_turn_otherwise_each_time() -> None:
    text = written(EXCHANGED)
    once = text.replace("%last = scf.while", "scf.for %k = %c0 to %n step %c1 : i32 {\n  %last = scf.while")
    again = once.replace("  func.return", "  }\n  func.return")
    parse(again)
    assert not is_counted(again)


ENDLESS = """
func.func @f(%more: i1) {
  scf.while : () -> () {
    scf.condition(%more)
  } do {
    scf.yield
  }
  func.return
}
"""


@pytest.mark.parametrize("text", [ENDLESS, ENDLESS.replace("(%more: i1) {", "() {\n  %more = arith.constant true", 1)])
def test_a_loop_whose_condition_cannot_change_is_left(text: str) -> None:
    """It never ends once it has begun: no number of turns stands for that."""
    assert not is_counted(text)
    assert check(parse(text), timeout=0.5).verdict.value != "safe"


def test_that_a_loop_ends_is_said() -> None:
    report = check(parse(TILES["until_stop"]))
    assert report.is_proved
    assert "'scf.while' ends" in report.last_line
