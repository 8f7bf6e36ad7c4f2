"""
What a bound is computed from: a number and a constant, perhaps clipped at 0.

    %ahead = arith.subi %n, %c3                       %n - 3
    %more  = arith.cmpi uge, %n, %c4
    %safe  = arith.select %more, %ahead, %c0          %n - 3, clipped at 0
    %same  = arith.maxsi %ahead, %c0                  the same

A loop from 0 on turns equally often with a bound and with that bound clipped: not at all below 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS
from xdsl.ir import SSAValue

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.value_flow import behind_captures
from tileas_xdsl.dialects.upstream_models.integers import FUNCTIONS, Function, ops_of
from tileas_xdsl.machine.core.moving_numbers import LEAST_WIDTH
from tileas_xdsl.machine.core.values import bit_width

WIDENING = ops_of(Function.EXTENDED, Function.RESIZED)
"""Ops that leave a number that is not negative as it is, if there is room for it."""
ADDITIONS = ops_of(Function.SUM)
SUMS = ops_of(Function.SUM, Function.DIFFERENCE)
GREATER = {"sge": 0, "uge": 0, "sgt": 1, "ugt": 1}
"""Predicate -> a such that x p y if, and only if, x is at least y + a, of numbers that are not negative."""
MIRRORED = {
    "slt": "sgt",
    "sle": "sge",
    "sgt": "slt",
    "sge": "sle",
    "ult": "ugt",
    "ule": "uge",
    "ugt": "ult",
    "uge": "ule",
}
"""Predicate p -> q such that x p y if, and only if, y q x."""


@dataclass(frozen=True)
class Origin:
    """`root` + `offset`; or 0, if it `is_clipped` and that is negative."""

    root: SSAValue
    offset: int = 0
    is_clipped: bool = False

    def plus(self, distance: int) -> Origin | None:
        """This and `distance`; None where it is clipped before that."""
        return None if self.is_clipped and distance else replace(self, offset=self.offset + distance)


def origin_of(value: SSAValue) -> Origin:
    """What `value` is computed from, as far back as that goes."""
    value = behind_captures(value)
    owner = value.owner
    found: Origin | None = None
    if isinstance(owner, WIDENING):
        found = origin_of(owner.operands[0]) if keeps_number(owner) else None
    elif isinstance(owner, SUMS) and (step := constant_integer(owner.operands[1])) is not None:
        found = origin_of(owner.operands[0]).plus(step if isinstance(owner, ADDITIONS) else -step)
    elif isinstance(owner, ADDITIONS) and (step := constant_integer(owner.operands[0])) is not None:
        found = origin_of(owner.operands[1]).plus(step)
    elif (clipped := clipped_at_zero(owner)) is not None:
        found = replace(origin_of(clipped), is_clipped=True)
    return found or Origin(value)


def keeps_number(op: object) -> bool:
    """Whether `op` is another name of its operand: one with room for it, and which is not taken for a large number."""
    if not isinstance(op, WIDENING):
        return False
    narrow = op.operands[0]
    if bit_width(op.results[0].type) < min(bit_width(narrow.type), LEAST_WIDTH):
        return False
    number = origin_of(narrow)
    return FUNCTIONS[type(op)].signed or number.is_clipped or number.offset >= 0


def clipped_at_zero(op: object) -> SSAValue | None:
    """The value x if the result of `op` is x clipped at 0, else None."""
    if isinstance(op, arith.MaxSIOp):
        return next((x for x, zero in (op.operands, op.operands[::-1]) if constant_integer(zero) == 0), None)
    if not isinstance(op, arith.SelectOp) or constant_integer(op.rhs) != 0:
        return None
    condition = behind_captures(op.cond).owner
    if not isinstance(condition, arith.CmpiOp):
        return None
    chosen, asked = origin_of(op.lhs), at_least(condition)
    if asked is None or asked[0] is not chosen.root or chosen.is_clipped:
        return None
    # It is chosen from `least` on; from -offset on it is not negative, and there, or just before, it is 0.
    return op.lhs if asked[1] + chosen.offset in (0, 1) else None


def at_least(comparison: arith.CmpiOp) -> tuple[SSAValue, int] | None:
    """(root, c) if `comparison` says whether the root is at least c, which is positive."""
    predicate = CMPI_COMPARISON_OPERATIONS[comparison.predicate.value.data]
    for place, name in ((0, predicate), (1, MIRRORED.get(predicate, predicate))):
        origin, limit = origin_of(comparison.operands[place]), constant_integer(comparison.operands[1 - place])
        if limit is None or name not in GREATER:
            continue
        limit += GREATER[name]
        # An offset below 0 would wrap around where the comparison is without signs.
        plain = origin.offset >= 0 or origin.is_clipped or name.startswith("s")
        if limit > 0 and plain and limit - origin.offset > 0:
            return origin.root, limit - origin.offset
    return None
