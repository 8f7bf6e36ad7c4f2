"""
The range of an index, by interval arithmetic.

    %slot = arith.remui %i, %c3      [0, 2]
    %left = arith.subi %c2, %e       [0, 2] in `scf.for %e = %c0 to %c3 step %c1`

Input: a value of an integer or index type. Output: a `Range`. Constants, induction variables with constant bounds,
remainders, sums, differences, products, quotients, masks, shifts, minima, maxima and selections have one. A loaded
value, an argument or a loop-carried value has the full range. Index arithmetic is assumed not to wrap
around, as is usual in dependence analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, OpResult, SSAValue

from tileas_xdsl.analysis.induction import MOST_PLACES, constant_integer, trip_count_of
from tileas_xdsl.dialects.upstream_models.integers import (
    EXACT,
    Domain,
    Function,
    IntegerFunction,
    computes,
    integer_function,
)

NO_LIMIT = 1 << 64
"""The upper end of a range without an upper limit; its negative is the lower end without a lower limit."""


@dataclass(frozen=True)
class Range:
    """All integers from `low` to `high`, both included."""

    low: int = -NO_LIMIT
    high: int = NO_LIMIT

    @staticmethod
    def of(*numbers: int) -> Range:
        """The least range that holds all of `numbers`, which are clamped to the limits."""
        return Range(max(min(numbers), -NO_LIMIT), min(max(numbers), NO_LIMIT))

    def join(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))

    @property
    def is_finite(self) -> bool:
        return self.low > -NO_LIMIT and self.high < NO_LIMIT

    @property
    def as_constant(self) -> int | None:
        """The only number in the range, if there is only one."""
        return self.low if self.low == self.high else None


ANYTHING = Range()


class ValueRanges:
    """
    The ranges of values, computed on demand and cached: linear in the number of ops seen, over all calls.

    The ranges in `assumed` are taken as given, so that one can ask what follows from them.
    """

    def __init__(self, assumed: Mapping[SSAValue, Range] | None = None) -> None:
        self._known: dict[SSAValue, Range] = dict(assumed or {})

    def of(self, value: SSAValue) -> Range:
        """The range of `value`."""
        stack = [value]
        while stack:
            current = stack[-1]
            if current in self._known:
                stack.pop()
                continue
            missing = [source for source in _sources(current) if source not in self._known]
            if missing:
                stack.extend(missing)
            else:
                self._known[current] = self._range(current)
        return self._known[value]

    def _range(self, value: SSAValue) -> Range:
        if (number := constant_integer(value)) is not None:
            return Range(number, number)
        sources = [self._known[source] for source in _sources(value)]
        if isinstance(value, BlockArgument):
            return _induction(sources) if sources else ANYTHING
        what, rule = integer_function(value.owner), RANGES.rule(value.owner)
        return ANYTHING if what is None or rule is None else rule(what, *sources)


def _sources(value: SSAValue) -> Sequence[SSAValue]:
    """
    The values from whose ranges that of `value` follows. It has no cycles, since loop-carried values have no sources.
    """
    if isinstance(value, OpResult):
        if RANGES.rule(value.op) is None:
            return ()
        return value.op.operands[1:] if computes(value.op, Function.CHOICE) else value.op.operands
    owner = value.owner
    loop = owner.parent_op() if isinstance(owner, Block) else None
    if isinstance(loop, scf.ForOp) and isinstance(value, BlockArgument) and value.index == 0:
        return (loop.lb, loop.ub, loop.step)
    return ()


def _induction(bounds: Sequence[Range]) -> Range:
    """The range of the induction variable of `for lower to upper step step`, given that the loop runs at all."""
    lower, upper, step = bounds
    numbers = [bound.as_constant for bound in bounds]
    first, limit, stride = numbers
    if first is not None and limit is not None and stride is not None and stride > 0:
        last = max(trip_count_of(first, limit, stride) - 1, 0)
        return Range(first, first + last * stride)
    if step.low < 1:
        return ANYTHING
    return Range(lower.low, max(lower.low, min(upper.high, NO_LIMIT) - 1) if upper.high < NO_LIMIT else NO_LIMIT)


# Interval arithmetic --------------------------------------------------------------------------------------------------


def _sum(_what: IntegerFunction, left: Range, right: Range) -> Range:
    low = -NO_LIMIT if -NO_LIMIT in (left.low, right.low) else left.low + right.low
    high = NO_LIMIT if NO_LIMIT in (left.high, right.high) else left.high + right.high
    return Range.of(low, high)


def _difference(what: IntegerFunction, left: Range, right: Range) -> Range:
    return _sum(what, left, Range(-right.high, -right.low))


def _product(_what: IntegerFunction, left: Range, right: Range) -> Range:
    if Range(0, 0) in (left, right):
        return Range(0, 0)
    if left.is_finite and right.is_finite:
        return Range.of(*(x * y for x in (left.low, left.high) for y in (right.low, right.high)))
    return Range(0, NO_LIMIT) if left.low >= 0 and right.low >= 0 else ANYTHING


def _remainder(what: IntegerFunction, left: Range, right: Range) -> Range:
    """A signed remainder has the sign of the dividend, and a smaller magnitude than the divisor."""
    divisor = right.as_constant
    if divisor is None or divisor <= 0:
        return ANYTHING
    if left.low >= 0 and left.high < divisor:
        return left
    if left.low == left.high >= 0:
        return Range(left.low % divisor, left.low % divisor)
    return Range(1 - divisor if what.signed and left.low < 0 else 0, divisor - 1)


def _quotient(what: IntegerFunction, left: Range, right: Range) -> Range:
    """The quotient of a non-negative number and a constant."""
    divisor = right.as_constant
    if divisor is None or divisor <= 0 or left.low < 0:
        return ANYTHING
    divide = EXACT[what]
    return Range(divide(left.low, divisor), NO_LIMIT if left.high >= NO_LIMIT else divide(left.high, divisor))


def _power_of_two(places: Range) -> Range:
    """What a shift multiplies or divides by."""
    number = places.as_constant
    return ANYTHING if number is None or not 0 <= number < MOST_PLACES else Range(1 << number, 1 << number)


def _shifted_left(what: IntegerFunction, left: Range, right: Range) -> Range:
    factor = _power_of_two(right)
    return ANYTHING if factor is ANYTHING else _product(what, left, factor)


def _shifted_right(_what: IntegerFunction, left: Range, right: Range) -> Range:
    return _quotient(IntegerFunction(Function.QUOTIENT), left, _power_of_two(right))


def _masked(_what: IntegerFunction, left: Range, right: Range) -> Range:
    """No more than either operand that is not negative."""
    highs = [each.high for each in (left, right) if each.low >= 0]
    return Range(0, min(highs)) if highs else ANYTHING


def _extreme(what: IntegerFunction, left: Range, right: Range) -> Range:
    if not what.signed and min(left.low, right.low) < 0:
        return ANYTHING
    pick = EXACT[what]
    return Range(pick(left.low, right.low), pick(left.high, right.high))


def _chosen(_what: IntegerFunction, left: Range, right: Range) -> Range:
    return left.join(right)


def _resized(what: IntegerFunction, source: Range) -> Range:
    return source if what.signed or source.low >= 0 else ANYTHING


RANGES: Domain[Callable[..., Range]] = Domain(
    {
        Function.SUM: _sum,
        Function.DIFFERENCE: _difference,
        Function.PRODUCT: _product,
        Function.REMAINDER: _remainder,
        Function.QUOTIENT: _quotient,
        Function.LEFT: _shifted_left,
        Function.RIGHT: _shifted_right,
        Function.AND: _masked,
        Function.LEAST: _extreme,
        Function.GREATEST: _extreme,
        Function.CHOICE: _chosen,
        Function.EXTENDED: _resized,
        Function.RESIZED: _resized,
    },
    unknown={
        Function.OR: "the bits of two ranges combine to no range",
        Function.XOR: "the bits of two ranges combine to no range",
        Function.COMPARISON: "a truth is not read as a number",
        Function.TRUNCATED: "the bits that are dropped may count",
    },
)
"""Function -> the range of its result from those of its operands (for a choice: from those of what it chooses from)."""
