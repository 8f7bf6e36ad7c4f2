"""Counts that are computed in two ways and are one number: by shifts, quotients or a ceiling, in `arith` or `llvm`."""

from __future__ import annotations

import pytest

from tests.checker.nest_programs import nest
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict

EVERY = "safe for every trip count"

HALF = {
    "arith.shrui": "%few = arith.shrui %m, %c1 : i32",
    "arith.shrsi": "%few = arith.shrsi %m, %c1 : i32",
    "arith.divui": "%few = arith.divui %m, %c2 : i32",
    "llvm.lshr": "%few = llvm.lshr %m, %c1 : i32",
    "llvm.ashr": "%few = llvm.ashr %m, %c1 : i32",
    "llvm.udiv": "%two = llvm.mlir.constant(2 : i32) : i32\n%few = llvm.udiv %m, %two : i32",
}
UP = "%up = arith.constant {} : i32\n%more = {} %m, %up : i32\n"
QUARTER = {
    "by a shift": UP.format(3, "arith.addi") + "%few = arith.shrui %more, %c2 : i32",
    "by a signed shift": UP.format(3, "arith.addi") + "%few = arith.shrsi %more, %c2 : i32",
    "by a quotient": UP.format(3, "arith.addi") + "%few = arith.divsi %more, %c4 : i32",
    "in llvm": UP.format(3, "llvm.add") + "%few = llvm.lshr %more, %c2 : i32",
    "by a ceiling": "%few = arith.ceildivui %m, %c4 : i32",
    "by a signed ceiling": "%few = arith.ceildivsi %m, %c4 : i32",
}
ROUNDED = {
    "rounded down": "%few = arith.shrui %m, %c2 : i32",
    "rounded by too few": UP.format(2, "arith.addi") + "%few = arith.shrui %more, %c2 : i32",
    "by too many places": UP.format(3, "arith.addi") + "%few = arith.shrui %more, %c3 : i32",
}
FEW = "%c0 to %few step %c1"


def judged(first: str, second: str) -> Report:
    """A producer whose steps `first` counts, and a consumer with `second`, in n tiles."""
    return check(parse(nest(2, before=first, consumer_before=second, steps=FEW, consumer_steps=FEW)))


@pytest.mark.parametrize("how", HALF)
def test_half_is_half(how: str) -> None:
    assert judged(HALF[how], HALF["arith.divui"]).verdict_line == EVERY


@pytest.mark.parametrize("how", QUARTER)
def test_a_quarter_rounded_up_is_a_ceiling(how: str) -> None:
    assert judged(QUARTER[how], QUARTER["by a ceiling"]).verdict_line == EVERY


@pytest.mark.parametrize("how", ROUNDED)
def test_another_number_is_found(how: str) -> None:
    report = judged(QUARTER["by a ceiling"], ROUNDED[how])
    assert report.verdict is Verdict.VIOLATION, str(report)
    assert sum(report.findings[0].arguments.values()) in (2, 4, 6), "one tile, and the first m that tells them apart"


@pytest.mark.parametrize("how", ["llvm.lshr", "arith.shrsi"])
def test_one_argument_that_is_shifted_is_proved_by_induction(how: str) -> None:
    once = {"tiles": "%c0 to %c1 step %c1", "consumer_tiles": "%c0 to %c1 step %c1"}
    text = nest(2, before=HALF[how], consumer_before=HALF[how], steps=FEW, consumer_steps=FEW, **once)
    assert check(parse(text)).verdict_line == EVERY
