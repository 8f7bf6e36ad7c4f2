"""The page about a package of one's own: its files make a package, and its console shows what then happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.ir import ROOT
from tests.test_docs import search_path

PAGE = (ROOT / "docs" / "your-own-package.md").read_text()
FILES = re.findall(r"^```\w+ file=(\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
(CONSOLE,) = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
STEPS = [
    (step.partition("\n")[0], step.partition("\n")[2]) for step in re.split(r"^\$ ", CONSOLE, flags=re.MULTILINE)[1:]
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the page in a folder, and the package installed beside them: what `pip install` writes there."""
    for name, text in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    project = tomllib.loads((tmp_path / "twice" / "pyproject.toml").read_text())
    site = tmp_path / "site"
    about = site / "twice-0.1.dist-info"
    about.mkdir(parents=True)
    for module in project["tool"]["setuptools"]["py-modules"]:
        (site / f"{module}.py").write_text((tmp_path / "twice" / f"{module}.py").read_text())
    name, version = project["project"]["name"], project["project"]["version"]
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = project["project"]["entry-points"]
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in rows.items()) for group, rows in groups.items()
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
    return tmp_path


def test_the_console_shows_what_happens(folder: Path) -> None:
    environment = {**os.environ, "PATH": search_path(), "PYTHONPATH": f"{folder / 'site'}"}
    assert len(STEPS) > 5
    for command, expected in STEPS:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, expected), f"{command}\n{done.stdout}{done.stderr}"


def test_it_costs_the_start_of_xdsl_opt_nothing(folder: Path) -> None:
    """The plug-in is found, and neither its dialect nor its pass is loaded."""
    script = (
        "import sys\nfrom xdsl.universe import Universe\neverything = Universe.get_multiverse()\n"
        "print('use-twice' in everything.all_passes, 'twice' in everything.all_dialects, 'twice' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'site'}"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True True False\n"
