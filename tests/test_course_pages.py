"""
The chapters of the course have one form, and words of the glossary are linked where a chapter uses them first.

Sentences are tested with those of all other pages (`test_prose.py`), and so is what they show (`test_docs.py`,
`test_figures.py`).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.prose import COURSE, FENCE, LINK, LONGEST, anchors, chapters, sentences, terms, unlinked
from tileas_xdsl.tools.exercises import exercises

SECTIONS = ["The program", "Predict before you run", "The picture", "The rule", "Exercise", "Where it hurt"]
every_chapter = pytest.mark.parametrize("page", chapters(), ids=lambda page: page.stem)


@every_chapter
def test_a_chapter_has_its_parts_in_order(page: Path):
    text = page.read_text()
    number = int(page.stem[:2])
    assert re.match(rf"# {number}\. .+\n\n\*\*.+\?\*\*\n", text), "title and question"
    assert re.findall(r"^## (.+)$", FENCE.sub("", text), re.MULTILINE) == SECTIONS
    assert 700 <= len(text.split()) <= 1100
    assert re.search(r"## The rule\n\n\*\*[^*]+\*\*\n", text), "the rule is one sentence in bold"
    assert "](../zoo/" in text.partition("## Where it hurt")[2]


@every_chapter
def test_a_chapter_has_at_most_five_new_terms_and_all_are_in_the_glossary(page: Path):
    line = page.read_text().rstrip().splitlines()[-1]
    assert line.startswith("New terms: ")
    named = re.sub(r"\]\([^)]*\)|\[", "", line).removeprefix("New terms: ").removesuffix(".").split(", ")
    assert named == ["none"] or (len(named) <= 5 and set(named) <= terms().keys())


def test_there_is_a_chapter_for_each_exercise():
    assert [page.name for page in chapters()] == [exercise.page for exercise in exercises().values()]
    contents = (COURSE / "index.md").read_text()
    assert re.findall(r"\]\((\d\d-[\w-]+\.md)\)", contents) == [page.name for page in chapters()]


@every_chapter
def test_a_chapter_starts_its_exercise(page: Path):
    assert f"tileas course start {int(page.stem[:2])}\n" in page.read_text()


@every_chapter
def test_words_of_the_glossary_are_linked_at_their_first_use(page: Path):
    assert unlinked(page.read_text()) == []


@pytest.mark.parametrize("page", sorted(COURSE.glob("*.md")), ids=lambda page: page.stem)
def test_links_to_headings_lead_to_one(page: Path):
    links = [found[2].partition("#") for found in LINK.finditer(FENCE.sub("", page.read_text()))]
    within = [(target, anchor) for target, _, anchor in links if anchor and "://" not in target]
    assert [link for link in within if link[1] not in anchors((page.parent / link[0]).resolve())] == []


def test_a_word_of_the_glossary_has_one_sentence():
    for term, meaning in terms().items():
        assert len(sentences(meaning)) == 1, term
        assert len(meaning.split()) <= LONGEST, term


# The tests themselves -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("A token is here.", ["token"]),
        ("A [token](glossary.md#token) and a token.", []),
        ("A token and a [token](glossary.md#token).", ["token"]),
        ("Two [tokens](glossary.md#token), `count`, [count](other.md).", []),
        ("The trip count.", ["trip count"]),
        ("Each [trip count](glossary.md#trip-count) and count.", ["count"]),
    ],
)
def test_what_a_first_use_is(text: str, missing: list[str]):
    assert unlinked(text) == missing
