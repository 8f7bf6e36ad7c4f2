"""
No room uses one of a storey above its own: the map of the house in README.md, against every import of the package.

Imports inside functions count as well. Imports by name are `names.py`'s business (a row is two strings, and it is the
street door that follows them), and that of two packages which import their own modules.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ir import ROOT

PACKAGE = ROOT / "tileas_xdsl"
FILES = sorted(PACKAGE.rglob("*.py"))

BY_NAME = {"names.py", "machine/core/meaning.py", "tools/main.py"}
"""Files that may import by name: the table of names, and two that load modules of their own package."""


def storeys() -> list[list[str]]:
    """The rooms of each storey of the map, the street door first."""
    table = (ROOT / "README.md").read_text().partition("| storey | rooms |")[2].partition("\n\n")[0]
    rows = [row.split("|")[2] for row in table.splitlines()[2:]]
    return [[room.rstrip("/").removesuffix(".py") for room in re.findall(r"`([^`]+)`", row)] for row in rows]


HEIGHT = {room: -depth for depth, rooms in enumerate(storeys()) for room in rooms}


def room(module: str) -> str:
    """`tileas_xdsl.machine.tiles.tiles` -> `machine`; "" for the package itself."""
    return module.partition(".")[2].partition(".")[0]


def imports(source: str) -> Iterator[tuple[int, str]]:
    """The modules of ours that a file imports, each with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.partition(".")[0] == "tileas_xdsl")


def climbs(user: str, source: str) -> list[str]:
    """What the file of a room imports from above it, one line each."""
    return [
        f"line {line}: {user} imports {used}, which is above it"
        for line, used in imports(source)
        if HEIGHT[room(used)] > HEIGHT[user]
    ]


def test_the_map_names_every_room_and_no_other() -> None:
    rooms = {entry.stem for entry in PACKAGE.iterdir() if entry.suffix == ".py" or (entry / "__init__.py").exists()}
    assert set(HEIGHT) == rooms - {"__init__"}
    assert len(HEIGHT) == sum(map(len, storeys())), "a room stands twice"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_no_room_uses_one_above(file: Path) -> None:
    user = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if user == "__init__":
        assert list(imports(file.read_text())) == []
    else:
        assert climbs(user, file.read_text()) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_can_be_read_off_a_file(file: Path) -> None:
    """An import that is relative, or made from a string, would pass the test above unseen."""
    tree = ast.walk(ast.parse(file.read_text()))
    assert not any(isinstance(node, ast.ImportFrom) and node.level for node in tree)
    by_name = re.search(r"\b(import_module|__import__|spec_from_\w+)\b", file.read_text()) is not None
    assert by_name == (str(file.relative_to(PACKAGE)) in BY_NAME)


def test_a_climb_is_seen() -> None:
    """The test itself: a pass may use the machine, also late; the machine may not use a pass."""
    assert climbs("transforms", "import tileas_xdsl.checker.verdict.checking") == []
    late = "def f():\n    from tileas_xdsl.transforms.check_async import CheckAsyncPass"
    assert climbs("transforms", late) == []
    assert climbs("machine", late) == [
        "line 2: machine imports tileas_xdsl.transforms.check_async.CheckAsyncPass, which is above it"
    ]
    assert climbs("pipelines", "from tileas_xdsl import universe") == [
        "line 1: pipelines imports tileas_xdsl.universe, which is above it"
    ]
