"""
Arguments from 0 to 8 and loops that begin above 0, or go on by more than one: which calls are tried, and what is said.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.long_loops import TurnsOfLoops
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


# Loops of blocks, and loops of functions that are called --------------------------------------------------------------

ARGUMENTS = "%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32"
TYPES = "(!llvm.ptr<1>, !llvm.ptr<3>, i32) -> ()"
CONSTANTS = f"""
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %far = arith.constant {FAR} : i32
  %past = arith.constant {FAR + 2} : i32"""
TURN = """
    nvvm.cp.async.shared.global %tile, %src, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    {wait}
    %v = llvm.load %tile : !llvm.ptr<3> -> f32"""
UNTIL_PAST = """
    %is = arith.cmpi sle, %k, %past : i32
    scf.if %is {
      nvvm.cp.async.wait.group 0
    }"""
FOR = "scf.for %k = %far to %n step %c1 : i32 {<turn>\n  }"
TESTED_FIRST = """
  cf.br ^head(%far : i32)
^head(%k: i32):
  %more = arith.cmpi slt, %k, %n : i32
  cf.cond_br %more, ^body, ^behind
^body:<turn>
  %next = arith.addi %k, %c1 : i32
  cf.br ^head(%next : i32)
^behind:"""
TESTED_LAST = """
  %any = arith.cmpi slt, %far, %n : i32
  cf.cond_br %any, ^body(%far : i32), ^behind
^body(%k: i32):<turn>
  %next = arith.addi %k, %c1 : i32
  %done = arith.cmpi sge, %next, %n : i32
  cf.cond_br %done, ^behind, ^body(%next : i32)
^behind:"""
IN_LLVM = """
  llvm.br ^head(%far : i32)
^head(%k: i32):
  %more = llvm.icmp "sgt" %n, %k : i32
  llvm.cond_br %more, ^body, ^behind
^body:<turn>
  %next = llvm.add %k, %c1 : i32
  llvm.br ^head(%next : i32)
^behind:"""


def function(name: str, body: str) -> str:
    return f"func.func {name}({ARGUMENTS}) {{{CONSTANTS}\n  {body}\n  nvvm.cp.async.wait.group 0\n  func.return\n}}\n"


def calling(body: str) -> str:
    """A call of a function that calls another one with three more, which runs `body`."""
    outer = f"%more3 = arith.addi %n, %c3 : i32\nfunc.call @inner(%src, %tile, %more3) : {TYPES}"
    called = function("private @inner", body) + function("private @outer", outer)
    return called + function("@k", f"func.call @outer(%src, %tile, %n) : {TYPES}")


FORMS = {
    "a loop of blocks": (function("@k", TESTED_FIRST), 1),
    "a loop of blocks that tests last": (function("@k", TESTED_LAST), 1),
    "a loop of blocks of llvm": (function("@k", IN_LLVM), 1),
    "a loop of a called function": (calling(FOR), -2),
    "a loop of blocks of a called function": (calling(TESTED_FIRST), -2),
}


@pytest.mark.parametrize("name", FORMS)
def test_loops_of_every_form_are_tried(name: str) -> None:
    text, first = FORMS[name]
    report = checked(text.replace("<turn>", TURN.format(wait=UNTIL_PAST)), prove=False)
    assert report.kinds == ["race"], str(report)
    assert report.findings[0].arguments == {"n": FAR + first + 3}
    right = checked(text.replace("<turn>", TURN.format(wait=WAIT)), prove=False)
    assert right.verdict_line == f"safe for trip counts 0..8, with n in 0..8, {FAR + first}..{FAR + first + 7}"
    assert not right.scope.short_loops


def test_a_loop_of_blocks_without_a_counter_is_named() -> None:
    """What it doubles is a counter, but none that goes on by a constant."""
    doubled = TESTED_FIRST.replace("arith.addi %k, %c1", "arith.addi %k, %k")
    report = checked(function("@k", doubled).replace("<turn>", TURN.format(wait=WAIT)), prove=False)
    assert report.verdict_line == "safe for n in 0..8"
    assert report.scope.short_loops == ("a turn of the loop with 'cf.cond_br'",)


def test_a_bound_that_is_handed_to_a_function_is_varied() -> None:
    text = calling(FOR.replace("%far", "%c0"))
    assert checked(text.replace("<turn>", TURN.format(wait=WAIT))).is_proved
    wrong = checked(text.replace("<turn>", TURN.format(wait="")))
    assert wrong.kinds == ["race"]
    assert wrong.findings[0].arguments == {"n": 0}


def test_the_second_of_two_loops_is_tried_beyond_the_first() -> None:
    """The first makes min(n, 3) turns, and the second the others: 8 of its own are tried, too."""
    few = "%few = arith.minsi %n, %c3 : i32\nscf.for %j = %c0 to %few step %c1 : i32 {\n}\n"
    rest = f"{few}scf.for %k = %few to %n step %c1 : i32 {{<turn>\n  }}"
    late = UNTIL_PAST.replace("sle, %k, %past", "slt, %k, %nine")
    text = function("@k", f"%nine = arith.constant 10 : i32\n{rest}")
    report = checked(text.replace("<turn>", TURN.format(wait=late)), prove=False)
    assert report.kinds == ["race"], str(report)
    assert report.findings[0].arguments == {"n": 11}
