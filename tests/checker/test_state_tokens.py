"""
The state that an arrival at an mbarrier returns, and tests that name it: in a proof it is no number, but the phase as
seen from the present one.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict

WAIT = """
scf.while : () -> () {{
  %over = nvvm.mbarrier.test.wait %full, {state} : !llvm.ptr<3>, i64 -> i1
  %not = arith.xori %over, %true : i1
  scf.condition(%not)
}} do {{
  scf.yield
}}"""


def program(body: str, *, arrivals: str = "%c1", carried: str = "", before: str = "") -> str:
    """A function that turns n times around `body`."""
    return f"""
func.func @k(%full: !llvm.ptr<3>, %other: !llvm.ptr<3>, %x: !llvm.ptr<1>, %mem: !llvm.ptr<1>, %n: i32) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %far = arith.constant 300 : i64
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  nvvm.mbarrier.init %full, {arrivals} : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %other, %c1 : !llvm.ptr<3>, i32
  {before}
  {carried or "scf.for %k = %c0 to %n step %c1"} : i32 {{
    {body}
  }}
  func.return
}}"""


ARRIVE = "%st = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64"
CARRIED = "%last = scf.for %k = %c0 to %n step %c1 iter_args(%old = %first) -> (i64)"

SAFE = {
    "waits for its own arrival": program(ARRIVE + WAIT.format(state="%st")),
    "waits for the arrival of the turn before": program(
        WAIT.format(state="%old") + ARRIVE + "\nscf.yield %st : i64",
        carried=CARRIED,
        before="%first = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64",
    ),
    "one of two states, by the turn": program(
        "%odd = arith.remui %k, %c2 : i32\n%is = arith.cmpi eq, %odd, %c1 : i32\n"
        + ARRIVE
        + "\n%which = arith.select %is, %st, %st : i64"
        + WAIT.format(state="%which")
    ),
}


@pytest.mark.parametrize("name", SAFE)
def test_states_that_are_waited_for_are_proved(name: str) -> None:
    report = check(parse(SAFE[name]))
    assert report.verdict_line.startswith("safe for every trip count"), str(report)


def test_an_arrival_that_completes_nothing_is_waited_for_in_vain() -> None:
    report = check(parse(program(ARRIVE + WAIT.format(state="%st"), arrivals="%c2")))
    assert report.verdict is Verdict.VIOLATION
    assert report.findings[0].arguments == {"n": 1}


NOT_PROVED = {
    "a state that is compared with a number": (
        ARRIVE + "\n%is = arith.cmpi eq, %st, %far : i64\nscf.if %is {"
        "\n  nvvm.mbarrier.try_wait.parity %other, %c0, %c1 : !llvm.ptr<3>, i32, i32\n}",
        "'arith.cmpi' op takes the state of a barrier for a number",
    ),
    "a state that goes through memory": (
        ARRIVE + "\nllvm.store %st, %mem : i64, !llvm.ptr<1>",
        "'llvm.store' op takes the state of a barrier for a number",
    ),
    "the state of another barrier": (
        "%st = nvvm.mbarrier.arrive %other : !llvm.ptr<3> -> i64\n"
        "nvvm.mbarrier.arrive %full : !llvm.ptr<3>" + WAIT.format(state="%st"),
        "waits for a state of",
    ),
}


@pytest.mark.parametrize("name", NOT_PROVED)
def test_no_number_comes_of_a_state(name: str) -> None:
    body, reason = NOT_PROVED[name]
    report = check(parse(program(body)))
    assert not report.is_proved
    assert reason in str(report), str(report)
