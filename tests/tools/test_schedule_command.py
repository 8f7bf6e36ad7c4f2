"""`tileas schedule`: what it says of a loop, what it writes where, and what it says about input without one."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.ir import ROOT
from tileas_xdsl.tools import main as command

EXAMPLE = ROOT / "examples/gemm_loop.mlir"


def schedule(*options: str | Path) -> int:
    return command.main(["schedule", *map(str, options)])


def test_the_report_says_what_binds_and_why_ops_wait(capsys: pytest.CaptureFixture[str]) -> None:
    assert schedule(EXAMPLE) == 0
    text = capsys.readouterr().out
    assert "II = 530 (cost-based), 3 stages" in text
    assert "binds: RecMII, the cycle work of dot %sum -> work of dot %sum: 530 cycles over 1 iteration" in text
    assert "waits for slot agent" in text
    assert "ring at_ring: 3 x 16384 = 49152 bytes of shared memory" in text


def test_the_report_says_what_the_budget_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "large.mlir"
    file.write_text(EXAMPLE.read_text().replace("128x64", "128x256").replace("64x128", "256x128"))
    assert schedule(file) == 0
    said = "  budget: rings take 196608 of 232448 bytes of shared memory; one more copy of at_ring (65536) lacks 29696"
    assert said in capsys.readouterr().out.splitlines()


def test_pictures_and_data_agree_with_the_report(tmp_path: Path) -> None:
    for suffix in ("svg", "html", "json"):
        assert schedule(EXAMPLE, "-o", tmp_path / f"s.{suffix}") == 0
    bars = ElementTree.parse(tmp_path / "s.svg").iter("{http://www.w3.org/2000/svg}title")
    (loop,) = json.loads((tmp_path / "s.json").read_text())["loops"]
    occupied = sum(bool(rows) for op in loop["ops"] for rows in op["slots"].values())
    assert len(list(bars)) >= occupied > 10
    assert (loop["ii"], loop["bounds"]["RecMII"]["value"]) == (530, 530)
    assert "<pre>" in (tmp_path / "s.html").read_text()


def test_heuristic_and_proven_stand_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert schedule(EXAMPLE, "--strategy", "exact", "-o", tmp_path / "s.json") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.endswith(": II = 530 (exact), 3 stages") for line in lines)
    (loop,) = json.loads((tmp_path / "s.json").read_text())["loops"]
    assert loop["strategy"] == "exact"
    assert any(
        line.startswith("  exact: heuristic 530, proven optimum 530; II = 530 (proven: cycle ") for line in lines
    )
    ops = [line for line in lines if ": stage " in line]
    assert ops
    assert all(" (heuristic: stage " in line for line in ops)


def test_the_report_says_who_runs_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.svg"
    kernel = ROOT / "tests/kernels/gemm_64x64x16.mlir"
    assert schedule(kernel, "--strategy", "exact", "--agents", "auto", "--exact-limit", 2, "-o", file) == 0
    said = capsys.readouterr().out
    assert "proven optimum 64; II = 64 (proven: slot tma: " in said
    assert "; 2 agents (proven: with 1, II >= 149)" in said
    assert "  produce_one_async %at_filled: agent 0, stage 0" in said
    assert "  dot %sum: agent 1, stage " in said
    headings = {text.text for text in ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}text")}
    assert {"producer agent", "computing agent"} <= headings
    assert "agent" not in headings


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["-o", "s.txt"], "does not end in .svg, .html or .json"),
        (["--target", "sm_75"], "no machine model of sm_75: choose one of"),
        (["-p", "no-such-pass"], "no-such-pass"),
        (["-p", "a{"], "Expected argument name here"),
        (["--agents", "2"], "--agents 2: agents are chosen with --strategy exact only"),
    ],
)
def test_wrong_options_are_named(options: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert schedule(EXAMPLE, *options) == 2
    assert text in capsys.readouterr().err


def test_a_file_without_loops_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.mlir"
    file.write_text("func.func @f() {\nfunc.return\n}\n")
    assert schedule(file) == 2
    assert "no loop to schedule" in capsys.readouterr().err
