"""
`--timeout` and `--steps`: a command that uses the machine ends with what is known by then, however hostile its few
lines are.

Each command runs in a process of its own that may take 20 seconds of processor time, and not more.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from time import process_time

import pytest

from tests.support.ir import parse
from tests.tools.conftest import Run
from tileas_xdsl.checker.verdict import checking
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core import deadline
from tileas_xdsl.machine.core.deadline import NO_DEADLINE, Deadline
from tileas_xdsl.machine.running import run

MOST_SECONDS = 20
"""Of processor time, for a command with a limit of `TIMEOUT`."""
TIMEOUT = "1"
OUT_OF_TIME = 3

SOMEWHERE = r"p\.mlir:(4:3: 'scf\.while'|5:5: 'scf\.condition')"
"""Where `NO_PROGRESS` is found when the time is up."""
NO_PROGRESS = """
func.func @f() {
  %true = arith.constant true
  "scf.while"() ({
    "scf.condition"(%true) : (i1) -> ()
  }, {
    "scf.yield"() : () -> ()
  }) : () -> ()
  func.return
}
"""

NEST = """
func.func @f(%src: memref<?xf32>, %dst: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = arith.constant 4096 : index
  %ring = memref.alloc() : memref<1xf32, 3>
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      async_queue.commit 0 {
        async_queue.scope {
          %x = memref.load %src[%j] : memref<?xf32>
          memref.store %x, %ring[%c0] : memref<1xf32, 3>
        }
      }
      async_queue.wait 0, 0
      %y = memref.load %ring[%c0] : memref<1xf32, 3>
      memref.store %y, %dst[%j] : memref<?xf32>
      %product = arith.muli %i, %j : index
      %at = memref.load %src[%product] : memref<?xf32>
    }
  }
  func.return
}
"""

TASKS = """
func.func @f() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %million = arith.constant 1000000 : index
  %billion = arith.constant 1000000000 : index
  scf.for %j = %c0 to %million step %c1 {
    scf.for %i = %c0 to %billion step %c1 {
      %done = async.execute {
        async.yield
      }
      async.await %done : !async.token
      %product = arith.muli %i, %j : index
    }
  }
  func.return
}
"""


def agents(number: int) -> str:
    """Agents that do nothing."""
    return f"""
func.func @f() {{
  nv_tileas.async.pipeline.agent_switch attributes {{num_agents_per_group = array<i32: {number}>, isolated = false}} {{
    %c0 = arith.constant 0 : index
  }} : () -> ()
  func.return
}}
"""


HOSTILE = {
    "a loop that makes no progress": NO_PROGRESS,
    "a nest of constant loops": NEST,
    "a task for each of many turns": TASKS,
    "30,000 agents": agents(30_000),
    "a billion agents": agents(1_000_000_000),
}


def within_the_limit(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command `tileas` with `arguments` on `text`; the kernel ends it after `MOST_SECONDS` of processor time."""
    (folder / "p.mlir").write_text(text)
    command = [sys.executable, "-m", "tileas_xdsl.tools.main", *arguments]
    limited = f'ulimit -t {MOST_SECONDS}; exec "$@"'
    return subprocess.run(
        ["sh", "-c", limited, "sh", *command], cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_check_ends_with_a_word(name: str, tmp_path: Path) -> None:
    done = within_the_limit(tmp_path, HOSTILE[name], "check", "p.mlir", "--timeout", TIMEOUT)
    assert done.returncode == OUT_OF_TIME, done
    assert "is still running after 1 s of processor time; give it more by --timeout" in done.stdout
    assert done.stdout.splitlines()[-1] == "undecided"


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "a nest of constant loops"])
def test_a_run_ends_where_it_stands(name: str, tmp_path: Path) -> None:
    done = within_the_limit(tmp_path, HOSTILE[name], "run", "p.mlir", "--timeout", TIMEOUT)
    assert done.returncode == OUT_OF_TIME, done
    lines = done.stdout.splitlines()
    assert lines[0].startswith("stands: p.mlir:")
    assert lines[-1] == "stopped after 1 s of processor time"
    assert len(done.stdout) < 4_000


