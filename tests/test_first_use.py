"""
The first use of the package, by someone who has the wheel: a kernel of one's own is checked, compiled, computed, drawn,
and a script that does so has types.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.corpora import nightly
from tests.support.ir import ROOT
from tests.test_fresh_environment import PYTHON, copy_checkout, typed

SCRIPT = ROOT / "tests" / "support" / "user_script.py"
PAGE = re.compile(r"^```python\n(# %%.*?)^```$", re.MULTILINE | re.DOTALL)
CELLS = """
import ast, sys
names = {}
for cell in open(sys.argv[1]).read().split("# %%")[1:]:
    *before, last = ast.parse(cell.partition("\\n")[2]).body
    exec(compile(ast.Module(before, []), "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        if shown is not None:
            print(type(shown).__name__, "<" in shown._repr_html_())
    else:
        exec(compile(ast.Module([last], []), "cell", "exec"), names)
"""
"""Runs the cells of a page as a notebook does, and shows of each result which way of showing itself it has."""
COMMANDS = re.compile(r"^```text first-use\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_a_script_of_a_user_is_typed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--level", "error", str(SCRIPT)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.stdout.splitlines()[-1].startswith("0 errors"), done.stdout


def test_the_page_for_a_notebook_is_short() -> None:
    assert sum(bool(line.strip()) for line in page().splitlines()) <= 15


@nightly("installs torch, ptxas and pyright into an environment of its own")
def test_from_the_wheel_with_torch(tmp_path: Path) -> None:
    checkout, own = tmp_path / "checkout", tmp_path / "own"
    for folder in (checkout, own):
        folder.mkdir()
    copy_checkout(checkout)
    others = "'torch==2.13.0+cpu' nvidia-cuda-nvcc-cu12 'basedpyright==1.40.*'"
    typed(checkout, [f"{PYTHON} -m venv env", "source env/bin/activate", f"pip install --quiet '.[ptx]' {others}"])
    use = f"source {checkout}/env/bin/activate"
    log = COMMANDS.search((ROOT / "docs" / "first-uses.md").read_text())
    assert log is not None
    shown = re.split(r"^\$ ", log.group(1), flags=re.MULTILINE)[1:]
    install, *rest = [each.partition("\n") for each in shown]
    assert install[0].startswith("pip install")
    assert len(rest) == 3
    (own / "page.py").write_text(page())
    for command, _, output in rest:
        assert typed(own, [use, command]).stdout == output, command
    (own / "cells.py").write_text(CELLS)
    assert typed(own, [use, "python cells.py page.py"]).stdout.splitlines() == [
        "Kernel True",
        "Report True",
        "KernelRun(device='machine', violations=()) True",
        "ShownTimeline True",
    ]
    (own / "script.py").write_text(SCRIPT.read_text())
    assert "0 errors" in typed(own, [use, "basedpyright --level error script.py"]).stdout


def page() -> str:
    """The page for a notebook in `docs/python.md`."""
    found = PAGE.search((ROOT / "docs" / "python.md").read_text())
    assert found is not None
    return found.group(1)
