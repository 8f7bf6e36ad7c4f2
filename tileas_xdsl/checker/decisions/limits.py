"""
Limits of numbers, whatever the loops do: what the text says of the last place that an index comes to, and which numbers
are never negative.

    scf.for %t = %c0 to %c1024 {                  %t is at most 1023
      %row   = arith.divui %t, %c8                at most 127
      %slot  = arith.remui %k, %c4                at most 3, whatever %k is
      %place = arith.muli %slot, %row             at most 381

States do not say how far a nest has come, and so not whether an index that moves on stays inside of an array that
ends. Constant bounds, remainders, masks and minima do: they hold in every call, at every turn. An argument has no
limit, and neither has what a loop counts without end.

Never negative are constants and counts, and what is computed from such by sums, products, quotients and remainders.
That they do not overflow is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from xdsl.dialects import arith, scf
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tileas_xdsl.analysis.induction import MOST_PLACES, constant_integer
from tileas_xdsl.analysis.value_flow import behind_captures, names_behind
from tileas_xdsl.checker.decisions.open_loops import integers_in
from tileas_xdsl.checker.proof.shifts import MOST_TURNS
from tileas_xdsl.dialects.upstream_models.integers import (
    EXACT,
    Domain,
    Function,
    computes,
    integer_function,
    ops_of,
)
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.arguments import is_integer_scalar
from tileas_xdsl.machine.core.values import bit_width

SIGNS: Domain[Callable[[Iterable[bool]], bool]] = Domain(
    {
        **dict.fromkeys((Function.AND, Function.GREATEST), any),
        **dict.fromkeys((Function.SUM, Function.PRODUCT, Function.QUOTIENT, Function.REMAINDER, Function.LEAST), all),
        **dict.fromkeys((Function.LEFT, Function.RIGHT, Function.OR, Function.XOR), all),
        **dict.fromkeys((Function.EXTENDED, Function.RESIZED), all),
    },
    unknown={
        Function.DIFFERENCE: "may be negative",
        Function.TRUNCATED: "may be negative, since bits are dropped",
        Function.CHOICE: "is what is carried to its result",
        Function.COMPARISON: "a truth has no sign",
    },
)
"""Of which operands it follows that the result is not negative: of unsigned ones, of all."""


def never_negative(body: Region, counts: Iterable[SSAValue]) -> frozenset[SSAValue]:
    """The integers of the function that are never negative, given that `counts` are not. The greatest such set."""
    found = {value for value in integers_in(body)}
    counted = set(counts)
    sources = sources_of(found)
    changed = True
    while changed:
        bad = [value for value in found if value not in counted and not _holds(value, sources, found)]
        found.difference_update(bad)
        changed = bool(bad)
    return frozenset(found)


def sources_of(values: Iterable[SSAValue]) -> Mapping[SSAValue, list[SSAValue]]:
    """Name -> the values that are carried to it."""
    sources: dict[SSAValue, list[SSAValue]] = {}
    for value in values:
        for use in value.uses:
            for name in names_behind(use) or ():
                sources.setdefault(name, []).append(value)
    return sources


def _holds(value: SSAValue, sources: Mapping[SSAValue, Sequence[SSAValue]], found: set[SSAValue]) -> bool:
    if isinstance(value, BlockArgument) and isinstance(loop := value.block.parent_op(), scf.ForOp) and value.index == 0:
        return loop.lb in found and (step := constant_integer(loop.step)) is not None and step > 0
    op = value.owner
    if isinstance(op, Operation):
        constant = constant_integer(value)
        if constant is not None:
            return constant >= 0
        what, rule = integer_function(op), SIGNS.rule(op)
        if what is not None and rule is not None:
            return (rule if what.signed else all)(operand in found for operand in op.operands)
    carried = sources.get(value)
    return bool(carried) and len(carried) == carriers_of(value) and all(source in found for source in carried)


def carriers_of(value: SSAValue) -> int:
    """How many values are carried to `value`, as far as control flow is structured; -1 where that is not known."""
    if isinstance(value, BlockArgument):
        parent = value.block.parent_op()
        if isinstance(parent, scf.ForOp):
            return 2
        return 1 if parent is not None and AgentLikeOpInterface.of(parent) is not None else -1
    return 2 if isinstance(value.owner, scf.ForOp | scf.IfOp | arith.SelectOp) else -1


LARGEST = (1 << 31) - 1
"""Numbers that may be larger have no limit: 32 bits overflow, and an index has at least as many."""


class Limits:
    """The upper limits of the integers in a function, as far as they have any."""

    def __init__(self, body: Region, never_negative: Container[SSAValue]) -> None:
        """`never_negative` are those that are known not to be negative; no others get a limit."""
        self.never_negative = never_negative
        self._sources = sources_of(integers_in(body))
        self._known: dict[SSAValue, int | None] = {}

    def of(self, value: SSAValue) -> int | None:
        """What `value` is at most, in every execution; None where nothing says so."""
        value = behind_captures(value)
        if value not in self._known:
            # What a loop carries from iteration to iteration has no limit by itself.
            self._known[value] = None
            self._known[value] = self._found(value)
        return self._known[value]

    def _found(self, value: SSAValue) -> int | None:
        constant = constant_integer(value)
        if constant is not None or value not in self.never_negative:
            return constant
        found = self._of_turn(value) if isinstance(value, BlockArgument) else self._of_result(value)
        largest = min(LARGEST, (1 << (bit_width(value.type) - 1)) - 1)
        return found if found is not None and found <= largest else None

    def _of_turn(self, value: BlockArgument) -> int | None:
        loop = value.block.parent_op()
        if not isinstance(loop, scf.ForOp) or value.index > 0:
            return self._of_sources(value)
        bound = self.of(loop.ub)
        return None if bound is None else max(bound - 1, 0)

    def _of_sources(self, value: SSAValue) -> int | None:
        """The largest of what is carried to `value`."""
        carried = self._sources.get(value, [])
        limits = [self.of(source) for source in carried]
        known = [limit for limit in limits if limit is not None]
        return max(known) if carried and len(carried) == carriers_of(value) and len(known) == len(limits) else None

    def _of_result(self, value: SSAValue) -> int | None:
        match value.owner:
            case scf.ForOp() | scf.IfOp() | arith.SelectOp():
                return self._of_sources(value)
            case Operation() as op if (rule := LIMITS.rule(op)) is not None:
                return rule(op, *map(self.of, op.operands))
            case _:
                return None


def _same(_op: Operation, limit: int | None) -> int | None:
    return limit


def _least(_op: Operation, *limits: int | None) -> int | None:
    """A mask that is negative, as -8 is, limits nothing."""
    return min((limit for limit in limits if limit is not None and limit >= 0), default=None)


def _remainder(op: Operation, left: int | None, _right: int | None) -> int | None:
    divisor = _positive_constant(op.operands[1])
    return left if divisor is None or (left is not None and left < divisor) else divisor - 1


def _quotient(op: Operation, left: int | None, _right: int | None) -> int | None:
    what, divisor = integer_function(op), _positive_constant(op.operands[1])
    return left if left is None or what is None or divisor is None else EXACT[what](left, divisor)


def _shifted_right(op: Operation, left: int | None, _right: int | None) -> int | None:
    return None if left is None else left >> min(_positive_constant(op.operands[1]) or 0, MOST_PLACES)


def _of_both(compute: Callable[[int, int], int]) -> Callable[..., int | None]:
    def of_both(_op: Operation, left: int | None, right: int | None) -> int | None:
        return None if left is None or right is None else compute(left, right)

    return of_both


LIMITS: Domain[Callable[..., int | None]] = Domain(
    {
        Function.SUM: _of_both(int.__add__),
        Function.PRODUCT: _of_both(int.__mul__),
        Function.GREATEST: _of_both(max),
        Function.LEAST: _least,
        Function.AND: _least,
        Function.REMAINDER: _remainder,
        Function.QUOTIENT: _quotient,
        Function.RIGHT: _shifted_right,
        Function.LEFT: _of_both(lambda left, places: left << min(places, MOST_PLACES)),
        Function.EXTENDED: _same,
        Function.RESIZED: _same,
    },
    unknown={
        **dict.fromkeys((Function.OR, Function.XOR), "may set bits that neither limit has"),
        **dict.fromkeys((Function.DIFFERENCE, Function.TRUNCATED), "may be negative"),
        Function.CHOICE: "has that of what is carried to its result",
        Function.COMPARISON: "a truth is not read as a number",
    },
)
"""What a result is at most, of what its operands are at most, none of which is negative."""


GROWS = ops_of(Function.SUM, Function.PRODUCT, Function.LEFT)
"""The ops whose results may be larger than their operands."""


def may_overflow(body: Region, limits: Limits) -> bool:
    """Whether the function computes an integer that may overflow its type before its loops have turned `MOST_TURNS`."""
    return any(_may_overflow(op, limits) for op in body.walk() if isinstance(op, GROWS))


def _may_overflow(op: Operation, limits: Limits) -> bool:
    result = op.results[0]
    if not is_integer_scalar(result.type) or limits.of(result) is not None:
        return False
    by = 1
    if not computes(op, Function.SUM):
        factor = next((found for value in op.operands if (found := _positive_constant(value)) is not None), 1)
        by = factor if computes(op, Function.PRODUCT) else 1 << min(factor, 64)
    return MOST_TURNS * by >= 1 << (bit_width(result.type) - 1)


def _positive_constant(value: SSAValue) -> int | None:
    constant = constant_integer(behind_captures(value))
    return constant if constant is not None and constant > 0 else None
