"""
A count that is used behind its loop is what the loop has counted (`verdict.behind_loops`): the copy computes the same,
and programs that take their last turns out of the loop are proved.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.support.ir import parse
from tests.support.thread_kernels import threads_of
from tileas_xdsl.checker.verdict.behind_loops import with_counts_behind_loops
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.machine.running import run

# The copy -------------------------------------------------------------------------------------------------------------

LAST = """
func.func @k(%out: memref<64xindex>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %some = arith.cmpi slt, %c0, %n : index
  %trips = arith.select %some, %n, %c0 : index
  %more = arith.cmpi uge, %trips, %c2 : index
  %without1 = arith.subi %n, %c1 : index
  %before1 = arith.select %more, %without1, %c0 : index
  %many = arith.cmpi uge, %trips, %c3 : index
  %without2 = arith.subi %n, %c2 : index
  %before2 = arith.select %many, %without2, %c0 : index
  scf.for %k = {first} to {bound} step %c1 {{
    memref.store %k, %out[%k] : memref<64xindex>
  }}
  scf.if {condition} {{
    %last = arith.subi %trips, {taken} : index
    %slot = arith.remui %last, %c3 : index
    %square = arith.muli %last, %last : index
    %value = arith.addi %square, %slot : index
    memref.store %value, %out[%last] : memref<64xindex>
  }}
  func.return
}}
"""
BOUNDS, CONDITIONS = ("%n", "%before1", "%before2"), ("%some", "%more", "%many")
FORMS = list(product(("%c0", "%c1"), BOUNDS, CONDITIONS, ("%c0", "%c1", "%c2")))


def copied(text: str) -> str | None:
    """The copy in which counts behind loops are counted, if there is one."""
    found = with_counts_behind_loops(find_function(parse(text), "k")[0], "k", ["n"])
    return None if found is None else str(found[0].get_toplevel_object())


def stored(text: str, n: int) -> list[int]:
    out = np.full(64, -1, np.int64)
    result = run(parse(text), "k", [out, n])
    assert not result.violations
    return out.tolist()


@pytest.mark.parametrize(("first", "bound", "condition", "taken"), FORMS)
def test_a_copy_computes_the_same(first: str, bound: str, condition: str, taken: str) -> None:
    text = LAST.format(first=first, bound=bound, condition=condition, taken=taken)
    copy = copied(text)
    least = {"%some": 1, "%more": 2, "%many": 3}[condition]
    assert (copy is not None) == (int(taken[-1]) <= least)
    if copy is not None:
        assert "remui %last" not in copy
        assert [stored(copy, n) for n in range(8)] == [stored(text, n) for n in range(8)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("step %c1", "step %c2"),  # Where it ends is not only what it has counted.
        ("scf.if %some {", "scf.execute_region {"),  # With n = 0 the number is negative.
        ("scf.for %k = %c0 to %before1", "scf.for %k = %c0 to %c3"),
    ],
)
def test_what_no_loop_has_counted_is_left_alone(old: str, new: str) -> None:
    text = LAST.format(first="%c0", bound="%before1", condition="%some", taken="%c1")
    assert copied(text) is not None
    changed = text.replace(old, new)
    if "execute_region" in new:
        changed = changed.replace("[%last] : memref<64xindex>\n  }", "[%last] : memref<64xindex>\n  scf.yield\n  }")
    assert changed != text
    assert copied(changed) is None


def test_a_count_that_bounds_another_loop_stays_one() -> None:
    text = LAST.format(first="%c0", bound="%n", condition="%some", taken="%c0")
    text = text.replace("memref.store %value", "scf.for %j = %c0 to %slot step %c1 {\n}\nmemref.store %value")
    copy = copied(text)
    assert copy is not None
    assert copy.count("arith.remui %last") == 1


# Proofs ---------------------------------------------------------------------------------------------------------------

RING = """
func.func @k(%x: memref<?xf32>, %s: memref<3xf32, 3>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %some = arith.cmpi slt, %c0, %n : index
  %trips = arith.select %some, %n, %c0 : index
  scf.if %some {
    async_queue.commit 0 {
      async_queue.scope {
        %v = memref.load %x[%c0] : memref<?xf32>
        memref.store %v, %s[%c0] : memref<3xf32, 3>
      }
    }
  }
  %before = arith.subi %n, %c1 : index
  %bound = arith.select %some, %before, %c0 : index
  scf.for %k = %c0 to %bound step %c1 {
    %next = arith.addi %k, %c1 : index
    %to = arith.remui %next, %c3 : index
    async_queue.commit 0 {
      async_queue.scope {
        %v = memref.load %x[%next] : memref<?xf32>
        memref.store %v, %s[%to] : memref<3xf32, 3>
      }
    }
    async_queue.wait 0, 1
    %from = arith.remui %k, %c3 : index
    %w = memref.load %s[%from] : memref<3xf32, 3>
  }
  %last = arith.subi %trips, %c1 : index
  scf.if %some {
    async_queue.wait 0, 0
    %from = arith.remui %last, %c3 : index
    %w = memref.load %s[%from] : memref<3xf32, 3>
  }
  func.return
}
"""


def is_proved_at_once(report: Report) -> bool:
    return report.verdict.value == "safe" and report.is_proved and bool(report.proofs_by_decisions)


@pytest.mark.parametrize("slots", [5, 7])
def test_a_last_turn_behind_the_loop_is_proved_at_once(slots: int) -> None:
    text = RING.replace("%c3 = arith.constant 3", f"%c3 = arith.constant {slots}").replace("<3x", f"<{slots}x")
    assert is_proved_at_once(check(parse(text)))


FIVE = RING.replace("%c3 = arith.constant 3", "%c3 = arith.constant 5").replace("<3x", "<5x")
WAIT = "    async_queue.wait 0, 0\n"


@pytest.mark.parametrize("instead", ["", "    async_queue.wait 0, 1\n"])
def test_a_mistake_in_the_last_turn_is_found(instead: str) -> None:
    assert "race" in check(parse(FIVE.replace(WAIT, instead))).kinds


def test_only_the_slot_that_is_in_flight_is_wrong() -> None:
    """Of five slots the one that is filled last is in flight, and the one two turns later is not."""
    late = FIVE.replace(WAIT, "").replace("  func.return", f"{WAIT}  func.return")
    other = late.replace("%last = arith.subi %trips, %c1", "%last = arith.addi %trips, %c1")
    assert is_proved_at_once(check(parse(other)))
    assert "race" in check(parse(late)).kinds


@pytest.mark.parametrize("name", ["copies_in_two_agents", "chain_of_three_agents"])
def test_threads_of_one_agent_are_proved_at_once(name: str) -> None:
    assert is_proved_at_once(check(threads_of(name, "unspecialize", "sm_90a"), judge_waits=False, timeout=60))
