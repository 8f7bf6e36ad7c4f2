"""
What the kernels of `tests/kernels/` compute, in plain numpy: each function takes the arguments and gives C.

Products and sums of small integers are exact. Where powers, roots and f16 come in, the two may differ by rounding;
`TOLERANCE` is one unit in the last place of f16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Arguments = Mapping[str, Any]

TOLERANCE = 2.0**-10


def wide(array: Array) -> Array:
    return array.astype(np.float64)


def product_in_steps(depth: int) -> Callable[[Arguments], Array]:
    """A * B over the first `n` steps of `depth` along the middle axis."""

    def reference(given: Arguments) -> Array:
        middle = depth * given["n"]
        return wide(given["a"])[:, :middle] @ wide(given["b"])[:middle]

    return reference


def product_with_a_sum(given: Arguments) -> Array:
    return wide(given["a"]) @ wide(given["b"])[: 16 * given["n"]].reshape(-1, 16, 64).sum(0)


def three_loads(given: Arguments) -> Array:
    tiles = wide(given["d"])[: 64 * given["n"]].reshape(-1, 64, 64)
    return product_in_steps(16)(given) + tiles.sum(0)


def chained_gemm(given: Arguments) -> Array:
    middle = 16 * given["n"]
    return wide(given["a"]) @ wide(given["b"])[:, :middle] @ wide(given["v"])[:middle]


def convolution(given: Arguments) -> Array:
    taps = given["n"]
    pixels = wide(given["x"])[: 64 * taps].reshape(taps, 64, 16)
    weights = wide(given["w"])[: 16 * taps].reshape(taps, 16, 64)
    return (pixels @ weights).sum(0)


def doubled_convolution(given: Arguments) -> Array:
    return 2 * convolution(given)


def elementwise(given: Arguments) -> Array:
    x, y = wide(given["x"]), wide(given["y"])
    return written(given, (x + y) * x, 16)


def copied(given: Arguments) -> Array:
    return written(given, wide(given["x"]), 16)


def stencil(given: Arguments) -> Array:
    x, y, z = (wide(given[name]) for name in "xyz")
    return written(given, x + 2 * y + z, 8)


def reduction(given: Arguments) -> Array:
    columns = 16 * given["n"]
    tiles = wide(given["x"])[:, :columns].reshape(16, given["n"], 16)
    return tiles.sum(1) + tiles.max(1, initial=0)


def layer_norm(given: Arguments) -> Array:
    x = wide(given["x"])
    away = x - x.mean(1, keepdims=True)
    normal = away / np.sqrt((away**2).mean(1, keepdims=True) + 1e-5)
    rows = len(x) // 16
    return written(given, normal * np.tile(wide(given["g"]), (rows, 1)) + np.tile(wide(given["b"]), (rows, 1)), 16)


def attention(given: Arguments) -> Array:
    """softmax(Q * K / 4) * V with powers of two; keys beyond `n` tiles do not count, and without keys it is 0."""
    keys = 16 * given["n"]
    scores = wide(given["q"]) @ wide(given["k"])[:, :keys] / 4
    weights = np.exp2(scores - scores.max(1, keepdims=True, initial=-1e30))
    return weights @ wide(given["v"])[:keys] / np.maximum(weights.sum(1, keepdims=True), 1)


def block_scaled_gemm(given: Arguments) -> Array:
    middle = 32 * given["n"]
    a = wide(given["a"])[:, :middle] * np.repeat(wide(given["p"])[:, : given["n"]], 32, 1)
    b = wide(given["b"])[:middle] * np.repeat(wide(given["q"])[: given["n"]], 32, 0)
    return a @ b


def written(given: Arguments, result: Array, rows: int) -> Array:
    """C as it was, with the first `n` tiles of so many rows overwritten by `result`."""
    c = wide(given["c"])
    c[: rows * given["n"]] = result[: rows * given["n"]]
    return c
