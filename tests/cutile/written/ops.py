"""
Kernels in cuTile Python for ops that the others here do not have: what their bytecode holds is read in the tests.

A method of a tile is a helper in the package, whose path would come into the debug information: so functions here.
"""

from __future__ import annotations

import cuda.tile as ct
import numpy as np

C = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel(occupancy=2)
def double(X, n: C):
    ct.store(X, index=(ct.bid(0),), tile=ct.load(X, index=(ct.bid(0),), shape=(n,)) * 2)


@ct.kernel
def multiplied(A, B, D, m: C, n: C, k: C):
    """One product, whose sums have the type of the result."""
    row = ct.bid(0)
    a, b = ct.load(A, index=(row, 0), shape=(m, k)), ct.load(B, index=(0, 0), shape=(k, n))
    ct.store(D, index=(row, 0), tile=ct.mma(a, b, ct.zeros((m, n), dtype=D.dtype)))


def squashed(x):
    return 1 / (1 + ct.exp(-x))


@ct.kernel
def elementwise(X, Y, Z, limit: float, n: C):
    place = ct.bid(0)
    x = ct.load(X, index=(place,), shape=(n,))
    y = ct.load(Y, index=(place,), shape=(n,))
    low = ct.minimum(ct.tanh(x) + ct.sin(y) * ct.cos(x), ct.sqrt(ct.abs(x)) * squashed(y))
    high = ct.where(low > limit, ct.floor(x), ct.ceil(y)) - ct.log2(1 + x * x) + ct.atan2(x, y)
    ct.store(Z, index=(place,), tile=high)


