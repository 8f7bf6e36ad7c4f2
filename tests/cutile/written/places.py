"""Kernels in cuTile Python that move numbers, or change them where they lie, as people write them."""

from __future__ import annotations

import cuda.tile as ct

C = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def vector_add(X, Y, Z, n: C):
    place = ct.bid(0)
    x = ct.load(X, index=(place,), shape=(n,))
    y = ct.load(Y, index=(place,), shape=(n,))
    ct.store(Z, index=(place,), tile=x + y)


@ct.kernel
def vector_add_gathered(X, Y, Z, n: C):
    places = ct.bid(0) * n + ct.arange(n, dtype=ct.int32)
    ct.scatter(Z, places, ct.gather(X, places) + ct.gather(Y, places))


@ct.kernel
def transpose(X, Y, tm: C, tn: C):
    row, column = ct.bid(0), ct.bid(1)
    x = ct.load(X, index=(row, column), shape=(tm, tn))
    ct.store(Y, index=(column, row), tile=ct.transpose(x))


@ct.kernel
def swiglu(Gate, Up, Y, tm: C, tn: C):
    row, column = ct.bid(0), ct.bid(1)
    gate = ct.astype(ct.load(Gate, index=(row, column), shape=(tm, tn)), ct.float32)
    up = ct.astype(ct.load(Up, index=(row, column), shape=(tm, tn)), ct.float32)
    ct.store(Y, index=(row, column), tile=ct.astype(gate / (1.0 + ct.exp(-gate)) * up, Y.dtype))


@ct.kernel
def rope(Q, Cos, Sin, half: C, th: C):
    """Turns the two halves of each head, where they lie."""
    token = ct.bid(0)
    cos = ct.load(Cos, index=(token, 0), shape=(1, half))[:, None, :]
    sin = ct.load(Sin, index=(token, 0), shape=(1, half))[:, None, :]
    first = ct.astype(ct.load(Q, index=(token, 0, 0), shape=(1, th, half), padding_mode=ZERO), ct.float32)
    second = ct.astype(ct.load(Q, index=(token, 0, 1), shape=(1, th, half), padding_mode=ZERO), ct.float32)
    ct.store(Q, index=(token, 0, 0), tile=ct.astype(first * cos - second * sin, Q.dtype))
    ct.store(Q, index=(token, 0, 1), tile=ct.astype(second * cos + first * sin, Q.dtype))


@ct.kernel
def adam(P, G, M, V, lr: float, b1: float, b2: float, eps: float, n: C):
    """A step of an optimiser: weights and both moments change where they lie."""
    place = ct.bid(0)
    p = ct.load(P, index=(place,), shape=(n,), padding_mode=ZERO)
    g = ct.load(G, index=(place,), shape=(n,), padding_mode=ZERO)
    m = ct.load(M, index=(place,), shape=(n,), padding_mode=ZERO)
    v = ct.load(V, index=(place,), shape=(n,), padding_mode=ZERO)
    m = b1 * m + (1.0 - b1) * g
    v = b2 * v + (1.0 - b2) * g * g
    ct.store(M, index=(place,), tile=m)
    ct.store(V, index=(place,), tile=v)
    ct.store(P, index=(place,), tile=p - lr * m / (ct.sqrt(v) + eps))


@ct.kernel
def dropout(X, Y, seed: int, keep: float, n: C):
    """Which numbers stay is a hash of their places."""
    place = ct.bid(0)
    x = ct.load(X, index=(place,), shape=(n,))
    h = ct.astype(place * n + ct.arange(n, dtype=ct.int32), ct.uint32) + ct.astype(seed, ct.uint32)
    for _ in ct.static_iter(range(2)):
        h = (h ^ (h >> 16)) * 0x45D9F3B
    h = h ^ (h >> 16)
    uniform = ct.astype(h >> 8, ct.float32) * (1.0 / 16777216.0)
    ct.store(Y, index=(place,), tile=ct.where(uniform < keep, x / keep, 0.0))


