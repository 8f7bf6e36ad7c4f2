"""The pages of the zoo say what the programs and the checker say now (`python -m examples.zoo --write-docs`)."""

from __future__ import annotations

import pytest

from examples.zoo.exhibits import Exhibit, all_exhibits
from examples.zoo.pages import INDEX, PAGES, PICTURES, index, page, pictures
from tests.support.corpora import corpus, sample

EXHIBITS = all_exhibits()
DRAWN = sample(EXHIBITS, 1)
AGAIN = "write the pages anew: python -m examples.zoo --write-docs"


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_page_is_what_would_be_written(exhibit: Exhibit) -> None:
    """Made here and not above: what runs while tests are collected runs in each process."""
    text = page(exhibit)
    assert (PAGES / f"{exhibit.name}.md").read_text() == text, AGAIN
    assert f"](pictures/{exhibit.name}.svg)" in text


def test_the_index_is_what_would_be_written() -> None:
    assert (PAGES / INDEX).read_text() == index(EXHIBITS), AGAIN


def test_there_are_no_other_pages() -> None:
    assert {path.name for path in PAGES.glob("*.md")} == {INDEX, *(f"{exhibit.name}.md" for exhibit in EXHIBITS)}


def test_every_page_has_its_picture() -> None:
    assert {path.name for path in PICTURES.glob("*.svg")} == {f"{exhibit.name}.svg" for exhibit in EXHIBITS}
    assert sum(path.stat().st_size for path in PICTURES.glob("*.svg")) < 2_000_000


@corpus(len(DRAWN))
def test_pictures_are_what_would_be_drawn() -> None:
    """One picture is drawn anew by default; with `TILEAS_CASES=full` all are."""
    for name, drawn in pictures(DRAWN).items():
        assert (PICTURES / name).read_text(encoding="utf-8") == drawn, "run: python -m examples.zoo --write-docs"
