"""
What the ops of `math` do, on scalars and element by element on tensors and vectors.

Functions of floats are computed in f64 and rounded once to the type at hand: f32 and narrower results are then the
nearest floats but for rare ties, on every processor alike. `fma` is exact: one rounding, in f64 too.
"""

from __future__ import annotations

import math as reals
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import math
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from tileas_xdsl.dialects.scalars import scalar_of
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import pure
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.numerics import (
    Array,
    as_signed,
    as_unsigned,
    fused_multiply_add,
    is_array,
    quietly,
    to_float,
    to_type,
    width_of,
)

LEAST_NORMAL = 2.0**-126
"""Of f32."""

# Floats -------------------------------------------------------------------------------------------------------------


def _round_half_away(value: Array) -> Array:
    whole = np.trunc(value)
    return np.where(np.abs(value - whole) >= 0.5, whole + np.copysign(1.0, value), whole)


def _erf(value: Array) -> Array:
    return np.array([reals.erf(number) for number in value.flat], np.float64).reshape(value.shape)


def _rsqrt(value: Array) -> Array:
    return 1.0 / np.sqrt(value)


FLOAT_FUNCTIONS: dict[type[Operation], Callable[..., Any]] = {
    math.AbsFOp: np.abs,
    math.AcosOp: np.arccos,
    math.AcoshOp: np.arccosh,
    math.AsinOp: np.arcsin,
    math.AsinhOp: np.arcsinh,
    math.Atan2Op: np.arctan2,
    math.AtanOp: np.arctan,
    math.AtanhOp: np.arctanh,
    math.CbrtOp: np.cbrt,
    math.CeilOp: np.ceil,
    math.CopySignOp: np.copysign,
    math.CosOp: np.cos,
    math.CoshOp: np.cosh,
    math.ErfOp: _erf,
    math.Exp2Op: np.exp2,
    math.ExpM1Op: np.expm1,
    math.ExpOp: np.exp,
    math.FPowIOp: np.power,
    math.FloorOp: np.floor,
    math.Log10Op: np.log10,
    math.Log1pOp: np.log1p,
    math.Log2Op: np.log2,
    math.LogOp: np.log,
    math.PowFOp: np.power,
    math.RoundEvenOp: np.rint,
    math.RoundOp: _round_half_away,
    math.RsqrtOp: _rsqrt,
    math.SinOp: np.sin,
    math.SinhOp: np.sinh,
    math.SqrtOp: np.sqrt,
    math.TanOp: np.tan,
    math.TanhOp: np.tanh,
    math.TruncOp: np.trunc,
}


def _float_function(compute: Callable[..., Any]) -> Callable[..., Any]:
    @quietly
    def meaning(_agent: Agent, _op: Operation, first: Any, *others: Any) -> Any:
        wide = [np.asarray(operand).astype(np.float64) for operand in (first, *others)]
        rounded = to_float(np.asarray(compute(*wide)), first.dtype)
        return rounded if is_array(first) else rounded[()]

    return meaning


for _op, _function in FLOAT_FUNCTIONS.items():
    if _op is not math.Exp2Op:
        pure(_op)(_float_function(_function))


@pure(math.Exp2Op)
def _exp2(agent: Agent, op: math.Exp2Op, operand: Any) -> Any:
    """With the flag for approximations subnormal f32 are zeros, as `ex2.approx.ftz` gives them."""
    found = _float_function(np.exp2)(agent, op, operand)
    if FastMathFlag.APPROX_FUNC not in op.fastmath.data or found.dtype != np.float32:
        return found
    flushed = np.where(found < LEAST_NORMAL, np.float32(0), found)
    return flushed if is_array(found) else flushed[()]


@pure(math.FmaOp)
def _fma(_agent: Agent, _op: math.FmaOp, a: Any, b: Any, c: Any) -> Any:
    result = fused_multiply_add(np.asarray(a), np.asarray(b), np.asarray(c))
    return result if is_array(a) else result[()]


# Integers -----------------------------------------------------------------------------------------------------------


def _trailing_zeros(bits: int, width: int) -> int:
    return (bits & -bits).bit_length() - 1 if bits else width


BIT_FUNCTIONS: dict[type[Operation], Callable[[int, int], int]] = {
    math.CountLeadingZerosOp: lambda bits, width: width - bits.bit_length(),
    math.CountTrailingZerosOp: _trailing_zeros,
    math.CtPopOp: lambda bits, _width: bits.bit_count(),
}
"""Functions of the bits, as an unsigned number, and the width of the type."""


def _bit_function(compute: Callable[[int, int], int]) -> Callable[..., Any]:
    def meaning(_agent: Agent, op: Operation, operand: Any) -> Any:
        scalar = scalar_of(op.results[0].type)
        width, bits = width_of(scalar), as_unsigned(operand, scalar)
        if not is_array(bits):
            return to_type(compute(bits, width), scalar)
        counts = [compute(int(element), width) for element in bits.flat]
        return to_type(np.array(counts, np.int64).reshape(bits.shape), scalar)

    return meaning


for _op, _count in BIT_FUNCTIONS.items():
    pure(_op)(_bit_function(_count))


@pure(math.AbsIOp)
def _absolute(_agent: Agent, op: math.AbsIOp, operand: Any) -> Any:
    scalar = scalar_of(op.results[0].type)
    number = as_signed(operand, scalar)
    return to_type(np.asarray(np.abs(number)) if is_array(number) else abs(number), scalar)


def _power(agent: Agent, op: Operation, base: int, exponent: int, modulus: int) -> int:
    if exponent >= 0:
        return pow(base, exponent, modulus)
    if base == 0:
        raise UnsupportedError(op, f"raises zero to a negative power{agent.in_iteration}; guard it")
    return {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)


@pure(math.IPowIOp, may_fail=True)
def _integer_power(agent: Agent, op: math.IPowIOp, base: Any, exponent: Any) -> Any:
    scalar = scalar_of(op.results[0].type)
    bases, exponents, modulus = as_signed(base, scalar), as_signed(exponent, scalar), 1 << width_of(scalar)
    if not is_array(bases):
        return to_type(_power(agent, op, bases, exponents, modulus), scalar)
    pairs = zip(bases.flat, exponents.flat, strict=True)
    powers = np.array([_power(agent, op, int(b), int(e), modulus) for b, e in pairs], dtype=object)
    return to_type(powers.reshape(bases.shape), scalar)
