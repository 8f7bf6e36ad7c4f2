"""
Kernels of the field, small enough to be run many times: each a loop over tiles, with arrays for any trip count.

The files are in `tests/kernels/`; each has a function `@f` whose argument `%n` is the trip count. What they compute
is in `kernel_references.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from tests.support import kernel_references as references
from tests.support.ir import ROOT

DIRECTORY = ROOT / "tests" / "kernels"

NUMPY_TYPES: Mapping[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}


@dataclass(frozen=True)
class Kernel:
    """A file, and the shapes of its arrays; `n` in a shape stands for the trip count, at least 1."""

    name: str
    arrays: Mapping[str, tuple[int | str, ...]]
    element: Mapping[str, str]
    reference: Callable[[references.Arguments], references.Array]
    target: str = "sm_90"
    is_exact: bool = True
    """Whether all numbers that occur are exact in the types at hand."""
    loads: int = field(default=2, kw_only=True)
    """Load chains in the loop."""

    @property
    def text(self) -> str:
        return (DIRECTORY / f"{self.name}.mlir").read_text()

    def arguments(self, trips: int) -> dict[str, Any]:
        """Small integers in every array, powers of two where they are scales; the same each time."""
        draw = np.random.default_rng(7)
        given: dict[str, Any] = {"n": trips}
        for name, shape in self.arrays.items():
            extents = [_extent(extent, trips) for extent in shape]
            element = self.element.get(name, "f32")
            drawn = draw.integers(-2, 3, extents)
            numbers = 2.0**drawn if element == "f8E8M0FNU" else drawn
            given[name] = numbers.astype(NUMPY_TYPES[element])
        return given


def _extent(extent: int | str, trips: int) -> int:
    return extent if isinstance(extent, int) else int(extent.removesuffix("n")) * max(trips, 1)


def _gemm(rows: int, columns: int, depth: int) -> Kernel:
    arrays: dict[str, tuple[int | str, ...]] = {
        "a": (rows, f"{depth}n"),
        "b": (f"{depth}n", columns),
        "c": (rows, columns),
    }
    name = f"gemm_{rows}x{columns}x{depth}"
    return Kernel(name, arrays, {"a": "f16", "b": "f16"}, references.product_in_steps(depth))


def _attention(rows: int) -> Kernel:
    arrays: dict[str, tuple[int | str, ...]] = {
        "q": (rows, 16),
        "k": (16, "16n"),
        "v": ("16n", 16),
        "c": (rows, 16),
    }
    halves = {"q": "f16", "k": "f16", "v": "f16"}
    return Kernel(f"attention_{rows}", arrays, halves, references.attention, is_exact=False)


KERNELS = (
    _gemm(64, 64, 16),
    _gemm(128, 64, 16),
    _gemm(64, 128, 32),
    _gemm(16, 8, 8),
    Kernel(
        "three_loads",
        {"a": (64, "16n"), "b": ("16n", 64), "d": ("64n", 64), "c": (64, 64)},
        {"a": "f16", "b": "f16"},
        references.three_loads,
        loads=3,
    ),
    Kernel(
        "chained_gemm",
        {"a": (64, 16), "b": (16, "16n"), "v": ("16n", 64), "c": (64, 64)},
        {"a": "f16", "b": "f16", "v": "f16"},
        references.chained_gemm,
    ),
    Kernel(
        "convolution",
        {"x": ("64n", 16), "w": ("16n", 64), "c": (64, 64)},
        {"x": "f16", "w": "f16"},
        references.convolution,
    ),
    Kernel("elementwise", {"x": ("16n", 16), "y": ("16n", 16), "c": ("16n", 16)}, {}, references.elementwise),
    Kernel("reduction", {"x": (16, "16n"), "c": (16, 16)}, {}, references.reduction, loads=1),
    Kernel(
        "stencil",
        {"x": ("8n", 16), "y": ("8n", 16), "z": ("8n", 16), "c": ("8n", 16)},
        {},
        references.stencil,
        loads=3,
    ),
    _attention(64),
    _attention(128),
    Kernel(
        "layer_norm",
        {"x": ("16n", 32), "g": (16, 32), "b": (16, 32), "c": ("16n", 32)},
        {},
        references.layer_norm,
        is_exact=False,
        loads=1,
    ),
    Kernel(
        "block_scaled_gemm",
        {"a": (64, "32n"), "b": ("32n", 64), "p": (64, "1n"), "q": ("1n", 64), "c": (64, 64)},
        {"a": "f8E4M3FN", "b": "f8E4M3FN", "p": "f8E8M0FNU", "q": "f8E8M0FNU"},
        references.block_scaled_gemm,
        target="sm_100",
        loads=4,
    ),
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
