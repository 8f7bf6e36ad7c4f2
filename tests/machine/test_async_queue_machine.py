"""The scopes of `async_queue` on the machine, and the races in the examples of TVM's RFC 0077."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.running import run

BUFFERS = "%a: memref<16xi32>, %b: memref<16xi32>, %c: memref<16xi32>"


def constants(*numbers: int) -> str:
    return "".join(f"  %c{number} = arith.constant {number} : index\n" for number in numbers)


def copy(source: str, target: str, index: str, name: str) -> str:
    """An asynchronous copy of one element."""
    return f"""async_queue.scope {{
      %{name} = memref.load {source}[{index}] : memref<16xi32>
      memref.store %{name}, {target}[{index}] : memref<16xi32>
    }}"""


def function(body: str) -> str:
    return f"func.func @f({BUFFERS}) {{\n{constants(0, 1, 2)}{body}\n  func.return\n}}"


def kinds(body: str, **options: str) -> list[str]:
    return check(parse(function(body)), **options).kinds


COMMIT_0 = "async_queue.commit 0 {\n" + copy("%a", "%b", "%c0", "x") + "\n}\n"
COMMIT_1 = "async_queue.commit 0 {\n" + copy("%a", "%b", "%c1", "y") + "\n}\n"
READ_0 = "%v = memref.load %b[%c0] : memref<16xi32>\nmemref.store %v, %c[%c0] : memref<16xi32>\n"


def waiting(queue: int, count: int, body: str = "") -> str:
    return f"async_queue.wait {queue}, {count} {{\n{body}}}\n"


def test_wait_covers_all_but_the_youngest_groups() -> None:
    assert kinds(COMMIT_0 + COMMIT_1 + waiting(0, 1, READ_0) + waiting(0, 0)) == []
    assert kinds(COMMIT_0 + COMMIT_1 + waiting(0, 2, READ_0) + waiting(0, 0)) == ["race"]


def test_queues_do_not_cover_each_other() -> None:
    assert kinds(COMMIT_0 + waiting(1, 0, READ_0) + waiting(0, 0)) == ["race"]


def test_empty_group_counts() -> None:
    empty = "async_queue.commit 0 {\n}\n"
    assert kinds(COMMIT_0 + empty + waiting(0, 1, READ_0)) == []


def test_group_is_committed_when_its_scope_is_left() -> None:
    """A wait never covers a group that is still being built; nested groups enter in the order they are left."""
    inner = "async_queue.commit 0 {\n" + copy("%a", "%b", "%c0", "x") + "\nasync_queue.commit 0 {\n}\n}\n"
    assert kinds(inner + waiting(0, 0, READ_0)) == []
    assert kinds(inner + waiting(0, 1, READ_0) + waiting(0, 0)) == ["race"]


def test_undrained_group() -> None:
    assert kinds(COMMIT_0) == ["undrained"]


def test_second_write_of_one_cell_is_a_race_also_on_one_queue() -> None:
    again = "async_queue.commit 0 {\n" + copy("%c", "%b", "%c0", "z") + "\n}\n"
    assert kinds(COMMIT_0 + again + waiting(0, 0)) == ["race"]


def test_overwritten_source_depends_on_capture() -> None:
    overwrite = "%zero = arith.constant 0 : i32\nmemref.store %zero, %a[%c0] : memref<16xi32>\n"
    assert kinds(COMMIT_0 + overwrite + waiting(0, 0)) == ["race"]
    assert kinds(COMMIT_0 + overwrite + waiting(0, 0), capture="issue") == []


def test_captured_source_gives_the_old_value_and_a_late_one_the_new() -> None:
    overwrite = "%nine = arith.constant 9 : i32\nmemref.store %nine, %a[%c0] : memref<16xi32>\n"
    module = parse(function(COMMIT_0 + overwrite + waiting(0, 0)))
    a = np.arange(1, 17, dtype=np.int32)
    late = run(module, "f", {"a": a}, order="lazy", capture="completion")
    early = run(module, "f", {"a": a}, order="lazy", capture="issue")
    assert (late.arrays["b"][0], early.arrays["b"][0]) == (9, 1)
    assert [str(v.kind) for v in late.violations] == ["race"]
    assert early.violations == ()


def test_addresses_and_predicates_are_evaluated_at_issue() -> None:
    """The store goes where the index pointed when the scope was issued, whatever happens to it later."""
    text = """
