"""Every mistake has a cause with a number, and every page of the zoo is about one."""

from __future__ import annotations

import pytest

from examples.zoo.exhibits import Exhibit, all_exhibits, code
from tests.support.ir import parse
from tileas_xdsl.checker.witnesses.causes import CAUSES, cause_of, cause_with
from tileas_xdsl.machine.core.violations import Party, Violation, ViolationKind
from tileas_xdsl.tools.check.explain_error import page_of

EXHIBITS = all_exhibits()


def test_no_number_and_no_title_is_used_twice() -> None:
    numbers, titles = [cause.number for cause in CAUSES], [cause.title for cause in CAUSES]
    assert sorted(set(numbers)) == sorted(numbers) == list(range(1, len(CAUSES) + 1))
    assert len(set(titles)) == len(titles)


def test_every_page_of_the_zoo_is_about_one_cause() -> None:
    pages = [page for cause in CAUSES for page in cause.pages]
    assert sorted(pages) == sorted(exhibit.name for exhibit in EXHIBITS)


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_a_wrong_program_of_the_zoo_has_the_cause_of_its_page(exhibit: Exhibit) -> None:
    assert exhibit.finding is not None
    assert exhibit.name in exhibit.finding.cause.pages, exhibit.finding.cause
    assert exhibit.finding.as_data()["cause"] == exhibit.finding.cause.code


@pytest.mark.parametrize("kind", ViolationKind)
def test_what_no_other_row_fits_has_a_cause_of_its_kind(kind: ViolationKind) -> None:
    party = Party(parse("func.func @f() { func.return }"), "main", (), "does something")
    assert cause_of(Violation(kind, "something", (party,), "something else")).kind is kind


@pytest.mark.parametrize("spelling", ["T012", "t012", "12", "T12"])
def test_a_number_may_be_spelled_shortly(spelling: str) -> None:
    found = cause_with(spelling)
    assert found is not None
    assert found.code == "T012"


@pytest.mark.parametrize("spelling", ["T000", "T999", "race", "", "T-1"])
def test_what_is_no_number_has_no_cause(spelling: str) -> None:
    assert cause_with(spelling) is None


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_the_page_is_shown_with_both_programs(exhibit: Exhibit) -> None:
    page = page_of(exhibit.name)
    for path in (exhibit.bad, exhibit.good):
        assert "\n".join(code(path)).strip() in page
