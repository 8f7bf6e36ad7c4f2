"""
The arrays that kernels are run on, the same on every computer: numpy alone makes them. What numpy has no type for lies
in integers of its size (`bf16` in `uint16`, the two of 8 bits in `uint8`), and `wide` says what numbers these are.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

TYPES: Mapping[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
    "bf16": np.uint16,
    "f8E4M3FN": np.uint8,
    "f8E5M2": np.uint8,
}
"""How elements lie in memory."""
FRACTION_BITS = {"f8E4M3FN": 3, "f8E5M2": 2}
SEED = 1
EXTENTS = {1: 8320}
"""Of an axis that the type leaves open, by the rank: 16 tiles of 512 fit into a row of numbers."""
EXTENT = 544
"""Where there are more axes: at 16 tiles of more than 32 a kernel reads outside, where zeros are."""


def made(parameters: Mapping[str, tuple[str, Sequence[int | None]]]) -> dict[str, Array]:
    """
    Arrays of small integers for the element types and shapes of parameters, in their order: sums and products of them
    are exact.
    """
    draw = np.random.default_rng(SEED)
    found: dict[str, Array] = {}
    for name, (kind, shape) in parameters.items():
        extents = [size if size is not None else EXTENTS.get(len(shape), EXTENT) for size in shape]
        found[name] = narrow(draw.integers(-2, 3, extents), kind)
    return found


def narrow(numbers: Array, kind: str) -> Array:
    """Numbers that `kind` has exactly, as they lie in memory."""
    if kind == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind in FRACTION_BITS:
        values, places = np.unique(numbers, return_inverse=True)
        codes = [int(np.flatnonzero(eighths(kind) == value)[0]) for value in values]
        return np.array(codes, np.uint8)[places].reshape(numbers.shape)
    return numbers.astype(TYPES[kind])


def wide(array: Array, kind: str) -> Array:
    """The numbers of an array as it lies in memory."""
    if kind == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return eighths(kind)[array] if kind in FRACTION_BITS else array.astype(np.float64)


def eighths(kind: str) -> Array:
    """The numbers of all 256 bytes (OCP 8-bit Floating Point, table 1)."""
    bits = FRACTION_BITS[kind]
    code = np.arange(256)
    exponent, fraction = code >> bits & (1 << 7 - bits) - 1, code & (1 << bits) - 1
    bias = (1 << 6 - bits) - 1
    normal = (1 + fraction / (1 << bits)) * 2.0 ** (exponent - bias)
    size = np.where(exponent == 0, fraction / (1 << bits) * 2.0 ** (1 - bias), normal)
    last = exponent == (1 << 7 - bits) - 1
    if kind == "f8E5M2":
        size = np.where(last, np.where(fraction == 0, np.inf, np.nan), size)
    else:
        size = np.where(last & (fraction == (1 << bits) - 1), np.nan, size)
    return np.where(code >= 128, -size, size)


def resolution(kind: str) -> float:
    """How far the numbers of two computers may be apart, relatively and absolutely."""
    bits = {"bf16": 7, "f16": 10, **FRACTION_BITS}.get(kind)
    if TYPES[kind] is np.float32 or TYPES[kind] is np.float64:
        return 2e-3  # products of f16 are summed in another order
    return 0.0 if bits is None else max(2e-3, 4 * 2.0**-bits)


def checksum(arrays: Mapping[str, Array]) -> int:
    """Whether two computers have made the same arrays."""
    found = 0
    for array in arrays.values():
        found = zlib.crc32(np.ascontiguousarray(array).tobytes(), found)
    return found
