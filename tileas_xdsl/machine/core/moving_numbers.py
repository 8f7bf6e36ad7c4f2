"""
Numbers that move on from iteration to iteration of a loop, and what operations make of them.

The same step of two turns, or of two executions, computes x in one and x + d in the other: d is the *shift* of x. A
proof needs more than that one difference. It needs that after t rounds the step computes x + t d, for every t, and
still takes the same branch. A rule says when an operation on numbers that move on evenly gives a number that moves on
evenly, or stays. Each op names its rule where its meaning is registered (`meaning`). An op without a rule is irregular,
and no proof rests on its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd, lcm

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation

from tileas_xdsl.dialects.upstream_models.integers import Domain, Function, IntegerFunction
from tileas_xdsl.machine.core.values import bit_width

LEAST_WIDTH = 32
"""Narrower integers wrap around too soon to move on for ever."""


class IrregularError(Exception):
    """
    A step whose numbers do not move on evenly, so that no proof can be made from this period.

    Hints for another attempt: `factor` (try a period that many times as long), `rounds` (try that many rounds later),
    `gathering_may_help` (gather leftovers), `wrong_after` (the program may go wrong after that many more rounds; 0:
    not known to).
    """

    def __init__(
        self,
        op: Operation,
        reason: str,
        *,
        factor: int = 1,
        rounds: int = 0,
        gathering_may_help: bool = False,
        wrong_after: int = 0,
    ) -> None:
        self.wrong_after = wrong_after
        self.gathering_may_help = gathering_may_help
        self.op = op
        self.reason = reason
        self.factor = factor
        self.rounds = rounds
        super().__init__(reason)


def must_move_by_multiples(op: Operation, shifts: Sequence[int], step: int, reason: str) -> None:
    """Raises `IrregularError` with `reason` unless each of `shifts` is a multiple of `step`."""
    factor = lcm(*(step // gcd(step, shift) for shift in shifts))
    if factor > 1:
        raise IrregularError(op, reason, factor=factor)


@dataclass(frozen=True)
class Moving:
    """A number and its shifts: one for each direction in which executions grow (turns of a loop, trip counts)."""

    value: int
    shifts: tuple[int, ...]

    @property
    def stays(self) -> bool:
        return not any(self.shifts)

    @property
    def goes_one_way(self) -> bool:
        """Whether it moves on by sums of its shifts only, never back."""
        return True

    @property
    def never_negative(self) -> bool:
        return self.value >= 0 and all(shift >= 0 for shift in self.shifts)


Numbers = Sequence[Moving]
Rule = Callable[[Operation, Numbers], "tuple[int, ...]"]
"""By how much the result moves on. Raises `IrregularError`."""

NO_END = "compares numbers that come closer to each other from iteration to iteration"


def _all(values: Numbers, combine: Callable[..., int]) -> tuple[int, ...]:
    return tuple(combine(*shifts) for shifts in zip(*(value.shifts for value in values), strict=True))


def stays(values: Numbers) -> tuple[int, ...]:
    return (0,) * len(values[0].shifts)


def added(_op: Operation, values: Numbers) -> tuple[int, ...]:
    return _all(values, int.__add__)


def subtracted(_op: Operation, values: Numbers) -> tuple[int, ...]:
    return _all(values, int.__sub__)


def multiplied(op: Operation, values: Numbers) -> tuple[int, ...]:
    left, right = values
    if left.stays:
        return tuple(left.value * shift for shift in right.shifts)
    if right.stays:
        return tuple(right.value * shift for shift in left.shifts)
    raise IrregularError(op, "multiplies two numbers that both change from iteration to iteration")


def _divided(op: Operation, value: Moving, divisor: int, what: str) -> Moving:
    if divisor <= 0 or not value.never_negative:
        raise IrregularError(op, f"{what} a number that changes from iteration to iteration and may be negative")
    must_move_by_multiples(
        op, value.shifts, divisor, f"{what} by {divisor} a number that moves on by no multiple of it"
    )
    return value


def _constant(op: Operation, value: Moving) -> int:
    if not value.stays:
        raise IrregularError(op, "takes a number that changes from iteration to iteration as its second operand")
    return value.value


def quotient(op: Operation, values: Numbers) -> tuple[int, ...]:
    divisor = _constant(op, values[1])
    return tuple(shift // divisor for shift in _divided(op, values[0], divisor, "divides").shifts)


def remainder(op: Operation, values: Numbers) -> tuple[int, ...]:
    _divided(op, values[0], _constant(op, values[1]), "takes the remainder")
    return stays(values)


def shifted_left(op: Operation, values: Numbers) -> tuple[int, ...]:
    places = _constant(op, values[1])
    return tuple(shift << places for shift in values[0].shifts)


def shifted_right(op: Operation, values: Numbers) -> tuple[int, ...]:
    places = _constant(op, values[1])
    return tuple(shift >> places for shift in _divided(op, values[0], 1 << places, "divides").shifts)


def masked(op: Operation, values: Numbers) -> tuple[int, ...]:
    value, mask = values if values[1].stays else (values[1], values[0])
    if not mask.stays or mask.value < 0:
        raise IrregularError(op, "masks a number that changes from iteration to iteration by no fixed bits")
    step = 1 << mask.value.bit_length()
    must_move_by_multiples(op, value.shifts, step, f"takes bits of a number that moves on by no multiple of {step}")
    return stays(values)


def order_stays(op: Operation, left: Moving, right: Moving) -> None:
    """
    Raises `IrregularError` unless the two numbers compare alike for ever: they move alike, or away from each other.
    """
    gap = left.value - right.value
    if not (left.goes_one_way and right.goes_one_way) and left.shifts != right.shifts:
        slowest = min(abs(one - other) for one, other in zip(left.shifts, right.shifts, strict=True) if one != other)
        raise IrregularError(op, NO_END, wrong_after=abs(gap) // slowest + 1)
    for one, other in zip(left.shifts, right.shifts, strict=True):
        closer = other - one
        if closer * gap > 0 or (gap == 0 and closer):
            raise IrregularError(op, NO_END, rounds=abs(gap) // abs(closer) + 1)


SIGNED_PREDICATES = frozenset(range(6))
"""Of `arith.cmpi`: equality, and the order of signed numbers."""


def compared(op: Operation, values: Numbers) -> tuple[int, ...]:
    predicate = op.properties.get("predicate")
    number = getattr(getattr(predicate, "value", None), "data", None)
    if number not in SIGNED_PREDICATES and not all(value.never_negative for value in values):
        raise IrregularError(op, "compares numbers that may be negative as unsigned ones")
    order_stays(op, *values)
    return stays(values)


def positive(op: Operation, values: Numbers) -> tuple[int, ...]:
    """Whether a number is positive: it must not come to 0 in some later turn."""
    order_stays(op, values[0], Moving(0, stays(values)))
    return stays(values)


def _extreme(pick: Callable[[int, int], int]) -> Rule:
    def rule(op: Operation, values: Numbers) -> tuple[int, ...]:
        if not all(value.never_negative for value in values):
            raise IrregularError(op, "compares numbers that change from iteration to iteration and may be negative")
        order_stays(op, *values)
        wanted = pick(values[0].value, values[1].value)
        return next(value for value in values if value.value == wanted).shifts

    return rule


smaller = _extreme(min)
larger = _extreme(max)


def unchanged(_op: Operation, values: Numbers) -> tuple[int, ...]:
    return values[0].shifts


def extended_by_zeros(op: Operation, values: Numbers) -> tuple[int, ...]:
    """Zero extension reads a negative number as a large one, so the result jumps where the operand changes its sign."""
    if not values[0].stays and not values[0].never_negative:
        reason = "extends by zeros a number that changes from iteration to iteration and may be negative"
        fastest = max(map(abs, values[0].shifts))
        raise IrregularError(op, reason, wrong_after=-(-abs(values[0].value) // fastest))
    return values[0].shifts


def narrowed(op: Operation, values: Numbers) -> tuple[int, ...]:
    width = bit_width(op.results[0].type)
    if width >= LEAST_WIDTH:
        return values[0].shifts
    reason = f"keeps {width} bits of a number that changes from iteration to iteration"
    must_move_by_multiples(op, values[0].shifts, 1 << width, reason)
    return stays(values)


def _resized_by_zeros(op: Operation, values: Numbers) -> tuple[int, ...]:
    return (extended_by_zeros if isinstance(op.results[0].type, IndexType) else narrowed)(op, values)


def selected(op: Operation, values: Numbers) -> tuple[int, ...]:
    condition, *choices = values
    if not condition.stays:
        raise IrregularError(op, "selects by a condition that changes from iteration to iteration")
    return choices[0 if condition.value else 1].shifts


IRREGULAR_BITS = "which bits come of it does not go on evenly"
MOVING: Domain[Rule] = Domain(
    {
        Function.SUM: added,
        Function.DIFFERENCE: subtracted,
        Function.PRODUCT: multiplied,
        Function.QUOTIENT: quotient,
        Function.REMAINDER: remainder,
        Function.AND: masked,
        Function.LEFT: shifted_left,
        Function.RIGHT: shifted_right,
        Function.LEAST: smaller,
        Function.GREATEST: larger,
        Function.CHOICE: selected,
        Function.COMPARISON: compared,
        Function.EXTENDED: unchanged,
        Function.TRUNCATED: narrowed,
        Function.RESIZED: narrowed,
    },
    unknown={Function.OR: IRREGULAR_BITS, Function.XOR: IRREGULAR_BITS},
)
WITHOUT_SIGN: dict[Function, Rule] = {Function.EXTENDED: extended_by_zeros, Function.RESIZED: _resized_by_zeros}


def rule_of(what: IntegerFunction) -> Rule | None:
    """How what an op computes moves on; None if that is irregular."""
    return (not what.signed and WITHOUT_SIGN.get(what.function)) or MOVING.rules.get(what.function)
