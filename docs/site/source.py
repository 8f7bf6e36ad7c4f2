"""
The source of the site: plain Markdown, pictures, and one file of settings for mkdocs.

Pages of `docs/` keep their paths, so that what leads from one to the other stays. What they name elsewhere in the
repository gets a page of its own under `files/`; the programs of an exhibit stand on its page.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from docs.site import glossary
from docs.site.markdown import relink, retag, space_lists
from docs.site.notebooks import write_notebooks
from docs.site.plan import Entry, navigation
from docs.site.reference.commands import command_pages
from docs.site.reference.diagnostics import diagnostics_page
from docs.site.reference.dialects import dialect_pages
from docs.site.reference.passes import pass_pages
from docs.site.reference.ptx import ptx_page
from docs.site.reference.python_api import api_page
from docs.site.reference.targets import targets_page
from tileas_xdsl.names import PASSES
from tileas_xdsl.tools.main import SUBCOMMANDS

LANGUAGES = {".mlir": "mlir", ".py": "python", ".toml": "toml", ".ttgir": "mlir", ".ll": "llvm"}
"""Suffix of a file that a page names -> the language of its fence."""
PICTURES = ("*.svg", "*.png")
EXHIBIT = re.compile(r"\]\((?:\.\./)+examples/zoo/[\w.-]+\.(bad|good)\.mlir\)")


def write_source(root: Path, folder: Path) -> None:
    """Write the source of the site of the repository `root` to `folder`, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root / "docs" / "site" / "assets", folder / "pages" / "assets")
    pages = generated(root) | written(root) | write_notebooks(folder / "pages")
    pages = {page: finished(root, page, text) for page, text in pages.items()}
    pages |= {file_page(path): listing(root, path) for path in sorted(named_files(root, pages))}
    known = glossary.terms((root / "docs" / glossary.PAGE).read_text())
    for page, text in pages.items():
        path = folder / "pages" / page
        path.parent.mkdir(parents=True, exist_ok=True)
        linked = text if is_left_unlinked(page) else glossary.link_terms(text, page, known)
        path.write_text(linked, encoding="utf-8")
    copy_pictures(root / "docs", folder / "pages")
    (folder / "mkdocs.yml").write_text(settings(root, folder), encoding="utf-8")


# Pages ----------------------------------------------------------------------------------------------------------------


def generated(root: Path) -> dict[str, str]:
    """The pages that are made from the code."""
    package = root / "tileas_xdsl"
    return {
        **command_pages(),
        **pass_pages(root / "docs"),
        **dialect_pages(),
        "reference/diagnostics.md": diagnostics_page(package),
        "reference/python.md": api_page(),
        "reference/targets.md": targets_page(),
        "reference/ptx.md": ptx_page(),
    }


def reference() -> list[Entry]:
    """Where they stand."""
    from tileas_xdsl.universe import TILEAS

    commands: list[Entry] = [(f"tileas {name}", f"reference/commands/{name}.md") for name in SUBCOMMANDS]
    passes: list[Entry] = [(name, f"reference/passes/{name}.md") for name in sorted(TILEAS.all_passes)]
    dialects: list[Entry] = [(name, f"reference/dialects/{name}.md") for name in sorted(TILEAS.all_dialects)]
    assert PASSES.keys() <= TILEAS.all_passes.keys()
    return [
        ("Commands", [("All commands", "reference/commands/index.md"), *commands]),
        ("Passes", [("All passes", "reference/passes/index.md"), *passes]),
        ("Dialects", [("All dialects", "reference/dialects/index.md"), *dialects]),
        ("Diagnostics", "reference/diagnostics.md"),
        ("Python API", "reference/python.md"),
        ("Targets", "reference/targets.md"),
        ("Instructions of PTX", "reference/ptx.md"),
    ]


def written(root: Path) -> dict[str, str]:
    """The pages of `docs/`, and the page for contributors."""
    docs = root / "docs"
    found = {str(page.relative_to(docs)): page.read_text() for page in sorted(docs.rglob("*.md"))}
    found["contributing.md"] = (root / "CONTRIBUTING.md").read_text()
    return {page: with_programs(root, page, text) for page, text in found.items()}


def with_programs(root: Path, page: str, text: str) -> str:
    """The page of an exhibit with its two programs, to which its links lead."""
    folder, _, name = page.partition("/")
    programs = {kind: root / "examples" / "zoo" / f"{Path(name).stem}.{kind}.mlir" for kind in ("bad", "good")}
    if folder != "zoo" or not programs["bad"].exists():
        return text
    text = EXHIBIT.sub(lambda link: f"](#{PROGRAM[link[1]]})", text)
    parts = [f"## {HEADING[kind]}\n\n```mlir\n{path.read_text().rstrip()}\n```\n" for kind, path in programs.items()]
    return "\n".join([text, *parts])


HEADING = {"bad": "The program that is wrong", "good": "The program that is right"}
PROGRAM = {kind: heading.lower().replace(" ", "-") for kind, heading in HEADING.items()}


