"""
How often a loop turns that was expanded into a prologue, a loop and an epilogue (`transforms.loops.loop_expander`).

    %more = arith.cmpi slt, %a, %b                          has it a turn?
    %trips = arith.select %more, (%b - %a - 1) / %s + 1, 0          how many has it?
    %long = arith.cmpi uge, %trips, 3
    %end = arith.select %long, %b - 2 * %s, %a
    scf.for %k = %a to %end step %s                         all of them but the last 2

Where the number of turns becomes an argument, it stands for `%trips`, a turn is there if it is positive, and the loop
turns as often without the last ones.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.checker.verdict.bound_formulas import Count, Formula, formula_of, function_of
from tileas_xdsl.dialects.upstream_models.integers import Function, IntegerFunction

ROUNDED_DOWN = IntegerFunction(Function.QUOTIENT, signed=False)


def whole_count_of(loop: scf.ForOp) -> tuple[Count, int]:
    """How often the loop turned of which `loop` is a part, and how many of its last turns are left out here."""
    count = formula_of(loop.lb), formula_of(loop.ub), formula_of(loop.step)
    choice = loop.ub.owner
    if not isinstance(choice, arith.SelectOp) or formula_of(choice.rhs) != count[0]:
        return count, 0
    parts = _operands_of(formula_of(choice.lhs), Function.DIFFERENCE)
    left_out = _multiple(parts[1], count[2]) if parts else 0
    if not left_out:
        return count, 0
    whole = count[0], parts[0], count[2]
    return (whole, left_out) if _asks_for(choice.cond.owner, whole, left_out + 1) else (count, 0)


def count_turns(function: Operation, count: Count, turns: SSAValue) -> None:
    """Let `turns` be the number of turns that `count` says, wherever `function` asks for it."""
    numbers = [op for op in function.walk() if _is_number_of_turns(op, count)]
    conditions = [op for op in function.walk() if _has_a_turn(op, count)]
    for op in numbers:
        op.results[0].replace_all_uses_with(turns)
    for op in conditions:
        zero = arith.ConstantOp.from_int_and_width(0, cast("Any", turns.type))
        has_one = arith.CmpiOp(turns, zero.result, "sgt")
        Rewriter.replace_op(op, [zero, has_one])


def without_last(turns: SSAValue, left_out: int, loop: Operation) -> SSAValue:
    """How often a loop turns without its last turns; what computes that stands in front of `loop`."""
    if not left_out:
        return turns
    zero, last = (arith.ConstantOp.from_int_and_width(each, cast("Any", turns.type)) for each in (0, left_out))
    rest = arith.SubiOp(turns, last)
    clipped = arith.MaxSIOp(rest, zero)
    Rewriter.insert_op([zero, last, rest, clipped], InsertPoint.before(loop))
    return clipped.result


def _operands_of(formula: Formula, function: Function) -> tuple[Formula, ...]:
    """Of what `formula` is computed by `function`; nothing where it is not."""
    return formula[1:] if function_of(formula) is function else ()


def _multiple(formula: Formula, step: Formula) -> int:
    """How many of `step` the formula is; 0 where that is not known."""
    if formula == step:
        return 1
    if formula[0] == "constant" == step[0]:
        number, rest = divmod(formula[1], step[1]) if step[1] else (0, 1)
        return 0 if rest else max(0, number)
    factors = _operands_of(formula, Function.PRODUCT)
    others = [other for one, other in (factors, factors[::-1]) if one == step] if factors else []
    return others[0][1] if others and others[0][0] == "constant" else 0


def _asks_for(op: object, count: Count, least: int) -> bool:
    """Whether `op` asks if there are so many turns at least."""
    if not isinstance(op, arith.CmpiOp) or CMPI_COMPARISON_OPERATIONS[op.predicate.value.data] != "uge":
        return False
    return constant_integer(op.rhs) == least and _is_number_of_turns(op.lhs.owner, count)


def _is_number_of_turns(op: object, count: Count) -> bool:
    """Whether `op` is the choice between the number of turns, where there are some, and 0."""
    if not isinstance(op, arith.SelectOp) or constant_integer(op.rhs) != 0 or not _has_a_turn(op.cond.owner, count):
        return False
    lower, upper, step = count
    number = formula_of(op.lhs)
    if step == ("constant", 1):
        return _operands_of(number, Function.DIFFERENCE) == (upper, lower)
    one = ("constant", 1)
    whole, *more = _operands_of(number, Function.SUM) or (number,)
    rest, *by = _operands_of(whole, Function.QUOTIENT) or (whole,)
    length, *less = _operands_of(rest, Function.DIFFERENCE) or (rest,)
    if (more, by, less) != ([one], [step], [one]) or whole[0] != ROUNDED_DOWN:
        return False
    return _operands_of(length, Function.DIFFERENCE) == (upper, lower)


def _has_a_turn(op: object, count: Count) -> bool:
    """Whether `op` asks if there is a turn."""
    if not isinstance(op, arith.CmpiOp) or CMPI_COMPARISON_OPERATIONS[op.predicate.value.data] != "slt":
        return False
    return (formula_of(op.lhs), formula_of(op.rhs)) == count[:2]
