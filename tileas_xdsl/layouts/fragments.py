"""
Fragments: who holds what of the operands of the tensor core's instructions, and of what ldmatrix and stmatrix move.

All of them are made of one picture, the *core matrix* of 8 rows of 16 bytes: lane 4r + c of a warp holds bytes
4c..4c+3 of row r, as one 32-bit register (PTX ISA, Matrix Fragments for mma.m16n8k16, and ldmatrix). An accumulator
of 32 bits an element holds two elements there. A fragment is core matrices side by side, in an order that each
instruction has of its own; larger tiles repeat it. Of f64 a lane holds one element where it holds a register of
others, and of the accumulator two (PTX ISA, Matrix Fragments for mma.m8n8k4 with .f64).

Names of dimensions: `dim0` and `dim1` are the rows and columns of the matrix as it stands in the product: M and K for
A, K and N for B, M and N for the accumulator.

An accumulator of tcgen05 (M = 128) lies in tensor memory, and its fragment is what `tcgen05.ld.32x32b` brings of it: a
row for each thread of four warps (PTX ISA, "tcgen05.ld", "Data Movement Shape"). Both its factors are read from shared
memory.

Warps of mma.sync are counted along N first, warp groups of wgmma and tcgen05 along M, as Triton does. Lanes that go
together at 8 and 16 bytes are taken in order, without the merging of halves that hardware may do: a wavefront too many
is the worst that comes of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileas_xdsl.layouts.distributed import LANE, REGISTER, WARP, fitted
from tileas_xdsl.layouts.errors import LayoutError, exponent
from tileas_xdsl.layouts.linear import LinearLayout

OPERANDS = ("a", "b", "acc")
WGMMA_MAX_N = 256
TENSOR_ROWS = 128
"""Of a sum in tensor memory: a lane for each."""
REGISTER_BITS = 32
WIDEST_BITS = 64


@dataclass(frozen=True)
class MmaShape:
    """The extents of one instruction: M x N of the result, K of the sum."""

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def is_wgmma(self) -> bool:
        """Whether a warp group of four warps executes it and holds its sums: m64 is wgmma, m16 and m8 are mma.sync."""
        return self.m == 64

    @property
    def is_tcgen05(self) -> bool:
        """Whether one thread starts it, and its sums lie in tensor memory: m128."""
        return self.m == TENSOR_ROWS

    @property
    def is_of_groups(self) -> bool:
        """Whether groups of four warps hold its sums, and its B is read from shared memory."""
        return self.is_wgmma or self.is_tcgen05


F64_SHAPE = MmaShape(8, 8, 4)
"""The one of `mma.sync` whose elements are f64, and whose M is 8."""


def _core(rows: str, columns: str, width: int) -> LinearLayout:
    """8 rows of 4 lanes; a lane holds `width` neighbouring columns in as many registers."""
    return (
        LinearLayout.identity(REGISTER, columns, width)
        * LinearLayout.identity(LANE, columns, 4)
        * LinearLayout.identity(LANE, rows, 8)
    )


def _more(place: str, dimension: str, count: int) -> LinearLayout:
    return LinearLayout.identity(place, dimension, count)


def per_register(element_bits: int) -> int:
    """
    How many elements of an operand share a 32-bit register; 1 for f64, which has two. Raises `LayoutError` for wider
    elements than that.
    """
    exponent(element_bits, "the width of an element in bits")
    if element_bits > WIDEST_BITS:
        raise LayoutError(f"operands of the tensor core have at most {WIDEST_BITS} bits, not {element_bits}")
    return max(1, REGISTER_BITS // element_bits)


def atom(shape: MmaShape, operand: str, element_bits: int) -> LinearLayout:
    """
    The fragment of one warp for mma.sync m16n8kK and m8n8k4, of one warp group for wgmma m64nNkK and tcgen05 m128nNkK.
    `element_bits` counts for A and B. Raises `LayoutError` for an instruction that does not exist, or for an operand
    that is never in registers: B of wgmma, A and B of tcgen05.
    """
    _check(shape, operand, element_bits)
    found = _accumulator(shape) if operand == "acc" else _input(shape, operand, element_bits)
    return found.with_outputs(["dim0", "dim1"])


def _check(shape: MmaShape, operand: str, element_bits: int) -> None:
    if operand not in OPERANDS:
        raise LayoutError(f"'{operand}' is none of the operands {', '.join(OPERANDS)}")
    if shape.m not in (16, 64, TENSOR_ROWS) and shape != F64_SHAPE:
        raise LayoutError(f"{shape} is no instruction: M is 16 (mma.sync), 64 (wgmma) or {TENSOR_ROWS} (tcgen05)")
    if shape.m == 16 and shape.n != 8:
        raise LayoutError(f"{shape} is no instruction: mma.sync has N = 8")
    if shape.is_wgmma and (shape.n % 8 or not 8 <= shape.n <= WGMMA_MAX_N):
        raise LayoutError(f"{shape} is no instruction: WGMMA N must be a multiple of 8, up to {WGMMA_MAX_N}")
    if shape.is_tcgen05 and (shape.n % 16 or not 16 <= shape.n <= WGMMA_MAX_N):
        raise LayoutError(f"{shape} is no instruction: N of tcgen05 is a multiple of 16, up to {WGMMA_MAX_N}")
    exponent(shape.n, f"N of {shape}")
    if shape.is_tcgen05 and operand != "acc":
        raise LayoutError("A and B of tcgen05 are read from shared memory, they have no fragments in registers")
    if shape.is_wgmma and operand == "b":
        raise LayoutError("B of wgmma is read from shared memory, it has no fragment in registers")
    if operand != "acc":
        _check_depth(shape, element_bits)


def _check_depth(shape: MmaShape, element_bits: int) -> None:
    """K is one or two core matrices of 16 bytes; wgmma's is always two (PTX ISA, wgmma.mma_async shapes)."""
    if (shape == F64_SHAPE) != (element_bits == WIDEST_BITS):
        raise LayoutError(f"{shape} is no instruction for elements of {element_bits} bits: {F64_SHAPE} is that of 64")
    core = 4 * per_register(element_bits)
    depths = (2 * core,) if shape.is_wgmma else (core, 2 * core)
    if shape.k not in depths:
        allowed = " or ".join(map(str, depths))
        raise LayoutError(f"{shape} is no instruction for elements of {element_bits} bits: K is {allowed}")


