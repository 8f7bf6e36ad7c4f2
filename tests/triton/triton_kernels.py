"""Kernels in Triton, as people write them: what is asynchronous in their TTGIR the compiler has put there."""

import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(N, BN)
    rows = ((pid // across) * BM + tl.arange(0, BM)) % M
    columns = ((pid % across) * BN + tl.arange(0, BN)) % N
    depth = tl.arange(0, BK)
    a = a_ptr + rows[:, None] * sam + depth[None, :]
    b = b_ptr + depth[:, None] * sbk + columns[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a, mask=depth[None, :] < K - k * BK, other=0.0)
        y = tl.load(b, mask=depth[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        a += BK
        b += BK * sbk
    tl.store(c_ptr + rows[:, None] * scm + columns[None, :], acc.to(tl.float16))


@triton.jit
def matmul_descriptors(
    a_desc, b_desc, c_desc, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr
):
    pid = tl.program_id(0)
    across = tl.cdiv(N, BN)
    row = (pid // across) * BM
    column = (pid % across) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=WS):
        x = a_desc.load([row, k * BK])
        y = b_desc.load([k * BK, column])
        acc = tl.dot(x, y, acc)
    c_desc.store([row, column], acc.to(tl.float16))


@triton.jit
def matmul_persistent(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    SMS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    WS: tl.constexpr,
    FLATTEN: tl.constexpr,
):
    pid = tl.program_id(0)
    across = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * across
    steps = tl.cdiv(K, BK)
    for tile in tl.range(pid, tiles, SMS, flatten=FLATTEN, warp_specialize=WS):
        row = (tile // across) * BM
        column = (tile % across) * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(steps):
            x = a_desc.load([row, k * BK])
            y = b_desc.load([k * BK, column])
            acc = tl.dot(x, y, acc)
        c_desc.store([row, column], acc.to(tl.float16))


# What Triton 3.9 makes of these is wrong: see `FOUND` in `pairs.py`.


@triton.jit
def read_twice(a_ptr, b_ptr, c_ptr, K, BM: tl.constexpr, BK: tl.constexpr):
    rows = tl.arange(0, BM)
    depth = tl.arange(0, BK)
    acc = tl.zeros((BM, BM), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        a = tl.load(a_ptr + rows[:, None] * K + depth[None, :] + k * BK)
        b = tl.load(b_ptr + depth[:, None] * BM + rows[None, :] + k * BK * BM)
        acc = tl.dot(a, b, acc)
        total += tl.sum(b.to(tl.float32), axis=0)
    tl.store(c_ptr + rows[:, None] * BM + rows[None, :], acc + total[None, :])


@triton.jit
def multiplied_twice(a_ptr, b_ptr, c_ptr, d_ptr, K, BM: tl.constexpr, BK: tl.constexpr):
    rows = tl.arange(0, BM)
    depth = tl.arange(0, BK)
    first = tl.zeros((BM, BM), dtype=tl.float32)
    second = tl.zeros((BM, BM), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        a = tl.load(a_ptr + rows[:, None] * K + depth[None, :] + k * BK)
        b = tl.load(b_ptr + depth[:, None] * BM + rows[None, :] + k * BK * BM)
        c = tl.load(c_ptr + depth[:, None] * BM + rows[None, :] + k * BK * BM)
        doubled = (a * 2.0).to(a.dtype)
        first = tl.dot(doubled, b, first)
        second = tl.dot(doubled, c, second)
    tl.store(d_ptr + rows[:, None] * BM + rows[None, :], first * second)


@triton.jit
def attention(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    M,
    N,
    K,
    scale,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """Of `M` rows of queries each block has `BM`, and goes over all `K` keys, or those up to its own rows."""
    first = tl.program_id(0) * BM
    rows = first + tl.arange(0, BM)
    keys = tl.arange(0, BN)
    width = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + width[None, :], mask=rows[:, None] < M, other=0.0)
    highest = tl.full((BM,), -1.0e30, dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    end = tl.minimum(first + BM, K) if CAUSAL else K
    for start in range(0, end, BN):
        at = start + keys
        k = tl.load(k_ptr + at[None, :] * D + width[:, None], mask=at[None, :] < K, other=0.0)
        s = tl.dot(q, k) * scale
        s = tl.where((at[None, :] < K) & ((not CAUSAL) | (rows[:, None] >= at[None, :])), s, -1.0e30)
        new = tl.maximum(highest, tl.max(s, axis=1))
        p = tl.exp(s - new[:, None])
        factor = tl.exp(highest - new)
        total = total * factor + tl.sum(p, axis=1)
        v = tl.load(v_ptr + at[:, None] * D + width[None, :], mask=at[:, None] < K, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * factor[:, None])
        highest = new
    tl.store(o_ptr + rows[:, None] * D + width[None, :], (acc / total[:, None]).to(tl.float16), mask=rows[:, None] < M)


# Loops one after the other: they lie here so that no place above moves.


@triton.jit
def masked_sums(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BK: tl.constexpr):
    """The whole blocks before a number of the grid, then the blocks from there on, with masks: as attention does."""
    first = tl.program_id(0) * BM
    rows = first + tl.arange(0, BM)
    columns = tl.arange(0, BM)
    depth = tl.arange(0, BK)
    acc = tl.zeros((BM, BM), dtype=tl.float32)
    for k in range(0, first, BK):
        a = tl.load(a_ptr + rows[:, None] * N + (k + depth)[None, :])
        b = tl.load(b_ptr + (k + depth)[:, None] * BM + columns[None, :])
        acc = tl.dot(a, b, acc)
    for k in range(first, tl.minimum(first + BM, K), BK):
        inside = k + depth < K
        a = tl.load(a_ptr + rows[:, None] * N + (k + depth)[None, :], mask=inside[None, :], other=0.0)
        b = tl.load(b_ptr + (k + depth)[:, None] * BM + columns[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * BM + columns[None, :], acc.to(tl.float16))


@triton.jit
def two_products(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BK: tl.constexpr):
    """Two loops one after the other, each with a bound of its own."""
    rows = tl.arange(0, BM)
    depth = tl.arange(0, BK)
    acc = tl.zeros((BM, BM), dtype=tl.float32)
    for n in range(tl.cdiv(N, BK)):
        a = tl.load(a_ptr + rows[:, None] * N + (n * BK + depth)[None, :])
        b = tl.load(b_ptr + (n * BK + depth)[:, None] * BM + rows[None, :])
        acc = tl.dot(a, b, acc)
    for k in range(tl.cdiv(K, BK)):
        a = tl.load(a_ptr + rows[:, None] * K + (k * BK + depth)[None, :])
        b = tl.load(b_ptr + (k * BK + depth)[:, None] * BM + rows[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * BM + rows[None, :], acc.to(tl.float16))


@triton.jit
def chunk_of_sequence(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BK: tl.constexpr):
    """Nothing behind the end of the sequence; else two loops, and masks by that end: as in linear attention."""
    first = tl.program_id(0) * BM
    if first >= N:
        return
    rows = tl.arange(0, BM)
    depth = tl.arange(0, BK)
    acc = tl.zeros((BM, BM), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        inside = first + rows < N
        a = tl.load(a_ptr + (first + rows)[:, None] * K + (k * BK + depth)[None, :], mask=inside[:, None], other=0.0)
        b = tl.load(b_ptr + (k * BK + depth)[:, None] * BM + rows[None, :])
        acc = tl.dot(a, b, acc)
    for n in range(0, N):
        acc += tl.load(b_ptr + n * BM + rows, mask=rows < N - n, other=0.0)[None, :].to(tl.float32)
    tl.store(c_ptr + (first + rows)[:, None] * BM + rows[None, :], acc.to(tl.float16), mask=(first + rows < N)[:, None])
