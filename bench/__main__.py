"""
Run the measurements, print each as a table, and keep them as JSON under `build/bench/`.

A measurement that yields its rows has each printed as soon as it is there, and kept: so a long one that is ended early
leaves what it has measured.
"""

from __future__ import annotations

import argparse
import ast
import json
import platform
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
RESULTS = HERE.parent / "build" / "bench"


def measurements() -> dict[str, str]:
    """Name -> first sentence of the docstring, for every module that defines `measure`, without importing any."""
    found: dict[str, str] = {}
    for path in sorted(HERE.glob("*.py")):
        tree = ast.parse(path.read_text())
        if any(isinstance(node, ast.FunctionDef) and node.name == "measure" for node in tree.body):
            found[path.stem] = " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())
    return found


def table(name: str, about: str, rows: list[dict[str, Any]]) -> Table:
    """The rows of one measurement; numbers to the right, three digits."""
    shown = Table(title=f"{name}: {about}", title_justify="left", box=box.SIMPLE_HEAD)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    for column in columns:
        numeric = all(isinstance(row.get(column), int | float | None) for row in rows)
        shown.add_column(column, justify="right" if numeric else "left")
    for row in rows:
        shown.add_row(*(cell(row.get(column)) for column in columns))
    return shown


def line(row: dict[str, Any]) -> str:
    """A row that stands alone."""
    return ", ".join(f"{column} {cell(value)}" for column, value in row.items())


def cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)


def setting() -> dict[str, str]:
    """What the numbers depend on besides the code."""
    return {
        "python": platform.python_version(),
        "xdsl": version("xdsl"),
        "tileas-xdsl": version("tileas-xdsl"),
        "machine": platform.platform(),
    }


def main() -> int:
    known = measurements()
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which measurements: {', '.join(known)}")
    names = parser.parse_args().names or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no such measurement: {', '.join(unknown)} (there are {', '.join(known)})")

    RESULTS.mkdir(parents=True, exist_ok=True)
    console = Console()
    for name in names:
        rows: list[dict[str, Any]] = []
        found: Iterable[dict[str, Any]] = import_module(f"bench.{name}").measure()
        for row in found:
            rows.append(row)
            record = {"measurement": name, "about": known[name], "setting": setting(), "rows": rows}
            (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
            if isinstance(found, Iterator):
                print(line(row), flush=True)
        console.print(table(name, known[name], rows))
    console.print(f"JSON: {RESULTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
