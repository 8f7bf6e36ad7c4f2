"""
Suspicions: steered executions that went wrong, confirmed by calls or dropped.

The loop counts of a steered execution (`decisions`) may be those of no call: an argument may have been another number
in each turn of an outer loop. So nothing is reported before a call has been found that is wrong; and of these calls,
one with the smallest sum of its arguments.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING

from tileas_xdsl.checker.verdict.cases import Case
from tileas_xdsl.checker.verdict.deciding import decide
from tileas_xdsl.checker.verdict.report import Outcome
from tileas_xdsl.machine.core.deadline import TimeUpError
from tileas_xdsl.machine.core.violations import UndecidedError, UndefinedCallError

if TYPE_CHECKING:
    from tileas_xdsl.checker.proof.outcomes import SuspicionError

Values = tuple[int, ...]

MOST_CALLS = 40
"""Calls that are tried for one suspicion, and then below the wrong one that was found."""
FARTHEST = 1024
"""The largest argument that is tried."""


def confirm(case: Case, suspicion: SuspicionError) -> bool:
    """Report the smallest call near `suspicion` that is found wrong; returns whether there is one."""
    try:
        wrong = next((call for call in _suspected(case, suspicion) if _is_wrong(case, call)), None)
        if wrong is None:
            return False
        case.check(_smallest(case, wrong))
    except TimeUpError:
        return False
    return case.is_open


def _suspected(case: Case, suspicion: SuspicionError) -> Iterator[Values]:
    """The calls of which some execution is suspected, smallest sums first."""
    near = {name: _with_neighbours(_numbers_of(name, suspicion.counts)) for name in case.bounds}
    calls = set(product(*(near[name] for name in case.bounds)))
    for distance in (suspicion.turns_later + more for more in (1, 4, 9) if suspicion.turns_later):
        for name in case.bounds:
            for others in (1, 2):
                calls.add(tuple(distance if each == name else others for each in case.bounds))
    fresh = calls - {tuple(call) for call in case.right}
    return islice(sorted(filter(_is_near, fresh), key=_size), MOST_CALLS)


def _numbers_of(name: str, counts: Mapping[Hashable, Sequence[int]]) -> list[int]:
    """The numbers of argument `name` with which loops that it bounds, or what is computed from it, took `counts`."""
    from tileas_xdsl.checker.decisions.derived_counts import DerivedCount

    found = list(counts.get(name, ()))
    for term, numbers in counts.items():
        if isinstance(term, DerivedCount):
            found += [number for count in numbers for number in term.numbers_of(name, count)]
    return found


def _with_neighbours(counts: Sequence[int]) -> list[int]:
    return sorted({each + more for each in counts for more in (-1, 0, 1) if each + more >= 0})


def _is_near(call: Values) -> bool:
    return max(call, default=0) <= FARTHEST


def _size(call: Values) -> tuple[int, Values]:
    return sum(call), call


def _is_wrong(case: Case, call: Values) -> bool:
    """Whether `call` is wrong. Raises `TimeUpError`."""
    case.tell(case.call(call))
    try:
        decision = decide(case.subject, case.scalars(call))
    except (UndecidedError, UndefinedCallError):
        return False
    case.report.absorb(Outcome(executions=decision.executions))
    return bool(decision.violations)


def _smallest(case: Case, wrong: Values) -> Values:
    """The wrong call with the smallest sum that is found: argument by argument, and then all below it that are few."""
    right = {tuple(call) for call in case.right}
    for place in range(len(wrong)):
        wrong = _least_in(case, wrong, place)
    below = (call for call in _calls_below(wrong) if call not in right)
    return next((call for call in islice(below, MOST_CALLS) if _is_wrong(case, call)), wrong)


def _least_in(case: Case, wrong: Values, place: int) -> Values:
    """`wrong` with a smaller argument at `place`, by bisection: the least one if all from there on are wrong."""
    low, high = -1, wrong[place]
    while high - low > 1:
        middle = (low + high) // 2
        if _is_wrong(case, (*wrong[:place], middle, *wrong[place + 1 :])):
            high = middle
        else:
            low = middle
    return (*wrong[:place], high, *wrong[place + 1 :])


def _calls_below(wrong: Values) -> Iterator[Values]:
    """All calls with a smaller sum, or as small a one and before `wrong`; smallest first."""
    for total in range(sum(wrong) + 1):
        for call in _with_sum(total, len(wrong)):
            if _size(call) < _size(wrong):
                yield call


def _with_sum(total: int, length: int) -> Iterator[Values]:
    if length <= 1:
        yield from [(total,)] if length else [()]
        return
    for first in range(total + 1):
        for rest in _with_sum(total - first, length - 1):
            yield (first, *rest)
