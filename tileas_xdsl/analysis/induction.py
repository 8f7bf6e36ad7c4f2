"""
Constants, trip counts, and subscripts as linear functions of the iteration number.

Input: an `scf.for` and an integer value inside it. Output: the linear form

    value(j) = per_iteration * j + per_step * step * j + sum of coefficient * symbol + [low, high] + turn(j)

`j` counts the iterations of that loop from 0. A symbol is a value that the loop does not change. `[low, high]` is a
constant, or an interval where the value also depends on a nested loop with constant bounds. `%i + %c4`, `2 * %i - %n`,
a pointer that the loop carries and advances by a constant: all have such a form. The last term is a *turn*, the slot of
a ring: `scale * (linear form mod slots)`, from a remainder by a constant. A value without such a form, such as a loaded
one, is unknown.

Index arithmetic is assumed not to wrap around, as is usual in dependence analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import arith, llvm, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tileas_xdsl.dialects.upstream_models.integers import (
    Domain,
    Function,
    IntegerFunction,
    computes,
    integer_function,
)
from tileas_xdsl.interfaces import end_of


def constant_integer(value: SSAValue) -> int | None:
    """The constant that `value` is, read as signed; None if it is no constant."""
    if not isinstance(value, OpResult) or not isinstance(value.op, arith.ConstantOp | llvm.ConstantOp):
        return None
    attribute = value.op.value
    if not isinstance(attribute, IntegerAttr):
        return None
    number, number_type = attribute.value.data, attribute.type
    if isinstance(number_type, IntegerType):
        return signed(number, number_type.width.data)
    return number


def signed(number: int, width: int) -> int:
    """`number` modulo two to the `width`, in two's complement."""
    half = 1 << (width - 1)
    return (number + half) % (2 * half) - half


