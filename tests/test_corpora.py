"""Samples of corpora are fair, and the same ones at each run."""

from __future__ import annotations

import pytest

from tests.support.corpora import draw, sample, sample_with


@pytest.mark.parametrize(("size", "some"), [(500, 50), (94, 3), (7, 7), (10, 3), (1, 1)])
def test_one_program_of_each_part_is_drawn_in_order(size: int, some: int) -> None:
    for seed in range(20):
        drawn = draw(range(size), some, seed)
        assert drawn == draw(range(size), some, seed)
        assert [member * some // size for member in drawn] == list(range(some)) or size % some
        assert drawn == sorted(set(drawn))
        assert len(drawn) == some


def test_every_program_is_drawn_by_some_seed() -> None:
    assert {member for seed in range(400) for member in draw(range(60), 6, seed)} == set(range(60))


def test_no_more_are_drawn_than_there_are() -> None:
    assert draw("ab", 5, 0) == ["a", "b"]


def test_rare_programs_are_always_there() -> None:
    assert {3, 77} <= set(sample_with([77, 3], range(80), 4))
    assert sample_with([3], range(80), 4) == sorted(sample_with([3], range(80), 4))


def test_slow_programs_are_left_to_the_whole_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = draw(range(60), 6, 0)
    assert sample(range(60), 6, slow=drawn[:2]) == drawn[2:]
    assert len(sample(range(60), 6, slow=drawn)) == 1
    monkeypatch.setattr("tests.support.corpora.FULL", True)
    assert sample(range(60), 6, slow=drawn) == list(range(60))
