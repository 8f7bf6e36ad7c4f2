"""Scans, floats of 8 bits, and coordinates below zero: threads compute what tiles do, element by element."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.ir import Operation

from tests.support.corpora import each
from tests.support.ir import parse
from tests.support.threads_and_tiles import AGENTS, BEFORE_TMA, ONE_AGENT, RIGHT, VARIANTS, compared, lowered
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.nvvm.thread import ShflOp
from tileas_xdsl.machine.running import run

ADD = "%r = arith.{plus} %a, %b : {kind}"
LAST_THAT_IS_NOT_ZERO = """%zero = arith.constant {none} : {kind}
    %is = arith.{compare}, %b, %zero : {kind}
    %r = arith.select %is, %b, %a : {kind}"""
"""It does not commute."""
WORDS = {
    "f32": {"plus": "addf", "none": "0.0", "compare": "cmpf one"},
    "f16": {"plus": "addf", "none": "0.0", "compare": "cmpf one"},
    "i32": {"plus": "addi", "none": "0", "compare": "cmpi ne"},
}
FORWARD, BACK = "", ", reverse"
Scan = tuple[tuple[int, ...], int, str, str, str, str]
SCANS = [
    (shape, axis, kind, combiner, variant, way)
    for shape, kind, combiner, variant, way in product(
        ((16, 32), (32, 16), (8, 128), (64, 4), (256,)),
        WORDS,
        (ADD, LAST_THAT_IS_NOT_ZERO),
        (ONE_AGENT, BEFORE_TMA),
        (FORWARD, BACK),
    )
    for axis in range(len(shape))
]


def name_of(case: Scan) -> str:
    shape, axis, kind, combiner, variant, way = case
    return f"{shape}-{axis}-{kind}-{'commutes' if combiner is ADD else 'does not'}-{variant}{way}"


@each("case", SCANS, 8, ids=name_of)
def test_what_stands_in_front_is_combined(case: Scan) -> None:
    shape, axis, kind, combiner, variant, way = case
    tile, array = f"tensor<{'x'.join(map(str, shape))}x{kind}>", f"memref<{'?x' * len(shape)}{kind}>"
    at, types = ", ".join(["%c0"] * len(shape)), ", ".join(["index"] * len(shape))
    text = f"""func.func @f(%x: {array}, %y: {array}) {{
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[{at}] : ({array}, {types}) -> {tile}
  %s = nv_tileaa.scan %v attributes {{axis = {axis} : i32{way}}} {{
  ^bb0(%a: {kind}, %b: {kind}):
    {combiner.format(kind=kind, **WORDS[kind])}
    nv_tileaa.yield %r : ({kind}) -> ()
  }} : ({tile}) -> {tile}
  nv_tileaa.tiled_store %y[{at}], %s : ({array}, {tile}, {types}) -> ()
  func.return
}}"""
    assert compared(text, lowered(text, variant), (0,), 256) == RIGHT


FLUSHED = """func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf32>, index, index) -> tensor<16x32xf32>
  %w = nv_tileaa.OP attributes {flush_to_zero} : (TYPES) -> tensor<16x32xf32>
  nv_tileaa.tiled_store %y[%c0, %c0], %w : (memref<?x?xf32>, tensor<16x32xf32>, index, index) -> ()
  func.return
}"""
NEAR_THE_LEAST = np.exp2(np.linspace(-160, 10, 512)).astype(np.float32).reshape(16, 32)


@pytest.mark.parametrize("op", ["mulf %v, %v", "addf %v, %v", "sqrt %v", "fma %v, %v, %v"])
def test_threads_flush_subnormal_numbers_as_tiles_do(op: str) -> None:
    tile = "tensor<16x32xf32>"
    text = FLUSHED.replace("OP", op).replace("TYPES", ", ".join([tile] * op.count("%v")))
    signs = np.where((np.arange(512).reshape(16, 32) % 3 == 0) & ("sqrt" not in op), -1, 1).astype(np.float32)
    numbers = {"x": NEAR_THE_LEAST * signs, "y": np.zeros((16, 32), np.float32)}
    before = run(parse(text), None, numbers).arrays["y"]
    after = run(lowered(text, ONE_AGENT), None, numbers).arrays["y"]
    found = np.asarray(after).reshape(16, 32)
    assert np.array_equal(before, found)
    assert np.array_equal(np.signbit(before), np.signbit(found))
    assert not np.any((np.abs(before) < 2.0**-126) & (before != 0))


def test_powers_of_two_are_flushed_in_threads() -> None:
    text = FLUSHED.replace("OP", "exp2 %v").replace("TYPES", "tensor<16x32xf32>")
    x = np.linspace(-160, 10, 512).astype(np.float32).reshape(16, 32)
    after = run(lowered(text, ONE_AGENT), None, {"x": x, "y": np.zeros_like(x)}).arrays["y"]
    expected = np.where(x < -126, 0, np.exp2(x))
    assert np.allclose(np.asarray(after).reshape(16, 32), expected, rtol=2**-21, atol=0)


ROWS = """func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf32>, index, index) -> tensor<4x1024xf32>
  %sum = nv_tileaa.reduce %v attributes {axis = 1 : i32} {
  ^bb0(%p: f32, %q: f32):
    %r = arith.COMBINE %p, %q : f32
    nv_tileaa.yield %r : (f32) -> ()
  } : (tensor<4x1024xf32>) -> tensor<4xf32>
  %column = nv_tileaa.expand_dims %sum : (tensor<4xf32>) -> tensor<4x1xf32>
  %wide = nv_tileaa.broadcast %column : (tensor<4x1xf32>) -> tensor<4x1024xf32>
  %w = nv_tileaa.divf %v, %wide ROUNDING : (tensor<4x1024xf32>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
  nv_tileaa.tiled_store %y[%c0, %c0], %w : (memref<?x?xf32>, tensor<4x1024xf32>, index, index) -> ()
  func.return
}"""
ROUGH = "attributes {rounding_mode = #nv_tileaa<rounding_mode approx>}"


@pytest.mark.parametrize("combine", ["addf", "maximumf", "minimumf"])
@pytest.mark.parametrize("rounding", ["", ROUGH])
def test_numbers_of_a_row_are_divided_by_one(rounding: str, combine: str) -> None:
    """A thread has 32 numbers of a row: where a division may be rough, it takes one reciprocal and multiplies."""
    module = lowered(ROWS.replace("ROUNDING", rounding).replace("COMBINE", combine), ONE_AGENT)
    x = np.random.default_rng(1).uniform(1, 2, (4, 1024)).astype(np.float32)
    found = np.asarray(run(module, None, {"x": x, "y": np.zeros_like(x)}).arrays["y"]).reshape(x.shape)
    by = {"addf": np.sum, "maximumf": np.max, "minimumf": np.min}[combine](x, axis=1, keepdims=True)
    assert np.allclose(found, x / by, rtol=2**-18)
    assert sum(isinstance(op, arith.DivfOp) for op in module.walk()) == (1 if rounding else 32)


def test_a_long_row_is_combined_in_two_chains() -> None:
    """No number waits for 31 others: 15 in each chain, then the chains, then 5 lanes."""
    module = lowered(ROWS.replace("ROUNDING", "").replace("COMBINE", "maximumf"), ONE_AGENT)
    (last,) = [op for op in module.walk() if isinstance(op, arith.MaximumfOp) and not _combined_again(op)]
    assert _depth(last) == 15 + 1 + 5


def _combined_again(op: Operation) -> bool:
    users = (use.operation for result in op.results for use in result.uses)
    return any(isinstance(user, arith.MaximumfOp | ShflOp) for user in users)


def _depth(op: Operation) -> int:
    """Combinations one after the other, up to `op`."""
    inner = [it.owner.val if isinstance(it.owner, ShflOp) else it for it in op.operands]
    found = [it.owner for it in inner if isinstance(it.owner, arith.MaximumfOp)]
    return 1 + max((_depth(it) for it in found), default=0)


def test_other_floats_are_not_flushed() -> None:
    text = FLUSHED.replace("OP", "mulf %v, %v").replace("TYPES", "tensor<16x32xf32>, tensor<16x32xf32>")
    with pytest.raises(RefusedError, match="flushes subnormal numbers of f16"):
        lowered(text.replace("f32", "f16"), ONE_AGENT)


@pytest.mark.parametrize("variant", [ONE_AGENT, BEFORE_TMA, AGENTS])
def test_a_tile_of_an_array_with_more_axes_is_that_of_the_last_ones(variant: str) -> None:
    array, tile = "memref<?x?x?xf16, strided<[?, ?, 1]>>", "tensor<64x64xf16, #nv_tileas.layout<smem>>"
    text = f"""func.func @f(%x: {array}, %y: {array}, %z: memref<?x?x?xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {{
    %a = nv_tileaa.tiled_load %x[%c1, %c0, %k] : ({array}, index, index, index) -> {tile}
    %b = nv_tileaa.tiled_load %y[%c1, %k, %c0] : ({array}, index, index, index) -> {tile}
    %d = nv_tileaa.dot %a, %b, %acc : ({tile}, {tile}, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }}
  nv_tileaa.tiled_store %z[%c1, %c0, %c0], %r : (memref<?x?x?xf32>, tensor<64x64xf32>, index, index, index) -> ()
  func.return
}}"""
    x, y = (np.random.default_rng(seed).integers(-2, 3, (2, 64, 64)).astype(np.float16) for seed in (1, 2))
    numbers = {"x": x, "y": y, "z": np.zeros((2, 64, 64), np.float32), "n": 1}
    after = np.asarray(run(lowered(text, variant), None, numbers).arrays["z"]).reshape(2, 64, 64)
    assert np.array_equal(after[1], x[1].astype(np.float32) @ y[1].astype(np.float32))
    assert not after[0].any()


def test_an_exclusive_scan_is_refused() -> None:
    text = """func.func @f(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0] : (memref<?xf32>, index) -> tensor<64xf32>
  %s = nv_tileaa.scan %v attributes {axis = 0 : i32, inclusive = false} {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    nv_tileaa.yield %r : (f32) -> ()
  } : (tensor<64xf32>) -> tensor<64xf32>
  nv_tileaa.tiled_store %x[%c0], %s : (memref<?xf32>, tensor<64xf32>, index) -> ()
  func.return
}"""
    with pytest.raises(RefusedError, match="scans exclusively"):
        lowered(text, BEFORE_TMA)


SMALL = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}


@pytest.mark.parametrize(("kind", "wide"), list(product(SMALL, ("f16", "bf16", "f32"))))
def test_each_float_of_8_bits_is_widened_exactly(kind: str, wide: str) -> None:
    text = f"""func.func @f(%x: memref<8x32x{kind}>, %y: memref<8x32x{wide}>) {{
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<8x32x{kind}>, index, index) -> tensor<8x32x{kind}>
  %w = arith.extf %v : tensor<8x32x{kind}> to tensor<8x32x{wide}>
  nv_tileaa.tiled_store %y[%c0, %c0], %w : (memref<8x32x{wide}>, tensor<8x32x{wide}>, index, index) -> ()
  func.return
}}"""
    given = np.arange(256, dtype=np.uint8).view(SMALL[kind]).reshape(8, 32)
    result = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}[wide]
    arrays = {"x": given, "y": np.zeros((8, 32), result)}
    found = run(lowered(text, BEFORE_TMA), "f", arrays).arrays["y"].astype(np.float32)
    assert np.array_equal(found, given.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("op", ["arith.addf %v, %v : !t", "arith.negf %v : !t"])
def test_threads_compute_with_no_float_of_8_bits(op: str) -> None:
    text = f"""!t = tensor<8x32xf8E5M2>
