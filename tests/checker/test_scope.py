"""The scope of a verdict: what was fixed, tried, assumed and left out in this program, and nothing of others."""

from __future__ import annotations

import re

import pytest

from tests.support.ir import ROOT, parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.core.assumptions import ALL

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
BLOCKS = "blocks do not race with each other"


@pytest.mark.parametrize(
    ("arguments", "body", "assumed"),
    [
        pytest.param("%x: memref<4xi32>", "%v = memref.load %x[%c0] : memref<4xi32>", [], id="fixed extents"),
        pytest.param("%x: memref<?xi32>", LOAD, [INSIDE], id="an open extent"),
        pytest.param(ARRAYS, LOAD, [INSIDE], id="an array that is not touched"),
        pytest.param(ARRAYS, f"{LOAD}\n{STORE}", ["indices stay inside x, y", APART, BLOCKS], id="one is written"),
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
    assert list(report.scope.assumed) == ["n >= 0", "indices stay inside x, y", BLOCKS]


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


# What the page says is not looked for --------------------------------------------------------------------------------


def kernel(*lines: str, threads: int | None = None) -> str:
    """A function of `threads` threads (None: it does not say), with two pointers and the number of its thread."""
    says = "" if threads is None else f" attributes {{nvvm.reqntid = array<i32: {threads}>}}"
    read = [] if threads is None else ["%tid = nvvm.read.ptx.sreg.tid.x : i32"]
    head = [f"func.func @k(%x: !llvm.ptr, %s: !llvm.ptr<3>, %b: !llvm.ptr<3>){says} {{", *HEAD.splitlines(), *read]
    return "\n".join([*head, "%z = arith.constant 0 : i32", *lines, "func.return", "}"])


def step(index: str, access: str) -> list[str]:
    place = f"%p{index.strip('%')} = llvm.getelementptr %s[{index}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32"
    return [place, access.replace("PLACE", f"%p{index.strip('%')}")]


EXCHANGED = [
    *step("%tid", "llvm.store %one, PLACE : i32, !llvm.ptr<3>"),
    "%other = arith.addi %tid, %one : i32",
    *step("%other", "%v = llvm.load PLACE : !llvm.ptr<3> -> i32"),
]
BY_ONE = ["%first = arith.cmpi eq, %tid, %z : i32", "scf.if %first { nvvm.mbarrier.init %b, %one : !llvm.ptr<3>, i32 }"]
STORED = "nvvm.cp.async.bulk.tensor.global.shared.cta %x, %s, box[{}, %z] {{tileas.box_bytes = 16 : i32}}"
BY_MAP = [
    f"{STORED.format('%z')} : !llvm.ptr, !llvm.ptr<3>",
    f"{STORED.format('%one')} : !llvm.ptr, !llvm.ptr<3>",
    "nvvm.cp.async.bulk.commit.group",
    "nvvm.cp.async.bulk.wait_group 0",
]
OF_BLOCKS = ["%id = nvvm.read.ptx.sreg.ctaid.x : i32", "llvm.store %id, %s : i32, !llvm.ptr<3>"]
OF_A_CLUSTER = ["nvvm.cluster.arrive", "nvvm.cluster.wait"]
ACROSS_BLOCKS = "%m = nvvm.mapa %s, %z : !llvm.ptr<3> -> !llvm.ptr<7>"

FARTHER = """
func.func @farther(%x: memref<?xi32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    %ahead = arith.addi %k, %c3 : i32
    %place = arith.index_cast %ahead : i32 to index
    %v = memref.load %x[%place] : memref<?xi32>
  }
  func.return
}
"""

NOT_LOOKED_FOR = {
    "Order inside a warp": (kernel(*BY_ONE, threads=32), "only some threads of a warp do, is ordered"),
    "Data that threads of one warp exchange": (kernel(*EXCHANGED, threads=32), "run in step"),
    "Copies of one thread of a warp": (kernel("nvvm.cp.async.wait.group 0", threads=32), "each other's copies only"),
    "How many threads run a function": (kernel("nvvm.barrier0"), "one thread runs @k"),
    "Other blocks": (kernel(*OF_BLOCKS), BLOCKS),
    "Other blocks of a cluster": (kernel(*OF_A_CLUSTER), "the blocks of a cluster are executed as one"),
    "How many blocks a cluster has": (kernel(ACROSS_BLOCKS), "a cluster has 2 blocks"),
    "Negative arguments": (walk("%x: i32", ""), "n >= 0"),
    "Integers that overflow": (FARTHER, "n < 2^31 - 2, where an integer overflows"),
    "Indices out of bounds": (walk("%x: memref<?xi32>", LOAD), INSIDE),
    "Arguments that overlap": (walk(ARRAYS, f"{LOAD}\n{STORE}"), APART),
    "Boxes of tensor maps": (kernel(*BY_MAP), "boxes of x at different coordinates do not overlap"),
    "Tensors of tensor maps": (kernel(*BY_MAP), "the tensor of x is reached through that map only"),
    "What functions without a body do": (
        walk("%x: i32", "func.call @outside(%x) : (i32) -> ()", "func.func private @outside(i32)"),
        "@outside touches only what its arguments reach",
    ),
    "Assertions about data": (
        walk("%x: memref<1xi1>", '%t = memref.load %x[%c0] : memref<1xi1>\ncf.assert %t, "holds"'),
        "assertions about data hold",
    ),
}
"""Beginning of a line of docs/machine.md -> a program that it concerns, and what the verdict says of it."""


def lines_of_the_page() -> list[str]:
    text = (ROOT / "docs" / "machine.md").read_text()
    section = text.partition("## What is not looked for")[2].partition("\n## ")[0]
    return re.findall(r"^- \*([^*]+?)\.?\*", section, re.MULTILINE)


def test_the_page_of_decisions_has_every_phrase_in_order() -> None:
    text = (ROOT / "docs" / "decisions.md").read_text()
    section = text.partition("## What a check assumes")[2].partition("\n## ")[0]
    phrases = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    assert phrases == [each.what.replace("{}", "X") for each in ALL.values()]


def test_every_line_of_the_page_has_a_program() -> None:
    assert lines_of_the_page() == list(NOT_LOOKED_FOR)


@pytest.mark.parametrize("line", NOT_LOOKED_FOR)
def test_what_is_not_looked_for_is_named_by_the_verdict_that_rests_on_it(line: str) -> None:
    text, clause = NOT_LOOKED_FOR[line]
    report = check(parse(text))
    assert report.verdict is Verdict.SAFE, str(report)
    assert any(clause in said for said in report.scope.assumed), report.last_line
    assert clause in report.last_line
    assert clause not in check(parse(kernel())).last_line


def test_a_fence_that_is_not_asked_for_is_named() -> None:
    report = check(parse((ROOT / "examples/zoo/read-then-refilled.bad.mlir").read_text()), relaxed_proxy=True)
    assert report.verdict_line == "safe for every trip count"
    assert "an asynchronous write behind a read needs no proxy fence" in report.scope.assumed


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
    body = "scf.for %j = %c0 to %m step %c1 {\n}\n%more = arith.cmpi sgt, %m, %n : index\nscf.if %more {\n}"
    report = check(parse(walk("%m: index, %x: i32", body)))
    numbers = tuple(range(9))
    assert report.scope.tried == (("n", numbers), ("m", numbers))
    assert report.last_line == "safe for trip counts 0..8"
