"""`tileas timeline`: three kinds of files, status and messages, and a clear message for each mistake."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.ir import ROOT, parse
from tests.support.trace_events import read_trace
from tests.tools import programs
from tests.tools.conftest import Run
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.tools.timeline import run_values

DRAWN, VIOLATED, INPUT = 0, 1, 2
EXAMPLES = ROOT / "examples"


@pytest.fixture
def run(tileas: Run) -> Run:
    """`run(text or path, *options)`: status, standard output, standard error; a text is called `p.mlir`."""
    return partial(tileas, "timeline")


@pytest.mark.parametrize("extension", ["svg", "html", "json"])
def test_good_program_is_drawn(extension: str, run: Run) -> None:
    out = f"t.{extension}"
    status, said, err = run(EXAMPLES / "gemm_loop.mlir", "-o", out, "--target", "sm_90", "--trip-count", "3")
    assert (status, err) == (DRAWN, "")
    assert said.startswith(f"{out}: @gemm on sm_90: ")
    assert said.endswith(" an iteration\n")
    text = Path(out).read_text()
    if extension == "json":
        reading = read_trace(json.loads(text))
        assert reading.problems == []
        assert reading.slices
    elif extension == "svg":
        assert ElementTree.fromstring(text).tag.endswith("svg")
    else:
        assert text.startswith("<!DOCTYPE html>")


def course(name: str) -> str:
    """The ring of chapter 5, with a slot too few in the `start`."""
    return (ROOT / "tileas_xdsl" / "course" / "05-rings" / f"{name}.mlir").read_text()


@pytest.mark.parametrize("view", ["slots", "queues"])
@pytest.mark.parametrize("suffix", ["svg", "html"])
def test_a_view_is_written(view: str, suffix: str, run: Run) -> None:
    options = ["--view", view, "--target", "sm_90", "-o", f"v.{suffix}"]
    status, said, err = run(course("solution"), *options)
    assert (status, err) == (0, "")
    assert said.startswith(f"v.{suffix}: @double on sm_90: ")
    assert "over iterations" in Path(f"v.{suffix}").read_text() or view == "queues"
    assert run(course("start"), *options)[0] == 1


@pytest.mark.parametrize(
    ("view", "out", "said"),
    [
        (
            "slots",
            "v.json",
            "error: -o v.json: the file must be called something.svg or something.html with --view slots",
        ),
        ("slots", "v.svg", "error: --view slots: @f fills no slot of shared memory; leave out --view to see its lanes"),
        ("queues", "v.svg", "error: --view queues: @f commits no group to a queue; leave out --view to see its lanes"),
    ],
)
def test_what_a_view_cannot_show_is_said(view: str, out: str, said: str, run: Run) -> None:
    status, _, err = run("func.func @f() {\n  func.return\n}", "--view", view, "-o", out)
    assert (status, err) == (2, f"{said}\n")
    assert not Path(out).exists()


EDGES = ROOT / "tests" / "checker" / "edges"


@pytest.mark.parametrize(("block", "status"), [(None, DRAWN), (1, DRAWN), (2, VIOLATED)])
def test_the_block_that_is_drawn_can_be_chosen(block: int | None, status: int, run: Run) -> None:
    """Blocks 0 and 1 fill no slot twice; block 2 waits for one that nobody gives back."""
    place = [] if block is None else ["--arg", f"ctaid.x={block}"]
    done, said, err = run(EDGES / "ctaid_bound.mlir", "-o", "t.svg", *place)
    assert (done, err) == (status, "")
    assert ("in @k(ctaid.x = 2)" in said) == (status == VIOLATED)


@pytest.mark.parametrize("extension", ["svg", "html", "json"])
@pytest.mark.parametrize(
    ("exhibit", "kind"),
    [("missing-release", "deadlock"), ("release-before-load", "race"), ("nothing-waited", "race")],
)
def test_bad_program_is_drawn_with_its_mistake(extension: str, exhibit: str, kind: str, run: Run) -> None:
    status, said, err = run(EXAMPLES / "zoo" / f"{exhibit}.bad.mlir", "-o", f"t.{extension}")
    assert (status, err) == (VIOLATED, "")
    assert f": {kind}: " in said
    assert "witness, in @" in said
    text = Path(f"t.{extension}").read_text()
    assert f"{kind}: " in text
    if extension == "json":
        assert read_trace(json.loads(text)).problems == []


def test_trip_count_is_what_bounds_loops(run: Run) -> None:
    cycles = []
    for option in (["--trip-count", "2"], ["--arg", "n=2"], ["--trip-count", "9", "--arg", "n=2"], []):
        _, said, _ = run(EXAMPLES / "gemm_loop.mlir", "-o", "t.svg", *option)
        cycles.append(said.partition(" cycles")[0])
    assert cycles[0] == cycles[1] == cycles[2] != cycles[3]


STEPS_OF_64 = """
func.func @f(%src: memref<?xf32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c64 {
    %x = memref.load %src[%i] : memref<?xf32>
  }
  scf.for %i = %c0 to %m step %c1 {
    %x = memref.load %src[%i] : memref<?xf32>
  }
  func.return
}"""


@pytest.mark.parametrize(
    ("given", "trip_count", "numbers"),
    [
        ([], 8, {"n": 512, "m": 8}),
        ([], 1, {"n": 1, "m": 1}),
        ([], 0, {"n": 0, "m": 0}),
        (["n=64"], 8, {"n": 64, "m": 8}),
        (["m=3"], 8, {"n": 512, "m": 3}),
    ],
)
def test_a_loop_that_goes_on_by_more_turns_several_times(
    given: list[str], trip_count: int, numbers: dict[str, int]
) -> None:
    """Whole steps, and only where nobody has said a number."""
    _, body = find_function(parse(STEPS_OF_64), "f")
    assert run_values(body, given, trip_count) == numbers


def test_only_public_function_is_chosen(run: Run) -> None:
    status, said, _ = run(EXAMPLES / "zoo" / "token-not-carried.good.mlir", "-o", "t.svg", "--trip-count", "0")
    assert status == DRAWN
    status, _, err = run(EXAMPLES / "cp_async_ring.mlir", "-o", "t.svg")
    assert status == INPUT
    assert "say which function with --function; there are: @scale, @double_buffered" in err
    status, said, _ = run(EXAMPLES / "cp_async_ring.mlir", "-o", "t.svg", "--function", "@scale")
    assert "@scale" in said


def test_one_execution_that_does_not_speak_for_all_says_so(run: Run) -> None:
    """The mistake of this program takes another interleaving than the one that is drawn."""
    status, said, _ = run(EXAMPLES / "zoo" / "phase-skew.bad.mlir", "-o", "t.svg")
    assert status == DRAWN
    assert "another interleaving may differ, and go wrong: tileas check tries them" in said


def test_branch_on_data_is_run_with_data(run: Run) -> None:
    text = """
