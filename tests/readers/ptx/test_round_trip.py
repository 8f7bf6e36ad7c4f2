"""The text that our backend writes has the verdict of the threads that it was made from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.ir import ROOT
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.readers.ptx.launch import launch_of
from tileas_xdsl.readers.ptx.reading import read_ptx
from tileas_xdsl.tools.main import main

KERNELS = (
    ("reduction.mlir", "sm_80", "unspecialize"),
    ("three_loads.mlir", "sm_80", "warp-specialize"),
    ("layer_norm.mlir", "sm_90a", "warp-specialize"),
)


@pytest.mark.parametrize(("kernel", "target", "strategy"), KERNELS)
def test_a_text_has_the_verdict_of_its_threads(kernel: str, target: str, strategy: str, tmp_path: Path):
    out = tmp_path / "k.ptx"
    options = ["--target", target, "--strategy", strategy, "--check-timeout", "10"]
    assert main(["compile", str(ROOT / "tests" / "kernels" / kernel), *options, "-o", str(out)]) == 0
    contract = json.loads(out.with_suffix(".json").read_text())
    reading = read_ptx(out.read_text(), "k.ptx", lambda one: launch_of(contract, one.name, one.parameters))
    reading.module.verify()
    report = check(reading.module, trip_counts=[0, 1, 2, 5], judge_waits=False)
    assert contract["kernels"][0]["check"]["verdict"] == str(report.verdict) == "safe"
