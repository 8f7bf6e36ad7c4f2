"""
Debian's Chromium, through Playwright, without a network: what a page asks for, what it says on the console, and how
wide it is.

A test that needs it calls `require_chromium`. Without it the test is skipped, unless `TILEAS_REQUIRE_ORACLES=1`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

WIDTHS = (1280, 390)
"""Pixels: a laptop and a telephone."""
HEIGHT = 844


def require_chromium() -> str:
    """
    The path of Chromium; skips the calling test where it or Playwright is absent, or fails where oracles are
    mandatory.
    """
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None or find_spec("playwright") is None:
        missing = "Chromium (apt-get install chromium)" if path is None else "playwright (pip install playwright)"
        if os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
            pytest.fail(f"{missing} is required here and was not found")
        pytest.skip(f"needs {missing}")
    return path


@dataclass
class Browser:
    """One tab. What goes wrong while pages are open in it is written down in `faults`."""

    page: Page
    folder: Path
    """Pages may load what lies below it, and nothing else."""
    address: str = "about:"
    """Where the server of these pages is, if there is one."""
    faults: list[str] = field(default_factory=list[str])

    def open(self, path: Path) -> Page:
        """Load a page, at the first of the widths."""
        self.page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
        self.page.goto(path.as_uri())
        return self.page

    def look_at(self, path: Path) -> list[str]:
        """What is wrong with a page at every width, one line each."""
        before = len(self.faults)
        self.open(path)
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
            needed = self.page.evaluate("document.documentElement.scrollWidth")
            if needed > width:
                self.faults.append(f"{needed} pixels wide at {width}")
        return [f"{path.relative_to(self.folder)}: {fault}" for fault in self.faults[before:]]

    def note(self, request: Request) -> None:
        """Write down a request that leaves the folder; without a network it fails."""
        if not request.url.startswith((self.folder.as_uri(), "data:", "blob:", "about:", self.address)):
            self.faults.append(f"asks for {request.url}")


@contextmanager
def browser(folder: Path, *, offline: bool = True) -> Generator[Browser]:
    """A tab that sees no network unless `offline` is false, for the pages below `folder`."""
    path = require_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        context = chromium.new_context(offline=offline, reduced_motion="reduce")
        tab = Browser(context.new_page(), folder)
        tab.page.on("request", tab.note)
        tab.page.on(
            "console", lambda said: tab.faults.append(f"console: {said.text}") if said.type == "error" else None
        )
        tab.page.on("pageerror", lambda error: tab.faults.append(f"error: {error}"))
        yield tab
        chromium.close()