func.func @f(%a: memref<16xi32>, %b: memref<16xi32>, %where: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  async_queue.commit 0 {
    async_queue.scope {
      %to = memref.load %where[%c0] : memref<1xindex>
      %v = memref.load %a[%c0] : memref<16xi32>
      memref.store %v, %b[%to] : memref<16xi32>
    }
  }
  async_queue.wait 0, 0 {
  }
  func.return
}"""
    outcome = run(
        parse(text), "f", {"a": np.full(16, 7, np.int32), "b": np.zeros(16, np.int32), "where": np.array([3])}
    )
    assert outcome.arrays["b"].tolist() == [0, 0, 0, 7] + [0] * 12


# The interleaved example of the RFC ----------------------------------------------------------------------------------


def interleaved(*, split_prologue: bool, extent: int = 16) -> str:
    """Two copies three iterations ahead; the first is issued before the consumer, the second after it."""
    slots = "memref<4xi32>"

    def issue(buffer: str, ring: str, index: str, slot: str) -> str:
        name = f"v{buffer}"
        return f"""async_queue.scope {{
        %{name} = memref.load %{buffer}[{index}] : memref<{extent}xi32>
        memref.store %{name}, %{ring}[{slot}] : {slots}
      }}"""

    first, second = issue("a", "sa", "%i", "%s"), issue("b", "sb", "%i", "%s")
    prologue = (
        f"async_queue.commit 0 {{\n{first}\n}}\nasync_queue.commit 0 {{\n{second}\n}}"
        if split_prologue
        else f"async_queue.commit 0 {{\n{first}\n{second}\n}}"
    )
    ahead_first, ahead_second = issue("a", "sa", "%j", "%t"), issue("b", "sb", "%j", "%t")
    drain = "\n".join(
        f"""
  async_queue.wait 0, {count} {{
    %e{number} = arith.constant {extent - 3 + number} : index
    %u{number} = arith.constant {(extent - 3 + number) % 4} : index
    %p{number} = memref.load %sa[%u{number}] : {slots}
    %q{number} = memref.load %sb[%u{number}] : {slots}
    %r{number} = arith.addi %p{number}, %q{number} : i32
    memref.store %r{number}, %c[%e{number}] : memref<{extent}xi32>
  }}"""
        for number, count in enumerate((4, 2, 0))
    )
    return f"""
func.func @rfc(%a: memref<{extent}xi32>, %b: memref<{extent}xi32>, %c: memref<{extent}xi32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %end = arith.constant {extent - 3} : index
  %sa = memref.alloc() : {slots}
  %sb = memref.alloc() : {slots}
  scf.for %i = %c0 to %c3 step %c1 {{
    %s = arith.remui %i, %c4 : index
    {prologue}
  }}
  scf.for %i = %c0 to %end step %c1 {{
    %j = arith.addi %i, %c3 : index
    %t = arith.remui %j, %c4 : index
    async_queue.commit 0 {{
      {ahead_first}
    }}
    async_queue.wait 0, 5 {{
      %s = arith.remui %i, %c4 : index
      %x = memref.load %sa[%s] : {slots}
      %y = memref.load %sb[%s] : {slots}
      %z = arith.addi %x, %y : i32
      memref.store %z, %c[%i] : memref<{extent}xi32>
    }}
    async_queue.commit 0 {{
      {ahead_second}
    }}
  }}
  {drain}
  func.return
}}"""


def test_rfc_listing_with_one_commit_per_prologue_slot_races_in_its_first_iterations() -> None:
    report = check(parse(interleaved(split_prologue=False)))
    assert report.kinds == ["race"]
    races = [finding.violation for finding in report.findings]
    assert all(violation.parties[1].iteration in {(0,), (1,)} for violation in races)
    assert races[0].witness is not None
    assert races[0].witness.steps


def test_rfc_example_with_split_prologue_commits_is_safe() -> None:
    report = check(parse(interleaved(split_prologue=True)))
    assert report.verdict is Verdict.SAFE, str(report)


@pytest.mark.parametrize("order", ["eager", "lazy", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_safe_variant_computes_the_sum_under_every_order(order: str, seed: int) -> None:
    outcome = run(parse(interleaved(split_prologue=True)), "rfc", order=order, seed=seed)
    assert outcome.violations == ()
    assert (outcome.arrays["c"] == outcome.arrays["a"] + outcome.arrays["b"]).all()


def test_racy_listing_computes_something_else_when_work_is_performed_late() -> None:
    outcome = run(
        parse(interleaved(split_prologue=False)), "rfc", {"a": np.arange(16), "b": np.arange(16)}, order="lazy"
    )
    assert (outcome.arrays["c"] != 2 * np.arange(16)).any()
    assert outcome.violations
