"""
What is known of the numbers of a function in some of its calls, and what follows for its guards.

    %some = arith.cmpi slt, %c0, %n          n in [1, ..]:  true
    %trips = arith.select %some, %n, %c0     n itself
    %two = arith.cmpi uge, %trips, %c2       open: a *question*, whose answers are n = 1 and n in [2, ..]

A case is a set of facts: linear forms and the ranges that they lie in. What a question splits stays together
otherwise. Index arithmetic is taken not to wrap around, and steps and divisors to be positive, as in dependence
analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, OpResult, SSAValue

from tileas_xdsl.analysis.exact_counts.linear import LinearForm, Terms, added, common, moved, scaled
from tileas_xdsl.analysis.induction import MOST_PLACES, constant_integer
from tileas_xdsl.analysis.value_range import ANYTHING, NO_LIMIT, Range
from tileas_xdsl.dialects.upstream_models.integers import (
    Domain,
    Function,
    IntegerFunction,
    Rounding,
    computes,
    integer_function,
)


@dataclass(frozen=True)
class Question:
    """Something that a case leaves open: each answer is a range of `form`, and they exclude each other."""

    form: LinearForm
    answers: tuple[Range, ...]


class OpenError(Exception):
    """A question about the call as a whole, whose answers lead to different paths."""

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.question = question


@dataclass(frozen=True, eq=False)
class TurnsAtHand:
    """The turn at hand of each loop around, for one case."""

    inductions: Mapping[SSAValue, LinearForm] = field(default_factory=dict[SSAValue, LinearForm])
    """Induction variable -> what it is in that turn."""
    asks: bool = False
    """Whether a number that hangs on a question about the call as a whole raises it: `OpenError`."""
    known: dict[SSAValue, LinearForm] = field(default_factory=dict[SSAValue, LinearForm])
    """What has been worked out: a value has one form in a turn."""

    def of(self, induction: SSAValue, number: LinearForm) -> TurnsAtHand:
        """These turns, and one of a loop inside."""
        return TurnsAtHand({**self.inductions, induction: number}, self.asks)


TRUTH = Range(0, 1)
NEGATIVE, ZERO, POSITIVE = Range(high=-1), Range(0, 0), Range(low=1)

_TRUE_WHERE: dict[str, tuple[Range, ...]] = {
    "eq": (ZERO,),
    "ne": (NEGATIVE, POSITIVE),
    "slt": (NEGATIVE,),
    "sle": (Range(high=0),),
    "sgt": (POSITIVE,),
    "sge": (Range(low=0),),
}
"""Comparison -> where left minus right lies if it is true."""

_COMPARISONS = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


@dataclass(frozen=True, eq=False)
class CallCase:
    """Some calls of a function: those in which each form lies in its range."""

    facts: Mapping[Terms, Range] = field(default_factory=dict[Terms, Range])

    def assume(self, form: LinearForm, lies_in: Range) -> CallCase | None:
        """The calls among these in which `form` lies there, too; None if there are none."""
        found = common(self.range_of(form), lies_in)
        if found is None:
            return None
        narrowed = CallCase({**self.facts, form.terms: moved(found, -form.constant)})
        return narrowed._and_what_follows(form, found)

    def _and_what_follows(self, form: LinearForm, lies_in: Range) -> CallCase | None:
        """A quotient in a range bounds what is divided: `x / d >= q` says that `x - q * d >= 0`."""
        atom = form.as_atom
        if not isinstance(atom, OpResult) or not computes(atom.op, Function.QUOTIENT):
            return self
        quotient = moved(lies_in, -form.constant)
        divided, divisor = (self.linear(operand, TurnsAtHand()) for operand in atom.op.operands)
        if self.range_of(divided).low < 0:
            return self
        up = int(_rounds_up(atom.op))
        found: CallCase | None = self
        if quotient.low > -NO_LIMIT:
            found = found.assume(divided - divisor.times(quotient.low - up), Range(low=up))
        if found is not None and quotient.high < NO_LIMIT:
            found = found.assume(divided - divisor.times(quotient.high + 1 - up), Range(high=up - 1))
        return found

    # Numbers ----------------------------------------------------------------------------------------------------------

    def range_of(self, form: LinearForm) -> Range:
        """Where `form` lies: by the facts about it, and by those about its terms."""
        found = self.facts.get(form.terms, ANYTHING)
        opposite = self.facts.get(form.times(-1).terms)
        if opposite is not None:
            found = common(found, scaled(opposite, -1)) or found
        total = Range(0, 0)
        for atom, factor in form.terms:
            total = added(total, scaled(self._range_of_atom(atom), factor))
        return moved(common(found, total) or found, form.constant)

    def _range_of_atom(self, atom: Hashable) -> Range:
        known = self.facts.get(frozenset({(atom, 1)}), ANYTHING)
        if not isinstance(atom, OpResult):
            return known
        return common(known, self._range_by_definition(atom.op)) or known

    def _range_by_definition(self, op: Operation) -> Range:
        what = integer_function(op)
        if computes(op, Function.QUOTIENT) and self.range_of(self.linear(op.operands[0], TurnsAtHand())).low >= 0:
            return Range(low=0)
        divisor = constant_integer(op.operands[1]) if what == UNSIGNED_REMAINDER else None
        return ANYTHING if divisor is None or divisor <= 0 else Range(0, divisor - 1)

    def linear(self, value: SSAValue, turns: TurnsAtHand) -> LinearForm:
        """`value` in these calls, in the turn at hand: a form of what it is computed from, or an atom of its own."""
        if (number := constant_integer(value)) is not None:
            return LinearForm(constant=number)
        found = turns.inductions.get(value) or turns.known.get(value)
        if found is None:
            found = turns.known[value] = self._linear(value, turns)
        return found

    def _linear(self, value: SSAValue, turns: TurnsAtHand) -> LinearForm:
        rule = FORMS.rule(value.op) if isinstance(value, OpResult) else None
        if rule is None or not isinstance(value, OpResult):
            return LinearForm.of(value)
        return rule(self, value.op, turns) or LinearForm.of(value)

    # Guards -----------------------------------------------------------------------------------------------------------

    def decide(self, condition: SSAValue, turns: TurnsAtHand) -> bool | Question:
        """Whether `condition` holds in the turn at hand, or the question that decides it."""
        if (number := constant_integer(condition)) is not None:
            return bool(number)
        if isinstance(condition, OpResult):
            match condition.op:
                case arith.CmpiOp() as comparison:
                    return self._compare(comparison, turns)
                case arith.AndIOp() as both:
                    return self._joined(both, turns, ends_it=False)
                case arith.OrIOp() as either:
                    return self._joined(either, turns, ends_it=True)
                case _:
                    pass
        return self.answer(LinearForm.of(condition), (POSITIVE,), TRUTH)

    def _joined(self, op: arith.AndIOp | arith.OrIOp, turns: TurnsAtHand, *, ends_it: bool) -> bool | Question:
        found = [self.decide(operand, turns) for operand in op.operands]
        if any(each is ends_it for each in found):
            return ends_it
        return next((each for each in found if isinstance(each, Question)), not ends_it)

    def _compare(self, op: arith.CmpiOp, turns: TurnsAtHand) -> bool | Question:
        predicate = _COMPARISONS[op.predicate.value.data]
        left, right = (self.linear(operand, turns) for operand in (op.lhs, op.rhs))
        if predicate.startswith("u"):
            if self.range_of(left).low < 0 or self.range_of(right).low < 0:
                return self.answer(LinearForm.of(op.result), (POSITIVE,), TRUTH)
            predicate = "s" + predicate[1:]
        return self.answer(left - right, _TRUE_WHERE[predicate])

    def answer(self, form: LinearForm, true_where: tuple[Range, ...], within: Range = ANYTHING) -> bool | Question:
        """Whether `form` lies in one of the ranges `true_where`, or the question that tells."""
        lies_in = common(self.range_of(form), within) or within
        parts = [part for part in map(lambda each: common(lies_in, each), _parts(true_where)) if part is not None]
        if len(parts) > 1:
            return Question(form, tuple(parts))
        return bool(parts) and any(common(parts[0], each) is not None for each in true_where)


def _parts(ranges: tuple[Range, ...]) -> list[Range]:
    """All integers in parts, each either in one of `ranges` or outside of all; they are in order and do not touch."""
    found: list[Range] = []
    low = -NO_LIMIT
    for each in ranges:
        if low < each.low:
            found.append(Range(low, each.low - 1))
        found.append(each)
        low = each.high + 1
    if low <= NO_LIMIT:
        found.append(Range(low, NO_LIMIT))
    return found


def is_fixed(form: LinearForm) -> bool:
    """Whether `form` is one number in a call: its atoms are values that no loop computes again."""
    return all(_is_computed_once(atom) for atom, _ in form.terms)


def _is_computed_once(atom: Hashable) -> bool:
    return isinstance(atom, SSAValue) and not _is_computed_again(cast("SSAValue", atom))


def _is_computed_again(value: SSAValue) -> bool:
    owner = value.owner
    node = owner.parent_op() if isinstance(owner, Block) else owner
    if node is not None and isinstance(owner, Operation):
        node = owner.parent_op()
    while node is not None:
        if isinstance(node, scf.ForOp | scf.WhileOp):
            return True
        node = node.parent_op()
    return False


# Ops ------------------------------------------------------------------------------------------------------------------

Rule = Callable[[CallCase, Operation, TurnsAtHand], LinearForm | None]


def _sum(case: CallCase, op: Operation, turns: TurnsAtHand) -> LinearForm:
    return case.linear(op.operands[0], turns) + case.linear(op.operands[1], turns)


def _difference(case: CallCase, op: Operation, turns: TurnsAtHand) -> LinearForm:
    return case.linear(op.operands[0], turns) - case.linear(op.operands[1], turns)


def _product(case: CallCase, op: Operation, turns: TurnsAtHand) -> LinearForm | None:
    left, right = (case.linear(operand, turns) for operand in op.operands)
    if right.as_constant is not None:
        return left.times(right.as_constant)
    return right.times(left.as_constant) if left.as_constant is not None else None


def _quotient(case: CallCase, op: Operation, turns: TurnsAtHand) -> LinearForm | None:
    divisor = case.linear(op.operands[1], turns).as_constant
    divided = case.linear(op.operands[0], turns)
    if divisor == 1:
        return divided
    number = divided.as_constant
    if number is None or divisor is None or divisor <= 0 or number < 0:
        return None
    return LinearForm(constant=-(-number // divisor) if _rounds_up(op) else number // divisor)


def _selection(case: CallCase, op: Operation, turns: TurnsAtHand) -> LinearForm | None:
    decided = case.decide(op.operands[0], turns)
    if isinstance(decided, bool):
        return case.linear(op.operands[1 if decided else 2], turns)
    if turns.asks and is_fixed(decided.form):
        raise OpenError(decided)
    return None


def _extreme(case: CallCase, op: Operation, turns: TurnsAtHand) -> LinearForm | None:
    left, right = (case.linear(operand, turns) for operand in op.operands)
    what = integer_function(op)
    assert what is not None
    if not what.signed and min(case.range_of(left).low, case.range_of(right).low) < 0:
        return None
    greater, less = (left, right) if what.function is Function.GREATEST else (right, left)
    difference = case.range_of(left - right)
    return greater if difference.low >= 0 else less if difference.high <= 0 else None


def _same(case: CallCase, op: Operation, turns: TurnsAtHand) -> LinearForm | None:
    what, form = integer_function(op), case.linear(op.operands[0], turns)
    return form if what is not None and (what.signed or case.range_of(form).low >= 0) else None


def _shifted(case: CallCase, op: Operation, turns: TurnsAtHand) -> LinearForm | None:
    places = case.linear(op.operands[1], turns).as_constant
    fits = places is not None and 0 <= places < MOST_PLACES
    return case.linear(op.operands[0], turns).times(1 << places) if places is not None and fits else None


def _rounds_up(op: Operation) -> bool:
    what = integer_function(op)
    return what is not None and what.rounding is Rounding.UP


UNSIGNED_REMAINDER = IntegerFunction(Function.REMAINDER, signed=False)
BITS = "bits are no sum"
FORMS: Domain[Rule] = Domain(
    {
        Function.SUM: _sum,
        Function.DIFFERENCE: _difference,
        Function.PRODUCT: _product,
        Function.QUOTIENT: _quotient,
        Function.LEFT: _shifted,
        Function.CHOICE: _selection,
        Function.LEAST: _extreme,
        Function.GREATEST: _extreme,
        Function.EXTENDED: _same,
        Function.RESIZED: _same,
    },
    unknown={
        **dict.fromkeys((Function.AND, Function.OR, Function.XOR), BITS),
        Function.RIGHT: "a number without a form, whose sign may matter",
        Function.REMAINDER: "a number without a form; its range is known",
        Function.TRUNCATED: "the bits that are dropped may count",
        Function.COMPARISON: "is decided, not computed",
    },
)
"""What of an op's result is a form of its operands."""
