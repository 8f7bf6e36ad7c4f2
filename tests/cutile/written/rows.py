"""Kernels over rows in cuTile Python, as people write them: norms, softmax, losses, and what quantises."""

from __future__ import annotations

import cuda.tile as ct
import numpy as np

C = ct.Constant[int]
ZERO, LEAST = ct.PaddingMode.ZERO, ct.PaddingMode.NEG_INF


@ct.kernel
def softmax(X, Y, n: C):
    row = ct.bid(0)
    x = ct.astype(ct.load(X, index=(row, 0), shape=(1, n), padding_mode=LEAST), ct.float32)
    e = ct.exp(x - ct.max(x, axis=1, keepdims=True))
    ct.store(Y, index=(row, 0), tile=ct.astype(e / ct.sum(e, axis=1, keepdims=True), Y.dtype))


@ct.kernel
def softmax_in_pieces(X, Y, tn: C):
    """A row longer than a tile: its largest number and its sum first, then the quotients."""
    row = ct.bid(0)
    largest = ct.full((1, 1), -np.inf, dtype=ct.float32)
    total = ct.zeros((1, 1), dtype=ct.float32)
    pieces = ct.num_tiles(X, axis=1, shape=(1, tn))
    for j in range(pieces):
        x = ct.astype(ct.load(X, index=(row, j), shape=(1, tn), padding_mode=LEAST), ct.float32)
        larger = ct.maximum(largest, ct.max(x, axis=1, keepdims=True))
        total = total * ct.exp(largest - larger) + ct.sum(ct.exp(x - larger), axis=1, keepdims=True)
        largest = larger
    for j in range(pieces):
        x = ct.astype(ct.load(X, index=(row, j), shape=(1, tn), padding_mode=LEAST), ct.float32)
        ct.store(Y, index=(row, j), tile=ct.astype(ct.exp(x - largest) / total, Y.dtype))


@ct.kernel
def layer_norm(X, W, B, Y, Mean, Rstd, eps: ct.Constant[float], tn: C):
    row = ct.bid(0)
    n = X.shape[1]
    pieces = ct.num_tiles(X, axis=1, shape=(1, tn))
    total = ct.zeros((1, tn), dtype=ct.float32)
    for j in range(pieces):
        total += ct.astype(ct.load(X, index=(row, j), shape=(1, tn), padding_mode=ZERO), ct.float32)
    mean = ct.sum(total, axis=1) / n
    ct.store(Mean, index=(row,), tile=mean)
    squares = ct.zeros((1, tn), dtype=ct.float32)
    for j in range(pieces):
        x = ct.astype(ct.load(X, index=(row, j), shape=(1, tn), padding_mode=ZERO), ct.float32)
        inside = (j * tn + ct.arange(tn, dtype=ct.int32)) < n
        centred = ct.where(inside[None, :], x - mean, 0.0)
        squares += centred * centred
    rstd = 1 / ct.sqrt(ct.sum(squares, axis=1) / n + eps)
    ct.store(Rstd, index=(row,), tile=rstd)
    for j in range(pieces):
        x = ct.astype(ct.load(X, index=(row, j), shape=(1, tn), padding_mode=ZERO), ct.float32)
        w = ct.load(W, index=(j,), shape=(tn,), padding_mode=ZERO)
        b = ct.load(B, index=(j,), shape=(tn,), padding_mode=ZERO)
        ct.store(Y, index=(row, j), tile=ct.astype((x - mean) * rstd * w + b, Y.dtype))


@ct.kernel
def layer_norm_backward(dY, X, W, Mean, Rstd, dX, dW, dB, tn: C):
    """The gradient of a row, and what it adds to those of weights and biases."""
    row = ct.bid(0)
    n = X.shape[1]
    mean = ct.load(Mean, index=(row,), shape=(1,))
    rstd = ct.load(Rstd, index=(row,), shape=(1,))
    columns = ct.arange(tn, dtype=ct.int32)
    inside = columns < n
    x = ct.astype(ct.load(X, index=(row, 0), shape=(1, tn), padding_mode=ZERO), ct.float32)
    dy = ct.astype(ct.load(dY, index=(row, 0), shape=(1, tn), padding_mode=ZERO), ct.float32)
    w = ct.load(W, index=(0,), shape=(tn,), padding_mode=ZERO)
    centred = ct.where(inside[None, :], (x - mean) * rstd, 0.0)
    weighted = dy * w[None, :]
    c1 = ct.sum(centred * weighted, axis=1, keepdims=True) / n
    c2 = ct.sum(weighted, axis=1, keepdims=True) / n
    dx = (weighted - (centred * c1 + c2)) * rstd
    ct.store(dX, index=(row, 0), tile=ct.astype(dx, dX.dtype))
    ct.atomic_add(dW, columns, ct.reshape(dy * centred, (tn,)))
    ct.atomic_add(dB, columns, ct.reshape(dy, (tn,)))


