"""
The numbers of `tcgen05.mma`: which elements it multiplies, and the sum in the cells of tensor memory.

A product of two elements is exact in f32; the sum along K begins with what is there, and takes k = 0, 1, 2, ... in
turn, rounded to f32 after each (hardware may add in another order). Integers wrap. Of 64 rows each 16 lie in the lower
half of 32 lanes (PTX ISA, "Data Path Layout Organization").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import Float8E4M3FNType, Float8E8M0FNUType, Float32Type, FloatTF32Type
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.nvvm import tcgen05_mma
from tileas_xdsl.dialects.nvvm.instruction_descriptor import (
    ELEMENTS,
    ELEMENTS_OF_SCALED,
    F32_SUM,
    I32_SUM,
    POWERS_OF_TWO,
    SCALES_OF_A,
    SCALES_OF_B,
    SUM,
    A,
    B,
)
from tileas_xdsl.dialects.nvvm.matrix_attributes import BlockScaleKind, Tcgen05BlockScale, Tcgen05MMAKind
from tileas_xdsl.layouts.tensor_threads import Cells
from tileas_xdsl.machine.core.values import element_type
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.warpgroup_products import summed

Array = NDArray[Any]


@dataclass(frozen=True)
class Sum:
    """Where a product adds."""

    corner: tuple[int, int]
    """Lane and column."""
    rows: int
    columns: int
    is_added: bool
    """Whether what is there is added."""

    @property
    def places(self) -> tuple[Array, slice]:
        """The lanes of its rows, and its columns."""
        lane, column = self.corner
        row = np.arange(self.rows)
        lanes = row if self.rows == 128 else row // 16 * 32 + row % 16
        return lane + lanes, slice(column, column + self.columns)


def numbers_of(op: Operation, kind: Tcgen05MMAKind | BlockScaleKind, word: int) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """
    The dtypes of A and B, as kind and instruction descriptor say; tf32 as f32. Raises `UnsupportedError` for elements
    of fewer than 8 bits, and for sums of f16.
    """
    is_scaled = isinstance(kind, BlockScaleKind)
    elements = ELEMENTS_OF_SCALED[kind] if isinstance(kind, BlockScaleKind) else ELEMENTS[kind]
    known = {code: element for element, code in elements.items()}
    found = [known.get(field.of(word)) for field in (A, B)]
    dtypes = [_dtype(each) for each in found if each is not None]
    is_summed = is_scaled or SUM.of(word) == (I32_SUM if kind is Tcgen05MMAKind.I8 else F32_SUM)
    if not is_summed or len(dtypes) < len(found):
        raise UnsupportedError(op, "has elements that the machine does not compute; check the program instead")
    return dtypes[0], dtypes[1]


def _dtype(element: Attribute) -> np.dtype[Any]:
    known = element_type(Float32Type() if isinstance(element, FloatTF32Type) else element)
    assert known is not None
    return known.dtype


@dataclass(frozen=True)
class ScalesIn:
    """Where the scale factors of a product lie, and how they are read."""

    corners: Sequence[tuple[int, int]]
    """Lane and column of those of A, and of those of B."""
    first: tuple[int, int]
    """The byte of a word at which they begin."""
    count: int
    """Of a row, along K."""
    dtype: np.dtype[Any]

    def of(self, cells: Cells, number: int, rows: int, warp: int) -> Array:
        """The factors of so many rows of A (0) or columns of B (1), as the lanes of a warp have them."""
        lane, column = self.corners[number]
        row = np.arange(rows)
        words = np.ascontiguousarray(cells[lane + 32 * warp + row % 32, column + row // 32])
        parts = words.view(np.uint8).reshape(rows, 4)[:, self.first[number] : self.first[number] + self.count]
        return np.ascontiguousarray(parts).view(self.dtype).astype(np.float32)


def scales_in(op: tcgen05_mma.Tcgen05MMABlockScaleOp, word: int, corners: Sequence[tuple[int, int]]) -> ScalesIn:
    """What kind, modifier and instruction descriptor say of the scale factors (PTX ISA, "Scale factor layout")."""
    element = element_type(Float8E8M0FNUType() if POWERS_OF_TWO.of(word) else Float8E4M3FNType())
    assert element is not None
    return ScalesIn(corners, (SCALES_OF_A.of(word), SCALES_OF_B.of(word)), _count(op), element.dtype)


def _count(op: tcgen05_mma.Tcgen05MMABlockScaleOp) -> int:
    """The factors of a row for one instruction."""
    if op.kind.data is BlockScaleKind.MXF8F6F4:
        return 1
    return 4 if op.block_scale.data is Tcgen05BlockScale.BLOCK16 else 2


def add_scaled(cells: Cells, factors: Sequence[Array], sum_: Sum, scales: ScalesIn) -> None:
    """
    The same for products with scale factors. Each 32 rows have them from lanes of their own, and a product of two
    elements and their scales is exact in f32.
    """
    a, b = (each.astype(np.float32) for each in factors)
    across = range(sum_.columns)
    lanes, columns = sum_.places
    for warp, first in enumerate(range(0, sum_.rows, 32)):
        own = slice(first, first + 32)
        of_a, of_b = scales.of(cells, 0, sum_.rows, warp)[own], scales.of(cells, 1, len(across), warp)
        width = a.shape[1] // scales.count
        left, right = a[own] * np.repeat(of_a, width, axis=1), b * np.repeat(of_b, width, axis=1)
        before = np.ascontiguousarray(cells[lanes[own], columns]).view(np.float32)
        begun = before if sum_.is_added else np.zeros(before.shape, np.float32)
        cells[lanes[own], columns] = summed(left, right, begun).view(np.uint32)


def add(cells: Cells, factors: Sequence[Array], sum_: Sum) -> None:
    """Put A * B^T, plus what is there if it is added, into the cells."""
    a, b = factors
    lanes, columns = sum_.places
    before = cells[lanes, columns]
    if a.dtype.kind in "iu":
        total = a.astype(np.int64) @ b.astype(np.int64).T + (before.view(np.int32) if sum_.is_added else 0)
        cells[lanes, columns] = total.astype(np.int32).view(np.uint32)
        return
    begun = np.ascontiguousarray(before).view(np.float32) if sum_.is_added else np.zeros(before.shape, np.float32)
    cells[lanes, columns] = summed(a, b, begun).view(np.uint32)
