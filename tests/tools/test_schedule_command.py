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


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["-o", "s.txt"], "does not end in .svg, .html or .json"),
        (["--target", "sm_75"], "no machine model of sm_75: choose one of"),
        (["-p", "no-such-pass"], "no-such-pass"),
        (["-p", "a{"], "Expected argument name here"),
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
