"""The exhibits of the zoo in Triton's words: the wrong ones are wrong in the same way, and the right ones are safe."""

from __future__ import annotations

import pytest

from examples.zoo.exhibits import SMALL_TRIP_COUNTS, Exhibit, checked, exhibits
from examples.zoo.in_ttgir import NOT_IN_TTGIR
from tests.support.corpora import each

ALL = exhibits()
KINDS = {"arrival-not-counted": ["race", "undrained"]}
"""Name -> the kinds of a program of TTGIR that has no loop around the mistake, and so no later phase that shows it."""
IN_TTGIR = [exhibit for exhibit in ALL if exhibit.name not in NOT_IN_TTGIR]


@each("exhibit", IN_TTGIR, 12, programs=2, ids=lambda exhibit: exhibit.name)
def test_an_exhibit_is_wrong_in_the_same_way(exhibit: Exhibit) -> None:
    wrong = checked(exhibit.bad.with_suffix(".ttgir"), SMALL_TRIP_COUNTS)
    assert sorted(wrong.kinds) == KINDS.get(exhibit.name, sorted(exhibit.report_on_bad.kinds))
    assert exhibit.kind in wrong.kinds
    right = checked(exhibit.good.with_suffix(".ttgir"))
    assert right.kinds == []
    assert right.is_proved


def test_each_exhibit_is_there_or_the_index_says_why_not() -> None:
    assert len(IN_TTGIR) >= 36
    assert NOT_IN_TTGIR.keys() <= {exhibit.name for exhibit in ALL}
    for exhibit in ALL:
        files = [path.with_suffix(".ttgir").exists() for path in (exhibit.bad, exhibit.good)]
        assert files == [exhibit.name not in NOT_IN_TTGIR] * 2


@pytest.mark.parametrize("exhibit", IN_TTGIR, ids=lambda exhibit: exhibit.name)
def test_the_two_programs_differ_by_little(exhibit: Exhibit) -> None:
    bad, good = (path.with_suffix(".ttgir").read_text().splitlines()[2:] for path in (exhibit.bad, exhibit.good))
    assert bad != good
    assert len(set(bad) ^ set(good)) <= 16
