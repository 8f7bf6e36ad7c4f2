"""
`bench/gpu/run_kernel.py` without a GPU: a libcuda of our own stands in for NVIDIA's, and its kernel is a function in C.
So this tests what is passed and compared, and nothing of a GPU.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.ir import ROOT
from tests.support.stand_in_driver import stand_in_driver
from tileas_xdsl.tools import main as command

SCRIPT = ROOT / "bench/gpu/run_kernel.py"
Result = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stand_in_driver(tmp_path_factory.mktemp("libcuda"))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the kernel `scale` and its contract, as `tileas compile` writes them."""
    folder = tmp_path_factory.mktemp("compiled")
    ring = ROOT / "examples/cp_async_ring.mlir"
    assert command.main(["compile", str(ring), "-o", str(folder / "ring.ll"), "--target", "sm_80"]) == 0
    (folder / "ring.ll").rename(folder / "ring.ptx")
    return folder


@pytest.fixture
def kernel(library: Path, compiled: Path, tmp_path: Path) -> Callable[..., Result]:
    """A run of the kernel, in a folder that a test may change."""
    shutil.copytree(compiled, tmp_path, dirs_exist_ok=True)
    environment = {**os.environ, "TILEAS_LIBCUDA": str(library)}

    def run(*options: str, code: str = "ring.ptx") -> Result:
        words = [sys.executable, str(SCRIPT), code, *options]
        return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)

    return run


SCALE = ("--kernel", "scale", "--arg", "src=7x8xf32:random:3", "--arg", "out=7x8xf32:zeros", "--arg", "n=5")


def source() -> np.ndarray:
    return np.random.default_rng(3).standard_normal((7, 8)).astype(np.float32)


def test_arrays_sizes_and_numbers_arrive(kernel: Callable[..., Result], tmp_path: Path) -> None:
    expected = source() * 2
    expected[5:] = 0
    np.save(tmp_path / "expected.npy", expected)
    result = kernel(*SCALE, "--expect", "out=expected.npy", "--save", "out=found.npy", "--repeat", "4")
    assert result.returncode == 0, result.stderr
    assert result.stdout == (
        "scale on a stand-in 0\n"
        "out: as expected, the largest difference is 0\n"
        "1250.0 microseconds a run, the mean of 4\n"
    )
    assert np.array_equal(np.load(tmp_path / "found.npy"), expected)


def test_what_is_not_as_expected_is_said(kernel: Callable[..., Result], tmp_path: Path) -> None:
    np.save(tmp_path / "expected.npy", np.ones((7, 8), np.float32))
    result = kernel(*SCALE, "--expect", "out=expected.npy")
    assert result.returncode == 1
    assert "out: NOT as expected" in result.stdout
    assert kernel(*SCALE, "--expect", "out=expected.npy", "--tolerance", "100").returncode == 0


def test_nan_is_never_as_expected(kernel: Callable[..., Result], tmp_path: Path) -> None:
    np.save(tmp_path / "expected.npy", np.full((7, 8), np.nan, np.float32))
    assert kernel(*SCALE, "--expect", "out=expected.npy", "--tolerance", "100").returncode == 1


def test_a_tensor_map(kernel: Callable[..., Result], tmp_path: Path) -> None:
    """Its numbers begin with the innermost dimension."""
    parameters = [
        {"name": "a", "kind": "tensor map", "bytes": 128, "alignment": 64},
        {"name": "out", "kind": "buffer", "type": "f32", "shape": [7]},
    ]
    kernels = [{"name": "map", "block": [32, 1, 1], "parameters": parameters}]
    (tmp_path / "map.json").write_text(json.dumps({"kernels": kernels}))
    (tmp_path / "map.ptx").write_text("")
    options = ("--arg", "a=128x64xf32:zeros", "--arg", "out=zeros", "--box", "a=32x16", "--swizzle", "a=128")
    result = kernel(*options, "--save", "out=found.npy", "--shared", "100000", code="map.ptx")
    assert result.returncode == 0, result.stderr
    assert np.load(tmp_path / "found.npy").tolist() == [2, 64, 128, 16, 32, 3, 100_000]


