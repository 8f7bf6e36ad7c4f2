"""`tileas new`: each kind of package works outside of the repository, and its test fails until the TODO is done."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.ir import ROOT
from tests.test_docs import search_path
from tileas_xdsl.tools.main import main
from tileas_xdsl.tools.new import files, names_in

PAGE = ROOT / "docs" / "your-own-async-op.md"
PLAN = "return [each for each in module.walk() if isinstance(each, arith.AddfOp) and each.lhs is each.rhs]  #"
WAITS = (
    "return [each for each in module.walk() if isinstance(each, WaitOp) and isinstance(each.prev_op, WaitOp)"
    " and (each.queue, each.count) == (each.prev_op.queue, each.prev_op.count)"
    " and all(block.is_empty for region in each.regions for block in region.blocks)]  #"
)
DONE = {
    "op": ("twice.double", {"return x  # TODO": "return x + x  # done"}),
    "async-op": ("demo.start", {"return None  # TODO": "return agent.wait(EventCondition(token), op)  # done"}),
    "pass": ("drop-equal-waits", {"return []  # TODO": WAITS}),
    "package": (
        "both",
        {
            "return x  # TODO": "return x + x  # done",
            "return []  # TODO": PLAN,
        },
    ),
}
"""Kind -> a name, and what an author writes instead of each TODO."""


def installed(folder: Path) -> Path:
    """The package in `folder`, as `pip install` leaves it in a folder that Python looks into."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    site = folder.parent / "site"
    about = site / f"{project['project']['name']}-0.1.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['project']['name']}\nVersion: 0.1\n")
    rows = project["project"]["entry-points"]["xdsl.universe"].items()
    (about / "entry_points.txt").write_text("[xdsl.universe]\n" + "\n".join(f"{key} = {value}" for key, value in rows))
    for module in project["tool"]["setuptools"]["py-modules"]:
        (site / f"{module}.py").write_text((folder / f"{module}.py").read_text())
    return site


def lit(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": search_path(), "PYTHONPATH": str(installed(folder))}
    command = [str(Path(sys.executable).parent / "lit"), "-v", str(folder / "tests")]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("kind", DONE)
def test_its_test_fails_until_the_todo_is_done(kind: str, tmp_path: Path) -> None:
    name, done = DONE[kind]
    assert main(["new", kind, name, "--into", str(tmp_path)]) == 0
    (folder,) = tmp_path.iterdir()
    before = lit(folder)
    assert before.returncode == 1, before.stdout
    assert "FAIL" in before.stdout
    code = folder / f"{folder.name.replace('-', '_')}.py"
    for todo, instead in done.items():
        text = code.read_text()
        assert text.count(todo) == 1
        code.write_text(text.replace(todo, instead))
    after = lit(folder)
    assert after.returncode == 0, after.stdout + after.stderr


def test_a_pass_that_removes_too_much_fails_by_its_verdict(tmp_path: Path) -> None:
    """The checker is asked before the text: it says what is wrong."""
    assert main(["new", "pass", "drop-waits", "--into", str(tmp_path)]) == 0
    code = tmp_path / "drop-waits" / "drop_waits.py"
    every = "return [each for each in module.walk() if isinstance(each, WaitOp)]  #"
    code.write_text(code.read_text().replace("return []  # TODO", every))
    found = lit(tmp_path / "drop-waits")
    assert found.returncode == 1
    assert "-> unsafe: race" in found.stdout
    assert "0 of 1 programs are kept" in found.stdout


def test_the_page_about_asynchronous_ops_shows_the_template_done() -> None:
    name, done = DONE["async-op"]
    (text,) = (text for file, text in files("async-op", names_in("async-op", name)).items() if file == "demo.py")
    ((todo, instead),) = done.items()
    start = text.index(todo)
    assert f"```python\n{text[:start]}{instead.removesuffix('  # done')}\n```" in PAGE.read_text()


def test_what_is_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "twice").mkdir()
    assert main(["new", "op", "twice.double", "--into", str(tmp_path)]) == 2
    assert "nothing is overwritten" in capsys.readouterr().err
    assert list((tmp_path / "twice").iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("op", "double"),
        ("op", "../x.y"),
        ("async-op", "Demo.start"),
        ("pass", "a/b"),
        ("package", "class"),
        ("pass", ""),
    ],
)
def test_what_is_no_name_is_refused(kind: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", kind, name, "--into", str(tmp_path)]) == 2
    assert "error: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
