"""
Matrix products of tiles, as `dot` and its relatives mean them.

Floats are converted to the accumulator's type first (f32 at least) and summed in it; integers are summed without
overflow and wrap once at the end. Scale factors stand for `vec_size` elements along K each:

    D[m, n] = C[m, n] + sum over k of A[m, k] * sfa[m, k / vec_size] * B[k, n] * sfb[k / vec_size, n]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.nv_tileaa.attributes import SignednessAttr
from tileas_xdsl.dialects.scalars import scalar_of
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.numerics import (
    Array,
    as_signed,
    as_unsigned,
    element_of,
    quietly,
    to_float,
    to_type,
)


@dataclass(frozen=True)
class Scales:
    """The scale factors of A and of B."""

    a: Array
    b: Array


@dataclass(frozen=True)
class Factor:
    """A or B: its numbers, its type, and how integer bits are read (None: as the type says)."""

    tile: Array
    type: Attribute
    is_signed: bool | None = None


def is_signed(attribute: Attribute | None) -> bool | None:
    """How a signedness attribute says that the bits of a factor are read; None where nothing says."""
    return attribute.data.value == "signed" if isinstance(attribute, SignednessAttr) else None


@quietly
def product(op: Operation, a: Factor, b: Factor, c: Array | None, result: Attribute, scales: Scales | None) -> Array:
    """A * B, plus C where there is one, as a tile of type `result`."""
    if isinstance(scalar_of(result), IntegerType):
        return _integer_product(a, b, c, result)
    element = element_of(op, result)
    wide = element.dtype if element.size >= 4 else np.dtype(np.float32)
    left, right = to_float(a.tile, wide), to_float(b.tile, wide)
    if scales is not None:
        left = left * _along_k(op, scales.a, left, -1).astype(wide)
        right = right * _along_k(op, _k_first(scales.b, right), right, -2).astype(wide)
    total = np.matmul(left, right)
    if c is not None:
        total = total + to_float(c, wide)
    return np.asarray(to_float(total, element.dtype))


def _integer_product(a: Factor, b: Factor, c: Array | None, result: Attribute) -> Array:
    total = np.matmul(_numbers(a), _numbers(b))
    if c is not None:
        total = total + c.astype(np.int64)
    return np.asarray(to_type(total, scalar_of(result)))


def _numbers(factor: Factor) -> Array:
    type_ = scalar_of(factor.type)
    signed = factor.is_signed if factor.is_signed is not None else factor.tile.dtype.kind != "u"
    numbers: Any = as_signed(factor.tile, type_) if signed else as_unsigned(factor.tile, type_)
    return np.asarray(numbers).astype(np.int64)


def _k_first(scales: Array, right: Array) -> Array:
    """The scales of B as K' x N; N x K' is read too."""
    return scales if scales.shape[-1] == right.shape[-1] else np.swapaxes(scales, -1, -2)


def _along_k(op: Operation, scales: Array, factor: Array, axis: int) -> Array:
    """Each scale repeated for the elements along K that it stands for."""
    count, extent = scales.shape[axis], factor.shape[axis]
    if count == 0 or extent % count:
        raise UnsupportedError(op, f"has {count} scale factors for {extent} elements along K")
    return np.repeat(scales.astype(np.float32), extent // count, axis)
