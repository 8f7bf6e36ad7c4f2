"""
Kernels of the field, small enough to be run many times: each a loop over tiles, with arrays for any trip count.

The files are in `tests/kernels/`; each has a function `@f` whose argument `%n` is the trip count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.support.ir import ROOT

DIRECTORY = ROOT / "tests" / "kernels"


@dataclass(frozen=True)
class Kernel:
    """A file, and the shapes of its arrays; `n` in a shape stands for the trip count, at least 1."""

    name: str
    arrays: Mapping[str, tuple[int | str, ...]]
    element: Mapping[str, str]

    @property
    def text(self) -> str:
        return (DIRECTORY / f"{self.name}.mlir").read_text()

    def arguments(self, trips: int) -> dict[str, Any]:
        """Small integers in every array, the same each time."""
        draw = np.random.default_rng(7)
        given: dict[str, Any] = {"n": trips}
        for name, shape in self.arrays.items():
            extents = [_extent(extent, trips) for extent in shape]
            kind = {"f16": np.float16, "f32": np.float32}[self.element.get(name, "f32")]
            given[name] = draw.integers(-2, 3, extents).astype(kind)
        return given


def _extent(extent: int | str, trips: int) -> int:
    return extent if isinstance(extent, int) else int(extent.removesuffix("n")) * max(trips, 1)


def _gemm(rows: int, columns: int, depth: int) -> Kernel:
    arrays: dict[str, tuple[int | str, ...]] = {
        "a": (rows, f"{depth}n"),
        "b": (f"{depth}n", columns),
        "c": (rows, columns),
    }
    return Kernel(f"gemm_{rows}x{columns}x{depth}", arrays, {"a": "f16", "b": "f16"})


KERNELS = (
    _gemm(64, 64, 16),
    _gemm(128, 64, 16),
    _gemm(64, 128, 32),
    _gemm(16, 8, 8),
    Kernel(
        "three_loads", {"a": (64, "16n"), "b": ("16n", 64), "d": ("64n", 64), "c": (64, 64)}, {"a": "f16", "b": "f16"}
    ),
    Kernel(
        "chained_gemm",
        {"a": (64, 16), "b": (16, "16n"), "v": ("16n", 64), "c": (64, 64)},
        {"a": "f16", "b": "f16", "v": "f16"},
    ),
    Kernel("convolution", {"x": ("64n", 16), "w": ("16n", 64), "c": (64, 64)}, {"x": "f16", "w": "f16"}),
    Kernel("elementwise", {"x": ("16n", 16), "y": ("16n", 16), "c": ("16n", 16)}, {}),
    Kernel("reduction", {"x": (16, "16n"), "c": (16, 16)}, {}),
    Kernel("stencil", {"x": ("8n", 16), "y": ("8n", 16), "z": ("8n", 16), "c": ("8n", 16)}, {}),
)
"""The kernels that are scheduled, expanded, run and checked."""


def program(body: str, *, load: bool, more: str = "") -> str:
    """A loop over tiles of `%m` with an accumulator `%acc`, which `%next` follows."""
    loaded = "    %x = nv_tileaa.tiled_load %m[%i, %c0] : (memref<?x?xf32>, index, index) -> !tile" if load else ""
    return f"""
!tile = tensor<8x8xf32>
func.func @f(%m: memref<?x?xf32>, %zero: !tile, %n: index) -> !tile {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) {{
{loaded}
{more}
{body}
    scf.yield %next : !tile
  }}
  func.return %out : !tile
}}"""
