"""
The layouts that a tile gets where nobody says one: coalesced in registers, swizzled in shared memory, the fragments
of the tensor core for products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileas_xdsl.layouts.distributed import WARP_SIZE
from tileas_xdsl.layouts.errors import exponent
from tileas_xdsl.layouts.forms import Blocked, LayoutForm, LinearBases, Mma, Swizzled
from tileas_xdsl.layouts.fragments import WGMMA_MAX_N, MmaShape

VECTOR_BITS = 128
OPERAND_BITS = (4, 8, 16, 32)
"""The widths of elements that the tensor core multiplies; 32 bits are tf32."""

WARP_GROUP = 4
WARP_ROWS = 16
"""The rows of a sum of wgmma that a warp has."""


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
    row = shape[-1] * element_bits // 8 if len(shape) > 1 else 0
    return Swizzled(next((width for width in (128, 64, 32) if width <= row), 0))


@dataclass(frozen=True)
class ProductForms:
    """The layouts of a product on the tensor core. `b` is None where it is read from shared memory."""

    a: Mma
    b: Mma | None
    acc: Mma


def of_product(m: int, n: int, k: int, element_bits: int, warps: int, *, has_wgmma: bool) -> ProductForms | None:
    """
    The fragments of a product of M x K and K x N elements: of wgmma where the target has it and M fills the rows of all
    warps, else of mma.sync; None where the tile is too small for either, or its elements are not multiplied there.
    """
    if element_bits not in OPERAND_BITS:
        return None
    depth = 256 // element_bits
    has_rows_for_all = m >= WARP_ROWS * warps
    if has_wgmma and warps % WARP_GROUP == 0 and has_rows_for_all and n >= 8 and k >= depth:
        shape, grid = MmaShape(64, min(n, WGMMA_MAX_N), depth), (warps, 1)
        return ProductForms(Mma(shape, "a", grid), None, Mma(shape, "acc", grid))
    if m < 16 or n < 8 or k < depth:
        return None
    along_m = min(warps, m // 16)
    shape, grid = MmaShape(16, 8, depth), (along_m, warps // along_m)
    return ProductForms(Mma(shape, "a", grid), Mma(shape, "b", grid), Mma(shape, "acc", grid))
