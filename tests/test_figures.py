"""
Figures and pictures of the documentation come out of commands that stand beside them.

A *figure* is a number with a unit in the text of a page, or in a column of a table whose head names a unit. It has to
stand in the output of a command of its page as well (`text output`), which `test_docs.py` compares. What a text takes
as given, and does not claim to have measured, is listed here with the reason. The pages of the zoo are written by a
program, and compared as a whole (`test_zoo_docs.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from xdsl.universe import Universe

from docs.screenshots import SCREENSHOTS
from examples.pictures import drawings
from tests.support.ir import ROOT
from tests.test_docs import ALL, FENCE, PAGES
from tileas_xdsl.names import PASSES
from tileas_xdsl.tools.passes import describe

UNITS = r"cycles?|ns|us|ms|s|seconds?|minutes?|hours?|%|percent|per cent|[KMG]i?B|times as \w+"
NUMBER = r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?"
FIGURE = re.compile(rf"({NUMBER})\s*(?:{UNITS})(?!\w)")
OF_A_COLUMN = re.compile(rf"\b(?:{UNITS})(?!\w)")
CELL = re.compile(rf"\s*({NUMBER})\s*")
INLINE = re.compile(r"`[^`]*`")

LIMIT = "a limit that the tests keep"
TARGETS = "a number of the machine model (tileas_xdsl/targets/cycles.py)"
EXAMPLE = "a number of the example that the section takes, not a result"
CLOCK = "read from a reader's clock on one day; no command gives it again"
PACKAGES = "what packages of others took on a disk on one day; they change without us"
CLOCKED = ("0.3", "0.5", "0.8", "1.3", "2.3", "2.4", "3", "3.1", "4", "10", "13", "20", "21", "42", "98")
GIVEN: dict[str, dict[str, str]] = {
    "CONTRIBUTING.md": {"10": LIMIT, "20": LIMIT, "2.5": PACKAGES, "0.15": PACKAGES},
    "docs/first-uses.md": dict.fromkeys(CLOCKED, CLOCK),
    "docs/ptx.md": {"2.4": CLOCK, "30": "what the measurement gives a kernel (bench/ptx_corpus.py)"},
    "docs/proven-schedules.md": {"16": EXAMPLE, "8": EXAMPLE, "3": EXAMPLE, "128": EXAMPLE},
    "docs/schedules.md": {"10": TARGETS, "16": "128 x 64 x 2 bytes", "256": TARGETS, "430": TARGETS, "18": TARGETS},
}
"""Page -> figure -> why it needs no command."""

SHOTS = {shot.name: shot for shot in SCREENSHOTS}
"""What a browser shows of a page; the command that writes the page stands beside it."""

WRITTEN = [page for page in PAGES if page.is_file() and page.parent.name != "zoo"]
TITLES = [str(page.relative_to(ROOT)) for page in WRITTEN]


def figures(text: str) -> dict[str, int]:
    """The figures of a page, with the line in which each stands first."""
    found: dict[str, int] = {}
    columns: list[bool] = []
    plain = FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text)
    for number, line in enumerate(plain.splitlines(), 1):
        line = INLINE.sub("", line)
        for match in FIGURE.finditer(line):
            found.setdefault(match[1], number)
        cells = line.strip().strip("|").split("|") if line.startswith("|") else []
        if not cells:
            columns = []
        elif not columns:
            columns = [OF_A_COLUMN.search(cell) is not None for cell in cells]
        for cell, has_unit in zip(cells, columns, strict=False):
            if has_unit and (match := CELL.fullmatch(cell)):
                found.setdefault(match[1], number)
    return found


def outputs(title: str) -> list[str]:
    """What the commands of a page print, as it shows it."""
    return [fence.output for fence in ALL if fence.page == title and fence.tag[:1] == ("sh",) and fence.output]


def loose_figures(title: str, text: str, printed: Sequence[str]) -> dict[str, int]:
    """The figures in the `text` of a page, with their lines, that are neither `printed` nor given."""
    known = {number for number in re.findall(NUMBER, "\n".join(printed))} | GIVEN.get(title, {}).keys()
    return {figure: line for figure, line in figures(text).items() if figure not in known}


@pytest.mark.parametrize("page", WRITTEN, ids=TITLES)
def test_every_figure_stands_in_the_output_of_a_command(page: Path) -> None:
    title = str(page.relative_to(ROOT))
    loose = loose_figures(title, page.read_text(), outputs(title))
    assert loose == {}, f"{title}: show them in the output of a command, or leave them out"


def test_without_the_output_its_figures_are_loose() -> None:
    """As if the outputs were deleted from the pages: whoever has a figure fails the test above."""
    having = [t for t, page in zip(TITLES, WRITTEN, strict=True) if figures(page.read_text()).keys() - GIVEN.get(t, {})]
    assert having
    for title in having:
        assert loose_figures(title, (ROOT / title).read_text(), []) != {}
    text = "The GEMM takes 4,937 cycles."
    assert loose_figures("README.md", text, ["4,937 cycles, 530 an iteration"]) == {}
    assert loose_figures("README.md", text, ["8,969 cycles, 1,532 an iteration"]) == {"4,937": 1}


def test_what_is_given_is_still_on_its_page() -> None:
    for title, given in GIVEN.items():
        assert given.keys() <= figures((ROOT / title).read_text()).keys(), title


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It takes 613 cycles.", ["613"]),
        ("1,532 cycles, 2.5 s and 40 %", ["1,532", "2.5", "40"]),
        ("| n | cycles |\n|---|---|\n| 4 | 613 |", ["613"]),
        ("three stages, 4 slots, `613 cycles`", []),
        ("```sh\ntileas run # 613 cycles\n```", []),
        ("sm_90 is 90 percentile", []),
    ],
)
def test_what_a_figure_is(text: str, found: list[str]) -> None:
    assert list(figures(f"{text}\n")) == found


# Pictures -------------------------------------------------------------------------------------------------------------


def test_every_picture_is_compared_with_what_a_command_draws() -> None:
    """`cmp` in a fence that the tests of the documentation execute."""
    drawn = {place.removeprefix("docs/pictures/") for drawing in drawings() for _, place in drawing.pictures}
    there = {path.name for path in (ROOT / "docs" / "pictures").iterdir()}
    assert there == drawn | SHOTS.keys()


@pytest.mark.parametrize("page", WRITTEN, ids=TITLES)
def test_a_picture_stands_beside_its_commands(page: Path) -> None:
    text = page.read_text()
    shown = {Path(path).name for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", FENCE.sub("", text))}
    bound = {Path(path).name for path in re.findall(r"^cmp build/\S+ (\S+)$", text, re.MULTILINE)}
    assert shown <= bound | SHOTS.keys()
    text = re.sub(r"\\\n\s*", "", text)
    for name in shown & SHOTS.keys():
        subcommand, file, *_ = SHOTS[name].arguments
        assert f"tileas {subcommand} {file} " in text, name


# Pages ----------------------------------------------------------------------------------------------------------------


def test_every_page_is_linked_from_another() -> None:
    linked: set[Path] = set()
    for page in filter(Path.is_file, PAGES):
        targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", FENCE.sub("", page.read_text()))
        linked |= {(page.parent / target).resolve() for target in targets if "://" not in target} - {page.resolve()}
    lonely = [str(page.relative_to(ROOT)) for page in PAGES if page.is_file() and page.resolve() not in linked]
    assert lonely == []


def test_passes_say_what_they_do() -> None:
    """`tileas passes` has a sentence of its own for each."""
    for name in PASSES:
        factory = Universe.get_multiverse().all_passes[name]
        says = describe(name, factory).description
        assert len(says.split()) > 2, name
        assert "see the" not in says.lower(), name