@ct.kernel
def integers(X, Y, Z, n: C):
    place = ct.bid(0)
    x = ct.load(X, index=(place,), shape=(n,))
    y = ct.load(Y, index=(place,), shape=(n,))
    z = (x // 7 + x % 5) ^ (y << 3) | (y >> 1) & ~x
    z = ct.maximum(z, -x) * ct.cdiv(y, 3) - abs(y) + ct.bitcast(ct.astype(x, ct.float32), ct.int32)
    ct.store(Z, index=(place,), tile=ct.where((x < y) & (x != 0), z, ct.astype(ct.astype(z, ct.int8), ct.int32)))


@ct.kernel
def shapes(X, Y, tm: C, tn: C):
    row, column = ct.bid(0), ct.bid(1)
    x = ct.load(X, index=(row, column), shape=(tm, tn))
    turned = ct.transpose(x)
    both = ct.cat((turned, turned), axis=0)
    ct.store(Y, index=(column, row), tile=ct.extract(both, (1, 0), (tn, tm)))


@ct.kernel
def row_sums(X, Sums, Places, tm: C, tn: C):
    row = ct.bid(0)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for j in range(ct.num_tiles(X, axis=1, shape=(tm, tn))):
        total = total + ct.load(X, index=(row, j), shape=(tm, tn), padding_mode=ZERO)
    ct.store(Sums, index=(row,), tile=ct.sum(total, axis=1))
    ct.store(Places, index=(row,), tile=ct.argmax(total, axis=1))


@ct.kernel
def sums_behind(X, Y, tm: C, tn: C):
    """The sum of each number and all behind it."""
    row = ct.bid(0)
    x = ct.load(X, index=(row, 0), shape=(tm, tn), padding_mode=ZERO)
    ct.store(Y, index=(row, 0), tile=ct.cumsum(x, axis=1, reverse=True))


@ct.kernel
def bytes_of(X, Bytes, Y, n: C):
    """The bytes of some numbers, and numbers of these with the lowest bit of each changed."""
    place = ct.bid(0)
    x = ct.load(X, index=(place,), shape=(n,), padding_mode=ZERO)
    raw = ct.pack_to_bytes(x)
    ct.store(Bytes, index=(place,), tile=ct.where((raw & 1) == 1, raw, raw | 128))
    ct.store(Y, index=(place,), tile=ct.unpack_from_bytes(raw ^ 1, X.dtype))


@ct.kernel
def unchecked(X, Places, Y, n: C):
    """Gathers without bounds, and one number at a place that is loaded and squared."""
    places = ct.bid(0) * n + ct.arange(n, dtype=ct.int32)
    x = ct.gather(X, places, check_bounds=False, padding_value=3.0)
    place = ct.gather(Places, (ct.bid(0),), padding_value=0)
    ct.scatter(Y, places, x + ct.gather(Places, (place * place,), padding_value=-1))


@ct.kernel
def empty(X, n: C):
    pass


@ct.kernel
def single(X, n: C):
    """The only place of a tile of one."""
    ct.scatter(X, ct.bid(0) * n + ct.arange(1, dtype=ct.int32), 2.0)


@ct.kernel
def gathered(Table, Rows, Out, n: C, d: C):
    block = ct.bid(0)
    rows = ct.load(Rows, index=(block,), shape=(n,))
    columns = ct.arange(d, dtype=ct.int32)
    x = ct.gather(Table, (rows[:, None], columns[None, :]), padding_value=-1.0)
    ct.scatter(Out, (block * n + ct.arange(n, dtype=ct.int32)[:, None], columns[None, :]), x * 2)


@ct.kernel
def locked(X, Bins, Lock, Sums, n: C):
    x = ct.load(X, index=(ct.bid(0),), shape=(n,))
    ct.atomic_add(Bins, x & 255, 1, memory_order=ct.MemoryOrder.RELAXED)
    while ct.atomic_cas(Lock, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    ct.store(Sums, index=(0,), tile=ct.load(Sums, index=(0,), shape=(n,)) + x)
    ct.atomic_xchg(Lock, 0, 0, memory_order=ct.MemoryOrder.RELEASE, memory_scope=ct.MemoryScope.DEVICE)


@ct.kernel
def controlled(X, Y, limit: int, n: C):
    block = ct.bid(0)
    if block >= limit:
        return
    x = ct.load(X, index=(block,), shape=(n,))
    turns = 0
    while True:
        x = x * 0.5
        turns += 1
        if ct.max(x) < 1.0:
            break
        if turns % 2 == 0:
            continue
        x = x + 0.25
    for k in range(limit):
        if k == turns:
            y = x
        else:
            y = x + k
        x = y
    ct.assert_(turns > 0, "no iteration")  # noqa: PT009
    ct.print("block", block, "iterations", turns)
    ct.store(Y, index=(block,), tile=x)


@ct.kernel(num_ctas=ct.ByTarget(sm_100=2, default=1))
def attention(Q, K, V, Out, scale: float, tm: C, tn: C, td: C, causal: ct.Constant[bool]):
    i, h = ct.bid(0), ct.bid(1)
    largest = ct.full((tm, 1), -np.inf, dtype=ct.float32)
    norm = ct.zeros((tm, 1), dtype=ct.float32)
    total = ct.zeros((tm, td), dtype=ct.float32)
    q = ct.reshape(ct.load(Q, index=(h, i, 0), shape=(1, tm, td)), (tm, td))
    for j in range(ct.cdiv((i + 1) * tm, tn) if causal else ct.cdiv(K.shape[1], tn)):
        k = ct.reshape(ct.load(K, index=(h, 0, j), shape=(1, td, tn), order=(0, 2, 1), latency=2), (td, tn))
        s = ct.mma(q, k, ct.zeros((tm, tn), dtype=ct.float32)) * (scale * 1.4426950408889634)
        if causal:
            if (j + 1) * tn > i * tm:
                rows = i * tm + ct.arange(tm, dtype=ct.int32)
                columns = j * tn + ct.arange(tn, dtype=ct.int32)
                s = ct.where(rows[:, None] >= columns[None, :], s, -np.inf)
        larger = max(largest, ct.max(s, axis=-1, keepdims=True))
        p = ct.exp2(s - larger, flush_to_zero=True)
        old = ct.exp2(largest - larger, flush_to_zero=True)
        norm = norm * old + ct.sum(p, axis=-1, keepdims=True)
        v = ct.reshape(ct.load(V, index=(h, j, 0), shape=(1, tn, td), latency=4), (tn, td))
        total = ct.mma(ct.astype(p, Q.dtype), v, total * old)
        largest = larger
    out = ct.truediv(total, norm, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(Out, index=(h, i, 0), tile=ct.astype(ct.reshape(out, (1, tm, td)), Out.dtype))


@ct.kernel
def windows(X, Y, n: C):
    block = ct.bid(0)
    x = X.tiled_view((n,), traversal_steps=(8,), padding_mode=ZERO).load((block,))
    ct.store(Y, index=(block,), tile=ct.extract(x, (0,), (8,)) + ct.extract(x, (1,), (8,)))


@ct.kernel
def by_row(Table, Rows, Out, n: C, d: C):
    rows = ct.load(Rows, index=(ct.bid(0),), shape=(n,))
    x = ct.load_advanced_indexing(Table, (rows, ct.Slice(0, d)), padding_mode=ZERO)
    ct.store_advanced_indexing(Out, (rows, ct.Slice(0, d)), x)


@ct.kernel
def added(X, Sums, n: C):
    block = ct.bid(0)
    x = ct.load(X, index=(block, 0), shape=(1, n), padding_mode=ZERO)
    Sums.tiled_view((1, n)).atomic_store_add((block % 4, 0), x)


@ct.kernel
def scaled(A, SA, B, SB, D, tm: C, tn: C, tk: C):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):
        a = ct.load(A, index=(row, k), shape=(tm, tk))
        b = ct.load(B, index=(k, column), shape=(tk, tn))
        sa = ct.load(SA, index=(row, k), shape=(tm, tk // 32))
        sb = ct.load(SB, index=(k, column), shape=(tk // 32, tn))
        total = ct.mma_scaled(a, sa, b, sb, total)
    ct.store(D, index=(row, column), tile=total)
