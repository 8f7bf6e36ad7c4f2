"""Attention in cuTile Python, as people write it."""

from __future__ import annotations

import cuda.tile as ct
import numpy as np

C = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
LOG2E = 1.4426950408889634


@ct.kernel
def attention(Q, K, V, Out, scale: float, tm: C, tn: C, td: C, causal: ct.Constant[bool]):
    i, h = ct.bid(0), ct.bid(1)
    largest = ct.full((tm, 1), -np.inf, dtype=ct.float32)
    norm = ct.zeros((tm, 1), dtype=ct.float32)
    total = ct.zeros((tm, td), dtype=ct.float32)
    q = ct.reshape(ct.load(Q, index=(h, i, 0), shape=(1, tm, td), padding_mode=ZERO), (tm, td))
    rows = i * tm + ct.arange(tm, dtype=ct.int32)[:, None]
    keys = K.shape[1]
    for j in range(ct.cdiv(min((i + 1) * tm, keys), tn) if causal else ct.cdiv(keys, tn)):
        k = ct.load(K, index=(h, 0, j), shape=(1, td, tn), order=(0, 2, 1), padding_mode=ZERO, latency=2)
        s = ct.mma(q, ct.reshape(k, (td, tn)), ct.zeros((tm, tn), dtype=ct.float32)) * (scale * LOG2E)
        columns = j * tn + ct.arange(tn, dtype=ct.int32)[None, :]
        seen = (columns < keys) & (rows >= columns) if causal else columns < keys
        s = ct.where(seen, s, -np.inf)
        larger = ct.maximum(largest, ct.max(s, axis=-1, keepdims=True))
        p = ct.exp2(s - larger, flush_to_zero=True)
        old = ct.exp2(largest - larger, flush_to_zero=True)
        norm = norm * old + ct.sum(p, axis=-1, keepdims=True)
        v = ct.reshape(ct.load(V, index=(h, j, 0), shape=(1, tn, td), padding_mode=ZERO, latency=4), (tn, td))
        total = ct.mma(ct.astype(p, Q.dtype), v, total * old)
        largest = larger
    out = ct.truediv(total, norm, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(Out, index=(h, i, 0), tile=ct.astype(ct.reshape(out, (1, tm, td)), Out.dtype))


@ct.kernel
def attention_4d(Q, K, V, Out, Lse, scale: float, heads: C, group: C, tm: C, tn: C, td: C):
    """Batches and heads in one grid axis; several heads of queries share one of keys; also the log of each sum."""
    i, bh = ct.bid(0), ct.bid(1)
    b, h = bh // heads, bh % heads
    kv = h // group
    largest = ct.full((tm, 1), -np.inf, dtype=ct.float32)
    norm = ct.zeros((tm, 1), dtype=ct.float32)
    total = ct.zeros((tm, td), dtype=ct.float32)
    q = ct.reshape(ct.load(Q, index=(b, h, i, 0), shape=(1, 1, tm, td), padding_mode=ZERO), (tm, td))
    keys = K.shape[2]
    for j in range(ct.cdiv(keys, tn)):
        k = ct.reshape(ct.load(K, index=(b, kv, j, 0), shape=(1, 1, tn, td), padding_mode=ZERO), (tn, td))
        s = ct.mma(q, ct.transpose(k), ct.zeros((tm, tn), dtype=ct.float32)) * scale
        s = ct.where((j * tn + ct.arange(tn, dtype=ct.int32))[None, :] < keys, s, -np.inf)
        larger = ct.maximum(largest, ct.max(s, axis=1, keepdims=True))
        p = ct.exp(s - larger)
        old = ct.exp(largest - larger)
        norm = norm * old + ct.sum(p, axis=1, keepdims=True)
        v = ct.reshape(ct.load(V, index=(b, kv, j, 0), shape=(1, 1, tn, td), padding_mode=ZERO), (tn, td))
        total = ct.mma(ct.astype(p, V.dtype), v, total * old)
        largest = larger
    ct.store(Out, index=(b, h, i, 0), tile=ct.astype(ct.reshape(total / norm, (1, 1, tm, td)), Out.dtype))
    ct.store(Lse, index=(bh, i), tile=ct.reshape(largest + ct.log(norm), (1, tm)))


@ct.kernel
def attention_with_mask(Q, K, V, Mask, Out, scale: float, window: C, tm: C, tn: C, td: C):
    """A mask that is loaded, and a window of keys around each query."""
    i, h = ct.bid(0), ct.bid(1)
    largest = ct.full((tm, 1), -1e30, dtype=ct.float32)
    norm = ct.zeros((tm, 1), dtype=ct.float32)
    total = ct.zeros((tm, td), dtype=ct.float32)
    q = ct.reshape(ct.load(Q, index=(h, i, 0), shape=(1, tm, td), padding_mode=ZERO), (tm, td))
    first = max(i * tm - window, 0) // tn
    last = ct.cdiv(min((i + 1) * tm + window, K.shape[1]), tn)
    rows = i * tm + ct.arange(tm, dtype=ct.int32)[:, None]
    for j in range(first, last):
        k = ct.reshape(ct.load(K, index=(h, j, 0), shape=(1, tn, td), padding_mode=ZERO), (tn, td))
        s = ct.mma(q, ct.transpose(k), ct.zeros((tm, tn), dtype=ct.float32)) * (scale * LOG2E)
        s = s + ct.load(Mask, index=(i, j), shape=(tm, tn), padding_mode=ct.PaddingMode.NEG_INF) * LOG2E
        columns = j * tn + ct.arange(tn, dtype=ct.int32)[None, :]
        s = ct.where(ct.abs(rows - columns) <= window, s, -np.inf)
        larger = ct.maximum(largest, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - larger)
        old = ct.exp2(largest - larger)
        norm = norm * old + ct.sum(p, axis=1, keepdims=True)
        v = ct.reshape(ct.load(V, index=(h, j, 0), shape=(1, tn, td), padding_mode=ZERO), (tn, td))
        total = ct.mma(ct.astype(p, V.dtype), v, total * old)
        largest = larger
    out = total / norm
    ct.store(Out, index=(h, i, 0), tile=ct.astype(ct.reshape(out, (1, tm, td)), Out.dtype))


@ct.kernel
def decoding(Q, K, V, Partial, Lse, scale: float, per_split: C, th: C, tn: C, td: C):
    """One query a sequence, the keys in parts: what each part gives, and the log of its sum."""
    b, split = ct.bid(0), ct.bid(1)
    q = ct.reshape(ct.load(Q, index=(b, 0, 0), shape=(1, th, td), padding_mode=ZERO), (th, td))
    largest = ct.full((th, 1), -1e30, dtype=ct.float32)
    norm = ct.zeros((th, 1), dtype=ct.float32)
    total = ct.zeros((th, td), dtype=ct.float32)
    keys = K.shape[1]
    for j in range(split * per_split, min((split + 1) * per_split, ct.cdiv(keys, tn))):
        k = ct.load(K, index=(b, 0, j), shape=(1, td, tn), order=(0, 2, 1), padding_mode=ZERO)
        s = ct.mma(q, ct.reshape(k, (td, tn)), ct.zeros((th, tn), dtype=ct.float32)) * (scale * LOG2E)
        s = ct.where((j * tn + ct.arange(tn, dtype=ct.int32))[None, :] < keys, s, -np.inf)
        larger = ct.maximum(largest, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - larger)
        old = ct.exp2(largest - larger)
        norm = norm * old + ct.sum(p, axis=1, keepdims=True)
        v = ct.reshape(ct.load(V, index=(b, j, 0), shape=(1, tn, td), padding_mode=ZERO), (tn, td))
        total = ct.mma(ct.astype(p, V.dtype), v, total * old)
        largest = larger
    out = total / norm
    ct.store(Partial, index=(b, split, 0, 0), tile=ct.reshape(out, (1, 1, th, td)))
    ct.store(Lse, index=(b, split, 0), tile=ct.reshape(largest + ct.log2(norm), (1, 1, th)))


@ct.kernel
def merge_splits(Partial, Lse, Out, splits: C, th: C, td: C):
    """The parts of a decoding, weighed by their sums."""
    b = ct.bid(0)
    lse = ct.reshape(ct.load(Lse, index=(b, 0, 0), shape=(1, splits, th)), (splits, th))
    weights = ct.exp2(lse - ct.max(lse, axis=0, keepdims=True))
    weights = weights / ct.sum(weights, axis=0, keepdims=True)
    parts = ct.reshape(ct.load(Partial, index=(b, 0, 0, 0), shape=(1, splits, th, td)), (splits, th, td))
    out = ct.sum(parts * weights[:, :, None], axis=0)
    ct.store(Out, index=(b, 0, 0), tile=ct.astype(ct.reshape(out, (1, th, td)), Out.dtype))


@ct.kernel
def paged_decoding(Q, Pages, VPages, Table, Lengths, Out, scale: float, th: C, page: C, td: C):
    """Keys lie in pages, which a table of each sequence names; how many there are is loaded, too."""
    b = ct.bid(0)
    q = ct.reshape(ct.load(Q, index=(b, 0, 0), shape=(1, th, td), padding_mode=ZERO), (th, td))
    largest = ct.full((th, 1), -1e30, dtype=ct.float32)
    norm = ct.zeros((th, 1), dtype=ct.float32)
    total = ct.zeros((th, td), dtype=ct.float32)
    length = ct.load(Lengths, index=(b,), shape=(1,)).item()
    for j in range(ct.cdiv(length, page)):
        place = ct.load(Table, index=(b, j), shape=(1, 1)).item()
        k = ct.load(Pages, index=(place, 0, 0), shape=(1, td, page), order=(0, 2, 1))
        s = ct.mma(q, ct.reshape(k, (td, page)), ct.zeros((th, page), dtype=ct.float32)) * (scale * LOG2E)
        s = ct.where((j * page + ct.arange(page, dtype=ct.int32))[None, :] < length, s, -np.inf)
        larger = ct.maximum(largest, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - larger)
        old = ct.exp2(largest - larger)
        norm = norm * old + ct.sum(p, axis=1, keepdims=True)
        v = ct.reshape(ct.load(VPages, index=(place, 0, 0), shape=(1, page, td)), (page, td))
        total = ct.mma(ct.astype(p, VPages.dtype), v, total * old)
        largest = larger
    ct.store(Out, index=(b, 0, 0), tile=ct.astype(ct.reshape(total / norm, (1, th, td)), Out.dtype))


@ct.kernel
def ragged_attention(Q, K, V, Starts, Out, scale: float, tm: C, tn: C, td: C):
    """Sequences of any length behind each other: where each begins is loaded."""
    i, s_id, h = ct.bid(0), ct.bid(1), ct.bid(2)
    begin = ct.load(Starts, index=(s_id,), shape=(1,)).item()
    end = ct.load(Starts, index=(s_id + 1,), shape=(1,)).item()
    if begin + i * tm >= end:
        return
    rows = begin + i * tm + ct.arange(tm, dtype=ct.int32)
    depth = ct.arange(td, dtype=ct.int32)
    q = ct.gather(Q, (h, rows[:, None], depth[None, :]), mask=(rows < end)[:, None])
    largest = ct.full((tm, 1), -1e30, dtype=ct.float32)
    norm = ct.zeros((tm, 1), dtype=ct.float32)
    total = ct.zeros((tm, td), dtype=ct.float32)
    for j in range(ct.cdiv(end - begin, tn)):
        keys = begin + j * tn + ct.arange(tn, dtype=ct.int32)
        k = ct.gather(K, (h, keys[:, None], depth[None, :]), mask=(keys < end)[:, None])
        s = ct.mma(q, ct.transpose(k), ct.zeros((tm, tn), dtype=ct.float32)) * (scale * LOG2E)
        s = ct.where((keys < end)[None, :], s, -np.inf)
        larger = ct.maximum(largest, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - larger)
        old = ct.exp2(largest - larger)
        norm = norm * old + ct.sum(p, axis=1, keepdims=True)
        v = ct.gather(V, (h, keys[:, None], depth[None, :]), mask=(keys < end)[:, None])
        total = ct.mma(ct.astype(p, V.dtype), v, total * old)
        largest = larger
    out = ct.astype(total / norm, Out.dtype)
    ct.scatter(Out, (h, rows[:, None], depth[None, :]), out, mask=(rows < end)[:, None])


@ct.kernel
def delta_rule(Q, K, V, Beta, Out, chunk: C, td: C):
    """A state that each chunk of a sequence reads, and then moves towards its values."""
    h = ct.bid(0)
    state = ct.zeros((td, td), dtype=ct.float32)
    rows = ct.arange(chunk, dtype=ct.int32)
    for j in range(ct.num_tiles(Q, axis=1, shape=(1, chunk, td))):
        q = ct.reshape(ct.load(Q, index=(h, j, 0), shape=(1, chunk, td), padding_mode=ZERO), (chunk, td))
        k = ct.reshape(ct.load(K, index=(h, j, 0), shape=(1, chunk, td), padding_mode=ZERO), (chunk, td))
        v = ct.reshape(ct.load(V, index=(h, j, 0), shape=(1, chunk, td), padding_mode=ZERO), (chunk, td))
        beta = ct.reshape(ct.load(Beta, index=(h, j), shape=(1, chunk), padding_mode=ZERO), (chunk,))
        zero = ct.zeros((chunk, td), dtype=ct.float32)
        old = ct.mma(k, ct.astype(state, Q.dtype), zero)
        change = ct.astype((ct.astype(v, ct.float32) - old) * beta[:, None], Q.dtype)
        scores = ct.mma(q, ct.transpose(k), ct.zeros((chunk, chunk), dtype=ct.float32))
        scores = ct.where(rows[:, None] >= rows[None, :], scores, 0.0)
        out = ct.mma(q, ct.astype(state, Q.dtype), zero)
        out = ct.mma(ct.astype(scores, Q.dtype), change, out)
        state = ct.mma(ct.transpose(k), change, state)
        ct.store(Out, index=(h, j, 0), tile=ct.astype(ct.reshape(out, (1, chunk, td)), Out.dtype))
