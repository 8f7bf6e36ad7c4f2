"""
`bench/gpu/run_all.py` without a GPU, on the stand-in of the driver, whose kernel `scale` doubles rows: what is passed,
restored and compared. The arrays of `bench/gpu/arrays.py` are held against the types of `ml_dtypes`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from bench.gpu import arrays
from bench.gpu.pack import STAND_ALONE, packed_code, packed_numbers
from bench.gpu.runs import variant_lines
from tests.support.ir import ROOT
from tests.support.stand_in_driver import stand_in_driver

ROWS = 7
KINDS = {"bf16": ml_dtypes.bfloat16, "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one program, `double`, which is the kernel `scale`; it is expected to do what it does."""
    for name in STAND_ALONE:
        shutil.copy(ROOT / "bench/gpu" / name, tmp_path)
    shapes = {"src": ("f32", [ROWS, 8]), "out": ("f32", [ROWS, 8])}
    sizes = [{"name": name, "kind": "number", "type": "i64", "is": "size 0"} for name in shapes]
    layout = {"type": "f32", "shape": [None, 8], "strides": [8, 1], "offset": 0, "alignment": 16}
    buffers = [{"name": name, "kind": "buffer", **layout} for name in shapes]
    parameters = [buffers[0], sizes[0], buffers[1], sizes[1], {"name": "n", "kind": "number", "type": "index"}]
    contract = {"name": "scale", "block": [8, 1, 1], "dynamic_shared_bytes": 0, "parameters": parameters}
    made = arrays.made(shapes)
    changed: dict[str, Any] = {}
    for trips in (1, 5):
        changed |= {f"{trips}/out": made["src"][:trips] * 2, f"{trips}/out/from": np.array([0, 0])}
    facts = {"arrays": shapes, "counts": [0, 1, 5], "checksum": arrays.checksum(made)}
    (tmp_path / "code").mkdir()
    (tmp_path / "expected").mkdir()
    (tmp_path / "code" / "double.sm_80.unspecialize.ptx").write_text("code")
    (tmp_path / "code" / "double.sm_80.unspecialize.json").write_text(
        json.dumps({"target": "sm_80", "kernels": [contract]})
    )
    (tmp_path / "expected" / "double.json").write_text(json.dumps(facts))
    np.savez(tmp_path / "expected" / "double.npz", **changed)
    return tmp_path


def run(folder: Path, library: Path, *options: str) -> tuple[int, dict[str, Any]]:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library.parent), "OUT": str(folder)}
    done = subprocess.run(
        [sys.executable, str(folder / "run_all.py"), *options],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert not done.stderr
    data = json.loads((folder / "people.json").read_text())
    (row,) = data["rows"]
    assert (data["variants"], data["right"]) == (1, 1 - done.returncode)
    return done.returncode, row


def test_what_is_right_is_right_at_each_trip_count(folder: Path) -> None:
    status, row = run(folder, stand_in_driver(folder))
    assert (status, row["right"], row["wrong"], row["problem"]) == (0, [0, 1, 5], {}, "")


def test_a_number_that_differs_is_named_with_its_place(folder: Path) -> None:
    expected = dict(np.load(folder / "expected" / "double.npz"))
    expected["5/out"][3, 2] += 1
    np.savez(folder / "expected" / "double.npz", **expected)
    status, row = run(folder, stand_in_driver(folder))
    assert (status, row["right"]) == (1, [0, 1])
    assert list(row["wrong"]) == ["5"]
    assert "out[3, 2]: " in str(row["wrong"])
    assert "1 of 56 are wrong" in str(row["wrong"])
    first, second = variant_lines(json.loads((folder / "people.json").read_text()))
    assert first.endswith("a stand-in 0, 20 launches at each trip count: 0 of 1 variants are right")
    assert second == "  double, sm_80, unspecialize: wrong at 5 trips"


def test_a_call_that_fails_is_a_problem_of_one_variant(folder: Path) -> None:
    (folder / "code" / "double.sm_80.unspecialize.ptx").write_text("nonsense")
    status, row = run(folder, stand_in_driver(folder))
    assert status == 1
    assert "line 1: syntax error" in str(row["problem"])


def test_what_does_not_end_costs_its_time_and_no_more(folder: Path) -> None:
    status, row = run(folder, stand_in_driver(folder), "--seconds", "0.01")
    assert (status, row["right"], row["problem"]) == (1, [], "no end within 0.01 s")


def test_arrays_that_differ_are_not_compared(folder: Path) -> None:
    file = folder / "expected" / "double.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"checksum": 1}))
    status, row = run(folder, stand_in_driver(folder))
    assert status == 1
    assert "numpy makes other arrays" in str(row["problem"])


@pytest.mark.parametrize("kind", KINDS)
def test_small_floats_have_the_numbers_of_their_type(kind: str) -> None:
    if kind in arrays.FRACTION_BITS:
        codes = np.arange(256, dtype=np.uint8)
        assert np.array_equal(arrays.wide(codes, kind), codes.view(KINDS[kind]).astype(np.float64), equal_nan=True)
    numbers = np.random.default_rng(0).integers(-2, 3, (5, 9))
    narrow = arrays.narrow(numbers, kind)
    assert np.array_equal(narrow.view(KINDS[kind]), numbers.astype(KINDS[kind]))
    assert np.array_equal(arrays.wide(narrow, kind), numbers)


def test_a_packed_program_has_what_its_tiles_leave(tmp_path: Path) -> None:
    path = ROOT / "tests/kernels/elementwise.mlir"
    assert packed_numbers(path, tmp_path) == ""
    assert packed_code(path, "sm_80 unspecialize", tmp_path) == ""
    facts = json.loads((tmp_path / "elementwise.json").read_text())
    made = arrays.made(facts["arrays"])
    assert arrays.checksum(made) == facts["checksum"]
    changed = np.load(tmp_path / "elementwise.npz")
    rows = 16 * 3
    begin = changed["3/c/from"]
    expected = ((made["x"] + made["y"]) * made["x"])[:rows]
    part = changed["3/c"]
    assert part.shape[0] == rows - begin[0]
    assert np.array_equal(part, expected[begin[0] : begin[0] + part.shape[0], begin[1] : begin[1] + part.shape[1]])
    (kernel,) = json.loads((tmp_path / "elementwise.sm_80.unspecialize.json").read_text())["kernels"]
    assert [each["name"] for each in kernel["parameters"] if each["kind"] == "buffer"] == ["x", "y", "c"]
