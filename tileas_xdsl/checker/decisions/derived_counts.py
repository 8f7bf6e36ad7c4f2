"""
Counts that are computed from arguments and constants: each is a number of its own, of which nothing is decided.

    %half  = arith.divui %m, %c2        m / 2
    %more  = arith.addi %m, %c3
    %tiles = arith.divui %more, %c4     (m + 3) / 4
    %few   = arith.minsi %m, %c5        min(m, 5)
    %rest  = arith.remui %m, %c4        m mod 4

Two that are computed alike from one argument are the same number in every call: that is all that is claimed of them,
and that they are not negative. So `m >> 1` is `m / 2`, `ceil(m / 64)` is `(m + 63) / 64`, and `n * m` is `m * n`. What
m and m / 2 have to do with each other is not followed, which only adds executions.
None may overflow: what is multiplied by more than `MOST_TIMES` is no count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from xdsl.ir import Operation, SSAValue, Use

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.value_flow import behind_captures
from tileas_xdsl.checker.decisions.origins import Origin, origin_of
from tileas_xdsl.dialects.upstream_models.integers import FUNCTIONS, Domain, Function, Rounding, ops_of
from tileas_xdsl.machine.core.moving_numbers import LEAST_WIDTH

SHIFTS = ops_of(Function.LEFT, Function.RIGHT)
PRODUCTS = ops_of(Function.PRODUCT)
TIMES = ops_of(Function.PRODUCT, Function.LEFT)
PER = ops_of(Function.QUOTIENT, Function.RIGHT)
CEILINGS = tuple(op for op, what in FUNCTIONS.items() if what.rounding is Rounding.UP)
COUNTS: Domain[str] = Domain(
    {
        Function.PRODUCT: "{} * {}",
        Function.LEFT: "{} * {}",
        Function.QUOTIENT: "{} / {}",
        Function.RIGHT: "{} / {}",
        Function.REMAINDER: "{} mod {}",
        Function.LEAST: "min({}, {})",
        Function.GREATEST: "max({}, {})",
    },
    unknown={
        **dict.fromkeys((Function.SUM, Function.DIFFERENCE), "is the same count, with an offset (`origins`)"),
        **dict.fromkeys((Function.EXTENDED, Function.RESIZED), "is the same count (`origins`)"),
        **dict.fromkeys((Function.AND, Function.OR, Function.XOR, Function.TRUNCATED), "bits do not bound a loop"),
        **dict.fromkeys((Function.CHOICE, Function.COMPARISON), "is decided, not counted"),
    },
)
"""How a count that an op computes is written: alike where the numbers are, none of which is negative."""
MOST_TIMES = 1 << 11
"""With more than that a count of 2^20 turns, up to which nothing may overflow, would do so in 32 bits."""
COMMUTATIVE = ops_of(Function.PRODUCT, Function.LEAST, Function.GREATEST)


@dataclass(frozen=True)
class DerivedCount:
    """A count that is computed from `arguments`; it reads `text`, which says all of it."""

    text: str
    arguments: tuple[str, ...] = field(compare=False)
    """One; or two, of which it is the product."""
    scale: Fraction = field(compare=False)
    """About how many times the argument it is."""
    added: int = field(compare=False)

    def __str__(self) -> str:
        return self.text

    def numbers_of(self, name: str, count: int) -> Iterator[int]:
        """Numbers of the argument `name` with which it may be `count`; of two arguments, where one of them is 1."""
        if name not in self.arguments:
            return
        if len(self.arguments) > 1:
            yield 1
        for near in (count, count + 1):
            yield max(0, int(near / self.scale) - self.added)


Term = str | DerivedCount


def derived_count(use: Use, names: Mapping[SSAValue, Term]) -> DerivedCount | None:
    """What the op of `use` computes from one of `names` and a constant; None if it is no count, or may be negative."""
    op = use.operation
    written = COUNTS.rule(op)
    if written is None or (use.index and not isinstance(op, COMMUTATIVE)):
        return None
    constant = constant_integer(behind_captures(op.operands[1 - use.index]))
    if constant is None and isinstance(op, PRODUCTS):
        return _product(op, names)
    origin = origin_of(op.operands[use.index])
    term = names.get(origin.root)
    if constant is None or constant <= 0 or term is None or not (origin.is_clipped or origin.offset >= 0):
        return None
    if isinstance(op, SHIFTS) and constant >= LEAST_WIDTH:
        return None
    factor = 1 << constant if isinstance(op, SHIFTS) else constant
    scale = Fraction(factor) if type(op) in TIMES else Fraction(1, factor) if type(op) in PER else Fraction(1)
    arguments, around, added = (
        ((term,), Fraction(1), 0) if isinstance(term, str) else (term.arguments, term.scale, term.added)
    )
    if type(op) in TIMES and scale * around > MOST_TIMES:
        return None
    more = factor - 1 if isinstance(op, CEILINGS) else 0
    number = _written(str(term), origin, more)
    return DerivedCount(written.format(number, factor), arguments, scale * around, added + origin.offset + more)


def _product(op: Operation, names: Mapping[SSAValue, Term]) -> DerivedCount | None:
    """The product of two arguments, in whatever order; None if it is none."""
    origins = [origin_of(operand) for operand in op.operands]
    terms = [names.get(origin.root) for origin in origins if origin == Origin(origin.root)]
    factors = sorted(term for term in terms if isinstance(term, str))
    return DerivedCount(" * ".join(factors), tuple(factors), Fraction(1), 0) if len(factors) == 2 else None


def _written(term: str, origin: Origin, more: int) -> str:
    """The count `term`, with what is added to it, clipped at 0 where it is, and then `more`."""
    clipped = f"max({_sum(term, origin.offset)}, 0)" if origin.is_clipped else term
    return _sum(clipped, more if origin.is_clipped else origin.offset + more)


def _sum(number: str, offset: int) -> str:
    return f"({number} {'+' if offset > 0 else '-'} {abs(offset)})" if offset else number