def _rows(shape: MmaShape) -> LinearLayout:
    """The core matrices below each other that a warp holds: two of 8 rows, of m8 one."""
    return _more(REGISTER, "dim0", 1 if shape == F64_SHAPE else 2)


def _accumulator(shape: MmaShape) -> LinearLayout:
    if shape.is_tcgen05:
        return _more(REGISTER, "dim1", shape.n) * _more(LANE, "dim0", 32) * _more(WARP, "dim0", 4)
    core = _core("dim0", "dim1", 2) * _rows(shape)
    across = core * _more(REGISTER, "dim1", shape.n // 8)
    return across * _more(WARP, "dim0", 4) if shape.is_wgmma else across


def _input(shape: MmaShape, operand: str, element_bits: int) -> LinearLayout:
    width = per_register(element_bits)
    depth = shape.k // (4 * width)
    if operand == "b":
        return _core("dim1", "dim0", width) * _more(REGISTER, "dim0", depth)
    deep = _core("dim0", "dim1", width) * _rows(shape) * _more(REGISTER, "dim1", depth)
    return deep * _more(WARP, "dim0", 4) if shape.is_wgmma else deep


def fragment(
    shape: MmaShape, operand: str, element_bits: int, warps: tuple[int, int], tile: tuple[int, int]
) -> LinearLayout:
    """
    The operand of a product of `tile` (its own rows and columns), which a grid of `warps` (along M, along N)
    computes.

    Warps in one row of the grid hold the same rows of A, those in one column the same columns of B: copies. The four
    warps of wgmma stand along M; groups of them are counted along M first, warps of mma.sync along N.
    """
    own = atom(shape, operand, element_bits)
    along_m = warps[0] // 4 if shape.is_of_groups else warps[0]
    if along_m < 1:
        raise LayoutError(f"{shape} is executed by warp groups of 4 warps, not by {warps[0]}")
    grid = [("dim0" if operand != "b" else None, along_m), ("dim1" if operand != "a" else None, warps[1])]
    for dimension, count in grid if shape.is_of_groups else reversed(grid):
        own = own * (LinearLayout.zeros(WARP, "dim0", count) if dimension is None else _more(WARP, dimension, count))
    order = (0, 1) if operand == "b" else (1, 0)
    return fitted(own.with_outputs(["dim0", "dim1"]), tile, order)


def matrix_fragment(count: int, transposed: bool = False) -> LinearLayout:
    """
    What ldmatrix gives and stmatrix takes: `count` (1, 2 or 4) matrices of 8x8 elements of 16 bits. Inputs are
    `register` and `lane`; outputs `row` and `column` of a matrix, and `matrix`. The bases are in elements of 16 bits,
    two of which share a 32-bit register. With `.trans`, each matrix is transposed on its way (PTX ISA, ldmatrix).
    """
    if count not in (1, 2, 4):
        raise LayoutError(f"ldmatrix and stmatrix move 1, 2 or 4 matrices, not {count}")
    rows, columns = ("column", "row") if transposed else ("row", "column")
    layout = _core(rows, columns, 2) * _more(REGISTER, "matrix", count)
    return layout.with_outputs(["row", "column", "matrix"])


def matrix_addresses(count: int) -> LinearLayout:
    """
    Which row of which matrix each lane gives the address of: lane i row i % 8 of matrix i / 8. Addresses of lanes
    that are not needed are ignored (they hold copies here).
    """
    needed = LinearLayout.identity(LANE, "row", 8) * LinearLayout.identity(LANE, "matrix", count)
    return needed * LinearLayout.zeros(LANE, "row", 4 // count)
