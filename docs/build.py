"""
`python -m docs.build`: the site, from the pages of `docs/` and from the code. `make docs` runs it.

Plain Markdown goes to `build/site-source/` (`docs/site/source.py`), mkdocs-material renders it to `build/site/`, and
then every link, anchor and address of the rendered pages is followed (`docs/site/links.py`). A warning of mkdocs or a
link that leads nowhere ends the command with status 1. Nothing is asked of a network, here or by the pages.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from docs.site.links import faults
from docs.site.source import write_source

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
"""What mkdocs-material says of a later mkdocs is no warning about our pages."""


def build(folder: Path) -> list[str]:
    """
    Write the site to `folder / "site"`, by way of `folder / "site-source"`; what is wrong with it, one line each.

    Raises `CalledProcessError` where mkdocs has a warning.
    """
    source = folder / "site-source"
    write_source(ROOT, source)
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "--quiet",
        "build",
        "--strict",
        "--config-file",
        str(source / "mkdocs.yml"),
    ]
    subprocess.run(command, check=True, env=ENVIRONMENT)
    (folder / "site" / "404.html").unlink()  # a page for servers: its addresses begin at their root
    return faults(folder / "site")


def main() -> int:
    found = build(ROOT / "build")
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    pages = len(list((ROOT / "build" / "site").rglob("*.html")))
    print(f"build/site/index.html: {pages} pages, {len(found)} dead links")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
