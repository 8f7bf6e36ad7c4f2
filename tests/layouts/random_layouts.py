"""Random pairs of layouts, named ones and arbitrary bases, each pair of one tile."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tileas_xdsl.layouts import f2
from tileas_xdsl.layouts.distributed import LANE, PLACES, REGISTER, WARP, blocked, broadcast, sliced, transposed
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.fragments import MmaShape, fragment, matrix_fragment
from tileas_xdsl.layouts.linear import LinearLayout, dims
from tileas_xdsl.layouts.memory import SWIZZLES, check_memory, row_major, swizzled

WIDTHS = (4, 8, 16, 32, 64)
MOST_ELEMENTS = 12
"""Bits of an element's number in the largest tile."""

IN_MEMORY = 0.2
"""How many of the pairs of named layouts have one end in shared memory."""


@dataclass(frozen=True)
class Pair:
    """Two layouts of one tile; at most one of them is of memory."""

    source: LinearLayout
    target: LinearLayout
    element_bits: int
    kind: str


def pair(seed: int) -> Pair:
    """The pair with this number. Half of them are arbitrary bases; one end may be memory."""
    generator = random.Random(seed)
    bits = generator.choice(WIDTHS)
    if seed % 2:
        return _arbitrary(generator, bits)
    return _named(generator, bits)


def _arbitrary(generator: random.Random, bits: int) -> Pair:
    warps, registers = generator.randrange(3), generator.randrange(1, 5)
    copies = generator.choice((0, 0, 0, 1, 2))
    dimension = max(3, 5 + warps + registers - copies)
    shape = _shape(generator, dimension, generator.randrange(1, 4))
    source = _covering(generator, dimension, 5 + warps + registers)
    if generator.random() < 0.5:
        target = _covering(generator, dimension, len(source))
    else:
        target = _near(generator, source, registers)
    one, other = (_of_columns(columns, registers, shape) for columns in (source, target))
    return Pair(one, other, bits, "bases")


def _covering(generator: random.Random, dimension: int, count: int) -> list[int]:
    while True:
        columns = [generator.randrange(1 << dimension) for _ in range(count)]
        if f2.rank(columns) == dimension:
            return columns


def _near(generator: random.Random, columns: Sequence[int], registers: int) -> list[int]:
    """The same elements, moved within threads or within warps."""
    reach = registers + generator.choice((0, 5))
    moved = list(columns[:reach])
    generator.shuffle(moved)
    if reach > 1 and generator.random() < 0.5:
        one, other = generator.sample(range(reach), 2)
        moved[one] ^= moved[other]
    return [*moved, *columns[reach:]]


def _of_columns(columns: Sequence[int], registers: int, shape: Sequence[int]) -> LinearLayout:
    outputs = LinearLayout.of({}, dims(shape)).outputs
    parts = (columns[:registers], columns[registers : registers + 5], columns[registers + 5 :], ())
    return LinearLayout(tuple((p, tuple(c)) for p, c in zip(PLACES, parts, strict=True)), outputs)


def _shape(generator: random.Random, dimension: int, rank: int) -> list[int]:
    bits = [0] * rank
    for _ in range(dimension):
        bits[generator.randrange(rank)] += 1
    return [1 << b for b in bits]


def _named(generator: random.Random, bits: int) -> Pair:
    warps = 1 << generator.randrange(3)
    while True:
        rank = generator.choice((1, 2, 2, 2, 3))
        shape = _shape(generator, generator.randrange(7, MOST_ELEMENTS), rank)
        try:
            ends = [_one_named(generator, shape, warps, bits) for _ in range(2)]
            if generator.random() < IN_MEMORY:
                ends[generator.randrange(2)] = _memory(generator, shape, bits)
        except LayoutError:
            continue
        first, second = ends
        if all(layout[0].input_size(REGISTER) <= 64 for layout in (first, second)):
            return Pair(first[0], second[0], bits, f"{first[1]} to {second[1]}")


