"""
What the ops of `arith` do, on scalars and element by element on tensors and vectors.

Integers wrap at their width. What MLIR leaves undefined stops the run where it would trap (a division by zero) and is
poison elsewhere (a shift by the width or more, a float that no integer of the type equals): unknown when checking,
zero when running. A signed quotient that overflows wraps. Flags (`nsw`, `fastmath`) promise things and compute nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from tileas_xdsl.analysis.memory.tail_guards import is_tail_guard
from tileas_xdsl.dialects.extensions.arith import QUOTIENT_BY_ZERO_IS_OPEN, IndexCastUIOp, RemFOp
from tileas_xdsl.dialects.scalars import scalar_of
from tileas_xdsl.dialects.upstream_models.integers import EXACT, OPS, Compute, Function, IntegerFunction
from tileas_xdsl.machine.core import moving_numbers as moving
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.meaning import F, pure
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.values import UNKNOWN, wrap
from tileas_xdsl.machine.core.violations import DivisionByZeroError, UnsupportedError
from tileas_xdsl.machine.tiles.numerics import (
    Array,
    as_signed,
    as_unsigned,
    bits_of,
    choose,
    element_of,
    float_to_integer,
    from_bits,
    integer_to_float,
    is_array,
    poison,
    quietly,
    to_float,
    to_type,
    width_of,
)

Reading = Callable[[Any, Attribute], Any]


# Constants ----------------------------------------------------------------------------------------------------------


def dense_array(op: Operation, attribute: DenseIntOrFPElementsAttr) -> Array:
    """The elements of a dense attribute as a read-only array."""
    element = element_of(op, attribute.get_type())
    values: Any = attribute.get_values()
    if element.is_float:
        numbers = to_float(np.array(values, np.float64), element.dtype)
    else:
        numbers = to_type(np.array(values, dtype=object), scalar_of(attribute.get_type()))
    shape = attribute.get_shape()
    array = np.full(shape, numbers[0]) if numbers.size == 1 else numbers.reshape(shape)
    array.setflags(write=False)
    return array


@per_op
def _constant_value(op: arith.ConstantOp) -> Any:
    match op.value:
        case IntegerAttr() as number:
            return to_type(number.value.data, op.result.type)
        case FloatAttr() as number:
            return to_float(np.float64(number.value.data), element_of(op, op.result.type).dtype)
        case DenseIntOrFPElementsAttr() as dense:
            return dense_array(op, dense)
        case _:
            raise UnsupportedError(op, "takes its value from a resource, which is not read here; write dense<...>")


@pure(arith.ConstantOp)
def _constant(agent: Agent, op: arith.ConstantOp) -> Any:
    value = _constant_value(agent, op)
    return UNKNOWN if is_array(value) and not agent.has_data else value


# Integers -----------------------------------------------------------------------------------------------------------


def _bits(value: Any, _attribute: Attribute) -> Any:
    """For ops that do not care for signs."""
    return value.astype(np.int64) if is_array(value) else value


WITHOUT_SIGNS = (Function.SUM, Function.DIFFERENCE, Function.PRODUCT, Function.AND, Function.OR, Function.XOR)
"""The bits of these do not depend on what the operands are read as."""
OF_ARRAYS: dict[Compute, Compute] = {min: np.minimum, max: np.maximum}
"""The functions that are others on arrays."""


def _reading(what: IntegerFunction) -> Reading:
    """How an op reads the bits of its operands."""
    if what.function in WITHOUT_SIGNS:
        return _bits
    return as_signed if what.signed else as_unsigned


@quietly
def _on_arrays(read: Reading, compute: Compute, lhs: Any, rhs: Any, attribute: Attribute) -> Array:
    scalar = scalar_of(attribute)
    return to_type(np.asarray(OF_ARRAYS.get(compute, compute)(read(lhs, scalar), read(rhs, scalar))), scalar)


def _integer(read: Reading, compute: Compute) -> Callable[..., Any]:
    as_they_are = read is _bits

    def meaning(_agent: Agent, op: Operation, lhs: Any, rhs: Any) -> Any:
        attribute = op.results[0].type
        if is_array(lhs):
            return _on_arrays(read, compute, lhs, rhs, attribute)
        if as_they_are:
            return wrap(compute(lhs, rhs), attribute)
        return wrap(compute(read(lhs, attribute), read(rhs, attribute)), attribute)

    return meaning


def _division(read: Reading, compute: Compute) -> Callable[..., Any]:
    divide = _integer(read, compute)

    def meaning(agent: Agent, op: Operation, lhs: Any, rhs: Any) -> Any:
        if not (rhs.all() if is_array(rhs) else rhs):
            if QUOTIENT_BY_ZERO_IS_OPEN in op.attributes:
                return poison(agent, op, op.results[0].type)
            raise DivisionByZeroError(op, f"divides by zero{agent.in_iteration}; guard it")
        return divide(agent, op, lhs, rhs)

    return meaning


def _shift(read: Reading, compute: Compute) -> Callable[..., Any]:
    def meaning(agent: Agent, op: Operation, value: Any, amount: Any) -> Any:
        attribute = op.results[0].type
        scalar = scalar_of(attribute)
        width, places = width_of(scalar), as_unsigned(amount, scalar)
        if not is_array(value):
            if places >= width:
                return poison(agent, op, attribute)
            return to_type(compute(read(value, scalar), places), scalar)
        fits = places < width
        shifted = compute(read(value, scalar), np.where(fits, places, 0).astype(read(value, scalar).dtype))
        return to_type(np.where(fits, shifted, 0), scalar)

    return meaning


def _registered(what: IntegerFunction, compute: Compute) -> None:
    divides = what.function in (Function.QUOTIENT, Function.REMAINDER)
    make = _division if divides else _shift if what.function in (Function.LEFT, Function.RIGHT) else _integer
    pure(*OPS[what], moves=moving.rule_of(what), may_fail=divides)(make(_reading(what), compute))


for _what, _compute in EXACT.items():
    _registered(_what, _compute)


def _at_any_size(compute: Compute, lhs: Any, rhs: Any) -> Any:
    """Compute with integers of any size, which arrays of objects hold."""
    if not is_array(lhs):
        return compute(lhs, rhs)
    return np.asarray(compute(lhs.astype(object), rhs.astype(object)), dtype=object)


@pure(arith.AddUIExtendedOp)
def _add_extended(_agent: Agent, op: arith.AddUIExtendedOp, lhs: Any, rhs: Any) -> tuple[Any, Any]:
    scalar = scalar_of(op.results[0].type)
    total = _at_any_size(operator.add, as_unsigned(lhs, scalar), as_unsigned(rhs, scalar))
    return to_type(total, scalar), to_type(total >> width_of(scalar), scalar_of(op.results[1].type))


@pure(arith.MulUIExtendedOp, arith.MulSIExtendedOp)
def _multiply_extended(_agent: Agent, op: Operation, lhs: Any, rhs: Any) -> tuple[Any, Any]:
    scalar = scalar_of(op.results[0].type)
    read = as_signed if isinstance(op, arith.MulSIExtendedOp) else as_unsigned
    product = _at_any_size(operator.mul, read(lhs, scalar), read(rhs, scalar))
    return to_type(product, scalar), to_type(product >> width_of(scalar), scalar)


COMPARISONS: list[tuple[Reading, Compute]] = [
    (_bits, operator.eq),
    (_bits, operator.ne),
    (as_signed, operator.lt),
    (as_signed, operator.le),
    (as_signed, operator.gt),
    (as_signed, operator.ge),
    (as_unsigned, operator.lt),
    (as_unsigned, operator.le),
    (as_unsigned, operator.gt),
    (as_unsigned, operator.ge),
]
"""By the number of the predicate of `arith.cmpi`."""


def _compared(op: Operation, values: moving.Numbers) -> tuple[int, ...]:
    if isinstance(op, arith.CmpiOp) and is_tail_guard(op):
        return moving.stays(values)
    return moving.compared(op, values)


_is_tail_guard = per_op(is_tail_guard)


@pure(arith.CmpiOp, moves=_compared)
def _compare_integers(agent: Agent, op: arith.CmpiOp, lhs: Any, rhs: Any) -> Any:
    if not agent.has_data and _is_tail_guard(agent, op):
        return 1
    read, compare = COMPARISONS[op.predicate.value.data]
    scalar = op.operands[0].type
    if is_array(lhs):
        scalar = scalar_of(scalar)
        return np.asarray(compare(read(lhs, scalar), read(rhs, scalar)))
    return compare(read(lhs, scalar), read(rhs, scalar))


# Floats -------------------------------------------------------------------------------------------------------------


def _maximum(lhs: Any, rhs: Any) -> Any:
    """The greater one; NaN if either is; +0 is greater than -0."""
    greater: Any = np.maximum(lhs, rhs)
    return choose((lhs == 0) & (rhs == 0), lhs + rhs, greater)


def _minimum(lhs: Any, rhs: Any) -> Any:
    return -_maximum(-lhs, -rhs)


def _not_nan(compute: Compute) -> Compute:
    """The other number where one is NaN, also a signalling one, of which `np.fmax` makes a NaN."""
    return lambda lhs, rhs: choose(lhs != lhs, rhs, choose(rhs != rhs, lhs, compute(lhs, rhs)))


FLOAT_OPS: dict[type[Operation], Compute] = {
    arith.AddfOp: operator.add,
    arith.SubfOp: operator.sub,
    arith.MulfOp: operator.mul,
    arith.DivfOp: lambda lhs, rhs: lhs / rhs,
    RemFOp: np.fmod,
    arith.MaximumfOp: _maximum,
    arith.MinimumfOp: _minimum,
    arith.MaxnumfOp: _not_nan(np.maximum),
    arith.MinnumfOp: _not_nan(np.minimum),
}


def _float(compute: Compute) -> Callable[..., Any]:
    @quietly
    def meaning(_agent: Agent, _op: Operation, lhs: Any, rhs: Any) -> Any:
        result = compute(lhs, rhs)
        return np.asarray(result) if is_array(lhs) else result[()]

    return meaning


for _op, _compute in FLOAT_OPS.items():
    pure(_op)(_float(_compute))


@pure(arith.NegfOp)
def _negate(_agent: Agent, _op: arith.NegfOp, operand: Any) -> Any:
    return np.asarray(-operand) if is_array(operand) else -operand


def _ordered(compare: Compute) -> Compute:
    """False where either number is NaN."""
    return lambda lhs, rhs: compare(lhs, rhs) & (lhs == lhs) & (rhs == rhs)


def _unordered(compare: Compute) -> Compute:
    """True where either number is NaN."""
    return lambda lhs, rhs: compare(lhs, rhs) | (lhs != lhs) | (rhs != rhs)


def _never(lhs: Any, _rhs: Any) -> Any:
    return (lhs == lhs) & (lhs != lhs)


def _always(lhs: Any, _rhs: Any) -> Any:
    return (lhs == lhs) | (lhs != lhs)


FLOAT_COMPARISONS: list[Compute] = [
    _never,
    _ordered(operator.eq),
    _ordered(operator.gt),
    _ordered(operator.ge),
    _ordered(operator.lt),
    _ordered(operator.le),
    _ordered(operator.ne),
    _ordered(_always),
    _unordered(operator.eq),
    _unordered(operator.gt),
    _unordered(operator.ge),
    _unordered(operator.lt),
    _unordered(operator.le),
    _unordered(operator.ne),
    _unordered(_never),
    _always,
]
"""By the number of the predicate of `arith.cmpf`."""


@pure(arith.CmpfOp)
def _compare_floats(_agent: Agent, op: arith.CmpfOp, lhs: Any, rhs: Any) -> Any:
    result = FLOAT_COMPARISONS[op.predicate.value.data](lhs, rhs)
    return np.asarray(result) if is_array(lhs) else bool(result)


# Selection and casts ------------------------------------------------------------------------------------------------


def _computes(*functions: IntegerFunction) -> Callable[[F], F]:
    """Decorator: the meaning of the ops that compute one of `functions`."""

    def register(meaning: F) -> F:
        for what in functions:
            pure(*OPS[what], moves=moving.rule_of(what))(meaning)
        return meaning

    return register


@_computes(IntegerFunction(Function.CHOICE))
def _select(_agent: Agent, _op: Operation, condition: Any, lhs: Any, rhs: Any) -> Any:
    if is_array(condition):
        return choose(condition, lhs, rhs)
    return lhs if condition else rhs


@_computes(IntegerFunction(Function.EXTENDED, signed=False))
def _extend_unsigned(_agent: Agent, op: Operation, value: Any) -> Any:
    return to_type(as_unsigned(value, scalar_of(op.operands[0].type)), scalar_of(op.results[0].type))


@_computes(*map(IntegerFunction, (Function.TRUNCATED, Function.EXTENDED, Function.RESIZED)))
def _resize_signed(_agent: Agent, op: Operation, value: Any) -> Any:
    return to_type(as_signed(value, scalar_of(op.operands[0].type)), scalar_of(op.results[0].type))


@_computes(IntegerFunction(Function.RESIZED, signed=False))
def _resize_unsigned(_agent: Agent, op: IndexCastUIOp, value: Any) -> Any:
    return to_type(as_unsigned(value, scalar_of(op.input.type)), scalar_of(op.result.type))


@pure(arith.ExtFOp, arith.TruncFOp)
def _resize_float(_agent: Agent, op: Operation, value: Any) -> Any:
    return to_float(value, element_of(op, op.results[0].type).dtype)


@pure(arith.SIToFPOp)
def _signed_to_float(_agent: Agent, op: arith.SIToFPOp, value: Any) -> Any:
    number = as_signed(value, scalar_of(op.operands[0].type))
    return integer_to_float(number, element_of(op, op.results[0].type).dtype)


@pure(arith.UIToFPOp)
def _unsigned_to_float(_agent: Agent, op: arith.UIToFPOp, value: Any) -> Any:
    number = as_unsigned(value, scalar_of(op.operands[0].type))
    return integer_to_float(number, element_of(op, op.results[0].type).dtype)


@pure(arith.FPToSIOp, arith.FPToUIOp)
def _float_to_integer(agent: Agent, op: Operation, value: Any) -> Any:
    attribute = op.results[0].type
    scalar = scalar_of(attribute)
    bits = width_of(scalar)
    signed = op.name.endswith(".fptosi")
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    numbers, fits = float_to_integer(value, low, high)
    if fits is False:
        return poison(agent, op, attribute)
    return to_type(numbers, scalar)


@pure(arith.BitcastOp)
def _bitcast(_agent: Agent, op: arith.BitcastOp, value: Any) -> Any:
    source, target = scalar_of(op.operands[0].type), scalar_of(op.results[0].type)
    element = element_of(op, target)
    if isinstance(value, View):
        return replace(value, element=element)
    values = from_bits(bits_of(value, source, element_of(op, source)), target, element)
    if is_array(value):
        return values
    return values[()] if element.is_float else values.item()
