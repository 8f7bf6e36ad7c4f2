"""
The wheel with every Python that the package's classifiers name, each in a fresh environment.

The other tests run with one Python. Here the others install the wheel: their commands print what this one's print, byte
for byte, and some of the tests pass, warnings as errors. An interpreter is looked for on the path and among pyenv's
versions. Where there is none the test is skipped, or fails where oracles are mandatory: a classifier that is not
tested is taken out of `pyproject.toml`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.corpora import nightly
from tests.support.ir import ROOT
from tests.test_fresh_environment import copy_checkout, typed

CLAIMED = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
OTHERS = [version for version in CLAIMED if version != f"3.{sys.version_info.minor}"]

TESTS = (
    "tests/checker/test_over_waits.py",
    "tests/dialects/test_nv_tileas.py",
    "tests/layouts/test_fragments.py",
    "tests/machine/test_threads.py",
    "tests/transforms/test_loop_expander.py",
)
"""Some of the layers, which need no tool beside pytest and hypothesis."""

COMPILE = """import sys, pathlib
found = [path for path in pathlib.Path(sys.argv[1]).rglob("*.py") if "course" not in path.parts]
for path in found:
    compile(path.read_text(), str(path), "exec")
print(len(found))
"""
"""Prints how many modules of a folder there are; fails where this Python does not compile one without a warning."""

COMMANDS = (
    "xdsl-opt examples/double_buffer.mlir -p inject-software-pipeline,convert-async-to-queue,convert-queue-to-rocdl",
    "xdsl-opt examples/gemm_loop.mlir -p 'tileir{compute-capability=sm_90}'",
    "tileas check examples/zoo/release-before-load.bad.mlir || true",
    "tileas run examples/double_buffer.mlir --arg n=8 --arg src=8x4:iota --arg dst=8x4:zeros --format json",
    "tileas timeline examples/gemm_loop.mlir --trip-count 4 --target sm_90 -o build/t.svg && cat build/t.svg",
    "tileas course check 1 course/01-asynchronous-work/solution.mlir",
    "tileas course check 4 course/04-counts/wrong-four.mlir || true",
)
"""What is printed depends on no Python."""


def interpreter(version: str) -> str:
    """A Python of this version that can make environments; skips the calling test without one, or fails it."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"versions/{version}.*/bin/python"))]
    for candidate in map(str, filter(None, candidates)):
        asked = subprocess.run([candidate, "-c", "import ensurepip, venv"], capture_output=True, check=False)
        if asked.returncode == 0:
            return candidate
    if os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
        pytest.fail(f"Python {version} is claimed in pyproject.toml and was not found")
    pytest.skip(f"needs Python {version}")


def test_the_claimed_pythons_are_those_that_are_allowed() -> None:
    assert CLAIMED[0] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].strip(">=")
    assert f"3.{sys.version_info.minor}" in CLAIMED


@pytest.mark.parametrize("version", OTHERS)
def test_another_python_compiles_every_module_without_a_warning(version: str) -> None:
    done = subprocess.run(
        [interpreter(version), "-W", "error", "-c", COMPILE, str(ROOT / "tileas_xdsl")], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 500


@nightly("an environment is made for each Python, and tests run in it")
@pytest.mark.parametrize("version", OTHERS)
def test_the_wheel_works_with_another_python(version: str, tmp_path: Path) -> None:
    python = interpreter(version)
    checkout = tmp_path / "checkout"
    copy_checkout(checkout)
    typed(checkout, [f"{python} -m venv env", "env/bin/pip install --quiet . pytest hypothesis"])
    # What is tested is what was installed: the tests put the checkout's root before it.
    shutil.move(checkout / "tileas_xdsl" / "course", checkout / "course")
    shutil.rmtree(checkout / "tileas_xdsl")

    mine = printed(checkout, Path(sys.executable).parent)
    its = printed(checkout, checkout / "env" / "bin")
    for command, ours, other in zip(COMMANDS, mine, its, strict=True):
        assert ours != "", command
        assert other == ours, command
    tests = typed(checkout, [f"env/bin/python -m pytest {' '.join(TESTS)}"]).stdout
    assert re.search(r"^\d{3,} passed in", tests, re.MULTILINE), tests


def printed(checkout: Path, scripts: Path) -> list[str]:
    """What each of `COMMANDS` prints on standard output with the `scripts` of an environment."""
    return [typed(checkout, ["mkdir -p build", f"PATH={scripts}:$PATH", command]).stdout for command in COMMANDS]
