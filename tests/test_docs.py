"""
What the documentation shows is true: its IR parses and verifies, its commands run.

A fence tagged `mlir` is a module (or several, split by `// -----`); `mlir-fragment` is for IR that cannot stand
alone. The commands of a fence tagged `sh` run as one script in a copy of the checkout's root, so that what they write
lands in a build folder of their own; a fence that says `file=NAME` is there under that name for the commands that
follow it on its page. They must end with status 0, or with N where the tag says `sh exit=N`. What they
print on standard output is what the fence behind them shows, where that is tagged `text output`. Lines that install
or build (`make`, `pip`, `apt-get`, `git clone`) are left to continuous integration.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.support.corpora import whole
from tests.support.ir import ROOT, assert_round_trips
from tests.support.mlir import find, require
from tests.support.warm_commands import warm_commands

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
FENCE = re.compile(r"^(?P<indent> *)```(?P<tag>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
LEFT_TO_CI = re.compile(r"(sudo )?(make|pip|python3? -m (pip|venv)|apt-get|git clone|cd)\b|\. \S*activate|source ")
LLVM_TOOLS = ("mlir-opt", "mlir-translate", "mlir-runner", "llc")
SECONDS = 120


@dataclass(frozen=True)
class Fence:
    """A fenced block of a page."""

    page: str
    line: int
    tag: tuple[str, ...]
    body: str
    output: str | None = None
    """What the page shows as the output of this block; None where it shows nothing."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def fences() -> list[Fence]:
    found: list[Fence] = []
    for page in filter(Path.is_file, PAGES):
        text = page.read_text()
        for match in FENCE.finditer(text):
            indent = match["indent"]
            body = "".join(line.removeprefix(indent) for line in match["body"].splitlines(keepends=True))
            line = text.count("\n", 0, match.start()) + 1
            tag = tuple(match["tag"].split())
            if tag == ("text", "output"):
                found[-1] = replace(found[-1], output=body)
            else:
                found.append(Fence(str(page.relative_to(ROOT)), line, tag, body))
    return found


ALL = fences()
MLIR = [fence for fence in ALL if fence.tag[:1] == ("mlir",)]
SHELL = [fence for fence in ALL if fence.tag[:1] == ("sh",)]


def file_name(fence: Fence) -> str | None:
    """Under which name a reader saves the block."""
    return next((word.removeprefix("file=") for word in fence.tag if word.startswith("file=")), None)


def commands(body: str) -> list[str]:
    """The lines of a script that are ours to run; a backslash continues a line."""
    lines = re.sub(r"\\\n\s*", "", body).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#") and not LEFT_TO_CI.match(line)]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The checkout as links, without its build folder."""
    for entry in ROOT.iterdir():
        if entry.name not in (".git", "build"):
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / "build").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """A folder with our commands, all modules imported (`tests/support/warm_commands.py`)."""
    with warm_commands(tmp_path_factory.mktemp("warm")) as folder:
        yield folder


@pytest.mark.parametrize("fence", MLIR, ids=str)
def test_ir_in_the_documentation_verifies_and_round_trips(fence: Fence):
    for chunk in fence.body.split("// -----"):
        assert_round_trips(chunk)


@pytest.mark.parametrize("fence", SHELL, ids=str)
def test_commands_in_the_documentation_run(fence: Fence, checkout: Path, warm: Path):
    for earlier in ALL[: ALL.index(fence)]:
        if earlier.page == fence.page and (name := file_name(earlier)) is not None:
            (checkout / name).write_text(earlier.body)
    script = commands(fence.body)
    for tool in LLVM_TOOLS:
        if any(re.search(rf"\b{tool}\b", line) for line in script):
            require(tool)
    expected = next((int(word.removeprefix("exit=")) for word in fence.tag if word.startswith("exit=")), 0)
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(script)],
        cwd=checkout,
        env={**os.environ, "PATH": f"{warm}{os.pathsep}{search_path()}"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert result.returncode == expected, f"{fence}:\n{fence.body}\n{result.stdout}{result.stderr}"
    assert "Traceback" not in result.stderr
    assert fence.output is None or result.stdout == fence.output


def search_path() -> str:
    """This interpreter's scripts first, the LLVM tools last."""
    tools = [str(Path(path).parent) for tool in LLVM_TOOLS if (path := find(tool)) is not None]
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], *tools])


every_page = pytest.mark.parametrize("page", list(filter(Path.is_file, PAGES)), ids=lambda page: page.name)


@whole("no page takes long")
@every_page
def test_every_fence_is_closed(page: Path):
    """An odd number of fence lines would turn text into code, and hide what follows from these tests."""
    assert len(re.findall(r"^ *```", page.read_text(), re.MULTILINE)) % 2 == 0


@whole("no page takes long")
@every_page
def test_links_between_pages_lead_somewhere(page: Path):
    text = FENCE.sub("", page.read_text())
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    dangling = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert dangling == []
