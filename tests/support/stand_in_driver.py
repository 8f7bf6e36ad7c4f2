"""NVIDIA's driver, stood in for: `tests/support/libcuda.c`, built as `libcuda.so.1`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.ir import ROOT

SOURCE = ROOT / "tests/support/libcuda.c"


def stand_in_driver(folder: Path) -> Path:
    """The library in `folder`, which may stand on `LD_LIBRARY_PATH`; skips the test where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    built = folder / "libcuda.so.1"
    if not built.exists():
        command = [compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", str(built), str(SOURCE)]
        subprocess.run(command, check=True)
    return built
