"""`tileas check`: exit statuses, the report in both forms, and one clear message for each thing that can be wrong."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.checker.test_handshake import READ, RELEASE, handshake
from tests.support.ir import ROOT, parse
from tests.tools import programs
from tests.tools.conftest import Run
from tileas_xdsl.machine.core.violations import ViolationKind
from tileas_xdsl.machine.running import run
from tileas_xdsl.tools.check import parse_trip_counts
from tileas_xdsl.tools.errors import InputError

SAFE, VIOLATION, INPUT, UNDECIDED = 0, 1, 2, 3
RACE = ROOT / "examples" / "double_buffer_race.mlir"


@pytest.fixture
def check(tileas: Run) -> Run:
    """`check(text or path, *options)`: status, standard output, standard error; a text is called `p.mlir`."""
    return partial(tileas, "check")


# Verdicts -------------------------------------------------------------------------------------------------------------

VERDICTS: dict[str, tuple[str, int, str]] = {
    "queue": (programs.queue(0), SAFE, "safe for trip counts 0..8"),
    "queue, one too many in flight": (programs.queue(1), VIOLATION, "unsafe: race"),
    "tasks": (programs.tasks(awaited=True), SAFE, "safe for every trip count"),
    "tasks, not awaited": (programs.tasks(awaited=False), VIOLATION, "unsafe: race"),
    "marks": (programs.marks(0), SAFE, "safe for every trip count"),
    "marks, one outstanding": (programs.marks(1), VIOLATION, "unsafe: race"),
    "mbarrier": (programs.barrier(), SAFE, "safe for every trip count"),
    "mbarrier, not fenced": (programs.barrier(fenced=False), VIOLATION, "unsafe: missing-fence"),
    "pipeline": (handshake(2, f"{READ}\n{RELEASE}"), SAFE, "safe for every trip count"),
    "pipeline, released too early": (handshake(2, f"{RELEASE}\n{READ}"), VIOLATION, "unsafe: race"),
    "call of the unknown": (programs.CALL, UNDECIDED, "undecided"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_status_and_the_last_line_are_the_verdict(name: str, check: Run) -> None:
    text, status, line = VERDICTS[name]
    found, out, err = check(text)
    said, _, _scope = out.splitlines()[-1].partition("; assumed: ")
    assert (found, said, err) == (status, line, "")


@pytest.mark.parametrize("expected", ["c1", "bytes"])
def test_bytes_that_do_not_match_the_expectation_are_found(expected: str, check: Run) -> None:
    status, out, _ = check(programs.barrier(expected=expected))
    assert status == (SAFE if expected == "bytes" else VIOLATION), out


def test_undecided_says_why_and_which_op(check: Run) -> None:
    _, out, _ = check(programs.CALL)
    assert out.splitlines()[0] == (
        "undecided: p.mlir:11:3: 'func.call' op may touch 'dst', which asynchronous work is still using"
    )


def test_examples_from_another_process() -> None:
    results = [
        subprocess.run(
            [sys.executable, "-m", "tileas_xdsl.tools.main", "check", *arguments],
            input=(ROOT / "examples" / "double_buffer.mlir").read_text(),
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        for arguments in (["-"], ["examples/double_buffer_race.mlir"], ["no-such-file.mlir"])
    ]
    assert [result.returncode for result in results] == [SAFE, VIOLATION, INPUT]
    assert "over-wait: 'async_queue.wait' can go: nothing relies on it" in results[0].stdout
    assert "\n\nsafe for every trip count; assumed: " in results[0].stdout
    assert results[2].stderr == "no-such-file.mlir: error: no such file or directory\n"
    assert "Traceback" not in "".join(result.stderr for result in results)


def test_a_bounded_verdict_says_why_it_is_not_for_every_trip_count(check: Run) -> None:
    """The arrays of this program have eight rows; the proof asks for an execution with more."""
    status, out, _ = check(programs.queue(0))
    assert status == SAFE
    reason, verdict = out.split("\n\n")[-2:]
    assert reason == (
        "not for every trip count: @queue: trip count 12 cannot be executed: p.mlir:9:14: error: 'memref.load' op "
        "reaches outside 'src' in iteration 8: index 8 of dimension 0, which has 8; run it with matching sizes, or "
        "fix the index"
    )
    assert (
        verdict
        == "safe for trip counts 0..8; assumed: no two of src, dst overlap; blocks do not race with each other\n"
    )


def test_a_place_in_front_of_an_array_is_a_mistake_whatever_its_size(check: Run) -> None:
    """The same when it is run on numbers."""
    text = """
    func.func @f(%x: memref<?xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %k = %c0 to %n step %c1 {
        %before = arith.subi %k, %c1 : index
        %v = memref.load %x[%before] : memref<?xf32>
      }
      func.return
    }"""
    role = "p.mlir:7:14: note: 'memref.load' reaches outside 'x' in iteration 0: index -1 of dimension 0, which has "
    status, out, _ = check(text)
    assert status == VIOLATION
    assert role in out
    assert "missing: no size has that place: fix the index\n" in out
    assert out.endswith("unsafe: malformed\n")
    (violation,) = run(parse(text), "f", {"x": np.zeros(4, np.float32), "n": 1}).violations
    assert violation.kind is ViolationKind.MALFORMED


# The report -----------------------------------------------------------------------------------------------------------


def test_a_race_is_shown_with_both_lines_what_is_missing_and_a_witness(check: Run) -> None:
    _, out, _ = check(programs.queue(1))
    assert (
        out.split("\n\n")[0]
        == """\
