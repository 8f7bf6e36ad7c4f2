"""
Corpora of random programs: all of one with `TILEAS_CASES=full` (`make test-full`), otherwise a sample of it.

A sample is a fair one: one program from each of as many equal parts of the corpus, at a place that `TILEAS_SEED` draws.
The seed is 0 unless the environment says another one, so that two runs of one checkout run the same programs. `make
test` takes the day of the year, and continuous integration always 0. Programs whose proof alone takes tens of seconds
may be named as slow: they stand in the whole corpus only.

`make test` (`TILEAS_CASES=sample`) takes parts of long parametrised tests besides (`tests/support/families.py`), and
leaves out what is `nightly`. A run of a file by its name takes all members of all tests in it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import pytest

FULL = os.environ.get("TILEAS_CASES") == "full"
SAMPLED = os.environ.get("TILEAS_CASES") == "sample"
SEED = int(os.environ.get("TILEAS_SEED", "0"))
PART = int(os.environ.get("TILEAS_PART", SEED))
"""Which part of a family a run takes. Its members are no random programs, so each commit may take another part."""

T = TypeVar("T")
Test = TypeVar("Test", bound=Callable[..., None])


def sample(whole: Sequence[T], some: int, *, slow: Collection[T] = ()) -> list[T]:
    """`some` of the members of `whole`, less those that are `slow`, in their order; at full size, all."""
    if FULL:
        return list(whole)
    quick = [member for member in whole if member not in slow]
    return [member for member in draw(whole, some, SEED) if member not in slow] or draw(quick, 1, SEED)


def sample_with(rare: Sequence[int], whole: Sequence[int], some: int) -> list[int]:
    """A sample of seeds, and always those of rare programs, which show what few others do."""
    return sorted({*sample(whole, some), *rare})


def draw(whole: Sequence[T], some: int, seed: int) -> list[T]:
    """One of each of `some` equal parts of `whole`."""
    generator = random.Random(seed)
    edges = [len(whole) * part // some for part in range(some + 1)]
    return [whole[generator.randrange(start, end)] for start, end in pairwise(edges) if end > start]


def corpus(programs: int | Callable[[], int]) -> pytest.MarkDecorator:
    """A test that runs so many programs of a corpus, for which the report of `make test-full` has a row."""
    return pytest.mark.corpus(programs)


def nightly(reason: str) -> pytest.MarkDecorator:
    """A test of more than 20 seconds of processor time, and why. `make test` has a smaller one that is like it."""
    return pytest.mark.nightly(reason)


def whole(reason: str) -> pytest.MarkDecorator:
    """A test of which every run takes all members, however long they take, and why."""
    return pytest.mark.whole(reason)


def each(
    name: str,
    whole: Sequence[Any],
    some: int,
    *,
    programs: int = 1,
    ids: Any = None,
    slow: Collection[Any] = (),
) -> Callable[[Test], Test]:
    """A corpus test for each member of a sample of `whole`; a member may stand for several programs."""

    def decorate(test: Test) -> Test:
        return pytest.mark.parametrize(name, sample(whole, some, slow=slow), ids=ids)(corpus(programs)(test))

    return decorate
