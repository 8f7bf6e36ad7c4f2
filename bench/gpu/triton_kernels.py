"""Kernels of Triton that stand beside ours in `speed`; written for Triton 3.6."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit
def _product(a, b, c, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr):
    pid = tl.program_id(0)
    tm, tn = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group, inside = pid // (G * tn), pid % (G * tn)
    rows = min(tm - group * G, G)
    pm, pn = group * G + inside % rows, inside // rows
    om, on, ok = (pm * BM + tl.arange(0, BM)) % M, (pn * BN + tl.arange(0, BN)) % N, tl.arange(0, BK)
    at, bt = a + om[:, None] * sa + ok[None, :], b + ok[:, None] * sb + on[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        acc = tl.dot(
            tl.load(at, mask=ok[None, :] < left, other=0.0), tl.load(bt, mask=ok[:, None] < left, other=0.0), acc
        )
        at += BK
        bt += BK * sb
    cm, cn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    tl.store(c + cm[:, None] * sc + cn[None, :], acc.to(tl.float16), mask=(cm[:, None] < M) & (cn[None, :] < N))


def product(a: Any, b: Any, c: Any, tile: tuple[int, int, int], warps: int, stages: int) -> None:
    """C = A * B of f16, by plain loads, programs in groups of eight rows."""
    (m, k), n = a.shape, b.shape[1]
    rows, columns, depth = tile
    grid = (triton.cdiv(m, rows) * triton.cdiv(n, columns),)
    strides = (a.stride(0), b.stride(0), c.stride(0))
    sizes = {"BM": rows, "BN": columns, "BK": depth, "G": 8}
    _product[grid](a, b, c, m, n, k, *strides, **sizes, num_warps=warps, num_stages=stages)


@triton.jit
def _softmax(x, z, width: tl.constexpr):
    at = tl.program_id(0) * width + tl.arange(0, width)
    v = tl.load(x + at)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(z + at, e / tl.sum(e, 0))


@triton.jit
def _norm(x, z, width: tl.constexpr):
    at = tl.program_id(0) * width + tl.arange(0, width)
    v = tl.load(x + at)
    tl.store(z + at, v * tl.rsqrt(tl.sum(v * v, 0) / width + 1e-5))


def of_rows(what: str, x: Any, z: Any) -> None:
    """The softmax, or the root mean square norm, of each row, one program a row."""
    run = _softmax if what == "softmax" else _norm
    run[(x.shape[0],)](x, z, x.shape[1], num_warps=4)


@triton.jit
def nothing(a, b, c, n):
    """A kernel that does nothing: what a launch costs."""
