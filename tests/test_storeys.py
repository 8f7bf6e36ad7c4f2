"""
The package is what the map in CONTRIBUTING.md says: no upward import, between layers or between the sub-packages of
one; no large circle of imports; no crowded folder.

Imports inside functions count as well. Imports by name are `names.py`'s business (a row is two strings, and it is the
street door that follows them), and that of two packages which import their own modules.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.corpora import whole
from tests.support.house import FILES, PACKAGE, circles, house, import_graph, imports, modules, read_map
from tests.support.ir import ROOT

pytestmark = whole("an import against the map may stand in any file")

BY_NAME = {"names.py", "machine/core/meaning.py", "tools/main.py"}
"""Files that may import by name: the table of names, and two that load modules of their own package."""

LARGEST_CIRCLE = 3
"""More files than this that all need each other are one file in disguise."""

LARGEST_FOLDER = 32
"""More modules than this cannot be taken in at a glance."""


def relative(file: Path) -> str:
    return str(file.relative_to(PACKAGE))


def module_of(file: Path) -> str:
    """A package's `__init__` counts as a module inside of it: it may use what its package may use."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


# The map --------------------------------------------------------------------------------------------------------------


def test_the_map_names_every_package_and_no_other() -> None:
    packages = {entry.stem for entry in PACKAGE.iterdir() if entry.suffix == ".py" or (entry / "__init__.py").exists()}
    assert set(house().packages) == packages - {"__init__"}


def test_the_large_packages_have_an_order_within() -> None:
    assert set(house().sub_packages) >= {"machine", "checker", "transforms"}


@pytest.mark.parametrize("package", house().sub_packages)
def test_the_map_names_every_sub_package_and_no_other(package: str) -> None:
    """Modules beside the sub-packages stand above them; only those that do not are named."""
    named = set(house().sub_packages[package])
    folders = {entry.parent.name for entry in (PACKAGE / package).glob("*/__init__.py")}
    files = {entry.stem for entry in (PACKAGE / package).glob("*.py")}
    assert folders <= named <= folders | files


# What the map forbids -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES, ids=relative)
def test_no_package_uses_one_above(file: Path) -> None:
    if file == PACKAGE / "__init__.py":
        # For types, and when a name of the front door or of its module for cuTile is used: see `test_front_door.py`.
        assert {used.split(".")[1] for _, used in imports(file.read_text())} == {"front_door", "cutile"}
    else:
        found = house().climbs(module_of(file), file.read_text())
        assert not found, "\n".join(found)


@pytest.mark.parametrize("file", FILES, ids=relative)
def test_imports_can_be_read_off_a_file(file: Path) -> None:
    """An import that is relative, or made from a string, would pass the test above unseen."""
    tree = ast.walk(ast.parse(file.read_text()))
    assert not any(isinstance(node, ast.ImportFrom) and node.level for node in tree)
    by_name = re.search(r"\b(import_module|__import__|spec_from_\w+)\b", file.read_text()) is not None
    assert by_name == (relative(file) in BY_NAME)


def test_no_circle_of_imports_is_large() -> None:
    """Type-only imports do not count: they tie no knot when the program runs."""
    large = [" ".join(circle) for circle in circles(import_graph(modules())) if len(circle) > LARGEST_CIRCLE]
    assert not large, "\n".join(large)


def test_no_folder_is_crowded() -> None:
    folders = sorted({file.parent for file in FILES})
    sizes = {relative(folder): len([*folder.glob("*.py")]) for folder in folders}
    assert [folder for folder, size in sizes.items() if size > LARGEST_FOLDER] == []


UNREADABLE = ("gi_frame", "f_locals", "f_lasti", "dict[Any, Any]")
"""Names by which state would be read off a Python frame, and a type that says nothing of what it holds."""


@pytest.mark.parametrize("package", ["machine", "checker"])
def test_state_is_typed_and_published(package: str) -> None:
    files = sorted((PACKAGE / package).rglob("*.py"))
    assert files
    assert [(file.name, word) for file in files for word in UNREADABLE if word in file.read_text()] == []


# The tests themselves -------------------------------------------------------------------------------------------------

MAP = """
| layer | packages | what is there |
|---|---|---|
| upper | `views/`, `main.py` | |
| lower | `machine/` (`core/` < `tiles/`, `arguments.py` < `meanings/`), `plans/` | |

"""


