"""`tileas opt`: as `xdsl-opt`, with places; and `tileas gui`, on a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.support.ir import ROOT
from tests.tools.conftest import Run
from tileas_xdsl.diagnostics import how_to_install
from tileas_xdsl.tools import gui
from tileas_xdsl.tools.errors import InputError

RACE = ROOT / "examples" / "double_buffer_race.mlir"
XDSL_OPT = Path(sys.executable).parent / "xdsl-opt"

WELL = """func.func @f(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  func.return %y : f32
}
"""
COMPUTED = """func.func @f(%n: index) {
  async_queue.wait 0, %n
  func.return
}
"""


@pytest.fixture
def opt(tileas: Run) -> Run:
    return partial(tileas, "opt")


# As xdsl-opt ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gemm_loop", "double_buffer", "annotated_copy", "async_tasks"])
@pytest.mark.parametrize("options", [[], ["--print-op-generic"]])
def test_it_prints_what_xdsl_opt_prints(opt: Run, name: str, options: list[str]) -> None:
    file = ROOT / "examples" / f"{name}.mlir"
    passes = ["-p", "inject-software-pipeline,canonicalize,async-simplify"]
    expected = subprocess.run([XDSL_OPT, file, *passes, *options], capture_output=True, text=True, check=True).stdout
    status, out, err = opt(file, *passes, *options)
    assert (status, err) == (0, "")
    assert out.rstrip("\n") == expected.rstrip("\n")


def test_without_passes_it_prints_what_it_read(opt: Run) -> None:
    status, out, _ = opt(WELL)
    assert status == 0
    assert opt(out)[1] == out


def test_standard_input_and_an_output_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tileas_xdsl.tools.main", "opt", "-o", str(tmp_path / "out.mlir")]
    done = subprocess.run(command, input=WELL, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == ""
    assert "arith.addf" in (tmp_path / "out.mlir").read_text()


def test_programs_of_one_file_keep_their_lines(opt: Run) -> None:
    text = f"{WELL}// -----\n{WELL}"
    status, out, _ = opt(text, "--split-input-file")
    assert status == 0
    assert out.count("// -----") == 1
    assert out.count("arith.addf") == 2
    broken = f"{WELL}// -----\n{WELL.replace('%x, %x', '%x, %z')}"
    status, out, err = opt(broken, "--split-input-file")
    assert (status, out) == (2, "")
    assert (
        err
        == "p.mlir:7:23: error: %z is used and never defined\n  %y = arith.addf %x, %z : f32\n                      ^\n"
    )


# Errors ---------------------------------------------------------------------------------------------------------------


def test_a_refusal_shows_the_line(opt: Run) -> None:
    status, out, err = opt(COMPUTED, "-p", "convert-queue-to-pipeline")
    assert (status, out) == (2, "")
    first, line, caret, help_line = err.splitlines()
    assert first.startswith("p.mlir:2:3: error: 'async_queue.wait' op ")
    assert line == "    2 |   async_queue.wait 0, %n"
    assert caret == "      |   ^~~~~~~~~~~~~~~~"
    assert help_line.startswith("  help: ")


def test_a_remark_shows_the_line_and_the_program_is_printed(opt: Run) -> None:
    status, out, err = opt(ROOT / "examples" / "double_buffer.mlir", "-p", "check-async")
    assert status == 0
    assert "func.func @double_buffer" in out
    assert "remark: 'builtin.module' op is safe" in err


def test_check_async_reports_with_lines(opt: Run, tileas: Run) -> None:
    """The same report as that of `tileas check`, which looks for an edit besides."""
    status, out, err = opt(RACE, "-p", "check-async")
    assert (status, err) == (1, "")
    assert out == tileas("check", RACE, "--no-edit")[1]
    assert "   15 | " in out
    assert out.endswith("unsafe: race\n")


def test_check_async_behind_a_pass_still_has_the_places(opt: Run) -> None:
    status, out, _ = opt(RACE, "-p", "queue-per-slot,check-async")
    assert status == 1
    assert f"{RACE}:15:" in out


def test_what_is_not_decided_has_a_status_of_its_own(opt: Run) -> None:
    text = """func.func @f(%a: memref<4xf32>, %i: memref<4xindex>, %n: index, %x: f32) {
  %k = memref.load %i[%n] : memref<4xindex>
  memref.store %x, %a[%k] : memref<4xf32>
  func.return
}
"""
    status, out, _ = opt(text, "-p", "check-async")
    assert status == 3
    assert out.splitlines()[-1].startswith("undecided")


@pytest.mark.parametrize(
    ("passes", "text"),
    [
        ("canonicalise", "error: there is no pass 'canonicalise'\n  help: did you mean canonicalize?"),
        ("tileir{pipeline-strategy=foo}", "error: tileir has no pipeline-strategy 'foo'; choose one of none, "),
        ("tileir{compute-capability=zzz}", "error: tileir: unknown compute-capability: no machine model of 'zzz'"),
        ("tileir{compute-capabilty=x}", "no option 'compute-capabilty'; did you mean 'compute-capability'?\n  help: "),
        ("tileir{colour=red}", "help: `tileas passes tileir` lists its options"),
        ("a b", "error: -p a b: "),
        ("canonicalize{", "error: -p canonicalize{: "),
    ],
)
def test_a_pipeline_that_does_not_exist(opt: Run, passes: str, text: str) -> None:
    status, out, err = opt(WELL, "-p", passes)
    assert (status, out) == (2, "")
    assert text in err
    assert "Traceback" not in err


def test_nothing_is_written_where_something_is_wrong(opt: Run, tmp_path: Path) -> None:
    status, _, _ = opt(COMPUTED, "-p", "convert-queue-to-pipeline", "-o", "out.mlir")
    assert status == 2
    assert not (tmp_path / "out.mlir").exists()


def test_unregistered_ops_are_read_where_they_are_allowed(opt: Run) -> None:
    text = '"some.op"() : () -> ()\n'
    assert opt(text)[0] == 2
    status, out, _ = opt(text, "--allow-unregistered-dialect")
    assert status == 0
    assert '"some.op"()' in out


# What there is --------------------------------------------------------------------------------------------------------


def test_every_pass_says_what_it_does() -> None:
    """In a sentence of its own: none sends the reader to a module."""
    from tileas_xdsl.tools.passes import describe
    from tileas_xdsl.universe import TILEAS

    rows = [describe(name, factory) for name, factory in TILEAS.all_passes.items()]
    assert [row.name for row in rows if len(row.description.split()) < 4] == []
    assert [row.name for row in rows if "module" in row.description.lower().split()] == []


# The viewer -----------------------------------------------------------------------------------------------------------


def test_without_its_packages_the_viewer_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gui, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=re.escape(f"needs textual and pyclip\n  help: {how_to_install('gui')}")):
        gui.viewer(None, "")


def test_the_extra_is_one_of_the_package() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["gui"] == ["xdsl[gui]==0.74.*"]


def test_the_viewer_offers_our_passes() -> None:
    """Where the extra is installed: on a program of ours, behind a pass of ours."""
    pytest.importorskip("textual")
    pytest.importorskip("pyclip")
    app = gui.viewer(str(ROOT / "examples" / "annotated_copy.mlir"), "inject-software-pipeline")
    assert {"tileas-materialize-async", "check-async", "canonicalize"} <= {name for name, _ in app.all_passes}
    assert {"nv_tileas", "async_queue", "scf"} <= {name for name, _ in app.all_dialects}


ROWS, COLUMNS = 300, 250
"""The list of passes is long; what lies outside of the window is not drawn."""


def test_the_viewer_starts_on_a_terminal_and_shows_our_passes() -> None:
    """As typed: it draws the program and the passes that apply to it, and ends with the key `q`."""
    pytest.importorskip("textual")
    pytest.importorskip("pyclip")
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    command = [sys.executable, "-m", "tileas_xdsl.tools.main", "gui", str(ROOT / "examples" / "annotated_copy.mlir")]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    viewer = subprocess.Popen(command, stdin=end, stdout=end, stderr=end, env=environment, start_new_session=True)
    os.close(end)
    try:
        words = (b"convert-queue-to-async", b"software_pipeline")
        screen = _drawn_until(terminal, words)
        assert [word for word in words if word not in screen] == []
        os.write(terminal, b"q")
        _drawn_until(terminal, ())
        assert viewer.wait(timeout=60) == 0
    finally:
        viewer.kill()
        viewer.wait()
        os.close(terminal)


def _drawn_until(terminal: int, words: Sequence[bytes]) -> bytes:
    """What is written to the terminal until all `words` are there, or until the end."""
    screen = b""
    while not (words and all(word in screen for word in words)) and select.select([terminal], [], [], 60)[0]:
        try:
            written = os.read(terminal, 1 << 16)
        except OSError:  # so Linux says that nobody has the other end any more
            break
        if not written:
            break
        screen += written
    return screen
