"""
Arguments from 0 to 8 and loops that begin above 0, or go on by more than one: which calls are tried, and what is said.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.longer_loops import TurnsOfLoops
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.arguments import find_function

WAIT = "nvvm.cp.async.wait.group 0"
UNTIL = """
    %is = arith.cmpi slt, %k, %edge : i32
    scf.if %is {
      nvvm.cp.async.wait.group 0
    }"""
"""Copies are awaited as long as k is below the edge."""
FAR = 2_000_000


def copying(
    bounds: str, wait: str = UNTIL, *, edge: int = 0, before: str = "", first: str = "", arguments: str = "%n: i32"
) -> str:
    """A loop with `bounds` that copies, waits and reads."""
    return f"""
func.func @k(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>, {arguments}) {{
  %edge = arith.constant {edge} : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c64 = arith.constant 64 : i32
  %far = arith.constant {FAR} : i32
  {before}
  {first}
  scf.for %k = {bounds} : i32 {{
    nvvm.cp.async.shared.global %tile, %src, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    {wait}
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
  }}
  nvvm.cp.async.wait.group 0
  func.return
}}"""


def checked(text: str, **options: object) -> Report:
    return check(parse(text), **options)  # pyright: ignore[reportArgumentType]


BOUNDS = {
    "begins far away": ("%far to %n step %c1", "", FAR + 3, {"n": FAR + 4}),
    "by steps": ("%far to %n step %c64", "", FAR + 128, {"n": FAR + 129}),
    "a sum": ("%far to %more step %c1", "%more = arith.addi %n, %c3 : i32", FAR + 3, {"n": FAR + 1}),
    "a shifted argument": ("%far to %more step %c1", "%more = arith.shli %n, %c1 : i32", FAR + 3, {"n": FAR // 2 + 2}),
    "a quotient": ("%c0 to %few step %c1", "%few = arith.ceildivsi %n, %c64 : i32", 3, {"n": 193}),
    "from the argument": ("%n to %c64 step %c1", "", 62, {"n": 0}),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_what_goes_wrong_after_some_turns_is_found_wherever_a_loop_begins(name: str) -> None:
    bounds, before, edge, arguments = BOUNDS[name]
    report = checked(copying(bounds, edge=edge, before=before), prove=False)
    assert report.kinds == ["race"], str(report)
    assert report.findings[0].arguments == arguments
    right = checked(copying(bounds, WAIT, edge=edge, before=before))
    assert right.verdict is Verdict.SAFE, str(right)


def test_the_last_line_has_the_further_numbers() -> None:
    report = checked(copying("%far to %n step %c1", WAIT), prove=False)
    assert report.verdict_line == f"safe for trip counts 0..8, with n in 0..8, {FAR + 1}..{FAR + 8}"
    assert report.as_data()["scope"]["tried"] == {"n": [*range(9), *range(FAR + 1, FAR + 9)]}


@pytest.mark.parametrize(("first", "tried"), [("%c0 to %n", "0..8"), ("%c2 to %n", "0..10")])
def test_a_loop_that_cannot_be_tried_is_named(first: str, tried: str) -> None:
    """Where the second loop begins, the first one has turned too often to be executed."""
    walk = "scf.for %j = " + first + " step %c1 : i32 {\n}"
    report = checked(copying("%far to %n step %c1", edge=FAR, first=walk), prove=False)
    assert report.verdict_line == f"safe for n in {tried}"
    assert report.scope.short_loops == ("a turn of 'scf.for'",)
    assert "; not tried: a turn of 'scf.for'; assumed: " in report.last_line


def test_numbers_that_were_asked_for_are_all_that_is_tried() -> None:
    report = checked(copying("%c0 to %n step %c64", WAIT), trip_counts=[0, 1, 2])
    assert report.verdict_line == "safe for n in 0..2"
    assert report.scope.short_loops == ("more than 1 turns of 'scf.for'",)
    assert not report.also_tried


def test_two_arguments_take_further_numbers_each() -> None:
    text = copying("%far to %n step %c1", edge=FAR + 2, first="scf.for %j = %c2 to %m step %c2 : i32 {\n}")
    text = text.replace("%n: i32)", "%n: i32, %m: i32)")
    report = checked(text, prove=False)
    assert report.kinds == ["race"]
    assert report.findings[0].arguments["n"] == FAR + 3


def test_a_least_number_is_never_exceeded_in_vain() -> None:
    """min(n, 3) turns are all that there are: nothing is missed beside n of them."""
    text = copying("%c0 to %few step %c1", WAIT, before="%few = arith.minsi %n, %c3 : i32")
    report = checked(text, prove=False)
    assert report.verdict_line == "safe for trip counts 0..8"
    assert not report.short_loops


def test_a_further_call_that_leaves_an_array_is_no_mistake() -> None:
    """The array ends after two turns by 64, and n = 8 makes one."""
    text = """
func.func @f(%a: memref<128xf32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %n step %c64 {
    %v = memref.load %a[%k] : memref<128xf32>
  }
  func.return
}"""
    report = checked(text, prove=False)
    assert report.verdict_line == "safe for n in 0..8, 65"
    assert report.scope.short_loops == ("more than 2 turns of 'scf.for'",)


@pytest.mark.parametrize(
    ("bounds", "before", "turns", "expected"),
    [
        ("%far to %n step %c1", "", 3, FAR + 3),
        ("%far to %n step %c64", "", 2, FAR + 65),
        ("%n to %c64 step %c2", "", 3, 58),
        ("%c0 to %few step %c1", "%few = arith.minsi %n, %c3 : i32", 4, None),
        ("%c0 to %few step %c1", "%few = arith.remsi %n, %c3 : i32", 4, None),
    ],
)
def test_numbers_with_which_a_loop_turns_as_often(bounds: str, before: str, turns: int, expected: int | None) -> None:
    _, body = find_function(parse(copying(bounds, WAIT, before=before)), "k")
    loops = TurnsOfLoops(body, ["n"], {})
    (loop,) = loops.counts
    assert list(loops.numbers_for(loop, turns)) == ([] if expected is None else [("n", expected)])
