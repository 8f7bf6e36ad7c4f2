"""
Scattered regions against sets of bytes, and when two of them come to meet against a look at each distance.

What the threads of a warp touch in a swizzled tile is one region where nobody will be told of it: its verdicts are
held against those of a check that keeps a region for each run of even distances.
"""

from __future__ import annotations

import random

import pytest

from tests.support.thread_kernels import threads_of
from tileas_xdsl.checker.proof.separation import Other, meeting
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.memory import ByteRegion, MemoryObject
from tileas_xdsl.machine.tiles.pointers import byte_object

ROUNDS = 4000
SIZE = 400


def bytes_of(region: ByteRegion) -> frozenset[int]:
    return frozenset(int(start) + byte for start in region.runs() for byte in range(region.itemsize))


def random_region(draw: random.Random, base: MemoryObject) -> ByteRegion:
    """One element, a row or a comb, and copies of it at uneven distances, or none."""
    itemsize = draw.choice([1, 2, 4, 8])
    shape, strides = draw.choice([((), ()), ((3,), (itemsize,)), ((2,), (itemsize + draw.choice([4, 9]),))])
    copies = sorted({0, *(draw.randrange(90) for _ in range(draw.randint(1, 6)))}) if draw.random() < 0.7 else ()
    return ByteRegion(base, draw.randrange(250), shape, strides, itemsize, tuple(copies) if len(copies) > 1 else ())


def test_scattered_regions_are_sets_of_bytes() -> None:
    draw, base = random.Random(1), byte_object("m", SIZE, "shared", with_data=False)
    both = {True: 0, False: 0}
    for _ in range(ROUNDS):
        one, other = random_region(draw, base), random_region(draw, base)
        ours, theirs = bytes_of(one), bytes_of(other)
        assert (one.start, one.stop) == (min(ours), max(ours) + 1)
        assert one.overlaps(other) == other.overlaps(one) == bool(ours & theirs)
        assert not one.covers(other) or ours >= theirs
        if one.copies:
            spans = [range(start, stop) for start, stop in one.spans]
            assert ours == {byte for span in spans for byte in span}
            both[bool(ours & theirs)] += 1
    assert min(both.values()) > ROUNDS // 10


@pytest.mark.parametrize("both_ways", [False, True])
def test_when_scattered_regions_meet(both_ways: bool) -> None:
    draw, base = random.Random(2), byte_object("m", 1 << 20, "shared", with_data=False)
    answers: set[bool] = set()
    for _ in range(1000):
        one, other = random_region(draw, base), random_region(draw, base)
        if not (one.copies or other.copies):
            continue
        shift = draw.choice([0, 1, 4, 16, 96, 128, 200, -16, -96])
        found = meeting(one, {0: shift}, Other(other, {0: 0}), both_ways=both_ways)
        ways = [shift, -shift] if both_ways else [shift]
        ours, theirs = bytes_of(one), bytes_of(other)
        meets = any(frozenset(byte + times * way for byte in ours) & theirs for way in ways for times in range(600))
        # A region with gaps that is not scattered counts as one span.
        assert found is not None or not meets
        if one.copies and (other.copies or other.is_solid):
            assert (found is not None) == meets
            answers.add(meets)
    assert answers == {True, False}


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_scattered_windows_change_no_verdict(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = threads_of("gemm_64x64x16", "unspecialize", target)
    at_once = check(module, judge_waits=False, trip_counts=(0, 1, 3))
    monkeypatch.setattr(Machine, "scatters", False)
    assert check(module, judge_waits=False, trip_counts=(0, 1, 3)).verdict_line == at_once.verdict_line
