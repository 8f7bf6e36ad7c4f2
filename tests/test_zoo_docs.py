"""The pages of the zoo say what the programs and the checker say now (`python -m examples.zoo --write-docs`)."""

from __future__ import annotations

import pytest

from examples.zoo.exhibits import exhibits
from examples.zoo.pages import PAGES, pages

TEXTS = pages(exhibits())


@pytest.mark.parametrize("name", TEXTS)
def test_page_is_what_would_be_written(name: str) -> None:
    path = PAGES / name
    assert path.exists(), "write the pages: python -m examples.zoo --write-docs"
    assert path.read_text() == TEXTS[name], "write the pages anew: python -m examples.zoo --write-docs"


def test_there_are_no_other_pages() -> None:
    assert {path.name for path in PAGES.glob("*.md")} == set(TEXTS)
