"""Functions without an instruction: how far the threads' numbers are from those of the tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.support.ir import parse, run_passes
from tileas_xdsl.machine.running import run

PROGRAM = """
func.func @f(%x: memref<64x64xf32>, %y: memref<64x64xf32>) {{
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<64x64xf32>, index, index) -> tensor<64x64xf32>
  %r = math.{name} %v : tensor<64x64xf32>
  nv_tileaa.tiled_store %y[%c0, %c0], %r : (memref<64x64xf32>, tensor<64x64xf32>, index, index) -> ()
  func.return
}}
"""
DOWN = "tileir{compute-capability=sm_80 pipeline-strategy=unspecialize layouts=true threads=true}"
SPREAD = np.linspace(-9, 9, 64 * 64 - 8, dtype=np.float32)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e-20, 3e38], np.float32)
GIVEN = np.concatenate([SPREAD, SPECIAL]).reshape(64, 64)


def near_results(found: Any, wanted: Any) -> Any:
    return 2.0**-20 * np.maximum(1, np.abs(wanted))


def near_powers(found: Any, wanted: Any) -> Any:
    return 2.0**-22 * (2 + np.abs(GIVEN)) * np.abs(wanted)


BOUNDS: dict[str, Callable[[Any, Any], Any]] = {
    "exp": near_powers,
    **dict.fromkeys(["tanh", "erf", "log", "log2", "log10", "log1p"], near_results),
    **dict.fromkeys(["sin", "cos"], near_results),
    "tan": lambda _, wanted: 2.0**-19 * (1 + np.abs(wanted)) ** 2,
    **dict.fromkeys(["sinh", "cosh"], near_powers),
    **dict.fromkeys(["floor", "ceil"], lambda _, wanted: 0 * wanted),
}
ANGLES = ("sin", "cos", "tan")


@pytest.mark.parametrize("name", BOUNDS)
def test_functions_are_within_their_bounds(name: str) -> None:
    tiles = parse(PROGRAM.format(name=name))
    given = np.where(np.abs(GIVEN) > 1e5, np.float32(1e5), GIVEN) if name in ANGLES else GIVEN
    wanted = run(tiles, "f", {"x": given.copy(), "y": GIVEN.copy()}).arrays["y"].astype(np.float64)
    found = run(run_passes(tiles.clone(), DOWN), "f", {"x": given.copy(), "y": GIVEN.copy()}).arrays["y"]
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    finite = np.isfinite(wanted) & np.isfinite(found)
    with np.errstate(invalid="ignore"):
        close = finite & (np.abs(found - wanted) <= BOUNDS[name](found, wanted))
    wrong = ~(same | close)
    assert not wrong.any(), list(zip(GIVEN[wrong][:4], found[wrong][:4], wanted[wrong][:4], strict=True))


PAIRS = """
func.func @f(%x: memref<64x64xf32>, %z: memref<64x64xf32>, %y: memref<64x64xf32>) {{
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<64x64xf32>, index, index) -> tensor<64x64xf32>
  %w = nv_tileaa.tiled_load %z[%c0, %c0] : (memref<64x64xf32>, index, index) -> tensor<64x64xf32>
  %r = math.{name} %v, %w : tensor<64x64xf32>
  nv_tileaa.tiled_store %y[%c0, %c0], %r : (memref<64x64xf32>, tensor<64x64xf32>, index, index) -> ()
  func.return
}}
"""
SIDES = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, np.inf, -np.inf, np.nan, 7.25, -0.3], np.float32)
FIRST = np.resize(np.repeat(np.concatenate([SIDES, np.linspace(-9, 9, 52, dtype=np.float32)]), 64), (64, 64))
SECOND = np.resize(np.concatenate([SIDES, np.linspace(-5, 5, 52, dtype=np.float32)]), (64, 64))


@pytest.mark.parametrize("name", ["atan2", "powf"])
def test_functions_of_two_numbers_are_within_their_bounds(name: str) -> None:
    tiles = parse(PAIRS.format(name=name))
    given = {"x": FIRST, "z": SECOND, "y": np.zeros_like(FIRST)}
    with np.errstate(all="ignore"):
        wanted = {"atan2": np.arctan2, "powf": np.power}[name](FIRST.astype(np.float64), SECOND.astype(np.float64))
        wanted = wanted.astype(np.float32).astype(np.float64)
        near = 2.0**-20 * (2 + np.abs(SECOND * np.log2(np.abs(FIRST) + 1e-30))) * np.abs(wanted)
    found = run(run_passes(tiles.clone(), DOWN), "f", given).arrays["y"]
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        close = np.abs(found - wanted) <= (near if name == "powf" else 2.0**-20 * np.maximum(1, np.abs(wanted)))
    wrong = ~(same | close)
    assert not wrong.any(), list(zip(FIRST[wrong], SECOND[wrong], found[wrong], wanted[wrong], strict=True))[:8]


NARROW = """
func.func @f(%x: memref<64x64xf32>, %y: memref<64x64x{small}>) {{
  %c0 = arith.constant 0 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<64x64xf32>, index, index) -> tensor<64x64xf32>
  %r = nv_tileaa.fp_to_fp %v : (tensor<64x64xf32>) -> tensor<64x64x{small}>
  nv_tileaa.tiled_store %y[%c0, %c0], %r : (memref<64x64x{small}>, tensor<64x64x{small}>, index, index) -> ()
  func.return
}}
"""
"""Each number of 8 bits, what lies half way to the next, and numbers beside these."""


@pytest.mark.parametrize("kind", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_numbers_are_rounded_to_8_bits_as_numpy_does(kind: Any) -> None:
    small = {"float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2"}[kind.__name__]
    numbers = np.sort(np.arange(256, dtype=np.uint8).view(kind).astype(np.float32))
    numbers = numbers[np.isfinite(numbers)]
    halves = (numbers[1:] + numbers[:-1]) / 2
    near = np.concatenate([np.nextafter(halves, np.float32(1e9)), np.nextafter(halves, np.float32(-1e9))])
    given = np.resize(np.concatenate([numbers, halves, near, SPECIAL, GIVEN.reshape(-1)]), (64, 64))
    tiles = parse(NARROW.format(small=small))
    with np.errstate(over="ignore"):
        wanted = given.astype(kind)
    found = run(run_passes(tiles, DOWN), "f", {"x": given, "y": np.zeros((64, 64), kind)}).arrays["y"]
    assert np.array_equal(found.astype(np.float32), wanted.astype(np.float32), equal_nan=True)
