"""
How often loops turn with the arguments that are tried, and with which other numbers they turn more often.

    scf.for %k = 100 to %n step 64        n = 0..8: no turn        n = 101, 165, 229, ...: 1, 2, 3, ... turns

An argument from 0 to 8 says little of a loop that begins at 100, or goes on by 64. So the numbers are looked for with
which each loop turns as often as the trip counts say (`TurnsOfLoops.numbers_for`). What a bound is computed from grows
with the argument, or falls: such a number is found by bisection, and counts only if the loop turns that often. Loops of
blocks count in the same way, and loops of functions that are called (`loop_lengths`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product

from xdsl.dialects import scf
from xdsl.ir import Operation, Region

from tileas_xdsl.checker.verdict.bound_formulas import Count, Formula, leaves_of, turns_of
from tileas_xdsl.checker.verdict.cases import Case
from tileas_xdsl.checker.verdict.long_loops import LONG
from tileas_xdsl.checker.verdict.loop_lengths import Loop, loops_run_by
from tileas_xdsl.diagnostics import location_of, op_name
from tileas_xdsl.machine.arguments import argument_at, argument_names
from tileas_xdsl.machine.core.values import bit_width

MOST_CALLS = 256
"""Calls that are decided so that loops turn more often."""
WIDEST = 32
"""No number beyond what an integer of so many bits can hold is looked for."""


class TurnsOfLoops:
    """How often the loops of a function turn whose bounds are computed from arguments, some of which are varied."""

    def __init__(self, body: Region, bounds: Sequence[str], fixed: Mapping[str, int]) -> None:
        names = argument_names(body)
        self._leaves: dict[str, Formula] = {name: ("argument", number) for number, name in enumerate(names)}
        self._fixed = {self._leaves[name]: value for name, value in fixed.items() if name in self._leaves}
        self._last = {
            name: (1 << (min(bit_width(argument_at(body, name).type), WIDEST) - 1)) - 1
            for name in bounds
            if name in self._leaves
        }
        self._bounds = bounds
        self.loops = list(loops_run_by(body))
        """All of them."""
        self.counts: dict[Operation, list[Count]] = {}
        """Those that arguments bound, at least one of which is varied and all of which are known: one for each call."""
        for loop in self.loops:
            if loop.count is not None and self._varies(loop.count):
                self.counts.setdefault(loop.op, []).append(loop.count)

    def _varies(self, count: Count) -> bool:
        known = {*self._fixed, *(self._leaves[name] for name in self._last)}
        leaves = {leaf for part in count for leaf in leaves_of(part) if leaf[0] != "constant"}
        return bool(leaves) and leaves <= known and not leaves <= self._fixed.keys()

    def most(self, values: Sequence[int]) -> int:
        """How often the longest of the loops turns in the call with these values of the arguments that are varied."""
        return max((self.most_of(loop, [values]) for loop in self.counts), default=0)

    def most_of(self, loop: Operation, calls: Sequence[Sequence[int]]) -> int:
        """How often `loop` turns at most in `calls`."""
        given = [self._given(values) for values in calls]
        return max((turns_of(count, each) or 0 for count in self.counts[loop] for each in given), default=0)

    def numbers_for(self, loop: Operation, turns: int) -> Iterator[tuple[str, int]]:
        """Arguments, and for each a number with which `loop` turns so often where the others are 1."""
        found = (self._numbers_for(count, turns) for count in self.counts[loop])
        yield from dict.fromkeys(chain.from_iterable(found))

    def _numbers_for(self, count: Count, turns: int) -> Iterator[tuple[str, int]]:
        ones = [1] * len(self._bounds)
        for place, name in enumerate(self._bounds):
            if name not in self._last or self._leaves[name] in leaves_of(count[2]):
                continue

            def turns_with(number: int, place: int = place) -> int:
                values = [*ones[:place], number, *ones[place + 1 :]]
                return turns_of(count, self._given(values)) or 0

            number = _found(turns_with, turns, self._last[name])
            if number is not None:
                yield name, number

    def missed(self, calls: Sequence[Sequence[int]], turns: Sequence[int]) -> Iterator[tuple[Operation, int]]:
        """Each loop with those of the numbers `turns` which it reaches in none of `calls`."""
        given = [self._given(values) for values in calls]
        for loop, counts in self.counts.items():
            reached = {turns_of(count, each) for count in counts for each in given}
            yield from ((loop, number) for number in turns if number not in reached)

    def further_calls(self, calls: Sequence[Sequence[int]], counts: Sequence[int], most: int) -> list[Sequence[int]]:
        """Up to `most` calls in which loops turn as often as `counts` say, and in none of `calls`; none if too long."""
        found: dict[str, dict[int, None]] = {}
        for loop, number in self.missed(calls, counts):
            for name, value in self.numbers_for(loop, number):
                found.setdefault(name, {})[value] = None
        if not found:
            return []
        near = {name: dict.fromkeys(counts) for name in self._bounds}
        for choices in (
            {name: {**near[name], **found.get(name, {})} for name in self._bounds},
            {name: found.get(name, near[name]) for name in self._bounds},
        ):
            known = set(map(tuple, calls))
            size = 1
            for numbers in choices.values():
                size *= len(numbers)
            if size <= most:
                further = [values for values in product(*choices.values()) if values not in known]
                return sorted((each for each in further if self.most(each) <= LONG), key=self.most)
        return []

    def _given(self, values: Sequence[int]) -> dict[Formula, int]:
        varied = {self._leaves[n]: v for n, v in zip(self._bounds, values, strict=True) if n in self._leaves}
        return {**self._fixed, **varied}


def try_longer_loops(case: Case, counts: Sequence[int]) -> None:
    """
    Decide about further calls of `case`, in which its loops turn as often as `counts` say. They have half of the time
    that is left, and what cannot be executed in it is not missed.
    """
    subject, known = case.subject, case.calls
    case.subject = replace(subject, deadline=subject.deadline.halfway())
    try:
        for values in TurnsOfLoops(subject.body, case.bounds, case.fixed).further_calls(known, counts, MOST_CALLS):
            if not case.check_further(values):
                continue
            for name, value in zip(case.bounds, values, strict=True):
                if value not in counts:
                    tried = case.report.also_tried.get(name, ())
                    case.report.also_tried[name] = tuple(sorted({*tried, value}))
            if case.is_open:
                return
    finally:
        case.subject = subject


def short_loops(case: Case, counts: Sequence[int]) -> list[str]:
    """What loops do not reach in any call of `case`, though `counts` say so and they may: `a turn of 'scf.for'`."""
    found: dict[Operation, int] = {}
    turns = TurnsOfLoops(case.subject.body, case.bounds, case.fixed)
    for loop, number in turns.missed(case.calls, counts):
        most = turns.most_of(loop, case.calls)
        if number > most and any(True for _ in turns.numbers_for(loop, number)):
            found[loop] = most
    for loop in turns.loops if case.bounds else ():
        if loop.op not in turns.counts and _has_not_turned(loop, case):
            found[loop.op] = 0
    return [f"{f'more than {most} turns' if most else 'a turn'} of {_named(op)}" for op, most in found.items()]


def _named(loop: Operation) -> str:
    place = location_of(loop)
    of_blocks = "" if isinstance(loop, scf.ForOp | scf.WhileOp) else "the loop with "
    return f"{of_blocks}'{op_name(loop)}'{f' at {place}' if place else ''}"


def _has_not_turned(loop: Loop, case: Case) -> bool:
    """Whether something decides the length of `loop`, and no call that was tried has run its body."""
    return not loop.is_fixed and case.heads.get(loop.head, -1) < int(loop.tests_first)


def _found(turns_with: Callable[[int], int], turns: int, last: int) -> int | None:
    """The first number from 0 to `last` with which a loop turns `turns` times or more, if it turns as often then."""
    sign = 1 if turns_with(last) >= turns_with(0) else -1
    number = bisect_left(range(last + 1), sign * turns, key=lambda each: sign * turns_with(each))
    return number if number <= last and turns_with(number) == turns else None
