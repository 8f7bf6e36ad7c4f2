"""
Mistakes in a phase are told apart from races and deadlocks that have other causes: the same ring of TMA copies, with
one thing wrong at a time.
"""

from __future__ import annotations

import pytest

from tests.checker.cluster_twins import right
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.witnesses.investigator import Investigator
from tileas_xdsl.machine.core.violations import Effect, Violation, ViolationKind
from tileas_xdsl.machine.running import run

WAIT_EMPTY = "nvvm.mbarrier.try_wait.parity %e, %turn, %ticks : !llvm.ptr<3>, i32, i32"
WAIT_FULL = "nvvm.mbarrier.try_wait.parity %f, %bit, %ticks : !llvm.ptr<3>, i32, i32"
ANNOUNCE = "nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32"
COPY = "nvvm.cp.async.bulk.shared.cluster.global %slot, %src, %f, %copied : !llvm.ptr<3>, <1>"
READ = "%v = llvm.load %slot : !llvm.ptr<3> -> f32"
RELEASE = """nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.mbarrier.arrive %e : !llvm.ptr<3>"""
SLOT = """%s = arith.remui %k, %stages : i32
      %round = arith.divui %k, %stages : i32
      %bit = arith.andi %round, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>"""


def ring(
    producer: str = f"{WAIT_EMPTY}\n{ANNOUNCE}\n{COPY}",
    consumer: str = f"{WAIT_FULL}\n{READ}\n{RELEASE}",
    *,
    consumers: int = 1,
    full_count: int = 1,
    empty_count: int | None = None,
    expected_bytes: int = 1024,
) -> str:
    """A ring of two slots; the two texts are the bodies of the loops, the counts those of the barriers."""
    number = "^bb0(%me: index):" if consumers > 1 else ""
    return f"""
func.func @ring(%src: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stages = arith.constant 2 : i32
  %copied = arith.constant 1024 : i32
  %bytes = arith.constant {expected_bytes} : i32
  %ticks = arith.constant 1000 : i32
  %full_count = arith.constant {full_count} : i32
  %empty_count = arith.constant {empty_count or consumers} : i32
  scf.for %s = %c0 to %stages step %c1 : i32 {{
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %full_count : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %e, %empty_count : !llvm.ptr<3>, i32
  }}
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, {consumers}>}} {{
    scf.for %k = %c0 to %n step %c1 : i32 {{
      {SLOT}
      {producer}
    }}
  }}, {{
  {number}
    scf.for %k = %c0 to %n step %c1 : i32 {{
      {SLOT}
      {consumer}
    }}
  }} : () -> ()
  func.return
}}"""


def first_violation(text: str) -> Violation:
    report = check(parse(text), trip_counts=range(5))
    assert report.findings, str(report)
    return report.findings[0].violation


def test_the_ring_is_safe() -> None:
    assert check(parse(ring())).kinds == []
    assert check(parse(ring(consumers=2))).kinds == []


# Counts and bytes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "numbers"),
    [
        (ring(full_count=4), "phase 0 of mbarrier 'full' + 0 can never complete: 1 of 4 arrivals"),
        (ring(empty_count=3), "phase 0 of mbarrier 'empty' + 0 can never complete: 1 of 3 arrivals"),
        (ring(consumers=2, empty_count=3), "phase 0 of mbarrier 'empty' + 0 can never complete: 2 of 3 arrivals"),
        (ring(expected_bytes=4096), "'full' + 0 can never complete: 1024 bytes have come, and 4096 are expected"),
        (ring(expected_bytes=512), "'full' + 0 can never complete: 1024 bytes have come, and 512 are expected"),
        (
            ring(producer=f"{WAIT_EMPTY}\n{ANNOUNCE.replace('arrive.', '')}\n{COPY}"),
            "'full' + 0 can never complete: 0 of 1 arrivals, though 1024 bytes have come",
        ),
    ],
)
def test_counts_that_do_not_match_are_given_with_the_numbers(program: str, numbers: str) -> None:
    violation = first_violation(program)
    assert violation.kind is ViolationKind.PHASE
    assert numbers in violation.message
    assert violation.stuck
    assert violation.symptom is ViolationKind.DEADLOCK
    waiter, maker = violation.parties[:2]
    assert waiter.op.name == "nvvm.mbarrier.try_wait.parity"
    assert maker.op.name == "nvvm.mbarrier.init"
    assert violation.witness is not None
    assert any("arrives at" in str(s) or "completes" in str(s) for s in violation.witness.steps)


