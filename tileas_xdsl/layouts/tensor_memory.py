"""
Tensor memory (sm_100): how a tile lies there, and who holds what of it once `tcgen05.ld` has brought it to registers.

Its memory layout counts offsets in elements, along the columns of a lane first, then lane by lane; a column is a cell
of 32 bits, and narrower elements share one. A tile takes all 128 lanes, or the lower 16 of each 32 (`datapath<64>`: so
the tensor core accumulates 64 rows). A warp reaches 32 lanes, those from 32 (w % 4) on; so warps come in groups of
four. Two groups share the lanes where a step has half of them; more share the columns.

`tcgen05.ld` and `tcgen05.st` move steps of 32 or 16 lanes and some columns, several steps side by side in one
instruction (PTX ISA, "tcgen05.ld", "Data Movement Shape"). Of `.16x32bx2` the upper 16 threads move the same lanes as
the lower ones, some columns further on: so all threads have something of a tile of 64 rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileas_xdsl.layouts.distributed import LANE, PLACES, REGISTER, WARP
from tileas_xdsl.layouts.errors import LayoutError, exponent
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.memory import OFFSET

LANES, COLUMNS, CELL_BITS = 128, 512, 32
LANES_OF_WARP, WARP_GROUP = 32, 4
MOST_REGISTERS = 128
"""How many registers of a thread one instruction moves."""

ROW, COLUMN = "row", "column"
HALF, GROUP = "half", "group"
"""What is dealt to registers or to warps: the 16 lanes that a step leaves over, and groups of four warps."""
HALF_WARP_BIT = 4
"""The bit of a lane that tells the lower 16 of a warp from the upper."""


@dataclass(frozen=True)
class TransferShape:
    """One shape of `tcgen05.ld` and `tcgen05.st`, and what lane and register hold of one step."""

    name: str
    lanes: int
    columns: int
    places: LinearLayout
    """From `register` and `lane` to `row` (a lane of tensor memory) and `column`."""
    is_split: bool = False
    """Whether the upper half of the threads moves the same lanes, a distance of columns away."""

    @property
    def registers(self) -> int:
        """The registers of a thread in one step."""
        return self.places.input_size(REGISTER)

    @property
    def halves(self) -> int:
        """How many steps cover the lanes of a warp."""
        return LANES_OF_WARP // self.lanes

    @property
    def parts(self) -> int:
        """Into how many parts the columns of a tile are cut, a distance apart."""
        return 2 if self.is_split else 1


def _along(place: str, dimension: str, count: int) -> LinearLayout:
    return LinearLayout.identity(place, dimension, count)


SHAPES = (
    TransferShape("32x32b", 32, 1, _along(LANE, ROW, 32) * LinearLayout.zeros(REGISTER, COLUMN, 1)),
    TransferShape("16x32bx2", 16, 1, _along(LANE, ROW, 16) * LinearLayout.zeros(REGISTER, COLUMN, 1), is_split=True),
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
"""The shapes, first the one that gives each thread a lane of its own; of 64 rows half a lane."""


@dataclass(frozen=True)
class Issue:
    """One instruction of one warp: where in tensor memory it begins, and at which of its 32-bit registers."""

    lane: int
    column: int
    register: int


@dataclass(frozen=True)
class Transfer:
    """A tile between tensor memory and registers by one shape."""

    shape: TransferShape
    registers: LinearLayout
    """Who holds what."""
    steps: int
    """How many steps one instruction makes: the number behind `.x`."""
    all_steps: int
    """How many a warp makes in 16 or 32 lanes."""
    own_halves: int
    """How many times 16 lanes a warp goes through, where a step has so many; else 1."""
    shared_halves: int
    """How many groups of warps share the lanes."""

    @property
    def instructions(self) -> int:
        """How many instructions a warp issues for the tile."""
        return self.own_halves * self.all_steps // self.steps

    @property
    def distance(self) -> int:
        """The columns from the lower half of the threads to the upper, of a shape that is split."""
        return self.all_steps * self.shape.columns if self.shape.is_split else 0

    def instruction(self, verb: str) -> str:
        """The instruction by its name in PTX, of a split one with its distance; `verb` is `ld` or `st`."""
        name = f"tcgen05.{verb}.sync.aligned.{self.shape.name}.x{self.steps}.b32"
        name += f" + {self.distance}" if self.shape.is_split else ""
        return name if self.instructions == 1 else f"{name} x {self.instructions}"

    def issued(self, warp: int) -> Iterator[Issue]:
        """The instructions of a warp, in order."""
        group, rank = divmod(warp, WARP_GROUP)
        columns, shared = divmod(group, self.shared_halves)
        first = columns * self.all_steps * self.shape.columns * self.shape.parts
        for own in range(self.own_halves):
            lane = LANES_OF_WARP * rank + self.shape.lanes * (own + shared)
            for step in range(0, self.all_steps, self.steps):
                register = (own * self.all_steps + step) * self.shape.registers
                yield Issue(lane, first + step * self.shape.columns, register)


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
    packed = _without_upper_halves(memory, cells * CELL_BITS // element_bits)
    is_half = packed is not memory
    planned = (_transfer(shape, packed, element_bits, cells, warps // WARP_GROUP, is_half=is_half) for shape in SHAPES)
    found = tuple(transfer for transfer in planned if transfer is not None)
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


def _without_upper_halves(memory: LinearLayout, row: int) -> LinearLayout:
    """The layout of the lower 16 lanes of each 32, where nothing lies in the upper ones; else itself."""
    bit = exponent(row, "the elements of a lane") + HALF_WARP_BIT
    images = memory.images(OFFSET)
    if images[bit]:
        return memory
    return LinearLayout(((OFFSET, (*images[:bit], *images[bit + 1 :])),), memory.outputs)


def _transfer(
    shape: TransferShape, memory: LinearLayout, element_bits: int, cells: int, groups: int, *, is_half: bool
) -> Transfer | None:
    """The transfer by a shape; None where its step has lanes or columns that the tile has not."""
    if (is_half and shape.lanes == LANES_OF_WARP) or (shape.is_split and not is_half):
        return None
    halves = 1 if is_half else shape.halves
    shared = min(groups, halves)
    steps = cells * shared // (shape.columns * shape.parts * groups)
    if not steps:
        return None
    places = (
        _along(REGISTER, COLUMN, CELL_BITS // element_bits)
        * shape.places
        * _along(REGISTER, COLUMN, steps)
        * _along(LANE, COLUMN, shape.parts)
        * _along(HALF, ROW, halves)
        * _along(WARP, ROW, WARP_GROUP)
        * _along(GROUP, COLUMN, groups // shared)
    ).with_outputs([COLUMN, ROW])
    at_once = min(steps, MOST_REGISTERS // shape.registers)
    registers = _by_offset(places, shared > 1).then(memory).with_inputs(PLACES)
    return Transfer(shape, registers, at_once, steps, halves // shared, shared)


def _by_offset(places: LinearLayout, shares_halves: bool) -> LinearLayout:
    """From register, lane and warp to the offset: the halves of a step belong to two warps, or to one."""
    own, its = ((), places.images(HALF)) if shares_halves else (places.images(HALF), ())
    inputs = (
        (REGISTER, (*places.images(REGISTER), *own)),
        (LANE, places.images(LANE)),
        (WARP, (*places.images(WARP), *its, *places.images(GROUP))),
    )
    return LinearLayout(inputs, ((OFFSET, places.output_bits),))
