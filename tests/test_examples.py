"""
The examples through every pass: what comes out is read back by a fresh stock `xdsl-opt`, and by mlir-opt.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from rich.console import Console
from xdsl.universe import Universe
from xdsl.utils.exceptions import PassFailedException

from examples import demo
from tests.support.corpora import FULL, SEED, corpus, each
from tests.support.ir import ROOT, parse, print_custom, print_generic, run_passes
from tests.support.mlir import mlir_opt
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.names import DRIVERS, PASSES

EXAMPLES = sorted((ROOT / "examples").glob("*.mlir"))
TILES = "tileir{compute-capability=sm_80 pipeline-strategy=unspecialize layouts=true},"
PLACED = "convert-nv-tile-func-to-llvm,tileas-place-tiles,"
BEFORE = {
    "convert-to-llvm": "inject-software-pipeline,convert-queue-to-nvvm,",
    "convert-nv-tile-func-to-llvm": TILES,
    "tileas-place-tiles": f"{TILES}convert-nv-tile-func-to-llvm,",
    "tileas-order-accesses": f"{TILES}{PLACED}",
    "convert-pipeline-to-nvvm": f"{TILES}{PLACED}tileas-order-accesses,",
    "convert-nv-tileas-to-llvm": f"{TILES}{PLACED}tileas-order-accesses,convert-pipeline-to-nvvm,",
}
"""What has to come before a pass that takes none of the examples as they are."""
MOST = 5
"""Examples a pass, unless all are wanted."""
XDSL_OPT = Path(sys.executable).with_name("xdsl-opt")


def outputs(pass_name: str) -> dict[str, tuple[str, str]]:
    """
    Example -> what the pass makes of it, in custom and in generic form; without those that it refuses. By default some
    that it accepts, others for each pass; with `TILEAS_CASES=full` all.
    """
    printed: dict[str, tuple[str, str]] = {}
    for example in Random(f"{SEED} {pass_name}").sample(EXAMPLES, len(EXAMPLES)):
        if len(printed) == MOST and not FULL:
            break
        module = parse(example.read_text(), name=str(example))
        try:
            with recorded_diagnostics():
                run_passes(module, BEFORE.get(pass_name, "") + pass_name)
        except PassFailedException:
            continue
        printed[example.name] = print_custom(module), print_generic(module)
    return printed


@corpus(len(EXAMPLES))
@pytest.mark.parametrize("pass_name", [*PASSES, *DRIVERS])
def test_output_of_the_pass_is_read_back(pass_name: str) -> None:
    printed = outputs(pass_name)
    assert printed, f"{pass_name} refuses every example"
    text = "\n// -----\n".join(custom for custom, _ in printed.values())
    result = subprocess.run(
        [XDSL_OPT, "--split-input-file"], input=text, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert result.stdout.count("builtin.module") == len(printed)
    mlir_opt(
        "\n// -----\n".join(generic for _, generic in printed.values()),
        "--split-input-file",
        "--allow-unregistered-dialect",
    )


def test_there_are_examples_of_all_four_models() -> None:
    names = {example.stem for example in EXAMPLES}
    assert {"gemm_queue", "gemm_loop", "attention_queue", "cp_async_ring", "async_tasks"} <= names


@each("road", demo.ROADS, 2, ids=lambda road: road.name)
def test_the_demo_writes_stages_that_can_be_read(
    road: demo.Road, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "BUILD", tmp_path)
    universe = Universe.get_multiverse()
    with Path(os.devnull).open("w") as nowhere:
        assert demo.walk(road, universe, Console(file=nowhere))
    stages = sorted(tmp_path.glob("*.mlir"))
    assert len(stages) == 1 + len(road.passes)
    for stage in stages:
        assert check(parse(stage.read_text()), judge_waits=False).verdict_line.startswith(
            "safe for every trip count"
        ), stage.name