def trip_count_of(lower: int, upper: int, step: int) -> int:
    """The trip count of `for i = lower to upper step step`; `step` is positive."""
    return max(0, -((lower - upper) // step))


def static_trip_count(loop: scf.ForOp) -> int | None:
    """The trip count of `loop` where its bounds and its (positive) step are constants, else None."""
    lower, upper, step = (constant_integer(bound) for bound in (loop.lb, loop.ub, loop.step))
    if lower is None or upper is None or step is None or step <= 0:
        return None
    return trip_count_of(lower, upper, step)


@dataclass(frozen=True)
class RotatingIndex:
    """
    `scale * r`, where `r` is the remainder of `number` divided by `slots` that lies in `[least, slots)`.

    `least` is 0, or `1 - slots` where the remainder of a negative number may be negative. `number` is one number in
    each iteration, without an interval and without a nested turn.
    """

    number: AffineIndex
    slots: int
    least: int = 0
    scale: int = 1


@dataclass(frozen=True)
class AffineIndex:
    """
    One linear form; its terms are those in the module's docstring. Two forms with equal `rate` and `terms`, and without
    turns, differ by a constant.
    """

    low: int = 0
    high: int = 0
    per_iteration: int = 0
    per_step: int = 0
    terms: frozenset[tuple[SSAValue, int]] = frozenset()
    turn: RotatingIndex | None = None

    @staticmethod
    def constant(number: int) -> AffineIndex:
        return AffineIndex(number, number)

    @staticmethod
    def symbol(value: SSAValue) -> AffineIndex:
        return AffineIndex(terms=frozenset([(value, 1)]))

    @property
    def rate(self) -> tuple[int, int]:
        """The growth per iteration: a constant, and a multiple of the unknown step."""
        return self.per_iteration, self.per_step

    @property
    def as_constant(self) -> int | None:
        """The constant that the form is, or None."""
        if self.low != self.high or any(self.rate) or self.terms or self.turn is not None:
            return None
        return self.low

    @property
    def is_never_negative(self) -> bool:
        """Whether the value is known to be at least 0 in every iteration."""
        return self.low >= 0 and self.per_iteration >= 0 and self.per_step >= 0 and not self.terms and self.turn is None

    @property
    def without_turn(self) -> AffineIndex:
        """The form with the turn replaced by the interval of its values."""
        if self.turn is None:
            return self
        scale = self.turn.scale
        ends = sorted((self.turn.least * scale, (self.turn.slots - 1) * scale))
        return replace(self, low=self.low + ends[0], high=self.high + ends[1], turn=None)

    def plus(self, other: AffineIndex) -> AffineIndex:
        if self.turn is not None and other.turn is not None:
            return self.without_turn.plus(other.without_turn)
        terms = dict(self.terms)
        for value, coefficient in other.terms:
            terms[value] = terms.get(value, 0) + coefficient
        return AffineIndex(
            self.low + other.low,
            self.high + other.high,
            self.per_iteration + other.per_iteration,
            self.per_step + other.per_step,
            frozenset((value, coefficient) for value, coefficient in terms.items() if coefficient),
            self.turn or other.turn,
        )

    def times(self, factor: int) -> AffineIndex:
        if factor == 0:
            return AffineIndex()
        low, high = sorted((self.low * factor, self.high * factor))
        terms = frozenset((value, coefficient * factor) for value, coefficient in self.terms)
        turn = None if self.turn is None else replace(self.turn, scale=self.turn.scale * factor)
        return AffineIndex(low, high, self.per_iteration * factor, self.per_step * factor, terms, turn)


# What ops make of linear forms ----------------------------------------------------------------------------------------


def _sum(_what: IntegerFunction, left: AffineIndex, right: AffineIndex) -> AffineIndex:
    return left.plus(right)


def _difference(_what: IntegerFunction, left: AffineIndex, right: AffineIndex) -> AffineIndex:
    return left.plus(right.times(-1))


def _product(_what: IntegerFunction, left: AffineIndex, right: AffineIndex) -> AffineIndex | None:
    if (factor := right.as_constant) is not None:
        return left.times(factor)
    return right.times(factor) if (factor := left.as_constant) is not None else None


def _shifted(_what: IntegerFunction, number: AffineIndex, places: AffineIndex) -> AffineIndex | None:
    by = places.as_constant
    return number.times(1 << by) if by is not None and 0 <= by < MOST_PLACES else None


def _resized(what: IntegerFunction, number: AffineIndex) -> AffineIndex | None:
    return number if what.signed or number.is_never_negative else None


def _remainder(what: IntegerFunction, number: AffineIndex | None, divisor: AffineIndex | None) -> AffineIndex | None:
    """The form of a remainder by a constant: a turn where possible, else the interval of all remainders."""
    slots = divisor.as_constant if divisor is not None else None
    if what.function is Function.AND and slots is not None:
        slots = slots + 1 if slots & (slots + 1) == 0 else None
    if slots is None or slots <= 0:
        return None
    has_sign = what.function is Function.REMAINDER and what.signed
    least = 1 - slots if has_sign else 0
    if number is None or number.low != number.high or number.turn is not None:
        return AffineIndex(least, slots - 1)
    # Read as unsigned, a negative number is another one, unless the slots divide two to the width.
    is_power_of_two = slots & (slots - 1) == 0
    if not (has_sign or is_power_of_two or number.is_never_negative):
        return AffineIndex(least, slots - 1)
    return AffineIndex(turn=RotatingIndex(number, slots, 0 if number.is_never_negative else least))


MOST_PLACES = 64
"""By fewer places than that an integer is shifted; else what comes of it is not defined (MLIR, dialect `arith`)."""
TWO_CASES = "two forms, of which one holds"
INDICES: Domain[Callable[..., AffineIndex | None]] = Domain(
    {
        Function.SUM: _sum,
        Function.DIFFERENCE: _difference,
        Function.PRODUCT: _product,
        Function.LEFT: _shifted,
        Function.EXTENDED: _resized,
        Function.RESIZED: _resized,
        Function.REMAINDER: _remainder,
        Function.AND: _remainder,
    },
    unknown={
        **dict.fromkeys((Function.QUOTIENT, Function.RIGHT), "changes in some iterations only"),
        **dict.fromkeys((Function.OR, Function.XOR), "bits are no sum"),
        **dict.fromkeys((Function.LEAST, Function.GREATEST, Function.CHOICE), TWO_CASES),
        Function.TRUNCATED: "the bits that are dropped may count",
        Function.COMPARISON: "a truth is no subscript",
    },
)


@dataclass
class LoopIndices:
    """The linear forms of the values in and around one loop, computed on demand and cached."""

    loop: scf.ForOp
    _known: dict[SSAValue, AffineIndex | None] = field(default_factory=dict[SSAValue, AffineIndex | None])
    _inside: dict[Block, bool] = field(default_factory=dict[Block, bool])

    def index_of(self, value: SSAValue) -> AffineIndex | None:
        """The linear form of `value`, or None. Linear in the number of ops seen, over all calls."""
        stack = [value]
        while stack:
            current = stack[-1]
            if current in self._known:
                stack.pop()
                continue
            missing = [source for source in self._sources(current) if source not in self._known]
            if missing:
                stack.extend(missing)
                continue
            self._known[current] = self._form(current)
            stack.pop()
        return self._known[value]

    def is_inside(self, block: Block | None) -> bool:
        """Whether `block` lies in the body of the loop."""
        if block is None or block is self.loop.parent:
            return False
        if block is self.loop.body.block:
            return True
        if block not in self._inside:
            parent = block.parent_op()
            self._inside[block] = parent is not None and self.is_inside(parent.parent)
        return self._inside[block]

    def defined_inside(self, value: SSAValue) -> bool:
        """Whether `value` is defined in the body of the loop, its arguments included."""
        owner = value.owner
        return self.is_inside(owner.parent if isinstance(owner, Operation) else owner)

    def _sources(self, value: SSAValue) -> Sequence[SSAValue]:
        """The values from whose forms that of `value` is computed."""
        if isinstance(value, OpResult):
            return () if INDICES.rule(value.op) is None else value.op.operands
        if value is self.loop.body.block.args[0]:
            return (self.loop.lb,)
        advance = self._advance(value)
        return (self.loop.iter_args[advance[0]],) if advance is not None else ()

    def _form(self, value: SSAValue) -> AffineIndex | None:
        if (number := constant_integer(value)) is not None:
            return AffineIndex.constant(number)
        if isinstance(value, OpResult) and (form := self._computed_form(value.op)) is not None:
            return form
        if isinstance(value, BlockArgument) and self.is_inside(value.block):
            return self._argument_form(value)
        return None if self.defined_inside(value) else AffineIndex.symbol(value)

    def _computed_form(self, op: Operation) -> AffineIndex | None:
        """The form of an arithmetic op whose operands' forms are known. A remainder outside is a symbol."""
        what, rule = integer_function(op), INDICES.rule(op)
        is_turn = computes(op, Function.REMAINDER, Function.AND)
        forms = [self._known.get(operand) for operand in op.operands]
        if what is None or rule is None or (is_turn and not self.defined_inside(op.results[0])):
            return None
        return rule(what, *forms) if is_turn or all(form is not None for form in forms) else None

    def _argument_form(self, argument: BlockArgument) -> AffineIndex | None:
        if argument is self.loop.body.block.args[0]:
            return self._induction_form()
        if argument.block is self.loop.body.block:
            advance = self._advance(argument)
            start = self._known[self.loop.iter_args[advance[0]]] if advance is not None else None
            if advance is None or start is None:
                return None
            return start.plus(AffineIndex(per_iteration=advance[1]))
        return _nested_induction_form(argument)

    def _induction_form(self) -> AffineIndex | None:
        start = self._known[self.loop.lb]
        if start is None:
            return None
        step = constant_integer(self.loop.step)
        growth = AffineIndex(per_step=1) if step is None else AffineIndex(per_iteration=step)
        return start.plus(growth)

    def _advance(self, value: SSAValue) -> tuple[int, int] | None:
        """
        `(index among the carried values, growth)` of a carried integer that every iteration advances by a constant;
        else None.
        """
        if not isinstance(value, BlockArgument) or value.block is not self.loop.body.block or value.index == 0:
            return None
        if not isinstance(value.type, IndexType | IntegerType):
            return None
        terminator = end_of(self.loop.body.block)
        following = terminator.operands[value.index - 1].owner
        if not computes(following, Function.SUM, Function.DIFFERENCE):
            return None
        assert isinstance(following, Operation)
        left, right = following.operands
        growth = constant_integer(right if left is value else left)
        if computes(following, Function.DIFFERENCE) and growth is not None:
            growth = -growth if left is value else None
        if value not in (left, right):
            return None
        return None if growth is None else (value.index - 1, growth)


def _nested_induction_form(argument: BlockArgument) -> AffineIndex | None:
    """The interval that the induction variable of a nested loop of constant bounds runs through."""
    loop = argument.block.parent_op()
    if not isinstance(loop, scf.ForOp) or argument.index != 0:
        return None
    trips, lower, step = static_trip_count(loop), constant_integer(loop.lb), constant_integer(loop.step)
    if not trips or lower is None or step is None:
        return None
    return AffineIndex(lower, lower + (trips - 1) * step)


def have_equal_bounds(first: scf.ForOp, second: scf.ForOp) -> bool:
    """Whether the two run equally often, with the same numbers."""
    pairs = zip((first.lb, first.ub, first.step), (second.lb, second.ub, second.step), strict=True)
    return all(one is other or _same_constant(one, other) for one, other in pairs)


def _same_constant(first: SSAValue, second: SSAValue) -> bool:
    number = constant_integer(first)
    return number is not None and number == constant_integer(second)
