"""
Loops whose constant trip count is too large to execute: the constant becomes an argument.

    scf.for %i = 0 to 1000000        ->        func(..., %turns)    scf.for %i = 0 to 0 + 1 * %turns

If the copy is right for every trip count, the function is right with the one that stands there. Where there is no such
proof, the function is executed as it stands.

A loop of more than 128 turns with constant bounds is proved for every number of turns before anybody executes it. What
is wrong at another number says nothing of it.

Loops may also turn too rarely with the arguments that are tried. Then other numbers are looked for, with which they
turn more often.

    scf.for %k = 100 to %n step 64        n = 0..8: no turn        n = 101, 165, 229, ...: 1, 2, 3, ... turns

An argument from 0 to 8 says little of a loop that begins at 100, or goes on by 64. So the numbers are looked for with
which each loop turns as often as the trip counts say (`TurnsOfLoops.numbers_for`). What a bound is computed from grows
with the argument, or falls: such a number is found by bisection, and counts only if the loop turns that often. Loops of
blocks count in the same way, and loops of functions that are called (`loop_lengths`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, IntegerType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.checker.verdict.bound_formulas import Count, Formula, leaves_of, turns_of
from tileas_xdsl.checker.verdict.cases import Case
from tileas_xdsl.checker.verdict.loop_lengths import Loop, loops_run_by
from tileas_xdsl.diagnostics import location_of, op_name
from tileas_xdsl.machine.arguments import argument_at, argument_names, find_function
from tileas_xdsl.machine.core.values import bit_width

CounterType = IndexType | IntegerType[Any, Any]
LONG = 128
"""Loops of more turns than this are generalised, and executed in full only where that fails."""


@dataclass(frozen=True)
class Generalised:
    """A copy of a function with one more argument, and the name of that (`turns`)."""

    op: Operation
    body: Region
    turns: str
    number: int
    """The trip count of the loops in the function as it stands."""


@dataclass(frozen=True)
class _Bounds:
    """The bounds and the step of an `scf.for` in which all three are constants."""

    lower: int
    upper: int
    step: int
    type: CounterType

    @property
    def turns(self) -> int:
        return max(0, -(-(self.upper - self.lower) // self.step))

    @property
    def is_even(self) -> bool:
        """Whether the last turn ends at the upper bound."""
        return self.lower + self.turns * self.step == self.upper


def generalised(function: Operation) -> Generalised | None:
    """
    A copy of the function, in a copy of its module, with the trip count of its long loops as an argument.

    None where it has no such loop, several with different trip counts, or one whose upper bound is no whole number of
    steps away from its lower bound.
    """
    if not isinstance(function, FuncOp):
        return None
    long_loops = [bounds for bounds in constant_bounds(function) if bounds.turns > LONG]
    uppers = {(bounds.upper, bounds.type): bounds for bounds in long_loops}
    kinds = {(bounds.turns, bounds.type) for bounds in long_loops}
    if len(kinds) != 1 or len(uppers) != len(set(long_loops)) or not all(b.is_even for b in long_loops):
        return None
    module = function.get_toplevel_object()
    assert isinstance(module, Operation)
    copied, body = find_function(module.clone(), function.sym_name.data)
    assert isinstance(copied, FuncOp)
    turns = _with_argument(copied, body.blocks[0], list(uppers.values()))
    return Generalised(copied, body, turns, long_loops[0].turns)


def constant_bounds(function: Operation) -> Iterable[_Bounds]:
    for op in function.walk():
        if isinstance(op, scf.ForOp):
            numbers = [_constant(value) for value in (op.lb, op.ub, op.step)]
            lower, upper, step = numbers
            kind = op.ub.type
            if lower is None or upper is None or step is None or step <= 0:
                continue
            if isinstance(kind, IndexType | IntegerType):
                yield _Bounds(lower, upper, step, cast("CounterType", kind))


def _constant(value: SSAValue) -> int | None:
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def _with_argument(function: FuncOp, entry: Block, uppers: list[_Bounds]) -> str:
    """Give `function` the argument, and compute every constant that is one of the upper bounds from it."""
    taken = set(argument_names(function.body))
    name = next(n for n in ("turns", *(f"turns_{number}" for number in range(len(taken) + 1))) if n not in taken)
    kind = uppers[0].type
    turns = entry.insert_arg(kind, len(entry.args))
    turns.name_hint = name
    function.function_type = FunctionType.from_lists(entry.arg_types, list(function.function_type.outputs))
    constants = [op for op in function.walk() if isinstance(op, arith.ConstantOp)]
    for bounds in uppers:
        upper = _insert_upper(entry, bounds, turns)
        for op in constants:
            if op.result.type == kind and _constant(op.result) == bounds.upper:
                op.result.replace_all_uses_with(upper)
    return argument_names(function.body)[-1]


def _insert_upper(entry: Block, bounds: _Bounds, turns: SSAValue) -> SSAValue:
    """`lower + step * turns`, at the beginning of the function."""
    step = arith.ConstantOp.from_int_and_width(bounds.step, bounds.type)
    lower = arith.ConstantOp.from_int_and_width(bounds.lower, bounds.type)
    walked = arith.MuliOp(step, turns)
    upper = arith.AddiOp(lower, walked)
    Rewriter.insert_op([step, lower, walked, upper], InsertPoint.at_start(entry))
    return upper.result


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
