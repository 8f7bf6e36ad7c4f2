"""
The independent oracles: mlir-opt, mlir-translate, mlir-runner and llc of LLVM 22.

A test that needs one calls `require`. Where the tool is absent the test is skipped, unless
`TILEAS_REQUIRE_ORACLES=1`, which continuous integration sets: a skipped oracle is no oracle.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
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


def run(
    tool: str, text: str, *arguments: str, timeout: float = 60, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `tool` on `text` through standard input, and `before` in its process; the caller judges the exit status."""
    command = [require(tool), *arguments]
    return subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=timeout, check=False, preexec_fn=before
    )


def on_one_processor() -> None:
    """Keep this process to one of the processors that it may use."""
    if hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[os.getpid() % len(processors)]})


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

    It has one processor, and so its pool one thread: with two, LLVM 22's runtime of `async` forgets now and then who
    waits for a token. Once in some hundred starts a chain of four tasks, each of which waits for the one before, is
    never gone on with, all threads being idle.
    """
    shared = ",".join(map(_runner_library, ("mlir_c_runner_utils", *libraries)))
    options = ("-e", "main", "--entry-point-result=void", f"-shared-libs={shared}")
    result = run("mlir-runner", lowered, *arguments, *options, timeout=timeout, before=on_one_processor)
    assert result.returncode == 0, result.stderr
    return result.stdout


@cache
def _runner_library(name: str) -> str:
    """A library beside mlir-runner; packages name them with and without the version at the end."""
    folder = Path(require("mlir-runner")).resolve().parents[1] / "lib"
    found = sorted(folder.glob(f"lib{name}.so*"))
    assert found, f"no lib{name}.so beside mlir-runner, in {folder}"
    return str(found[0])
