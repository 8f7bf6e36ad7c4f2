"""The text that our backend writes has the verdict of the threads that it was made from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import each
from tests.support.ir import ROOT
from tests.support.thread_kernels import BY_NAME
from tests.threads.test_synchronisation import EXPECTED
from tileas_xdsl.backend.llvm_ir.lines import without_lines
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.pipelines import Strategy
from tileas_xdsl.readers.ptx.launch import launch_of
from tileas_xdsl.readers.ptx.reading import read_ptx
from tileas_xdsl.tools.compile import Options, lowered
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.machine_code import PTX, HowCoded, code_of
from tileas_xdsl.tools.main import main

IN_FLIGHT = "attention_64 sm_90a unspecialize"
"""LLVM copies the sums of a product to other registers before the wait for it. That PTX forbids; ptxas lets products go
one by one then, and says so."""


@each("case", sorted(EXPECTED), 5)
def test_a_text_has_the_verdict_of_its_threads(case: str):
    name, target, strategy = case.split()
    module = parse_module(BY_NAME[name].text, name, full_context())
    options, _ = Options(target=target, strategy=cast("Strategy", strategy)).for_module(module)
    done = lowered(module, options, PTX, is_judged=True)
    code = code_of(module, {PTX}, HowCoded(source=name, target=target), None)
    assert done.threads is not None
    assert code.ptx is not None
    contract = {"kernels": code.kernels}
    read = read_ptx(code.ptx, "k.ptx", lambda one: launch_of(contract, one.name, one.parameters)).module
    read.verify()
    threads, text = (found(each) for each in (done.threads, read))
    assert threads == (Verdict.SAFE, set())
    assert text == (threads if case != IN_FLIGHT else (Verdict.VIOLATION, {"race"}))


def found(module: ModuleOp) -> tuple[Verdict, set[str]]:
    """What is said of a module: the verdict, and the kinds of mistakes."""
    report = check(module, trip_counts=[0, 1, 2, 3], judge_waits=False)
    return report.verdict, {str(finding.violation.kind) for finding in report.findings}


def test_the_command_writes_a_text_that_is_safe(tmp_path: Path):
    out = tmp_path / "k.ptx"
    options = ["--target", "sm_80", "--strategy", "unspecialize", "--check-timeout", "10"]
    assert main(["compile", str(ROOT / "tests" / "kernels" / "reduction.mlir"), *options, "-o", str(out)]) == 0
    assert json.loads(out.with_suffix(".json").read_text())["kernels"][0]["check"]["verdict"] == "safe"
    assert main(["check", "--trip-counts", "0..3", str(out)]) == 0


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
