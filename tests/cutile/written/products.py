"""Products of matrices in cuTile Python, as people write them."""

from __future__ import annotations

import cuda.tile as ct

C = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def placed(block, rows, columns, tm, tn, group):
    """The tile of a block: tiles of `group` rows first, so that they share what they read."""
    down, across = ct.cdiv(rows, tm), ct.cdiv(columns, tn)
    per_group = group * across
    first = block // per_group * group
    tall = min(down - first, group)
    return first + block % per_group % tall, block % per_group // tall


@ct.kernel
def gemm(A, B, D, tm: C, tn: C, tk: C):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(D, index=(row, column), tile=ct.astype(total, D.dtype))


@ct.kernel
def gemm_swizzled(A, B, D, tm: C, tn: C, tk: C, group: C):
    row, column = placed(ct.bid(0), A.shape[0], B.shape[1], tm, tn, group)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(D, index=(row, column), tile=ct.astype(total, D.dtype))


@ct.kernel
def gemm_tf32(A, B, D, tm: C, tn: C, tk: C):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
        total = ct.mma(ct.astype(a, ct.tfloat32), ct.astype(b, ct.tfloat32), total)
    ct.store(D, index=(row, column), tile=total)


@ct.kernel
def gemm_f64(A, B, D, tm: C, tn: C, tk: C):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float64)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(D, index=(row, column), tile=total)


@ct.kernel
def gemm_transposed(A, B, D, tm: C, tn: C, tk: C):
    """D = A B^T, where B is loaded as it lies and turned in registers."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.cdiv(A.shape[1], tk)):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(column, k), shape=(tn, tk), padding_mode=ZERO)
        total = ct.mma(a, ct.transpose(b), total)
    ct.store(D, index=(row, column), tile=ct.astype(total, D.dtype))


@ct.kernel
def gemm_bias_gelu(A, B, Bias, D, tm: C, tn: C, tk: C):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    bias = ct.load(Bias, index=(column,), shape=(tn,), padding_mode=ZERO)
    x = total + ct.astype(bias, ct.float32)[None, :]
    y = 0.5 * x * (1.0 + ct.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    ct.store(D, index=(row, column), tile=ct.astype(y, D.dtype))


@ct.kernel
def batched_gemm(A, B, D, tm: C, tn: C, tk: C):
    batch, row, column = ct.bid(0), ct.bid(1), ct.bid(2)
    total = ct.zeros((1, tm, tn), dtype=ct.float32)
    for k in range(ct.cdiv(A.shape[2], tk)):
        a = ct.load(A, index=(batch, row, k), shape=(1, tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(batch, k, column), shape=(1, tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(D, index=(batch, row, column), tile=ct.astype(total, D.dtype))


@ct.kernel
def persistent_gemm(A, B, D, tm: C, tn: C, tk: C, group: C):
    tiles = ct.cdiv(A.shape[0], tm) * ct.cdiv(B.shape[1], tn)
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        row, column = placed(tile, A.shape[0], B.shape[1], tm, tn, group)
        total = ct.zeros((tm, tn), dtype=ct.float32)
        for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
            a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
            b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
            total = ct.mma(a, b, total)
        ct.store(D, index=(row, column), tile=ct.astype(total, D.dtype))


@ct.kernel
def split_k_gemm(A, B, D, tm: C, tn: C, tk: C, parts: C):
    """Each block sums a part of K, and adds what it has to D."""
    row, column, part = ct.bid(0), ct.bid(1), ct.bid(2)
    tiles = ct.num_tiles(A, axis=1, shape=(tm, tk))
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(part, tiles, parts):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    rows = row * tm + ct.arange(tm, dtype=ct.int32)
    columns = column * tn + ct.arange(tn, dtype=ct.int32)
    ct.atomic_add(D, (rows[:, None], columns[None, :]), total, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def grouped_gemm(A, B, D, Experts, tm: C, tn: C, tk: C):
    """Rows of A in tiles that each belong to one expert, whose matrix is a slice of B."""
    row, column = ct.bid(0), ct.bid(1)
    expert = ct.load(Experts, index=(row,), shape=(1,)).item()
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(expert, k, column), shape=(1, tk, tn), padding_mode=ZERO)
        total = ct.mma(a, ct.reshape(b, (tk, tn)), total)
    ct.store(D, index=(row, column), tile=ct.astype(total, D.dtype))


@ct.kernel
def mixture_of_experts(X, W, Out, Tokens, Experts, Weights, tm: C, tn: C, tk: C):
    """Gathers the tokens of an expert, multiplies them, and scatters what comes out."""
    row, column = ct.bid(0), ct.bid(1)
    places = row * tm + ct.arange(tm, dtype=ct.int32)
    tokens = ct.gather(Tokens, places, padding_value=0x7FFFFFFF)
    expert = ct.load(Experts, index=(row,), shape=(1,)).item()
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.cdiv(X.shape[1], tk)):
        depth = k * tk + ct.arange(tk, dtype=ct.int32)
        x = ct.gather(X, (tokens[:, None], depth[None, :]))
        w = ct.load(W, index=(expert, k, column), shape=(1, tk, tn), padding_mode=ZERO)
        total = ct.mma(x, ct.reshape(w, (tk, tn)), total)
    weights = ct.gather(Weights, places)
    columns = column * tn + ct.arange(tn, dtype=ct.int32)
    ct.scatter(Out, (places[:, None], columns[None, :]), ct.astype(total * weights[:, None], Out.dtype))


@ct.kernel
def gemm_of_bytes(A, B, D, tm: C, tn: C, tk: C):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.int32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(D, index=(row, column), tile=total)


@ct.kernel
def gemm_dequantised(A, B, Scales, D, tm: C, tn: C, tk: C):
    """B holds 8 bits a weight, and a scale for each column."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
        total = ct.mma(a, ct.astype(b, A.dtype), total)
    scales = ct.load(Scales, index=(column,), shape=(tn,), padding_mode=ZERO)
    ct.store(D, index=(row, column), tile=ct.astype(total * scales[None, :], D.dtype))


