"""A command that begins with its modules imported does what the command does: pipes, files, statuses, environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.ir import ROOT
from tests.support.warm_commands import SCRIPTS, warm_commands

SCRIPT = """
(cd "$OUT"; COLUMNS=60 tileas check --help; tileas nothing; echo $?)
tileas check examples/zoo/circular-wait.bad.mlir; echo $?
tileas check - < examples/double_buffer.mlir > "$OUT/a" 2>&1; cat "$OUT/a"
xdsl-opt examples/double_buffer.mlir | head -3; echo ${PIPESTATUS[1]}
echo x | xdsl-opt 2>&1 | tail -1; tileas run --help
"""


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    with warm_commands(tmp_path_factory.mktemp("warm")) as folder:
        yield folder


def said(first_on_path: Path, out: Path, script: str, **variables: str) -> tuple[int, str, str]:
    path = os.pathsep.join([str(first_on_path), str(SCRIPTS), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "OUT": str(out), **variables}
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_it_says_what_the_command_says(warm: Path, tmp_path: Path) -> None:
    itself, other = said(SCRIPTS, tmp_path, SCRIPT), said(warm, tmp_path, SCRIPT)
    assert other == itself
    assert "deadlock" in itself[1]


def test_variables_of_python_are_not_lost(warm: Path, tmp_path: Path) -> None:
    """The server was started without them: the command itself is run."""
    (tmp_path / "sitecustomize.py").write_text("print('seen')\n")
    _, out, _ = said(warm, tmp_path, "tileas --version", PYTHONPATH=str(tmp_path))
    assert out.startswith("seen\n")


def test_without_its_server_a_command_fails(tmp_path: Path) -> None:
    with warm_commands(tmp_path):
        pass
    status, out, _ = said(tmp_path, tmp_path, "tileas --version")
    assert status != 0
    assert out == ""
