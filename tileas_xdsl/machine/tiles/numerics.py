"""
Arithmetic as the IR means it: integers that wrap, floats that round once, and results that are poison.

A scalar integer or index is a Python int, signed (i1 is 0 or 1); a scalar float is a numpy scalar of its type's dtype;
a tensor or vector is a numpy array of the element dtype, and is never modified in place. The functions here take both
forms, so a table of meanings needs one entry for scalars and tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf, isfinite
from typing import Any, Final, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, ShapedType
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.scalars import scalar_of
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.values import UNKNOWN, ElementType, element_type, unsigned, wrap
from tileas_xdsl.machine.core.violations import UnsupportedError

Array = NDArray[Any]

quietly = np.errstate(all="ignore")
"""Decorator: overflow to infinity and NaN are results like any other, not warnings."""

INDEX_WIDTH: Final = 64
NATIVE_FLOATS: Final = frozenset(map(np.dtype, (np.float16, np.float32, np.float64)))
NATIVE_WIDTHS: Final = frozenset((8, 16, 32, 64))


# Types --------------------------------------------------------------------------------------------------------------


def width_of(attribute: Attribute) -> int:
    """Bits of an integer or index type."""
    if isinstance(attribute, IntegerType):
        return attribute.bitwidth
    return INDEX_WIDTH


def is_array(value: Any) -> TypeGuard[Array]:
    """Whether `value` is a tensor or vector; a scalar is not."""
    return isinstance(value, np.ndarray)


def choose(condition: Any, lhs: Any, rhs: Any) -> Array:
    """Element by element `lhs` where `condition` holds, else `rhs`."""
    return np.where(np.asarray(condition), np.asarray(lhs), np.asarray(rhs))


def element_of(op: Operation, attribute: Attribute) -> ElementType:
    """The element type of a scalar or shaped type. Raises `UnsupportedError` where there are no numbers for it."""
    scalar = scalar_of(attribute)
    element = element_type(scalar)
    if element is None:
        raise UnsupportedError(op, f"computes with elements of type {scalar}, for which the machine has no numbers")
    return element


# Integers -----------------------------------------------------------------------------------------------------------


def as_signed(value: Any, attribute: Attribute) -> Any:
    """The bits of `value` as signed numbers: a Python int, or an array of int64. A true i1 is -1."""
    width = width_of(attribute)
    if is_array(value):
        wide: Array = value.astype(np.int64)
        return -wide if width == 1 else wide
    return -int(value) if width == 1 else value


def as_unsigned(value: Any, attribute: Attribute) -> Any:
    """The bits of `value` as unsigned numbers: a Python int, or an array of uint64."""
    if is_array(value):
        bits: Array = value.astype(np.int64).view(np.uint64)
        return bits & np.uint64((1 << width_of(attribute)) - 1)
    return unsigned(value, attribute)


def to_type(value: Any, attribute: Attribute) -> Any:
    """
    Integers modulo the width of the integer type `attribute`, as values of that type.

    `value` is a Python int of any size, or an array of Python ints, int64, uint64 or bool.
    """
    if not is_array(value):
        return wrap(value, attribute)
    element = element_type(attribute)
    assert element is not None, "arrays have elements of at most 64 bits"
    if value.dtype.hasobject:
        value = np.asarray(value & ((1 << 64) - 1)).astype(np.uint64)
    width = width_of(attribute)
    wide: Array = value.astype(np.int64)
    if width == 1:
        wide = wide & 1
    elif width not in NATIVE_WIDTHS:
        spare = np.int64(64 - width)
        wide = (wide << spare) >> spare
    return np.asarray(wide.astype(element.dtype))


# Floats -------------------------------------------------------------------------------------------------------------


def _rounded_to_odd(nearest: Array, error: Array) -> Array:
    """
    `nearest` + `error` rounded to odd: an inexact result gets an odd last bit.

    Rounding that once more, to a type with at least two bits fewer, gives what a single rounding would have given
    (Boldo and Melquiond, 2008).
    """
    bits = nearest.view(np.int64 if nearest.dtype == np.float64 else np.int32)
    inexact_even = (error != 0) & np.isfinite(error) & ((bits & 1) == 0) & np.isfinite(nearest)
    towards = np.copysign(np.array(np.inf, nearest.dtype), error.astype(nearest.dtype))
    return np.where(inexact_even, np.nextafter(nearest, towards), nearest)


def round_sum(nearest: Array, error: Array, dtype: np.dtype[Any]) -> Array:
    """The exact number `nearest` + `error` (both f64, the first its own rounding) as `dtype`, rounded once."""
    if dtype == np.float64:
        return nearest
    odd = _rounded_to_odd(nearest, error)
    if dtype in NATIVE_FLOATS:
        return odd.astype(dtype)
    single = odd.astype(np.float32)
    return _rounded_to_odd(single, odd - single.astype(np.float64)).astype(dtype)


@quietly
def to_float(value: Any, dtype: np.dtype[Any]) -> Any:
    """A float value, scalar or array, as another float type, rounded once to nearest even."""
    source = np.asarray(value)
    if source.dtype == np.float64 and dtype not in NATIVE_FLOATS:
        rounded = round_sum(source, np.zeros_like(source), dtype)
    else:
        rounded = source.astype(dtype)
    return rounded if is_array(value) else rounded[()]


@quietly
def integer_to_float(value: Any, dtype: np.dtype[Any]) -> Any:
    """Integers (Python int, int64 or uint64 array) as floats, rounded once to nearest even."""
    numbers = np.asarray(value, dtype=object)
    nearest = numbers.astype(np.float64)
    differences = [number - int(near) for number, near in zip(numbers.flat, nearest.flat, strict=True)]
    error = np.array(differences, np.float64).reshape(nearest.shape)
    rounded = round_sum(nearest, error, dtype)
    return rounded if is_array(value) else rounded[()]


@quietly
def float_to_integer(value: Any, low: int, high: int) -> tuple[Any, Any]:
    """
    Floats rounded towards zero, and whether they lie in `low` to `high`; zero where they do not.

    A scalar gives a Python int and a bool, an array two arrays. `high` is a power of two less one.
    """
    if not is_array(value):
        number = float(value)
        fits = low - 1 < number < high + 1
        return (int(number) if fits else 0), fits
    whole: Array = np.trunc(value.astype(np.float64))
    within = (whole >= low) & (whole < float(high + 1))
    exact = np.asarray(np.where(within, whole, 0.0))
    return exact.astype(np.uint64 if low == 0 else np.int64), within


# Poison and zero ----------------------------------------------------------------------------------------------------


def zero(op: Operation, attribute: Attribute) -> Any:
    """The zero of a scalar or static tensor type."""
    element = element_of(op, attribute)
    if isinstance(attribute, ShapedType):
        shape = attribute.get_shape()
        if DYNAMIC_INDEX in shape:
            raise UnsupportedError(op, f"makes a value of type {attribute}, whose size is not known")
        return np.zeros(shape, element.dtype)
    return element.dtype.type(0) if element.is_float else 0


def poison(agent: Agent, op: Operation, attribute: Attribute) -> Any:
    """The value of an undefined result: UNKNOWN when checking, zero when running."""
    return zero(op, attribute) if agent.has_data else UNKNOWN


# Bits ---------------------------------------------------------------------------------------------------------------


def _storage(element: ElementType) -> np.dtype[Any]:
    return np.dtype(f"uint{8 * element.size}")


def bits_of(value: Any, attribute: Attribute, element: ElementType) -> Array:
    """The bits of a value whose scalar type is `attribute`, as an array of unsigned integers."""
    if element.is_float:
        return np.asarray(value, element.dtype).view(_storage(element))
    return np.asarray(as_unsigned(value, attribute)).astype(_storage(element))


def from_bits(bits: Array, attribute: Attribute, element: ElementType) -> Array:
    """The values of scalar type `attribute` that have `bits`."""
    if element.is_float:
        return bits.astype(_storage(element)).view(element.dtype)
    values: Array = to_type(bits.astype(np.uint64), attribute)
    return values


# Memory -------------------------------------------------------------------------------------------------------------


def to_scalar(array: Array, element: ElementType) -> Any:
    """The only element of an array of rank 0, as a scalar value."""
    return array[()] if element.is_float else array.item()


def view_of(agent: Agent, op: Operation, value: Any) -> View:
    """`value`, which must be a view of memory."""
    if isinstance(value, View):
        return value
    known = agent.known(value, op, "reaches memory through")
    if isinstance(known, View):
        return known
    raise UnsupportedError(op, "reaches memory through a value that is no memref here")


# Rounding towards a side: what a `rounding_mode` other than nearest makes of a result. The nearest float is computed
# first, as always. Where it lies on the wrong side of the exact number it moves on by one float; which side it lies on
# is decided on rational numbers, exactly.

Residual = Callable[[Fraction, Sequence[Fraction]], Fraction]
"""Given a candidate for the result and the operands: positive when the candidate is too high, negative when too low."""

TOWARDS_ZERO, UPWARDS, DOWNWARDS = "zero", "positive_inf", "negative_inf"

RESIDUALS: dict[str, Residual] = {
    "sum": lambda result, x: result - (x[0] + x[1]),
    "difference": lambda result, x: result - (x[0] - x[1]),
    "product": lambda result, x: result - x[0] * x[1],
    "quotient": lambda result, x: (result * x[1] - x[0]) * (1 if x[1] > 0 else -1),
    "product and sum": lambda result, x: result - (x[0] * x[1] + x[2]),
    "root": lambda result, x: result * result - x[0],
    "inverse root": lambda result, x: result * result * x[0] - 1,
    "conversion": lambda result, x: result - x[0],
}
"""By what is computed. An exponential has none: its results are not rational."""


@quietly
def rounded(nearest: Any, mode: str | None, residual: Residual | None, operands: tuple[Any, ...]) -> Any:
    """
    The result (scalar or array) rounded as `mode` asks: `nearest` itself, or the float next to it. `residual` tells on
    which side of the exact result `nearest` lies.
    """
    if mode not in (TOWARDS_ZERO, UPWARDS, DOWNWARDS) or residual is None:
        return nearest
    results = np.array(nearest)
    spread = [np.broadcast_to(np.asarray(operand), results.shape) for operand in operands]
    for place in np.ndindex(results.shape):
        results[place] = _moved(results[place], mode, residual, [float(operand[place]) for operand in spread])
    return results if is_array(nearest) else results[()]


def _moved(nearest: Any, mode: str, residual: Residual, operands: list[float]) -> Any:
    value = float(nearest)
    if not all(map(isfinite, operands)) or np.isnan(value):
        return nearest
    side = _side(value, residual, operands)
    down = mode == DOWNWARDS or (mode == TOWARDS_ZERO and value > 0)
    up = mode == UPWARDS or (mode == TOWARDS_ZERO and value < 0)
    if (down and side > 0) or (up and side < 0):
        return np.nextafter(nearest, _far_out(np.asarray(nearest).dtype, -1 if down else 1))
    return nearest


def _side(value: float, residual: Residual, operands: list[float]) -> Fraction | int:
    if not isfinite(value):
        # An overflow. A division by zero is exact.
        return 0 if _divides_by_zero(residual, operands) else (1 if value > 0 else -1)
    return residual(Fraction(value), [Fraction(operand) for operand in operands])


def _divides_by_zero(residual: Residual, operands: list[float]) -> bool:
    return residual in (RESIDUALS["quotient"], RESIDUALS["inverse root"]) and operands[-1] == 0


def _far_out(dtype: np.dtype[Any], sign: int) -> Any:
    """The last float on one side: an infinity where the type has one."""
    import ml_dtypes

    infinity = np.array(np.inf).astype(dtype)
    furthest = infinity if np.isinf(infinity) else cast(Any, ml_dtypes.finfo)(dtype).max
    return np.asarray(furthest if sign > 0 else -furthest).astype(dtype)[()]


def _exact_fma(a: float, b: float, c: float) -> float:
    """a * b + c in f64 with one rounding."""
    rounded_twice = a * b + c
    if not (isfinite(a) and isfinite(b)):
        return rounded_twice
    if not isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return rounded_twice
    try:
        return float(exact)
    except OverflowError:
        return inf if exact > 0 else -inf


@quietly
def flushed(array: Any) -> Array:
    """Zeros of the same sign instead of the subnormal numbers of f32."""
    numbers = np.asarray(array)
    tiny = np.finfo(np.float32).tiny
    return np.where(np.abs(numbers) < tiny, np.copysign(np.zeros_like(numbers), numbers), numbers)


@quietly
def fused_multiply_add(a: Array, b: Array, c: Array) -> Array:
    """a * b + c for arrays of one float type, rounded once."""
    if a.dtype == np.float64:
        triples = zip(a.flat, b.flat, c.flat, strict=True)
        return np.array([_exact_fma(*map(float, triple)) for triple in triples]).reshape(a.shape)
    # The product of two narrower floats is exact in f64; Knuth's two-sum finds what the addition rounds away.
    product = a.astype(np.float64) * b.astype(np.float64)
    addend = c.astype(np.float64)
    total = np.asarray(product + addend)
    taken = total - product
    error = np.asarray((product - (total - taken)) + (addend - taken))
    return round_sum(total, error, a.dtype)
