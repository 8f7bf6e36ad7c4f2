"""
The commands of README and First Steps, typed by someone who has nothing but Python, make and a checkout.

README begins with `make demo`, which makes an environment; First Steps is begun with `pip install .`. Each page gets a
checkout and an environment of its own, and its commands run one after the other in it, as they stand there: what one
writes the next one finds. Nothing of this checkout's environment is on the path.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.corpora import nightly
from tests.support.ir import ROOT
from tests.test_docs import ALL, Fence, file_name

SECONDS = 600
PYTHON = Path(sys.base_prefix) / "bin" / "python3"
NO_INDEX = re.compile(r"No matching distribution|Could not find a version|Connection|Temporary failure")
RUNS_THIS_TEST = re.compile(r"^make test\b.*$", re.MULTILINE)
"""The one command that is not typed."""

INSTALLED = {
    "README.md": (["make demo"], "source .venv/bin/activate"),
    "docs/first-steps.md": (
        [f"{PYTHON} -m venv env", "source env/bin/activate", "pip install --quiet ."],
        "source env/bin/activate",
    ),
}
"""Page -> one of the ways to install that its text names, and how to activate what that makes."""


README = pytest.param("README.md", marks=nightly("`make demo` installs everything that development needs"))


@pytest.mark.parametrize("page", [README, *(page for page in INSTALLED if page != "README.md")])
def test_the_commands_of_a_page_run_in_a_fresh_environment(page: str, tmp_path: Path) -> None:
    install, activate = INSTALLED[page]
    copy_checkout(tmp_path)
    typed(tmp_path, install)
    fences = [fence for fence in ALL if fence.page == page and (fence.tag[:1] == ("sh",) or file_name(fence))]
    assert len(fences) > 3
    for fence in fences:
        if (name := file_name(fence)) is not None:
            (tmp_path / name).write_text(fence.body)
            continue
        lines = RUNS_THIS_TEST.sub("", fence.body).splitlines()
        result = typed(tmp_path, [activate, *lines], status=status_of(fence))
        assert fence.output is None or result.stdout == fence.output, str(fence)


def test_the_wheel_has_the_course_and_the_examples(tmp_path: Path) -> None:
    """From the wheel alone, without a checkout: an exercise is started and judged, and an example is checked."""
    checkout, elsewhere = tmp_path / "checkout", tmp_path / "elsewhere"
    checkout.mkdir()
    elsewhere.mkdir()
    copy_checkout(checkout)
    typed(checkout, [f"{PYTHON} -m venv env", "source env/bin/activate", "pip install --quiet ."])
    use = f"source {checkout}/env/bin/activate"
    typed(elsewhere, [use, "tileas course start 1", "tileas course check 1"], status=1)
    typed(elsewhere, [use, "tileas course solution 1 > a.mlir", "tileas course check 1 a.mlir"])
    typed(elsewhere, [use, "tileas check $VIRTUAL_ENV/share/tileas-xdsl/examples/double_buffer.mlir"])
    answers = [path for path in (ROOT / "tileas_xdsl" / "course").glob("[0-9]*/*") if path.is_file()]
    shipped = typed(elsewhere, [use, "python -c 'import tileas_xdsl; print(tileas_xdsl.__path__[0])'"]).stdout.strip()
    assert [a.name for a in answers if not (Path(shipped) / a.relative_to(ROOT / "tileas_xdsl")).is_file()] == []


def status_of(fence: Fence) -> int:
    return next((int(word.removeprefix("exit=")) for word in fence.tag if word.startswith("exit=")), 0)


def copy_checkout(to: Path) -> None:
    """What git knows of, and new files: what a clone has."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def typed(where: Path, lines: list[str], status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run `lines` as one script. Skips the test where packages cannot be installed, unless oracles are required."""
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=where,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    said = f"{result.stdout}{result.stderr}"
    if status == 0 != result.returncode and NO_INDEX.search(said) and os.environ.get("TILEAS_REQUIRE_ORACLES") != "1":
        pytest.skip("needs an index of packages")
    assert result.returncode == status, "\n".join([*lines, said])
    assert "Traceback" not in said
    return result


def clean_environment() -> dict[str, str]:
    """Without this environment: neither its scripts nor its modules."""
    mine = Path(sys.prefix) / "bin"
    path = [str(PYTHON.parent), *(entry for entry in os.environ["PATH"].split(os.pathsep) if Path(entry) != mine)]
    hidden = ("PYTHON", "VIRTUAL_ENV", "TILEAS_", "PYTEST", "COV_", "MAKE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return {**kept, "PATH": os.pathsep.join(path)}
