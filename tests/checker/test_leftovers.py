"""
Proofs of programs whose state grows with every turn: leftovers are gathered, and strangers stay separate from them.

Overlaps at large trip counts must be found, and proofs of random programs must agree with the execution of all trip
counts from 0 to 40.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest
from xdsl.dialects.builtin import f32

from tests.checker.leftover_programs import FAMILIES, FAR, NEVER, Far, load, random_leftovers, stores, tasks
from tests.checker.leftover_programs import Place as Line
from tests.support.corpora import each
from tests.support.ir import parse
from tileas_xdsl.checker.proof.separation import Other, becomes_zero, meeting
from tileas_xdsl.checker.snapshot.leftovers import Leftover, gather
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.happens_before import Access, Mind
from tileas_xdsl.machine.core.memory import ByteRegion, MemoryObject
from tileas_xdsl.machine.core.values import element_type
from tileas_xdsl.machine.core.violations import UnsupportedError

EVERY = "safe for every trip count"


@pytest.mark.parametrize("name", FAR)
def test_what_comes_across_something_far_later_is_found(name: str) -> None:
    """The trip counts in between are not executed: the distance says at which one the places overlap."""
    report = check(parse(FAR[name].text))
    assert report.verdict is Verdict.VIOLATION, str(report)
    assert report.findings[0].arguments == {"n": FAR[name].wrong_at}


@each("far", list(FAR.values()), len(FAR) // 4, ids=lambda far: str(far.wrong_at))
def test_these_programs_go_wrong_where_they_say(far: Far) -> None:
    """Else they would test nothing."""
    assert check(parse(far.text), trip_counts=[far.wrong_at]).verdict is Verdict.VIOLATION
    assert check(parse(far.text), trip_counts=[far.wrong_at - 1]).verdict is Verdict.SAFE


@pytest.mark.parametrize("name", NEVER)
def test_what_is_left_behind_is_no_obstacle(name: str) -> None:
    report = check(parse(NEVER[name]))
    assert report.verdict_line == EVERY, str(report)


@pytest.mark.parametrize("family", FAMILIES)
@each("seed", range(200), 8)
def test_proofs_agree_with_brute_force(family: str, seed: int) -> None:
    text = random_leftovers(family, seed)
    if _is_proved(text):
        assert all(_is_safe(text, trip_count) for trip_count in range(9, 41)), text


def _is_proved(text: str) -> bool:
    try:
        return check(parse(text)).verdict_line == EVERY
    except UnsupportedError:
        return False


def _is_safe(text: str, trip_count: int) -> bool:
    try:
        return check(parse(text), trip_counts=[trip_count]).verdict is Verdict.SAFE
    except UnsupportedError:
        return False


@pytest.mark.parametrize("family", FAMILIES)
def test_the_random_programs_are_of_both_kinds(family: str) -> None:
    """Some are proved and some go wrong; for the others the report names the reason."""
    proved = [_is_proved(random_leftovers(family, seed)) for seed in range(16)]
    assert 3 <= sum(proved) <= 13


def test_a_wait_that_leaves_groups_in_flight_tells_the_young_ones_apart() -> None:
    """The end waits for all but 9 groups: what the first turn stored is among those unless 9 came after it."""
    text = stores(Line(2, 0), leaves=9, late=load("l", "dst", Line(0, 0), "n"))
    assert check(parse(text)).findings[0].arguments == {"n": 1}
    assert not _is_safe(text, 9)
    assert _is_safe(text, 10)


def test_what_is_on_its_way_to_global_memory_arrives_at_the_end() -> None:
    assert check(parse(stores(Line(2, 0), leaves=9))).verdict_line == EVERY


def test_a_group_that_is_too_small_by_one_is_no_proof() -> None:
    text = tasks(Line(2, 0), Line(2, 101), chained=False).replace("async.await_all %group", "async.await %last")
    report = check(parse(text.replace("async.await %last", "async.await %last : !async.token")))
    assert report.verdict is Verdict.VIOLATION


# The parts ------------------------------------------------------------------------------------------------------------


def _object() -> MemoryObject:
    return MemoryObject("x", (1000,), element_type(f32))


def _at(base: MemoryObject, *, place: int, moment: int, agent: int = 1) -> Leftover:
    return Leftover(("access",), ({agent: moment},), base, place)


def test_what_somebody_tells_apart_makes_two_heaps() -> None:
    base = _object()
    leftovers = [_at(base, place=4 * n, moment=n) for n in range(6)]
    assert [len(heap.rows[0].members) for heap in gather(leftovers, [{0: 7}, {1: 9}])] == [6]
    assert [len(heap.rows[0].members) for heap in gather(leftovers, [{0: 7}, {1: 3}])] == [4, 2]


def test_what_was_fenced_tells_only_accesses_apart() -> None:
    base = _object()
    others = [_at(base, place=4 * n, moment=n) for n in range(6)]
    accesses = [replace(other, access=cast("Access", object())) for other in others]
    for leftovers, sizes in ((others, [6]), (accesses, [4, 2])):
        heaps = gather(leftovers, [{0: 7}], [{1: 3}])
        assert [len(heap.rows[0].members) for heap in heaps] == sizes


def test_what_works_knew_tells_apart_too() -> None:
    """An agent that observes both works learns of moment 3 of agent 1, but not of moment 4."""
    base = _object()
    works = [Leftover(("work",), ({},), minds=(Mind({1: moment}, {}),)) for moment in (2, 3)]
    accesses = [_at(base, place=4 * n, moment=n) for n in range(6)]
    heaps = gather([*works, *accesses], [{0: 7}])
    assert [len(heap.rows[0].members) if heap.rows else 0 for heap in heaps] == [0, 4, 2]
    assert heaps[0].learnt == ({1: 3},)


def test_places_in_even_distances_make_a_row() -> None:
    base = _object()
    [heap] = gather([_at(base, place=place, moment=0) for place in (40, 8, 24, 100, 104, 8)], [])
    assert [(row.step, [member.offset for member in row.members]) for row in heap.rows] == [
        (16, [8, 8, 24, 40]),
        (4, [100, 104]),
    ]


@pytest.mark.parametrize(
    ("distance", "shifts", "never"),
    [
        (40, [8], True),
        (40, [-8], False),
        (40, [-16], True),
        (40, [-16, 8], False),
        (-40, [-8, -4], True),
        (-40, [12], True),
        (-40, [12, 8], False),
        (40, [], True),
    ],
)
def test_distances_that_never_come_to_nothing(distance: int, shifts: list[int], never: bool) -> None:
    assert (becomes_zero(distance, shifts) is None) is never
    # What can be reached in a few steps says the same, where all go to one side.
    if all(shift > 0 for shift in shifts) or all(shift < 0 for shift in shifts):
        reached = {distance}
        for _ in range(12):
            reached |= {there + shift for there in reached for shift in shifts}
        assert (0 not in reached) or not never


@pytest.mark.parametrize(
    ("offset", "count", "shift", "continues", "apart"),
    [
        (400, 4, 4, 0, True),
        (400, 4, -4, 0, False),
        (400, 4, -600, 0, True),
        (400, 4, 0, -16, True),
        (400, 4, 0, 16, False),
        (404, 1, 0, 16, True),
        (404, 4, 0, 16, False),
    ],
)
def test_regions_that_stay_apart(offset: int, count: int, shift: int, continues: int, apart: bool) -> None:
    """When a region may come to overlap a row that ends at bytes 0 to 4 and continues from there."""
    base = _object()
    row = Other(ByteRegion(base, 0, (1,), (4,), 4), {0: 0}, continues)
    assert (meeting(ByteRegion(base, offset, (count,), (4,), 4), {0: shift}, row) is None) is apart