p.mlir:8:7: numbers that differ from run to run: \
race: read after write on shared 'tile' with nothing that orders the two [T005]
p.mlir:8:7: note: 'async_queue.scope' asynchronously writes shared 'tile' (main, iteration 0)
    8 |       async_queue.scope {
      |       ^~~~~~~~~~~~~~~~~
p.mlir:14:10: note: 'memref.load' reads shared 'tile' (main, iteration 0)
   14 |     %y = memref.load %tile[%c0] : memref<1xf32, 3>
      |          ^~~~~~~~~~~
  missing: a wait that completes 'async_queue.scope' before 'memref.load' is reached
  edit: with it the program is safe for trip counts 0..8
   13 -     async_queue.wait 0, 1
      +     async_queue.wait 0, 0
  witness, in @queue(n = 1):
   1. main [0]  8:7    async_queue.scope: issues an asynchronous scope
   2. main [0]  7:5    async_queue.commit: commits group 1 of queue 0
   3. main [0]  13:5   async_queue.wait: waits for no group of queue 0
   => main [0]  8:7    async_queue.scope: asynchronously writes shared 'tile'
   => main [0]  14:10  memref.load: reads shared 'tile'
  the same mistake also shows as: race at p.mlir:8:7 (n = 2)"""
    )


def test_all_shows_every_violation_in_full(check: Run) -> None:
    """By default each mistake is shown once, and the verdict is the same."""
    (_, short, _), (_, full, _) = check(programs.queue(1)), check(programs.queue(1), "--all")
    assert short.splitlines()[-1] == full.splitlines()[-1] == "unsafe: race"
    races = re.compile(r"^p\.mlir:\S+ numbers that differ from run to run: race: ", re.M)
    assert [len(races.findall(out)) for out in (short, full)] == [1, 2]
    assert "the same mistake" not in full


def test_a_witness_leaves_out_what_explains_nothing(check: Run) -> None:
    """Ten slots: nine other stages come and go before the slot is written again; they are counted, not listed."""
    _, out, _ = check(handshake(10, f"{RELEASE}\n{READ}"), "--trip-counts", "11")
    witness = out[out.index("witness") : out.index("unsafe")].splitlines()[1:]
    steps = [line for line in witness if re.match(r" *\d+\. ", line)]
    assert len(steps) <= 8
    assert any(line.strip().startswith("... ") and "steps of agent 0" in line for line in witness)
    assert not any("[1]" in line or "full[5]" in line for line in steps)
    assert [line.split()[0] for line in witness if line][-2:] == ["=>", "=>"]


def test_a_deadlock_names_who_waits_for_what_and_what_is_lacking(check: Run) -> None:
    status, out, _ = check(
        handshake(2, READ + "\n%cond = arith.cmpi ne, %i, %c1 : index\nscf.if %cond {\n" + RELEASE + "\n}")
    )
    assert status == VIOLATION
    assert re.search(
        r"^p\.mlir:\d+:\d+: note: '\S+producer_acquire' waits for phase 0 \S+ 0\) of empty\[1\]", out, re.M
    )
    assert "missing: 2 more arrivals at empty[1] of pipeline 'p' in phase 0" in out
    assert out.splitlines()[-1] == "unsafe: deadlock"


def test_json_is_the_report_as_data(check: Run) -> None:
    status, out, _ = check(programs.queue(1), "--format", "json")
    report: dict[str, Any] = json.loads(out)
    assert status == VIOLATION
    assert {key: report[key] for key in ("file", "verdict", "line", "functions", "undecided", "executions")} == {
        "file": "p.mlir",
        "verdict": "violation",
        "line": "unsafe: race",
        "functions": ["queue"],
        "undecided": [],
        "executions": 9,
    }
    assert report["trip_counts"] == list(range(9))
    first = report["findings"][0]
    keys = ["arguments", "cause", "effect", "function", "kind", "message", "missing", "parties", "symptom", "witness"]
    assert sorted(first) == keys
    assert (first["kind"], first["function"], first["arguments"]) == ("race", "queue", {"n": 1})
    assert (first["effect"], first["symptom"]) == ("numbers that differ from run to run", None)
    assert first["parties"][1] == {
        "place": "p.mlir:14:10",
        "op": "memref.load",
        "agent": "main",
        "iteration": [0],
        "role": "reads shared 'tile'",
    }
    assert first["witness"][0] == {
        "agent": "main",
        "iteration": [0],
        "place": "p.mlir:8:7",
        "op": "async_queue.scope",
        "kind": "issue",
        "text": "issues an asynchronous scope",
    }
    elided = [step for finding in report["findings"] for step in finding["witness"] if "elided" in step]
    assert all(isinstance(count, int) for step in elided for count in step["elided"].values())


def test_a_safe_program_has_json_as_well(check: Run) -> None:
    status, out, _ = check(programs.queue(0), "--format", "json")
    assert (status, json.loads(out)["verdict"], json.loads(out)["findings"]) == (SAFE, "safe", [])


def test_colours_are_for_terminals_only(check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = check(programs.queue(1))[1]
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    coloured = check(programs.queue(1))[1]
    assert "\x1b[" not in plain
    assert "\x1b[" in coloured
    stripped = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()]
    report = plain.splitlines()
    assert stripped[: len(report)] == report


def test_a_terminal_names_the_commands_that_tell_more(check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.findall(r"\[(T\d+)\]", check(programs.queue(1))[1])[0]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", check(programs.queue(1))[1]).splitlines()
    assert shown[-2] == f"  more: tileas explain-error {code}"
    assert re.fullmatch(r"  more: tileas timeline \S+ --view slots -o slots.html", shown[-1])
    assert "more:" not in check(programs.queue(0))[1]


STEPPED = """
func.func @stepped(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %step: index) {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %step {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %y[%i] : memref<?xf32>
  }
  func.return
}
"""


def test_a_terminal_shows_what_a_verdict_rests_on_line_by_line(check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe gets the same in one line, for scripts that read the last one."""
    options = ("--trip-counts", "0..2")
    plain = check(STEPPED, *options)[1].splitlines()[-1]
    assert plain.startswith("safe for trip counts 0..2; assumed: ")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", check(STEPPED, *options)[1]).splitlines()
    last = shown[shown.index("safe for trip counts 0..2") :]
    assert last == [
        "safe for trip counts 0..2",
        "  assumed: indices stay inside x, y",
        "  assumed: no two of x, y overlap",
        "  assumed: blocks do not race with each other",
        "  left out: calls in which a loop has no positive step",
    ]


# Options --------------------------------------------------------------------------------------------------------------

TWO = programs.queue(0) + programs.queue(1).replace("@queue", "@other")
PRIVATE = programs.queue(0) + programs.queue(1).replace("@queue", "private @other")


def test_without_function_every_public_one_is_checked(check: Run) -> None:
    assert check(TWO)[0] == VIOLATION
    assert check(PRIVATE)[0] == SAFE
    assert check(TWO, "--function", "queue")[0] == SAFE
    assert check(TWO, "--function", "@other")[0] == VIOLATION
    assert json.loads(check(TWO, "--format", "json")[1])["functions"] == ["queue", "other"]


@pytest.mark.parametrize(
    ("text", "counts"), [("0..8", list(range(9))), ("3", [3]), ("0..2,7", [0, 1, 2, 7]), ("5,1,1..2", [1, 2, 5])]
)
def test_trip_counts_are_numbers_and_ranges(text: str, counts: list[int]) -> None:
    assert parse_trip_counts(text) == counts


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "'' is neither a number from 0 up nor a range, as 0..8"),
        ("-1", "'-1' is neither a number"),
        ("1..", "'1..' is neither a number"),
        ("two", "'two' is neither a number"),
        ("8..0", "the range 8..0 is empty; write 0..8"),
        ("0..256", "at most 256 trip counts can be tried"),
        ("0..200,300..400", "at most 256 trip counts can be tried"),
        ("0..1000000000000", "at most 256 trip counts can be tried"),
    ],
)
def test_other_trip_counts_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=re.escape(complaint)):
        parse_trip_counts(text)


