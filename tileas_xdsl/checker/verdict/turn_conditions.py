"""
Conditions that ask whether a loop has another turn: `conditions_on(function, loops, count)`.

    scf.for %k = %a to %b step 64 {                  scf.for %t = 0 to %turns step 1 {
      cmpi slt, %k, %b - 128                ->         cmpi slt, %t + 2, %turns

The pipeliner of Triton puts such a condition before each copy that is issued ahead of its turn. For a loop that turns

    turns = max(0, ceil((b - a) / 64))

times, a + 64 t + 64 d < b says the same as t + d < turns, whatever a and b are, if d is not negative and nothing
overflows. Before the loop, t is 0. A distance that is no multiple of the step says something else, and is left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.checker.decisions.origins import MIRRORED
from tileas_xdsl.checker.verdict.bound_formulas import Count, Formula, formula_of, function_of
from tileas_xdsl.dialects.upstream_models.integers import Function

Linear = Counter[Formula | None]
"""A sum: formula -> how often it is added; None -> the constant."""

LESS = {"slt": (0, False), "sle": (-1, False), "sge": (0, True), "sgt": (-1, True)}
"""Predicate p -> (c, negated) such that x p y if, and only if, x - y + c < 0, or not."""


@dataclass(frozen=True)
class TurnCondition:
    """Whether a loop has a turn that is so many after the one that runs, or after the first."""

    op: arith.CmpiOp
    loop: scf.ForOp | None
    """The loop whose turn runs there; None where the first is meant."""
    later: int
    negated: bool

    def count_turns(self, turns: SSAValue) -> None:
        """
        Compare the number of the turn with `turns`, as it is called there. The loop begins with 0 and goes on by one.
        """
        kind = cast("IntegerType | IndexType", turns.type)
        later = arith.ConstantOp.from_int_and_width(self.later, kind)
        new: list[Operation] = [later]
        number: SSAValue = later.result
        if self.loop is not None:
            new.append(total := arith.AddiOp(self.loop.body.block.args[0], later))
            number = total.result
        compared = arith.CmpiOp(number, turns, "sge" if self.negated else "slt")
        Rewriter.insert_op([*new, compared], InsertPoint.before(self.op))
        self.op.result.replace_all_uses_with(compared.result)
        Rewriter.erase_op(self.op)


def conditions_on(function: Operation, loops: Collection[scf.ForOp], count: Count) -> list[TurnCondition]:
    """The conditions of `function` that ask for turns of `loops`, which all turn from `count`, by a constant step."""
    lower, upper, (_, step) = count
    assert step > 0
    turns: dict[Formula, scf.ForOp] = {("data", loop.body.block.args[0]): loop for loop in loops}
    found: list[TurnCondition] = []
    for op in function.walk():
        if not isinstance(op, arith.CmpiOp) or not isinstance(op.lhs.type, IntegerType | IndexType):
            continue
        predicate = CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
        left, right = _linear(formula_of(op.lhs)), _linear(formula_of(op.rhs))
        for less, more, name in ((left, right, predicate), (right, left, MIRRORED.get(predicate, predicate))):
            if name not in LESS:
                continue
            added, negated = LESS[name]
            compared = _sum(less, more, -1)
            compared[None] += added
            loop = next((own for leaf, own in turns.items() if compared[leaf] == 1 and own.is_ancestor(op)), None)
            first = _linear(lower if loop is None else formula_of(loop.body.block.args[0]))
            rest = _sum(_sum(compared, first, -1), _linear(upper), 1)
            distance = rest.pop(None, 0)
            if not any(rest.values()) and distance >= 0 and distance % step == 0:
                found.append(TurnCondition(op, loop, distance // step, negated))
                break
    return found


def _sum(left: Linear, right: Linear, factor: int) -> Linear:
    """`left` and `factor` times `right`."""
    total: Linear = Counter(left)
    for leaf, times in right.items():
        total[leaf] += factor * times
    return total


def _linear(formula: Formula) -> Linear:
    kind = formula[0]
    if kind == "constant":
        return Counter({None: formula[1]})
    function = function_of(formula)
    if function in (Function.SUM, Function.DIFFERENCE):
        return _sum(_linear(formula[1]), _linear(formula[2]), 1 if function is Function.SUM else -1)
    if function is Function.PRODUCT and formula[2][0] == "constant":
        return _sum(Counter(), _linear(formula[1]), formula[2][1])
    if function in (Function.EXTENDED, Function.RESIZED) and kind.signed:
        return _linear(formula[1])
    return Counter({formula: 1})
