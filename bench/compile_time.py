"""
Processor time from a matrix product to a cubin: `tileas compile`, and Triton on the same product (extra `triton`).

Both are whole processes, with their children: the start of Python, imports, LLVM and ptxas. *Inside* leaves out the
start and the imports that a long process pays once. Triton's cache is off. The processes alternate; each number is the
least of its runs, which disturbs it least.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RUNS = 7
INSIDE = """
import sys, time
from tileas_xdsl.tools.start import hasten
hasten()
import tileas_xdsl.tools.compile
from tileas_xdsl.tools.main import main
sys.argv[1:1] = ["compile"]
from resource import RUSAGE_CHILDREN, getrusage
start = time.process_time()
main()
children = getrusage(RUSAGE_CHILDREN)
print(time.process_time() - start + children.ru_utime + children.ru_stime)
"""


def commands(directory: str) -> dict[str, list[str]]:
    """What is run, by name; Triton only where it is installed."""
    ours = [str(ROOT / "examples" / "gemm_loop.mlir"), "--target", "sm_90a", "--no-check"]
    ours += ["-o", f"{directory}/ours.cubin"]
    found = {"tileas compile": [sys.executable, "-c", INSIDE, *ours]}
    if find_spec("triton") is not None:
        found["Triton"] = [sys.executable, "-W", "ignore", "-m", "bench.triton_matmul", f"{directory}/triton.cubin"]
    return found


def seconds(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Processor time of a process with its children, and of what it did after its imports."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return whole, float(done.stdout.split()[-1])


def measure() -> list[dict[str, Any]]:
    """A row for each compiler: processor seconds of the whole process and inside it, and the ratio to the last row."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, "TRITON_ALWAYS_COMPILE": "1", "TRITON_CACHE_DIR": directory}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        found = commands(directory)
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in found}
        for _ in range(RUNS):
            for name, command in found.items():
                taken[name].append(seconds(command, environment))
    least = {name: [min(column) for column in zip(*times, strict=True)] for name, times in taken.items()}
    peer = least["Triton"][0] if "Triton" in least else None
    return [
        {
            "compiler": name,
            "runs": RUNS,
            "whole process s": whole,
            "inside s": inside,
            "over Triton": whole / peer if peer is not None else None,
        }
        for name, (whole, inside) in least.items()
    ]
