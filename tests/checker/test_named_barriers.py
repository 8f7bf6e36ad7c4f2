"""Named barriers between which data goes to and fro: proved for every trip count where it is right, found where not."""

from __future__ import annotations

import pytest

from tests.checker.named_barrier_programs import RIGHT, WRONG
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_proved(name: str) -> None:
    report = check(parse(RIGHT[name]))
    assert report.verdict_line == "safe for every trip count", str(report)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found_at_its_least_trip_count(name: str) -> None:
    text, least = WRONG[name]
    report = check(parse(text))
    assert report.verdict is Verdict.VIOLATION, str(report)
    assert report.findings[0].arguments == {"n": least}
