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
from xdsl.ir import Operation

from tileas_xdsl.dialects.nvvm.matrix_attributes import Tcgen05MMAKind
from tileas_xdsl.layouts.tensor_threads import Cells
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.warpgroup_products import summed

Array = NDArray[Any]

SUM, A, B = 4, 7, 10
"""The lowest bits of the fields of the instruction descriptor that say the elements."""
F32, S32 = 1, 2


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


def numbers_of(op: Operation, kind: Tcgen05MMAKind, word: int) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """
    The dtypes of A and B, as kind and instruction descriptor say; tf32 as f32. Raises `UnsupportedError` for elements
    of fewer than 8 bits, and for sums of f16.
    """
    import ml_dtypes

    elements: dict[Tcgen05MMAKind, Sequence[Any]] = {
        Tcgen05MMAKind.F16: (np.float16, ml_dtypes.bfloat16),
        Tcgen05MMAKind.TF32: (None, None, np.float32),
        Tcgen05MMAKind.F8F6F4: (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
        Tcgen05MMAKind.I8: (np.uint8, np.int8),
    }
    known = elements[kind]
    codes = [word >> start & 0b111 for start in (A, B)]
    expected = S32 if kind is Tcgen05MMAKind.I8 else F32
    if word >> SUM & 0b11 != expected or any(code >= len(known) or known[code] is None for code in codes):
        raise UnsupportedError(op, "has elements that the machine does not compute; check the program instead")
    return np.dtype(known[codes[0]]), np.dtype(known[codes[1]])


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
