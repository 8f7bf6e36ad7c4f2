"""`tileas waits`: what it writes where, and what it says about input that has nothing to draw."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.ir import ROOT, parse
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.tools import main as command
from tileas_xdsl.views.dependences import dependence_dot, dependence_svg

EXAMPLE = ROOT / "examples/async_regions.mlir"


def waits(*options: str | Path) -> int:
    return command.main(["waits", *map(str, options)])


def test_the_name_of_the_file_says_what_to_write(tmp_path: Path) -> None:
    (function,) = functions_in(parse(EXAMPLE.read_text()))
    assert waits(EXAMPLE, "-o", tmp_path / "a.dot") == 0
    assert waits(EXAMPLE, "-o", tmp_path / "a.svg") == 0
    assert (tmp_path / "a.dot").read_text() == dependence_dot(function)
    assert (tmp_path / "a.svg").read_text() == dependence_svg(function)
    ElementTree.parse(tmp_path / "a.svg")


def test_a_format_overrules_the_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert waits(EXAMPLE, "--format", "svg", "-o", tmp_path / "a.txt") == 0
    assert waits(EXAMPLE, "--format", "svg") == 0
    assert (tmp_path / "a.txt").read_text() == capsys.readouterr().out


def test_a_name_that_says_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert waits(EXAMPLE, "-o", tmp_path / "a.txt") == 2
    assert "does not end in .dot or .svg" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_which_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = tmp_path / "two.mlir"
    task = "%t = async.execute {\nasync.yield\n}\nasync.await %t : !async.token\nreturn\n"
    two.write_text(f"func.func @f() {{\n{task}}}\nfunc.func @g() {{\nreturn\n}}\n")
    assert waits(two) == 2
    assert "say which function with --function; there are: @f, @g" in capsys.readouterr().err
    assert waits(two, "--function", "@f") == 0
    assert capsys.readouterr().out.startswith('digraph "f"')
    assert waits(two, "--function", "g") == 2
    assert "nothing in the function waits for a token" in capsys.readouterr().err


def test_the_only_public_function_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    helped = tmp_path / "helped.mlir"
    task = "%t = async.execute {\nasync.yield\n}\nasync.await %t : !async.token\nreturn\n"
    helped.write_text(f"func.func private @f() {{\nreturn\n}}\nfunc.func @g() {{\n{task}}}\n")
    assert waits(helped) == 0
    assert capsys.readouterr().out.startswith('digraph "g"')


@pytest.mark.parametrize("file", sorted(ROOT.glob("examples/**/*.mlir")), ids=lambda file: file.stem)
def test_every_function_of_the_examples_that_has_tokens_can_be_drawn(file: Path) -> None:
    for function in functions_in(parse(file.read_text())):
        ElementTree.fromstring(dependence_svg(function))
        assert dependence_dot(function).startswith("digraph ")


def test_a_file_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert waits(EXAMPLE, "-o", "/nowhere/at/all.svg") == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_picture_of_the_documentation_is_up_to_date() -> None:
    (function,) = functions_in(parse(EXAMPLE.read_text()))
    assert (ROOT / "docs/pictures/async-regions.svg").read_text() == dependence_svg(function)
