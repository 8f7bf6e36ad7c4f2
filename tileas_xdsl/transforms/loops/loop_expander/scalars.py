"""
The integers of an expanded loop: bounds, trip count, iterations; folded where they are known, emitted where not.

A scalar is a Python `int` or an SSA value of the type of the induction variable. Arithmetic on two `int`s yields an
`int`; it becomes an `arith.constant` only where an op needs it. All of it is exact for every loop that the original
could run: bounds are compared as signed numbers, the trip count is an unsigned number of the same width, and nothing
that is used overflows where the original did not.
"""

from __future__ import annotations

from functools import cached_property
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i1
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.induction import constant_integer, signed, trip_count_of

Scalar = int | SSAValue


class Site:
    """A block under construction. Ops go to its end, or, while there is an `anchor`, in front of what holds it here."""

    def __init__(self, block: Block, loop: scf.ForOp) -> None:
        self.block = block
        self.anchor: Operation | None = None
        self._location = loop.location

    def insert(self, op: Operation) -> Operation:
        """Put `op` here, at the location of the loop."""
        op.location = self._location
        before = None if self.anchor is None else self.block.find_ancestor_op_in_block(self.anchor)
        Rewriter.insert_op(op, InsertPoint(self.block, before))
        return op

    def emit(self, op: Operation, hint: str | None = None) -> OpResult:
        """Insert an op and return its only result, named `hint` where the printer can."""
        result = self.insert(op).results[0]
        result.name_hint = hint
        return result


class Scalars:
    """The bounds of one loop, and the arithmetic on them. What serves all parts is emitted to `setup`."""

    def __init__(self, loop: scf.ForOp, setup: Site) -> None:
        self.setup = setup
        self.type = cast(IndexType | IntegerType, loop.lb.type)
        self.width = self.type.width.data if isinstance(self.type, IntegerType) else None
        self._constants: dict[int, SSAValue] = {}
        self._guards: dict[int, SSAValue] = {}
        self._multiples: dict[int, Scalar] = {}
        self._bounds: dict[int, Scalar] = {}
        self.lower = self._known(loop.lb)
        self.upper = self._known(loop.ub)
        self.step = self._known(loop.step)

    def _known(self, bound: SSAValue) -> Scalar:
        number = constant_integer(bound)
        if number is None:
            return bound
        self._constants.setdefault(number, bound)
        return number

    # Arithmetic -----------------------------------------------------------------------------------------------------

    def value(self, scalar: Scalar) -> SSAValue:
        """`scalar` as an SSA value. A number becomes a constant in `setup`, the same one each time."""
        if not isinstance(scalar, int):
            return scalar
        number = scalar if self.width is None else signed(scalar, self.width)
        if number not in self._constants:
            hint = f"c{number}" if number >= 0 else f"minus{-number}"
            self._constants[number] = self.setup.emit(arith.ConstantOp.from_int_and_width(number, self.type), hint)
        return self._constants[number]

    def add(self, site: Site, left: Scalar, right: Scalar) -> Scalar:
        """The sum of two scalars. An op, if one is needed, is emitted to `site`."""
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if left == 0 or right == 0:
            return right if left == 0 else left
        return site.emit(arith.AddiOp(self.value(left), self.value(right)))

    def subtract(self, site: Site, left: Scalar, right: Scalar) -> Scalar:
        """The difference of two scalars. An op, if one is needed, is emitted to `site`."""
        if isinstance(left, int) and isinstance(right, int):
            return left - right
        return left if right == 0 else site.emit(arith.SubiOp(self.value(left), self.value(right)))

    def divide(self, site: Site, left: Scalar, right: Scalar) -> Scalar:
        """The quotient of unsigned numbers, of which one is not known, rounded down; emitted to `site`."""
        return left if right == 1 else site.emit(arith.DivUIOp(self.value(left), self.value(right)))

    def steps(self, count: Scalar) -> Scalar:
        """`count` times the step; emitted to `setup`."""
        if isinstance(self.step, int) and isinstance(count, int):
            return self.step * count
        if count == 1 or self.step == 1:
            return self.step if count == 1 else count
        if not isinstance(count, int):
            return self.setup.emit(arith.MuliOp(count, self.value(self.step)))
        if count not in self._multiples:
            multiple = arith.MuliOp(self.value(self.step), self.value(count))
            self._multiples[count] = self.setup.emit(multiple, f"steps{count}")
        return self._multiples[count]

    # Facts about the loop -------------------------------------------------------------------------------------------

    @cached_property
    def trips(self) -> Scalar:
        """`N`, 0 for an empty loop."""
        if isinstance(self.lower, int) and isinstance(self.upper, int) and isinstance(self.step, int):
            return trip_count_of(self.lower, self.upper, self.step)
        count = self.subtract(self.setup, self.upper, self.lower)
        if self.step != 1:
            # ceil(n / step) as (n - 1) / step + 1: for n > 0 neither term overflows.
            whole = self.divide(self.setup, self.subtract(self.setup, count, 1), self.step)
            count = self.add(self.setup, whole, 1)
        return self.setup.emit(arith.SelectOp(self.is_not_empty, self.value(count), self.value(0)), "trips")

    @cached_property
    def is_not_empty(self) -> SSAValue:
        """Whether the loop runs at all, as an `i1`."""
        compare = arith.CmpiOp(self.value(self.lower), self.value(self.upper), "slt")
        return self.setup.emit(compare, "trips_ge1")

    def trips_at_least(self, count: int) -> SSAValue:
        """Whether `N >= count`, as an `i1`, for a loop whose trip count is not known; `count` is 1 or more."""
        if count == 1:
            return self.is_not_empty
        if count not in self._guards:
            beyond_the_type = self.width is not None and count >= 1 << self.width
            compare = (
                arith.ConstantOp(IntegerAttr(0, i1))
                if beyond_the_type
                else arith.CmpiOp(self.value(self.trips), self.value(count), "uge")
            )
            self._guards[count] = self.setup.emit(compare, f"trips_ge{count}")
        return self._guards[count]

    def upper_without_last(self, count: int) -> Scalar:
        """The upper bound of the loop without its last `count` iterations; the lower bound where it has no more."""
        if count == 0:
            return self.upper
        if count not in self._bounds:
            self._bounds[count] = self._shortened(count)
        return self._bounds[count]

    def _shortened(self, count: int) -> Scalar:
        shorter = self.subtract(self.setup, self.upper, self.steps(count))
        if isinstance(self.trips, int):
            return shorter if self.trips > count else self.lower
        more = self.trips_at_least(count + 1)
        select = arith.SelectOp(more, self.value(shorter), self.value(self.lower))
        return self.setup.emit(select, f"without_last{count}")

    @cached_property
    def _end(self) -> Scalar:
        """The induction variable of the iteration behind the last one."""
        end = self.add(self.setup, self.lower, self.steps(self.trips))
        if isinstance(end, SSAValue) and end.name_hint is None:
            end.name_hint = "end"
        return end

    # Iterations -----------------------------------------------------------------------------------------------------

    def nth(self, site: Site, number: int) -> Scalar:
        """The induction variable in iteration `number`, counted from 0."""
        return self.lower if number == 0 else self.add(site, self.lower, self.steps(number))

    def nth_last(self, site: Site, number: int) -> Scalar:
        """The induction variable `number` iterations before the end; the last iteration is 1 before it."""
        return self.subtract(site, self._end, self.steps(number))

    def ordinal(self, site: Site, induction: SSAValue) -> Scalar:
        """The number of the iteration at `induction`, counted from 0."""
        return self.divide(site, self.subtract(site, induction, self.lower), self.step)
