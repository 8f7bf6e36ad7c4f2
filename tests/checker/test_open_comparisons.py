"""
Arguments that bound loops and are compared with numbers: guards of prefetches, last turns, what only some calls do.
Each right program stands beside one that does something wrong in the same place.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest

from tests.checker.nest_programs import PARTS, nest
from tests.support.corpora import each
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.loops.open_comparisons import Comparison
from tileas_xdsl.machine.core.loops.open_counts import OpenBound

FIRST = "\n%f0 = llvm.getelementptr %full[%c0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64"
ARRIVE = FIRST + "\nnvvm.mbarrier.arrive %f0 : !llvm.ptr<3>"
"""One arrival too many: wrong wherever it is reached before the last wait."""
TWICE = ARRIVE + "\nnvvm.mbarrier.arrive %f0 : !llvm.ptr<3>"
WAIT = FIRST + "\nnvvm.mbarrier.try_wait.parity %f0, %c0, %ticks : !llvm.ptr<3>, i32, i32"
"""A wait for the first arrival, which comes only where there is a step."""


def where(condition: str, then: str = "") -> str:
    return f"{condition}\nscf.if %is {{{then}\n}}\n"


NEXT = "%next = arith.addi %j, %c1 : i32\n"
TEN = "%c10 = arith.constant 10 : i32"
LATER = "%later = arith.addi %j, %c2 : i32\n"


RIGHT: Mapping[str, str] = {
    "whether there is a tile": nest(2, before=where("%is = arith.cmpi sgt, %n, %c0 : i32")),
    "beyond the last step": nest(2, read=where("%is = arith.cmpi sge, %j, %m : i32", ARRIVE) + PARTS["read"]),
    "two steps ahead": nest(2, read=LATER + where("%is = arith.cmpi slt, %later, %m : i32") + PARTS["read"]),
    "two steps ahead, the other way round": nest(
        2, read=LATER + where("%is = arith.cmpi sgt, %m, %later : i32") + PARTS["read"]
    ),
    "the last step": nest(2, read=NEXT + where("%is = arith.cmpi eq, %next, %m : i32") + PARTS["read"]),
    "the last tile": nest(
        2,
        consumer_before="%before = arith.subi %n, %c1 : i32",
        consumer_after_tile=where("%is = arith.cmpi eq, %t, %before : i32"),
    ),
    "many steps, asked in each step": nest(2, read=where("%is = arith.cmpi sgt, %m, %c3 : i32") + PARTS["read"]),
    "few tiles, at the end": nest(
        2,
        after=where("%is = arith.cmpi sgt, %n, %c3 : i32"),
        consumer_after=where("%is = arith.cmpi ne, %n, %c3 : i32"),
    ),
    "arrivals where there is no step, and so no wait": nest(
        2,
        consumer_after_tile=where(
            "%is = arith.cmpi eq, %m, %c0 : i32", ARRIVE + "\nnvvm.mbarrier.arrive %f0 : !llvm.ptr<3>"
        ),
    ),
    "no steps but a step": nest(
        2,
        consumer_after_tile="%less = arith.subi %m, %c1 : i32\n"
        + where("%is = arith.cmpi slt, %less, %c0 : i32")
        + where("%is2 = arith.cmpi sle, %m, %c2 : i32").replace("scf.if %is ", "scf.if %is2 "),
    ),
}

WRONG: Mapping[str, tuple[str, tuple[int, int]]] = {
    "more than five steps": (nest(2, consumer_after_tile=where("%is = arith.cmpi sgt, %m, %c5 : i32", ARRIVE)), (2, 6)),
    "ten steps, asked in each step": (
        nest(2, head=TEN, read=where("%is = arith.cmpi eq, %m, %c10 : i32", ARRIVE) + PARTS["read"]),
        (1, 10),
    ),
    "ten tiles, asked in each step": (
        nest(2, head=TEN, read=where("%is = arith.cmpi eq, %n, %c10 : i32", ARRIVE) + PARTS["read"]),
        (10, 1),
    ),
    "ten steps, asked after each tile": (
        nest(2, head=TEN, consumer_after_tile=where("%is = arith.cmpi sge, %m, %c10 : i32", ARRIVE)),
        (2, 10),
    ),
    "the last step": (
        nest(2, read=NEXT + where("%is = arith.cmpi eq, %next, %m : i32", ARRIVE) + PARTS["read"]),
        (2, 2),
    ),
    "not in the last two steps": (
        nest(2, read=LATER + where("%is = arith.cmpi slt, %later, %m : i32", ARRIVE) + PARTS["read"]),
        (1, 3),
    ),
    "no step and still": (
        nest(2, consumer_after_tile=where("%is = arith.cmpi eq, %m, %c0 : i32", WAIT)),
        (1, 0),
    ),
}


def is_right(text: str, call: tuple[int, int]) -> bool:
    return check(parse(text), args=dict(zip("nm", call, strict=True)), prove=False).verdict is Verdict.SAFE


@each("name", list(RIGHT), 5)
def test_right_comparisons_are_proved_and_right_call_by_call(name: str) -> None:
    report = check(parse(RIGHT[name]), timeout=120)
    assert report.verdict_line == "safe for every trip count"
    assert "k" in report.proofs_by_decisions
    for call in [*product((0, 1, 2, 3, 5), repeat=2), (1, 9), (9, 1), (4, 4)]:
        assert is_right(RIGHT[name], call), call


@each("name", list(WRONG), 4)
def test_wrong_comparisons_are_found(name: str) -> None:
    text, call = WRONG[name]
    report = check(parse(text), timeout=60)
    assert report.verdict is Verdict.VIOLATION
    assert not report.proofs_by_decisions
    assert report.findings[0].arguments == dict(zip("nm", call, strict=True))


def test_a_count_that_is_compared_with_another_count_is_refused() -> None:
    text = nest(2, before=where("%is = arith.cmpi slt, %n, %m : i32"))
    report = check(parse(text), timeout=10)
    assert not report.is_proved
    assert "which also bounds loops that are left open" in str(report)


@pytest.mark.parametrize("equals", [False, True])
def test_what_is_decided_about_a_bound_keeps_what_it_is(equals: bool) -> None:
    """Whatever the bound is, the answers that it gives leave it in its interval, and what is known is true of it."""
    for value, limits in product(range(6), product(range(6), repeat=3)):
        bound = OpenBound("n", (), 0)
        for limit in limits:
            comparison = Comparison(bound, limit, equals)
            truth = value == limit if equals else value < limit
            known = comparison.answer()
            assert known in (None, truth)
            if known is None:
                comparison.decide(truth)
            assert bound.low <= value <= (value if bound.high is None else bound.high)
            assert equals or comparison.answer() is truth
