"""
Reference of the passes, from their classes and docstrings: one page a pass, with its options, the picture of the IR
before and after, what it requires and refuses, and what it chose where sources leave that open.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from docs.site.reference.commands import code
from docs.site.reference.docstrings import as_markdown, breakable, cell, doc_of, sections
from tileas_xdsl.names import DRIVERS, PASSES
from tileas_xdsl.tools.passes import PassRow, describe
from tileas_xdsl.universe import TILEAS

HEADINGS = ("Rewrites", "Requires", "Refuses", "Choices")
INDEX = """\
# Passes

Each pass plans first and then rewrites; what it cannot do it refuses before it changes anything.
The names are those of `xdsl-opt -p` and `tileas opt -p`.

"""
FAMILIES = {
    "tileas": "TileAS",
    "queues": "Queues: waiting by count",
    "tokens": "Tokens of `async`",
    "marks": "Marks and counters of AMDGPU",
    "to_llvm": "Down to LLVM",
    "checking": "Checks",
    "pipelines": "The driver",
}
"""Folder below `transforms/`, or module of a driver -> how its family is called."""


def pass_pages(docs: Path) -> dict[str, str]:
    """Path below the source of the site -> Markdown."""
    rows = {name: describe(name, factory) for name, factory in sorted(TILEAS.all_passes.items())}
    pages = {f"reference/passes/{name}.md": pass_page(row, in_depth(docs, name)) for name, row in rows.items()}
    return {"reference/passes/index.md": index(rows)} | pages


def index(rows: dict[str, PassRow]) -> str:
    """All passes by their families, a line each."""
    parts = [INDEX.rstrip()]
    for folder, family in FAMILIES.items():
        members = [row for name, row in rows.items() if family_of(name) == folder]
        lines = [f"| [{row.name}]({row.name}.md) | {breakable(cell(row.description))} |" for row in members]
        parts.append("\n".join([f"## {family}\n", "| pass | what it does |", "|---|---|", *lines]))
    return "\n\n".join(parts) + "\n"


def family_of(name: str) -> str:
    """The folder of the pass below `transforms/`, or the module of a driver."""
    return (PASSES[name][0] if name in PASSES else DRIVERS[name][0]).partition(".")[0]


def pass_page(row: PassRow, more: str | None) -> str:
    """One pass. `more` is the page that goes into depth, where there is one."""
    pass_type = TILEAS.all_passes[row.name]()
    said = sections(doc_of(pass_type))
    parts = [f"# {row.name}", cell(row.description)]
    if more is not None:
        parts.append(f"[In depth](../../{more})")
    parts.append(f"```sh\nxdsl-opt FILE -p {row.name}\n```")
    parts.append("## Options\n\n" + options(row))
    picture = inspect.getdoc(inspect.getmodule(pass_type)) or ""
    parts.append("## Before and after\n\n" + as_markdown(picture))
    parts += [f"## {heading}\n\n{as_markdown(said[heading])}" for heading in HEADINGS if said.get(heading)]
    return "\n\n".join(parts) + "\n"


def options(row: PassRow) -> str:
    """A table of the options of a pass, or that it has none."""
    if not row.options:
        return "None."
    lines = ["| option | values | default | meaning |", "|---|---|---|---|"]
    for option in row.options:
        default = "required" if option.required else code(option.ending.removeprefix(" = "))
        lines.append(f"| {code(option.name)} | {code(option.allowed)} | {default} | {cell(option.help)} |")
    return "\n".join(lines)


def in_depth(docs: Path, name: str) -> str | None:
    """The page of `docs/passes/` about a pass: the one of its name, or else the one whose title names it."""
    for page in sorted((docs / "passes").glob("*.md")):
        title = page.read_text().partition("\n")[0]
        if page.stem == name.removeprefix("tileas-") or re.search(
            rf"(?<![\w-])(tileas-)?{re.escape(name.removeprefix('tileas-'))}(?![\w-])", title
        ):
            return f"passes/{page.name}"
    return None
