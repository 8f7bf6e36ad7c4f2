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
from xdsl.dialects.builtin import Float32Type, FloatTF32Type
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.nvvm.instruction_descriptor import ELEMENTS, F32_SUM, I32_SUM, SUM, A, B
from tileas_xdsl.dialects.nvvm.matrix_attributes import Tcgen05MMAKind
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


def numbers_of(op: Operation, kind: Tcgen05MMAKind, word: int) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """
    The dtypes of A and B, as kind and instruction descriptor say; tf32 as f32. Raises `UnsupportedError` for elements
    of fewer than 8 bits, and for sums of f16.
    """
    known = {code: element for element, code in ELEMENTS[kind].items()}
    found = [known.get(field.of(word)) for field in (A, B)]
    dtypes = [_dtype(each) for each in found if each is not None]
    if SUM.of(word) != (I32_SUM if kind is Tcgen05MMAKind.I8 else F32_SUM) or len(dtypes) < len(found):
        raise UnsupportedError(op, "has elements that the machine does not compute; check the program instead")
    return dtypes[0], dtypes[1]


def _dtype(element: Attribute) -> np.dtype[Any]:
    known = element_type(Float32Type() if isinstance(element, FloatTF32Type) else element)
    assert known is not None
    return known.dtype


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