def test_functions_of_one_name_in_several_modules_are_refused(check: Run) -> None:
    """Checking only the last of them would speak for all."""
    racy, right = (f"module @{name} {{\n{programs.queue(count)}\n}}\n" for name, count in (("a", 1), ("b", 0)))
    assert check(racy)[0] == VIOLATION
    status, out, err = check(racy + right)
    assert (status, out) == (INPUT, "")
    assert err == "p.mlir: error: 2 modules have a function @queue: rename all but one, or take them apart\n"


def test_trip_counts_bound_what_is_tried(check: Run) -> None:
    assert check(programs.queue(1), "--trip-counts", "0")[:2] == (SAFE, "safe for trip counts 0\n")
    assert check(programs.queue(1), "--trip-counts", "0,1")[0] == VIOLATION


@pytest.mark.parametrize("name", ["n", "0", "%n"])
def test_an_argument_can_be_fixed_by_name_or_number(name: str, check: Run) -> None:
    status, out, _ = check(programs.queue(1), "--arg", f"{name}=0", "--format", "json")
    assert (status, json.loads(out)["executions"]) == (SAFE, 1)


def test_arguments_whose_names_differ_only_in_a_number_are_told_apart(check: Run) -> None:
    loops = "".join(f"  scf.for %i = %c0 to %n_{k} step %c1 {{\n  }}\n" for k in range(2))
    text = (
        "func.func @f(%n_0: index, %n_1: index, %a_0: memref<1xf32>, %a_1: memref<1xf32>) {\n"
        "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n" + loops + "  func.return\n}\n"
    )
    _, out, _ = check(text)
    assert out == "safe for every trip count; assumed: n#0, n#1 >= 0\n"
    assert check(text, "--arg", "n#1=4", "--may-alias", "a#0,a#1") == (
        SAFE,
        "safe for every n#0, with n#1 = 4; assumed: n#0 >= 0\n",
        "",
    )