@ct.kernel
def rms_norm(X, W, Y, eps: ct.Constant[float], tm: C, n: C):
    block = ct.bid(0)
    w = ct.astype(ct.load(W, index=(0,), shape=(n,), padding_mode=ZERO), ct.float32)
    x = ct.astype(ct.load(X, index=(block, 0), shape=(tm, n), padding_mode=ZERO), ct.float32)
    rstd = ct.rsqrt(ct.sum(x * x, axis=1, keepdims=True) / X.shape[1] + eps)
    ct.store(Y, index=(block, 0), tile=ct.astype(x * rstd * w[None, :], Y.dtype))


@ct.kernel
def rms_norm_gathered(X, W, Y, Rstd, eps: ct.Constant[float], tn: C):
    """By gathers, piece by piece, as rows of any length ask for."""
    row = ct.bid(0)
    n = X.shape[1]
    offsets = ct.arange(tn, dtype=ct.int32)
    total = ct.zeros((tn,), dtype=ct.float32)
    for j in range(ct.cdiv(n, tn)):
        x = ct.astype(ct.gather(X, (row, j * tn + offsets)), ct.float32)
        total += x * x
    rstd = ct.rsqrt(ct.sum(total) / n + eps)
    ct.scatter(Rstd, row, rstd)
    for j in range(ct.cdiv(n, tn)):
        columns = j * tn + offsets
        x = ct.astype(ct.gather(X, (row, columns)), ct.float32)
        w = ct.astype(ct.gather(W, columns), ct.float32)
        ct.scatter(Y, (row, columns), ct.astype(x * rstd * w, Y.dtype))


@ct.kernel
def rms_norm_backward(dY, X, W, Rstd, dX, dWParts, rows: C, tn: C):
    """Each block sums the gradient of the weights over its rows, into a row of its own."""
    block = ct.bid(0)
    n = X.shape[1]
    w = ct.astype(ct.load(W, index=(0,), shape=(tn,), padding_mode=ZERO), ct.float32)
    dw = ct.zeros((1, tn), dtype=ct.float32)
    for r in range(rows):
        row = block * rows + r
        x = ct.astype(ct.load(X, index=(row, 0), shape=(1, tn), padding_mode=ZERO), ct.float32)
        dy = ct.astype(ct.load(dY, index=(row, 0), shape=(1, tn), padding_mode=ZERO), ct.float32)
        rstd = ct.load(Rstd, index=(row,), shape=(1,))
        normed = x * rstd
        weighted = dy * w[None, :]
        c = ct.sum(normed * weighted, axis=1, keepdims=True) / n
        ct.store(dX, index=(row, 0), tile=ct.astype((weighted - normed * c) * rstd, dX.dtype))
        dw += dy * normed
    ct.store(dWParts, index=(block, 0), tile=dw)


@ct.kernel
def cross_entropy(Logits, Labels, Loss, dLogits, ignored: C, tn: C):
    """The loss of a row in one pass, and its gradient in another."""
    row = ct.bid(0)
    label = ct.load(Labels, index=(row,), shape=(1,)).item()
    largest = ct.full((1, 1), -np.inf, dtype=ct.float32)
    total = ct.zeros((1, 1), dtype=ct.float32)
    pieces = ct.num_tiles(Logits, axis=1, shape=(1, tn))
    for j in range(pieces):
        x = ct.astype(ct.load(Logits, index=(row, j), shape=(1, tn), padding_mode=LEAST), ct.float32)
        larger = ct.maximum(largest, ct.max(x, axis=1, keepdims=True))
        total = total * ct.exp(largest - larger) + ct.sum(ct.exp(x - larger), axis=1, keepdims=True)
        largest = larger
    counts = label != ignored
    at = ct.where(counts, label, 0)
    chosen = ct.astype(ct.gather(Logits, (row, at)), ct.float32)
    loss = ct.reshape(largest + ct.log(total), (1,)) - chosen
    ct.store(Loss, index=(row,), tile=ct.where(counts, loss, 0.0))
    for j in range(pieces):
        x = ct.astype(ct.load(Logits, index=(row, j), shape=(1, tn), padding_mode=LEAST), ct.float32)
        columns = j * tn + ct.arange(tn, dtype=ct.int32)
        gradient = ct.exp(x - largest) / total - ct.astype((columns == label)[None, :], ct.float32)
        ct.store(dLogits, index=(row, j), tile=ct.astype(ct.where(counts, gradient, 0.0), dLogits.dtype))


