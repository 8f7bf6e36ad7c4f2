"""
Scale factors of block-scaled products: how they lie in shared memory, and in tensor memory, for `tcgen05`.

A *block* has 4 scales of 128 rows of A, or of 128 columns of B: 32 rows of 16 bytes. Row r has words for the rows r,
r + 32, r + 64 and r + 96 of the matrix, and a word has 4 neighbours along K. `tcgen05.cp.32x128b.warpx4` copies a block
into 4 columns of tensor memory, the same 32 lanes for each of the four warps.

    byte 16 * (m % 32) + 4 * (m / 32 % 4) + s % 4      of block m / 128 + blocks of rows * (s / 4)

What a smaller matrix has no rows or scales for stays empty. (PTX ISA, "tcgen05.mma", "Layout of the scale factors";
cuBLAS, "1D Block Scaling Factors Layout".)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileas_xdsl.layouts.errors import LayoutError, exponent
from tileas_xdsl.layouts.linear import LinearLayout, dims
from tileas_xdsl.layouts.memory import OFFSET

WORD_SCALES = 4
"""Neighbours along K in a word."""
LANES, ROWS = 32, 128
"""The rows of a block in shared memory, and those of the matrix that it is of."""
ROW_BYTES, BLOCK_BYTES, BLOCK_COLUMNS = 16, 512, 4
SCALE_ALIGNMENT = 128
"""In bytes: a block is read by groups of 8 of its rows."""


@dataclass(frozen=True)
class Scales:
    """The scale factors of `rows` rows of A, or columns of B: `count` for each, along K."""

    rows: int
    count: int

    @property
    def _side_by_side(self) -> int:
        """The blocks of the same scales."""
        return -(-self.rows // ROWS)

    @property
    def blocks(self) -> int:
        """How many blocks they take."""
        return self._side_by_side * -(-self.count // WORD_SCALES)

    @property
    def columns(self) -> int:
        """The columns of tensor memory that they take."""
        return self.blocks * BLOCK_COLUMNS

    @property
    def repeats(self) -> tuple[int, ...]:
        """How far from their bytes those of the rows lie that A has not: the same again; their own, 0, is the first."""
        lanes, words = min(self.rows, LANES), min(-(-self.rows // LANES), ROWS // LANES)
        again = [(lane, word) for word in range(0, ROWS // LANES, words) for lane in range(0, LANES, lanes)]
        return tuple(ROW_BYTES * lane + WORD_SCALES * word for lane, word in again)

    def block(self, row: int, scale: int) -> int:
        """The number of the block that has a scale of a row."""
        return row // ROWS + self._side_by_side * (scale // WORD_SCALES)


def scales_of(shape: Sequence[int], axis: int) -> Scales:
    """The scale factors that a tile has, whose rows are along `axis`."""
    if len(shape) != 2:
        raise LayoutError(f"scale factors are a matrix, not a tile with {len(shape)} dimensions")
    return Scales(shape[axis], shape[1 - axis])


def scale_layout(shape: Sequence[int], axis: int) -> LinearLayout:
    """
    How they lie in shared memory, in bytes. Raises `LayoutError` for extents that are no powers of two.
    """
    scales = scales_of(shape, axis)
    rows, count = exponent(scales.rows, "the rows"), exponent(scales.count, "the scales of a row")
    down = [_unit(bit if bit < rows else None, axis) for bit in range(max(rows, exponent(ROWS, "a block")))]
    along = [_unit(bit if bit < count else None, 1 - axis) for bit in range(max(count, 2))]
    lanes = exponent(LANES, "a block")
    bits = (*along[:2], *down[lanes : lanes + 2], *down[:lanes], *down[lanes + 2 :], *along[2:])
    return LinearLayout.of({OFFSET: bits}, dims(shape))


def _unit(bit: int | None, axis: int) -> tuple[int, int]:
    """The coordinates that a bit stands for, along an axis; none for one that stays empty."""
    step = 0 if bit is None else 1 << bit
    return (step, 0) if axis == 0 else (0, step)