def test_too_many_combinations_are_refused_with_the_way_out(check: Run) -> None:
    loops = "".join(f"  scf.for %j{k} = %c0 to %n{k} step %c1 {{\n  }}\n" for k in range(3))
    text = (
        "func.func @f(%n0: index, %n1: index, %n2: index) {\n"
        "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n" + loops + "  func.return\n}\n"
    )
    status, out, _ = check(text)
    assert (status, out.splitlines()[-1]) == (SAFE, "safe for every trip count; assumed: n0, n1, n2 >= 0")
    assert json.loads(check(text, "--format", "json")[1])["trip_counts"] == [0, 1, 2, 3]
    as_often_as_the_less = text.replace("  scf.for %j2", "  %p = arith.minui %n1, %n2 : index\n  scf.for %j2")
    as_often_as_the_less = as_often_as_the_less.replace("%c0 to %n2", "%c0 to %p")
    assert json.loads(check(as_often_as_the_less, "--format", "json")[1])["trip_counts"] == [0, 1, 2, 3, 4, 5]
    status, _, err = check(text, "--trip-counts", "0..8")
    assert status == INPUT
    assert "3 arguments that bound loops (n0, n1, n2): 729 combinations" in err
    assert "fix some with --arg n2=4" in err
    assert check(text, "--arg", "n2=4")[0] == SAFE


