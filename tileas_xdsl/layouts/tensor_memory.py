"""
Tensor memory (sm_100): how a tile lies there, and who holds what of it once `tcgen05.ld` has brought it to registers.

A tile in tensor memory takes all 128 lanes. Its memory layout counts offsets in elements, along the columns of a lane
first, then lane by lane; a column is a cell of 32 bits, and narrower elements share one. A warp reaches 32 lanes, those
from 32 (w % 4) on; so warps come in groups of four. Two groups share the lanes where a step has 16 of them; more share
the columns.

`tcgen05.ld` and `tcgen05.st` move steps of 32 or 16 lanes and some columns, several steps side by side in one
instruction (PTX ISA, "tcgen05.ld", "Data Movement Shape"). Of their shapes `.16x32bx2` is left out: its halves lie a
distance apart that no layout says.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileas_xdsl.layouts.distributed import LANE, PLACES, REGISTER, WARP
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.memory import OFFSET

LANES, COLUMNS, CELL_BITS = 128, 512, 32
LANES_OF_WARP, WARP_GROUP = 32, 4
MOST_REGISTERS = 128
"""How many registers of a thread one instruction moves."""
FIRST, LAST = 100, 119
"""The compute capabilities that have tensor memory (PTX ISA, "tcgen05.alloc", Target ISA Notes)."""

ROW, COLUMN = "row", "column"
HALF, GROUP = "half", "group"
"""What is dealt to registers or to warps: the 16 lanes that a step leaves over, and groups of four warps."""


@dataclass(frozen=True)
class TransferShape:
    """One shape of `tcgen05.ld` and `tcgen05.st`, and what lane and register hold of one step."""

    name: str
    lanes: int
    columns: int
    places: LinearLayout
    """From `register` and `lane` to `row` (a lane of tensor memory) and `column`."""

    @property
    def registers(self) -> int:
        """The registers of a thread in one step."""
        return self.places.input_size(REGISTER)

    @property
    def halves(self) -> int:
        """How many steps cover the lanes of a warp."""
        return LANES_OF_WARP // self.lanes

    def shared_rows(self, groups: int) -> int:
        """How many of so many groups of warps share the lanes; the others share the columns."""
        return min(groups, self.halves)


def _along(place: str, dimension: str, count: int) -> LinearLayout:
    return LinearLayout.identity(place, dimension, count)


SHAPES = (
    TransferShape("32x32b", 32, 1, _along(LANE, ROW, 32) * LinearLayout.zeros(REGISTER, COLUMN, 1)),
    TransferShape(
        "16x64b",
        16,
        2,
        LinearLayout.of(
            {LANE: [(8, 0), (0, 1), (1, 0), (2, 0), (4, 0)], REGISTER: []},
            {ROW: 16, COLUMN: 2},
        ),
    ),
    TransferShape("16x128b", 16, 4, _along(LANE, COLUMN, 4) * _along(LANE, ROW, 8) * _along(REGISTER, ROW, 2)),
    TransferShape(
        "16x256b",
        16,
        8,
        _along(REGISTER, COLUMN, 2) * _along(LANE, COLUMN, 4) * _along(LANE, ROW, 8) * _along(REGISTER, ROW, 2),
    ),
)
"""The shapes, first the one that gives each thread a lane of its own."""


@dataclass(frozen=True)
class Transfer:
    """A tile between tensor memory and registers by one shape."""

    shape: TransferShape
    registers: LinearLayout
    """Who holds what."""
    steps: int
    """How many steps one instruction makes: the number behind `.x`."""
    instructions: int
    """How many instructions a warp issues for the tile."""

    def instruction(self, verb: str) -> str:
        """The instruction by its name in PTX; `verb` is `ld` or `st`."""
        name = f"tcgen05.{verb}.sync.aligned.{self.shape.name}.x{self.steps}.b32"
        return name if self.instructions == 1 else f"{name} x {self.instructions}"


def transfers(memory: LinearLayout, element_bits: int, warps: int) -> tuple[Transfer, ...]:
    """
    The ways to move a tile that lies in tensor memory in this layout, one for each shape that it has room for. Raises
    `LayoutError`, with the reason, where there is none.
    """
    cells = _cells(memory, element_bits)
    if warps < WARP_GROUP or warps & (warps - 1):
        raise LayoutError(
            f"{warps} warps do not share {LANES} lanes, {LANES_OF_WARP} for each: it takes a power of two from 4 on"
        )
    groups = warps // WARP_GROUP
    found = tuple(
        _transfer(shape, memory, element_bits, cells, groups)
        for shape in SHAPES
        if shape.columns * (groups // shape.shared_rows(groups)) <= cells
    )
    if not found:
        raise LayoutError(f"{warps} warps cannot share the {cells} columns of the tile")
    return found


def _cells(memory: LinearLayout, element_bits: int) -> int:
    """How many columns the tile takes."""
    if element_bits not in (8, 16, CELL_BITS):
        raise LayoutError(f"a column has {CELL_BITS} bits, for elements of 8, 16 or 32 bits, not of {element_bits}")
    cells, rest = divmod(memory.input_size(OFFSET) * element_bits, LANES * CELL_BITS)
    if rest or not cells:
        raise LayoutError(f"the tile does not fill a column of {LANES} lanes")
    if cells > COLUMNS:
        raise LayoutError(f"the tile takes {cells} columns of {LANES} lanes, and tensor memory has {COLUMNS}")
    return cells


def _transfer(shape: TransferShape, memory: LinearLayout, element_bits: int, cells: int, groups: int) -> Transfer:
    rows = shape.shared_rows(groups)
    steps = cells * rows // (shape.columns * groups)
    places = (
        _along(REGISTER, COLUMN, CELL_BITS // element_bits)
        * shape.places
        * _along(REGISTER, COLUMN, steps)
        * _along(HALF, ROW, shape.halves)
        * _along(WARP, ROW, WARP_GROUP)
        * _along(GROUP, COLUMN, groups // rows)
    ).with_outputs([COLUMN, ROW])
    at_once = min(steps, MOST_REGISTERS // shape.registers)
    instructions = shape.halves // rows * steps // at_once
    return Transfer(shape, _by_offset(places, rows > 1).then(memory).with_inputs(PLACES), at_once, instructions)


def _by_offset(places: LinearLayout, shares_halves: bool) -> LinearLayout:
    """From register, lane and warp to the offset: the halves of a step belong to two warps, or to one."""
    own, its = ((), places.images(HALF)) if shares_halves else (places.images(HALF), ())
    inputs = (
        (REGISTER, (*places.images(REGISTER), *own)),
        (LANE, places.images(LANE)),
        (WARP, (*places.images(WARP), *its, *places.images(GROUP))),
    )
    return LinearLayout(inputs, ((OFFSET, places.output_bits),))
