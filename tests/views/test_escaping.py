"""
Names and strings of a program are text in every page and picture that we write, never markup.

Every view is drawn of a program whose file, function and attribute have names that would be elements, and is read again
by a parser of HTML or XML: there is no such element, and the names are there as text.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.ir import ROOT
from tileas_xdsl.tools.main import main

NAME = """a<evil onload='x'>&"q"</script>"""
IN_MLIR = NAME.replace('"', '\\"')

VIEWS = {
    "explain": ["explain", "-o", "OUT.html", "-p", "queue-per-slot"],
    "timeline": ["timeline", "--trip-count", "3", "-o", "OUT.html"],
    "timeline on a canvas": ["timeline", "--trip-count", "400", "-o", "OUT.html"],
    "timeline as a picture": ["timeline", "--trip-count", "3", "-o", "OUT.svg"],
    "slots": ["timeline", "--trip-count", "3", "--view", "slots", "-o", "OUT.html"],
    "slots as a picture": ["timeline", "--trip-count", "3", "--view", "slots", "-o", "OUT.svg"],
    "queues": ["timeline", "--trip-count", "3", "--view", "queues", "-o", "OUT.html"],
    "schedule": ["schedule", "-o", "OUT.html"],
    "schedule as a picture": ["schedule", "-o", "OUT.svg"],
}
PROGRAMS = {"schedule": "gemm_loop.mlir", "schedule as a picture": "gemm_loop.mlir"}
OTHER = "double_buffer.mlir"


class Elements(HTMLParser):
    """The names of all elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)


def elements_of(path: Path) -> set[str]:
    if path.suffix == ".svg":
        return {str(element.tag).rpartition("}")[2] for element in ElementTree.parse(path).iter()}
    reader = Elements()
    reader.feed(path.read_text())
    return reader.names


@pytest.mark.parametrize("view", VIEWS)
def test_names_of_a_program_stay_text(view: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "examples" / PROGRAMS.get(view, OTHER)).read_text()
    renamed = re.sub(r"func\.func @\w+", lambda _: f'func.func @"{IN_MLIR}"', text, count=1)
    assert renamed != text
    program = NAME.replace("/", "")
    Path(program).write_text(renamed)
    command, *options = VIEWS[view]
    options = [option.replace("OUT", "out") for option in options]
    assert main([command, program, *options]) == 0
    written = next(tmp_path.glob("out.*"))
    assert "evil" in written.read_text()
    elements = elements_of(written)
    assert {"svg", "html"} & elements
    assert "evil" not in elements


def test_an_element_in_a_name_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(f"<html>{NAME}")
    assert "evil" in elements_of(tmp_path / "a.html")
