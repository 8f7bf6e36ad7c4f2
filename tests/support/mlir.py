"""
The independent oracles: mlir-opt, mlir-translate, mlir-runner and llc of LLVM 22.

A test that needs one calls `require`. Where the tool is absent the test is skipped, unless
`TILEAS_REQUIRE_ORACLES=1`, which continuous integration sets: a skipped oracle is no oracle.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

PLACES = [os.environ.get("TILEAS_LLVM_BIN", ""), "/usr/lib/llvm-22/bin"]


@cache
def find(tool: str) -> str | None:
    """The path of `tool` of LLVM 22, or None."""
    for place in filter(None, PLACES):
        candidate = Path(place) / tool
        if candidate.is_file():
            return str(candidate)
    return shutil.which(f"{tool}-22")


def require(tool: str) -> str:
    """The path of `tool`; skips the calling test without it, or fails where oracles are mandatory."""
    path = find(tool)
    if path is None:
        if os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
            pytest.fail(f"{tool} of LLVM 22 is required here and was not found")
        pytest.skip(f"needs {tool} of LLVM 22")
    return path


def run(tool: str, text: str, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Run `tool` on `text` through standard input; the caller judges the exit status."""
    command = [require(tool), *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=timeout, check=False)


def mlir_opt(text: str, *arguments: str) -> str:
    """What mlir-opt prints for `text`; fails the test with mlir-opt's own message when it refuses."""
    result = run("mlir-opt", text, *arguments)
    assert result.returncode == 0, f"mlir-opt refused:\n{result.stderr}\n--- input ---\n{text}"
    return result.stdout


def mlir_opt_rejects(text: str, *arguments: str) -> str:
    """The message with which mlir-opt rejects `text`; fails the test when it accepts."""
    result = run("mlir-opt", text, *arguments)
    assert result.returncode != 0, f"mlir-opt accepted:\n{text}\n--- as ---\n{result.stdout}"
    return result.stderr


def run_main(lowered: str, *arguments: str, libraries: tuple[str, ...] = (), timeout: float = 60) -> str:
    """
    What mlir-runner prints when it runs `@main` of a lowered module; fails the test where it does not end well.

    Started again, at most twice, where it does not end, or not well. About one start in 200 hangs with LLVM 22's
    runtime of `async`, with one worker as with two: all threads are idle, the queue of tasks is empty, and in a chain
    of tasks one that waited for a token which is over has not gone on. Once a start died without a word. Why is
    not known. The programs have no circle of waits, as the checker proves; one that is wrong fails each time.
    """
    shared = ",".join(map(_runner_library, ("mlir_c_runner_utils", *libraries)))
    options = ("-e", "main", "--entry-point-result=void", f"-shared-libs={shared}")
    result = _started_again("mlir-runner", lowered, *arguments, *options, timeout=timeout)
    assert result.returncode == 0, result.stderr
    return result.stdout


def _started_again(tool: str, text: str, *arguments: str, timeout: float) -> subprocess.CompletedProcess[str]:
    """What `run` returns, at the third start at the latest."""
    for _ in range(2):
        with suppress(subprocess.TimeoutExpired):
            result = run(tool, text, *arguments, timeout=timeout)
            if result.returncode == 0:
                return result
    return run(tool, text, *arguments, timeout=timeout)


@cache
def _runner_library(name: str) -> str:
    """A library beside mlir-runner; packages name them with and without the version at the end."""
    folder = Path(require("mlir-runner")).resolve().parents[1] / "lib"
    found = sorted(folder.glob(f"lib{name}.so*"))
    assert found, f"no lib{name}.so beside mlir-runner, in {folder}"
    return str(found[0])
