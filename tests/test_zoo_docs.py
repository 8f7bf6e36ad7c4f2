"""The pages of the zoo say what the programs and the checker say now (`python -m examples.zoo --write-docs`)."""

from __future__ import annotations

import pytest

from examples.zoo.exhibits import exhibits
from examples.zoo.pages import PAGES, PICTURES, pages, pictures
from tests.support.corpora import corpus, sample

EXHIBITS = exhibits()
TEXTS = pages(EXHIBITS)
DRAWN = sample(EXHIBITS, 1)


@pytest.mark.parametrize("name", TEXTS)
def test_page_is_what_would_be_written(name: str) -> None:
    path = PAGES / name
    assert path.exists(), "write the pages: python -m examples.zoo --write-docs"
    assert path.read_text() == TEXTS[name], "write the pages anew: python -m examples.zoo --write-docs"


def test_there_are_no_other_pages() -> None:
    assert {path.name for path in PAGES.glob("*.md")} == set(TEXTS)


def test_every_page_has_its_picture() -> None:
    names = {f"{exhibit.name}.svg" for exhibit in EXHIBITS}
    assert {path.name for path in PICTURES.glob("*.svg")} == names
    assert all(f"](pictures/{exhibit.name}.svg)" in TEXTS[f"{exhibit.name}.md"] for exhibit in EXHIBITS)
    assert sum(path.stat().st_size for path in PICTURES.glob("*.svg")) < 2_000_000


@corpus(len(DRAWN))
def test_pictures_are_what_would_be_drawn() -> None:
    """One picture is drawn anew by default; with `TILEAS_CASES=full` all are."""
    for name, drawn in pictures(DRAWN).items():
        assert (PICTURES / name).read_text(encoding="utf-8") == drawn, "run: python -m examples.zoo --write-docs"
