"""
Compiled programs, kept on disk: a file for each, called by the hash of all that decides what is in it.

A file is the hash of its content, then the content, compressed. It is written beside its place and moved there, so any
number of processes may share the folder, and what is read is whole. A file that is damaged is removed and made again.
A folder that is full or cannot be written costs a line on standard error, and no work. When the files together exceed
the limit, those that were not used for longest go.

The folder is the platform's for caches, or what `TILEAS_CACHE` says; `TILEAS_CACHE_BYTES` is the limit.
"""

from __future__ import annotations

import hashlib
import os
import sys
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tileas_xdsl.diagnostics import printable

FOLDER, BYTES = "TILEAS_CACHE", "TILEAS_CACHE_BYTES"
"""Variables of the environment: where the cache lies, and how large it may become."""
MOST_BYTES = 1 << 30
SUFFIX = ".kernel"
HASH_SIZE = 64
"""Characters of a hash, which stands on a line in front of the content."""


def default_folder() -> Path:
    """Where the platform keeps caches of a program: XDG's folder, macOS' Library, Windows' local data."""
    said = os.environ.get(FOLDER)
    if said:
        return Path(said)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "tileas-xdsl" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tileas-xdsl"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tileas-xdsl"


@dataclass(frozen=True)
class Contents:
    """How many files a cache holds, and their bytes."""

    files: int
    size: int


@dataclass(frozen=True)
class Cache:
    """A folder of compiled programs, of at most `limit` bytes."""

    folder: Path
    limit: int

    @classmethod
    def default(cls) -> Cache:
        """The cache of this user, as the environment says."""
        said = os.environ.get(BYTES, "")
        return cls(default_folder(), int(said) if said.isdecimal() else MOST_BYTES)

    def get(self, key: str) -> bytes | None:
        """What was put under `key`; None where there is nothing that is whole."""
        file = self._file(key)
        try:
            data = file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            _say(f"the cache cannot be read ({_reason(error)}: {file}); the kernel is compiled again")
            return None
        found, content = data[:HASH_SIZE], data[HASH_SIZE + 1 :]
        if found.decode("ascii", "replace") != hashlib.sha256(content).hexdigest():
            _say(f"a file of the cache is damaged ({file}); the kernel is compiled again")
            with suppress(OSError):
                file.unlink()
            return None
        with suppress(OSError):
            os.utime(file)  # it was used now
        return zlib.decompress(content)

    def put(self, key: str, data: bytes) -> None:
        """Keep `data` under `key`, and let go of what was not used for longest. Never raises `OSError`."""
        content = zlib.compress(data, 1)
        file = self._file(key)
        draft = file.with_suffix(f".{os.getpid()}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
            draft.replace(file)
            self._make_room()
        except OSError as error:
            _say(f"the cache cannot be written ({_reason(error)}: {self.folder}); the kernel is not kept")
        finally:
            with suppress(OSError):
                draft.unlink()

    def contents(self) -> Contents:
        """What there is."""
        sizes = [status.st_size for _, status in self._files()]
        return Contents(len(sizes), sum(sizes))

    def clear(self) -> Contents:
        """Remove all files, and say what there was. Raises `OSError` for one that cannot be removed."""
        before = self.contents()
        for file, _ in self._files():
            file.unlink(missing_ok=True)
        return before

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"

    def _files(self) -> list[tuple[Path, os.stat_result]]:
        """All files with their sizes and times; one that another process removes meanwhile is none."""
        found: list[tuple[Path, os.stat_result]] = []
        for file in self.folder.glob(f"*{SUFFIX}"):
            with suppress(OSError):
                found.append((file, file.stat()))
        return found

    def _make_room(self) -> None:
        files = sorted(self._files(), key=lambda entry: entry[1].st_mtime_ns)
        size = sum(status.st_size for _, status in files)
        for file, status in files:
            if size <= self.limit:
                return
            file.unlink(missing_ok=True)
            size -= status.st_size


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


@cache
def _say(text: str) -> None:
    """One line, once a process."""
    print(printable(f"warning: {text}"), file=sys.stderr)