def test_capture_at_issue_makes_an_early_write_of_the_source_harmless(check: Run) -> None:
    text = """
func.func @early(%src: memref<1xi32>, %dst: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  async_queue.commit 0 {
    async_queue.scope {
      %x = memref.load %src[%c0] : memref<1xi32>
      memref.store %x, %dst[%c0] : memref<1xi32>
    }
  }
  memref.store %one, %src[%c0] : memref<1xi32>
  async_queue.wait 0, 0
  func.return
}
"""
    assert check(text)[0] == VIOLATION
    assert check(text, "--capture", "completion")[0] == VIOLATION
    assert check(text, "--capture", "issue")[0] == SAFE


ALIASES = """
func.func @copy(%A, %B) {
  %c0 = arith.constant 0 : index
  async_queue.commit 0 {
    async_queue.scope {
      %x = memref.load %src[%c0] : memref<8xf32>
      memref.store %x, %out[%c0] : memref<8xf32>
    }
  }
  %y = memref.load %other[%c0] : memref<8xf32>
  async_queue.wait 0, 0
  func.return
}
"""


@pytest.mark.parametrize(
    "order", ["%out: memref<8xf32>, %other: memref<8xf32>", "%other: memref<8xf32>, %out: memref<8xf32>"]
)
@pytest.mark.parametrize("pair", ["out,other", "other,out", "%out, %other"])
def test_arrays_are_apart_unless_they_may_alias(order: str, pair: str, check: Run) -> None:
    text = ALIASES.replace("%A, %B", f"%src: memref<8xf32>, {order}")
    assert check(text)[0] == SAFE
    status, out, _ = check(text, "--may-alias", pair)
    assert status == VIOLATION, out
    assert check(text, "--may-alias", "src,other")[0] == SAFE


def test_aliases_reach_further_than_one_pair_and_over_shapes(check: Run) -> None:
    arguments = "%src: memref<8xf32>, %out: memref<8xf32>, %between: memref<2x2xi8>, %other: memref<8xf32>"
    text = ALIASES.replace("%A, %B", arguments)
    assert check(text, "--may-alias", "out,between")[0] == SAFE
    assert check(text, "--may-alias", "out,between", "--may-alias", "other,between")[0] == VIOLATION


UNKNOWN = """
func.func @f(%x: memref<1xf32>) {
  %y = "my.op"() : () -> f32
  func.return
}
"""


def test_an_op_can_be_assumed_pure(check: Run) -> None:
    status, _, err = check(UNKNOWN)
    assert (status, err.splitlines()[0]) == (
        INPUT,
        "p.mlir:3:8: error: my.op: there is no such operation in any dialect that is installed here",
    )
    assert check(UNKNOWN, "--assume-pure", "my.op")[0] == SAFE
    status, _, err = check(UNKNOWN, "--assume-pure", "your.op")
    assert status == INPUT
    assert err.startswith("p.mlir:3:8: error: 'my.op' op has no meaning here")


SYNCHRONISING = {
    "by its name": '"my.team_barrier"() : () -> ()',
    "by a token": '%t = "my.op"() : () -> !async.token',
    "by its meaning": "rocdl.s.barrier.leave id = 1",
}


