"""The folder for a machine with a GPU, as far as it can be tested without one, and the page of what was measured."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tileas_xdsl as tileas
from bench.gpu import speed, speed_programs, tables
from bench.gpu.pack import copy_packages
from bench.gpu.speed_programs import KERNELS, extents
from tests.support.ir import ROOT
from tileas_xdsl.backend.contract import Number

PAGE = ROOT / "docs" / "performance.md"


def test_the_page_shows_what_was_measured() -> None:
    shown = re.findall(r"(?:^\|.*\n)+", PAGE.read_text(), re.MULTILINE)
    assert [table.strip() for table in shown] == list(tables.tables())


def test_the_first_page_says_what_was_measured() -> None:
    """The best of our products of 8,192x8,192x8,192, beside the best of cuBLAS."""
    rows = json.loads((tables.RESULTS / "kernels_h200.json").read_text())["rows"]
    large = [row for row in rows if row["shape"] == [8192] * 3 and row["program"] in tables.PROGRAMS]
    of_others = {"cublas", *(row["program"] for row in large if row["program"].startswith("triton"))}
    ours = max(row["tflops"] for row in large if row["program"] not in of_others)
    theirs = max(row["tflops"] for row in large if row["program"] == "cublas")
    said = f"Products of f16 reach [{ours:.0f} TFLOP/s](performance.md) on an H200; cuBLAS reaches {theirs:.0f}."
    assert said in (ROOT / "docs" / "index.md").read_text()


def test_a_launch_costs_at_most_twice_that_of_triton() -> None:
    rows = json.loads((tables.RESULTS / "launch_h200.json").read_text())["rows"]
    spent = {row["call"]: row["microseconds"] for row in rows}
    assert spent["ours: gemm[1,1](a, b, c, 0), three maps"] <= 2 * spent["triton: nop(a, b, c, n)"]
    assert spent["ours: scale[1](s, t, 0)"] <= 2 * spent["triton: nop(s, t, n)"]


def test_every_program_has_a_name_and_parses() -> None:
    jobs = list(speed_programs.jobs())
    assert len({job.name for job in jobs}) == len(jobs)
    assert sum(job.kind == "products" for job in jobs) >= 24
    for text in {job.text for job in jobs}:
        tileas.parse(text)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("gemm_64x64x16", {"a": ("f16", [64, 112]), "b": ("f16", [112, 64]), "c": ("f32", [64, 64])}),
        ("queues/rows_in_a_group", {"a": ("f16", [128, 16]), "b": ("f16", [112, 64]), "c": ("f32", [128, 64])}),
        ("elementwise", {name: ("f32", [112, 16]) for name in "xyc"}),
    ],
)
def test_arrays_are_as_large_as_the_trips_need(kernel: str, expected: dict[str, object]) -> None:
    assert extents(tileas.parse(KERNELS / f"{kernel}.mlir"), 7) == expected


def test_a_rate_is_work_by_time() -> None:
    row = {"what": "sum", "program": "ours", "unit": "GB/s", "work": 12.0, "ms": 4.0}
    assert speed.line(row).split() == ["ours", "3.0", "GB/s"]
    assert "WRONG: nan" in speed.line({"what": "sum", "program": "ours", "wrong": float("nan")})
    turn = {"what": "turn", "program": "gemm", "ns in L2": 300.0, "clock, MHz": 2000}
    assert "600 cycles in L2" in speed.line(turn)


def test_what_is_timed_is_launched_as_its_contract_says() -> None:
    """The launches of `speed` are by position: arrays first, then the numbers."""
    job = next(job for job in speed_programs.jobs() if job.kind == "streaming")
    kernel = tileas.compile(job.text, target=job.target, check=False, cache=False, **job.options)
    numbers = [each.name for each in kernel.contract.parameters if isinstance(each, Number) and each.of is None]
    assert numbers == ["n"]
    assert kernel.contract.programs is not None


def test_the_packages_of_the_folder_are_whole(tmp_path: Path) -> None:
    """Only what is in Python alone is copied, and what this package says of itself."""
    copy_packages(tmp_path / "site")
    found = {path.name for path in (tmp_path / "site").iterdir()}
    assert {"tileas_xdsl", "xdsl", "immutabledict", "ordered_set", "typing_extensions.py"} <= found
    assert f"tileas_xdsl-{tileas.__version__}.dist-info" in found
    assert not [path for path in (tmp_path / "site").rglob("*") if path.suffix in (".so", ".pyc")]
    script = "import tileas_xdsl, sys; print(tileas_xdsl.__version__, tileas_xdsl.__file__)"
    path = {"PYTHONPATH": str(tmp_path / "site"), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=path, cwd=tmp_path)
    assert done.stdout.split() == [tileas.__version__, str(tmp_path / "site" / "tileas_xdsl" / "__init__.py")]
