"""
What the ops of `nv_tileaa` that compute do: arithmetic and conversions, on scalars and on tiles lane by lane; products,
reductions and scans. They read their operands; the results are values.

A result is the nearest float unless `rounding_mode` names a side; `approx` and `full` round to nearest too. `exp2` and
`rsqrt` are computed in f64 and rounded once. An address as a number is the object's number times 2^40, plus the byte
offset.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tileas_xdsl.dialects.nv_tileaa import compute, elementwise
from tileas_xdsl.dialects.nv_tileaa.attributes import RoundingModeAttr
from tileas_xdsl.dialects.nv_tileaa.types import PointerType, element_type_of
from tileas_xdsl.dialects.scalars import scalar_of
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import suspends
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.lanes import combined_together, reduced, scanned
from tileas_xdsl.machine.tiles.numerics import (
    RESIDUALS,
    Array,
    Residual,
    as_unsigned,
    bits_of,
    element_of,
    flushed,
    from_bits,
    fused_multiply_add,
    is_array,
    quietly,
    rounded,
    to_float,
    to_type,
    width_of,
)
from tileas_xdsl.machine.tiles.pointers import Addresses, Pointer
from tileas_xdsl.machine.tiles.products import Factor, Scales, is_signed, product
from tileas_xdsl.machine.tiles.tiles import PointerTile, computes


@computes(compute.DotOp)
def _dot(_agent: Agent, op: compute.DotOp, a: Any, b: Any, c: Any, *scales: Any) -> Any:
    left = Factor(a, op.a.type, is_signed(op.signedness_a))
    right = Factor(b, op.b.type, is_signed(op.signedness_b))
    return product(op, left, right, c, op.d.type, Scales(*scales) if scales else None)


@suspends(compute.ReduceOp)
def _reduce(agent: Agent, op: compute.ReduceOp, source: Any, *others: Any) -> Answer:
    if others:
        return combined_together(agent, op, (source, *others), op.combiner, op.axis.value.data, keeps=False)
    return reduced(agent, op, source, op.combiner, op.axis.value.data)


@suspends(compute.ScanOp)
def _scan(agent: Agent, op: compute.ScanOp, source: Any, *others: Any) -> Answer:
    axis, reverse = op.axis.value.data, op.reverse is not None
    if others:
        return combined_together(agent, op, (source, *others), op.combiner, axis, keeps=True, reverse=reverse)
    return scanned(agent, op, source, op.combiner, axis, op.inclusive, reverse=reverse)


Compute = Callable[..., Any]


# Floats ---------------------------------------------------------------------------------------------------------------


def _in_f64(compute: Compute) -> Compute:
    """`compute` on f64, rounded once to the type of the operand."""

    def narrow(operand: Any) -> Any:
        return to_float(np.asarray(compute(np.asarray(operand).astype(np.float64))), operand.dtype)

    return narrow


def _quotient(lhs: Any, rhs: Any) -> Any:
    return lhs / rhs


def _one_over_root(operand: Array) -> Array:
    return 1.0 / np.sqrt(operand)


def _fma(a: Any, b: Any, c: Any) -> Any:
    return fused_multiply_add(np.asarray(a), np.asarray(b), np.asarray(c))


FLOAT_OPS: dict[type[Operation], tuple[Compute, Residual | None]] = {
    elementwise.AddFOp: (operator.add, RESIDUALS["sum"]),
    elementwise.SubFOp: (operator.sub, RESIDUALS["difference"]),
    elementwise.MulFOp: (operator.mul, RESIDUALS["product"]),
    elementwise.DivFOp: (_quotient, RESIDUALS["quotient"]),
    elementwise.FmaOp: (_fma, RESIDUALS["product and sum"]),
    elementwise.Exp2Op: (_in_f64(np.exp2), None),
    elementwise.SqrtOp: (_in_f64(np.sqrt), RESIDUALS["root"]),
    elementwise.RsqrtOp: (_in_f64(_one_over_root), RESIDUALS["inverse root"]),
}
"""What an op computes, and how it is told which side of the exact result that lies on."""


def rounding_mode(op: Operation) -> str | None:
    """How `op` rounds, or None where it does not say."""
    mode = op.properties.get("rounding_mode")
    return mode.data.value if isinstance(mode, RoundingModeAttr) else None


def _float(compute: Compute, residual: Residual | None) -> Compute:
    @quietly
    def meaning(_agent: Agent, op: Operation, *operands: Any) -> Any:
        flushes = "flush_to_zero" in op.properties
        taken = tuple(map(flushed, operands)) if flushes else operands
        nearest = np.asarray(compute(*taken))
        result = np.asarray(rounded(nearest, rounding_mode(op), residual, taken))
        result = flushed(result) if flushes else result
        return result if is_array(operands[0]) else result[()]

    return meaning


for _op, (_compute, _residual) in FLOAT_OPS.items():
    computes(_op, lane_by_lane=True)(_float(_compute, _residual))


@computes(elementwise.ClampFOp, lane_by_lane=True)
@quietly
def _clamp(_agent: Agent, op: elementwise.ClampFOp, value: Any, low: Any, high: Any) -> Any:
    """A NaN becomes `low` unless it is to stay one."""
    clamped = np.asarray(np.fmin(np.fmax(value, low), high))
    if op.propagate_nan is not None and op.propagate_nan.value.data:
        clamped = np.where(np.isnan(value), value, clamped)
    return clamped if is_array(value) else clamped[()]


@computes(elementwise.FpToFpOp, lane_by_lane=True)
def _fp_to_fp(_agent: Agent, op: elementwise.FpToFpOp, value: Any) -> Any:
    nearest = to_float(value, element_of(op, op.result.type).dtype)
    return rounded(nearest, rounding_mode(op), RESIDUALS["conversion"], (value,))


# Integers and bits ----------------------------------------------------------------------------------------------------


@computes(elementwise.MulHiUIOp, lane_by_lane=True)
def _multiply_high(_agent: Agent, op: elementwise.MulHiUIOp, lhs: Any, rhs: Any) -> Any:
    scalar = scalar_of(op.result.type)
    left, right = as_unsigned(lhs, scalar), as_unsigned(rhs, scalar)
    if not is_array(left):
        return to_type((left * right) >> width_of(scalar), scalar)
    exact = np.asarray(left.astype(object) * right.astype(object), dtype=object)
    return to_type(np.asarray(exact >> width_of(scalar), dtype=object), scalar)


@computes(elementwise.BitcastOp, lane_by_lane=True)
def _bitcast(_agent: Agent, op: elementwise.BitcastOp, value: Any) -> Any:
    if isinstance(value, Pointer | PointerTile):
        return value
    source, target = scalar_of(op.source.type), scalar_of(op.result.type)
    element = element_of(op, target)
    bits = from_bits(bits_of(value, source, element_of(op, source)), target, element)
    if is_array(value):
        return bits
    return bits[()] if element.is_float else bits.item()


# Addresses as numbers -------------------------------------------------------------------------------------------------


@computes(elementwise.PtrToIntOp)
def _pointer_to_integer(agent: Agent, op: elementwise.PtrToIntOp, pointer: Any) -> Any:
    start = agent.shared(Addresses).of(pointer.base)
    scalar = scalar_of(op.result.type)
    if isinstance(pointer, Pointer):
        return to_type(start + pointer.offset, scalar)
    return to_type(start + pointer.offsets, scalar)


@computes(elementwise.IntToPtrOp)
def _integer_to_pointer(agent: Agent, op: elementwise.IntToPtrOp, address: Any) -> Any:
    addresses = agent.shared(Addresses)
    numbers: Array = np.asarray(address).astype(np.int64)
    base = addresses.base(int(numbers.flat[0]))
    offsets = numbers - (addresses.of(base) if base is not None else 0)
    if base is None or np.any(offsets >> Addresses.OFFSET_BITS != 0):
        raise UnsupportedError(op, "makes a pointer of a number that is no address of one object; use ptr_to_int's")
    return PointerTile(base, offsets) if is_array(address) else Pointer(base, int(offsets))


def pointee_size(op: Operation, type_: Any) -> int:
    """Bytes of what a pointer, or each of a tile of pointers, points to."""
    pointer = element_type_of(type_)
    assert isinstance(pointer, PointerType)
    return element_of(op, pointer.pointee).size
