"""The cache of compiled programs: what it keeps, what it lets go, and that nothing that is wrong with it costs work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ir import ROOT
from tileas_xdsl.kernels.cache import Cache, Contents, default_folder
from tileas_xdsl.tools import main as command

KEY, OTHER = "a" * 64, "b" * 64


def cache_of(folder: Path, limit: int = 1 << 20) -> Cache:
    return Cache(folder, limit)


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_what_was_put_is_found_again(folder: Path) -> None:
    cache = cache_of(folder)
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"
    assert cache.get(OTHER) is None
    assert [file.name for file in folder.iterdir()] == [f"{KEY}.kernel"], "no draft is left"


@pytest.mark.parametrize("damage", [b"", b"x", b"0" * 64 + b"\nrubbish"])
def test_what_is_damaged_is_removed_and_said(damage: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = cache_of(folder)
    cache.put(KEY, b"code")
    only_file(folder).write_bytes(damage)
    assert cache.get(KEY) is None
    said = capsys.readouterr().err
    assert said.startswith("warning: a file of the cache is damaged (")
    assert said.count("\n") == 1
    assert not list(folder.iterdir())
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"


def test_half_a_file_is_damaged(folder: Path) -> None:
    cache = cache_of(folder)
    cache.put(KEY, bytes(range(256)) * 9)
    file = only_file(folder)
    file.write_bytes(file.read_bytes()[:-3])
    assert cache.get(KEY) is None


def test_a_folder_that_cannot_be_written_costs_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("no folder")
    cache = cache_of(tmp_path / "file" / "cache")
    cache.put(KEY, b"code")
    said = capsys.readouterr().err
    assert said.startswith("warning: the cache cannot be written (")
    assert "the kernel is not kept" in said
    assert said.count("\n") == 1
    cache.put(OTHER, b"code")
    assert capsys.readouterr().err == "", "once a process"


def test_a_full_disk_costs_a_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    cache_of(folder).put(KEY, b"code")
    assert "warning: the cache cannot be written (no space left on device: " in capsys.readouterr().err
    assert not list(folder.iterdir())


def test_what_was_not_used_for_longest_goes(folder: Path) -> None:
    cache = cache_of(folder)
    for number in range(4):
        cache.put(str(number) * 64, os.urandom(1000))
        os.utime(folder / f"{str(number) * 64}.kernel", (number, number))
    assert cache.get("0" * 64) is not None, "which makes it the last one that was used"
    cache_of(folder, limit=3500).put(KEY, os.urandom(1000))
    assert [cache.get(str(number) * 64) is not None for number in range(4)] == [True, False, False, True]
    assert cache.contents().size <= 3500


def test_several_processes_may_write_and_read_at_once(folder: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom tileas_xdsl.kernels.cache import Cache\n"
        "cache = Cache(Path(sys.argv[1]), 60_000)\n"
        "for turn in range(60):\n"
        "    key = str(turn % 8) * 64\n    found = cache.get(key)\n"
        "    assert found in (None, key.encode() * 200), found\n    cache.put(key, key.encode() * 200)\n"
    )
    words = [sys.executable, "-c", script, str(folder)]
    running = [subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[1] for process in running] == [""] * 3
    assert [process.returncode for process in running] == [0] * 3
    assert all(file.suffix == ".kernel" for file in folder.iterdir())


def test_the_command_shows_and_clears_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Cache.default().put(KEY, b"code")
    size = Cache.default().contents().size
    assert command.main(["cache"]) == 0
    assert capsys.readouterr().out == f"{folder}: 1 program, {size} bytes; at most 1,073,741,824 bytes\n"
    assert command.main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == f"{folder}: removed 1 program, {size} bytes\n"
    assert Cache.default().contents() == Contents(0, 0)


def test_the_folder_is_the_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEAS_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_folder() == Path("/somewhere/tileas-xdsl")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_folder() == Path.home() / ".cache/tileas-xdsl"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_folder() == Path.home() / "Library/Caches/tileas-xdsl"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert default_folder() == Path("/local/tileas-xdsl/cache")
