"""Casts and selections element by element, and loops over unsigned numbers, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.violations import NoStepError
from tileas_xdsl.machine.running import run

INTEGERS = np.array([-128, -7, -1, 0, 1, 7, 100, 127], np.int8)
WORDS = np.array([-(2**31), -300, -129, -1, 0, 255, 70000, 2**31 - 1], np.int32)
FLOATS = np.array([-128.0, -7.75, -0.5, 0.0, 0.5, 2.5, 99.9, 127.0], np.float32)
MASK = np.array([1, 0, 0, 1, 1, 0, 1, 0], np.bool_)

CASTS: dict[str, tuple[Any, str, str, Any]] = {
    "sitofp": (INTEGERS, "i8", "f16", INTEGERS.astype(np.float16)),
    "sitofp of words": (WORDS, "i32", "f32", WORDS.astype(np.float32)),
    "uitofp": (INTEGERS, "i8", "f32", INTEGERS.view(np.uint8).astype(np.float32)),
    "fptosi": (FLOATS, "f32", "i8", FLOATS.astype(np.int8)),
    "fptosi to words": (FLOATS, "f32", "i32", FLOATS.astype(np.int32)),
    "extsi": (INTEGERS, "i8", "i32", INTEGERS.astype(np.int32)),
    "extui": (INTEGERS, "i8", "i32", INTEGERS.view(np.uint8).astype(np.int32)),
    "trunci": (WORDS, "i32", "i8", WORDS.astype(np.int8)),
    "trunci to halves": (WORDS, "i32", "i16", WORDS.astype(np.int16)),
    "index_cast": (WORDS, "i32", "index", WORDS.astype(np.int64)),
}


@pytest.mark.parametrize("name", CASTS)
def test_each_element_is_cast(name: str) -> None:
    given, source, target, expected = CASTS[name]
    text = f"""func.func @f(%a: tensor<8x{source}>) -> tensor<8x{target}> {{
      %r = arith.{name.split()[0]} %a : tensor<8x{source}> to tensor<8x{target}>
      func.return %r : tensor<8x{target}>
    }}"""
    (result,) = run(parse(text), "f", {"a": given}).results
    np.testing.assert_array_equal(result, expected)
    assert result.dtype == expected.dtype
    assert check(parse(text)).verdict is Verdict.SAFE


def test_each_element_is_chosen() -> None:
    text = """func.func @f(%m: tensor<8xi1>, %a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
      %r = arith.select %m, %a, %b : tensor<8xi1>, tensor<8xf32>
      func.return %r : tensor<8xf32>
    }"""
    (result,) = run(parse(text), "f", {"m": MASK, "a": FLOATS, "b": -FLOATS}).results
    np.testing.assert_array_equal(result, np.where(MASK, FLOATS, -FLOATS))


LOOP = """
func.func @f(%x: memref<256xi32>, %lb: i8, %ub: i8, %st: i8) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %n = scf.for unsigned %i = %lb to %ub step %st iter_args(%s = %c0) -> (i32) : i8 {
    %place = arith.extui %i : i8 to i32
    %at = arith.index_cast %place : i32 to index
    memref.store %c1, %x[%at] : memref<256xi32>
    %t = arith.addi %s, %c1 : i32
    scf.yield %t : i32
  }
  func.return %n : i32
}"""


@pytest.mark.parametrize(
    "bounds", [(0, 0, 1), (0, 5, 1), (3, 2, 1), (100, 250, 50), (250, 255, 1), (127, 129, 1), (1, 200, 199)]
)
def test_bounds_are_compared_as_unsigned_numbers(bounds: tuple[int, int, int]) -> None:
    low, high, step = bounds
    signed = [number - 256 if number > 127 else number for number in bounds]
    given = dict(zip(("lb", "ub", "st"), signed, strict=True))
    outcome = run(parse(LOOP), "f", {"x": np.zeros(256, np.int32), **given})
    assert outcome.results == (len(range(low, high, step)),)
    assert np.flatnonzero(outcome.arrays["x"]).tolist() == list(range(low, high, step))


def test_a_step_of_zero_is_refused() -> None:
    module = parse(LOOP)
    with pytest.raises(NoStepError, match="has step 0"):
        run(module, "f", {"lb": 0, "ub": 4, "st": 0})


def test_other_loops_are_as_they_were() -> None:
    outcome = run(parse(LOOP.replace("unsigned ", "")), "f", {"lb": 100, "ub": -6, "st": 50})
    assert outcome.results == (0,)