def test_a_climb_between_layers_is_seen() -> None:
    """A pass may use the machine, also late; the machine may not use a pass."""
    assert house().climbs("tileas_xdsl.transforms.some", "import tileas_xdsl.checker.verdict.checking") == []
    late = "def f():\n    from tileas_xdsl.transforms.check_async import CheckAsyncPass"
    assert house().climbs("tileas_xdsl.pipelines", late) == []
    assert house().climbs("tileas_xdsl.machine.running", late) == [
        "line 2: tileas_xdsl.machine.running imports tileas_xdsl.transforms.check_async.CheckAsyncPass, "
        "which is above it"
    ]
    assert house().climbs("tileas_xdsl.pipelines", "from tileas_xdsl import universe") == [
        "line 1: tileas_xdsl.pipelines imports tileas_xdsl.universe, which is above it"
    ]


@pytest.mark.parametrize(
    ("user", "used"),
    [
        ("machine.core.agents", "machine.tiles.tiles"),
        ("machine.core.agents", "machine.arguments"),
        ("machine.tiles.tiles", "machine.meanings"),
        ("machine.arguments", "machine.meanings.scf"),
        ("machine.meanings.scf", "machine.running"),
        ("machine.core.__init__", "machine.run"),
        ("plans.plan", "views.picture"),
    ],
)
@pytest.mark.parametrize("form", ["import {}", "def f():\n    from {} import some", "if TYPE_CHECKING:\n    import {}"])
def test_a_climb_between_sub_packages_is_seen(user: str, used: str, form: str) -> None:
    """
    Upward imports are seen in modules that no step names (they are above all), inside functions, and for types alone.
    """
    plan = read_map(MAP)
    assert len(plan.climbs(f"tileas_xdsl.{user}", form.format(f"tileas_xdsl.{used}"))) == 1
    assert plan.climbs(f"tileas_xdsl.{used}", form.format(f"tileas_xdsl.{user}")) == []


@pytest.mark.parametrize(
    ("user", "used"), [("machine.tiles.tiles", "machine.arguments"), ("plans.plan", "machine.running")]
)
def test_neighbours_may_use_each_other(user: str, used: str) -> None:
    plan = read_map(MAP)
    assert plan.climbs(f"tileas_xdsl.{user}", f"import tileas_xdsl.{used}") == []
    assert plan.climbs(f"tileas_xdsl.{used}", f"import tileas_xdsl.{user}") == []


@pytest.mark.parametrize("package", ["machine", "checker"])
def test_a_climb_planted_in_the_house_is_seen(package: str) -> None:
    """A module of the lowest step of the real map comes to use one of the highest, late."""
    steps = house().sub_packages[package]
    low, high = min(steps, key=steps.__getitem__), max(steps, key=steps.__getitem__)
    source = f"def f():\n    from tileas_xdsl.{package}.{high}.some import Some"
    assert len(house().climbs(f"tileas_xdsl.{package}.{low}.other", source)) == 1


def test_a_package_that_stands_twice_is_refused() -> None:
    for twice in ("`views/`, `plans/`", "`views/` (`a/` < `b/`, `a/`)"):
        with pytest.raises(AssertionError, match="stands twice"):
            read_map(MAP.replace("`views/`", twice))


def test_circles_are_found() -> None:
    """Two that share no node, one of them closed inside a function; what is imported for types alone closes none."""
    sources = {
        "tileas_xdsl.a": "import tileas_xdsl.b",
        "tileas_xdsl.b": "from tileas_xdsl.c import something\nimport tileas_xdsl.d",
        "tileas_xdsl.c": "def f():\n    from tileas_xdsl import a",
        "tileas_xdsl.d": "from tileas_xdsl.e import other",
        "tileas_xdsl.e": "import tileas_xdsl.d",
        "tileas_xdsl.f": "import tileas_xdsl.g",
        "tileas_xdsl.g": "if TYPE_CHECKING:\n    import tileas_xdsl.f\nelse:\n    import tileas_xdsl.a",
    }
    names = [[module[-1] for module in circle] for circle in circles(import_graph(sources))]
    assert names == [["a", "b", "c"], ["d", "e"]]
