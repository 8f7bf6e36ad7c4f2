"""
The notebooks as pages of the site, which need no Python: each state of their controls is computed here, and a script
shows the one that is chosen.

A notebook is a marimo app. It defines `about` (Markdown with its title), `controls` (a `mo.ui.dictionary`; behind it
one cell gives each control's value the control's name) and `shown` (panes, `tileas_xdsl.views.notebook`).
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from textwrap import dedent
from typing import Any

from tileas_xdsl.views.notebook import Pane

TITLES = {
    "four_models": "Four models",
    "race": "A race, step by step",
    "pipelining": "Pipelining",
    "warp_specialisation": "Warp specialisation",
    "python_to_ptx": "From a Python kernel to PTX",
    "schedulers": "Three schedulers",
    "your_pass": "A pass",
}
"""Module in `docs/notebooks/` -> title, in the order in which they are read."""


class NotebookError(Exception):
    """A notebook cannot be shown with some values of its controls; the message names both."""


@dataclass(frozen=True)
class Control:
    """Something that a reader sets."""

    name: str
    values: tuple[Any, ...]
    value: Any
    """The one with which the notebook begins."""


class Notebook:
    """One notebook, run with the values that a reader could choose."""

    def __init__(self, name: str, app: Any = None) -> None:
        self.name = name
        self._app = app if app is not None else import_module(f"docs.notebooks.{name}").app
        names = self._run({})
        self.about: str = dedent(names["about"])
        self.controls = [_control(name, element) for name, element in names["controls"].elements.items()]

    def shown(self, values: Mapping[str, Any]) -> list[Pane]:
        """
        The panes with these values of controls; the others stay as they are.

        Raises `NotebookError` for a control or a value that does not exist, and where a cell fails.
        """
        for name, value in values.items():
            control = next((control for control in self.controls if control.name == name), None)
            if control is None:
                known = ", ".join(control.name for control in self.controls)
                raise NotebookError(f"{self.name} has no control '{name}'; it has {known}")
            if value not in control.values:
                raise NotebookError(f"{self.name}: {name} = {value!r}: choose one of {list(control.values)}")
        return self._run({control.name: control.value for control in self.controls} | dict(values))["shown"]

    def states(self) -> dict[tuple[Any, ...], list[Pane]]:
        """Value of each control -> panes, for all that a reader could choose."""
        names = [control.name for control in self.controls]
        return {
            values: self.shown(dict(zip(names, values, strict=True)))
            for values in product(*(control.values for control in self.controls))
        }

    def _run(self, values: Mapping[str, Any]) -> Any:
        try:
            return self._app.run(defs=dict(values))[1]
        except Exception as error:
            # A cell may raise anything.
            chosen = ", ".join(f"{name} = {value!r}" for name, value in values.items()) or "its first values"
            raise NotebookError(f"{self.name} fails with {chosen}: {type(error).__name__}: {error}") from error


def _control(name: str, element: Any) -> Control:
    """A dropdown or a slider of marimo."""
    if hasattr(element, "options"):
        values = tuple(element.options.values())
    else:
        values = tuple(range(element.start, element.stop + 1, element.step or 1))
    return Control(name, values, element.value)


# Pages ----------------------------------------------------------------------------------------------------------------


def page_of(name: str) -> str:
    """Where the page of a notebook stands."""
    return f"notebooks/{name.replace('_', '-')}.md"


def write_notebooks(folder: Path) -> dict[str, str]:
    """Write the states of all notebooks below `folder` (`assets/notebooks/`); the Markdown of their pages by path."""
    target = folder / "assets" / "notebooks"
    target.mkdir(parents=True, exist_ok=True)
    pages: dict[str, str] = {}
    for name in TITLES:
        notebook = Notebook(name)
        (target / f"{name}.js").write_text(script(notebook), encoding="utf-8")
        pages[page_of(name)] = page(notebook)
    return pages


def page(notebook: Notebook) -> str:
    """What stands on the page before the script comes."""
    return (
        f"{notebook.about.rstrip()}\n\n"
        f'<div class="notebook" id="{notebook.name}"><noscript>This page needs a script.</noscript></div>\n'
        f'<script src="../assets/notebooks/{notebook.name}.js"></script>\n\n'
        f"To change texts as well: `marimo edit docs/notebooks/{notebook.name}.py` "
        f"([the file]({notebook.name}.py), [how](../notebooks.md)).\n"
    )


def script(notebook: Notebook) -> str:
    """The states as a script, since pages that are opened as files may load no other data: JSON by gzip in base 64."""
    pool: dict[Pane, int] = {}
    states = [[pool.setdefault(_hashable(pane), len(pool)) for pane in panes] for panes in notebook.states().values()]
    data = {
        "controls": [{"name": c.name, "values": c.values, "at": c.values.index(c.value)} for c in notebook.controls],
        "states": states,
        "panes": [{"title": p.title, "kind": p.kind, "text": p.text, "lit": list(p.lit)} for p in pool],
    }
    packed = b64encode(gzip.compress(json.dumps(data).encode(), mtime=0)).decode()
    return f'(window.NOTEBOOKS ??= {{}})["{notebook.name}"] = "{packed}";\n'


def _hashable(pane: Pane) -> Pane:
    return Pane(pane.title, pane.text, pane.kind, tuple(sorted(pane.lit)))
