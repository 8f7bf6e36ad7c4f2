"""
The map of the site: which page stands where, and under which name. A title names what one does or finds there.

A page is named by its path below `docs/`, or below the source of the site where it is generated. What stands here and
does not exist is an error, and so is a page of `docs/` that stands nowhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from docs.site.notebooks import TITLES, page_of

Entry: TypeAlias = "tuple[str, str | list[Entry]]"
"""A title, and a page or entries below it."""

LEARN: list[Entry] = [
    ("Ten minutes", "first-steps.md"),
    ("The course", "course/index.md"),
    ("Notebooks", [("All notebooks", "notebooks.md"), *((title, page_of(name)) for name, title in TITLES.items())]),
    ("Words of the course", "course/glossary.md"),
]
"""Chapters stand between the course and its words, in their order."""

DO: list[Entry] = [
    ("Check your Triton kernel", "triton.md"),
    ("From a Python kernel to PTX", "python-to-ptx.md"),
    ("Check any kernel", "ptx.md"),
    ("Find races and deadlocks", "tileas-command.md"),
    ("Draw a timeline", "timeline.md"),
    ("See what each pass changes", "explain.md"),
    ("Play with a program", "play.md"),
    ("Schedule a loop", "schedules.md"),
    ("Prove a schedule", "proven-schedules.md"),
    ("Convert between models", "four-ways.md"),
    ("See who holds which element", "layouts.md"),
    ("Compile to PTX", "backend.md"),
    ("Work from Python", "python.md"),
    ("Write a package of your own", "your-own-package.md"),
    ("Write an asynchronous op", "your-own-async-op.md"),
]

HOW: list[Entry] = [
    ("The machine", "machine.md"),
    ("Threads of an agent", "threads.md"),
    ("Proofs", "proofs.md"),
    ("Decisions", "decisions.md"),
    ("Mutation", "mutation.md"),
    ("First uses", "first-uses.md"),
    ("TVM's pass and ours", "compare-tvm.md"),
    ("Texts of TileAS", "verbatim.md"),
    ("Performance", "performance.md"),
    ("Gap table", "gap-table.md"),
    ("Contributing", "contributing.md"),
]

ELSEWHERE = {"index.md", "zoo/index.md", "glossary.md", "contents.md"}
"""Pages of `docs/` that stand in the navigation by themselves; the list of contents is for readers without a site."""


def navigation(docs: Path, generated: list[Entry]) -> list[Entry]:
    """
    The whole map: `generated` is what stands under Reference beside the words.

    Raises `ValueError` for a page of the map that is not there, and for one of `docs` that is not on the map.
    """
    chapters: list[Entry] = [
        (title_of(page), f"course/{page.name}") for page in sorted((docs / "course").glob("[0-9]*.md"))
    ]
    depth = [pages_in(docs, folder) for folder in ("passes", "dialects")]
    found: list[Entry] = [
        ("Home", "index.md"),
        ("Learn", [*LEARN[:2], *chapters, *LEARN[2:]]),
        ("Do", DO),
        ("Zoo", [("The bug zoo", "zoo/index.md")]),
        ("Reference", [*generated, ("Words", "glossary.md")]),
        ("How it works", [*HOW, ("Passes in depth", depth[0]), ("Dialects in depth", depth[1])]),
    ]
    missing = sorted(unplaced(docs, found))
    if missing:
        raise ValueError(f"not on the map of the site (docs/site/plan.py): {', '.join(missing)}")
    return found


def pages_in(docs: Path, folder: str) -> list[Entry]:
    """The pages of a folder, each under its title."""
    return [(title_of(page), f"{folder}/{page.name}") for page in sorted((docs / folder).glob("*.md"))]


def title_of(page: Path) -> str:
    """The first heading of a page, without marks of code."""
    heading = next(line for line in page.read_text().splitlines() if line.startswith("# "))
    return heading.removeprefix("# ").replace("`", "")


def unplaced(docs: Path, entries: list[Entry]) -> set[str]:
    """The pages of `docs` that `entries` do not name; those of the zoo hang on its index."""
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")}
    return {page for page in pages - named(entries) - ELSEWHERE if not page.startswith(("zoo/", "site/"))}


def named(entries: list[Entry]) -> set[str]:
    """The pages that `entries` lead to."""
    found: set[str] = set()
    for _, target in entries:
        found |= {target} if isinstance(target, str) else named(target)
    return found
