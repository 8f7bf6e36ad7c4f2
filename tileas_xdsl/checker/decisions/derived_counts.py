"""
Counts that are computed from arguments and constants: each is a number of its own, of which nothing is decided.

    %half  = arith.divui %m, %c2        m / 2
    %more  = arith.addi %m, %c3
    %tiles = arith.divui %more, %c4     (m + 3) / 4
    %few   = arith.minsi %m, %c5        min(m, 5)
    %rest  = arith.remui %m, %c4        m mod 4

Two that are computed alike from one argument are the same number in every call: that is all that is claimed of them,
and that they are not negative. That m and m / 2 have to do with each other is not followed, which only adds executions.
None may overflow: what is multiplied by more than `MOST_TIMES` is no count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue, Use

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.checker.decisions.origins import behind_captures, origin_of
from tileas_xdsl.machine.core.moving_numbers import LEAST_WIDTH

TIMES = {arith.MuliOp: "{} * {}", arith.ShLIOp: "{} << {}"}
PER = {
    arith.DivUIOp: "{} / {}",
    arith.DivSIOp: "{} / {}",
    arith.FloorDivSIOp: "{} / {}",
    arith.CeilDivUIOp: "ceil({} / {})",
    arith.CeilDivSIOp: "ceil({} / {})",
    arith.ShRUIOp: "{} >> {}",
    arith.ShRSIOp: "{} >> {}",
}
AS_IT_IS = {
    arith.MinSIOp: "min({}, {})",
    arith.MinUIOp: "min({}, {})",
    arith.MaxUIOp: "max({}, {})",
    arith.MaxSIOp: "max({}, {})",
    arith.RemUIOp: "{} mod {}",
    arith.RemSIOp: "{} mod {}",
}
WRITTEN: Mapping[type[Operation], str] = {**TIMES, **PER, **AS_IT_IS}
"""The ops that compute such a count, and how it is written."""
MOST_TIMES = 1 << 11
"""With more than that a count of 2^20 turns, up to which nothing may overflow, would do so in 32 bits."""
SHIFTS = (arith.ShLIOp, arith.ShRUIOp, arith.ShRSIOp)
COMMUTATIVE = (arith.MuliOp, arith.MinSIOp, arith.MinUIOp, arith.MaxSIOp, arith.MaxUIOp)


@dataclass(frozen=True)
class DerivedCount:
    """A count that is computed from `argument`; it reads `text`, which says all of it."""

    text: str
    argument: str = field(compare=False)
    scale: Fraction = field(compare=False)
    """About how many times the argument it is."""
    added: int = field(compare=False)

    def __str__(self) -> str:
        return self.text

    def arguments(self, count: int) -> Iterator[int]:
        """Numbers of the argument with which it may be `count`."""
        for near in (count, count + 1):
            yield max(0, int(near / self.scale) - self.added)


Term = str | DerivedCount


def derived_count(use: Use, names: Mapping[SSAValue, Term]) -> DerivedCount | None:
    """What the op of `use` computes from one of `names` and a constant; None if it is no count, or may be negative."""
    op = use.operation
    written = WRITTEN.get(type(op))
    if written is None or (use.index and not isinstance(op, COMMUTATIVE)):
        return None
    constant = constant_integer(behind_captures(op.operands[1 - use.index]))
    origin = origin_of(op.operands[use.index])
    term = names.get(origin.root)
    if constant is None or constant <= 0 or term is None or not (origin.is_clipped or origin.offset >= 0):
        return None
    if isinstance(op, SHIFTS) and constant >= LEAST_WIDTH:
        return None
    number = str(term)
    if origin.offset:
        number = f"({number} {'+' if origin.offset > 0 else '-'} {abs(origin.offset)})"
    if origin.is_clipped:
        number = f"max({number}, 0)"
    factor = 1 << constant if isinstance(op, SHIFTS) else constant
    scale = Fraction(factor) if type(op) in TIMES else Fraction(1, factor) if type(op) in PER else Fraction(1)
    argument, around, added = (
        (term, Fraction(1), 0) if isinstance(term, str) else (term.argument, term.scale, term.added)
    )
    if type(op) in TIMES and scale * around > MOST_TIMES:
        return None
    return DerivedCount(written.format(number, constant), argument, scale * around, added + origin.offset)
