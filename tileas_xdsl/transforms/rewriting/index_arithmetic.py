"""
Index arithmetic put into a function by a rewrite: constants at its head, the rest where it is needed. Guards of
`analysis/exact_counts` become conditions in the IR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.analysis.exact_counts.guards import Guard, Holds, Literal, TurnReached, TurnsMade


@dataclass
class IndexBuilder:
    """Puts ops into one function, each in front of an op that is there already, its *anchor*."""

    function: Operation
    made: list[Operation] = field(default_factory=list[Operation])
    """The arithmetic that was put in, in order; `tidy` removes what is not used."""
    _constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    def insert(self, op: Operation, anchor: Operation) -> Operation:
        block = anchor.parent
        assert isinstance(block, Block)
        op.location = anchor.location
        block.insert_op_before(op, anchor)
        return op

    def prepend(self, ops: Sequence[Operation]) -> None:
        """Put `ops` at the head of the function."""
        entry = self.function.regions[0].first_block
        assert entry is not None
        for op in ops:
            op.location = self.function.location
        if entry.first_op is None:
            entry.add_ops(ops)
        else:
            entry.insert_ops_before(ops, entry.first_op)

    def constant(self, number: int) -> SSAValue:
        if number not in self._constants:
            op = arith.ConstantOp(IntegerAttr(number, IndexType()))
            op.result.name_hint = f"c{number}"
            self.prepend([op])
            self.made.append(op)
            self._constants[number] = op.result
        return self._constants[number]

    def computed(self, op: Operation, anchor: Operation, hint: str | None = None) -> SSAValue:
        """The result of `op`, an arithmetic op, put in front of `anchor`."""
        self.made.append(self.insert(op, anchor))
        op.results[0].name_hint = hint
        return op.results[0]

    def plus(self, value: SSAValue, number: int, anchor: Operation, hint: str | None = None) -> SSAValue:
        return value if number == 0 else self.computed(arith.AddiOp(value, self.constant(number)), anchor, hint)

    def compare(self, predicate: str, left: SSAValue, right: int, anchor: Operation) -> SSAValue:
        """Whether `left` stands in that relation to the number `right`."""
        return self.computed(arith.CmpiOp(left, self.constant(right), predicate), anchor)

    def branch(self, condition: SSAValue, anchor: Operation) -> Operation:
        """Put an `scf.if` without results in front of `anchor`; returns the end of its block, an anchor itself."""
        end = scf.YieldOp()
        self.insert(scf.IfOp(condition, [], Region(Block([end]))), anchor)
        return end

    def tidy(self) -> None:
        """Erase the arithmetic in `made` that has no use."""
        for op in reversed(self.made):
            if op.parent is not None and all(result.first_use is None for result in op.results):
                op.detach()
                op.erase()


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
