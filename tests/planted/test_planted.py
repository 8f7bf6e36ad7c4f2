"""
Each planted mistake is one finding, which begins with what the author sees; the edit that is shown repairs it.

The files are checked as they stand, by one command.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.checker.test_edits import applied
from tests.planted.mistakes import FAULT, IN_GLUON, IN_IR, ROOT, WITHOUT_EDIT, Kind, Planted
from tests.support.corpora import each
from tileas_xdsl.checker.verdict.mistakes import SourceEdit
from tileas_xdsl.tools import main as command

WITH_TRITON = find_spec("triton") is not None or os.environ.get("TILEAS_REQUIRE_ORACLES") == "1"
ALL = (*IN_GLUON, *IN_IR)
UNDEFINED = "undefined behaviour"
"""What is said where a manual leaves open what becomes of a program: that may be a fault."""


def test_there_are_enough_of_each_kind() -> None:
    assert len(ALL) >= 40
    assert len(IN_GLUON) >= 15
    kinds = Counter(planted.kind for planted in ALL)
    assert set(kinds) == set(Kind)
    assert len(Kind) == 12
    assert all(planted.text for planted in ALL)


def checked(
    text: str, planted: Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[dict[str, Any]]]:
    """The exit status of `tileas check` on `text`, and what it says of each form of the kernel."""
    if planted in IN_GLUON and not WITH_TRITON:
        pytest.skip("needs Triton 3.9: pip install '.[triton]'")
    file = tmp_path / Path(planted.file).name
    file.write_text(text)
    status = command.main(["check", str(file), *planted.options, "--no-advice", "--format", "json"])
    data = json.loads(capsys.readouterr().out)
    return status, data if isinstance(data, list) else [data]


def holds(planted: Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any] | None]:
    """Every form of the kernel shows one finding. Returns the edit of each, which makes it safe."""
    status, forms = checked(planted.text, planted, tmp_path, capsys)
    assert status == 1
    edits: list[dict[str, Any] | None] = []
    for form in forms:
        (mistake,) = form["mistakes"]
        effect = form["findings"][mistake["first"]]["effect"]
        assert planted.seen in (FAULT if effect == UNDEFINED else effect)
        edits.append(mistake["edit"])
        if mistake["edit"] is not None:
            status, _ = checked(repaired(planted.text, mistake["edit"]), planted, tmp_path, capsys)
            assert status == 0
    return edits


def repaired(text: str, edit: dict[str, Any]) -> str:
    before, after = (tuple(edit[part].split("\n")) if edit[part] else () for part in ("before", "after"))
    return applied(text, SourceEdit(edit["line"], before, after, edit["verdict"]))


@each("planted", IN_GLUON, 3, ids=lambda planted: planted.name)
def test_a_mistake_in_gluon_is_one_finding(
    planted: Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = holds(planted, tmp_path, capsys)
    assert all((edit is None) == (planted.kind in WITHOUT_EDIT) for edit in edits)


@each("planted", IN_IR, 3, ids=lambda planted: planted.name)
def test_a_mistake_in_ir_is_one_finding(planted: Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    holds(planted, tmp_path, capsys)


@each("file", sorted({planted.file for planted in ALL}), 3)
def test_without_its_mistakes_a_program_is_safe(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted = next(each for each in ALL if each.file == file)
    status, _ = checked((ROOT / file).read_text(), planted, tmp_path, capsys)
    assert status == 0
