"""Shapes and products of `cuda_tile`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i1

from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.machine.core.violations import MistakeError
from tileas_xdsl.machine.meanings.cuda_tile.values import computes, element_type_of, numbers_of, shape_of
from tileas_xdsl.machine.tiles.numerics import Array, as_signed, as_unsigned, to_float, to_type
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.tiles import PointerTile, restructured


def _moved(value: Any, change: Callable[[Array], Array]) -> Any:
    """`change`, which moves elements, applied to numbers or to addresses."""
    if isinstance(value, Pointer):
        return PointerTile(value.base, change(np.asarray(value.offset)))
    return restructured(value, change)


def _as_scalar(op: TileIROp, value: Any) -> Any:
    if isinstance(value, PointerTile) and not shape_of(op.results[0]):
        return Pointer(value.base, int(value.offsets))
    return value


@computes("reshape")
def _reshape(op: TileIROp, x: Any) -> Any:
    shape = shape_of(op.results[0])
    return _as_scalar(op, _moved(x, lambda array: array.reshape(shape)))


@computes("broadcast")
def _broadcast(op: TileIROp, x: Any) -> Any:
    shape = shape_of(op.results[0])
    return _moved(x, lambda array: np.broadcast_to(array, shape))


@computes("permute")
def _permute(op: TileIROp, x: Any) -> Any:
    order = tuple(cast("DenseArrayBase[Any]", op.properties["permutation"]).get_values())
    return _moved(x, lambda array: np.transpose(array, order))


@computes("cat")
def _cat(op: TileIROp, x: Array, y: Array) -> Array:
    return np.concatenate([x, y], cast("IntegerAttr[Any]", op.properties["dim"]).value.data)


def _slices(op: TileIROp, whole: tuple[int, ...], part: tuple[int, ...], indices: tuple[Any, ...]) -> tuple[slice, ...]:
    places: list[slice] = []
    for axis, (large, small, index) in enumerate(zip(whole, part, indices, strict=True)):
        number = int(index)
        if not 0 <= number < large // small:
            raise MistakeError(op, f"takes slice {number} of {large // small} along axis {axis}; a slice that there is")
        places.append(slice(number * small, (number + 1) * small))
    return tuple(places)


@computes("extract")
def _extract(op: TileIROp, x: Array, *indices: Any) -> Array:
    return x[_slices(op, x.shape, shape_of(op.results[0]), indices)]


@computes("insert")
def _insert(op: TileIROp, small: Array, big: Array, *indices: Any) -> Array:
    result = big.copy()
    result[_slices(op, big.shape, small.shape, indices)] = small
    return result


@computes("mmaf")
def _multiply(op: TileIROp, x: Array, y: Array, total: Array) -> Array:
    wide = np.dtype(np.float64) if total.dtype == np.float64 else np.dtype(np.float32)
    product = np.matmul(to_float(x, wide), to_float(y, wide)) + to_float(total, wide)
    return np.asarray(to_float(product, total.dtype))


@computes("mmai")
def _multiply_integers(op: TileIROp, x: Array, y: Array, total: Array) -> Array:
    factors = [
        (as_signed if op.word(name) == "signed" else as_unsigned)(array, IntegerType(8)).astype(np.int64)
        for name, array in (("signedness_lhs", x), ("signedness_rhs", y))
    ]
    return to_type(np.matmul(*factors) + total.astype(np.int64), IntegerType(32))


@computes("mmaf_scaled")
def _multiply_scaled(op: TileIROp, x: Array, y: Array, total: Array, left: Array, right: Array) -> Array:
    scales = left.astype(np.float32), right.astype(np.float32)
    factors = x.astype(np.float32), y.astype(np.float32)
    scaled_left = factors[0] * np.repeat(scales[0], x.shape[-1] // left.shape[-1], -1)
    scaled_right = factors[1] * np.repeat(scales[1], y.shape[-2] // right.shape[-2], -2)
    return (np.matmul(scaled_left, scaled_right) + total).astype(np.float32)


def _bits(x: Array, op: TileIROp, *, is_packed: bool) -> Array:
    """Bits in bytes, the lowest first; or the bits of bytes."""
    shape, dtype = shape_of(op.results[0]), numbers_of(op, element_type_of(op.results[0])).dtype
    flat = np.ascontiguousarray(x).reshape(-1)
    if is_packed:
        return np.packbits(flat != 0, bitorder="little").view(dtype).reshape(shape)
    return np.unpackbits(flat.view(np.uint8), bitorder="little").astype(dtype).reshape(shape)


@computes("pack", "unpack")
def _retype(op: TileIROp, x: Array) -> Array:
    """The same bytes; two numbers of 4 bits share one, the first in its lower half."""
    source, target = element_type_of(op.operands[0]), element_type_of(op.results[0])
    if i1 in (source, target):
        return _bits(x, op, is_packed=source == i1)
    data = _bytes_of(x, str(source).endswith(("4E2M1FN", "i4")))
    if str(target).endswith(("4E2M1FN", "i4")):
        data = np.stack([data & 15, data >> 4], axis=-1).reshape(-1)
    return data.view(numbers_of(op, target).dtype).reshape(shape_of(op.results[0]))


def _bytes_of(x: Array, is_nibble: bool) -> Array:
    data = np.ascontiguousarray(x).view(np.uint8).reshape(-1)
    return (data[0::2] & 15) | (data[1::2] & 15) << 4 if is_nibble else data
