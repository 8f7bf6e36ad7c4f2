"""The measurements measure what they say: found without being imported, on modules of the size they compare."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import __main__ as bench
from bench import compile_time, random_pipelines, startup, throughput, verdicts
from tests.support.ir import ROOT, parse


def test_measurements_are_found_by_their_function_and_described_by_their_docstring():
    known = bench.measurements()
    assert {"startup", "throughput"} <= set(known)
    assert known["startup"] == "What the plug-in costs `xdsl-opt --version`, over 20 runs each."
    assert "" not in known.values()


@pytest.mark.parametrize("ops", [13, 100, 1000])
def test_the_plain_module_has_the_size_of_what_it_is_compared_with(ops: int):
    module = parse(throughput.plain_text(ops))
    assert abs(sum(1 for _ in module.walk()) - ops) <= throughput.OPS_A_LOOP / 2


def test_the_plain_module_has_the_same_constants_of_tensors():
    """xDSL takes as long for one of them as for many other ops, whoever writes it."""
    module = parse((ROOT / "examples" / "gemm_loop.mlir").read_text())
    (tensor,) = throughput.tensors_in(module)
    plain = parse(throughput.plain_text(14, [tensor]))
    assert throughput.tensors_in(plain) == [tensor]


def test_throughput_sets_each_example_beside_plain_xdsl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "ring.mlir").write_text("async_queue.commit 0 {\n  async_queue.scope\n}\nasync_queue.wait 0, 0\n")
    monkeypatch.setattr(throughput, "EXAMPLES", tmp_path)
    monkeypatch.setattr(throughput, "SECONDS_A_ROUND", 0.001)
    monkeypatch.setattr(throughput, "ROUNDS", 1)
    ours, plain = throughput.measure()
    assert (ours["module"], ours["ops"]) == ("ring.mlir", 4)
    assert ours["ratio to plain"] == pytest.approx(ours["all us/op"] / plain["all us/op"])
    json.dumps([ours, plain])


@pytest.mark.parametrize(("variant", "known"), [("with the plug-in", True), ("without the plug-in", False)])
def test_the_variants_of_startup_differ_by_our_plug_in_and_nothing_else(variant: str, known: bool):
    """With another command line, the same program shows what each variant of `xdsl-opt` knows."""
    program = startup.VARIANTS[variant].replace('"--version"', '"--help"')
    wide = {**os.environ, "COLUMNS": "10000"}  # so that the help text breaks no name
    listed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=wide
    ).stdout
    assert "canonicalize" in listed
    assert ("verify-dominance" in listed) is known


def test_compile_time_has_our_own_row_where_there_is_no_peer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compile_time, "RUNS", 1)
    monkeypatch.setattr(compile_time, "find_spec", lambda _name: None)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    (row,) = compile_time.measure()
    assert row["compiler"] == "tileas compile"
    assert 0 < row["inside s"] < row["whole process s"]
    assert row["over Triton"] is None


def test_pipelines_that_are_not_proved_have_a_reason(monkeypatch: pytest.MonkeyPatch):
    quick = 29
    assert list(random_pipelines.reasons_against(range(quick, quick + 1))) == []
    monkeypatch.setattr(random_pipelines, "SECONDS", 0.01)
    ((seed, reason),) = random_pipelines.reasons_against(range(quick, quick + 1))
    assert seed == quick
    assert any(words in reason for words in ("still running after", "stopped after", "undecided for trip counts"))


def test_verdicts_are_printed_one_a_line_from_folders(tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text("func.func @f() {\n  func.return\n}\n")
    (tmp_path / "b.mlir").write_text("func.func @f(")
    (tmp_path / "c.txt").write_text("")
    printed = [verdicts.verdict_on(path).removeprefix(str(tmp_path)) for path in verdicts.programs_in([tmp_path])]
    assert printed[0] == "/a.mlir: safe for every trip count | 0 warnings"
    assert printed[1].startswith("/b.mlir: refused: ")
    assert len(printed) == 2
