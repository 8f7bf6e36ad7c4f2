"""
The threads at tensor memory: 128 lanes of 512 cells of 32 bits, and what `tcgen05.ld` and `tcgen05.st` move there (PTX
ISA, "tcgen05.ld", "Data Movement Shape").

What is here moves data as the instructions do, and knows nothing of tiles; registers are an array of (warp, lane,
register), as in `threads.py`. A warp that reaches for lanes of another is refused.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tileas_xdsl.layouts.distributed import LANE, REGISTER, WARP
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.tensor_memory import (
    COLUMN,
    COLUMNS,
    LANES,
    LANES_OF_WARP,
    ROW,
    SHAPES,
    WARP_GROUP,
    Transfer,
    TransferShape,
)
from tileas_xdsl.layouts.threads import Elements, packed, unpacked

Cells = NDArray[np.uint32]
"""Tensor memory: (lane, column)."""
Words = NDArray[np.uint32]
"""32-bit registers of a warp: (lane, register)."""

SHAPE_OF = {shape.name: shape for shape in SHAPES}


def fresh_cells() -> Cells:
    """Tensor memory into which nothing has been written."""
    return np.full((LANES, COLUMNS), 0xCDCDCDCD, dtype=np.uint32)


# Registers ------------------------------------------------------------------------------------------------------------


def load_words(cells: Cells, shape: TransferShape, lane: int, column: int, steps: int, distance: int = 0) -> Words:
    """What one `tcgen05.ld` gives the threads of a warp: (lane, register)."""
    rows, columns = places_of(shape, steps, distance)
    return cells[rows + lane, columns + column]


def store_words(
    cells: Cells, words: Words, shape: TransferShape, lane: int, column: int, steps: int, distance: int = 0
) -> None:
    """What one `tcgen05.st` writes of the registers of a warp."""
    rows, columns = places_of(shape, steps, distance)
    cells[rows + lane, columns + column] = words


@cache
def places_of(shape: TransferShape, steps: int, distance: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lane and the column, both from those of the address on, by thread and register of one instruction."""
    layout = shape.places.with_inputs([REGISTER, LANE]).with_outputs([ROW, COLUMN])
    own = layout.input_size(LANE)
    rows = np.zeros((LANES_OF_WARP, steps * shape.registers), dtype=np.int64)
    columns = np.zeros_like(rows)
    for thread in range(LANES_OF_WARP):
        for register in range(steps * shape.registers):
            step, within = divmod(register, shape.registers)
            row, column = layout.at(register=within, lane=thread % own)
            rows[thread, register] = row
            columns[thread, register] = column + step * shape.columns + thread // own * distance
    return rows, columns


WARPS_OF_PARTS = {
    "none": ((0,), (1,), (2,), (3,)),
    "warpx2_02_13": ((0, 2), (1, 3)),
    "warpx2_01_23": ((0, 1), (2, 3)),
    "warpx4": ((0, 1, 2, 3),),
}
"""How a copy is spread over the lanes of the four warps -> to which of them each 32 rows go (PTX ISA, "tcgen05.cp")."""


def copy_words(cells: Cells, rows: Words, spread: str, column: int) -> None:
    """What one `tcgen05.cp` writes: word j of each row goes to column j of a lane, of several where it is spread."""
    for part, warps in enumerate(WARPS_OF_PARTS[spread]):
        its = rows[LANES_OF_WARP * part : LANES_OF_WARP * (part + 1)]
        for warp in warps:
            start = LANES_OF_WARP * warp
            cells[start : start + len(its), column : column + its.shape[1]] = its


def check_reach(warp: int, lane: int, lanes: int) -> None:
    """Raises `LayoutError` where a warp reaches for lanes that are not its own: 32 (w % 4) and the 31 behind."""
    own = warp % WARP_GROUP * LANES_OF_WARP
    if not own <= lane <= own + LANES_OF_WARP - lanes:
        raise LayoutError(
            f"warp {warp} reaches lanes {lane} to {lane + lanes - 1}, and has {own} to {own + LANES_OF_WARP - 1}"
        )


def loaded(cells: Cells, transfer: Transfer, column: int, element_bits: int) -> Elements:
    """What the threads hold, (warp, lane, register), of a tile from `column` on, by the instructions of a plan."""
    warps = transfer.registers.input_size(WARP)
    per_word = 32 // element_bits
    words = np.zeros((warps, LANES_OF_WARP, transfer.registers.input_size(REGISTER) // per_word), dtype=np.uint32)
    for warp in range(warps):
        for issue in transfer.issued(warp):
            check_reach(warp, issue.lane, transfer.shape.lanes)
            found = load_words(
                cells, transfer.shape, issue.lane, column + issue.column, transfer.steps, transfer.distance
            )
            words[warp, :, issue.register : issue.register + found.shape[1]] = found
    return unpacked(words.view(np.uint8), element_bits)


def stored(cells: Cells, registers: Elements, transfer: Transfer, column: int, element_bits: int) -> None:
    """Write what the threads hold, (warp, lane, register), by the instructions of a plan, from `column` on."""
    words = packed(registers, element_bits).view(np.uint32)
    count = transfer.steps * transfer.shape.registers
    for warp in range(words.shape[0]):
        for issue in transfer.issued(warp):
            check_reach(warp, issue.lane, transfer.shape.lanes)
            own = words[warp, :, issue.register : issue.register + count]
            place = (issue.lane, column + issue.column)
            store_words(cells, own, transfer.shape, *place, transfer.steps, transfer.distance)