HOME = "---\nhide:\n  - navigation\n  - toc\n---\n\n"
"""The home page has the whole width."""


OPTIONS = ("reference/commands/", "reference/passes/")
FOUND_FIRST = "---\nsearch:\n  boost: 4\n---\n\n"
"""Who looks for the name of an option finds the command or the pass that has it."""


def finished(root: Path, page: str, text: str) -> str:
    """A page as Python-Markdown reads it, with links to where the site has things."""
    origin = "CONTRIBUTING.md" if page == "contributing.md" else f"docs/{page}"
    text = space_lists(retag(relink(text, origin, lambda path: place_of(root, path))))
    if page == "index.md":
        return HOME + text
    return FOUND_FIRST + text if page.startswith(OPTIONS) else text


def place_of(root: Path, path: str) -> str | None:
    """
    Where the site has the file `path` of the repository, as if the site lay in `docs/`; None where it has none.
    """
    special = {"README.md": "docs/index.md", "CONTRIBUTING.md": "docs/contributing.md"}
    if path in special:
        return special[path]
    if path.startswith("docs/") and not path.endswith(".py"):
        return path
    return f"docs/{file_page(path)}" if (root / path).is_file() else None


def file_page(path: str) -> str:
    """The page of a file of the repository."""
    return f"files/{path}.md"


def named_files(root: Path, pages: dict[str, str]) -> set[str]:
    """The files of the repository that pages lead to."""
    found = {link for text in pages.values() for link in re.findall(r"\]\((?:\.\./)*files/([^)#]+)\.md", text)}
    return {path for path in found if (root / path).is_file()}


def listing(root: Path, path: str) -> str:
    """A file of the repository as a page, which search leaves out."""
    text = (root / path).read_text().rstrip()
    language = LANGUAGES.get(Path(path).suffix, "text")
    return f"---\nsearch:\n  exclude: true\n---\n\n# {Path(path).name}\n\n`{path}`\n\n````{language}\n{text}\n````\n"


def is_left_unlinked(page: str) -> bool:
    """Whether the words of the glossary are linked by hand on a page, or stand in no prose."""
    return page.startswith(("course/", "files/", "notebooks/")) or page in ("glossary.md", "index.md", "contents.md")


def copy_pictures(docs: Path, folder: Path) -> None:
    for pattern in PICTURES:
        for path in docs.rglob(pattern):
            target = folder / path.relative_to(docs)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


# Settings -------------------------------------------------------------------------------------------------------------

SLUGS = "!!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}"
"""Anchors of headings as GitHub makes them. JSON is YAML, but for this one word."""


def settings(root: Path, folder: Path) -> str:
    """The settings of mkdocs, as JSON."""
    found = {
        "site_name": "tileas_xdsl",
        "docs_dir": str(folder / "pages"),
        "site_dir": str(folder.parent / "site"),
        "use_directory_urls": False,
        "nav": [as_nav(entry) for entry in navigation(root / "docs", reference())],
        "not_in_nav": "/files/\n/zoo/\n/contents.md\n",
        "validation": {
            "links": {"anchors": "warn", "not_found": "warn", "absolute_links": "warn"},
            "nav": {"omitted_files": "warn"},
        },
        "theme": {
            "name": "material",
            "font": False,
            "features": [
                "navigation.tabs",
                "navigation.prune",
                "navigation.top",
                "content.code.copy",
                "search.highlight",
                "toc.follow",
            ],
            "palette": [
                {
                    "media": "(prefers-color-scheme)",
                    "toggle": {"icon": "material/brightness-auto", "name": "Light theme"},
                },
                scheme("light", "default", "material/brightness-7", "Dark theme"),
                scheme("dark", "slate", "material/brightness-4", "Theme of the system"),
            ],
        },
        "plugins": ["search", "offline"],
        "extra_css": ["assets/site.css"],
        "extra_javascript": ["assets/zoo.js", "assets/notebook.js", "assets/search.js", "assets/course.js"],
        "extra": {"generator": False, "polyfills": ["assets/iframe-worker.js"]},
        "markdown_extensions": [
            "admonition",
            "attr_list",
            "def_list",
            "md_in_html",
            "sane_lists",
            "tables",
            {"toc": {"permalink": True, "slugify": "SLUGS"}},
            {"pymdownx.highlight": {"use_pygments": True, "pygments_lang_class": True}},
            "pymdownx.inlinehilite",
            "pymdownx.superfences",
        ],
    }
    return json.dumps(found, indent=2).replace('"SLUGS"', SLUGS)


def scheme(mode: str, name: str, icon: str, following: str) -> dict[str, object]:
    """One of the two themes, and the button that leads to the next."""
    return {
        "media": f"(prefers-color-scheme: {mode})",
        "scheme": name,
        "primary": "indigo",
        "accent": "indigo",
        "toggle": {"icon": icon, "name": following},
    }


def as_nav(entry: Entry) -> dict[str, object]:
    """An entry of the map as mkdocs has it."""
    title, target = entry
    return {title: target if isinstance(target, str) else [as_nav(below) for below in target]}
