"""
How many of 300 random loops each arm of the scheduler seats at the least initiation interval, ejection apart.

The loops have at most 8 ops, so that the least interval is known by trying all rows (`tests/support/`). `alone` counts
what an arm seats there by itself, `only it` what none of the others does; `first` what it is the first to seat, in the
order in which the scheduler tries them. The rows below the line are about the arms together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from tests.support.scheduling_problems import mixed_problem, optimum
from tileas_xdsl.scheduling.modulo.arms import ARMS, LoopFacts
from tileas_xdsl.scheduling.modulo.bounds import bounds_of
from tileas_xdsl.scheduling.modulo.placement import EJECTION, EVERY_ARM, place
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem

LOOPS = 300

PUBLISHED = tuple(name for name, _ in ARMS)

TOGETHER = {
    "the four published arms": PUBLISHED,
    "all but ejection": tuple(arm for arm in EVERY_ARM if arm != EJECTION),
    "all arms": EVERY_ARM,
}

MOST = 40
"""No loop of the corpus needs an interval above this."""


def seats(problem: ModuloProblem, ii: int, arms: Collection[str]) -> bool:
    """Whether these arms together seat `problem` at `ii`."""
    return place(LoopFacts(problem), ii, arms) is not None


def measure() -> list[dict[str, Any]]:
    """A row for each arm, then one for each set of arms."""
    alone, first, only, together = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    above = 0
    for seed in range(LOOPS):
        problem = mixed_problem(seed)
        mii = bounds_of(problem).mii
        best = optimum(problem, mii, MOST)
        assert best is not None
        above += best > mii
        winners = [arm for arm in EVERY_ARM if seats(problem, best, [arm])]
        alone.update(winners)
        first.update(winners[:1])
        only.update(winners if len(winners) == 1 else ())
        together.update(name for name, arms in TOGETHER.items() if set(winners) & set(arms))
    rows: list[dict[str, Any]] = [
        {"arm": arm, "alone": alone[arm], "first": first[arm], "only it": only[arm]} for arm in EVERY_ARM
    ]
    rows += [{"arm": name, "alone": together[name]} for name in TOGETHER]
    return [*rows, {"arm": f"optimum above the bounds, of {LOOPS} loops", "alone": above}]