@ct.kernel
def top_1(X, Values, Places, tm: C, n: C):
    block = ct.bid(0)
    x = ct.load(X, index=(block, 0), shape=(tm, n), padding_mode=LEAST)
    ct.store(Values, index=(block,), tile=ct.max(x, axis=1))
    ct.store(Places, index=(block,), tile=ct.argmax(x, axis=1))


@ct.kernel
def running_sums(X, Y, tm: C, tn: C):
    row = ct.bid(0)
    before = ct.zeros((tm, 1), dtype=ct.float32)
    for j in range(ct.num_tiles(X, axis=1, shape=(tm, tn))):
        x = ct.load(X, index=(row, j), shape=(tm, tn), padding_mode=ZERO)
        ct.store(Y, index=(row, j), tile=ct.cumsum(x, axis=1) + before)
        before = before + ct.sum(x, axis=1, keepdims=True)


@ct.kernel
def linear_recurrence(A, B, Y, n: C):
    """y[t] = a[t] y[t - 1] + b[t], as a scan of pairs."""
    row = ct.bid(0)
    a = ct.load(A, index=(row, 0), shape=(1, n), padding_mode=ZERO)
    b = ct.load(B, index=(row, 0), shape=(1, n), padding_mode=ZERO)

    def combined(a1, b1, a0, b0):
        return a0 * a1, b0 * a1 + b1

    _, y = ct.scan((a, b), axis=1, func=combined, identity=(1.0, 0.0))
    ct.store(Y, index=(row, 0), tile=y)


@ct.kernel
def quantise_rows(X, Q, Scales, tm: C, n: C):
    block = ct.bid(0)
    x = ct.astype(ct.load(X, index=(block, 0), shape=(tm, n), padding_mode=ZERO), ct.float32)
    scale = ct.maximum(ct.max(ct.abs(x), axis=1, keepdims=True), 1e-10) / 127.0
    scaled = ct.floor(x / scale + 0.5)
    q = ct.astype(ct.minimum(ct.maximum(scaled, -127.0), 127.0), ct.int8)
    ct.store(Q, index=(block, 0), tile=q)
    ct.store(Scales, index=(block,), tile=ct.reshape(scale, (tm,)))


@ct.kernel
def dequantise_blocks(Q, Scales, Y, tm: C, tn: C):
    """A scale for each tile of 8-bit weights."""
    row, column = ct.bid(0), ct.bid(1)
    q = ct.load(Q, index=(row, column), shape=(tm, tn), padding_mode=ZERO)
    scale = ct.load(Scales, index=(row, column), shape=(1, 1))
    ct.store(Y, index=(row, column), tile=ct.astype(ct.astype(q, ct.float32) * scale, Y.dtype))


@ct.kernel
def quantise_f8(X, Q, Scales, tn: C):
    """Rows as numbers of 8 bits with a scale each, piece by piece."""
    row = ct.bid(0)
    pieces = ct.num_tiles(X, axis=1, shape=(1, tn))
    most = ct.zeros((1, tn), dtype=ct.float32)
    for j in range(pieces):
        x = ct.astype(ct.load(X, index=(row, j), shape=(1, tn), padding_mode=ZERO), ct.float32)
        most = ct.maximum(most, ct.abs(x))
    scale = ct.maximum(ct.max(most, axis=1), 1e-12) / 448.0
    ct.store(Scales, index=(row,), tile=scale)
    for j in range(pieces):
        x = ct.astype(ct.load(X, index=(row, j), shape=(1, tn), padding_mode=ZERO), ct.float32)
        ct.store(Q, index=(row, j), tile=ct.astype(x / scale, Q.dtype))


@ct.kernel
def sums_of_f64(X, Sums, tm: C, tn: C):
    row = ct.bid(0)
    total = ct.zeros((tm, tn), dtype=ct.float64)
    for j in range(ct.num_tiles(X, axis=1, shape=(tm, tn))):
        total += ct.load(X, index=(row, j), shape=(tm, tn), padding_mode=ZERO)
    ct.store(Sums, index=(row,), tile=ct.sum(total, axis=1))


@ct.kernel
def variance_by_welford(X, Mean, Var, n: C):
    """Mean and variance of a row by one reduction of triples."""
    row = ct.bid(0)
    x = ct.load(X, index=(row, 0), shape=(1, n))

    def merged(mean, squares, count, mean_2, squares_2, count_2):
        total = count + count_2
        share = ct.where(total == 0.0, 0.0, count_2 / ct.where(total == 0.0, 1.0, total))
        step = mean_2 - mean
        return mean + step * share, squares + squares_2 + step * step * count * share, total

    zero = ct.zeros((1, n), dtype=ct.float32)
    mean, squares, count = ct.reduce((x, zero, zero + 1.0), axis=1, func=merged, identity=(0.0, 0.0, 0.0))
    ct.store(Mean, index=(row,), tile=mean)
    ct.store(Var, index=(row,), tile=squares / count)