SKIPPING = """%odd = arith.constant 1 : index
      %skips = arith.cmpi eq, %me, %odd : index
      scf.if %skips {
      } else {
        nvvm.mbarrier.arrive %e : !llvm.ptr<3>
      }"""
FENCE = RELEASE.split("\n", maxsplit=1)[0]


@pytest.mark.parametrize(
    "program",
    [
        ring(consumer=f"{WAIT_FULL}\n{READ}"),
        ring(consumers=2, consumer=f"{WAIT_FULL}\n{READ}\n{FENCE}\n{SKIPPING}"),
    ],
    ids=["nobody releases", "one of two consumers does not release"],
)
def test_missing_arrivals_of_somebody_left_are_a_deadlock(program: str) -> None:
    """The counts are right, and an agent that could arrive does not."""
    violation = first_violation(program)
    assert violation.kind is ViolationKind.DEADLOCK
    assert violation.symptom is None


def test_running_names_the_count_as_well() -> None:
    outcome = run(parse(ring(full_count=4)), "ring", {"n": 1}, observer=Investigator())
    assert [str(violation.kind) for violation in outcome.violations] == ["phase"]
    assert not outcome.finished


FORGOTTEN = """
func.func @forgotten(%out: !llvm.ptr<1>, %full: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %ticks = arith.constant 1000 : i32
  %one = arith.constant 1.0 : f32
  nvvm.mbarrier.init %full, %c2 : !llvm.ptr<3>, i32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // arrives here
  }, {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %parity = arith.remui %i, %c2 : i32
      nvvm.mbarrier.try_wait.parity %full, %parity, %ticks : !llvm.ptr<3>, i32, i32
      llvm.store %one, %out : f32, !llvm.ptr<1>
    }
  } : () -> ()
  func.return
}
"""


def test_arrivals_that_nobody_makes_are_no_wrong_parity() -> None:
    violation = first_violation(FORGOTTEN.replace("// arrives here", "llvm.store %one, %out : f32, !llvm.ptr<1>"))
    assert violation.kind is ViolationKind.PHASE
    assert violation.symptom is ViolationKind.DEADLOCK
    assert violation.message == "waits for a phase of mbarrier 'full' + 0 at which nobody arrives"
    assert violation.missing == "2 arrivals at mbarrier 'full' + 0 in each phase: nobody makes any"


def test_arrivals_of_which_one_is_forgotten_are_counted() -> None:
    violation = first_violation(FORGOTTEN.replace("// arrives here", "nvvm.mbarrier.arrive %full : !llvm.ptr<3>"))
    assert "1 of 2 arrivals" in violation.message


# Parities -------------------------------------------------------------------------------------------------------------


def test_producer_that_starts_on_the_consumers_phase() -> None:
    violation = first_violation(ring(producer=f"{WAIT_EMPTY.replace('%turn', '%bit')}\n{ANNOUNCE}\n{COPY}"))
    assert violation.kind is ViolationKind.PHASE
    assert "with the other parity the function runs to its end" in violation.message
    assert violation.symptom is ViolationKind.DEADLOCK


def test_consumer_that_starts_on_the_producers_phase() -> None:
    """It passes on the phase before the first, and reads what is still under way."""
    violation = first_violation(ring(consumer=f"{WAIT_FULL.replace('%bit', '%turn')}\n{READ}\n{RELEASE}"))
    assert violation.kind is ViolationKind.PHASE
    assert violation.symptom is ViolationKind.RACE
    assert "passes on phase -1 of mbarrier 'full' + 0 where phase 0 is meant" in violation.message
    assert violation.missing == "a wait for phase 0 of mbarrier 'full' + 0, which has parity 0"
    assert [party.op.name for party in violation.parties] == [
        "nvvm.mbarrier.try_wait.parity",
        "nvvm.cp.async.bulk.shared.cluster.global",
        "llvm.load",
    ]


