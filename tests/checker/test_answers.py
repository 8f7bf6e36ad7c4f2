"""
Tests of barriers that may say no: every answer counts, and what makes no difference is not tried twice.

The programs are rings whose consumer looks at the full barrier in some way, and handshakes.
"""

from __future__ import annotations

import pytest

from tests.checker.explorer import by_hand
from tests.checker.explorer.by_hand import FULL, PROGRAMS, ring, two
from tests.checker.explorer.kernels import Do, Kernel, arrive, init, load, publish, store, text_of, wait, when
from tests.support.ir import parse
from tileas_xdsl.checker.verdict import answers
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.running import run

NEXT_DOOR = 8
"""Another barrier."""


def checked(kernel: Kernel) -> Report:
    return check(parse(text_of(kernel)), "main")


def kinds(report: Report) -> set[str]:
    return {str(finding.violation.kind) for finding in report.findings}


def looped(body: str, *, count: str = "%n") -> str:
    """
    A ring of one slot over `count` turns; `body` is how its consumer looks at the barrier `%full`, whose parity is
    `%p`."""
    return f"""
func.func @main(%s: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %g: !llvm.ptr<1>, %n: i32) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c16 = arith.constant 16 : i32
  %on = arith.constant true
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{
    scf.for %k = %c0 to {count} step %c1 : i32 {{
      %q = arith.andi %k, %c1 : i32
      %p = arith.xori %q, %c1 : i32
      nvvm.mbarrier.try_wait.parity %empty, %p, %c16 : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.arrive.expect_tx %full, %c16 : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %s, %g, %full, %c16 : !llvm.ptr<3>, <1>
    }}
  }}, {{
    scf.for %k = %c0 to {count} step %c1 : i32 {{
      %p = arith.andi %k, %c1 : i32
      {body}
      %v = llvm.load %s : !llvm.ptr<3> -> f32
      nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
      nvvm.mbarrier.arrive %empty : !llvm.ptr<3>
    }}
  }} : () -> ()
  func.return
}}"""


TEST = "%ok = nvvm.mbarrier.test.wait %full, %p : !llvm.ptr<3>, i32 -> i1"
WAIT = "nvvm.mbarrier.try_wait.parity %full, %p, %c16 : !llvm.ptr<3>, i32, i32"
SPIN = f"""
      %same = scf.while (%i = %c0) : (i32) -> i32 {{
        {TEST}
        %no = arith.xori %ok, %on : i1
        scf.condition(%no) %i : i32
      }} do {{
      ^bb0(%i: i32):
        scf.yield %i : i32
      }}"""
COUNTING_SPIN = f"""
      %polls = scf.while (%i = %c0) : (i32) -> i32 {{
        {TEST}
        %no = arith.xori %ok, %on : i1
        scf.condition(%no) %i : i32
      }} do {{
      ^bb0(%i: i32):
        %next = arith.addi %i, %c1 : i32
        scf.yield %next : i32
      }}"""
SPIN_THAT_LOOKS_ELSEWHERE = SPIN.replace("scf.yield", "%other = llvm.load %g : !llvm.ptr<1> -> i32\n scf.yield")
BOUNDED = f"""
      scf.for %try = %c0 to %c3 step %c1 : i32 {{
        {TEST}
        scf.if %ok {{
          %x = llvm.load %s : !llvm.ptr<3> -> f32
        }}
      }}"""


# What is a wait -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(SPIN, id="spins"),
        pytest.param(f"{TEST}\n scf.if %ok {{\n }} else {{\n {WAIT}\n }}", id="peeks"),
        pytest.param(f"{TEST}\n %no = arith.xori %ok, %on : i1\n scf.if %no {{\n {WAIT}\n }}", id="peeks, inverted"),
        pytest.param(f"{TEST}\n {WAIT}", id="unused, and waits"),
    ],
)
def test_what_is_a_wait_is_proved(look: str) -> None:
    report = check(parse(looped(look)), "main")
    assert report.verdict is Verdict.SAFE
    assert report.holds_for_every_trip_count or "arrays" in str(report)
    assert not report.bounded


# What branches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(TEST, id="unused"),
        pytest.param(f"{TEST}\n scf.if %ok {{\n {WAIT}\n }}", id="waits when it may not have to"),
        pytest.param(BOUNDED, id="asks three times"),
        pytest.param("%q = arith.xori %p, %c1 : i32" + SPIN.replace("%full, %p", "%full, %q"), id="other parity"),
    ],
)
def test_a_no_is_always_possible(look: str) -> None:
    report = check(parse(looped(look)), "main", trip_counts=(0, 1, 2))
    assert report.verdict is Verdict.VIOLATION
    assert kinds(report) & {"race", "phase"}


