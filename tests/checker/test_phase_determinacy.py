"""
When one execution speaks for all interleavings, and what `check` does where it does not.

The explorer, which visits every interleaving, must come to the same verdict on each program.
"""

from __future__ import annotations

import pytest

from tests.checker.explorer.explorer import explore
from tests.checker.explorer.snippets import (
    agents,
    arrive,
    bulk,
    expect,
    init,
    lines,
    on_memrefs,
    on_pointers,
    task,
    wait,
)
from tests.checker.test_explorer_agreement import COMPARED, kinds_of
from tests.support.ir import parse
from tileas_xdsl.checker.verdict import interleavings as exploration
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict

STORE_L = "llvm.store %v, %l : i32, !llvm.ptr<3>"
STORE_L1 = "llvm.store %v, %l1 : i32, !llvm.ptr<3>"
LOAD_L = "%x{} = llvm.load %l : !llvm.ptr<3> -> i32"
LOAD_L1 = "%y{} = llvm.load %l1 : !llvm.ptr<3> -> i32"
STORE_A0 = "memref.store %v, %a[%c0] : memref<4xi32>"
COMMIT = f"async_queue.commit 0 {{ async_queue.scope {{ {STORE_A0} }} }}"
WAIT_AND_LOAD = "async_queue.wait 0, 0 { %x = memref.load %a[%c0] : memref<4xi32> }"
DRAIN = "async_queue.wait 0, 0"


def checked(text: str) -> Report:
    return check(parse(text), "main")


def meeting(own: str, other: str, turns: int) -> str:
    """Write, wait for the other agent at a barrier, read what it wrote, wait for it again."""
    body: list[str] = []
    for turn in range(turns):
        body += [own, arrive(), wait(0), other.format(turn), arrive(), wait(1)]
    return lines(*body)


def test_meetings_need_one_execution() -> None:
    """An arrival need not be ordered with a wait for the phase before, if the waiting agent has to arrive, too."""
    text = on_pointers(
        lines(init(2), agents(meeting(STORE_L, LOAD_L1, 3), meeting(STORE_L1, LOAD_L, 3))),
    )
    report = checked(text)
    assert report.verdict is Verdict.SAFE
    assert report.executions == 1
    assert explore(parse(text)).shown == set()


INDETERMINATE = {
    "a fresh barrier may be passed before its first phase, or too late": (
        on_pointers(lines(init(1), agents(wait(1), arrive()))),
        {"deadlock"},
    ),
    "an agent that waits misses its phase": (
        on_pointers(
            lines(
                init(1),
                init(1, "%bar1"),
                agents(
                    lines(STORE_L, arrive(), wait(0, "%bar1"), STORE_L, arrive(), STORE_L, arrive()),
                    lines(wait(0), LOAD_L.format(0), arrive("%bar1"), wait(1), LOAD_L.format(1)),
                ),
            )
        ),
        {"race", "deadlock"},
    ),
    "the bytes of a copy count for this phase or for the next": (
        on_pointers(lines(init(1), bulk(), arrive(), wait(0), LOAD_L.format(0))),
        {"race", "deadlock", "undrained"},
    ),
    "an agent copies to a barrier at which another one arrives": (
        on_pointers(lines(init(1), agents(arrive(), lines(bulk(), wait(0))))),
        {"deadlock", "undrained"},
    ),
    "a copy that nobody waits for completes a phase": (
        on_pointers(lines(init(1), agents(lines(arrive(), expect(), bulk()), wait(0)))),
        {"deadlock", "undrained"},
    ),
    "bytes are expected before or after the arrival that they would hold up": (
        on_pointers(
            lines(init(1), agents("nvvm.mbarrier.expect_tx %bar, %n16 : !llvm.ptr<3>, i32", arrive(), wait(1))),
        ),
        {"deadlock"},
    ),
    "an agent waits for what another one may have committed": (
        on_memrefs(lines(agents(COMMIT, WAIT_AND_LOAD), DRAIN)),
        {"race"},
    ),
}


@pytest.mark.parametrize("name", INDETERMINATE)
def test_other_interleavings_are_tried(name: str) -> None:
    text, expected = INDETERMINATE[name]
    assert explore(parse(text)).shown == expected
    report = checked(text)
    assert kinds_of(report) & COMPARED == expected
    assert report.executions > 1
    assert not report.unexplored


