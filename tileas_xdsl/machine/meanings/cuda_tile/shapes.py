"""
Shapes, products, reductions and scans of `cuda_tile`.

The region of a reduction or scan is computed for whole slices at once, from the first to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i1
from xdsl.ir import Block, SSAValue

from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.code import bound
from tileas_xdsl.machine.core.meaning import control
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import MistakeError, UnsupportedError
from tileas_xdsl.machine.meanings.cuda_tile.values import (
    COMPUTE,
    as_array,
    as_value,
    computes,
    element_type_of,
    numbers_of,
    shape_of,
)
from tileas_xdsl.machine.tiles.numerics import Array, as_signed, as_unsigned, to_float, to_type
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.tiles import PointerTile, restructured


def _number(op: TileIROp, name: str) -> int:
    return cast("IntegerAttr[Any]", op.properties[name]).value.data


def combined(agent: Agent, block: Block, arguments: Sequence[Any]) -> list[Any]:
    """What the region of a reduction yields for `arguments`, which may be tiles in place of scalars."""
    values = bound(block, arguments)

    def value_of(operand: SSAValue) -> Any:
        if operand not in values:
            around = block.parent_op()
            assert around is not None
            values[operand] = as_array(around, agent.value(operand), operand.type)
        return values[operand]

    for op in block.ops:
        if isinstance(op, OPS["yield"]):
            return [value_of(operand) for operand in op.operands]
        compute = COMPUTE.get(type(op))
        if compute is None:
            raise UnsupportedError(op, "is more than the machine computes in a reduction; compute it before")
        values[op.results[0]] = compute(op, *map(value_of, op.operands))
    return []


def _pairs(agent: Agent, op: TileIROp, elements: Sequence[Array], so_far: Sequence[Array]) -> list[Any]:
    arguments = [value for pair in zip(elements, so_far, strict=True) for value in pair]
    shape = elements[0].shape
    return [np.broadcast_to(np.asarray(result), shape) for result in combined(agent, op.regions[0].block, arguments)]


def _tiles(op: TileIROp, operands: Sequence[Any]) -> list[Array]:
    return [as_array(op, value, operand.type) for value, operand in zip(operands, op.operands, strict=True)]


def _given(op: TileIROp, arrays: Sequence[Array]) -> Any:
    values = tuple(
        as_value(op, np.asarray(array), result.type) for array, result in zip(arrays, op.results, strict=True)
    )
    return values[0] if len(values) == 1 else values


def _unknown(op: TileIROp) -> Any:
    """What a check knows of numbers: nothing."""
    return UNKNOWN if len(op.results) == 1 else (UNKNOWN,) * len(op.results)


@control(OPS["reduce"])
def _reduce(agent: Agent, op: TileIROp, *operands: Any) -> Any:
    if any(operand is UNKNOWN for operand in operands):
        return _unknown(op)
    tiles, axis = _tiles(op, operands), _number(op, "dim")
    so_far: list[Any] = [np.take(tile, 0, axis) for tile in tiles]
    for place in range(1, tiles[0].shape[axis]):
        so_far = _pairs(agent, op, [np.take(tile, place, axis) for tile in tiles], so_far)
    return _given(op, so_far)


@control(OPS["scan"])
def _scan(agent: Agent, op: TileIROp, *operands: Any) -> Any:
    if any(operand is UNKNOWN for operand in operands):
        return _unknown(op)
    tiles, axis = _tiles(op, operands), _number(op, "dim")
    places = range(tiles[0].shape[axis])
    if _number(op, "reverse"):
        places = places[::-1]
    so_far: list[Any] = []
    found: dict[int, list[Any]] = {}
    for place in places:
        elements = [np.take(tile, place, axis) for tile in tiles]
        so_far = _pairs(agent, op, elements, so_far) if so_far else list(elements)
        found[place] = so_far
    return _given(op, [np.stack([found[place][n] for place in sorted(found)], axis) for n in range(len(tiles))])


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
