"""
No proof for every trip count is found of those programs of `far_programs` that are wrong at a large one.

Each wrong program is also executed at the trip count at which it is said to go wrong, and at the one before.
"""

from __future__ import annotations

import pytest

from tests.checker.far_programs import PROGRAMS, Program
from tests.support.corpora import corpus, sample
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.violations import UnsupportedError

EVERY = "safe for every trip count"

WRONG = [program for program in PROGRAMS if program.wrong_at is not None]
RIGHT = [program for program in PROGRAMS if program.wrong_at is None]


def each(programs: list[Program]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", programs, ids=lambda program: program.name)


def some(programs: list[Program]) -> list[Program]:
    """A fourth, unless the test runs at full size."""
    return sample(programs, len(programs) // 4)


@each(WRONG)
def test_no_proof_of_what_goes_wrong_far_away(program: Program) -> None:
    assert program.wrong_at is not None
    report = check(parse(program.text))
    assert report.verdict_line != EVERY
    assert not program.decided or report.verdict is Verdict.VIOLATION, str(report)
    # Nothing is called wrong that is right.
    if report.verdict is Verdict.VIOLATION:
        assert report.findings[0].arguments["n"] >= program.wrong_at


@each(RIGHT)
def test_what_never_goes_wrong_is_not_called_wrong(program: Program) -> None:
    report = check(parse(program.text))
    assert report.verdict is Verdict.SAFE, str(report)
    assert report.verdict_line == EVERY or not program.decided, str(report)


@corpus(1)
@each(some(WRONG))
def test_these_programs_go_wrong_where_they_say(program: Program) -> None:
    """Else they would test nothing."""
    assert program.wrong_at is not None
    assert _executed(program, program.wrong_at) is program.outcome
    assert _executed(program, program.wrong_at - 1) is Verdict.SAFE


@corpus(1)
@each(some(RIGHT))
@pytest.mark.parametrize("trip_count", [0, 1, 2, 40, 91, 150])
def test_these_programs_are_right(program: Program, trip_count: int) -> None:
    """Else a proof of them would be a mistake."""
    assert _executed(program, trip_count) is Verdict.SAFE


def _executed(program: Program, trip_count: int) -> Verdict | None:
    """None where the program is refused."""
    try:
        return check(parse(program.text), trip_counts=[trip_count]).verdict
    except UnsupportedError:
        return None
