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
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from tileas_xdsl.tools.main import main as tileas

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
ROAD = "tileas-materialize-async,tileas-unspecialized-pipeline{num-stages=2},tileas-optimize-pipeline-region"


@dataclass(frozen=True)
class Screenshot:
    """The upper part of the page that `tileas` writes for these arguments."""

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


def take(pictures: Path) -> None:
    """Write all of them into the folder `pictures`. The examples are found from the root of the checkout."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for shot in SCREENSHOTS:
            page = Path(folder) / "page.html"
            with contextlib.redirect_stdout(io.StringIO()):
                tileas([*shot.arguments, "-o", str(page)])
            size = {"width": shot.width, "height": shot.height}
            context = chromium.new_context(offline=True, viewport=size, color_scheme=shot.scheme)
            tab = context.new_page()
            tab.goto(page.as_uri())
            tab.screenshot(path=pictures / shot.name)
        chromium.close()


if __name__ == "__main__":
    with contextlib.chdir(ROOT):
        take(PICTURES)
    sys.exit(0)