def test_what_branches_is_no_proof_for_every_trip_count() -> None:
    look = f"{TEST}\n scf.if %ok {{\n %x = llvm.load %g : !llvm.ptr<1> -> f32\n }}\n {WAIT}"
    report = check(parse(looped(look)), "main", trip_counts=(0, 1, 2), prove=True)
    assert report.verdict is Verdict.SAFE
    assert not report.holds_for_every_trip_count
    assert "what follows depends on the answer" in str(report)


def test_a_count_of_polls_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every poll leaves another state, so no number of executions shows all."""
    monkeypatch.setattr(answers, "MOST_EXECUTIONS", 20)
    report = check(parse(looped(COUNTING_SPIN)), "main", trip_counts=(1,))
    assert report.verdict is Verdict.UNDECIDED
    assert "too many answers" in report.undecided[0]


def test_a_loop_that_comes_back_to_the_question_is_left_after_a_turn() -> None:
    """The load makes it no plain spin; the state after a turn is that before it, and the two are merged."""
    report = check(parse(looped(SPIN_THAT_LOOKS_ELSEWHERE)), "main", trip_counts=(1, 2, 3))
    assert report.verdict is Verdict.SAFE
    assert report.executions < 100


def test_arms_that_end_in_one_state_are_merged() -> None:
    """Otherwise 12 questions would take 4096 executions."""
    look = f"{TEST}\n scf.if %ok {{\n nvvm.nanosleep %c1\n }} else {{\n nvvm.nanosleep %c3\n }}\n {WAIT}"
    report = check(parse(looped(look)), "main", trip_counts=(12,))
    assert report.verdict is Verdict.SAFE
    assert report.executions < 100


def test_who_asks_for_ever_is_a_deadlock() -> None:
    """Nobody arrives, and the loop does more than spin."""
    text = looped(SPIN_THAT_LOOKS_ELSEWHERE)
    for never_done in ("nvvm.mbarrier.arrive.expect_tx", "nvvm.cp.async.bulk"):
        text = "\n".join(line for line in text.splitlines() if never_done not in line)
    report = check(parse(text), "main", trip_counts=(0, 1))
    assert kinds(report) == {"deadlock"}
    assert "test.wait" in str(report)


# Several agents -------------------------------------------------------------------------------------------------------


def both_ask(first: list[Do], second: list[Do]) -> Kernel:
    return two(first, second, init(FULL, 1), init(NEXT_DOOR, 1), publish())


def test_two_that_ask_each_other_may_both_go_on() -> None:
    kernel = both_ask(
        [arrive(FULL), when(NEXT_DOOR, 0, [load(0)], [load(1)])],
        [arrive(NEXT_DOOR), when(FULL, 0, [load(0)], [load(1)])],
    )
    assert checked(kernel).verdict is Verdict.SAFE


def test_the_one_answer_that_goes_wrong_is_found() -> None:
    """Only where both say no do the two write one cell with nothing between."""
    kernel = both_ask(
        [store(2), arrive(FULL), when(NEXT_DOOR, 0, [], [store(0)])],
        [arrive(NEXT_DOOR), when(FULL, 0, [load(2)], [store(0)])],
    )
    assert kinds(checked(kernel)) == {"race"}


def test_a_yes_acquires() -> None:
    right = both_ask([store(0), arrive(FULL)], [when(FULL, 0, [store(0)], [])])
    wrong = both_ask([store(0), arrive(FULL)], [when(FULL, 0, [], [store(0)])])
    assert checked(right).verdict is Verdict.SAFE
    assert kinds(checked(wrong)) == {"race"}


@pytest.mark.parametrize("order", ["eager", "lazy", "random", "timed"])
def test_a_run_hopes_for_yes_and_gives_up_where_nobody_comes(order: str) -> None:
    kernel = two([when(FULL, 0, [load(0)], [load(1)])], [load(2), wait(FULL, 1)], init(FULL, 1), publish())
    assert not run(parse(text_of(kernel)), "main", order=order).violations


# By hand --------------------------------------------------------------------------------------------------------------

OTHERWISE = {
    "an arrival is missing": "phase: with the other parity the function runs to its end",
    "two counts at one meeting": "refused, with the two counts",
    "only one warp comes to the barrier": "a function is one thread",
    "a warp arrives with all its threads": "a function is one thread",
    "each warp arrives for all": "an agent elects one thread",
    "one arrival of each warp": "an agent elects one thread",
    "one arrival of each of eight warps": "an agent elects one thread",
}
"""What the checker says otherwise than the explorer."""


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in OTHERWISE])
def test_kernels_by_hand(name: str) -> None:
    program = PROGRAMS[name]
    report = checked(program.kernel)
    if program.verdict == by_hand.SAFE:
        assert report.verdict is Verdict.SAFE, program.why
    else:
        assert report.verdict is Verdict.VIOLATION, program.why
        assert program.verdict == by_hand.WRONG or program.verdict in kinds(report), program.why


def test_a_slot_that_is_read_after_any_answer_is_a_race() -> None:
    assert kinds(checked(ring([when(FULL, 0, [load(0)], [load(0)])]))) >= {"race"}