func.func @f(%x: memref<4xi1>) {
  %c0 = arith.constant 0 : index
  %b = memref.load %x[%c0] : memref<4xi1>
  scf.if %b {
  }
  func.return
}"""
    assert run(text, "-o", "t.svg")[0] == DRAWN
    assert run(text, "-o", "t.svg", "--arg", "x=true")[0] == DRAWN


def test_queue_program(run: Run) -> None:
    assert run(programs.QUEUE.replace("IN_FLIGHT", "0"), "-o", "t.html")[0] == DRAWN


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "t.png"], "error: -o t.png: the file must be called something.svg, something.html or something.json\n"),
        (["-o", "svg"], "error: -o svg: the file must be called something.svg, something.html or something.json\n"),
        (["-o", "missing/t.svg"], "missing/t.svg: error: there is no folder 'missing'; mkdir -p makes it\n"),
        (["-o", "t.svg", "--width", "10"], "error: --width 10: at least 300 pixels are needed\n"),
        (["-o", "t.svg", "--trip-count", "-1"], "error: --trip-count -1: a loop runs 0 times or more\n"),
        (["-o", "t.svg", "--arg", "n"], "error: --arg n: write --arg NAME=VALUE\n"),
        (["-o", "t.svg", "--function", "g"], "there is no function @g with a body; there are: @gemm\n"),
        (["-o", "t.svg", "--arg", "m=1"], "there is no argument 'm'; there are: a, b, c, n\n"),
        (["-o", "t.svg", "--target", "sm_1"], "no cycles are known of the target 'sm_1'"),
    ],
)
def test_wrong_options(options: list[str], message: str, run: Run) -> None:
    status, out, err = run(EXAMPLES / "gemm_loop.mlir", *options)
    assert (status, out) == (INPUT, "")
    assert message in err
    assert "Traceback" not in err


def test_wrong_programs(run: Run) -> None:
    status, _, err = run("func.func @f(", "-o", "t.svg")
    assert status == INPUT
    assert err.startswith("p.mlir:1:")
    status, _, err = run("func.func private @f()", "-o", "t.svg")
    assert status == INPUT
    assert err == "p.mlir: error: there is no function with a body\n"
    assert not Path("t.svg").exists()
    status, _, err = run(Path("nowhere.mlir"), "-o", "t.svg")
    assert (status, err) == (INPUT, "nowhere.mlir: error: no such file or directory\n")


def test_output_is_required(run: Run) -> None:
    status, out, err = run(EXAMPLES / "gemm_loop.mlir")
    assert (status, out) == (INPUT, "")
    assert err == "error: say what to write: -o something.svg, something.html or something.json\n"
