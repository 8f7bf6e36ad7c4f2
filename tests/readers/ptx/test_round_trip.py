"""The text that our backend writes has the verdict of the threads that it was made from, and the numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import each
from tests.support.ir import ROOT
from tests.support.thread_kernels import BY_NAME, assert_computes
from tests.threads.test_synchronisation import EXPECTED
from tileas_xdsl.backend.llvm_ir.lines import without_lines
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.pipelines import Strategy
from tileas_xdsl.readers.ptx.launch import Launch, launch_of
from tileas_xdsl.readers.ptx.reading import read_ptx
from tileas_xdsl.readers.ptx.syntax import Function
from tileas_xdsl.tools.compile import Options, lowered
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.machine_code import PTX, HowCoded, code_of
from tileas_xdsl.tools.main import main

IN_FLIGHT = "attention_64 sm_90a unspecialize"
"""LLVM copies the sums of a product to other registers before the wait for it. That PTX forbids; ptxas lets products go
one by one then, and says so."""


@each("case", sorted(EXPECTED), 5)
def test_a_text_has_the_verdict_of_its_threads(case: str):
    threads, text = (found(each) for each in written(case, with_numbers=False))
    assert threads == (Verdict.SAFE, set())
    assert text == (threads if case != IN_FLIGHT else (Verdict.VIOLATION, {"race"}))


def written(case: str, *, with_numbers: bool) -> tuple[ModuleOp, ModuleOp]:
    """The threads of a kernel, and what is read of the PTX that they become."""
    name, target, strategy = case.split()
    module = parse_module(BY_NAME[name].text, name, full_context())
    options, _ = Options(target=target, strategy=cast("Strategy", strategy)).for_module(module)
    done = lowered(module, options, PTX, is_judged=True)
    code = code_of(module, {PTX}, HowCoded(source=name, target=target), None)
    assert done.threads is not None
    assert code.ptx is not None
    contract = {"kernels": code.kernels}

    def launched(kernel: Function) -> Launch:
        return launch_of(contract, kernel.name, kernel.parameters)

    read = read_ptx(code.ptx, "k.ptx", launched, with_numbers=with_numbers).module
    read.verify()
    return done.threads, read


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


RUN = {
    "sm_80 unspecialize": ("chained_gemm", "convolution", "elementwise", "reduction", "stencil", "three_loads"),
    "sm_90a warp-specialize": (
        *("attention_64", "chain_of_three_agents", "gemm_64x128x32", "layer_norm", "rows_of_tiles"),
        *("gemm_in_two_agents", "sums_in_three_agents"),
    ),
}
ORDERS_OF_RUNS = ("lazy", "random")
NUMBERS = [f"{name} {variant}" for variant, names in RUN.items() for name in names]


@each("case", NUMBERS, 4)
def test_a_text_has_the_numbers_of_its_kernel(case: str):
    kernel, read = BY_NAME[case.split()[0]], written(case, with_numbers=True)[1]
    for trips in (0, 1, 3):
        assert_computes(read, kernel, trips, ORDERS_OF_RUNS[trips % 2])


def test_a_text_is_run_on_arrays_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text, kernel = tmp_path / "k.ptx", BY_NAME["gemm_64x64x16"]
    source = str(ROOT / "tests" / "kernels" / "gemm_64x64x16.mlir")
    assert main(["compile", source, "--target", "sm_80", "--no-check", "-o", str(text)]) == 0
    given = kernel.arguments(2)
    named = [f"n={given.pop('n')}"]
    for name, array in given.items():
        np.save(tmp_path / f"{name}.npy", array)
        named.append(f"{name}={tmp_path / name}.npy")
    np.save(tmp_path / "expected.npy", kernel.reference(kernel.arguments(2)).astype(np.float32))
    options = [word for each_ in named for word in ("--arg", each_)]
    expected = tmp_path / "expected.npy"
    capsys.readouterr()
    assert main(["run", str(text), *options, "--expect", f"c={expected}", "--out", f"c={tmp_path / 'c.npy'}"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "ran, and is as expected"
    assert np.array_equal(np.load(tmp_path / "c.npy"), np.load(expected))
    text.write_text(text.read_text().replace("ldmatrix.sync.aligned.m8n8.x4.trans", "ldmatrix.sync.aligned.m8n8.x4"))
    assert main(["run", str(text), *options, "--expect", f"c={expected}"]) == 1
    assert "elements differ" in capsys.readouterr().out


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
