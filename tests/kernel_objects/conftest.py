"""Kernels of these tests are kept in a folder of the test, never in the user's."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the cache of the test lies."""
    monkeypatch.setenv("TILEAS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
