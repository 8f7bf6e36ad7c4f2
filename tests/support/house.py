"""
The table of layers in CONTRIBUTING.md, and who imports whom: what `tests/test_storeys.py` compares.

A row of the map names the packages of a layer; a package may be followed by its sub-packages in parentheses, from the
bottom to the top. `<` stands between steps, a comma between neighbours on one step. A folder is written `core/`, a
module `arguments.py`. What a package with sub-packages holds beside them stands above them all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from tests.support.ir import ROOT

PACKAGE = ROOT / "tileas_xdsl"
FILES = sorted(PACKAGE.rglob("*.py"))
TYPE_ONLY = ("TYPE_CHECKING", "typing.TYPE_CHECKING")


# The map --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class House:
    """How high everything stands: a larger number is higher."""

    packages: Mapping[str, int]
    sub_packages: Mapping[str, Mapping[str, int]]
    """Room -> sub-package -> the step on which it stands; only packages that have sub-packages."""

    def place(self, module: str) -> tuple[int, int]:
        """Storey, and step within the package."""
        package, _, rest = module.partition(".")[2].partition(".")
        steps = self.sub_packages.get(package, {})
        return self.packages[package], steps.get(rest.partition(".")[0], len(steps))

    def climbs(self, user: str, source: str) -> list[str]:
        """
        What the module `user` imports from above it, one line each.

        Late imports and type-only ones count: to name a thing is to know it.
        """
        layer, step = self.place(user)
        found: list[str] = []
        for line, used in imports(source):
            its_layer, its_step = self.place(used)
            above = its_layer > layer or (package_of(used) == package_of(user) and its_step > step)
            if above:
                found.append(f"line {line}: {user} imports {used}, which is above it")
        return found


def package_of(module: str) -> str:
    """`tileas_xdsl.machine.tiles.tiles` -> `machine`; "" for the package itself."""
    return module.partition(".")[2].partition(".")[0]


def read_map(text: str) -> House:
    """The house that the table in `text` describes. A package or sub-package that stands twice is an error."""
    table = text.partition("| layer | packages |")[2].partition("\n\n")[0]
    rows = [row.split("|")[2] for row in table.splitlines()[2:]]
    packages: dict[str, int] = {}
    sub_packages: dict[str, dict[str, int]] = {}
    for depth, row in enumerate(rows):
        for name, steps in re.findall(r"`([^`]+)`(?: \(([^)]*)\))?", row):
            assert _entry(name) not in packages, f"{name} stands twice on the map"
            packages[_entry(name)] = -depth
            if steps:
                sub_packages[_entry(name)] = _read_steps(steps)
    return House(packages, sub_packages)


def _read_steps(text: str) -> dict[str, int]:
    steps: dict[str, int] = {}
    for height, step in enumerate(text.split("<")):
        for name in re.findall(r"`([^`]+)`", step):
            assert _entry(name) not in steps, f"{name} stands twice on the map"
            steps[_entry(name)] = height
    return steps


def _entry(name: str) -> str:
    return name.rstrip("/").removesuffix(".py")


@cache
def house() -> House:
    return read_map((ROOT / "CONTRIBUTING.md").read_text())


# Imports --------------------------------------------------------------------------------------------------------------


def imports(source: str, *, for_types: bool = True) -> Iterator[tuple[int, str]]:
    """
    The modules of ours that a file imports, also inside functions, each with its line.

    `from a import b` yields `a.b`, whether that is a module or a name in one. Without `for_types`, what stands under
    `if TYPE_CHECKING` is left out.
    """
    for node in _nodes(ast.parse(source), for_types):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.partition(".")[0] == "tileas_xdsl")


def _nodes(node: ast.AST, for_types: bool) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not for_types and isinstance(child, ast.If) and ast.unparse(child.test) in TYPE_ONLY:
            for other in child.orelse:
                yield from _nodes(other, for_types)
        else:
            yield from _nodes(child, for_types)


def modules() -> dict[str, str]:
    """The text of each module of the package by its dotted name."""
    return {_dotted(file.relative_to(ROOT).with_suffix("").parts): file.read_text() for file in FILES}


def _dotted(parts: tuple[str, ...]) -> str:
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(sources: Mapping[str, str], *, for_types: bool = False) -> dict[str, list[str]]:
    """Module -> the modules that it imports when it runs, or also for types. An imported name stands for its module."""
    graph: dict[str, list[str]] = {}
    for module, source in sources.items():
        used = {_module_of(name, sources) for _, name in imports(source, for_types=for_types)}
        graph[module] = sorted(used - {module, ""})
    return graph


def _module_of(name: str, sources: Mapping[str, str]) -> str:
    while name and name not in sources:
        name = name.rpartition(".")[0]
    return name


def circles(graph: Mapping[str, list[str]]) -> list[list[str]]:
    """The circles of `graph`: its strongly connected components of two nodes or more (Tarjan 1972), largest first."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        open_nodes.append(node)
        for used in graph.get(node, []):
            if used not in number:
                visit(used)
                lowest[node] = min(lowest[node], lowest[used])
            elif used in open_nodes:
                lowest[node] = min(lowest[node], number[used])
        if lowest[node] == number[node]:
            start = open_nodes.index(node)
            found.append(sorted(open_nodes[start:]))
            del open_nodes[start:]

    for node in graph:
        if node not in number:
            visit(node)
    return sorted((circle for circle in found if len(circle) > 1), key=lambda circle: (-len(circle), circle))
