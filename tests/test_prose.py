"""
The prose of all pages follows rules that a program can check: sentences of at most 25 words, and no filler.

That words of the glossary are linked at their first use is tested for the course (`test_course_pages.py`), where links
are set by hand; everywhere else the site sets them (`test_site.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support.corpora import whole
from tests.support.ir import ROOT
from tests.support.prose import BANNED, COURSE, FILLER, FRONTED, LONGEST, sentences, words_of_code
from tests.test_docs import PAGES

pytestmark = whole("a page is read in some milliseconds, and any may have a fault")

MOST_WORDS = 51_190
"""Of all pages without the course. Who adds a page shortens another: the reference is written by the code."""

TITLES = [str(page.relative_to(ROOT)) for page in PAGES if page.is_file()]


def faults(text: str) -> list[str]:
    """The sentences of a page that are too long, and its filler."""
    found = sentences(text)
    long = [sentence for sentence in found if len(sentence.split()) > LONGEST]
    return long + [match[0] for match in BANNED.finditer(" ".join(found))]


@pytest.mark.parametrize("title", TITLES)
def test_sentences_are_short_and_without_filler(title: str):
    assert faults((ROOT / title).read_text()) == []


def test_the_pages_together_stay_short():
    words = sum(len(sentence.split()) for title in TITLES for sentence in sentences((ROOT / title).read_text()))
    course = sum(len(sentence.split()) for page in COURSE.glob("*.md") for sentence in sentences(page.read_text()))
    assert 0 < words - course <= MOST_WORDS


CEILINGS = {"nobody": 203, "whoever": 49, "somebody": 29}
"""How often the texts of the code have a word that pages may not have. A number may only fall."""


def package() -> list[Path]:
    return sorted((ROOT / "tileas_xdsl").rglob("*.py"))


def test_messages_and_docstrings_are_without_filler():
    found = {file: words_of_code(FILLER, file.read_text()) for file in package()}
    assert {str(file): words for file, words in found.items() if words} == {}


def test_words_that_hide_who_acts_become_fewer_in_the_code():
    words = re.compile("|".join(CEILINGS), re.IGNORECASE)
    found = Counter(word.split()[1].lower() for file in package() for word in words_of_code(words, file.read_text()))
    assert all(found[word] <= ceiling for word, ceiling in CEILINGS.items()), found


MOST_FRONTED = 105
"""How many sentences of the code begin with a genitive. The number may only fall."""


def test_sentences_with_their_subject_in_the_middle_become_fewer_in_the_code():
    assert sum(len(words_of_code(FRONTED, file.read_text())) for file in package()) <= MOST_FRONTED


# The tests themselves -------------------------------------------------------------------------------------------------


def test_what_a_sentence_with_its_subject_in_the_middle_is():
    assert FRONTED.search("Of a call the verdict is tested, not its time.")
    assert FRONTED.search("It is read. Of the other rings, the depth stays.")
    assert not FRONTED.search("The depth of every other ring stays.")


def test_what_a_sentence_is():
    text = (
        "# Title\n\nOne `two three` four. Five, [six](x.md)!\n\n- Seven.\n- Eight\n\n```\nno. No.\n```\n\n| no. No. |\n"
    )
    assert sentences(text) == ["One Code four.", "Five, six!", "Seven.", "Eight"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One two.", []),
        (" ".join(["word"] * 26) + ".", [" ".join(["word"] * 26) + "."]),
        (" ".join(["word"] * 25) + ".", []),
        ("It is simply there.", ["simply"]),
        ("It is `simply` there.\n\n```\nsimply\n```\n", []),
    ],
)
def test_what_a_fault_is(text: str, found: list[str]):
    assert faults(text) == found


def test_what_a_text_of_the_code_is():
    code = '"""It is very good."""\nrefuse(op, f"is simply {x} wrong")  # very\nvery = 1\n'
    assert words_of_code(FILLER, code) == ["1: very", "2: simply"]
