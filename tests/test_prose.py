"""
The prose of all pages follows rules that a program can check: sentences of at most 25 words, and no filler.

That words of the glossary are linked at their first use is tested for the course (`test_course_pages.py`), where links
are set by hand; everywhere else the site sets them (`test_site.py`).
"""

from __future__ import annotations

import pytest

from tests.support.ir import ROOT
from tests.support.prose import BANNED, LONGEST, sentences
from tests.test_docs import PAGES

NOT_YET: set[str] = {
    "CONTRIBUTING.md",
    "README.md",
    "docs/backend.md",
    "docs/compare-tvm.md",
    "docs/contents.md",
    "docs/explain.md",
    "docs/first-steps.md",
    "docs/four-ways.md",
    "docs/layouts.md",
    "docs/mutation.md",
    "docs/python.md",
    "docs/schedules.md",
    "docs/threads.md",
    "docs/timeline.md",
    "docs/triton.md",
    "docs/verbatim.md",
    "docs/your-own-package.md",
}
"""Pages whose prose is older than the rules. This list only gets shorter: a new page keeps them."""

TITLES = [str(page.relative_to(ROOT)) for page in PAGES if page.is_file()]
every_page = pytest.mark.parametrize("title", [title for title in TITLES if title not in NOT_YET])


def faults(text: str) -> list[str]:
    """The sentences of a page that are too long, and its filler."""
    found = sentences(text)
    long = [sentence for sentence in found if len(sentence.split()) > LONGEST]
    return long + [match[0] for match in BANNED.finditer(" ".join(found))]


@every_page
def test_sentences_are_short_and_without_filler(title: str):
    assert faults((ROOT / title).read_text()) == []


def test_pages_that_break_no_rule_are_not_excused():
    assert [title for title in sorted(NOT_YET) if not faults((ROOT / title).read_text())] == []


# The tests themselves -------------------------------------------------------------------------------------------------


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
