"""
What the bounds of a kernel's loops are computed from, as formulas: `formula_of(value)`.

Two values with one formula are one number, wherever they are computed: in a partition of warps as well, which has names
of its own for what it captures.

A formula that bounds a loop is replaced by an argument of its own, which is never negative. That takes in calls that
the formula excludes; so a mistake counts only with arguments that lead there. Where a loop goes on by more than one and
something else depends on its bound, the bound is taken to be a multiple of the step, and the verdict says so. Ids of
blocks that then decide nothing are unknown numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.value_flow import behind_captures
from tileas_xdsl.interfaces import FunctionOpInterface
from tileas_xdsl.machine.core.meaning import facts_of


def _quotient(left: int, right: int) -> int:
    """The quotient, rounded towards zero."""
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _rounded_up(left: int, right: int) -> int:
    return -(-left // right)


def _rounded_down(left: int, right: int) -> int:
    return left // right


def _remainder(left: int, right: int) -> int:
    return left - right * _quotient(left, right)


def _shifted_left(left: int, right: int) -> int:
    if not 0 <= right < MOST_PLACES:
        raise ArithmeticError
    return left << right


def _shifted_right(left: int, right: int) -> int:
    if left < 0 or not 0 <= right < MOST_PLACES:
        raise ArithmeticError
    return left >> right


MOST_PLACES = 64
"""By fewer places than that an integer is shifted; else what comes of it is not defined (MLIR, dialect `arith`)."""
BINARY: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.DivSIOp: _quotient,
    arith.DivUIOp: _quotient,
    arith.CeilDivSIOp: _rounded_up,
    arith.FloorDivSIOp: _rounded_down,
    arith.RemSIOp: _remainder,
    arith.RemUIOp: _remainder,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.ShLIOp: _shifted_left,
    arith.ShRSIOp: _shifted_right,
    arith.ShRUIOp: _shifted_right,
}
"""Kind of op -> what it computes of two integers that do not overflow."""
CONVERSIONS: frozenset[type[Operation]] = frozenset({arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp})
COMPUTING = BINARY.keys() | CONVERSIONS

RISING: frozenset[type[Operation]] = frozenset({arith.AddiOp, arith.MinSIOp, arith.MaxSIOp})
"""What grows with both operands."""
RISING_ABOVE_ZERO: frozenset[type[Operation]] = frozenset({arith.MuliOp})
"""What grows with both, where neither is negative."""
RISING_IN_THE_FIRST = frozenset(BINARY) - RISING - {arith.MuliOp, arith.RemSIOp, arith.RemUIOp}
"""What grows with the first operand, where that is not negative and the second one is a positive constant."""

Formula = tuple[Any, ...]
"""`("constant", 64)`, `("argument", 3)`, `("grid", "program_id.x")`, `("data", value)`, or an op's kind, operands."""
Count = tuple[Formula, Formula, Formula]
"""How often a loop turns: from the first, to the second, by steps of the third."""


def formula_of(value: SSAValue) -> Formula:
    """What the integer `value` is computed from."""
    if isinstance(value, BlockArgument):
        return _formula_of_argument(value)
    op = cast("OpResult", value).op
    constant = constant_integer(value)
    if constant is not None:
        return ("constant", constant)
    if type(op) in COMPUTING:
        return (type(op), *map(formula_of, op.operands))
    number = facts_of(op).number_of_block
    return ("data", value) if number is None else ("grid", number(op))


def _formula_of_argument(value: BlockArgument) -> Formula:
    captured = behind_captures(value)
    if captured is not value:
        return formula_of(captured)
    function = FunctionOpInterface.of(value.block.parent_op())
    is_of_function = function is not None and value.block is function.function_body.first_block
    return ("argument", value.index) if is_of_function else ("data", value)


def leaves_of(formula: Formula) -> Iterator[Formula]:
    """What `formula` begins with: constants, arguments, numbers of the grid and data."""
    if formula[0] in COMPUTING:
        for part in formula[1:]:
            yield from leaves_of(part)
    else:
        yield formula


def is_open(leaf: Formula) -> bool:
    """Whether a caller can have any number there."""
    return leaf[0] in ("argument", "data")


def constants_in(formula: Formula) -> Iterator[int]:
    """The constants in `formula`."""
    return (leaf[1] for leaf in leaves_of(formula) if leaf[0] == "constant")


def core_of(formula: Formula) -> Formula:
    """`formula` without constants that are added to it."""
    while formula[0] in (arith.AddiOp, arith.SubiOp) and formula[2][0] == "constant":
        formula = formula[1]
    return formula


def turns_of(count: Count, given: Mapping[Formula, int]) -> int | None:
    """How often a loop turns with those arguments and data in block 0 of 1; None where that is not defined."""
    try:
        lower, upper, step = (number_of(part, given) for part in count)
        return max(0, -((lower - upper) // step))
    except ArithmeticError:
        return None


def least_turns(count: Count, least: Mapping[Formula, int]) -> int:
    """A number of turns that a loop makes in every call in which the leaves `least` are no less than that."""
    lower, upper, step = count
    first = least_of(upper, least)
    if first is None or lower[0] != "constant" or step[0] != "constant" or step[1] < 1:
        return 0
    return max(0, -((lower[1] - first) // step[1]))


def least_of(formula: Formula, least: Mapping[Formula, int]) -> int | None:
    """A number below which `formula` never is where the leaves `least` are no less than that; None if none is known."""
    kind = formula[0]
    if kind == "constant":
        return formula[1]
    if kind not in COMPUTING:
        return least.get(formula)
    numbers = [least_of(part, least) for part in formula[1:]]
    if kind is arith.MaxSIOp:
        return max((number for number in numbers if number is not None), default=None)
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return None
    if kind in CONVERSIONS:
        return known[0]
    rises = kind in RISING or (kind in RISING_ABOVE_ZERO and min(known) >= 0)
    by_constant = kind in RISING_IN_THE_FIRST and formula[2][0] == "constant" and known[1] > 0
    if not rises and not (by_constant and known[0] >= 0):
        return None
    try:
        return BINARY[kind](*known)
    except ArithmeticError:
        return None


def number_of(formula: Formula, given: Mapping[Formula, int]) -> int:
    """The number that `formula` is with those arguments and data, in block 0 of 1."""
    match formula[0]:
        case "constant":
            return formula[1]
        case "grid":
            return int(str(formula[1]).startswith("num_programs"))
        case "argument" | "data":
            return given[formula]
        case kind:
            numbers = [number_of(part, given) for part in formula[1:]]
            return numbers[0] if kind in CONVERSIONS else BINARY[kind](*numbers)