@ct.kernel
def gemm_of_f4_bits(A, B, D, tm: C, tn: C, tk: C):
    """Two weights of 4 bits (sign, two of exponent, one of mantissa) a byte: row k of B holds rows 2k and 2k + 1."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(B, axis=0, shape=(tk // 2, tn))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        bits = ct.astype(ct.load(B, index=(k, column), shape=(tk // 2, tn), padding_mode=ZERO), ct.int32)
        low, high = bits & 15, bits >> 4
        both = ct.reshape(ct.cat((low[:, None, :], high[:, None, :]), axis=1), (tk, tn))
        exponent, mantissa = (both >> 1) & 3, ct.astype(both & 1, ct.float32)
        size = ct.where(
            exponent == 0, mantissa * 0.5, (1.0 + 0.5 * mantissa) * ct.astype(1 << exponent, ct.float32) * 0.5
        )
        b = ct.where((both & 8) != 0, -size, size)
        total = ct.mma(a, ct.astype(b, A.dtype), total)
    ct.store(D, index=(row, column), tile=ct.astype(total, D.dtype))


@ct.kernel
def few_rows(A, B, D, tm: C, tn: C, tk: C):
    """As many rows as decoding has: fewer than a warpgroup multiplies."""
    column = ct.bid(0)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(0, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ZERO)
        total = ct.mma(a, b, total)
    ct.store(D, index=(0, column), tile=ct.astype(total, D.dtype))


@ct.kernel
def matrix_by_vector(A, X, Y, tm: C, tk: C):
    row = ct.bid(0)
    total = ct.zeros((tm, tk), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ZERO)
        x = ct.load(X, index=(k,), shape=(tk,), padding_mode=ZERO)
        total = total + ct.astype(a, ct.float32) * ct.astype(x, ct.float32)[None, :]
    ct.store(Y, index=(row,), tile=ct.astype(ct.sum(total, axis=1), Y.dtype))


@ct.kernel
def convolution(X, W, Y, width: C, tm: C, tn: C, tc: C):
    """A filter of `width` places along a line, channels last: a sum of products of rows that move on."""
    image, place, column = ct.bid(0), ct.bid(1), ct.bid(2)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    rows = place * tm + ct.arange(tm, dtype=ct.int32)
    for step in range(width):
        for c in range(ct.cdiv(X.shape[2], tc)):
            channels = c * tc + ct.arange(tc, dtype=ct.int32)
            x = ct.gather(X, (image, (rows + step - width // 2)[:, None], channels[None, :]))
            w = ct.load(W, index=(step, c, column), shape=(1, tc, tn), padding_mode=ZERO)
            total = ct.mma(x, ct.reshape(w, (tc, tn)), total)
    y = ct.reshape(ct.astype(total, Y.dtype), (1, tm, tn))
    ct.store(Y, index=(image, place, column), tile=y)


@ct.kernel
def fourier(Re, Im, Cos, Sin, OutRe, OutIm, n: C, tb: C):
    """The transform of rows of n numbers, as products with the matrices of cosines and sines."""
    row = ct.bid(0)
    re = ct.load(Re, index=(row, 0), shape=(tb, n), padding_mode=ZERO)
    im = ct.load(Im, index=(row, 0), shape=(tb, n), padding_mode=ZERO)
    cos = ct.load(Cos, index=(0, 0), shape=(n, n))
    sin = ct.load(Sin, index=(0, 0), shape=(n, n))
    zero = ct.zeros((tb, n), dtype=ct.float32)
    ct.store(OutRe, index=(row, 0), tile=ct.mma(re, cos, zero) + ct.mma(im, sin, zero))
    ct.store(OutIm, index=(row, 0), tile=ct.mma(im, cos, zero) - ct.mma(re, sin, zero))
