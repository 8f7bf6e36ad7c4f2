"""
Programs of tiles that went wrong on the way to threads, one for each class of mistake: numbers, and the check.

What is not right yet stands in `KNOWN`, and a test holds it: who mends one takes it off the list. All others compute
what their tiles say, in each order, and are safe.
"""

from __future__ import annotations

from tests.support.corpora import each
from tests.support.threads_and_tiles import (
    AGENTS,
    AGENTS_BEFORE_TMA,
    PROGRAMS,
    RIGHT,
    cases,
    judged,
    numbers,
)

KNOWN: dict[str, dict[str, str]] = {}
"""What is not right yet: by program and variant, what comes out."""

SLOW = {"loads_around_a_loop", "nest_until"}
"""Whose check takes about a minute or more."""
UNDECIDED = {"scattered_sums": "branches on data that is not computed when checking"}
"""Whose check says neither, and why: each number of `scattered_sums` says where it is added, and whether at all."""
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.mlir"))
FOR_AGENTS = {
    *("published_by_one_thread", "queue_for_two_agents", "operand_for_two_agents"),
    *("queue_in_turn", "products_in_turn"),
}
"""Programs that have pipelines already, or queues of which several agents take every stage, or take turns."""
OF_TARGET = [
    *(case for case in cases(NAMES) if case[0] not in FOR_AGENTS or case[1] == AGENTS),
    ("queue_for_two_agents", AGENTS_BEFORE_TMA),
    ("queue_in_turn", AGENTS_BEFORE_TMA),
]
JUDGED = [
    case
    for case in OF_TARGET
    if case[0] not in UNDECIDED and (case[0] not in SLOW or case == ("loads_around_a_loop", AGENTS))
]


@each("case", OF_TARGET, 6, ids="-".join)
def test_threads_compute_what_their_tiles_do(case: tuple[str, str]) -> None:
    name, variant = case
    assert numbers(name, variant) == KNOWN.get(name, {}).get(variant, RIGHT)


@each("case", JUDGED, 4, ids="-".join)
def test_threads_are_safe(case: tuple[str, str]) -> None:
    name, variant = case
    assert judged(name, variant) == KNOWN.get(name, {}).get(variant, RIGHT)


@each("case", cases(sorted(UNDECIDED)), 1, ids="-".join)
def test_what_the_check_leaves_open_has_no_finding(case: tuple[str, str]) -> None:
    name, variant = case
    assert "undecided" in judged(name, variant)