def commits_of_agents(count: int) -> str:
    bodies = [COMMIT.replace("%c0", f"%c{n}") + "\n" + WAIT_AND_LOAD.replace("%c0", f"%c{n}") for n in range(count)]
    return on_memrefs(lines(agents(*bodies), DRAIN))


@pytest.mark.parametrize("count", [2, 3])
def test_commits_in_any_order_may_be_safe(count: int) -> None:
    """A wait with count 0 does not depend on the order in which others commit; it takes all orders to see that."""
    text = commits_of_agents(count)
    report = checked(text)
    assert report.verdict is Verdict.SAFE
    assert report.executions > 1
    assert explore(parse(text)).shown == set()


def test_orders_that_make_no_difference_are_tried_once() -> None:
    """Two agents with a queue of their own each take no more executions than one of them alone."""
    shared = lines(*(COMMIT.replace("commit 0", "commit 7").replace("%c0", f"%c{n}") for n in range(2)))
    alone = on_memrefs(agents(shared.replace("%a", "%b"), "async_queue.wait 7, 0"))
    own = lines(*[COMMIT.replace("%c0", "%c3"), DRAIN] * 3)
    both = on_memrefs(agents(shared.replace("%a", "%b"), "async_queue.wait 7, 0", own))
    assert checked(both).executions == checked(alone).executions


@pytest.mark.parametrize(("made_for", "arrivals"), [(1, 2), (2, 3)])
def test_more_arrivals_at_once_than_the_phase_has_left(made_for: int, arrivals: int) -> None:
    text = on_pointers(lines(init(made_for), arrive().replace("%bar ", f"%bar, %n{arrivals} ")))
    report = checked(text)
    assert report.kinds == ["phase"]
    assert "more arrivals" in str(report)


def test_what_was_not_tried_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploration, "MOST_STEPS_AFTER_VIOLATION", 1)
    text, expected = INDETERMINATE["an agent that waits misses its phase"]
    report = checked(text)
    assert kinds_of(report) & COMPARED < expected
    assert len(report.unexplored) == 1
    assert "not all tried:" in str(report)
    assert "there are more" in str(report)


def test_undecided_when_the_bound_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploration, "MOST_STEPS", 300)
    report = checked(commits_of_agents(3))
    assert report.verdict is Verdict.UNDECIDED
    assert "interleavings were tried and none went wrong" in report.undecided[0]


def test_a_wait_knows_all_phases_before_the_one_that_it_sees() -> None:
    """Two arrivals of the agent itself leave the phase open; a third one, of the other agent, must have come before."""
    other = lines(STORE_L, arrive())
    own = lines(arrive(), arrive(), wait(0), LOAD_L.format(0))
    text = on_pointers(lines(init(1), agents(other, own)))
    assert explore(parse(text)).shown == set()
    assert not kinds_of(checked(text)) & COMPARED


def test_a_group_takes_no_more_members_than_its_size() -> None:
    """Whether the wait for it is one for the member too many would depend on who comes first."""
    body = lines(
        "%s = async.create_group %c0 : !async.group",
        task("%t", STORE_A0),
        "%r = async.add_to_group %t, %s : !async.token",
        "async.await %t : !async.token",
    )
    report = checked(on_memrefs(body))
    assert report.kinds == ["malformed"]
    assert "adds a member to a group of 0 that has them all" in str(report)
    assert explore(parse(on_memrefs(body))).overfull


@pytest.mark.parametrize("count", [0, -1, 1 << 20])
def test_a_barrier_is_made_for_at_least_one_arrival(count: int) -> None:
    text = f"""
func.func @f(%bar: !llvm.ptr<3>) {{
  %count = arith.constant {count} : i32
  nvvm.mbarrier.init %bar, %count : !llvm.ptr<3>, i32
  func.return
}}
"""
    report = check(parse(text))
    assert report.kinds == ["malformed"]
    assert f"makes a barrier for {count} arrivals" in str(report)
    assert 'missing: 1 to 1048575 (PTX ISA, "mbarrier.init")' in str(report)
