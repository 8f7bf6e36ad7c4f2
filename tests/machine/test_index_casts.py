"""Casts between integers and indices, with and without sign, against what numpy makes of the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.running import run

CAST = """
func.func @f(%x: memref<4xi8>, %out: memref<4xi64>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {{
    %v = memref.load %x[%i] : memref<4xi8>
    %n = arith.{cast} %v : i8 to index
    %w = arith.index_cast %n : index to i64
    memref.store %w, %out[%i] : memref<4xi64>
  }}
  func.return
}}
"""
BYTES = np.array([0, 127, -128, -1], np.int8)


@pytest.mark.parametrize(("cast", "seen_as"), [("index_cast", np.int8), ("index_castui", np.uint8)])
def test_a_byte_as_an_index(cast: str, seen_as: type[np.integer]) -> None:
    outcome = run(parse(CAST.format(cast=cast)), "f", {"x": BYTES, "out": np.zeros(4, np.int64)})
    np.testing.assert_array_equal(outcome.arrays["out"], BYTES.view(seen_as).astype(np.int64))


def test_it_becomes_an_extension_by_zeros() -> None:
    text = "func.func @f(%x: i8) -> index { %n = arith.index_castui %x : i8 to index func.return %n : index }"
    names = [op.name for op in run_passes(parse(text), "convert-to-llvm").walk()]
    assert "llvm.zext" in names
    assert "llvm.sext" not in names


COUNTED = """
func.func @f(%x: memref<?xi32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %at = arith.index_castui %i : i32 to index
    memref.store %i, %x[%at] : memref<?xi32>
  }
  func.return
}
"""


def test_a_number_that_counts_up_moves_on_as_an_index() -> None:
    assert check(parse(COUNTED)).holds_for_every_trip_count
