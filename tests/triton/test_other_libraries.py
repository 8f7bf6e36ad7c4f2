"""`python -m bench.others`: kernels of installed libraries are found, compiled and checked."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.ir import ROOT

if find_spec("triton") is None and os.environ.get("TILEAS_REQUIRE_ORACLES") != "1":
    pytest.skip("needs Triton 3.9: pip install '.[triton]'", allow_module_level=True)

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    places = rows[:, None] * BLOCK + rows[None, :]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        acc += tl.dot(tl.load(a_ptr + k + places), tl.load(b_ptr + k * BLOCK + places))
    tl.store(c_ptr + places, acc)
"""


def test_a_kernel_of_a_library_is_checked(tmp_path: Path) -> None:
    for library in ("fla", "liger_kernel"):
        (tmp_path / library / "ops").mkdir(parents=True)
        (tmp_path / library / "__init__.py").touch()
        (tmp_path / library / "ops" / "__init__.py").touch()
    (tmp_path / "fla" / "ops" / "products.py").write_text(KERNEL)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "bench.others", str(tmp_path), "--target", "sm_80"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "products.product" in ran.stdout
    assert ran.stdout.splitlines()[-1].startswith("sm_80: 1 compiled, 1 with asynchronous ops: 1 every trip count")
