"""The scope of a verdict: what was fixed, tried, assumed and left out in this program, and nothing of others."""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report

HEAD = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
"""


def walk(arguments: str, body: str, more: str = "") -> str:
    """A function whose loop turns `%n` times, with `body` in it."""
    return f"""
{more}
func.func @walk(%n: index, {arguments}) {{{HEAD}
  scf.for %k = %c0 to %n step %c1 {{
    {body}
  }}
  func.return
}}
"""


LOAD = "%v = memref.load %x[%k] : memref<?xi32>"
STORE = "memref.store %one, %y[%k] : memref<?xi32>"
ARRAYS = "%x: memref<?xi32>, %y: memref<?xi32>"
INSIDE, APART = "indices stay inside x", "no two of x, y overlap"


@pytest.mark.parametrize(
    ("arguments", "body", "assumed"),
    [
        pytest.param("%x: memref<4xi32>", "%v = memref.load %x[%c0] : memref<4xi32>", [], id="fixed extents"),
        pytest.param("%x: memref<?xi32>", LOAD, [INSIDE], id="an open extent"),
        pytest.param(ARRAYS, LOAD, [INSIDE], id="an array that is not touched"),
        pytest.param(ARRAYS, f"{LOAD}\n{STORE}", ["indices stay inside x, y", APART], id="one is written"),
        pytest.param(
            ARRAYS,
            f"{LOAD}\n%w = memref.load %y[%k] : memref<?xi32>",
            ["indices stay inside x, y"],
            id="both are read",
        ),
        pytest.param(
            "%x: memref<4xi32>, %y: memref<4xi32, 3>",
            "%v = memref.load %x[%c0] : memref<4xi32>\nmemref.store %one, %y[%c0] : memref<4xi32, 3>",
            [],
            id="two spaces",
        ),
    ],
)
def test_what_is_assumed_is_what_this_program_rests_on(arguments: str, body: str, assumed: list[str]) -> None:
    report = check(parse(walk(arguments, body)))
    assert list(report.scope.assumed) == ["n >= 0", *assumed]
    assert report.last_line == "; ".join(["safe for every trip count", f"assumed: {'; '.join(report.scope.assumed)}"])
    assert report.as_data()["scope"]["assumed"] == list(report.scope.assumed)
    assert report.as_data()["line"] == report.last_line


def test_arrays_that_may_overlap_are_not_assumed_to_be_apart() -> None:
    report = check(parse(walk(ARRAYS, f"{LOAD}\n{STORE}")), may_alias=[("x", "y")])
    assert list(report.scope.assumed) == ["n >= 0", "indices stay inside x, y"]


def test_a_function_without_a_body_is_named() -> None:
    text = walk("%x: i32", "func.call @outside(%x) : (i32) -> ()", "func.func private @outside(i32)")
    clause = "@outside touches only what its arguments reach, and starts and awaits nothing"
    assert clause in check(parse(text)).scope.assumed
    assert clause not in check(parse(walk("%x: i32", ""))).scope.assumed


def test_an_assertion_about_data_is_named() -> None:
    asserted = 'cf.assert %t, "holds"'
    known = walk("%x: memref<1xi1>", f"%t = arith.constant true\n{asserted}")
    data = walk("%x: memref<1xi1>", f"%t = memref.load %x[%c0] : memref<1xi1>\n{asserted}")
    assert "assertions about data hold" not in check(parse(known)).scope.assumed
    assert "assertions about data hold" in check(parse(data)).scope.assumed


def test_what_the_caller_gives_is_named() -> None:
    copied = "async_queue.commit 0 { async_queue.scope { %v = memref.load %x[%k] : memref<?xi32> } }"
    report = check(parse(walk("%x: memref<?xi32>", f"{copied}\nasync_queue.wait 0, 0")), capture="issue")
    assert "asynchronous work reads its sources when it is issued" in report.scope.assumed


# What is fixed --------------------------------------------------------------------------------------------------------


def two_loops(**fixed: int) -> Report:
    body = "scf.for %j = %c0 to %m step %c1 {\n}"
    return check(parse(walk("%m: index, %x: i32", body)), args=fixed)


@pytest.mark.parametrize(
    ("fixed", "line"),
    [
        ({"n": 4, "m": 2}, "safe, with n = 4, m = 2"),
        ({"m": 2}, "safe for every n, with m = 2; assumed: n >= 0"),
        ({"m": 2, "x": 7}, "safe for every n, with m = 2, x = 7; assumed: n >= 0"),
    ],
)
def test_an_argument_that_is_fixed_is_named_in_place_of_every_trip_count(fixed: dict[str, int], line: str) -> None:
    report = two_loops(**fixed)
    assert report.last_line == line
    assert not report.holds_for_every_trip_count
    assert report.as_data()["every_trip_count"] is False
    assert report.as_data()["scope"]["fixed"] == fixed


def test_what_was_only_tried_is_listed() -> None:
    report = two_loops()
    numbers = tuple(range(9))
    assert report.scope.tried == (("n", numbers), ("m", numbers))
    assert report.last_line == "safe for trip counts 0..8"
