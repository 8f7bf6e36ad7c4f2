"""Running the command `tileas` in this process, in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tileas_xdsl.tools import main as command

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def tileas(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`tileas(command, text or path, *options)`: status, standard output and error; a text is called `p.mlir`."""
    monkeypatch.chdir(tmp_path)

    def run(name: str, program: str | Path, *options: str) -> tuple[int, str, str]:
        path = program if isinstance(program, Path) else Path("p.mlir")
        if isinstance(program, str):
            path.write_text(program)
        status = command.main([name, str(path), *options])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run