@pytest.mark.parametrize("which", SYNCHRONISING)
def test_what_synchronises_is_never_assumed_pure(which: str, check: Run) -> None:
    op = SYNCHRONISING[which]
    name = op.partition('"')[2].partition('"')[0] or op.split()[0]
    text = f"func.func @f() {{\n  {op}\n  func.return\n}}"
    status, _, err = check(text, "--assume-pure", name)
    assert (status, err) == (
        INPUT,
        f"p.mlir: error: '{name}' synchronises, and cannot be assumed to only compute from its operands\n",
    )
    status, _, err = check(text, "--assume-pure", "another.op")
    assert status == INPUT
    assert "assume-pure" not in err


def test_a_value_that_a_slot_does_not_hold(check: Run) -> None:
    text = """
func.func @f() {
  %c0 = arith.constant 0 : index
  %p, %t = "nv_tileas.async.pipeline.produce_one_async"(%c0) ({}) {stage = 0 : i32, pipeline_id = 1 : i32}
      : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
  %a, %u = "nv_tileas.async.pipeline.consume_one"(%t) ({}) {stage = 1 : i32, pipeline_id = 0 : i32}
      : (!nv_tileas.token) -> (tensor<4xf16>, !nv_tileas.token)
  func.return
}
"""
    status, _, err = check(text)
    message = "'nv_tileas.async.pipeline.consume_one' op takes value 0 of a slot of pipeline 'p', which holds 0"
    assert (status, err) == (INPUT, f"p.mlir:6:12: error: {message}\n")


# What can be wrong ----------------------------------------------------------------------------------------------------

