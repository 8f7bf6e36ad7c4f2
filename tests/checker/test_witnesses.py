"""A witness shows the few steps that explain a mistake, in order, however long the execution before them was."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checker.test_handshake import READ, RELEASE, handshake
from tests.support.ir import parse
from tests.tools import programs
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Finding, Report
from tileas_xdsl.checker.witnesses import investigator
from tileas_xdsl.checker.witnesses.witness import Elision
from tileas_xdsl.machine.core.trace import Happening


def only_finding(text: str, **options: Any) -> Finding:
    (finding,) = check(parse(text), **options).findings
    return finding


def steps(finding: Finding) -> list[Happening]:
    assert finding.violation.witness is not None
    return [step for step in finding.violation.witness.steps if isinstance(step, Happening)]


def said(finding: Finding) -> list[str]:
    return [f"{step.who}: {step.text}" for step in steps(finding)]


def early_release(depth: int, n: int) -> str:
    """Stages are read before they are released, up to the last few, which are released first."""
    return handshake(
        depth,
        f"""
        %late = arith.constant {n - depth - 1} : index
        %right = arith.cmpi ult, %i, %late : index
        scf.if %right {{
          {READ}
          {RELEASE}
        }} else {{
          {RELEASE.replace("%free", "%freed")}
          {READ.replace("%use", "%used")}
        }}""",
    )


@pytest.mark.parametrize("n", [8, 300])
def test_a_witness_is_as_short_in_a_late_iteration_as_in_an_early_one(n: int) -> None:
    finding = only_finding(early_release(3, n), trip_counts=[n])
    first, again, slot = n - 4, n - 1, (n - 4) % 3
    assert said(finding) == [
        f"agent 0 [{first}]: arrives at full[{slot}] of pipeline 'p', phase {first // 3}",
        f"agent 0 [{first}]: the write of stage {first} of pipeline 'p' (slot {slot}) completes",
        f"agent 1.0 [{first}]: sees phase {first // 3} of full[{slot}] of pipeline 'p'",
        f"agent 1.0 [{first}]: arrives at empty[{slot}] of pipeline 'p', phase {first // 3}",
        f"agent 1.1 [{first}]: sees phase {first // 3} of full[{slot}] of pipeline 'p'",
        f"agent 1.1 [{first}]: arrives at empty[{slot}] of pipeline 'p', phase {first // 3}",
        f"agent 0 [{again}]: sees phase {first // 3} of empty[{slot}] of pipeline 'p'",
        f"agent 0 [{again}]: issues the write of stage {again} of pipeline 'p' (slot {slot})",
    ]


def test_what_is_left_out_is_counted() -> None:
    finding = only_finding(early_release(3, 300), trip_counts=[300])
    assert finding.violation.witness is not None
    first = finding.violation.witness.steps[0]
    assert isinstance(first, Elision)
    assert [agent for agent, _ in first.counts] == ["agent 0", "agent 1.0", "agent 1.1"]
    assert all(count > 500 for _, count in first.counts)


WRONG = {
    "queue": programs.queue(1),
    "tasks": programs.tasks(awaited=False),
    "marks": programs.marks(1),
    "init": programs.barrier(fenced=False),
    "released too early": handshake(2, f"{RELEASE}\n{READ}"),
    "never released": handshake(2, f"{READ}\n%no = arith.cmpi ult, %n, %c0 : index\nscf.if %no {{\n{RELEASE}\n}}"),
}


@pytest.mark.parametrize("name", WRONG)
def test_steps_are_in_order_and_the_parties_come_last(name: str) -> None:
    report = check(parse(WRONG[name]))
    assert report.findings
    for finding in report.findings:
        shown = steps(finding)
        assert shown
        assert [step.step for step in shown] == sorted(step.step for step in shown)
        witness = finding.violation.witness
        assert witness is not None
        parties = [(party.op, party.iteration) for party in finding.violation.parties]
        assert all((step.op, step.iteration) in parties for step in witness.collision)


@pytest.mark.parametrize("name", WRONG)
def test_the_same_program_has_the_same_witness(name: str) -> None:
    assert str(check(parse(WRONG[name]))) == str(check(parse(WRONG[name])))


def test_a_witness_is_worked_out_once_for_a_mistake_that_shows_often(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    original = investigator.witness_between

    def counted(*arguments: Any, **options: Any) -> Any:
        made.append(arguments)
        return original(*arguments, **options)

    monkeypatch.setattr(investigator, "witness_between", counted)
    report = check(parse(programs.queue(3).replace("8xf32", "64xf32")), trip_counts=[60])
    assert len(made) == len(report.findings) == 2


def test_waits_and_commits_of_other_queues_are_left_out() -> None:
    elsewhere = """
    async_queue.commit 7
    async_queue.wait 7, 0"""
    text = programs.queue(1).replace("    async_queue.wait 0, 1", elsewhere * 2 + "\n    async_queue.wait 0, 1")
    race = check(parse(text), trip_counts=[1]).findings[0]
    assert said(race) == [
        "main [0]: issues an asynchronous scope",
        "main [0]: commits group 1 of queue 0",
        "main [0]: waits for no group of queue 0",
    ]


def test_the_last_wait_is_shown_where_it_is_on_the_wrong_queue() -> None:
    text = programs.queue(0).replace("    async_queue.wait 0, 0\n    %y", "    async_queue.wait 1, 0\n    %y")
    race = check(parse(text), trip_counts=[1]).findings[0]
    assert said(race) == [
        "main [0]: issues an asynchronous scope",
        "main [0]: commits group 1 of queue 0",
        "main [0]: waits for no group of queue 1",
    ]


THREE_AGENTS = """
func.func @relay(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %x: !llvm.ptr<3>, %y: !llvm.ptr<3>, %z: !llvm.ptr<3>) {
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %bytes = arith.constant 64 : i32
  %zero = arith.constant 0 : i32
  %ticks = arith.constant 1000 : i32
  %one = arith.constant 1.0 : f32
  nvvm.mbarrier.init %x, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %y, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %z, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    llvm.store %one, %src : f32, !llvm.ptr<1>
    nvvm.mbarrier.arrive %x : !llvm.ptr<3>
  }, {
    nvvm.mbarrier.try_wait.parity %x, %zero, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.arrive %y : !llvm.ptr<3>
  }, {
    nvvm.mbarrier.try_wait.parity %y, %zero, %ticks : !llvm.ptr<3>, i32, i32
    FENCE
    nvvm.mbarrier.arrive.expect_tx %z, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %tile, %src, %z, %bytes : !llvm.ptr<3>, <1>
    nvvm.mbarrier.try_wait.parity %z, %zero, %ticks : !llvm.ptr<3>, i32, i32
  } : () -> ()
  func.return
}
"""


def test_news_that_come_by_way_of_a_third_agent_show_their_way() -> None:
    finding = only_finding(THREE_AGENTS.replace("FENCE", ""))
    assert finding.violation.kind == "missing-fence"
    assert said(finding) == [
        "agent 0: arrives at mbarrier 'x' + 0, phase 0",
        "agent 1: sees phase 0 of mbarrier 'x' + 0",
        "agent 1: arrives at mbarrier 'y' + 0, phase 0",
        "agent 2: sees phase 0 of mbarrier 'y' + 0",
        "agent 2: arrives at mbarrier 'z' + 0, phase 0",
        "agent 2: issues a bulk copy of 64 bytes",
    ]


def test_a_fence_of_the_wrong_space_is_shown_where_a_fence_is_missing() -> None:
    wrong = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}"
    finding = only_finding(THREE_AGENTS.replace("FENCE", wrong))
    assert "agent 2: orders generic before asynchronous accesses (shared)" in said(finding)
    right = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}"
    assert check(parse(THREE_AGENTS.replace("FENCE", right))).findings == []


def test_agents_that_never_heard_of_each_other_show_their_start() -> None:
    text = """
