"""
The measures of the house: each count may only fall. `python -m tests.support.measures --places` prints the places.

A count stands for one idea that is written down in several rooms. Who brings it down lowers its ceiling here; the
second number of a row is where it goes.
"""

from __future__ import annotations

import subprocess

import pytest

from tests.support.corpora import whole
from tests.support.ir import ROOT
from tests.support.measures import MEASURES, lines

pytestmark = whole("each measure has its ceiling")

CEILINGS = {
    "modules of the largest circle of imports, types included": (3, 3),
    "modules that name terminators of scf": (8, 8),
    "operands mapped to arguments of a region by hand": (0, 0),
    "modules with tables of integer ops": (1, 1),
    "symbolic forms of a number": (6, 4),
    "reaches through agents into the machine": (0, 0),
    "writes to fields of a report": (0, 0),
    "functions of eight parameters or more": (6, 6),
    "chips by literal": (12, 12),
    "capabilities compared": (0, 0),
    "engines by literal": (0, 0),
    "classes that map values in a conversion": (1, 1),
    "small modules with one importer, beside them": (1, 0),
    "op builders that are never called": (0, 0),
}
"""Measure -> how much there may be now, and in the end."""

LONGEST_SUBJECT = 72
FIRST_CHECKED = "2026-11-27T00:00:00+00:00"
"""Commits are checked from this time on."""


@pytest.mark.parametrize("measure", MEASURES)
def test_no_measure_rises_and_a_ceiling_is_lowered_with_its_measure(measure: str) -> None:
    found = MEASURES[measure]()
    ceiling, end = CEILINGS[measure]
    assert len(found) <= ceiling, "\n".join(found)
    assert end <= ceiling == max(len(found), end)


def test_the_measures_count_something() -> None:
    """A pattern that no longer matches would hold every ceiling."""
    assert set(CEILINGS) == set(MEASURES)
    assert lines() > 100_000


# Commits --------------------------------------------------------------------------------------------------------------


def commits() -> list[tuple[str, str]]:
    """(subject, body) of the commits that are checked; none where this is no checkout of git."""
    done = subprocess.run(
        ["git", "log", "--no-merges", f"--since={FIRST_CHECKED}", "--format=%s%x01%b%x00"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    entries = [entry.strip("\n") for entry in done.stdout.split("\0") if entry.strip("\n")]
    return [(entry.partition("\1")[0], entry.partition("\1")[2].strip()) for entry in entries]


def test_subjects_fit_a_line_and_a_body_says_why() -> None:
    wrong = [subject for subject, body in commits() if len(subject) > LONGEST_SUBJECT or not body]
    assert wrong == []