def test_producer_whose_parity_never_flips() -> None:
    """In the second round it passes where it passed before, and arrives twice in one phase."""
    violation = first_violation(ring(producer=f"{WAIT_EMPTY.replace('%turn', '%c1')}\n{ANNOUNCE}\n{COPY}"))
    assert violation.kind is ViolationKind.PHASE
    assert violation.message == "more arrivals at mbarrier 'full' + 0 than its init count in one phase"
    assert violation.parties[0].iteration == (2,)


@pytest.mark.parametrize(
    ("program", "between"),
    [
        (ring(consumer=f"{READ}\n{WAIT_FULL}\n{RELEASE}"), ("nvvm.cp.async.bulk.shared.cluster.global", "llvm.load")),
        (ring(consumer=f"{WAIT_FULL}\n{RELEASE}\n{READ}"), ("llvm.load", "nvvm.cp.async.bulk.shared.cluster.global")),
    ],
    ids=["read before the wait", "release before the read"],
)
def test_races_with_other_causes_stay_races(program: str, between: tuple[str, str]) -> None:
    violation = first_violation(program)
    assert violation.kind is ViolationKind.RACE
    assert violation.symptom is None
    assert {party.op.name for party in violation.parties} == set(between)


# Scopes ---------------------------------------------------------------------------------------------------------------


def test_arrive_of_block_scope_hands_nothing_to_another_block() -> None:
    text = right("handover")
    assert check(parse(text)).kinds == []
    violation = first_violation(text.replace("mem_scope<cluster>", "mem_scope<cta>"))
    assert violation.kind is ViolationKind.RACE
    assert violation.missing.startswith("a release that reaches the waiting agent: 'nvvm.mbarrier.arrive'")
    assert violation.parties[-1].op.name == "nvvm.mbarrier.arrive"


# What the author of a kernel sees --------------------------------------------------------------------------------


def crossed(arrivals: str = "%c1", before: str = "") -> str:
    """Two agents that wait for each other before they arrive; `before` they start, the function executes this."""
    return f"""
func.func @crossed(%x: !llvm.ptr<3>, %y: !llvm.ptr<3>) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.mbarrier.init %x, {arrivals} : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %y, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  {before}
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{
    nvvm.mbarrier.try_wait.parity %x, %c0, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.arrive %y : !llvm.ptr<3>
  }}, {{
    nvvm.mbarrier.try_wait.parity %y, %c0, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.arrive %x : !llvm.ptr<3>
  }} : () -> ()
  func.return
}}"""


@pytest.mark.parametrize("given", [{}, {"arrivals": "%c2", "before": "nvvm.mbarrier.arrive %x : !llvm.ptr<3>"}])
def test_agents_that_wait_for_each_other_are_a_deadlock(given: dict[str, str]) -> None:
    """An agent that would arrive if it could go on is one of those that stand still: its arrival is not missing."""
    report = check(parse(crossed(**given)))
    (finding,) = report.findings
    assert report.verdict_line == "unsafe: deadlock"
    assert finding.violation.headline.startswith("hang: deadlock: agent ")
    assert "wait for each other" in finding.violation.message
    assert finding.as_data()["kind"] == "phase"


def test_an_arrival_that_nobody_makes_is_no_circle() -> None:
    violation = first_violation(ring(f"{WAIT_EMPTY}\n{ANNOUNCE}\n{COPY}", full_count=2))
    assert violation.headline.startswith("hang: deadlock: phase 0 of mbarrier 'full' + 0 can never complete: 1 of 2")


@pytest.mark.parametrize("kind", ViolationKind)
def test_every_kind_leads_to_something_that_people_see(kind: ViolationKind) -> None:
    violation = Violation(kind, "what is wrong", (), "what is missing")
    assert violation.headline == f"{violation.effect}: {kind}: what is wrong"
    assert violation.effect in Effect
