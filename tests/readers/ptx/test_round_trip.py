"""The text that our backend writes has the verdict of the threads that it was made from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.ir import ROOT
from tileas_xdsl.backend.llvm_ir.lines import without_lines
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


CHAIN = "queues/chain_of_three_agents.mlir"


def compiled(kernel: str, out: Path, *options: str) -> str:
    """The PTX of a kernel of the tests for sm_90a, in the file `out`."""
    source = ROOT / "tests" / "kernels" / kernel
    assert main(["compile", str(source), "--target", "sm_90a", "--no-check", *options, "-o", str(out)]) == 0
    return out.read_text()


def test_lines_change_nothing_else(tmp_path: Path):
    with_lines = compiled(CHAIN, tmp_path / "lines.ptx")
    assert with_lines.count("\t.loc\t") > 20
    assert without_lines(with_lines) == compiled(CHAIN, tmp_path / "plain.ptx", "--no-lines")


def test_a_finding_in_our_own_text_names_the_line_of_the_program(tmp_path: Path):
    """Without the fence the tensor core may read what threads have stored before it gets there."""
    text = compiled(CHAIN, tmp_path / "k.ptx")
    lines = (ROOT / "tests" / "kernels" / CHAIN).read_text().splitlines()
    mutant = re.sub(r"\n\tfence.proxy.async.*", "", text)
    assert mutant != text
    contract = json.loads((tmp_path / "k.json").read_text())
    module = read_ptx(mutant, "k.ptx", lambda one: launch_of(contract, one.name, one.parameters)).module
    report = check(module, trip_counts=[2], judge_waits=False)
    assert {str(finding.violation.kind) for finding in report.findings} == {"missing-fence"}
    places = [party.place or "" for party in report.findings[0].violation.parties]
    named = [int(place.rsplit(":", 2)[1]) for place in places if place.rsplit(":", 2)[0].endswith(CHAIN)]
    assert len(named) == len(places) > 0
    assert any("dot" in lines[number - 1] for number in named)
