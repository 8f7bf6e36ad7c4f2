"""
Launches of the kernels in `written/`: what each is handed at some sizes, and what numpy makes of that.

A case says how the kernel is compiled (`words`, as `tileas` takes them); its function makes a launch of a size, whose
extents need not fit tiles. Arguments stand without constants, in the order of the parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
F16, BF16, F32, F64 = np.float16, ml_dtypes.bfloat16, np.float32, np.float64
F8 = ml_dtypes.float8_e4m3fn


@dataclass(frozen=True)
class Launch:
    """One launch: extents of the grid, arguments, and for some arguments what they hold at the end."""

    programs: tuple[int, ...]
    arguments: tuple[Any, ...]
    expected: dict[int, Array]
    close: float = 1e-5
    """How far numbers may be apart, relatively and absolutely."""


@dataclass(frozen=True)
class Case:
    """A kernel with types and constants, and its launches."""

    name: str
    file: str
    kernel: str
    words: str
    sizes: Sequence[tuple[int, ...]]
    make: Callable[..., Launch]

    def launch(self, size: tuple[int, ...]) -> Launch:
        """The launch of a size: the same numbers each time."""
        return self.make(np.random.default_rng(len(self.name) + sum(size)), *size)


CASES: dict[str, Case] = {}


def case(words: str, *sizes: tuple[int, ...], name: str | None = None) -> Callable[[Callable[..., Launch]], Any]:
    """Decorator: `file.kernel words`, and the sizes that the function makes launches of."""

    def register(make: Callable[..., Launch]) -> Callable[..., Launch]:
        where, _, given = words.partition(" ")
        file, _, kernel = where.partition(".")
        called = name or make.__name__
        CASES[called] = Case(called, f"{file}.py", kernel, given, sizes, make)
        return make

    return register


def up(size: int, tile: int) -> int:
    """How many tiles cover a size."""
    return -(-size // tile)


def normal(rng: Any, *shape: int, dtype: Any = F32) -> Array:
    """Numbers of a type."""
    return rng.standard_normal(shape).astype(dtype)


def exact(product: Array, dtype: Any) -> Array:
    return product.astype(dtype)


def wide(array: Array) -> Array:
    return array.astype(F64)


# Products -------------------------------------------------------------------------------------------------------------

EDGES = ((128, 128, 128), (200, 136, 104), (16, 8, 1))


def product(rng: Any, m: int, n: int, k: int, dtype: Any, result: Any, tiles: tuple[int, int] = (128, 128)) -> Launch:
    a, b = normal(rng, m, k, dtype=dtype), normal(rng, k, n, dtype=dtype)
    close = {F16: 2e-2, BF16: 1e-1, F32: 1e-4, F64: 1e-10}[result]
    d = np.zeros((m, n), result)
    return Launch((up(m, tiles[0]), up(n, tiles[1])), (a, b, d), {2: wide(a) @ wide(b)}, close)


@case("products.gemm f16:?x?, f16:?x?, f16:?x?, 128, 128, 64", *EDGES)
def gemm_f16(rng: Any, m: int, n: int, k: int) -> Launch:
    return product(rng, m, n, k, F16, F16)


@case("products.gemm bf16:?x?, bf16:?x?, f32:?x?, 128, 128, 64", *EDGES)
def gemm_bf16(rng: Any, m: int, n: int, k: int) -> Launch:
    return product(rng, m, n, k, BF16, F32)


@case("products.gemm f8:?x?, f8:?x?, f32:?x?, 64, 64, 64", *EDGES)
def gemm_f8(rng: Any, m: int, n: int, k: int) -> Launch:
    return product(rng, m, n, k, F8, F32, (64, 64))


@case("products.gemm_swizzled f16:?x?, f16:?x?, f16:?x?, 128, 64, 64, 4", *EDGES)
def gemm_swizzled(rng: Any, m: int, n: int, k: int) -> Launch:
    made = product(rng, m, n, k, F16, F16, (128, 64))
    return Launch((made.programs[0] * made.programs[1],), made.arguments, made.expected, made.close)


@case("products.gemm_tf32 f32:?x?, f32:?x?, f32:?x?, 128, 64, 32", *EDGES)
def gemm_tf32(rng: Any, m: int, n: int, k: int) -> Launch:
    made = product(rng, m, n, k, F32, F32, (128, 64))
    return Launch(made.programs, made.arguments, made.expected, 3e-2)


@case("products.gemm_f64 f64:?x?, f64:?x?, f64:?x?, 32, 32, 16", (64, 32, 32), (40, 33, 17), (3, 5, 1))
def gemm_f64(rng: Any, m: int, n: int, k: int) -> Launch:
    return product(rng, m, n, k, F64, F64, (32, 32))


@case("products.gemm_transposed f16:?x?, f16:?x?, f16:?x?, 128, 64, 64", *EDGES)
def gemm_transposed(rng: Any, m: int, n: int, k: int) -> Launch:
    a, b = normal(rng, m, k, dtype=F16), normal(rng, n, k, dtype=F16)
    return Launch((up(m, 128), up(n, 64)), (a, b, np.zeros((m, n), F16)), {2: wide(a) @ wide(b).T}, 2e-2)


@case("products.gemm_bias_gelu f16:?x?, f16:?x?, f16:?, f16:?x?, 128, 64, 64", *EDGES)
def gemm_bias_gelu(rng: Any, m: int, n: int, k: int) -> Launch:
    a, b, bias = normal(rng, m, k, dtype=F16), normal(rng, k, n, dtype=F16), normal(rng, n, dtype=F16)
    x = wide(a) @ wide(b) + wide(bias)
    y = 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))
    return Launch((up(m, 128), up(n, 64)), (a, b, bias, np.zeros((m, n), F16)), {3: y}, 2e-2)


@case("products.batched_gemm f16:?x?x?, f16:?x?x?, f16:?x?x?, 64, 64, 32", (2, 128, 64, 64), (3, 70, 40, 36))
def batched_gemm(rng: Any, batch: int, m: int, n: int, k: int) -> Launch:
    a, b = normal(rng, batch, m, k, dtype=F16), normal(rng, batch, k, n, dtype=F16)
    return Launch((batch, up(m, 64), up(n, 64)), (a, b, np.zeros((batch, m, n), F16)), {2: wide(a) @ wide(b)}, 2e-2)


@case("products.persistent_gemm f16:?x?, f16:?x?, f16:?x?, 128, 64, 64, 2", (3, 300, 260, 128), (5, 128, 128, 64))
def persistent_gemm(rng: Any, blocks: int, m: int, n: int, k: int) -> Launch:
    made = product(rng, m, n, k, F16, F16)
    return Launch((blocks,), made.arguments, made.expected, made.close)


@case("products.split_k_gemm f16:?x?, f16:?x?, f32:?x?, 64, 64, 32, 4", (64, 64, 256), (70, 60, 100), (8, 8, 16))
def split_k_gemm(rng: Any, m: int, n: int, k: int) -> Launch:
    made = product(rng, m, n, k, F16, F32, (64, 64))
    return Launch((*made.programs, 4), made.arguments, made.expected, 1e-3)


@case("products.grouped_gemm f16:?x?, f16:?x?x?, f16:?x?, i32:?, 64, 64, 32", (3, 4, 64, 64), (2, 3, 40, 36))
def grouped_gemm(rng: Any, experts: int, tiles: int, n: int, k: int) -> Launch:
    a, b = normal(rng, tiles * 64, k, dtype=F16), normal(rng, experts, k, n, dtype=F16)
    of = rng.integers(0, experts, tiles).astype(np.int32)
    d = np.concatenate([wide(a)[64 * i : 64 * i + 64] @ wide(b)[of[i]] for i in range(tiles)])
    return Launch((tiles, up(n, 64)), (a, b, np.zeros((tiles * 64, n), F16), of), {2: d}, 2e-2)


@case(
    "products.mixture_of_experts f16:?x?, f16:?x?x?, f16:?x?, i32:?, i32:?, f32:?, 64, 64, 32",
    (3, 100, 64, 64),
    (2, 50, 40, 36),
)
def mixture_of_experts(rng: Any, experts: int, tokens: int, n: int, k: int) -> Launch:
    tiles = experts + 1
    x, w = normal(rng, tokens, k, dtype=F16), normal(rng, experts, k, n, dtype=F16)
    of = rng.integers(0, tokens, tiles * 64 - 5).astype(np.int32)
    expert = rng.integers(0, experts, tiles).astype(np.int32)
    weights = rng.random(len(of)).astype(F32)
    y = np.concatenate([wide(x)[of[64 * i : 64 * i + 64]] @ wide(w)[expert[i]] for i in range(tiles)])
    out = np.zeros((len(of), n), F16)
    return Launch((tiles, up(n, 64)), (x, w, out, of, expert, weights), {2: y * weights[:, None]}, 2e-2)


@case("products.gemm_of_bytes i8:?x?, i8:?x?, i32:?x?, 64, 64, 64", (128, 64, 64), (70, 60, 50))
def gemm_of_bytes(rng: Any, m: int, n: int, k: int) -> Launch:
    a, b = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((m, k), (k, n)))
    d = a.astype(np.int32) @ b.astype(np.int32)
    return Launch((up(m, 64), up(n, 64)), (a, b, np.zeros((m, n), np.int32)), {2: d})


@case("products.gemm_dequantised f16:?x?, i8:?x?, f32:?, f16:?x?, 128, 64, 64", *EDGES)
def gemm_dequantised(rng: Any, m: int, n: int, k: int) -> Launch:
    a, b = normal(rng, m, k, dtype=F16), rng.integers(-128, 128, (k, n)).astype(np.int8)
    scales = (rng.random(n) * 0.01).astype(F32)
    return Launch((up(m, 128), up(n, 64)), (a, b, scales, np.zeros((m, n), F16)), {3: wide(a) @ wide(b) * scales}, 2e-2)


F4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


@case("products.gemm_of_f4_bits f16:?x?, u8:?x?, f16:?x?, 64, 64, 64", (64, 64, 128), (70, 60, 100))
def gemm_of_f4_bits(rng: Any, m: int, n: int, k: int) -> Launch:
    a, bits = normal(rng, m, k, dtype=F16), rng.integers(0, 256, (k // 2, n)).astype(np.uint8)
    nibbles = np.stack([bits & 15, bits >> 4], 1).reshape(k, n)
    b = F4[nibbles & 7] * np.where(nibbles & 8, -1, 1)
    return Launch((up(m, 64), up(n, 64)), (a, bits, np.zeros((m, n), F16)), {2: wide(a) @ b}, 5e-2)


@case("products.few_rows f16:?x?, f16:?x?, f16:?x?, 16, 64, 64", (16, 128, 128), (3, 100, 72))
def few_rows(rng: Any, m: int, n: int, k: int) -> Launch:
    made = product(rng, m, n, k, F16, F16, (16, 64))
    return Launch((made.programs[1],), made.arguments, made.expected, made.close)


@case("products.matrix_by_vector f16:?x?, f16:?, f32:?, 32, 128", (64, 256), (40, 300), (3, 1))
def matrix_by_vector(rng: Any, m: int, k: int) -> Launch:
    a, x = normal(rng, m, k, dtype=F16), normal(rng, k, dtype=F16)
    return Launch((up(m, 32),), (a, x, np.zeros(m, F32)), {2: wide(a) @ wide(x)}, 1e-3)


@case("products.convolution f16:?x?x?, f16:?x?x?, f16:?x?x?, 3, 64, 64, 32", (2, 128, 64, 64), (1, 70, 40, 36))
def convolution(rng: Any, images: int, length: int, channels: int, filters: int) -> Launch:
    x = normal(rng, images, length, channels, dtype=F16)
    w = normal(rng, 3, channels, filters, dtype=F16)
    padded = np.pad(wide(x), ((0, 0), (1, 1), (0, 0)))
    y = sum(padded[:, s : s + length] @ wide(w)[s] for s in range(3))
    out = np.zeros((images, length, filters), F16)
    return Launch((images, up(length, 64), up(filters, 64)), (x, w, out), {2: np.asarray(y)}, 5e-2)


@case("products.fourier f16:?x?, f16:?x?, f16:64x64, f16:64x64, f32:?x?, f32:?x?, 64, 64", (64,), (40,))
def fourier(rng: Any, rows: int) -> Launch:
    n = 64
    re, im = normal(rng, rows, n, dtype=F16), normal(rng, rows, n, dtype=F16)
    angle = 2 * np.pi * np.outer(np.arange(n), np.arange(n)) / n
    cos, sin = np.cos(angle).astype(F16), np.sin(angle).astype(F16)
    y = np.fft.fft(wide(re) + 1j * wide(im), axis=1)
    outs = np.zeros((rows, n), F32), np.zeros((rows, n), F32)
    return Launch((up(rows, 64),), (re, im, cos, sin, *outs), {4: y.real, 5: y.imag}, 5e-2)


# Rows -----------------------------------------------------------------------------------------------------------------


def softmax_of(x: Array) -> Array:
    e = np.exp(wide(x) - wide(x).max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def one_row(rng: Any, rows: int, n: int) -> Launch:
    x = normal(rng, rows, n, dtype=F16)
    return Launch((rows,), (x, np.zeros_like(x)), {1: softmax_of(x)}, 2e-3)


@case("rows.softmax f16:?x?, f16:?x?, 256", (3, 256), (2, 200), (1, 1))
def softmax(rng: Any, rows: int, n: int) -> Launch:
    return one_row(rng, rows, n)


@case("rows.softmax f16:?x?, f16:?x?, 4096", (2, 4096), (2, 3001))
def softmax_of_long_rows(rng: Any, rows: int, n: int) -> Launch:
    return one_row(rng, rows, n)


@case("rows.softmax_in_pieces f16:?x?, f16:?x?, 1024", (2, 4096), (2, 5000), (1, 7))
def softmax_in_pieces(rng: Any, rows: int, n: int) -> Launch:
    return one_row(rng, rows, n)


@case("rows.layer_norm f16:?x?, f32:?, f32:?, f16:?x?, f32:?, f32:?, 1e-5, 1024", (2, 4096), (2, 5000), (1, 7))
def layer_norm(rng: Any, rows: int, n: int) -> Launch:
    x, w, b = normal(rng, rows, n, dtype=F16), normal(rng, n), normal(rng, n)
    mean, rstd = wide(x).mean(axis=1), 1 / np.sqrt(wide(x).var(axis=1) + 1e-5)
    y = (wide(x) - mean[:, None]) * rstd[:, None] * w + b
    outs = np.zeros_like(x), np.zeros(rows, F32), np.zeros(rows, F32)
    return Launch((rows,), (x, w, b, *outs), {3: y, 4: mean, 5: rstd}, 5e-3)


@case(
    "rows.layer_norm_backward f16:?x?, f16:?x?, f32:?, f32:?, f32:?, f16:?x?, f32:?, f32:?, 1024", (3, 1024), (4, 777)
)
def layer_norm_backward(rng: Any, rows: int, n: int) -> Launch:
    dy, x, w = normal(rng, rows, n, dtype=F16), normal(rng, rows, n, dtype=F16), normal(rng, n)
    mean, rstd = wide(x).mean(axis=1).astype(F32), (1 / np.sqrt(wide(x).var(axis=1) + 1e-5)).astype(F32)
    centred = (wide(x) - mean[:, None]) * rstd[:, None]
    weighted = wide(dy) * w
    c1, c2 = (centred * weighted).mean(axis=1, keepdims=True), weighted.mean(axis=1, keepdims=True)
    dx = (weighted - centred * c1 - c2) * rstd[:, None]
    outs = np.zeros_like(x), np.zeros(n, F32), np.zeros(n, F32)
    expected = {5: dx, 6: (wide(dy) * centred).sum(axis=0), 7: wide(dy).sum(axis=0)}
    return Launch((rows,), (dy, x, w, mean, rstd, *outs), expected, 5e-3)


@case("rows.rms_norm bf16:?x?, bf16:?, bf16:?x?, 1e-6, 4, 1024", (8, 1024), (5, 1000))
def rms_norm(rng: Any, rows: int, n: int) -> Launch:
    x, w = normal(rng, rows, n, dtype=BF16), normal(rng, n, dtype=BF16)
    y = wide(x) / np.sqrt((wide(x) ** 2).mean(axis=1, keepdims=True) + 1e-6) * wide(w)
    return Launch((up(rows, 4),), (x, w, np.zeros_like(x)), {2: y}, 2e-2)


@case("rows.rms_norm_gathered f16:?x?, f16:?, f16:?x?, f32:?, 1e-6, 1024", (2, 4096), (2, 5000), (1, 3))
def rms_norm_gathered(rng: Any, rows: int, n: int) -> Launch:
    x, w = normal(rng, rows, n, dtype=F16), normal(rng, n, dtype=F16)
    rstd = 1 / np.sqrt((wide(x) ** 2).mean(axis=1) + 1e-6)
    return Launch(
        (rows,), (x, w, np.zeros_like(x), np.zeros(rows, F32)), {2: wide(x) * rstd[:, None] * wide(w), 3: rstd}, 5e-3
    )


@case("rows.rms_norm_backward f16:?x?, f16:?x?, f16:?, f32:?, f16:?x?, f32:?x?, 4, 1024", (2, 1024), (3, 900))
def rms_norm_backward(rng: Any, blocks: int, n: int) -> Launch:
    rows = blocks * 4
    dy, x, w = normal(rng, rows, n, dtype=F16), normal(rng, rows, n, dtype=F16), normal(rng, n, dtype=F16)
    rstd = (1 / np.sqrt((wide(x) ** 2).mean(axis=1) + 1e-6)).astype(F32)
    normed, weighted = wide(x) * rstd[:, None], wide(dy) * wide(w)
    dx = (weighted - normed * (normed * weighted).mean(axis=1, keepdims=True)) * rstd[:, None]
    parts = (wide(dy) * normed).reshape(blocks, 4, n).sum(axis=1)
    outs = np.zeros_like(x), np.zeros((blocks, n), F32)
    return Launch((blocks,), (dy, x, w, rstd, *outs), {4: dx, 5: parts}, 5e-3)


@case("rows.cross_entropy f16:?x?, i32:?, f32:?, f16:?x?, -100, 1024", (3, 4096), (3, 5000), (2, 7))
def cross_entropy(rng: Any, rows: int, n: int) -> Launch:
    x, labels = normal(rng, rows, n, dtype=F16), rng.integers(0, n, rows).astype(np.int32)
    labels[-1] = -100
    counts = labels != -100
    p = softmax_of(x)
    at = np.where(counts, labels, 0)
    loss = np.where(counts, -np.log(p[np.arange(rows), at]), 0)
    gradient = (p - (np.arange(n)[None] == labels[:, None])) * counts[:, None]
    return Launch((rows,), (x, labels, np.zeros(rows, F32), np.zeros_like(x)), {2: loss, 3: gradient}, 5e-3)


@case("rows.top_1 f32:?x?, f32:?, i32:?, 8, 256", (16, 256), (10, 200), (1, 1))
def top_1(rng: Any, rows: int, n: int) -> Launch:
    x = normal(rng, rows, n)
    outs = np.zeros(rows, F32), np.zeros(rows, np.int32)
    return Launch((up(rows, 8),), (x, *outs), {1: x.max(axis=1), 2: x.argmax(axis=1)})


@case("rows.running_sums f32:?x?, f32:?x?, 16, 64", (16, 128), (20, 90))
def running_sums(rng: Any, rows: int, n: int) -> Launch:
    x = normal(rng, rows, n)
    return Launch((up(rows, 16),), (x, np.zeros_like(x)), {1: np.cumsum(wide(x), axis=1)}, 1e-4)


@case("rows.linear_recurrence f32:?x?, f32:?x?, f32:?x?, 128", (3, 128), (2, 100))
def linear_recurrence(rng: Any, rows: int, n: int) -> Launch:
    a, b = rng.random((rows, n)).astype(F32), normal(rng, rows, n)
    y = np.zeros((rows, n))
    for t in range(n):
        y[:, t] = wide(a)[:, t] * (y[:, t - 1] if t else 0) + b[:, t]
    return Launch((rows,), (a, b, np.zeros((rows, n), F32)), {2: y}, 1e-4)


@case("rows.quantise_rows f16:?x?, i8:?x?, f32:?, 4, 256", (8, 256), (5, 200))
def quantise_rows(rng: Any, rows: int, n: int) -> Launch:
    x = normal(rng, rows, n, dtype=F16)
    scale = np.maximum(np.abs(x.astype(F32)).max(axis=1), F32(1e-10)) / F32(127)
    q = np.clip(np.floor(x.astype(F32) / scale[:, None] + F32(0.5)), -127, 127).astype(np.int8)
    return Launch((up(rows, 4),), (x, np.zeros((rows, n), np.int8), np.zeros(rows, F32)), {1: q, 2: scale})


@case("rows.dequantise_blocks i8:?x?, f32:?x?, f16:?x?, 32, 64", (64, 128), (50, 100))
def dequantise_blocks(rng: Any, rows: int, n: int) -> Launch:
    q = rng.integers(-128, 128, (rows, n)).astype(np.int8)
    scales = rng.random((up(rows, 32), up(n, 64))).astype(F32)
    y = wide(q) * np.repeat(np.repeat(scales, 32, 0), 64, 1)[:rows, :n]
    return Launch(scales.shape, (q, scales, np.zeros((rows, n), F16)), {2: y}, 2e-2)


@case("rows.quantise_f8 f16:?x?, f8:?x?, f32:?, 512", (2, 1024), (2, 700), (1, 3))
def quantise_f8(rng: Any, rows: int, n: int) -> Launch:
    x = normal(rng, rows, n, dtype=F16)
    scale = np.maximum(np.abs(x.astype(F32)).max(axis=1), F32(1e-12)) / F32(448)
    q = (x.astype(F32) / scale[:, None]).astype(F8)
    return Launch((rows,), (x, np.zeros((rows, n), F8), np.zeros(rows, F32)), {1: q.astype(F32), 2: scale}, 1e-5)


@case("rows.sums_of_f64 f64:?x?, f64:?, 8, 64", (16, 128), (10, 100))
def sums_of_f64(rng: Any, rows: int, n: int) -> Launch:
    x = normal(rng, rows, n, dtype=F64)
    return Launch((up(rows, 8),), (x, np.zeros(rows)), {1: x.sum(axis=1)}, 1e-12)


@case("rows.variance_by_welford f32:?x?, f32:?, f32:?, 256", (3, 256))
def variance_by_welford(rng: Any, rows: int, n: int) -> Launch:
    x = normal(rng, rows, n)
    outs = np.zeros(rows, F32), np.zeros(rows, F32)
    return Launch((rows,), (x, *outs), {1: wide(x).mean(axis=1), 2: wide(x).var(axis=1)}, 1e-4)


# Attention ------------------------------------------------------------------------------------------------------------


def attended(q: Array, k: Array, v: Array, scale: float, mask: Array | None = None) -> tuple[Array, Array]:
    """The result of attention, and the log of the sums."""
    s = scale * (wide(q) @ wide(k).swapaxes(-1, -2))
    if mask is not None:
        s = s + mask
    most = s.max(axis=-1, keepdims=True)
    e = np.exp(s - most)
    total = e.sum(axis=-1, keepdims=True)
    return (e / total) @ wide(v), (most + np.log(total))[..., 0]


def heads(rng: Any, count: int, queries: int, keys: int, depth: int) -> tuple[Array, Array, Array]:
    return tuple(normal(rng, count, n, depth, dtype=F16) for n in (queries, keys, keys))  # pyright: ignore


LOWER = -1e30


def attention_case(rng: Any, queries: int, keys: int, causal: bool) -> Launch:
    q, k, v = heads(rng, 2, queries, keys, 64)
    mask = np.where(np.arange(queries)[:, None] >= np.arange(keys)[None], 0, LOWER) if causal else None
    out, _ = attended(q, k, v, 0.125, mask)
    return Launch((up(queries, 64), 2), (q, k, v, np.zeros_like(q), F32(0.125)), {3: out}, 1e-2)


Q3 = "f16:?x?x?, f16:?x?x?, f16:?x?x?, f16:?x?x?, f32"


@case(f"attention.attention {Q3}, 64, 64, 64, False", (128, 128), (70, 90), (1, 3))
def attention(rng: Any, queries: int, keys: int) -> Launch:
    return attention_case(rng, queries, keys, False)


@case(f"attention.attention {Q3}, 64, 64, 64, True", (128, 128), (90, 90), (3, 3))
def attention_causal(rng: Any, queries: int, keys: int) -> Launch:
    return attention_case(rng, queries, keys, True)


@case(
    "attention.attention_4d f16:?x?x?x?, f16:?x?x?x?, f16:?x?x?x?, f16:?x?x?x?, f32:?x?, f32, 4, 2, 64, 64, 64",
    (128, 128),
    (70, 40),
)
def attention_grouped(rng: Any, queries: int, keys: int) -> Launch:
    q = normal(rng, 2, 4, queries, 64, dtype=F16)
    k, v = normal(rng, 2, 2, keys, 64, dtype=F16), normal(rng, 2, 2, keys, 64, dtype=F16)
    out, lse = attended(q, np.repeat(k, 2, 1), np.repeat(v, 2, 1), 0.125)
    outs = np.zeros_like(q), np.zeros((8, queries), F32)
    return Launch((up(queries, 64), 8), (q, k, v, *outs, F32(0.125)), {3: out, 4: lse.reshape(8, queries)}, 1e-2)


@case(
    "attention.attention_with_mask f16:?x?x?, f16:?x?x?, f16:?x?x?, f32:?x?, f16:?x?x?, f32, 40, 64, 64, 64",
    (128, 128),
    (100, 90),
)
def attention_with_mask(rng: Any, queries: int, keys: int) -> Launch:
    q, k, v = heads(rng, 2, queries, keys, 64)
    mask = normal(rng, queries, keys)
    apart = np.abs(np.arange(queries)[:, None] - np.arange(keys)[None])
    out, _ = attended(q, k, v, 0.125, np.where(apart <= 40, mask, LOWER))
    return Launch((up(queries, 64), 2), (q, k, v, mask, np.zeros_like(q), F32(0.125)), {4: out}, 1e-2)


@case(
    "attention.decoding f16:?x?x?, f16:?x?x?, f16:?x?x?, f32:?x?x?x?, f32:?x?x?, f32, 2, 16, 64, 64",
    (2, 256),
    (1, 150),
)
def decoding(rng: Any, batch: int, keys: int) -> Launch:
    q, k, v = heads(rng, batch, 16, keys, 64)
    splits = up(keys, 128)
    parts = [attended(q, k[:, 128 * s : 128 * s + 128], v[:, 128 * s : 128 * s + 128], 0.125) for s in range(splits)]
    out = np.stack([part for part, _ in parts], 1)
    lse = np.stack([log for _, log in parts], 1) / np.log(2)
    outs = np.zeros(out.shape, F32), np.zeros(lse.shape, F32)
    return Launch((batch, splits), (q, k, v, *outs, F32(0.125)), {3: out, 4: lse}, 1e-2)


@case("attention.merge_splits f32:?x?x?x?, f32:?x?x?, f16:?x?x?, 4, 16, 64", (3,))
def merge_splits(rng: Any, batch: int) -> Launch:
    parts, lse = normal(rng, batch, 4, 16, 64), normal(rng, batch, 4, 16)
    weights = np.exp2(lse) / np.exp2(lse).sum(axis=1, keepdims=True)
    out = (parts * weights[..., None]).sum(axis=1)
    return Launch((batch,), (parts, lse, np.zeros((batch, 16, 64), F16)), {2: out}, 5e-3)


@case(
    "attention.paged_decoding f16:?x?x?, f16:?x?x?, f16:?x?x?, i32:?x?, i32:?, f16:?x?x?, f32, 16, 64, 64",
    (130, 64, 200),
    (1, 65),
)
def paged_decoding(rng: Any, *lengths: int) -> Launch:
    batch, pages = len(lengths), 9
    q = normal(rng, batch, 16, 64, dtype=F16)
    keys, values = normal(rng, pages, 64, 64, dtype=F16), normal(rng, pages, 64, 64, dtype=F16)
    table = np.stack([rng.permutation(pages)[:4] for _ in lengths]).astype(np.int32)
    out = np.zeros((batch, 16, 64))
    for b, length in enumerate(lengths):
        k, v = (wide(each)[table[b]].reshape(-1, 64)[:length] for each in (keys, values))
        out[b], _ = attended(q[b], k, v, 0.125)
    given = q, keys, values, table, np.array(lengths, np.int32), np.zeros((batch, 16, 64), F16), F32(0.125)
    return Launch((batch,), given, {5: out}, 1e-2)


@case("attention.ragged_attention f16:?x?x?, f16:?x?x?, f16:?x?x?, i32:?, f16:?x?x?, f32, 64, 32, 64", (70, 3, 130))
def ragged_attention(rng: Any, *lengths: int) -> Launch:
    starts = np.cumsum([0, *lengths]).astype(np.int32)
    q, k, v = heads(rng, 2, starts[-1], starts[-1], 64)
    parts = [attended(q[:, a:b], k[:, a:b], v[:, a:b], 0.125)[0] for a, b in itertools.pairwise(starts)]
    out = np.concatenate(parts, axis=1)
    grid = up(max(lengths), 64), len(lengths), 2
    return Launch(grid, (q, k, v, starts, np.zeros_like(q), F32(0.125)), {4: out}, 1e-2)


@case("attention.delta_rule f16:?x?x?, f16:?x?x?, f16:?x?x?, f32:?x?, f16:?x?x?, 32, 64", (2, 96), (1, 50))
def delta_rule(rng: Any, count: int, length: int) -> Launch:
    q, k, v = (x * F16(0.15) for x in heads(rng, count, length, length, 64))
    beta = rng.random((count, length)).astype(F32)
    out = np.zeros(q.shape)
    for h in range(count):
        state = np.zeros((64, 64))
        for at in range(0, length, 32):
            qc, kc, vc, bc = (wide(each)[h, at : at + 32] for each in (q, k, v, beta))
            change = (vc - kc @ state) * bc[:, None]
            out[h, at : at + 32] = qc @ state + np.tril(qc @ kc.T) @ change
            state = state + kc.T @ change
    return Launch((count,), (q, k, v, beta, np.zeros_like(q)), {4: out}, 1e-2)


# Places ---------------------------------------------------------------------------------------------------------------


@case("places.vector_add f32:?, f32:?, f32:?, 256", (512,), (300,), (1,))
def vector_add(rng: Any, n: int) -> Launch:
    x, y = normal(rng, n), normal(rng, n)
    return Launch((up(n, 256),), (x, y, np.zeros_like(x)), {2: x + y}, 0)


@case("places.vector_add_gathered f32:?, f32:?, f32:?, 256", (512,), (300,), (1,))
def vector_add_gathered(rng: Any, n: int) -> Launch:
    return vector_add(rng, n)


@case("places.transpose f16:?x?, f16:?x?, 64, 32", (128, 64), (70, 50))
def transpose(rng: Any, m: int, n: int) -> Launch:
    x = normal(rng, m, n, dtype=F16)
    return Launch((up(m, 64), up(n, 32)), (x, np.zeros((n, m), F16)), {1: x.T}, 0)


@case("places.swiglu f16:?x?, f16:?x?, f16:?x?, 8, 256", (16, 512), (10, 300))
def swiglu(rng: Any, m: int, n: int) -> Launch:
    gate, up_ = normal(rng, m, n, dtype=F16), normal(rng, m, n, dtype=F16)
    y = wide(gate) / (1 + np.exp(-wide(gate))) * wide(up_)
    return Launch((up(m, 8), up(n, 256)), (gate, up_, np.zeros_like(gate)), {2: y}, 3e-3)


@case("places.rope f16:?x?x?, f32:?x?, f32:?x?, 32, 8", (3, 8), (2, 5))
def rope(rng: Any, tokens: int, count: int) -> Launch:
    q = normal(rng, tokens, count, 64, dtype=F16)
    angle = rng.random((tokens, 32))
    cos, sin = np.cos(angle).astype(F32), np.sin(angle).astype(F32)
    first, second = wide(q)[..., :32], wide(q)[..., 32:]
    c, s = cos[:, None], sin[:, None]
    turned = np.concatenate([first * c - second * s, second * c + first * s], -1)
    return Launch((tokens,), (q, cos, sin), {0: turned}, 5e-3)


@case("places.adam f32:?, f32:?, f32:?, f32:?, f32, f32, f32, f32, 256", (512,), (300,))
def adam(rng: Any, n: int) -> Launch:
    p, g, m = (normal(rng, n) for _ in range(3))
    v = rng.random(n).astype(F32)
    m2, v2 = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    p2 = p - 0.1 * m2 / (np.sqrt(v2) + 1e-8)
    given = p, g, m, v, F32(0.1), F32(0.9), F32(0.99), F32(1e-8)
    return Launch((up(n, 256),), given, {0: p2, 2: m2, 3: v2}, 1e-4)


@case("places.dropout f32:?, f32:?, i32, f32, 256", (512,), (300,))
def dropout(rng: Any, n: int) -> Launch:
    x = normal(rng, n)
    h = np.arange(n, dtype=np.uint32) + np.uint32(1234)
    for _ in range(2):
        h = (h ^ (h >> np.uint32(16))) * np.uint32(0x45D9F3B)
    h = h ^ (h >> np.uint32(16))
    stays = (h >> np.uint32(8)).astype(F32) * F32(1 / 16777216) < F32(0.7)
    y = np.where(stays, x / F32(0.7), 0)
    return Launch((up(n, 256),), (x, np.zeros_like(x), 1234, F32(0.7)), {1: y}, 1e-6)


@case("places.histogram i32:?, i32:?, 256, 64", (512,), (300,))
def histogram(rng: Any, n: int) -> Launch:
    x = rng.integers(0, 64, n).astype(np.int32)
    return Launch((up(n, 256),), (x, np.zeros(64, np.int32)), {1: np.bincount(x, minlength=64)})


@case("places.embedding f16:?x?, i32:?, f16:?x?, 128", (5, 256), (4, 100))
def embedding(rng: Any, tokens: int, depth: int) -> Launch:
    table, of = normal(rng, 20, depth, dtype=F16), rng.integers(0, 20, tokens).astype(np.int32)
    return Launch((tokens, up(depth, 128)), (table, of, np.zeros((tokens, depth), F16)), {2: table[of]}, 0)


@case("places.embedding_backward f32:?x?, i32:?, f32:?x?, 8, 64", (16, 128), (13, 100))
def embedding_backward(rng: Any, tokens: int, depth: int) -> Launch:
    d, of = normal(rng, tokens, depth), rng.integers(0, 6, tokens).astype(np.int32)
    table = np.zeros((6, depth))
    np.add.at(table, of, wide(d))
    return Launch((up(tokens, 8), up(depth, 64)), (d, of, np.zeros((6, depth), F32)), {2: table}, 1e-4)


@case("places.gather_rows f32:?x?, i32:?, f32:?x?, 16, 64", (32, 64), (20, 50))
def gather_rows(rng: Any, n: int, depth: int) -> Launch:
    table, rows = normal(rng, 30, depth), rng.integers(0, 35, n).astype(np.int32)
    out = np.where((rows < 30)[:, None], table[np.minimum(rows, 29)], 0)
    return Launch((up(n, 16),), (table, rows, np.zeros((n, depth), F32)), {2: out}, 0)


@case("places.roots f32:?, f32:?, i32:?, 128", (256,), (200,))
def roots(rng: Any, n: int) -> Launch:
    x = (rng.random(n) * 100).astype(F32)
    return Launch((up(n, 128),), (x, np.zeros_like(x), np.zeros(up(n, 128), np.int32)), {1: np.sqrt(wide(x))}, 1e-2)


@case("places.blend u8:?x?, u8:?x?, u8:?x?, i32, 16, 64", (32, 128), (20, 100))
def blend(rng: Any, m: int, n: int) -> Launch:
    a, b = (rng.integers(0, 256, (m, n)).astype(np.uint8) for _ in range(2))
    out = np.clip((a.astype(np.int32) * 77 + b.astype(np.int32) * 179 + 128) >> 8, 0, 255)
    return Launch((up(m, 16), up(n, 64)), (a, b, np.zeros_like(a), 77), {2: out})


@case("places.stencil f32:?x?, f32:?x?, 16, 64", (32, 128), (20, 100))
def stencil(rng: Any, m: int, n: int) -> Launch:
    x = normal(rng, m, n)
    p = np.pad(wide(x), 1)
    y = 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) - x
    return Launch((up(m, 16), up(n, 64)), (x, np.zeros_like(x)), {1: y})


@case("places.f8_bits u8:?, f32:?, 256", (512,), (300,))
def f8_bits(rng: Any, n: int) -> Launch:
    x = rng.integers(0, 120, n).astype(np.uint8)
    return Launch((up(n, 256),), (x, np.zeros(n, F32)), {1: wide(x.view(F8)) * 2}, 0)


@case("places.functions f32:?, f32:?, f32:?, f32, 64", (128,), (100,))
def functions(rng: Any, n: int) -> Launch:
    x, y = normal(rng, n), normal(rng, n)
    a, b = wide(x), wide(y)
    low = np.minimum(np.tanh(a) + np.sin(b) * np.cos(a), np.sqrt(np.abs(a)) / (1 + np.exp(-b)))
    z = np.where(low > 0.25, np.floor(a), np.ceil(b)) - np.log2(1 + a * a) + np.arctan2(a, b)
    return Launch((up(n, 64),), (x, y, np.zeros_like(x), F32(0.25)), {2: z})


@case("places.butterflies f32:?x?, f32:?x?, f32:7x64, f32:7x64, f32:?x?, f32:?x?, 128, 7", (3,))
def butterflies(rng: Any, rows: int) -> Launch:
    n, log_n = 128, 7
    re, im = normal(rng, rows, n), normal(rng, rows, n)
    j = np.arange(n // 2)
    angle = np.stack([-2 * np.pi * (j >> step << step) / n for step in range(log_n)])
    y = np.fft.fft(wide(re) + 1j * wide(im), axis=1)
    cos, sin = np.cos(angle).astype(F32), np.sin(angle).astype(F32)
    outs = np.zeros((rows, n), F32), np.zeros((rows, n), F32)
    return Launch((rows,), (re, im, cos, sin, *outs), {4: y.real, 5: y.imag}, 1e-3)


@case("places.accumulate_locked f32:?x?, i32:?, f32:?x?, 128", (4, 128), (3, 100))
def accumulate_locked(rng: Any, blocks: int, n: int) -> Launch:
    x = normal(rng, blocks, n)
    return Launch((blocks,), (x, np.zeros(1, np.int32), np.zeros((1, n), F32)), {2: wide(x).sum(axis=0)[None]}, 1e-4)
