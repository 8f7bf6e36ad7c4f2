"""
`python -m docs.screenshots`: what a browser shows of our pages, for the pages of the documentation that show it.

Needs Chromium and Playwright. Pixels depend on the fonts of the machine, so no test compares them; `make screenshots`
makes them again when the page of a command looks different.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import threading
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from tileas_xdsl.tools.main import main as tileas
from tileas_xdsl.tools.play.answers import Asked
from tileas_xdsl.tools.play.server import serving

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
ROAD = "tileas-materialize-async,tileas-unspecialized-pipeline{num-stages=2},tileas-optimize-pipeline-region"


@dataclass(frozen=True)
class Screenshot:
    """The upper part of the page that `tileas` writes or serves for these arguments."""

    name: str
    arguments: tuple[str, ...]
    width: int
    height: int
    scheme: Literal["light", "dark"]


SCREENSHOTS = (
    Screenshot(
        "page-explain.png",
        ("explain", "examples/gemm_loop.mlir", "--target", "sm_90", "-p", ROAD),
        1000,
        900,
        "light",
    ),
    Screenshot(
        "page-play.png",
        ("play", "examples/gemm_loop.mlir", "tileir{pipeline-strategy=unspecialize}", "sm_90"),
        1280,
        760,
        "light",
    ),
    Screenshot(
        "page-race.png",
        ("timeline", "examples/zoo/release-before-load.bad.mlir", "--target", "sm_90"),
        1280,
        700,
        "dark",
    ),
    Screenshot(
        "page-deadlock.png",
        ("timeline", "examples/zoo/missing-release.bad.mlir", "--target", "sm_90"),
        390,
        560,
        "light",
    ),
)


@contextlib.contextmanager
def address_of(shot: Screenshot, folder: Path) -> Generator[str]:
    """Where the page is, for as long as it is needed: in a file that the command writes, or on a server."""
    command, *arguments = shot.arguments
    if command == "play":
        file, passes, target = arguments
        with serving(Asked(Path(file).read_text(), passes, target, name=file)) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                yield server.address
            finally:
                server.shutdown()
                thread.join()
        return
    page = folder / "page.html"
    with contextlib.redirect_stdout(io.StringIO()):
        tileas([*shot.arguments, "-o", str(page)])
    yield page.as_uri()


def take(pictures: Path) -> None:
    """Write all of them into the folder `pictures`. The examples are found from the root of the checkout."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for shot in SCREENSHOTS:
            size = {"width": shot.width, "height": shot.height}
            tab = chromium.new_context(viewport=size, color_scheme=shot.scheme).new_page()
            with address_of(shot, Path(folder)) as address:
                tab.goto(address)
                if "play" in shot.arguments:
                    tab.locator(".state", has_text=" stages").wait_for(timeout=120_000)
                tab.screenshot(path=pictures / shot.name)
        chromium.close()


if __name__ == "__main__":
    with contextlib.chdir(ROOT):
        take(PICTURES)
    sys.exit(0)
