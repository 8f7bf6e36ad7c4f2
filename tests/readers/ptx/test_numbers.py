"""
What instructions compute, where all numbers are read: each against numpy, on threads that load, compute and store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.readers.ptx.programs import text_of
from tileas_xdsl.machine.running import run
from tileas_xdsl.readers.ptx.launch import launch_of
from tileas_xdsl.readers.ptx.reading import read_ptx
from tileas_xdsl.readers.ptx.syntax import PtxError

Array = np.ndarray[Any, Any]
THREADS = 32
PARAMETERS = ".param .u64 x, .param .u64 y, .param .u64 out, .param .u64 size"
LOAD = (
    "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u64 %d3, [out]; mov.u32 %r1, %tid.x;"
    "mul.wide.u32 %d4, %r1, {size}; add.s64 %d1, %d1, %d4; add.s64 %d2, %d2, %d4; add.s64 %d3, %d3, %d4;"
)
OF_32 = f"{LOAD} ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d2]; {{body}} st.global.f32 [%d3], %f3;"
OF_16 = f"{LOAD} ld.global.b16 %h1, [%d1]; ld.global.b16 %h2, [%d2]; {{body}} st.global.b16 [%d3], %h3;"


def buffer(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "kind": "buffer", "type": kind, "shape": [None], "strides": [1], "offset": 0}


def computed(body: str, kind: str, x: Array, y: Array) -> Array:
    """What the threads store that have loaded an element of `x` and one of `y` each."""
    contract = {
        "kernels": [
            {
                "name": "k",
                "block": [THREADS, 1, 1],
                "parameters": [*(buffer(name, kind) for name in ("x", "y", "out")), SIZE],
            }
        ]
    }
    text = text_of(body, parameters=PARAMETERS, block=f".reqntid {THREADS}")
    module = read_ptx(
        text, "k.ptx", lambda one: launch_of(contract, one.name, one.parameters), with_numbers=True
    ).module
    module.verify()
    done = run(module, "k", {"x": x, "y": y, "out": np.zeros_like(x)})
    assert done.violations == ()
    return done.arrays["out"]


SIZE = {"name": "x", "kind": "number", "type": "i64", "is": "size 0"}
NAN, INFINITY = float("nan"), float("inf")
X = np.array([1.5, -2.25, 0.0, 3.0, NAN, 1e-3, INFINITY, 7.75] * 4, np.float32)
Y = np.array([2.0, 3.5, 1.0, NAN, 1.0, -4.0, 2.0, 7.75] * 4, np.float32)
F32: dict[str, Callable[[Array, Array], Array]] = {
    "add.f32 %f3, %f1, %f2;": np.add,
    "sub.rn.f32 %f3, %f1, %f2;": np.subtract,
    "mul.f32 %f3, %f1, %f2;": np.multiply,
    "div.rn.f32 %f3, %f1, %f2;": np.divide,
    "div.full.f32 %f3, %f1, %f2;": np.divide,
    "fma.rn.f32 %f3, %f1, %f2, %f1;": lambda x, y: (x.astype(np.float64) * y + x).astype(np.float32),
    "max.f32 %f3, %f1, %f2;": np.fmax,
    "min.f32 %f3, %f1, %f2;": np.fmin,
    "max.NaN.f32 %f3, %f1, %f2;": np.maximum,
    "min.NaN.f32 %f3, %f1, %f2;": np.minimum,
    "neg.f32 %f3, %f1;": lambda x, _: -x,
    "abs.f32 %f3, %f1;": lambda x, _: np.abs(x),
    "sqrt.rn.f32 %f3, %f2;": lambda _, y: np.sqrt(y),
    "rcp.rn.f32 %f3, %f1;": lambda x, _: np.float32(1) / x,
    "ex2.approx.ftz.f32 %f3, %f1;": lambda x, _: np.exp2(x.astype(np.float64)).astype(np.float32),
    "lg2.approx.f32 %f3, %f2;": lambda _, y: np.log2(y.astype(np.float64)).astype(np.float32),
    "mul.f32 %f3, %f1, 0f40200000;": lambda x, _: x * np.float32(2.5),
    "setp.lt.f32 %p1, %f1, %f2; selp.f32 %f3, %f1, %f2, %p1;": lambda x, y: np.where(x < y, x, y),
    "setp.ltu.f32 %p1, %f1, %f2; selp.f32 %f3, %f1, %f2, %p1;": lambda x, y: np.where(~(x >= y), x, y),
    "setp.ne.f32 %p1|%p2, %f1, %f2; selp.f32 %f3, %f1, %f2, %p1;": lambda x, y: np.where((x < y) | (x > y), x, y),
    "setp.neu.f32 %p1, %f1, %f2; @%p1 add.f32 %f2, %f1, %f2; mov.f32 %f3, %f2;": lambda x, y: np.where(
        x != y, x + y, y
    ),
    "cvt.rn.f16x2.f32 %r2, %f1, %f2; mov.b32 {%h1, %h2}, %r2; cvt.f32.f16 %f3, %h2;": lambda x, _: x.astype(
        np.float16
    ).astype(np.float32),
    "cvt.rn.bf16.f32 %h1, %f1; cvt.f32.bf16 %f3, %h1;": lambda x, _: x.astype(ml_dtypes.bfloat16).astype(np.float32),
    "cvt.rn.f32.s32 %f3, %r1;": lambda x, _: np.arange(THREADS, dtype=np.float32),
    "cvt.rzi.s32.f32 %r2, %f2; cvt.rn.f32.s32 %f3, %r2;": lambda _, y: np.where(np.isnan(y), 0, np.trunc(y)),
    "shl.b32 %r2, %r1, 3; mov.u32 %r3, s; add.u32 %r4, %r3, %r2; "
    "st.shared.v2.f32 [%r4+128], {%f1, %f2}; ld.shared.f32 %f3, [%r4+128];": lambda x, _: x,
    "shfl.sync.bfly.b32 %r2, %f1, 1, 31, -1; mov.b32 %f3, %r2;": lambda x, _: x.reshape(-1, 2)[:, ::-1].ravel(),
}


@pytest.mark.parametrize("body", F32)
def test_numbers_of_32_bits(body: str):
    with np.errstate(all="ignore"):
        wanted = F32[body](X, Y).astype(np.float32)
    text = OF_32.replace("{size}", "4").replace("{body}", body)
    assert np.array_equal(computed(text, "f32", X, Y), wanted, equal_nan=True)


HALVES: dict[str, Callable[[Array, Array], Array]] = {
    "add.rn.f16 %h3, %h1, %h2;": np.add,
    "fma.rn.f16 %h3, %h1, %h2, %h1;": lambda x, y: (x.astype(np.float64) * y + x).astype(np.float16),
    "mov.b32 %r2, {%h1, %h2}; mul.rn.f16x2 %r3, %r2, %r2; mov.b32 {%h4, %h3}, %r3;": lambda _, y: y * y,
    "mov.b32 %r2, {%h2, %h1}; max.f16x2 %r3, %r2, %r2; mov.b32 {%h4, %h3}, %r3;": lambda x, _: x,
}


@pytest.mark.parametrize("body", HALVES)
def test_numbers_of_16_bits(body: str):
    x, y = (array.astype(np.float16) for array in (X, Y))
    with np.errstate(all="ignore"):
        wanted = HALVES[body](x, y).astype(np.float16)
    found = computed(OF_16.replace("{size}", "2").replace("{body}", body), "f16", x, y)
    assert np.array_equal(found, wanted, equal_nan=True)


def test_a_number_of_an_array_is_that_of_the_array_that_is_given():
    body = f"{LOAD} ld.param.u64 %d5, [size]; cvt.rn.f32.u64 %f3, %d5; st.global.f32 [%d3], %f3;"
    assert list(computed(body.replace("{size}", "4"), "f32", X, Y)) == [THREADS] * THREADS


@pytest.mark.parametrize(
    "body",
    [
        "add.ftz.f32 %f3, %f1, %f2;",
        "atom.global.add.f32 %f3, [%d1], %f1;",
        "prmt.b32 %r2, %r1, %r1, %r1; mov.b32 %f3, %r2;",
        "ld.const.f32 %f3, [%d1];",
    ],
)
def test_what_has_no_numbers_is_refused_by_name(body: str):
    with pytest.raises(PtxError, match="moves or computes numbers that are not read"):
        computed(OF_32.replace("{size}", "4").replace("{body}", body), "f32", X, Y)