def test_a_tensor_map_that_the_contract_describes(kernel: Callable[..., Result], tmp_path: Path) -> None:
    said = {"type": "f32", "shape": [None, 64], "box": [32, 16], "swizzle": 128}
    parameters = [
        {"name": "a", "kind": "tensor map", "bytes": 128, "alignment": 64, **said},
        {"name": "out", "kind": "buffer", "type": "f32", "shape": [7]},
    ]
    described = {"name": "map", "block": [32, 1, 1], "dynamic_shared_bytes": 100_000, "parameters": parameters}
    (tmp_path / "map.json").write_text(json.dumps({"kernels": [described]}))
    (tmp_path / "map.ptx").write_text("")
    options = ("--arg", "a=128x64xf32:zeros", "--arg", "out=zeros")
    result = kernel(*options, "--save", "out=found.npy", code="map.ptx")
    assert result.returncode == 0, result.stderr
    assert np.load(tmp_path / "found.npy").tolist() == [2, 64, 128, 16, 32, 3, 100_000]


def test_shared_memory_of_an_open_size(kernel: Callable[..., Result], tmp_path: Path) -> None:
    described = {"name": "map", "block": [32, 1, 1], "dynamic_shared_bytes": "the host's choice", "parameters": []}
    (tmp_path / "map.json").write_text(json.dumps({"kernels": [described]}))
    (tmp_path / "map.ptx").write_text("")
    result = kernel(code="map.ptx")
    assert result.returncode == 2
    assert "leaves the size of dynamic shared memory open: give it by --shared" in result.stderr


BAD = {
    "no such parameter": (["--arg", "other=1"], "there is no parameter 'other'"),
    "no value": (["--kernel", "scale", "--arg", "src=7x8xf32:zeros"], "'out' has no value: give it by --arg out=..."),
    "an open shape": (["--kernel", "scale", "--arg", "src=zeros"], "'src' has an open shape"),
    "a wrong shape": (["--kernel", "scale", "--arg", "src=7x9xf32:zeros"], "and the kernel takes [None, 8]"),
    "no array": (["--kernel", "scale", "--arg", "src=7xfoo:zeros"], "'7xfoo:zeros' is no array"),
    "no seed": (["--kernel", "scale", "--arg", "src=7x8xf32:random:x"], "'7x8xf32:random:x' has no seed"),
    "no number": ([*SCALE, "--arg", "n=many"], "'many' is no number for 'n'"),
    "a launch that fails": ([*SCALE, "--arg", "n=8"], "cuLaunchKernel: invalid argument (1)"),
    "several kernels": ([], "say by --kernel which kernel is to run: scale, double_buffered"),
    "no kernel of this name": (["--kernel", "none"], "say by --kernel which kernel is to run"),
    "a kernel that the code lacks": (["--kernel", "double_buffered"], "named symbol not found (500)"),
    "no contract": (["--contract", "absent.json"], "absent.json is no launch contract"),
    "no list of sizes": ([*SCALE, "--grid", "many"], "'many' is no list of sizes"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_run_is_one_message(name: str, kernel: Callable[..., Result]) -> None:
    options, said = BAD[name]
    if name == "no such parameter":
        options = ["--kernel", "scale", *options]
    result = kernel(*options)
    assert result.returncode == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_code_that_the_driver_refuses_is_an_error_with_its_log(kernel: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "ring.ptx").write_text("nonsense")
    result = kernel(*SCALE)
    assert result.returncode == 2
    assert "line 1: syntax error" in result.stderr


def test_without_a_driver_there_is_a_message(
    kernel: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment = {**os.environ, "TILEAS_LIBCUDA": str(tmp_path / "absent.so")}
    words = [sys.executable, str(SCRIPT), "ring.ptx", *SCALE]
    result = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert result.returncode == 2
    assert "there is no NVIDIA driver here" in result.stderr


def test_it_stands_alone() -> None:
    """It imports nothing of ours: it goes to machines that have neither this package nor xDSL."""
    text = SCRIPT.read_text()
    assert "tileas_xdsl" not in text
    assert "import xdsl" not in text
