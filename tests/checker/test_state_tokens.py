"""
The state that an arrival at an mbarrier returns, and tests that name it: in a proof it is no number, but the phase as
seen from the present one. A test names a state of its own barrier, and of the current phase or the one just before.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict

TEST = "nvvm.mbarrier.test.wait {bar}, {state} : !llvm.ptr<3>, i64 -> i1"
TRY = "nvvm.mbarrier.try_wait {bar}, {state}, %c300 : !llvm.ptr<3>, i64, i32 -> i1"
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
  %c300 = arith.constant 300 : i32
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
}


@pytest.mark.parametrize("name", NOT_PROVED)
def test_no_number_comes_of_a_state(name: str) -> None:
    body, reason = NOT_PROVED[name]
    report = check(parse(program(body)))
    assert not report.is_proved
    assert reason in str(report), str(report)


# Whose state a test may name, and how old (PTX ISA, "mbarrier.test_wait, mbarrier.try_wait") --------------------------


def straight(body: str) -> str:
    """A function without a loop around `body`."""
    return program("", before=body)


def waits(state: str, test: str = TEST) -> str:
    """A loop that asks at %full whether the phase of `state` is over, until it is."""
    asks = test.format(bar="%full", state=state)
    return f"""
scf.while : () -> () {{
  %over = {asks}
  %not = arith.xori %over, %true : i1
  scf.condition(%not)
}} do {{
  scf.yield
}}
"""


OF_OTHER = "%s = nvvm.mbarrier.arrive %other : !llvm.ptr<3> -> i64\nnvvm.mbarrier.arrive %full : !llvm.ptr<3>\n"
OF_FULL = "%s = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64\nnvvm.mbarrier.arrive %other : !llvm.ptr<3>\n"
THROUGH_MEMORY = "llvm.store %s, %mem : i64, !llvm.ptr<1>\n%t = llvm.load %mem : !llvm.ptr<1> -> i64\n"
ASKS_ONCE = "%over = " + TEST.format(bar="%full", state="%s") + "\n"
BRANCHES = ASKS_ONCE + "scf.if %over {\nllvm.store %one, %x : f32, !llvm.ptr<1>\n}\n"
NEXT = "%next = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64" + waits("%next")
TWO_CARRIED = "%last:2 = scf.for %k = %c0 to %n step %c1 iter_args(%older = %first, %old = %first) -> (i64, i64)"
MADE_ANEW = "nvvm.mbarrier.inval %full : !llvm.ptr<3>\nnvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32\n"
FIRST = "%first = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64"
PASSED_ON = f"{ARRIVE}\nscf.yield %old, %st : i64, i64"

MISUSED = {
    "waits": (straight(OF_OTHER + waits("%s")), straight(OF_FULL + waits("%s"))),
    "waits by try_wait": (straight(OF_OTHER + waits("%s", TRY)), straight(OF_FULL + waits("%s", TRY))),
    "asks and ignores": (straight(OF_OTHER + ASKS_ONCE), straight(OF_FULL + ASKS_ONCE)),
    "asks and branches": (straight(OF_OTHER + BRANCHES), straight(OF_FULL + BRANCHES)),
    "in each turn": (program(OF_OTHER + waits("%s")), program(OF_FULL + waits("%s"))),
    "through memory": (
        straight(OF_OTHER + THROUGH_MEMORY + waits("%t")),
        straight(OF_FULL + THROUGH_MEMORY + waits("%t")),
    ),
    "a constant": (
        straight(OF_FULL + "%none = arith.constant 0 : i64" + waits("%none")),
        straight(OF_FULL + "%none = arith.constant 0 : i64" + waits("%s")),
    ),
    "two phases old": (
        straight(OF_FULL + waits("%s") + NEXT + waits("%s")),
        straight(OF_FULL + waits("%s") + waits("%s") + NEXT),
    ),
    "two phases old, by try_wait": (
        straight(OF_FULL + waits("%s") + NEXT + waits("%s", TRY)),
        straight(OF_FULL + waits("%s") + waits("%s", TRY) + NEXT),
    ),
    "of the turn before the last one": (
        program(waits("%older") + PASSED_ON, carried=TWO_CARRIED, before=FIRST),
        program(waits("%old") + PASSED_ON, carried=TWO_CARRIED, before=FIRST),
    ),
    "of a barrier that was made anew": (
        straight(OF_FULL + waits("%s") + MADE_ANEW + "nvvm.mbarrier.arrive %full : !llvm.ptr<3>" + waits("%s")),
        straight(
            OF_FULL + waits("%s") + MADE_ANEW + "%t = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64" + waits("%t")
        ),
    ),
}
"""How a state is used -> a program that tests %full for a state of another barrier, or for an old one; and its twin."""


@pytest.mark.parametrize("name", MISUSED)
def test_a_state_is_tested_at_its_barrier_and_while_it_is_young(name: str) -> None:
    wrong, right = MISUSED[name]
    report = check(parse(wrong))
    assert report.kinds == ["malformed"], str(report)
    assert "PTX ISA" in report.findings[0].violation.missing
    assert check(parse(right)).verdict is Verdict.SAFE


LOOKS = {"waits": waits("%s"), "asks and ignores": ASKS_ONCE, "asks and branches": BRANCHES}


def two_agents(first: str, *, swapped: bool) -> str:
    """The second agent completes the next phase of %full when the first has arrived at %other."""
    second = """
    nvvm.mbarrier.try_wait.parity %other, %c0, %c300 : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.arrive %full : !llvm.ptr<3>
    """
    regions = (second, first) if swapped else (first, second)
    agents = ", ".join(f"{{{region}}}" for region in regions)
    counts = "attributes {num_agents_per_group = array<i32: 1, 1>}"
    return straight(f"nv_tileaa.execute {counts} {agents} : () -> ()")


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("look", LOOKS)
def test_the_next_phase_completes_after_the_tests_of_the_one_before(look: str, swapped: bool) -> None:
    arrives = "%s = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64\n"
    tells = "nvvm.mbarrier.arrive %other : !llvm.ptr<3>\n"
    early = check(parse(two_agents(arrives + tells + LOOKS[look], swapped=swapped)))
    assert early.kinds == ["malformed"], str(early)
    late = check(parse(two_agents(arrives + LOOKS[look] + tells, swapped=swapped)))
    assert late.verdict is Verdict.SAFE, str(late)