def test_a_timeline_that_takes_too_long_is_not_drawn(tmp_path: Path) -> None:
    done = within_the_limit(tmp_path, NO_PROGRESS, "timeline", "p.mlir", "-o", "x.svg", "--timeout", TIMEOUT)
    assert (done.returncode, done.stdout) == (OUT_OF_TIME, "")
    somewhere = SOMEWHERE.replace(": '", ": error: '")
    assert re.match(rf"{somewhere} op is still running after 1 s of processor time", done.stderr)
    assert not (tmp_path / "x.svg").exists()


def test_a_page_says_what_there_was_no_time_for(tmp_path: Path) -> None:
    done = within_the_limit(tmp_path, NO_PROGRESS, "explain", "p.mlir", "-o", "x.html", "--timeout", "1")
    assert done.returncode == 0, done
    assert "undecided, no timeline" in done.stdout
    assert re.search(rf"no timeline: {SOMEWHERE} op is still running after 1 s", done.stdout)


# What is known by then ------------------------------------------------------------------------------------------------

GROWING = """
func.func @f(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %far = arith.constant 10000000000 : index
  %long = arith.cmpi sge, %n, %c4 : index
  %turns = arith.select %long, %far, %n : index
  scf.for %i = %c0 to %turns step %c1 {
    %v = memref.load %x[%c0] : memref<?xf32>
  }
  func.return
}
"""
"""With n = 4 it takes for ever."""


def test_the_trip_counts_that_there_was_time_for_are_right() -> None:
    report = check(parse(GROWING), timeout=1)
    assert report.verdict_line == "safe for trip counts 0..3"
    (reason,) = report.bounded
    assert reason.startswith("@f(n = 4): ")
    assert "'scf.for' op is still running after 1 s of processor time" in reason


def test_what_was_asked_for_and_not_executed_is_undecided() -> None:
    report = check(parse(GROWING), trip_counts=[2, 4], timeout=1)
    assert report.verdict is Verdict.UNDECIDED
    assert report.verdict_line == "undecided for trip counts 2, 4"


def test_a_mistake_that_was_found_before_is_reported() -> None:
    racing = GROWING.replace(
        "  func.return",
        """  async_queue.commit 0 {
    async_queue.scope {
      %v = memref.load %x[%c1] : memref<?xf32>
      memref.store %v, %x[%c0] : memref<?xf32>
    }
  }
  func.return""",
    )
    assert check(parse(racing), timeout=1).verdict_line == "unsafe: undrained"


def test_a_proof_that_takes_too_long_is_given_up() -> None:
    """Rings of 11 and 13 slots with parities come round after 286 turns."""
    text = (Path(__file__).parent.parent / "checker" / "edges" / "coprime_4_7.mlir").read_text()
    for slots, more in ((4, 11), (7, 13)):
        text = text.replace(f"arith.constant {slots} :", f"arith.constant {more} :")
    report = check(parse(text), timeout=3)
    assert report.verdict_line == "safe for trip counts 0..28"
    (reason,) = report.bounded
    assert "the proof was stopped after 3 s of processor time, at trip count" in reason


def test_of_several_arguments_those_combinations_are_tried_that_there_is_time_for() -> None:
    text = (Path(__file__).parent.parent / "checker" / "edges" / "three_args.mlir").read_text()
    report = check(parse(text), prove=False)
    assert report.verdict_line == "safe for trip counts 0..5"
    assert report.executions == 6**3


def test_a_run_says_where_it_is() -> None:
    outcome = run(parse(NO_PROGRESS), "f", timeout=0.2)
    assert not outcome.finished
    assert outcome.out_of_time is not None
    assert outcome.out_of_time.op.name == "scf.while"


