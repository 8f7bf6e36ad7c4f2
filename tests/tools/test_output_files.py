"""What the command writes is whole, or as it was before."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

import pytest

from tileas_xdsl.tools.output_files import write_files, write_text


def broken(stream: BinaryIO) -> None:
    stream.write(b"half")
    raise OSError(28, "No space left on device")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_made_or_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "é.svg"
    write_text(str(target), "ü\r\n")
    assert target.read_bytes() == "ü\r\n".encode()
    target.chmod(0o640)
    write_text(str(target), "new")
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("new", 0o640)
    assert names(tmp_path) == ["é.svg"]


@pytest.mark.parametrize("first", ["good", "bad"])
def test_all_files_or_none_and_the_error_names_the_one_that_was_named(tmp_path: Path, first: str) -> None:
    old, good, bad = (tmp_path / name for name in ("old", "good", "bad"))
    old.write_text("old")
    writers = {str(old): lambda s: s.write(b"new"), str(good): lambda s: s.write(b"x"), str(bad): broken}
    order = [str(tmp_path / first), *(name for name in writers if not name.endswith(first))]
    with pytest.raises(OSError, match="No space left") as failure:
        write_files({name: writers[name] for name in order})
    assert failure.value.filename == str(bad)
    assert old.read_text() == "old"
    assert names(tmp_path) == ["old"]


def test_a_writer_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(stream: BinaryIO) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_files({str(tmp_path / "a"): interrupted})
    assert names(tmp_path) == []


def test_folders_and_files_that_may_not_be_changed_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IsADirectoryError) as failure:
        write_text(str(tmp_path), "x")
    assert failure.value.filename == str(tmp_path)
    locked = tmp_path / "locked"
    locked.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError) as refusal:
        write_text(str(locked), "x")
    assert refusal.value.filename == str(locked)
    assert (locked.read_text(), names(tmp_path)) == ("old", ["locked"])


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    write_text(str(tmp_path / "link"), "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(str(pipe), "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


def test_a_name_as_long_as_names_may_be(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 255)
    write_text(str(target), "x")
    assert target.read_text() == "x"
