"""Scans, floats of 8 bits, and coordinates below zero: threads compute what tiles do, element by element."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from tests.support.corpora import each
from tests.support.ir import parse
from tests.support.threads_and_tiles import AGENTS, BEFORE_TMA, ONE_AGENT, RIGHT, VARIANTS, compared, lowered
from tileas_xdsl.diagnostics import RefusedError
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
SCANS = [
    (shape, axis, kind, combiner, variant)
    for shape, kind, combiner, variant in product(
        ((16, 32), (32, 16), (8, 128), (64, 4), (256,)), WORDS, (ADD, LAST_THAT_IS_NOT_ZERO), (ONE_AGENT, BEFORE_TMA)
    )
    for axis in range(len(shape))
]


def name_of(case: tuple[tuple[int, ...], int, str, str, str]) -> str:
    shape, axis, kind, combiner, variant = case
    return f"{shape}-{axis}-{kind}-{'commutes' if combiner is ADD else 'does not'}-{variant}"


@each("case", SCANS, 8, ids=name_of)
def test_what_stands_in_front_is_combined(case: tuple[tuple[int, ...], int, str, str, str]) -> None:
    shape, axis, kind, combiner, variant = case
    tile, array = f"tensor<{'x'.join(map(str, shape))}x{kind}>", f"memref<{'?x' * len(shape)}{kind}>"
    at, types = ", ".join(["%c0"] * len(shape)), ", ".join(["index"] * len(shape))
    text = f"""func.func @f(%x: {array}, %y: {array}) {{
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[{at}] : ({array}, {types}) -> {tile}
  %s = nv_tileaa.scan %v attributes {{axis = {axis} : i32}} {{
  ^bb0(%a: {kind}, %b: {kind}):
    {combiner.format(kind=kind, **WORDS[kind])}
    nv_tileaa.yield %r : ({kind}) -> ()
  }} : ({tile}) -> {tile}
  nv_tileaa.tiled_store %y[{at}], %s : ({array}, {tile}, {types}) -> ()
  func.return
}}"""
    assert compared(text, lowered(text, variant), (0,), 256) == RIGHT


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
