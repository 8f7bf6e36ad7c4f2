"""
The numbers of `wgmma`: operands out of shared memory, a warp's part of the accumulator, the product.

The four warps of a warpgroup hold 16 rows of the result each, and each computes its own. A product of two elements is
exact in f32; the sum along K begins with the accumulator and takes k = 0, 1, 2, ... in turn, rounded to f32 after each
(hardware may add in another order). Integers are summed without overflow, and wrap or saturate once at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import VectorType, i32
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.nvvm.matrix_attributes import (
    MMAIntOverflow,
    MMALayout,
    WGMMAScaleIn,
    WGMMAScaleOut,
    WGMMAType,
)
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaMmaAsyncOp
from tileas_xdsl.layouts.descriptors import Operand, addresses_of
from tileas_xdsl.machine.core.violations import UnsupportedError

Array = NDArray[Any]

ROWS = 16
"""Of the result, in the registers of one warp."""
LANES = np.arange(32)[:, None]


def numbers_of(op: Operation, kind: WGMMAType) -> np.dtype[Any]:
    """The dtype that elements of `kind` are read as; tf32 as f32. Raises `UnsupportedError` for bits."""
    import ml_dtypes

    known: dict[WGMMAType, Any] = {
        WGMMAType.F16: np.float16,
        WGMMAType.BF16: ml_dtypes.bfloat16,
        WGMMAType.TF32: np.float32,
        WGMMAType.E4M3: ml_dtypes.float8_e4m3fn,
        WGMMAType.E5M2: ml_dtypes.float8_e5m2,
        WGMMAType.S8: np.int8,
        WGMMAType.U8: np.uint8,
    }
    if kind not in known:
        raise UnsupportedError(op, f"multiplies elements of type {kind.value}, which have no numbers here")
    return np.dtype(known[kind])


# Operands -------------------------------------------------------------------------------------------------------------


def matrix_behind(
    memory: Array, start: int, operand: Operand, dtype: np.dtype[Any], extents: tuple[int, int], *, k_major: bool
) -> Array:
    """
    The matrix of `extents` (rows of M or N, elements along K) that `operand` names in `memory`, bytes whose first one
    has the address `start`.
    """
    first = addresses_of(operand, *extents, dtype.itemsize, k_major=k_major) - start
    held = memory[first[..., None] + np.arange(dtype.itemsize)]
    return np.ascontiguousarray(held).view(dtype)[..., 0]


def rows_of_warp(operand_rows: Array, rank: int) -> Array:
    """The rows of A that warp `rank` of the warpgroup multiplies."""
    return operand_rows[ROWS * rank : ROWS * (rank + 1)]


# Products -------------------------------------------------------------------------------------------------------------


def multiplied(op: WgmmaMmaAsyncOp, a: Array, b: Array, before: Array | None) -> Array:
    """A * B^T + `before` for 16 rows of A, signs and overflow as `op` says; `before` is None where nothing is added."""
    if op.type_d.data is WGMMAType.S32:
        total = a.astype(np.int64) @ b.astype(np.int64).T + (0 if before is None else before)
        if op.satfinite is not None and op.satfinite.data is MMAIntOverflow.SATFINITE:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        return total.astype(np.int32)
    left, right = _signed(a, op.scale_a.data), _signed(b, op.scale_b.data)
    begun = np.zeros((len(left), len(right)), np.float32) if before is None else before.astype(np.float32)
    with np.errstate(all="ignore"):
        return summed(left, right, begun).astype(np.float16 if op.type_d.data is WGMMAType.F16 else np.float32)


def summed(a: Array, b: Array, before: Array) -> Array:
    """`before` + A * B^T, all in f32: one k after the other."""
    total = before
    with np.errstate(all="ignore"):
        for column, other in zip(a.astype(np.float32).T, b.astype(np.float32).T, strict=True):
            total = total + column[:, None] * other[None, :]
    return total


def _signed(factor: Array, scale: WGMMAScaleIn) -> Array:
    numbers = factor.astype(np.float32)
    return -numbers if scale is WGMMAScaleIn.NEG else numbers


def adds(op: WgmmaMmaAsyncOp) -> bool:
    """Whether the accumulator is added."""
    return op.scale_d.data is WGMMAScaleOut.ONE


def is_k_major(op: WgmmaMmaAsyncOp) -> tuple[bool, bool]:
    """Whether the elements of A, and of B, lie one behind the other along K."""
    return op.layout_a.data is MMALayout.ROW, op.layout_b.data is MMALayout.COL


# Registers ------------------------------------------------------------------------------------------------------------


def _places(columns: int) -> tuple[Array, Array]:
    """
    Row and column of each element that a lane holds of 16 x `columns`, by lane and then element: two neighbours of a
    row, the two 8 rows below, and so on every 8 columns (PTX ISA, "Register Fragments for wgmma.mma_async").
    """
    element = np.arange(columns // 2)[None, :]
    row = LANES // 4 + 8 * (element // 2 % 2)
    return row, LANES % 4 * 2 + element % 2 + 8 * (element // 4)


def matrix_in(registers: Sequence[Any], columns: int, *, packed: bool = False) -> Array:
    """
    The 16 x `columns` numbers that the lanes hold: `registers` are those of each lane, `packed` where they have two f16
    each.
    """
    held = np.array([np.concatenate([np.atleast_1d(value) for value in of_lane]) for of_lane in registers])
    if packed and held.dtype.kind == "i":
        held = np.ascontiguousarray(held.astype(np.int32)).view(np.float16)
    matrix = np.empty((ROWS, columns), held.dtype)
    matrix[_places(columns)] = held
    return matrix


def lanes_with(matrix: Array) -> list[tuple[Any, ...]]:
    """What each lane holds of a `matrix` of f32, as a struct."""
    return [tuple(of_lane) for of_lane in matrix[_places(matrix.shape[1])]]


def registers_with(matrix: Array, op: WgmmaMmaAsyncOp) -> list[tuple[Any, ...]]:
    """What each lane holds of `matrix`, as the struct that `op` returns."""
    held = matrix[_places(matrix.shape[1])]
    if op.type_d.data is not WGMMAType.F16:
        return [tuple(of_lane.tolist() if held.dtype.kind == "i" else of_lane) for of_lane in held]
    register = register_type(op)
    if register == i32:
        return [tuple(of_lane.tolist()) for of_lane in np.ascontiguousarray(held).view(np.int32)]
    if isinstance(register, VectorType):
        return [tuple(of_lane.reshape(-1, 2)) for of_lane in held]
    raise UnsupportedError(op, f"returns registers of type {register}, and each holds two f16: i32 or vector<2xf16>")


def register_type(op: WgmmaMmaAsyncOp) -> Attribute:
    """The type of each register of the accumulator."""
    assert isinstance(op.results_.type, LLVMStructType)
    return op.results_.type.types.data[0]
