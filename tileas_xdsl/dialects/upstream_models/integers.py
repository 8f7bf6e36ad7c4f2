"""
What the integer ops of `arith` and `llvm` compute, one row a function; all that computes with integers asks here.

    arith.divui %a, %b        a quotient of unsigned numbers, rounded towards zero
    llvm.udiv %a, %b          the same

A *domain* computes these functions of something that stands for numbers: of ranges, of linear forms, of shifts. It has
a rule for each function, or a reason why it gives up.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Any, Generic, TypeVar

from xdsl.dialects import arith, llvm
from xdsl.ir import Operation

from tileas_xdsl.dialects.extensions.arith import IndexCastUIOp


class Function(StrEnum):
    """What an op computes, whatever its operands are read as."""

    SUM = auto()
    DIFFERENCE = auto()
    PRODUCT = auto()
    QUOTIENT = auto()
    REMAINDER = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    LEFT = auto()
    RIGHT = auto()
    LEAST = auto()
    GREATEST = auto()
    CHOICE = auto()
    COMPARISON = auto()
    EXTENDED = auto()
    TRUNCATED = auto()
    RESIZED = auto()
    """An index of an integer, or an integer of an index: extended or truncated, as the widths are."""


class Rounding(StrEnum):
    """Where a quotient that is no integer goes."""

    ZERO = auto()
    UP = auto()
    DOWN = auto()


@dataclass(frozen=True, slots=True)
class IntegerFunction:
    """A function of integers that wrap at their width."""

    function: Function
    signed: bool = True
    """Whether operands are read as signed; of no account where the bits of the result do not depend on that."""
    rounding: Rounding = Rounding.ZERO


_SIGNED = {each: IntegerFunction(each) for each in Function}
_UNSIGNED = {each: IntegerFunction(each, signed=False) for each in Function}
_UP, _DOWN = (IntegerFunction(Function.QUOTIENT, rounding=rounding) for rounding in (Rounding.UP, Rounding.DOWN))

OPS: Mapping[IntegerFunction, tuple[type[Operation], ...]] = {
    _SIGNED[Function.SUM]: (arith.AddiOp, llvm.AddOp),
    _SIGNED[Function.DIFFERENCE]: (arith.SubiOp, llvm.SubOp),
    _SIGNED[Function.PRODUCT]: (arith.MuliOp, llvm.MulOp),
    _SIGNED[Function.QUOTIENT]: (arith.DivSIOp, llvm.SDivOp),
    _UNSIGNED[Function.QUOTIENT]: (arith.DivUIOp, llvm.UDivOp),
    _DOWN: (arith.FloorDivSIOp,),
    _UP: (arith.CeilDivSIOp,),
    IntegerFunction(Function.QUOTIENT, signed=False, rounding=Rounding.UP): (arith.CeilDivUIOp,),
    _SIGNED[Function.REMAINDER]: (arith.RemSIOp, llvm.SRemOp),
    _UNSIGNED[Function.REMAINDER]: (arith.RemUIOp, llvm.URemOp),
    _SIGNED[Function.AND]: (arith.AndIOp, llvm.AndOp),
    _SIGNED[Function.OR]: (arith.OrIOp, llvm.OrOp),
    _SIGNED[Function.XOR]: (arith.XOrIOp, llvm.XOrOp),
    _SIGNED[Function.LEFT]: (arith.ShLIOp, llvm.ShlOp),
    _SIGNED[Function.RIGHT]: (arith.ShRSIOp, llvm.AShrOp),
    _UNSIGNED[Function.RIGHT]: (arith.ShRUIOp, llvm.LShrOp),
    _SIGNED[Function.LEAST]: (arith.MinSIOp,),
    _UNSIGNED[Function.LEAST]: (arith.MinUIOp,),
    _SIGNED[Function.GREATEST]: (arith.MaxSIOp,),
    _UNSIGNED[Function.GREATEST]: (arith.MaxUIOp,),
    _SIGNED[Function.CHOICE]: (arith.SelectOp, llvm.SelectOp),
    _SIGNED[Function.COMPARISON]: (arith.CmpiOp, llvm.ICmpOp),
    _SIGNED[Function.EXTENDED]: (arith.ExtSIOp, llvm.SExtOp),
    _UNSIGNED[Function.EXTENDED]: (arith.ExtUIOp, llvm.ZExtOp),
    _SIGNED[Function.TRUNCATED]: (arith.TruncIOp, llvm.TruncOp),
    _SIGNED[Function.RESIZED]: (arith.IndexCastOp,),
    _UNSIGNED[Function.RESIZED]: (IndexCastUIOp,),
}
"""Function -> the ops that compute it: the one of `arith` first, and the one of `llvm`, which has no others."""

FUNCTIONS: Mapping[type[Operation], IntegerFunction] = {op: what for what, ops in OPS.items() for op in ops}


def integer_function(op: object) -> IntegerFunction | None:
    """What `op` computes of integers; None if it is none of these ops."""
    return FUNCTIONS.get(type(op))  # pyright: ignore[reportArgumentType]


def computes(op: object, *functions: Function) -> bool:
    """Whether `op` computes one of `functions`."""
    what = integer_function(op)
    return what is not None and what.function in functions


def ops_of(*functions: Function) -> tuple[type[Operation], ...]:
    """The ops that compute one of `functions`."""
    return tuple(op for op, what in FUNCTIONS.items() if what.function in functions)


def ops_of_arith(*functions: Function) -> tuple[type[Operation], ...]:
    """The ops of `arith` among these."""
    return tuple(ops[0] for what, ops in OPS.items() if what.function in functions)


# Domains --------------------------------------------------------------------------------------------------------------

RuleT = TypeVar("RuleT")


@dataclass(frozen=True)
class Domain(Generic[RuleT]):
    """Something that stands for integers, and what the functions make of it."""

    rules: Mapping[Function, RuleT]
    unknown: Mapping[Function, str]
    """Function -> why its result is unknown here; every function that has no rule."""

    def rule(self, op: object) -> RuleT | None:
        """The rule of what `op` computes; None if that is unknown."""
        what = integer_function(op)
        return None if what is None else self.rules.get(what.function)


# Numbers --------------------------------------------------------------------------------------------------------------


def truncating_quotient(lhs: Any, rhs: Any) -> Any:
    """The quotient rounded towards zero, as the hardware divides."""
    quotient, remainder = lhs // rhs, lhs % rhs
    return quotient + ((remainder != 0) & ((lhs < 0) != (rhs < 0)))


def truncating_remainder(lhs: Any, rhs: Any) -> Any:
    """The remainder of `truncating_quotient`: it has the sign of `lhs`."""
    return lhs - rhs * truncating_quotient(lhs, rhs)


def ceiling_quotient(lhs: Any, rhs: Any) -> Any:
    """The quotient rounded up."""
    return lhs // rhs + (lhs % rhs != 0)


Compute = Callable[[Any, Any], Any]
_OPERATORS: Any = operator
_PLAIN: Mapping[Function, Compute] = {
    Function.SUM: _OPERATORS.add,
    Function.DIFFERENCE: _OPERATORS.sub,
    Function.PRODUCT: _OPERATORS.mul,
    Function.AND: _OPERATORS.and_,
    Function.OR: _OPERATORS.or_,
    Function.XOR: _OPERATORS.xor,
    Function.LEFT: _OPERATORS.lshift,
    Function.RIGHT: _OPERATORS.rshift,
    Function.LEAST: min,
    Function.GREATEST: max,
}
_QUOTIENTS: Mapping[Rounding, Compute] = {
    Rounding.ZERO: truncating_quotient,
    Rounding.UP: ceiling_quotient,
    Rounding.DOWN: lambda lhs, rhs: lhs // rhs,
}


def _exactly(what: IntegerFunction) -> Compute | None:
    match what.function:
        case Function.QUOTIENT:
            is_floor = not what.signed and what.rounding is Rounding.ZERO
            return _QUOTIENTS[Rounding.DOWN if is_floor else what.rounding]
        case Function.REMAINDER:
            return truncating_remainder if what.signed else operator.mod
        case function:
            return _PLAIN.get(function)


EXACT: Mapping[IntegerFunction, Compute] = {what: found for what in OPS if (found := _exactly(what)) is not None}
"""Function -> what it makes of two integers, read as it reads them, before that wraps. Of arrays, too, but extremes."""