def _one_named(generator: random.Random, shape: list[int], warps: int, bits: int) -> tuple[LinearLayout, str]:
    kinds = ["blocked", "sliced", "transposed", "broadcast"]
    if len(shape) == 2:
        kinds += ["mma", "mma", "wgmma", *(["ldmatrix"] if bits == 16 else [])]
    kind = generator.choice(kinds)
    if kind == "blocked":
        return _blocked(generator, shape, warps), kind
    if kind == "sliced":
        axis, extent = generator.randrange(len(shape) + 1), 1 << generator.randrange(4)
        return sliced(_blocked(generator, [*shape[:axis], extent, *shape[axis:]], warps), axis), kind
    if kind == "transposed":
        order = generator.sample(range(len(shape)), len(shape))
        before = [shape[order.index(axis)] for axis in range(len(shape))]
        return transposed(_blocked(generator, before, warps), order), kind
    if kind == "broadcast":
        axis = generator.randrange(len(shape))
        narrow = [1 if i == axis else extent for i, extent in enumerate(shape)]
        return broadcast(_blocked(generator, narrow, warps), axis, shape[axis]), kind
    if kind == "ldmatrix":
        return _of_matrices(generator, shape, warps), kind
    return _of_product(generator, kind, (shape[0], shape[1]), warps, bits), kind


def _of_matrices(generator: random.Random, shape: Sequence[int], warps: int) -> LinearLayout:
    """What ldmatrix gives: matrices side by side, more of them in further registers and in the warps."""
    count = 1 << generator.randrange(3)
    across, down = shape[1] // (8 * count), shape[0] // (8 * warps)
    if min(across, down) < 1:
        raise LayoutError("the tile is smaller than the matrices of all warps")
    matrices = matrix_fragment(count, generator.random() < 0.5)
    places = {name: [_side_by_side(*basis) for basis in matrices.bases(name)] for name in (REGISTER, LANE)}
    one = LinearLayout.of(places, dims((8, 8 * count)))
    more = LinearLayout.identity(REGISTER, "dim1", across) * LinearLayout.identity(REGISTER, "dim0", down)
    return (one * more * LinearLayout.identity(WARP, "dim0", warps)).with_outputs(["dim0", "dim1"])


def _side_by_side(row: int, column: int, matrix: int) -> tuple[int, int]:
    return row, column + 8 * matrix


def _memory(generator: random.Random, shape: Sequence[int], bits: int) -> tuple[LinearLayout, str]:
    """Shared memory: rows in some order, or a swizzle of TMA."""
    order = generator.sample(range(len(shape)), len(shape))
    width = generator.choice(tuple(SWIZZLES))
    layout = swizzled(shape, bits, width, order) if width else row_major(shape, order)
    check_memory(layout)
    return layout, "swizzled" if width else "row_major"


def _of_product(generator: random.Random, kind: str, tile: tuple[int, int], warps: int, bits: int) -> LinearLayout:
    if kind == "wgmma":
        shape = MmaShape(64, 1 << generator.randrange(3, 7), 256 // min(bits, 32))
        return fragment(shape, generator.choice(("a", "acc")), bits, (warps, 1), tile)
    along_n = 1 << generator.randrange(warps.bit_length())
    shape = MmaShape(16, 8, generator.choice((128, 256)) // min(bits, 32))
    return fragment(shape, generator.choice(("a", "b", "acc")), bits, (warps // along_n, along_n), tile)


def _blocked(generator: random.Random, shape: Sequence[int], warps: int) -> LinearLayout:
    order = generator.sample(range(len(shape)), len(shape))
    lanes = _shape(generator, 5, len(shape))
    along = _shape(generator, warps.bit_length() - 1, len(shape))
    return blocked(_shape(generator, generator.randrange(4), len(shape)), lanes, along, order, shape)


def small(generator: random.Random, registers: int, lanes: int, dimension: int) -> LinearLayout:
    """Arbitrary bases of a warp with so few lanes that everything can be tried."""
    columns = _covering(generator, dimension, registers + lanes)
    outputs = (("dim0", dimension),)
    inputs = ((REGISTER, tuple(columns[:registers])), (LANE, tuple(columns[registers:])), (WARP, ()), ("block", ()))
    return LinearLayout(inputs, outputs)
