"""
`make pictures`: draw the pictures of the documentation anew, by the commands that stand beside them.

A picture is bound to its commands by a line at the end of an `sh` fence, which the tests of the documentation execute:

    tileas timeline examples/gemm_loop.mlir -o build/gemm.svg
    cmp build/gemm.svg docs/pictures/gemm.svg

Here the same fences run without `cmp`, and what they draw is copied to its place.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")))
FENCE = re.compile(r"^```sh(?: exit=\d+)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
BOUND = re.compile(r"^cmp (build/\S+) (docs/\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Drawing:
    """A fence that draws a picture, or several."""

    page: Path
    script: str
    pictures: tuple[tuple[str, str], ...]
    """What the script draws, and where that belongs."""


def drawings() -> list[Drawing]:
    """Every fence of the documentation that draws a picture which it shows."""
    scripts = [(page, script) for page in PAGES for script in FENCE.findall(page.read_text(encoding="utf-8"))]
    return [Drawing(page, script, tuple(BOUND.findall(script))) for page, script in scripts if BOUND.search(script)]


def main() -> int:
    (ROOT / "build").mkdir(exist_ok=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for drawing in drawings():
        script = BOUND.sub("", drawing.script)
        subprocess.run(
            ["bash", "-uc", script], cwd=ROOT, env={**os.environ, "PATH": path}, stdout=sys.stderr, check=False
        )
        for drawn, place in drawing.pictures:
            shutil.copyfile(ROOT / drawn, ROOT / place)
            print(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