func.func @apart(%a: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    memref.store %one, %a[%c0] : memref<1xf32>
  }, {
    memref.store %one, %a[%c0] : memref<1xf32>
  } : () -> ()
  func.return
}
"""
    finding = only_finding(text)
    assert said(finding)[:2] == ["main: starts agent 0", "main: starts agent 1"]


def deadlock(report: Report) -> Finding:
    return next(finding for finding in report.findings if finding.violation.kind == "deadlock")


def test_a_deadlock_shows_who_has_come_and_who_has_left() -> None:
    text = """
func.func @early_exit() {
  %id = arith.constant 1 : i32
  %threads = arith.constant 64 : i32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    %nothing = arith.constant 0 : i32
  }, {
    nvvm.barrier id = %id number_of_threads = %threads
  } : () -> ()
  func.return
}
"""
    finding = deadlock(check(parse(text)))
    assert [party.agent for party in finding.violation.parties] == ["agent 1"]
    assert said(finding) == ["agent 0: comes to its end", "agent 1: arrives at barrier 1"]
    assert finding.violation.missing.endswith("more arrivals at barrier 1")


def test_a_deadlock_shows_the_last_steps_of_each_agent_that_is_blocked() -> None:
    finding = deadlock(check(parse(WRONG["never released"]), trip_counts=[5]))
    assert [party.agent for party in finding.violation.parties] == ["agent 0", "agent 1.0", "agent 1.1"]
    for agent in ("agent 0", "agent 1.0", "agent 1.1"):
        assert 1 <= sum(step.agent_name == agent and step.kind != "complete" for step in steps(finding)) <= 4
