"""An argument that is the step of a loop is varied from 0 on like others; calls in which the step is 0 are left out."""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.core.violations import NoStepError

FILL = """
func.func @fill(%a: memref<?xi32>, %n: index, %s: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %v = arith.constant 1 : i32
  STEP
  scf.for %i = %c0 to %n step %step {
    WRITE
  }
  async_queue.wait 0, 0
  func.return
}
"""
STORE = "memref.store %v, %a[%i] : memref<?xi32>"
RACE = f"async_queue.commit 0 {{\nasync_queue.scope {{\n{STORE}\n}}\n}}\n{STORE}"
SAME = "%step = arith.addi %s, %c0 : index"
MORE = "%step = arith.addi %s, %c1 : index"
TO_THREE = "%step = arith.subi %c3, %s : index"
SUM = "%step = arith.addi %s, %n : index"
CONSTANT = "%step = arith.constant 0 : index"


def fill(step: str, write: str = STORE) -> str:
    return FILL.replace("STEP", step).replace("WRITE", write)


@pytest.mark.parametrize(
    ("step", "where", "proved"),
    [
        (SAME, "s is 0", "1..8"),
        (TO_THREE, "s is 3..8", "0..2"),
        (SUM, "(n, s) is (0, 0)", None),
        (MORE, None, "0..8"),
    ],
)
def test_exactly_the_calls_without_a_positive_step_are_left_out(
    step: str, where: str | None, proved: str | None
) -> None:
    report = check(parse(fill(step)))
    assert report.verdict_line == "safe for trip counts 0..8"
    assert report.left_out == ([] if where is None else [f"@fill: 'scf.for' has no positive step where {where}"])
    assert report.as_data()["left_out"] == report.left_out
    assert (f"every n is proved where s is {proved}" in report.bounded[0]) == (proved is not None)


def test_the_step_alone_is_tried_from_one_on() -> None:
    report = check(parse(fill(SAME)), args={"n": 20})
    assert report.verdict_line == "safe for trip counts 1..8, with n = 20"
    assert "left out: @fill: 'scf.for' has no positive step where s is 0\n\n" in str(report)
    assert report.bounded == ["@fill: 'scf.for' takes its step from s; fix it with --arg s=1"]


def test_what_is_wrong_with_other_steps_is_found() -> None:
    report = check(parse(fill(SAME, RACE)))
    assert report.kinds == ["race"]
    assert report.findings[0].arguments == {"n": 1, "s": 1}


@pytest.mark.parametrize("args", [{"s": 0}, {"s": 0, "n": 4}])
def test_a_step_of_zero_that_was_asked_for_is_refused(args: dict[str, int]) -> None:
    with pytest.raises(NoStepError, match="has step 0"):
        check(parse(fill(SAME)), args=args)


def test_a_step_of_zero_that_no_argument_changes_is_refused() -> None:
    with pytest.raises(NoStepError, match="has step 0"):
        check(parse(fill(CONSTANT)))


def test_a_step_is_refused_where_no_other_was_to_be_tried() -> None:
    with pytest.raises(NoStepError, match="has step 0"):
        check(parse(fill(SAME)), trip_counts=[0])


def test_a_constant_that_is_the_step_too_does_not_become_an_argument() -> None:
    """One turn of 300: as an argument it would be tried as 0."""
    step = "%step = arith.constant 300 : index"
    long_loop = f"{STORE}\n}}\nscf.for %j = %c0 to %step step %c1 {{\n"
    report = check(parse(fill(step, long_loop)), args={"n": 2})
    assert report.verdict_line == "safe, with n = 2"
    assert report.left_out == []
