"""Machine code is compared with its tiles and checked before it is written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from xdsl.dialects import arith, builtin, llvm
from xdsl.dialects.builtin import FloatAttr, ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from tests.support.ir import ROOT, parse
from tests.support.ptx import require_llvmlite
from tests.support.thread_kernels import BY_NAME, threads_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.tools import main as command
from tileas_xdsl.tools.machine_code.validation import Worth, handed_over, made_up, worth_of

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


def test_a_mistake_that_only_threads_make_is_a_defect() -> None:
    """A store far behind the end of an array, where the tiles store inside of it."""
    module = threads("gemm_64x64x16")
    store = next(op for op in module.walk() if isinstance(op, llvm.StoreOp) and isinstance(op.ptr.owner, llvm.GEPOp))
    far = llvm.GEPOp(store.ptr, [1 << 30], builtin.i8, result_type=store.ptr.type)
    Rewriter.insert_op(far, InsertPoint.before(store))
    store.operands[1] = far.result
    problem = judged(module, "gemm_64x64x16").problem
    assert "make a mistake that its tiles do not make" in problem
    assert "defect of tileas" in problem


def test_two_maps_of_one_array_are_one_array() -> None:
    """As xDSL reads their names, they are called `x_map#0` and `x_map#1`."""
    tiles = parse("func.func @f(%x: memref<?x?xf32>, %n: index) { func.return }")
    code = parse("func.func @f(%x: memref<?x?xf32>, %x_map: !llvm.ptr, %x_map_1: !llvm.ptr, %n: index) { func.return }")
    (_, source), (_, body) = find_function(tiles, "f"), find_function(code, "f")
    handed = handed_over(made_up(source, 3), body)
    assert list(handed) == ["x", "x_map#0", "x_map#1", "n"]
    assert handed["x"] is handed["x_map#0"] is handed["x_map#1"]
    assert handed["n"] == 3


def test_the_verdict_stands_on_the_line_and_in_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_llvmlite()
    options = ["--target", "sm_80", "--strategy", "unspecialize", "-o", str(tmp_path / "k.ptx")]
    assert command.main(["compile", str(KERNEL), *options]) == 0
    assert "; threads: safe for every trip count (" in capsys.readouterr().out
    (kernel,) = json.loads((tmp_path / "k.json").read_text())["kernels"]
    assert kernel["check"]["verdict"] == "safe"
    assert kernel["check"]["compared_with_tiles"] == [0, 1, 3]


@pytest.mark.parametrize(
    ("seconds", "said"), [(20.0, "(20.0 s, as long as --check-timeout allows)"), (19.9, "(19.9 s)")]
)
def test_a_check_that_its_time_has_ended_says_so(seconds: float, said: str) -> None:
    module = parse((ROOT / "examples" / "gemm_queue.mlir").read_text())
    report = check(module, trip_counts=[0, 1], judge_waits=False)
    worth = Worth("gemm", seconds=seconds, report=report, limit=20.0)
    assert worth.line == f"threads: {report.verdict_line.partition(';')[0]} {said}"


def test_who_waits_for_a_check_is_told_what_it_does() -> None:
    told: list[str] = []
    module = parse((ROOT / "examples" / "gemm_queue.mlir").read_text())
    (worth,) = worth_of(None, module, None, 20.0, told.append).values()
    assert told[-1] == "the threads of @gemm are checked, for at most 20 s"
    assert re.fullmatch(r"threads: safe for every trip count \(\d+\.\d s\)", worth.line)


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
