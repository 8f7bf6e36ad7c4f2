"""
The layouts that a tile gets where nobody says one: coalesced in registers, swizzled in shared memory, the fragments
of the tensor core for products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from tileas_xdsl.layouts.distributed import WARP_SIZE
from tileas_xdsl.layouts.errors import exponent
from tileas_xdsl.layouts.forms import Blocked, DataPath, LayoutForm, LinearBases, Mma, Swizzled
from tileas_xdsl.layouts.fragments import F64_SHAPE, TENSOR_ROWS, WGMMA_MAX_N, WIDEST_BITS, MmaShape
from tileas_xdsl.layouts.memory import OFFSET
from tileas_xdsl.layouts.tensor_memory import COLUMNS

VECTOR_BITS = 128
OPERAND_BITS = (4, 8, 16, 32, 64)
"""The widths of elements that the tensor core multiplies; 32 bits are tf32, 64 are f64, by `mma.sync` alone."""

WARP_GROUP = 4
LEAST_TENSOR_COLUMNS = 16
"""N of the smallest product of tcgen05 with 128 rows (PTX ISA, "tcgen05.mma", "Shape")."""
GROUP_ROWS = 64
"""The rows of a sum of wgmma that a warpgroup has."""
LEAST_GROUP_COLUMNS = 64
"""Of several warpgroups each: the columns of f16 in a row of the widest swizzle, so that it begins a pattern."""
LEAST_ROWS = 32
"""Of a tile whose rows are repeated to fill those of a product: a warp has no fewer lanes of tensor memory."""


def coalesced(shape: Sequence[int], element_bits: int, warps: int) -> LayoutForm:
    """
    Registers such that a warp accesses neighbouring elements of the last dimension, 16 bytes a thread where there are
    so many. Warps share the first dimensions. Raises `LayoutError` for extents that are no powers of two.
    """
    for axis, extent in enumerate(shape):
        exponent(extent, f"the extent of dim{axis}")
    if not shape:
        bits = exponent(warps, "the number of warps")
        return LinearBases(
            (("lane", ((),) * exponent(WARP_SIZE, "a warp")), *((("warp", ((),) * bits),) if bits else ()))
        )
    order = tuple(range(len(shape) - 1, -1, -1))
    per_thread = [1] * len(shape)
    per_thread[-1] = min(shape[-1], max(1, VECTOR_BITS // element_bits))
    left = [extent // own for extent, own in zip(shape, per_thread, strict=True)]
    lanes = _dealt(WARP_SIZE, left, order)
    left = [max(1, extent // own) for extent, own in zip(left, lanes, strict=True)]
    along = _dealt(warps, left, order[::-1])
    return Blocked(tuple(per_thread), lanes, along, order)


def _dealt(count: int, room: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """
    `count` shared out along `order`, no more to a dimension than it has room for; what is left goes to the last one.
    """
    dealt = [1] * len(room)
    for axis in order:
        dealt[axis] = min(count, room[axis])
        count //= dealt[axis]
    dealt[order[-1]] *= count
    return tuple(dealt)


def in_shared_memory(shape: Sequence[int], element_bits: int) -> LayoutForm:
    """The widest swizzle whose rows the tile fills. Raises `LayoutError` for extents that are no powers of two."""
    for axis, extent in enumerate(shape):
        exponent(extent, f"the extent of dim{axis}")
    return Swizzled(widest_swizzle(shape, element_bits))


def widest_swizzle(shape: Sequence[int], element_bits: int) -> int:
    """The width in bytes of that swizzle; 0 for none."""
    row = shape[-1] * element_bits // 8 if len(shape) > 1 else 0
    return next((width for width in (128, 64, 32) if width <= row), 0)


@dataclass(frozen=True)
class ProductForms:
    """The layouts of a product on the tensor core. `a` and `b` are None where they are read from shared memory."""

    a: Mma | None
    b: Mma | None
    acc: Mma


class Instructions(Enum):
    """The instructions that multiply tiles."""

    MMA_SYNC = auto()
    WGMMA = auto()
    TCGEN05 = auto()


def of_product(
    m: int, n: int, k: int, element_bits: int, warps: int, best: Instructions, *, fills_rows: bool = False
) -> ProductForms | None:
    """
    The fragments of a product of M x K and K x N elements: of the `best` instructions that the target has for such
    elements where there are rows or columns for all warpgroups, else of mma.sync; None where the tile is too small for
    either, or its elements are not multiplied there. Where a product `fills_rows`, those that it lacks are the same
    again.
    """
    if element_bits not in OPERAND_BITS:
        return None
    if element_bits == WIDEST_BITS:
        return _of_warps(F64_SHAPE, m, n, k, warps)
    depth = 256 // element_bits
    rows = max(m, TENSOR_ROWS) if fills_rows and m >= LEAST_ROWS else m
    if best is Instructions.TCGEN05 and (acc := _in_tensor_memory(rows, n, k, depth, warps)) is not None:
        return ProductForms(None, None, acc)
    grid = _grid_of_groups(m, n, warps) if best is Instructions.WGMMA else None
    if grid is not None and n >= 8 and k >= depth:
        shape = MmaShape(GROUP_ROWS, min(n // grid[1], WGMMA_MAX_N), depth)
        return ProductForms(Mma(shape, "a", grid), None, Mma(shape, "acc", grid))
    return _of_warps(MmaShape(16, 8, depth), m, n, k, warps)


def _of_warps(shape: MmaShape, m: int, n: int, k: int, warps: int) -> ProductForms | None:
    """The fragments of a product by mma.sync: warps share the rows first, then the columns."""
    if m < shape.m or n < shape.n or k < shape.k:
        return None
    along_m = min(warps, m // shape.m)
    grid = along_m, warps // along_m
    return ProductForms(Mma(shape, "a", grid), Mma(shape, "b", grid), Mma(shape, "acc", grid))


def _grid_of_groups(m: int, n: int, warps: int) -> tuple[int, int] | None:
    """The warps of wgmma along M and along N: warpgroups share the rows first, then the columns."""
    groups = warps // WARP_GROUP
    if warps % WARP_GROUP or m < GROUP_ROWS:
        return None
    along_m = min(groups, m // GROUP_ROWS)
    along_n = groups // along_m
    return None if along_n > 1 and n < LEAST_GROUP_COLUMNS * along_n else (WARP_GROUP * along_m, along_n)


def _in_tensor_memory(m: int, n: int, k: int, depth: int, warps: int) -> Mma | None:
    """The sum of a product of tcgen05, as warps load it: groups of them share the rows first, then the columns."""
    groups = warps // WARP_GROUP
    if warps % WARP_GROUP or m % TENSOR_ROWS or k < depth or n < LEAST_TENSOR_COLUMNS * groups:
        return None
    if m // TENSOR_ROWS * n > COLUMNS:
        return None
    along_m = min(groups, m // TENSOR_ROWS)
    along_n = groups // along_m
    shape = MmaShape(TENSOR_ROWS, min(n // along_n, WGMMA_MAX_N), depth)
    return Mma(shape, "acc", (WARP_GROUP * along_m, along_n))


def in_tensor_memory(shape: Sequence[int]) -> LayoutForm:
    """
    How a sum of tcgen05 of M x N elements lies in tensor memory: 128 rows in as many lanes, and the next 128 in the
    columns behind; fewer fill the lanes again and again. Raises `LayoutError` for extents that are no powers of two.
    """
    rows, columns = (exponent(extent, f"the extent of dim{axis}") for axis, extent in enumerate(shape))
    lanes = exponent(TENSOR_ROWS, "the lanes")
    if rows == lanes:
        return Swizzled(0)
    if rows < lanes:
        return DataPath(TENSOR_ROWS)
    down = [(1 << bit, 0) for bit in range(rows)]
    across = [(0, 1 << bit) for bit in range(columns)]
    return LinearBases(((OFFSET, (*across, *down[lanes:], *down[:lanes])),))