BAD_OPTIONS = {
    "no equals sign": (["--arg", "n"], "error: --arg n: write --arg NAME=VALUE"),
    "no value": (["--arg", "n="], "error: --arg n=: write --arg NAME=VALUE"),
    "no integer": (["--arg", "n=1.5"], "error: --arg n=1.5: checking takes integers, as n=8"),
    "more than 64 bits": (
        ["--arg", "n=0x1ffffffffffffffff"],
        "error: --arg n=0x1ffffffffffffffff: an argument has 64 bits at most",
    ),
    "twice": (["--arg", "n=1", "--arg", "n=2"], "error: --arg n is given twice"),
    "unknown argument": (["--arg", "m=1"], "p.mlir: error: there is no argument 'm'; there are: n, src, dst"),
    "number out of range": (["--arg", "7=1"], "p.mlir: error: there is no argument '7'; there are: n, src, dst"),
    "unknown function": (["--function", "g"], "p.mlir: error: there is no function @g with a body; there are: @queue"),
    "one alias": (["--may-alias", "src"], "error: --may-alias src: name two arguments, as A,B"),
    "alias of itself": (["--may-alias", "src,src"], "error: --may-alias src,src: name two arguments, as A,B"),
    "unknown alias": (["--may-alias", "src,x"], "p.mlir: error: there is no argument 'x'; there are: n, src, dst"),
    "alias of a number": (
        ["--may-alias", "src,n"],
        "p.mlir: error: argument 'n' : index names no memory that another one could name, too",
    ),
    "trip counts": (
        ["--trip-counts", "x"],
        "error: --trip-counts x: 'x' is neither a number from 0 up nor a range, as 0..8",
    ),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_each_wrong_option_gets_one_message_and_status_2(name: str, check: Run) -> None:
    options, message = BAD_OPTIONS[name]
    assert check(programs.queue(0), *options) == (INPUT, "", f"{message}\n")


BAD_PROGRAMS = {
    "does not parse": ("func.func @f( {", "p.mlir:1:15: error: "),
    "does not verify": ("async_queue.wait 0, -1\n", "p.mlir:1:1: error: 'async_queue.wait' op "),
    "nothing to check": ("func.func private @f()\n", "p.mlir: error: there is no public function with a body to check"),
    "an op of which nobody knows what it does": (
        'func.func @f() {\n  "test.op"() : () -> ()\n  func.return\n}\n',
        "p.mlir:2:3: error: 'test.op' op has no meaning here",
    ),
}


@pytest.mark.parametrize("name", BAD_PROGRAMS)
def test_each_unreadable_or_unsupported_program_gets_a_place_and_status_2(name: str, check: Run) -> None:
    text, message = BAD_PROGRAMS[name]
    status, out, err = check(text)
    assert (status, out) == (INPUT, "")
    assert err.startswith(message), err
    assert "defect of tileas" not in err


def test_checking_leaves_the_module_as_it_was() -> None:
    """The same module checked twice gives the same report, word for word."""
    from tests.support.ir import print_custom
    from tileas_xdsl.checker.verdict.checking import check as check_module
    from tileas_xdsl.tools.inputs import read_module

    module = read_module(str(RACE))
    before = print_custom(module)
    first = str(check_module(module))
    assert print_custom(module) == before
    assert str(check_module(module)) == first


def test_relaxed_proxy_makes_a_warning_of_a_read_without_fence(check: Run) -> None:
    text = (ROOT / "tests/checker/edges/war_no_proxy_fence.mlir").read_text()
    assert check(text)[0] == VIOLATION
    status, out, _ = check(text, "--relaxed-proxy")
    assert status == SAFE
    assert "generic read, then asynchronous write of shared 'ring'" in out
    report = json.loads(check(text, "--relaxed-proxy", "--format", "json")[1])
    assert report["every_trip_count"]
    assert [finding["kind"] for finding in report["tolerated"]] == ["missing-fence"]


def test_relaxed_proxy_forgives_no_write_without_fence(check: Run) -> None:
    text = (ROOT / "examples/zoo/cp-async-then-tma-store.bad.mlir").read_text()
    assert check(text, "--relaxed-proxy")[0] == VIOLATION


PROLOGUE = """{}func.func @k(%K: index, %x: memref<?xf32>, %s: memref<64xf32, 3>) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %copy = nvgpu.device_async_copy %x[%c0], %s[%c0], 4 : memref<?xf32> to memref<64xf32, 3>
  %token = nvgpu.device_async_create_group %copy
  scf.for %k = %c0 to %K step %c64 {{
    nvgpu.device_async_wait %token
  }}
  %v = memref.load %s[%c0] : memref<64xf32, 3>
  func.return
}}
"""


def test_preconditions_leave_out_calls(check: Run) -> None:
    assert check(PROLOGUE.format(""))[0] == VIOLATION
    for text, options in (
        (PROLOGUE.format(""), ["--assume", "K >= 1", "--assume", "K % 64 == 0"]),
        (PROLOGUE.format("// tileas: assume K >= 1 and K % 64 == 0\n"), []),
        (PROLOGUE.format("// tileas: assume K >= 1\n"), ["--assume", "K % 64 == 0"]),
    ):
        status, out, _ = check(text, *options)
        assert status == SAFE
        assert out.startswith("safe for every trip count; assumed: ")
        assert {"K >= 1", "K % 64 == 0"} <= set(re.split("[:;,] ", out.strip()))


def test_a_precondition_that_is_none_is_one_line(check: Run) -> None:
    status, out, err = check(PROLOGUE.format(""), "--assume", "K is even")
    assert (status, out) == (2, "")
    assert err.startswith("p.mlir: error: the precondition 'K is even' is not read; write one as K >= 1")
    assert len(err.splitlines()) == 1


def test_bytes_of_the_input_cannot_steer_the_terminal(check: Run) -> None:
    """An escape byte where it does not parse, in a comment that is quoted, and in the name of an op."""
    broken = check("func.func @f() {\n  %c = arith.constant 0 \x1b[2J: i32\n  func.return\n}\n")
    named = check('func.func @f() {\n  "un\\1Bknown"() : () -> ()\n  func.return\n}\n')
    comment = "\n".join(f"{line} // \x1b[31m\x07\x9b" for line in RACE.read_text().splitlines())
    raced = check(comment)
    assert raced[0] == VIOLATION
    for _, out, err in (broken, named, raced):
        assert set(map(ord, out + err)).isdisjoint({*range(32), 0x7F, *range(0x80, 0xA0)} - {ord("\n"), ord("\t")})
    assert "␛[31m␇" in raced[1]
    assert broken[2].splitlines()[1:] == ["  %c = arith.constant 0 ␛[2J: i32", f"{'':24}^"]
