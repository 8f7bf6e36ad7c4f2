"""Guards of `analysis/exact_counts` as conditions in the IR."""

from __future__ import annotations

from functools import reduce
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i1
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.exact_counts.guards import Guard, Holds, Literal, TurnReached, TurnsMade
from tileas_xdsl.transforms.rewriting.index_arithmetic import IndexBuilder


def condition_of(guard: Guard, anchor: Operation, builder: IndexBuilder) -> SSAValue:
    """The guard as an `i1`, computed in front of `anchor`."""
    parts = [_literal(literal, anchor, builder) for literal in guard.literals]
    join = arith.AndIOp if guard.needs_all else arith.OrIOp
    return reduce(lambda one, other: builder.computed(join(one, other), anchor), parts)


def _literal(literal: Literal, anchor: Operation, builder: IndexBuilder) -> SSAValue:
    test = literal.test
    match test:
        case Holds():
            return test.condition if literal.holds else _opposite(test.condition, anchor, builder)
        case TurnReached():
            start = _after_turns(test.loop, test.turn, anchor, builder)
            induction = test.loop.body.block.args[0]
            return builder.computed(arith.CmpiOp(induction, start, "sge" if literal.holds else "slt"), anchor)
        case TurnsMade():
            last = _after_turns(test.loop, test.turns - 1, anchor, builder)
            return builder.computed(arith.CmpiOp(last, test.loop.ub, "slt" if literal.holds else "sge"), anchor)


def _after_turns(loop: scf.ForOp, turns: int, anchor: Operation, builder: IndexBuilder) -> SSAValue:
    """The induction variable of `loop` after so many turns."""
    if turns == 0:
        return loop.lb
    kind = IndexType() if isinstance(loop.step.type, IndexType) else cast("IntegerType", loop.step.type)
    number = arith.ConstantOp(IntegerAttr(turns, kind))
    factor = builder.computed(number, anchor)
    return builder.computed(arith.AddiOp(loop.lb, builder.computed(arith.MuliOp(loop.step, factor), anchor)), anchor)


def _opposite(condition: SSAValue, anchor: Operation, builder: IndexBuilder) -> SSAValue:
    true = builder.computed(arith.ConstantOp(IntegerAttr(1, i1)), anchor)
    return builder.computed(arith.XOrIOp(condition, true), anchor)
