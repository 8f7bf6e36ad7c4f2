"""Machine code is compared with its tiles and checked before it is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, ModuleOp
from xdsl.rewriter import Rewriter

from tests.support.ir import ROOT, parse
from tests.support.ptx import require_llvmlite
from tests.support.thread_kernels import BY_NAME, threads_of
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op
from tileas_xdsl.tools import main as command
from tileas_xdsl.tools.machine_code.validation import Worth, worth_of

KERNEL = ROOT / "tests/kernels/elementwise.mlir"
SECONDS = 60.0
RACE = """
func.func @k(%out: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 64>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  llvm.store %tid, %out : i32, !llvm.ptr<1>
  func.return
}
"""


def judged(threads: ModuleOp, name: str = "elementwise") -> Worth:
    (worth,) = worth_of(parse(BY_NAME[name].text), threads, None, SECONDS).values()
    return worth


def threads(name: str = "elementwise") -> ModuleOp:
    return threads_of(name, "unspecialize", "sm_80").clone()


def test_the_threads_of_a_kernel_are_worth_what_they_are() -> None:
    worth = judged(threads())
    assert worth.compared == (0, 1, 3)
    assert worth.problem == ""
    assert worth.line.startswith("threads: safe for every trip count (")
    assert worth.as_data()["every_trip_count"] is True


def test_other_numbers_are_a_defect() -> None:
    """A product with another constant: no race, and not what the tiles say."""
    module = threads("gemm_64x64x16")
    constants = [op for op in module.walk() if isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr)]
    for constant in constants:
        value = constant.value
        assert isinstance(value, FloatAttr)
        Rewriter.replace_op(constant, arith.ConstantOp(FloatAttr(value.value.data + 1.0, value.type)))
    assert constants
    worth = judged(module, "gemm_64x64x16")
    assert "compute other numbers than its tiles in 'c', with 0 for each integer argument" in worth.problem
    assert "defect of tileas" in worth.problem


def test_threads_that_do_not_meet_are_a_defect() -> None:
    module = threads("gemm_64x64x16")
    for op in [op for op in module.walk() if isinstance(op, Barrier0Op)]:
        Rewriter.erase_op(op)
    problem = judged(module, "gemm_64x64x16").problem
    assert "defect of tileas" in problem


def test_the_verdict_stands_on_the_line_and_in_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_llvmlite()
    options = ["--target", "sm_80", "--strategy", "unspecialize", "-o", str(tmp_path / "k.ptx")]
    assert command.main(["compile", str(KERNEL), *options]) == 0
    assert "; threads: safe for every trip count (" in capsys.readouterr().out
    (kernel,) = json.loads((tmp_path / "k.json").read_text())["kernels"]
    assert kernel["check"]["verdict"] == "safe"
    assert kernel["check"]["compared_with_tiles"] == [0, 1, 3]


def test_nobody_looks_where_nobody_shall(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--target", "sm_80", "--strategy", "unspecialize", "--no-check", "-o", str(tmp_path / "k.ll")]
    assert command.main(["compile", str(KERNEL), *options]) == 0
    assert "; threads: not checked" in capsys.readouterr().out
    (kernel,) = json.loads((tmp_path / "k.json").read_text())["kernels"]
    assert kernel["check"] is None


def test_of_a_race_no_file_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "race.mlir", tmp_path / "race.ll"
    source.write_text(RACE)
    assert command.main(["compile", str(source), "--target", "sm_80", "-o", str(out)]) == 1
    said = capsys.readouterr().err
    assert "error: @k is unsafe" in said
    assert "witness" in said
    assert "defect" not in said
    assert not out.exists()
    assert not out.with_suffix(".json").exists()
    assert command.main(["compile", str(source), "--target", "sm_80", "--no-check", "-o", str(out)]) == 0
    assert out.exists()


def test_what_is_not_decided_in_time_is_said_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "k.ll"
    options = ["--target", "sm_90a", "--check-timeout", "0.01", "-o", str(out)]
    assert command.main(["compile", str(ROOT / "examples/gemm_loop.mlir"), *options]) == 0
    assert "every trip count" not in capsys.readouterr().out.splitlines()[-1]
    assert out.exists()