func.func @f(%x: memref<8x32xf8E5M2>) {{
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<8x32xf8E5M2>, index, index) -> !t
  %w = {op}
  nv_tileaa.tiled_store %x[%c0, %c0], %w : (memref<8x32xf8E5M2>, !t, index, index) -> ()
  func.return
}}"""
    with pytest.raises(RefusedError, match="computes on tensor<8x32xf8E5M2"):
        lowered(text, BEFORE_TMA)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("place", ["", ", #nv_tileas.layout<smem>"])
def test_a_tile_above_the_first_row_is_zero(place: str, variant: str) -> None:
    """Threads compare indices as unsigned numbers; what is left of a row is read only where the row begins inside."""
    tile = f"tensor<16x16xf32{place}>"
    text = f"""!t = {tile}
!h = tensor<16x16xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %k = %c0 to %n step %c1 {{
    %above = arith.subi %k, %c2 : index
    %u = nv_tileaa.tiled_load %x[%above, %above] : (memref<?x?xf32>, index, index) -> !t
    %v = nv_tileas.convert_layout %u : (!t) -> !h
    nv_tileaa.tiled_store %y[%k, %c0], %v : (memref<?x?xf32>, !h, index, index) -> ()
  }}
  func.return
}}"""
    text = (
        text
        if place
        else text.replace("    %v = nv_tileas.convert_layout %u : (!t) -> !h\n", "").replace("%v :", "%u :")
    )
    threads = lowered(text, variant)
    assert compared(text, threads, (1, 3), 40) == RIGHT
    assert compared(text, threads, (1, 3), 64) == RIGHT


def test_agents_multiply_floats_of_8_bits() -> None:
    """Factors of 8 bits become f16; `f8` in the product's own words would want both factors along K."""
    text = """#smem = #nv_tileas.layout<smem>
!a = tensor<64x32xf8E4M3FN, #smem>
!b = tensor<32x16xf8E4M3FN, #smem>
!c = tensor<64x16xf32>
func.func @f(%a: memref<?x?xf8E4M3FN>, %b: memref<?x?xf8E4M3FN>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf8E4M3FN>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf8E4M3FN>, index, index) -> !b
    %s = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %s : !c
  }
  nv_tileaa.tiled_store %y[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}"""
    assert parse(text).verify() is None
    assert compared(text, lowered(text, AGENTS), (0, 1, 3), 96) == RIGHT