def test_the_limit_of_the_pass(tmp_path: Path) -> None:
    (tmp_path / "p.mlir").write_text(NO_PROGRESS)
    command = [sys.executable, "-m", "xdsl.tools.xdsl_opt", "p.mlir", "-p", "check-async{timeout=1.0}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode != 0
    assert "is still running after 1 s of processor time" in done.stderr


# Steps ----------------------------------------------------------------------------------------------------------------

EDGES = Path(__file__).parent.parent / "checker" / "edges"
LITTLE = ("coprime_4_7", "warps_elect_race", "gemm_persistent_arg")


def judged(name: str, steps: float) -> tuple[str, int, list[str], list[str]]:
    report = check(parse((EDGES / f"{name}.mlir").read_text()), steps=steps)
    return report.last_line, report.steps, report.bounded, report.cut_short


@pytest.mark.parametrize("name", LITTLE)
@pytest.mark.parametrize("steps", [3_000, 30_000])
def test_a_check_has_one_verdict_however_fast_the_computer_is(
    name: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processor time that runs ten thousand times as fast changes nothing, and neither does another run."""
    first = judged(name, steps)
    assert judged(name, steps) == first
    monkeypatch.setattr(deadline, "process_time", lambda: 1e4 * process_time())
    assert judged(name, steps) == first


def test_what_there_was_no_time_for_in_steps_is_said_with_the_option_that_helps() -> None:
    report = check(parse(GROWING), steps=100_000)
    assert report.verdict_line == "safe for trip counts 0..3"
    (reason,) = report.bounded
    assert "'scf.for' op is still running after 100,000 steps; give it more by --steps" in reason
    assert 100_000 <= report.steps < 110_000


def test_a_proof_that_takes_too_many_steps_says_so() -> None:
    name = "coprime_4_7"
    (reason,) = check(parse((EDGES / f"{name}.mlir").read_text()), steps=200_000).bounded
    assert "the proof was stopped after 200,000 steps" in reason
    assert reason.endswith("give it more by --steps")


def test_seconds_alone_are_no_limit_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "STEPS", 10_000)
    text = GROWING.replace("10000000000", "20000")
    assert check(parse(text), trip_counts=[4]).verdict is Verdict.UNDECIDED
    assert check(parse(text), trip_counts=[4], timeout=None).steps > 10_000
    assert check(parse(text), trip_counts=[4], steps=1_000_000).verdict is Verdict.SAFE


def test_the_command_takes_steps(tileas: Run) -> None:
    _, out, _ = tileas("check", GROWING, "--steps", "100_000", "--format", "json")
    report = json.loads(out)
    assert (report["every_trip_count"], report["steps"] < 110_000) == (False, True)


@pytest.mark.parametrize("text", ["0", "-1", "soon", "1.5"])
def test_steps_are_a_number_of_steps(text: str, tileas: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        tileas("check", GROWING, f"--steps={text}")
    assert stopped.value.code == 2
    assert f"'{text}' is no number of steps above 0; none is no limit" in capsys.readouterr().err


# The option -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["0", "-1", "soon", "nan", "inf"])
def test_a_limit_is_a_number_of_seconds(text: str, tileas: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        tileas("check", GROWING, f"--timeout={text}")
    assert stopped.value.code == 2
    assert f"'{text}' is no number of seconds above 0; none is no limit" in capsys.readouterr().err


def test_there_may_be_no_limit(tileas: Run) -> None:
    status, out, _ = tileas("check", GROWING.replace("10000000000", "1"), "--timeout", "none", "--format", "json")
    assert status == 0
    assert json.loads(out)["cut_short"] == []


def test_a_deadline_passes() -> None:
    assert Deadline.after(0).has_passed()
    assert not Deadline.after(1000).has_passed()
    assert not NO_DEADLINE.has_passed()
    assert not Deadline.after(None).has_passed()
    assert not Deadline.after(None).halfway().has_passed()
    half = Deadline.after(1000).halfway()
    assert half.seconds == 1000
    assert half.at < Deadline.after(600).at


# Ctrl-C ---------------------------------------------------------------------------------------------------------------


def test_ctrl_c_ends_a_check_with_what_is_known(
    tileas: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal comes when the loop turns for the 100th time; without it there is no limit."""
    asked = iter(range(100, -1, -1))
    passed = Deadline.has_passed

    def interrupted(self: Deadline) -> bool:
        if next(asked, 1) == 0:
            signal.raise_signal(signal.SIGINT)
        return passed(self)

    monkeypatch.setattr(Deadline, "has_passed", interrupted)
    before = signal.getsignal(signal.SIGINT)
    status, out, err = tileas("check", GROWING, "--timeout", "none")
    assert status == 130
    assert "after Ctrl-C; let it run" in out
    assert "ended by Ctrl-C: what is not said above was not checked" in err
    assert signal.getsignal(signal.SIGINT) is before
    assert not Deadline.after(1000).has_passed()


def test_the_second_ctrl_c_is_as_ever() -> None:
    with deadline.ended_by_interrupt():
        signal.raise_signal(signal.SIGINT)
        assert NO_DEADLINE.has_passed()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert not NO_DEADLINE.has_passed()