@ct.kernel
def histogram(X, Bins, n: C, bins: C):
    places = ct.bid(0) * n + ct.arange(n, dtype=ct.int32)
    x = ct.gather(X, places, padding_value=-1)
    ct.atomic_add(Bins, x, 1, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def embedding(Table, Tokens, Out, tn: C):
    token, piece = ct.bid(0), ct.bid(1)
    row = ct.load(Tokens, index=(token,), shape=(1,)).item()
    ct.store(Out, index=(token, piece), tile=ct.load(Table, index=(row, piece), shape=(1, tn)))


@ct.kernel
def embedding_backward(dOut, Tokens, dTable, tm: C, tn: C):
    """Rows of gradients are added to those of their tokens, which may be equal."""
    block, piece = ct.bid(0), ct.bid(1)
    rows = ct.gather(Tokens, block * tm + ct.arange(tm, dtype=ct.int32), padding_value=-1)
    columns = piece * tn + ct.arange(tn, dtype=ct.int32)
    d = ct.load(dOut, index=(block, piece), shape=(tm, tn), padding_mode=ZERO)
    ct.atomic_add(dTable, (rows[:, None], columns[None, :]), d)


@ct.kernel
def gather_rows(Table, Rows, Out, n: C, d: C):
    block = ct.bid(0)
    rows = ct.gather(Rows, block * n + ct.arange(n, dtype=ct.int32), padding_value=-1)
    columns = ct.arange(d, dtype=ct.int32)
    x = ct.gather(Table, (rows[:, None], columns[None, :]), padding_value=0.0)
    ct.scatter(Out, (block * n + ct.arange(n, dtype=ct.int32)[:, None], columns[None, :]), x)


@ct.kernel
def roots(X, Y, Turns, n: C):
    """Square roots by Newton's rule: as many turns as the slowest number of the tile takes."""
    place = ct.bid(0)
    x = ct.load(X, index=(place,), shape=(n,), padding_mode=ZERO)
    y = ct.maximum(x, 1.0)
    turns = 0
    apart = ct.max(ct.abs(y * y - x) / ct.maximum(x, 1.0))
    while apart > 1e-5 and turns < 40:
        y = 0.5 * (y + x / y)
        apart = ct.max(ct.abs(y * y - x) / ct.maximum(x, 1.0))
        turns += 1
    ct.store(Y, index=(place,), tile=y)
    ct.store(Turns, index=(place,), tile=turns)


@ct.kernel
def blend(A, B, Out, alpha: int, tm: C, tn: C):
    """Two images of bytes, weighed in integers."""
    row, column = ct.bid(0), ct.bid(1)
    a = ct.astype(ct.load(A, index=(row, column), shape=(tm, tn)), ct.int32)
    b = ct.astype(ct.load(B, index=(row, column), shape=(tm, tn)), ct.int32)
    out = (a * alpha + b * (256 - alpha) + 128) >> 8
    ct.store(Out, index=(row, column), tile=ct.astype(ct.minimum(ct.maximum(out, 0), 255), ct.uint8))


@ct.kernel
def stencil(X, Y, tm: C, tn: C):
    """Five points of a grid whose border is zero."""
    row, column = ct.bid(0), ct.bid(1)
    rows = row * tm + ct.arange(tm, dtype=ct.int32)[:, None]
    columns = column * tn + ct.arange(tn, dtype=ct.int32)[None, :]
    around = ct.gather(X, (rows - 1, columns)) + ct.gather(X, (rows + 1, columns))
    around = around + ct.gather(X, (rows, columns - 1)) + ct.gather(X, (rows, columns + 1))
    ct.scatter(Y, (rows, columns), 0.25 * around - ct.gather(X, (rows, columns)))


@ct.kernel
def f8_bits(X, Y, n: C):
    """Bytes that are numbers of 8 bits."""
    place = ct.bid(0)
    bits = ct.load(X, index=(place,), shape=(n,))
    ct.store(Y, index=(place,), tile=ct.astype(ct.bitcast(bits, ct.float8_e4m3fn), ct.float32) * 2.0)


@ct.kernel
def functions(X, Y, Z, limit: float, n: C):
    place = ct.bid(0)
    x = ct.load(X, index=(place,), shape=(n,))
    y = ct.load(Y, index=(place,), shape=(n,))
    low = ct.minimum(ct.tanh(x) + ct.sin(y) * ct.cos(x), ct.sqrt(ct.abs(x)) / (1 + ct.exp(-y)))
    high = ct.where(low > limit, ct.floor(x), ct.ceil(y)) - ct.log2(1 + x * x) + ct.atan2(x, y)
    ct.store(Z, index=(place,), tile=high)


@ct.kernel
def butterflies(Re, Im, CosT, SinT, OutRe, OutIm, n: C, log_n: C):
    """A transform of n numbers in log2 n steps: each joins halves of what lies apart, and turns the differences."""
    row = ct.bid(0)
    re = ct.reshape(ct.load(Re, index=(row, 0), shape=(1, n)), (n,))
    im = ct.reshape(ct.load(Im, index=(row, 0), shape=(1, n)), (n,))
    for step in ct.static_iter(range(log_n)):
        cos = ct.reshape(ct.load(CosT, index=(step, 0), shape=(1, n // 2)), (n // 2,))
        sin = ct.reshape(ct.load(SinT, index=(step, 0), shape=(1, n // 2)), (n // 2,))
        a_re, b_re = ct.extract(re, (0,), (n // 2,)), ct.extract(re, (1,), (n // 2,))
        a_im, b_im = ct.extract(im, (0,), (n // 2,)), ct.extract(im, (1,), (n // 2,))
        d_re, d_im = a_re - b_re, a_im - b_im
        t_re, t_im = d_re * cos - d_im * sin, d_re * sin + d_im * cos
        side = (n >> (step + 1), 1, 1 << step)
        re = ct.reshape(ct.cat((ct.reshape(a_re + b_re, side), ct.reshape(t_re, side)), axis=1), (n,))
        im = ct.reshape(ct.cat((ct.reshape(a_im + b_im, side), ct.reshape(t_im, side)), axis=1), (n,))
    ct.store(OutRe, index=(row, 0), tile=ct.reshape(re, (1, n)))
    ct.store(OutIm, index=(row, 0), tile=ct.reshape(im, (1, n)))


@ct.kernel
def accumulate_locked(X, Lock, Sums, n: C):
    """Blocks that add to one row, one after the other, under a lock."""
    x = ct.load(X, index=(ct.bid(0), 0), shape=(1, n), padding_mode=ZERO)
    while ct.atomic_cas(Lock, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    ct.store(Sums, index=(0, 0), tile=ct.load(Sums, index=(0, 0), shape=(1, n)) + x)
    ct.atomic_xchg(Lock, 0, 0, memory_order=ct.MemoryOrder.RELEASE)
