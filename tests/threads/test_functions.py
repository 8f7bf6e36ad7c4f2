"""Functions without an instruction: how far the threads' numbers are from those of the tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
}


@pytest.mark.parametrize("name", BOUNDS)
def test_functions_are_within_their_bounds(name: str) -> None:
    tiles = parse(PROGRAM.format(name=name))
    wanted = run(tiles, "f", {"x": GIVEN.copy(), "y": GIVEN.copy()}).arrays["y"].astype(np.float64)
    found = run(run_passes(tiles.clone(), DOWN), "f", {"x": GIVEN.copy(), "y": GIVEN.copy()}).arrays["y"]
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    finite = np.isfinite(wanted) & np.isfinite(found)
    with np.errstate(invalid="ignore"):
        close = finite & (np.abs(found - wanted) <= BOUNDS[name](found, wanted))
    wrong = ~(same | close)
    assert not wrong.any(), list(zip(GIVEN[wrong][:4], found[wrong][:4], wanted[wrong][:4], strict=True))
