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

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from xdsl.ir import BlockArgument, OpResult, SSAValue

from tileas_xdsl.analysis.induction import MOST_PLACES, constant_integer
from tileas_xdsl.analysis.value_flow import behind_captures
from tileas_xdsl.dialects.upstream_models.integers import EXACT, Domain, Function, IntegerFunction, integer_function
from tileas_xdsl.interfaces import FunctionOpInterface
from tileas_xdsl.machine.core.meaning import facts_of


def _computed(what: IntegerFunction, left: int, right: int) -> int:
    """What an op computes of two numbers that do not overflow. Raises `ArithmeticError` where that is not known."""
    is_shift = what.function in (Function.LEFT, Function.RIGHT)
    if (is_shift and not 0 <= right < MOST_PLACES) or (not what.signed and min(left, right) < 0):
        raise ArithmeticError
    return EXACT[what](left, right)


def _converted(_what: IntegerFunction, number: int) -> int:
    return number


CONVERSIONS = (Function.EXTENDED, Function.TRUNCATED, Function.RESIZED)
FORMULAS: Domain[Callable[..., int]] = Domain(
    {
        **dict.fromkeys((what.function for what in EXACT), _computed),
        **dict.fromkeys(CONVERSIONS, _converted),
    },
    unknown={Function.CHOICE: "depends on a condition", Function.COMPARISON: "is a condition"},
)
"""What is computed of integers that do not overflow."""
RISING = (Function.SUM, Function.LEAST, Function.GREATEST)
"""What grows with both operands; of unsigned numbers where neither is negative, as `PRODUCT`."""
RISING_IN_THE_FIRST = (Function.DIFFERENCE, Function.QUOTIENT, Function.LEFT, Function.RIGHT)
"""What grows with the first operand, where that is not negative and the second one is a positive constant."""

Formula = tuple[Any, ...]
"""`("constant", 64)`, `("argument", 3)`, `("grid", "program_id.x")`, `("data", value)`, or a function, operands."""
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
    if FORMULAS.rule(op) is not None:
        return (integer_function(op), *map(formula_of, op.operands))
    number = facts_of(op).number_of_block
    return ("data", value) if number is None else ("grid", number(op))


def _formula_of_argument(value: BlockArgument) -> Formula:
    captured = behind_captures(value)
    if captured is not value:
        return formula_of(captured)
    function = FunctionOpInterface.of(value.block.parent_op())
    is_of_function = function is not None and value.block is function.function_body.first_block
    return ("argument", value.index) if is_of_function else ("data", value)


def function_of(formula: Formula) -> Function | None:
    """The function that `formula` computes of others; None for a leaf."""
    return formula[0].function if isinstance(formula[0], IntegerFunction) else None


def leaves_of(formula: Formula) -> Iterator[Formula]:
    """What `formula` begins with: constants, arguments, numbers of the grid and data."""
    if function_of(formula) is not None:
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
    while function_of(formula) in (Function.SUM, Function.DIFFERENCE) and formula[2][0] == "constant":
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
    function = function_of(formula)
    if function is None:
        return least.get(formula)
    numbers = [least_of(part, least) for part in formula[1:]]
    known = [number for number in numbers if number is not None]
    if function is Function.GREATEST and kind.signed:
        return max(known, default=None)
    if len(known) < len(numbers):
        return None
    if function in CONVERSIONS:
        return known[0]
    rises = function in RISING and (kind.signed or min(known) >= 0)
    rises_above_zero = function is Function.PRODUCT and min(known) >= 0
    by_constant = function in RISING_IN_THE_FIRST and formula[2][0] == "constant" and known[1] > 0 <= known[0]
    if not rises and not rises_above_zero and not by_constant:
        return None
    try:
        return _computed(kind, *known)
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
        case what:
            return FORMULAS.rules[what.function](what, *(number_of(part, given) for part in formula[1:]))
